"""Settings of opportunistic pods in the Scheduler: from where usage is known, how far nodes may be used, what is predicted, and who goes first."""

from typing import Annotated, Final, Literal, Self

from pydantic import ConfigDict, Field, Strict, model_validator
from pydantic_core import PydanticCustomError

from treadle.api import cel
from treadle.api.common import Count, DnsLabel, Duration, LabelKey, MatchLabels, Model, Percent, patterned

ORDER_TEXT: Final = "must be at least allocationPercent: pods would be placed and asked to go at once"
USAGE_TEXT: Final = "is for a usage.source other than Requests: what pods request alone does not tell what is used"
PROMETHEUS_TEXT: Final = "is required with source Prometheus, and is for it alone"
AGENT_TEXT: Final = "is for source Agent alone"
URL: Final = r"https?://[^\s/?#@]+(/[^\s?#]*)?"
URL_TEXT: Final = (
    "must be the address of a server, such as http://prometheus.monitoring:9090, without a user, a query or a fragment"
)
QUEUE_TEXT: Final = "minimum (5 if absent) must not be over maximum (15 if absent)"
_NEED_USAGE: Final = ("thresholds", "pressure", "prediction", "nodes")

_Most = Annotated[int, Strict(), Field(ge=0, le=1000)]
_Borne = Annotated[int, Strict(), Field(ge=0, le=100)]
_Percentile = Annotated[int, Strict(), Field(ge=1, le=100)]
_Length = Annotated[int, Strict(), Field(ge=1, le=1000)]
_Query = Annotated[str, Field(min_length=1, max_length=4096)]


class Threshold(Model):
    """How far one resource of a node may be used."""

    model_config = ConfigDict(
        json_schema_extra={
            cel.RULES: [cel.rule("self.allocationPercent <= self.preemptionPercent", ORDER_TEXT, field_path=".preemptionPercent")]
        }
    )

    allocation_percent: Percent = Field(description="Below this part of a node in use, opportunistic pods are placed.")
    preemption_percent: Percent = Field(description="Above this part, opportunistic pods have to go until it is below.")
    borne_samples: _Borne | None = Field(
        default=None, description="How many samples in a row may be above before pods have to go; 0 if absent: none."
    )

    @model_validator(mode="after")
    def _allocates_below(self) -> Self:
        if self.allocation_percent > self.preemption_percent:
            raise PydanticCustomError("order", ORDER_TEXT, {"field": "preemptionPercent"})
        return self


class Thresholds(Model):
    """Thresholds of what usage is measured of; of all else opportunistic pods get what nobody requests."""

    cpu: Threshold | None = None
    memory: Threshold | None = None


class Pressure(Threshold):
    """How long tasks of a node's pods may wait for a resource: parts of the last ten seconds (avg10 of the kernel's pressure stall information)."""

    of: Literal["Some", "Full"] | None = Field(
        default=None, description="Some: at least one task waits. Full: all that are not idle do. Some if absent."
    )


class Pressures(Model):
    """Thresholds of pressure, by what is waited for."""

    cpu: Pressure | None = None
    memory: Pressure | None = None


class Prometheus(Model):
    """A Prometheus that knows what nodes use."""

    url: Annotated[str, patterned(URL, URL_TEXT, 512)] = Field(description="Where it is; /api/v1/query is put behind it.")
    cpu_query: _Query = Field(description="Yields for each node the cores that it uses.")
    memory_query: _Query = Field(description="Yields for each node the bytes that it uses.")
    node_label: LabelKey | None = Field(
        default=None, description="The label of what the queries yield that has the name of the node; node if absent."
    )
    window: Duration | None = Field(
        default=None,
        description="The range over which the queries look, by which it is known which pods they tell of; 60s if absent.",
    )
    timeout: Duration | None = Field(default=None, description="How long an answer may take; 5s if absent, at least 1s.")
    ca_bundle: Annotated[str, Field(max_length=65536)] | None = Field(
        default=None, description="Certificates in PEM by one of which its own is signed; those that the image trusts if absent."
    )


