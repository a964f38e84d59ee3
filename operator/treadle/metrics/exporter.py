"""The metrics page, rendered from a snapshot in a thread, so that a scrape never holds up the loop.

Which families there are says the table (``metrics.table``); here is which numbers of a snapshot are theirs.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from treadle.core.views.opportunistic import Times
from treadle.metrics.table import GROUPS, PROCESS, Declared

Amounts = Mapping[str, int]
NOTHING = Times(0, 0.0, {})


@dataclass(frozen=True, slots=True)
class QueueSample:
    """The numbers of one queue; amounts are in the core's units (cpu in milli-units)."""

    path: str
    used: Amounts
    pending: Amounts
    fair_share: Amounts
    guaranteed: Amounts
    maximum: Amounts
    running: int
    accepted: int
    waiting_pods: int
    partitions: Mapping[str, Mapping[str, Amounts]] = field(default_factory=dict)
    """Amounts by partition, without the default one, and by kind."""


@dataclass(frozen=True, slots=True)
class UserSample:
    """What one user's pods on nodes request, and how many pods there are, by state."""

    used: Amounts
    pods: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Samples:
    """All numbers of one moment."""

    queues: list[QueueSample]
    pods: Mapping[str, int]
    nodes: int
    decisions: int
    binds: Mapping[str, int]
    bind_seconds: float
    binds_in_flight: int
    bind_limit: float
    passes: int
    busy_seconds: float
    backlog: int
    requests: Mapping[tuple[str, str, int], int] = field(default_factory=dict)
    host: str = ""
    """The API server, as host:port."""
    answer_times: Mapping[str, Times] = field(default_factory=dict)
    """Until the API server answered, by the method."""
    connections: Mapping[str, int] = field(default_factory=dict)
    """How many clients are connected, by the door."""
    turned_away: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """Connections and requests that were refused, by the door and the cause."""
    certificates_end: Mapping[str, float] = field(default_factory=dict)
    """When the certificate that is served ends, in seconds since 1970, by the door."""
    certificate_problems: Mapping[str, int] = field(default_factory=dict)
    """1 where something is wrong with it, by the door."""
    watches: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    profile: str = ""
    """The name of the scheduler, which kube-scheduler's metrics have as the profile."""
    waits: Mapping[str, Times] = field(default_factory=dict)
    """How long pods waited that were placed, by queue."""
    reasons: Mapping[str, int] = field(default_factory=dict)
    """How many pods wait, by the reason."""
    waited: Mapping[str, float] = field(default_factory=dict)
    """Seconds that pods have waited, summed over pods, by the reason."""
    users: Mapping[str, UserSample] = field(default_factory=dict)
    pending: Mapping[str, int] = field(default_factory=dict)
    """How many pods wait, by kube-scheduler's names."""
    attempts: Mapping[str, int] = field(default_factory=dict)
    """How often it was tried to place pods, by kube-scheduler's names of the results."""
    pass_times: Times = NOTHING
    bind_times: Times = NOTHING
    plan_times: Times = NOTHING
    """Of the pass that handed a pod over to be bound, until it had decided; once for each."""
    attempt_times: Times = NOTHING
    """From the pass that decided a node until the pod was bound."""
    entered_times: Times = NOTHING
    """From when a pod first waited until it was bound."""
    searches: int = 0
    """How often pods were looked for that may go."""
    victims: Times = NOTHING
    """How many had to go at a time."""
    silent: Mapping[str, float] = field(default_factory=dict)
    """Seconds since a watch told anything."""
    leader: bool = True
    status_writes: int = 0
    events_written: int = 0
    evictions: Mapping[str, int] = field(default_factory=dict)
    holds: int = 0
    backfilled: Mapping[str, int] = field(default_factory=dict)
    lagging: Mapping[str, int] = field(default_factory=dict)
    """Pods that were placed in room that is kept for others, and those of them that were asked to go, by ``result``."""
    from_history: Mapping[str, int] = field(default_factory=dict)
    """Reservations that were made from the history, written anew and deleted, by ``result``."""
    longest_collection: float = 0.0
    """Seconds that a collection of garbage has stopped everything for, at the most."""
    preempted: Mapping[str, int] = field(default_factory=dict)
    """Pods that were preempted, by the path of their queue."""
    refused: Mapping[str, int] = field(default_factory=dict)
    misnamed: int = 0
    """Pods that the kubelets of their nodes did not take, by the reason."""
    sets: Mapping[str, int] = field(default_factory=dict)
    """Sets of pods that were placed together, by what came of the solver."""
    provisioning: Mapping[str, int] = field(default_factory=dict)
    """ProvisioningRequests, by what became of them."""
    core_errors: Mapping[str, int] = field(default_factory=dict)
    """How often the core raised, by what it did (event or pass)."""
    set_aside: int = 0
    opportunistic_pods: Mapping[str, int] = field(default_factory=dict)
    """Opportunistic pods, by state; those that leave are among those that run."""
    queue_limit: int = 0
    """How long queues at nodes may be; 0 where there are none."""
    shed: int = 0
    """How many times a pod had to leave a queue at a node that was too long."""
    opportunistic_room: Amounts = field(default_factory=dict)
    """What those that run were given."""
    opportunistic_removed: Mapping[str, int] = field(default_factory=dict)
    """Opportunistic pods that were asked to go, by what for."""
    opportunistic_times: Mapping[str, Times] = field(default_factory=dict)
    """How long it took from the first sample above a preemption threshold until something was done, or it was over, by what."""
    predictions: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """How far predictions of nodes' peaks were off, by figure and resource."""
    history: Mapping[str, int] = field(default_factory=dict)
    """Records of the history, by what became of them; empty where none is kept."""
    history_waiting: int = 0
    history_failures: int = 0
    forecasts: Mapping[str, int] = field(default_factory=dict)
    """Forecasts, by what came of them; empty where none are made."""
    eta_outcomes: Mapping[tuple[str, bool], int] = field(default_factory=dict)
    """Starts and ends of applications, and whether they lay inside the range that was told last."""
    eta_stretch: Mapping[tuple[str, str], float] = field(default_factory=dict)
    """How many times as wide as the futures say a side of a range is told, by what and side."""
    forecast_slice: float = 0.0
    """Seconds that taking facts for a forecast has stopped everything for, at the most."""
    fenced: int = 0
    withheld: int = 0
    reservations: Mapping[str, int] = field(default_factory=dict)
    """Reservations, by phase."""
    plans: Mapping[tuple[str, str], Mapping[str, Amounts]] = field(default_factory=dict)
    """Of the queues that take reservations, by path and partition: what each plan ``has``, and what is ``promised`` now."""


