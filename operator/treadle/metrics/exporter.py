"""The metrics page, rendered from a snapshot in a thread, so that a scrape never holds up the loop.

No label names a pod, a node or an application: the number of series is bounded by queues times resources.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from treadle.core.views.opportunistic import Times

Amounts = Mapping[str, int]


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
    watches: Mapping[str, tuple[int, int]] = field(default_factory=dict)
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
    forecast_slice: float = 0.0
    """Seconds that taking facts for a forecast has stopped everything for, at the most."""
    fenced: int = 0
    withheld: int = 0
    reservations: Mapping[str, int] = field(default_factory=dict)
    """Reservations, by phase."""
    plans: Mapping[tuple[str, str], Mapping[str, Amounts]] = field(default_factory=dict)
    """Of the queues that take reservations, by path and partition: what each plan ``has``, and what is ``promised`` now."""


class _Page(Collector):
    def __init__(self, samples: Samples) -> None:
        self._samples = samples

    def collect(self) -> Iterable[Metric]:
        """Yield every family."""
        samples = self._samples
        yield from _queues(samples.queues)
        yield _labelled(
            GaugeMetricFamily("treadle_reservations", "Reservations, by phase.", labels=["phase"]), samples.reservations
        )
        yield _plans(samples.plans)
        yield _labelled(GaugeMetricFamily("treadle_pods", "Pods known, by state.", labels=["state"]), samples.pods)
        yield GaugeMetricFamily("treadle_nodes", "Nodes known.", samples.nodes)
        yield CounterMetricFamily("treadle_decisions", "Placements decided.", samples.decisions)
        yield GaugeMetricFamily(
            "treadle_longest_collection_seconds",
            "The longest that a collection of garbage has stopped everything.",
            samples.longest_collection,
        )
        yield _labelled(CounterMetricFamily("treadle_binds", "Binds sent, by result.", labels=["result"]), samples.binds)
        yield CounterMetricFamily("treadle_bind_seconds", "Time that answered binds took, summed.", samples.bind_seconds)
        yield GaugeMetricFamily("treadle_binds_in_flight", "Binds sent and not answered.", samples.binds_in_flight)
        yield GaugeMetricFamily(
            "treadle_binds_in_flight_limit", "How many binds may be in flight at present.", samples.bind_limit
        )
        yield _labelled(
            CounterMetricFamily("treadle_evictions", "Victims of preemption, by what became of them.", labels=["result"]),
            samples.evictions,
        )
        yield GaugeMetricFamily("treadle_holds", "Pods for which room is held until victims have left.", samples.holds)
        yield _labelled(
            CounterMetricFamily(
                "treadle_backfilled_pods",
                "Pods placed in room that is kept for others, and those evicted from there.",
                labels=["result"],
            ),
            samples.backfilled,
        )
        yield _labelled(
            CounterMetricFamily(
                "treadle_reservations_lagging",
                "Occurrences of reservations whose runs lagged, by whether there was room to promise them more.",
                labels=["result"],
            ),
            samples.lagging,
        )
        if samples.from_history:
            yield _labelled(
                CounterMetricFamily(
                    "treadle_reservations_from_history",
                    "Reservations made from the history, changed since and deleted.",
                    labels=["result"],
                ),
                samples.from_history,
            )
        yield _labelled(
            CounterMetricFamily("treadle_queue_preempted_pods", "Pods preempted from a queue.", labels=["queue"]),
            samples.preempted,
        )
        yield _labelled(
            CounterMetricFamily("treadle_pods_refused", "Pods that the kubelet of their node did not take.", labels=["reason"]),
            samples.refused,
        )
        yield _labelled(
            CounterMetricFamily(
                "treadle_sets_placed_together",
                "Sets of pods that were placed together, by what came of the solver: Better is its answer, all else that of the walk.",
                labels=["solver"],
            ),
            samples.sets,
        )
        yield _labelled(
            CounterMetricFamily(
                "treadle_provisioning_requests",
                "ProvisioningRequests for gangs: those made (requested), refused by the API server, and what the autoscaler answered (provisioned, failed).",
                labels=["result"],
            ),
            samples.provisioning,
        )
        yield from _opportunistic(samples)
        yield CounterMetricFamily("treadle_passes", "Passes of the engine that planned.", samples.passes)
        yield CounterMetricFamily("treadle_engine_busy_seconds", "Time spent handling events and planning.", samples.busy_seconds)
        yield GaugeMetricFamily("treadle_engine_backlog_events", "Events taken in and not yet handled.", samples.backlog)
        yield _labelled(
            CounterMetricFamily("treadle_core_errors", "Defects met by the core, by what it did.", labels=["during"]),
            samples.core_errors,
        )
        yield GaugeMetricFamily("treadle_objects_set_aside", "Objects that the core cannot stand.", samples.set_aside)
        yield CounterMetricFamily(
            "treadle_pods_fenced", "Pods written to, so that a bind without an answer can take place no more.", samples.fenced
        )
        yield CounterMetricFamily("treadle_writes_withheld", "Writes not sent, since another may lead.", samples.withheld)
        if samples.history:
            yield _labelled(
                CounterMetricFamily(
                    "treadle_history_records",
                    "Records of the history that were written, or dropped for want of a store.",
                    labels=["result"],
                ),
                samples.history,
            )
            yield GaugeMetricFamily(
                "treadle_history_waiting", "Records of the history that wait to be written.", samples.history_waiting
            )
            yield CounterMetricFamily("treadle_history_failures", "Writes of the history that failed.", samples.history_failures)
        if samples.forecasts:
            yield _labelled(
                CounterMetricFamily("treadle_forecasts", "Forecasts, by what came of them.", labels=["result"]), samples.forecasts
            )
            outcomes = CounterMetricFamily(
                "treadle_eta_outcomes",
                "First starts and ends of applications of which a range had been told, and whether they lay inside.",
                labels=["what", "inside"],
            )
            for (what, inside), count in samples.eta_outcomes.items():
                outcomes.add_metric([what, str(inside).lower()], count)
            yield outcomes
            yield GaugeMetricFamily(
                "treadle_forecast_longest_slice_seconds",
                "The longest that taking facts for a forecast has stopped everything.",
                samples.forecast_slice,
            )
        requests = CounterMetricFamily(
            "treadle_api_requests", "Requests to the API server; code 0 is no answer.", labels=["use", "method", "code"]
        )
        for (use, method, code), value in samples.requests.items():
            requests.add_metric([use, method, str(code)], value)
        yield requests
        relists = CounterMetricFamily(
            "treadle_watch_relists", "Lists made again because a version had expired.", labels=["resource"]
        )
        reopened = CounterMetricFamily(
            "treadle_watches_opened", "Watches opened; the server ends them in bursts.", labels=["resource"]
        )
        for resource, (again, opened) in samples.watches.items():
            relists.add_metric([resource], again)
            reopened.add_metric([resource], opened)
        yield relists
        yield reopened
        yield GaugeMetricFamily("treadle_leader", "1 while this instance leads.", int(samples.leader))
        yield CounterMetricFamily("treadle_status_writes", "Status patches and events written.", samples.status_writes)
        yield CounterMetricFamily(
            "treadle_events_recorded",
            "Events that the API server took; Scheduled is one for an application and a while.",
            samples.events_written,
        )


def _opportunistic(samples: Samples) -> Iterable[Metric]:
    yield _labelled(
        GaugeMetricFamily(
            "treadle_opportunistic_pods",
            "Opportunistic pods, by state: they wait, stand in queues at nodes (queued, of those that wait), run, or leave, being asked to.",
            labels=["state"],
        ),
        samples.opportunistic_pods,
    )
    yield GaugeMetricFamily(
        "treadle_opportunistic_queue_limit",
        "How many pods may stand in the queue of a node at present; 0 where nodes have none.",
        samples.queue_limit,
    )
    yield CounterMetricFamily(
        "treadle_opportunistic_queue_shed", "Times that a pod had to leave the queue of a node, which was too long.", samples.shed
    )
    yield _labelled(
        GaugeMetricFamily(
            "treadle_opportunistic_room",
            "Idle room that opportunistic pods were given; cpu in cores, memory in bytes.",
            labels=["resource"],
        ),
        {name: value / 1000 if name == "cpu" else value for name, value in samples.opportunistic_room.items()},
    )
    yield _labelled(
        CounterMetricFamily(
            "treadle_opportunistic_pods_removed",
            "Opportunistic pods that were asked to go: guaranteed pods request their room (Requests), their node is used too much (Usage), or tasks wait there for too long (Pressure).",
            labels=["reason"],
        ),
        samples.opportunistic_removed,
    )
    for name, words in _TIMES.items():
        if name in samples.opportunistic_times:
            one = samples.opportunistic_times[name]
            buckets = [*((f"{bound:g}", count) for bound, count in one.within.items()), ("+Inf", one.count)]
            yield HistogramMetricFamily(f"treadle_opportunistic_{name}_seconds", words, buckets=buckets, sum_value=one.total)
    for name, words in _PREDICTIONS.items():
        family = CounterMetricFamily(f"treadle_opportunistic_{name}", words, labels=["resource"])
        yield _labelled(family, samples.predictions.get(name, {}))


_TIMES = {
    "asking": "From the first sample of a node above a preemption threshold until a pod was asked to go for it.",
    "removal": "From the first sample of a node above a preemption threshold until a pod that was asked to go for it was gone.",
    "overuse": "From the first sample of a node above a preemption threshold until one that was not above, while opportunistic pods are there.",
}
_PREDICTIONS = {
    "predictions": "Predictions of nodes' peaks whose time is over.",
    "predictions_below": "Those of them that were below the peak.",
    "prediction_shortfall": "What was lacking of those, each as a part of the peak, summed.",
    "prediction_waste": "What was too much of the others, each as a part of the peak, summed.",
}


def _queues(queues: Sequence[QueueSample]) -> Iterable[Metric]:
    resources = GaugeMetricFamily(
        "treadle_queue_resource",
        "Amounts of a queue by kind (used, pending, fair_share, guaranteed, maximum); cpu in cores, memory in bytes.",
        labels=["queue", "resource", "kind"],
    )
    applications = GaugeMetricFamily(
        "treadle_queue_applications", "Applications of a queue and below, by state.", labels=["queue", "state"]
    )
    waiting = GaugeMetricFamily("treadle_queue_waiting_pods", "Pods that wait in a queue and below.", labels=["queue"])
    for queue in queues:
        kinds = {
            "used": queue.used,
            "pending": queue.pending,
            "fair_share": queue.fair_share,
            "guaranteed": queue.guaranteed,
            "maximum": queue.maximum,
        }
        for kind, amounts in kinds.items():
            for resource, value in amounts.items():
                resources.add_metric([queue.path, resource, kind], value / 1000 if resource == "cpu" else value)
        applications.add_metric([queue.path, "running"], queue.running)
        applications.add_metric([queue.path, "accepted"], queue.accepted)
        waiting.add_metric([queue.path], queue.waiting_pods)
    partitions = GaugeMetricFamily(
        "treadle_queue_partition_resource",
        "Amounts of a queue in a partition of nodes by kind (used, pending, guaranteed); cpu in cores, memory in bytes.",
        labels=["queue", "partition", "resource", "kind"],
    )
    for queue in queues:
        for partition, by_kind in queue.partitions.items():
            for kind, amounts in by_kind.items():
                for resource, value in amounts.items():
                    shown = value / 1000 if resource == "cpu" else value
                    partitions.add_metric([queue.path, partition, resource, kind], shown)
    yield partitions
    yield resources
    yield applications
    yield waiting


def _plans(plans: Mapping[tuple[str, str], Mapping[str, Amounts]]) -> Metric:
    family = GaugeMetricFamily(
        "treadle_plan_resource",
        "What the plan of a queue has of a partition of nodes (empty: the default one), and what is promised of it now, by kind (has, promised); cpu in cores, memory in bytes.",
        labels=["queue", "partition", "resource", "kind"],
    )
    for (path, partition), kinds in plans.items():
        for kind, amounts in kinds.items():
            for resource, value in amounts.items():
                family.add_metric([path, partition, resource, kind], value / 1000 if resource == "cpu" else value)
    return family


def _labelled(family: GaugeMetricFamily | CounterMetricFamily, values: Mapping[str, float]) -> Metric:
    for label, value in values.items():
        family.add_metric([label], value)
    return family


def render(samples: Samples) -> bytes:
    """Return the page in Prometheus' text format, the process' own numbers included."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    registry.register(_Page(samples))
    return generate_latest(registry)