class Agents(Model):
    """The pods of the node agent."""

    namespace: DnsLabel | None = Field(default=None, description="Where they are; the scheduler's own namespace if absent.")
    match_labels: MatchLabels | None = Field(default=None, description="Their labels; those that the chart gives them if absent.")
    port: Annotated[int, Strict(), Field(ge=1, le=65535)] | None = Field(default=None, description="9101 if absent.")
    timeout: Duration | None = Field(default=None, description="How long an answer may take; 2s if absent, at least 1s.")


class Usage(Model):
    """From where it is known what nodes use."""

    model_config = ConfigDict(
        json_schema_extra={
            cel.RULES: [
                cel.rule(
                    "has(self.prometheus) == (has(self.source) && self.source == 'Prometheus')",
                    PROMETHEUS_TEXT,
                    field_path=".prometheus",
                ),
                cel.rule("!has(self.agent) || (has(self.source) && self.source == 'Agent')", AGENT_TEXT, field_path=".agent"),
            ]
        }
    )

    source: Literal["Requests", "Metrics", "Kubelets", "Prometheus", "Agent"] | None = Field(
        default=None,
        description="Requests: opportunistic pods get what no pod requests. Else they get what nobody uses: Metrics, by metrics.k8s.io; Kubelets, by "
        "/metrics/resource of each node; Prometheus, by two queries; Agent, by the node agents. Requests if absent.",
    )
    interval: Duration | None = Field(
        default=None,
        description="How often it is asked, and at least four times within maxAge; 10s if absent, 2s of agents, at least 1s.",
    )
    prometheus: Prometheus | None = None
    agent: Agents | None = None
    max_age: Duration | None = Field(
        default=None, description="A node whose sample is older takes no opportunistic pods; 60s if absent, at least 1s."
    )
    warm_up: Duration | None = Field(
        default=None, description="How long after its start a pod is taken to use all that it asks for; 0s if absent."
    )

    @model_validator(mode="after")
    def _of_its_source(self) -> Self:
        if (self.prometheus is not None) != (self.source == "Prometheus"):
            raise PydanticCustomError("prometheus", PROMETHEUS_TEXT, {"field": "prometheus"})
        if self.agent is not None and self.source != "Agent":
            raise PydanticCustomError("agent", AGENT_TEXT, {"field": "agent"})
        return self


class Prediction(Model):
    """What a node will use at most within the next minutes."""

    method: Literal["LastSample", "PartOfRequests", "Percentile", "Reservation", "NSigma", "Largest"] | None = Field(
        default=None,
        description="LastSample: what it uses now. PartOfRequests: a part of what is requested. Percentile: of what its pods have used. "
        "Reservation: what is requested, sinking towards usage. NSigma: mean and deviations. Largest: the larger of Percentile and NSigma. LastSample if absent.",
    )
    percentile: _Percentile | None = Field(
        default=None, description="The percentile, or the percentage of requests for PartOfRequests; 98 if absent."
    )
    margin_percent: _Most | None = Field(default=None, description="What is added to a percentile; 10 if absent.")
    deviations: Count | None = Field(default=None, description="How many standard deviations NSigma adds; 5 if absent.")
    half_life: Duration | None = Field(
        default=None, description="After how long a sample counts half as much; 24h if absent, at least 1s."
    )
    horizon: Duration | None = Field(
        default=None, description="For how long a prediction is, by which its error is measured; 5m if absent, at least 1s."
    )


class OpportunisticPreemption(Model):
    """Which opportunistic pods go first."""

    order: Literal["Cheapest", "Newest"] | None = Field(
        default=None,
        description="Cheapest: of the queue furthest over its share, whose end loses the least work. Newest: as in YARN. Cheapest if absent.",
    )
    minimum_run_time: Duration | None = Field(
        default=None, description="Pods that have not run for this long go after all others; 0s if absent."
    )
    emergency_percent: Percent | None = Field(
        default=None,
        description="Where more than this part of a node's cpu or memory is used, pods that have to go are deleted, whatever disruption budgets say. Absent: budgets hold.",
    )