Row = tuple[tuple[str, ...], float | Times]
"""The values of the labels, in the order of the table, and the number."""


class Undeclared(Exception):
    """A snapshot has numbers of a metric that the table does not declare."""


class _Page(Collector):
    def __init__(self, samples: Samples) -> None:
        self._samples = samples

    def collect(self) -> Iterable[Metric]:
        """Yield every family that is there, in the order of the table."""
        found = dict(_rows(self._samples))
        for group, declared in GROUPS.items():
            if group == PROCESS:
                continue
            for one in declared:
                rows = found.pop(one.name, None)
                if rows is not None:
                    yield _family(one, rows)
        if found:
            raise Undeclared(f"not in the table of metrics: {', '.join(found)}")


def _family(declared: Declared, rows: Iterable[Row]) -> Metric:
    name = declared.name.removesuffix("_total") if declared.kind == "counter" else declared.name
    family = Metric(name, declared.help, declared.kind)
    add, names = family.add_sample, declared.labels
    for values, number in rows:
        labels = dict(zip(names, values, strict=True))
        if isinstance(number, Times):
            for bound, count in number.within.items():
                add(f"{name}_bucket", {**labels, "le": f"{bound:g}"}, count)
            add(f"{name}_bucket", {**labels, "le": "+Inf"}, number.count)
            add(f"{name}_count", labels, number.count)
            add(f"{name}_sum", labels, number.total)
        else:
            add(declared.name, labels, number)
    return family


