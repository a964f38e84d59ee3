"""Settings of opportunistic pods: from where usage is known, how far nodes may be used, what is predicted and who goes first."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

WHOLE = 1000
"""All that a node has: parts are in thousandths, so that amounts stay whole numbers."""

REQUESTS, METRICS, KUBELETS, PROMETHEUS, AGENT = "Requests", "Metrics", "Kubelets", "Prometheus", "Agent"
"""Where usage is known from: what pods request alone, so that nothing is over-allocated; or samples of the metrics API, the kubelets, Prometheus or the node agents."""
TELL_OF_PODS = frozenset({METRICS, KUBELETS, AGENT})
"""The sources that tell what single pods use."""
CHEAPEST, NEWEST = "Cheapest", "Newest"
"""Which opportunistic pods go first: whose end costs the least, or the newest as in YARN."""
LAST_SAMPLE, PART, PERCENTILE = "LastSample", "PartOfRequests", "Percentile"
RESERVATION, SIGMA, LARGEST = "Reservation", "NSigma", "Largest"
"""How a node's peak is predicted, see ``rules.opportunistic.prediction``; Largest is that of Percentile and NSigma."""
BY_PODS = frozenset({PERCENTILE, RESERVATION, LARGEST})
"""The methods that need what single pods have used."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """The thresholds of a resource type, in thousandths of what a node has.

    ``borne`` is how many samples in a row may be over the preemption threshold: 0 for memory, of which too little harms at once, more for cpu, whose
    peaks harm little.
    """

    allocation: int
    preemption: int
    borne: int = 0


SOME, FULL = "Some", "Full"
"""Of whom pressure tells: some tasks, or all that are not idle, wait for a resource."""


@dataclass(frozen=True, slots=True)
class PressureThreshold:
    """The thresholds of how long tasks wait for ``resource``, in thousandths of the time; ``kind`` is Some or Full, ``borne`` as of ``Threshold``."""

    resource: str
    kind: str
    allocation: int
    preemption: int
    borne: int = 0


@dataclass(frozen=True, slots=True)
class NodePolicy:
    """How far a node may be over-allocated: thresholds by the name of their type, how much of it opportunistic pods may be given in sum, and how long tasks may wait."""

    thresholds: tuple[tuple[str, Threshold], ...] = ()
    most: int = WHOLE
    pressure: tuple[PressureThreshold, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeWord:
    """What a node says itself: thresholds of some types, by name, how much of it opportunistic pods may be given in sum, None where it does not say, and thresholds of pressure."""

    thresholds: tuple[tuple[str, Threshold], ...] = ()
    most: int | None = None
    pressure: tuple[PressureThreshold, ...] = ()

    def instead_of(self, policy: NodePolicy) -> NodePolicy:
        """Return a policy with what the node says in place of it; what it says nothing of stays."""
        thresholds = tuple({**dict(policy.thresholds), **dict(self.thresholds)}.items())
        said = {one.resource for one in self.pressure}
        pressure = (*(one for one in policy.pressure if one.resource not in said), *self.pressure)
        return replace(policy, thresholds=thresholds, most=policy.most if self.most is None else self.most, pressure=pressure)


@dataclass(frozen=True, slots=True)
class Removal:
    """That opportunistic pods of an application had to go from a node: until when it takes no more of them (seconds since 1970), and how often in a row."""

    application: str
    node: str
    until: float
    times: int


@dataclass(frozen=True, slots=True)
class PredictionSettings:
    """What is predicted and how: ``parts`` and ``margin`` in thousandths, times in seconds."""

    method: str = LAST_SAMPLE
    parts: int = 980
    """The percentile, or the part of what is requested."""
    margin: int = 100
    deviations: float = 5.0
    half_life: float = 24 * 3600.0
    horizon: float = 300.0


@dataclass(frozen=True, slots=True)
class PrometheusSettings:
    """Where a Prometheus is, and what it is asked: of cpu in cores and of memory in bytes, each a value for the name of a node in ``node_label``.

    ``window`` is for how many seconds before its time a value is; ``authorities`` are certificates in PEM, the usual ones if empty.
    """

    url: str
    queries: tuple[tuple[str, str], ...]
    node_label: str = "node"
    window: float = 60.0
    timeout: float = 5.0
    authorities: str = ""


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """Which pods are node agents: their namespace (ours if empty), their labels (those that the chart gives if there are none), and their port."""

    namespace: str = ""
    labels: tuple[tuple[str, str], ...] = ()
    port: int = 9101
    timeout: float = 2.0


@dataclass(frozen=True, slots=True)
class NodeQueueSettings:
    """How pods that find no room wait at nodes: by the length of queues or by how long one would wait there (``load-comparator``), at how many nodes each, among how many of the best (``nodes-used``).

    A queue has ``most`` pods at the most; one that is over mean and so many standard ``deviations`` of all, or ``least`` if that is more, gives up its last ones.
    """

    by_wait: bool = False
    candidates: int = 10
    nodes_per_pod: int = 2
    deviations: float = 1.0
    least: int = 5
    most: int = 15


@dataclass(frozen=True, slots=True)
class OpportunisticSettings:
    """The settings of a Scheduler; times in seconds.

    ``overrides`` are policies of nodes with certain labels; the first whose labels a node has is its policy, whole.
    """

    source: str = REQUESTS
    old_after: float = 60.0
    warm_up: float = 0.0
    policy: NodePolicy = field(default_factory=NodePolicy)
    overrides: tuple[tuple[tuple[tuple[str, str], ...], NodePolicy], ...] = ()
    prediction: PredictionSettings = field(default_factory=PredictionSettings)
    order: str = CHEAPEST
    minimum_run: float = 0.0
    emergency: int | None = None
    """Thousandths of a node beyond which budgets of pods that go for usage are not respected; None: they always are."""
    every: float = 10.0
    """Seconds between two looks at what is used."""
    prometheus: PrometheusSettings | None = None
    agent: AgentSettings = field(default_factory=AgentSettings)
    node_queues: NodeQueueSettings | None = None
    """How pods wait at nodes; None: those that find no room wait for that of any node."""

    @property
    def pods_told(self) -> bool:
        """Whether it is told what single pods use."""
        return self.source in TELL_OF_PODS

    @property
    def by_usage(self) -> bool:
        """Whether room goes by what is used, and not by what is requested."""
        return self.source != REQUESTS

    def policy_of(self, labels: Mapping[str, str]) -> NodePolicy:
        """Return the policy of a node with some labels."""
        for wanted, policy in self.overrides:
            if all(labels.get(key) == value for key, value in wanted):
                return policy
        return self.policy