class NodeThresholds(Model):
    """Settings of nodes with certain labels, in place of the general ones."""

    match_labels: MatchLabels = Field(
        description="The labels that a node must have, all of them; the first entry that a node matches holds for it."
    )
    thresholds: Thresholds | None = Field(default=None, description="Its thresholds; without any it is not over-allocated.")
    pressure: Pressures | None = Field(default=None, description="Its thresholds of pressure.")
    maximum_percent: _Most | None = Field(default=None, description="As for all nodes; 100 if absent.")


class NodeQueues(Model):
    """How pods that find no room wait at nodes; in the manner of ``yarn.resourcemanager.nm-container-queuing``."""

    model_config = ConfigDict(
        json_schema_extra={
            cel.RULES: [
                cel.rule(
                    "(has(self.minimum) ? self.minimum : 5) <= (has(self.maximum) ? self.maximum : 15)",
                    QUEUE_TEXT,
                    field_path=".minimum",
                )
            ]
        }
    )

    order: Literal["QueueLength", "QueueWaitTime"] | None = Field(
        default=None,
        description="QueueLength: the node with the fewest pods in its queue is the best; QueueWaitTime: the one where a pod would wait the least. QueueLength if absent.",
    )
    candidates: _Length | None = Field(
        default=None, description="Among how many of the best a pod's nodes are, nodesPerPod at the least; 10 if absent."
    )
    nodes_per_pod: Annotated[int, Strict(), Field(ge=1, le=16)] | None = Field(
        default=None, description="At how many nodes a pod stands: it goes to the first that has room; 2 if absent, 1 in YARN."
    )
    deviations: Annotated[int, Strict(), Field(ge=0, le=100)] | None = Field(
        default=None,
        description="A queue that is longer than the mean of all and so many standard deviations gives up its last pods; 1 if absent.",
    )
    minimum: _Length | None = Field(default=None, description="How long a queue may be in any case; 5 if absent.")
    maximum: _Length | None = Field(default=None, description="How long a queue may be at the most; 15 if absent.")

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if (self.minimum or 5) > (self.maximum or 15):
            raise PydanticCustomError("order", QUEUE_TEXT, {"field": "minimum"})
        return self


class Opportunistic(Model):
    """Settings of opportunistic pods."""

    model_config = ConfigDict(
        json_schema_extra={
            cel.RULES: [
                *(
                    cel.rule(
                        f"!has(self.{name}) || (has(self.usage) && has(self.usage.source) && self.usage.source != 'Requests')",
                        USAGE_TEXT,
                        field_path=f".{name}",
                    )
                    for name in _NEED_USAGE
                ),
                cel.rule(
                    "!has(self.preemption) || !has(self.preemption.emergencyPercent) || "
                    "(has(self.usage) && has(self.usage.source) && self.usage.source != 'Requests')",
                    f"emergencyPercent {USAGE_TEXT}",
                    field_path=".preemption",
                ),
            ]
        }
    )

    usage: Usage | None = None
    thresholds: Thresholds | None = None
    pressure: Pressures | None = Field(
        default=None,
        description="How long tasks of pods may wait for a resource, whatever is used; node agents tell of it, or the annotation treadle.dev/pressure of a node.",
    )
    maximum_percent: _Most | None = Field(
        default=None, description="What opportunistic pods of a node may ask for in sum, of what it has; 100 if absent."
    )
    prediction: Prediction | None = None
    preemption: OpportunisticPreemption | None = None
    node_queues: NodeQueues | None = Field(
        default=None, description="Queues at nodes, as in YARN; if absent who finds no room waits for that of any node."
    )
    nodes: Annotated[list[NodeThresholds], Field(max_length=32)] | None = Field(
        default=None, json_schema_extra={"x-kubernetes-list-type": "atomic"}
    )

    @model_validator(mode="after")
    def _usage_is_known(self) -> Self:
        if self.usage is None or self.usage.source in {None, "Requests"}:
            for name in _NEED_USAGE:
                if getattr(self, name) is not None:
                    raise PydanticCustomError("usage", USAGE_TEXT, {"field": name})
            if self.preemption is not None and self.preemption.emergency_percent is not None:
                raise PydanticCustomError("usage", f"emergencyPercent {USAGE_TEXT}", {"field": "preemption"})
        return self