def _rows(samples: Samples) -> Iterator[tuple[str, Iterable[Row]]]:
    """Yield the rows of each metric that is there, by its name."""
    yield from _queues(samples)
    yield "treadle_queue_wait_seconds", _by_one(samples.waits)
    yield "treadle_waiting_pods", _by_one(samples.reasons)
    yield "treadle_waited_seconds_total", _by_one(samples.waited)
    yield (
        "treadle_user_pods",
        [((user, state), count) for user, one in samples.users.items() for state, count in one.pods.items()],
    )
    yield (
        "treadle_user_resource",
        [((user, name), value) for user, one in samples.users.items() for name, value in _shown(one.used)],
    )
    yield from _of_kube_scheduler(samples)
    yield "treadle_pods", _by_one(samples.pods)
    yield "treadle_nodes", _one(samples.nodes)
    yield "treadle_decisions_total", _one(samples.decisions)
    yield "treadle_pods_refused_total", _by_one(samples.refused)
    yield "treadle_applications_misnamed_total", _one(samples.misnamed)
    yield "treadle_sets_placed_together_total", _by_one(samples.sets)
    yield "treadle_provisioning_requests_total", _by_one(samples.provisioning)
    yield "treadle_binds_total", _by_one(samples.binds)
    yield "treadle_bind_seconds_total", _one(samples.bind_seconds)
    yield "treadle_bind_duration_seconds", [((), samples.bind_times)]
    yield "treadle_binds_in_flight", _one(samples.binds_in_flight)
    yield "treadle_binds_in_flight_limit", _one(samples.bind_limit)
    yield "treadle_pods_fenced_total", _one(samples.fenced)
    yield "treadle_evictions_total", _by_one(samples.evictions)
    yield "treadle_holds", _one(samples.holds)
    yield "treadle_backfilled_pods_total", _by_one(samples.backfilled)
    yield "treadle_reservations", _by_one(samples.reservations)
    yield "treadle_plan_resource", _plans(samples.plans)
    yield "treadle_reservations_lagging_total", _by_one(samples.lagging)
    if samples.from_history:
        yield "treadle_reservations_from_history_total", _by_one(samples.from_history)
    yield from _opportunistic(samples)
    yield "treadle_leader", _one(int(samples.leader))
    yield "treadle_passes_total", _one(samples.passes)
    yield "treadle_pass_duration_seconds", [((), samples.pass_times)]
    yield "treadle_engine_busy_seconds_total", _one(samples.busy_seconds)
    yield "treadle_engine_backlog_events", _one(samples.backlog)
    yield "treadle_longest_collection_seconds", _one(samples.longest_collection)
    yield "treadle_core_errors_total", _by_one(samples.core_errors)
    yield "treadle_objects_set_aside", _one(samples.set_aside)
    yield (
        "treadle_api_requests_total",
        [((use, method, str(code)), value) for (use, method, code), value in samples.requests.items()],
    )
    yield "treadle_watch_relists_total", [((name,), relists) for name, (relists, _) in samples.watches.items()]
    yield "treadle_watches_opened_total", [((name,), opened) for name, (_, opened) in samples.watches.items()]
    yield "treadle_watch_silent_seconds", _by_one(samples.silent)
    yield "treadle_status_writes_total", _one(samples.status_writes)
    yield "treadle_events_recorded_total", _one(samples.events_written)
    yield "treadle_writes_withheld_total", _one(samples.withheld)
    yield "treadle_http_connections", _by_one(samples.connections)
    yield "treadle_http_refused_total", list(samples.turned_away.items())
    if samples.certificate_problems:
        yield "treadle_certificate_expiry_timestamp_seconds", _by_one(samples.certificates_end)
        yield "treadle_certificate_problem", _by_one(samples.certificate_problems)
    if samples.history:
        yield "treadle_history_records_total", _by_one(samples.history)
        yield "treadle_history_waiting", _one(samples.history_waiting)
        yield "treadle_history_failures_total", _one(samples.history_failures)
    if samples.forecasts:
        yield "treadle_forecasts_total", _by_one(samples.forecasts)
        yield (
            "treadle_eta_outcomes_total",
            [((what, str(inside).lower()), count) for (what, inside), count in samples.eta_outcomes.items()],
        )
        yield "treadle_eta_range_stretch", list(samples.eta_stretch.items())
        yield "treadle_forecast_longest_slice_seconds", _one(samples.forecast_slice)


def _of_kube_scheduler(samples: Samples) -> Iterator[tuple[str, Iterable[Row]]]:
    profile = samples.profile
    yield "scheduler_pending_pods", _by_one(samples.pending)
    yield "scheduler_schedule_attempts_total", [((profile, result), count) for result, count in samples.attempts.items()]
    yield "scheduler_scheduling_attempt_duration_seconds", [((profile, "scheduled"), samples.attempt_times)]
    yield "scheduler_scheduling_algorithm_duration_seconds", [((), samples.plan_times)]
    yield "scheduler_pod_scheduling_sli_duration_seconds", [((), samples.entered_times)]
    yield "scheduler_preemption_attempts_total", _one(samples.searches)
    yield "scheduler_preemption_victims", [((), samples.victims)]
    host, answers = samples.host, Counter[tuple[str, str]]()
    for (_, method, code), count in samples.requests.items():
        answers[method, str(code) if code else "<error>"] += count
    yield "rest_client_requests_total", [((code, host, method), count) for (method, code), count in answers.items()]
    yield "rest_client_request_duration_seconds", [((host, method), times) for method, times in samples.answer_times.items()]


def _opportunistic(samples: Samples) -> Iterator[tuple[str, Iterable[Row]]]:
    yield "treadle_opportunistic_pods", _by_one(samples.opportunistic_pods)
    yield "treadle_opportunistic_queue_limit", _one(samples.queue_limit)
    yield "treadle_opportunistic_queue_shed_total", _one(samples.shed)
    yield "treadle_opportunistic_room", [((name,), shown) for name, shown in _shown(samples.opportunistic_room)]
    yield "treadle_opportunistic_pods_removed_total", _by_one(samples.opportunistic_removed)
    for name in ("asking", "removal", "overuse"):
        if name in samples.opportunistic_times:
            yield f"treadle_opportunistic_{name}_seconds", [((), samples.opportunistic_times[name])]
    for name in ("predictions", "predictions_below", "prediction_shortfall", "prediction_waste"):
        yield f"treadle_opportunistic_{name}_total", _by_one(samples.predictions.get(name, {}))


def _queues(samples: Samples) -> Iterator[tuple[str, Iterable[Row]]]:
    resources: list[Row] = []
    partitions: list[Row] = []
    for queue in samples.queues:
        path = queue.path
        kinds = {
            "used": queue.used,
            "pending": queue.pending,
            "fair_share": queue.fair_share,
            "guaranteed": queue.guaranteed,
            "maximum": queue.maximum,
        }
        for kind, amounts in kinds.items():
            resources += [((path, resource, kind), value) for resource, value in _shown(amounts)]
        for partition, by_kind in queue.partitions.items():
            for kind, amounts in by_kind.items():
                partitions += [((path, partition, resource, kind), value) for resource, value in _shown(amounts)]
    yield "treadle_queue_resource", resources
    yield "treadle_queue_partition_resource", partitions
    yield (
        "treadle_queue_applications",
        [
            ((queue.path, state), count)
            for queue in samples.queues
            for state, count in (("running", queue.running), ("accepted", queue.accepted))
        ],
    )
    yield "treadle_queue_waiting_pods", [((queue.path,), queue.waiting_pods) for queue in samples.queues]
    yield "treadle_queue_preempted_pods_total", _by_one(samples.preempted)


def _plans(plans: Mapping[tuple[str, str], Mapping[str, Amounts]]) -> Iterable[Row]:
    return [
        ((path, partition, resource, kind), value)
        for (path, partition), kinds in plans.items()
        for kind, amounts in kinds.items()
        for resource, value in _shown(amounts)
    ]


def _shown(amounts: Amounts) -> Iterator[tuple[str, float]]:
    """Yield amounts in base units: the core has cpu in milli-units."""
    return ((name, value / 1000 if name == "cpu" else value) for name, value in amounts.items())


def _one(value: float) -> list[Row]:
    return [((), value)]


def _by_one(values: Mapping[str, float] | Mapping[str, Times]) -> list[Row]:
    return [((label,), value) for label, value in values.items()]


def render(samples: Samples) -> bytes:
    """Return the page in Prometheus' text format, the process' own numbers included. Raises ``Undeclared``."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    registry.register(_Page(samples))
    return generate_latest(registry)
