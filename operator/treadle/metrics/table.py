"""Every metric that there is, declared once: the page is made from this table, and so is docs/metrics.md.

No label names a pod, a node or an application: the number of series is bounded by queues times resources.
"""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["counter", "gauge", "histogram"]
AMOUNT = "cpu in cores, memory in bytes, others in numbers"
"""The unit of what is of the type of resource that a label names."""


@dataclass(frozen=True, slots=True)
class Declared:
    """A metric by the ``name`` that is asked for; that of a counter ends in ``_total``.

    ``help`` is a sentence, ``unit`` what one is (empty: a number of things, which the help names), and ``when`` says when it is
    there (empty: always; a metric with labels has no series before there is something to count).
    """

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    unit: str = ""
    when: str = ""


def _counter(name: str, help_: str, *labels: str, unit: str = "", when: str = "") -> Declared:
    return Declared(name, "counter", help_, labels, unit, when)


def _gauge(name: str, help_: str, *labels: str, unit: str = "", when: str = "") -> Declared:
    return Declared(name, "gauge", help_, labels, unit, when)


def _histogram(name: str, help_: str, *labels: str, unit: str = "seconds", when: str = "") -> Declared:
    return Declared(name, "histogram", help_, labels, unit, when)


HISTORY = "a history is kept (`--history`)"
FORECASTS = "forecasts are made (`--eta`)"
TLS = "a port is served with TLS"
PROC = "the system has `/proc`"

GROUPS: dict[str, tuple[Declared, ...]] = {
    "Queues": (
        _gauge(
            "treadle_queue_resource",
            "Amounts of a queue by kind (used, pending, fair_share, guaranteed, maximum); cpu in cores, memory in bytes.",
            "queue",
            "resource",
            "kind",
            unit=AMOUNT,
        ),
        _gauge(
            "treadle_queue_partition_resource",
            "Amounts of a queue in a partition of nodes by kind (used, pending, guaranteed); cpu in cores, memory in bytes.",
            "queue",
            "partition",
            "resource",
            "kind",
            unit=AMOUNT,
        ),
        _gauge(
            "treadle_queue_applications", "Applications of a queue and below, by state (running, accepted).", "queue", "state"
        ),
        _gauge("treadle_queue_waiting_pods", "Pods that wait in a queue and below.", "queue"),
        _histogram(
            "treadle_queue_wait_seconds",
            "From the creation of a pod, which the API tells in whole seconds, to the decision of its node, by the queue just below the root that it is in; of more than 50 such queues the further ones together.",
            "queue",
        ),
        _counter("treadle_queue_preempted_pods_total", "Pods preempted from a queue.", "queue"),
    ),
    "Users": (
        _gauge(
            "treadle_user_pods",
            "Pods of a user, by state (waiting, placed); beyond the 50 users with the most pods all others together.",
            "user",
            "state",
        ),
        _gauge(
            "treadle_user_resource",
            "What the pods of a user on nodes request; beyond the 50 users with the most pods all others together.",
            "user",
            "resource",
            unit=AMOUNT,
        ),
    ),
    "Pods and nodes": (
        _gauge("treadle_pods", "Pods known, by state (waiting, assumed, bound).", "state"),
        _gauge("treadle_nodes", "Nodes known."),
        _gauge(
            "treadle_waiting_pods",
            "Pods that wait, by the reason of docs/reasons.md; WaitingForTurn are those that are looked at next.",
            "reason",
        ),
        _counter(
            "treadle_waited_seconds_total",
            "Time that pods have waited since the start, summed over pods, by the reason at the time.",
            "reason",
            unit="seconds",
        ),
        _counter("treadle_decisions_total", "Placements decided."),
        _counter(
            "treadle_applications_misnamed_total",
            "Applications that asked for a queue that does not exist and went to another one: the event QueueNotFound.",
        ),
        _counter("treadle_pods_refused_total", "Pods that the kubelet of their node did not take.", "reason"),
        _counter(
            "treadle_sets_placed_together_total",
            "Sets of pods that were placed together, by what came of the solver: Better is its answer, all else that of the walk.",
            "solver",
        ),
        _counter(
            "treadle_provisioning_requests_total",
            "ProvisioningRequests for gangs: those made (requested), refused by the API server, and what the autoscaler answered (provisioned, failed).",
            "result",
        ),
    ),
    "Binds": (
        _counter(
            "treadle_binds_total", "Binds sent, by result (bound, failed, unknown: no answer, and the pod was asked).", "result"
        ),
        _histogram("treadle_bind_duration_seconds", "From sending a bind to its answer, whatever that is."),
        _counter("treadle_bind_seconds_total", "Time that answered binds took, summed.", unit="seconds"),
        _gauge("treadle_binds_in_flight", "Binds sent and not answered."),
        _gauge(
            "treadle_binds_in_flight_limit",
            "How many binds may be in flight at present, which follows what the API server bears.",
        ),
        _counter("treadle_pods_fenced_total", "Pods written to, so that a bind without an answer can take place no more."),
    ),
    "Preemption": (
        _counter(
            "treadle_evictions_total",
            "Victims of preemption, by what became of them (evicted, deleted: past their budgets, stayed).",
            "result",
        ),
        _gauge("treadle_holds", "Pods for which room is held until victims have left."),
        _counter(
            "treadle_backfilled_pods_total",
            "Pods placed in room that is kept for others, and those evicted from there.",
            "result",
        ),
    ),
    "Reservations": (
        _gauge("treadle_reservations", "Reservations, by phase.", "phase"),
        _gauge(
            "treadle_plan_resource",
            "What the plan of a queue has of a partition of nodes (empty: the default one), and what is promised of it now, by kind (has, promised); cpu in cores, memory in bytes.",
            "queue",
            "partition",
            "resource",
            "kind",
            unit=AMOUNT,
        ),
        _counter(
            "treadle_reservations_lagging_total",
            "Occurrences of reservations whose runs lagged, by whether there was room to promise them more (reprovisioned, no_room).",
            "result",
        ),
        _counter(
            "treadle_reservations_from_history_total",
            "Reservations made from the history, changed since and deleted.",
            "result",
            when=HISTORY,
        ),
    ),
    "Opportunistic pods": (
        _gauge(
            "treadle_opportunistic_pods",
            "Opportunistic pods, by state: they wait, stand in queues at nodes (queued, of those that wait), run, or leave, being asked to.",
            "state",
        ),
        _gauge(
            "treadle_opportunistic_queue_limit",
            "How many pods may stand in the queue of a node at present; 0 where nodes have none.",
        ),
        _counter(
            "treadle_opportunistic_queue_shed_total", "Times that a pod had to leave the queue of a node, which was too long."
        ),
        _gauge(
            "treadle_opportunistic_room",
            "Idle room that opportunistic pods were given; cpu in cores, memory in bytes.",
            "resource",
            unit=AMOUNT,
        ),
        _counter(
            "treadle_opportunistic_pods_removed_total",
            "Opportunistic pods that were asked to go: guaranteed pods request their room (Requests), their node is used too much (Usage), or tasks wait there for too long (Pressure).",
            "reason",
        ),
        _histogram(
            "treadle_opportunistic_asking_seconds",
            "From the first sample of a node above a preemption threshold until a pod was asked to go for it.",
        ),
        _histogram(
            "treadle_opportunistic_removal_seconds",
            "From the first sample of a node above a preemption threshold until a pod that was asked to go for it was gone.",
        ),
        _histogram(
            "treadle_opportunistic_overuse_seconds",
            "From the first sample of a node above a preemption threshold until one that was not above, while opportunistic pods are there.",
        ),
        _counter("treadle_opportunistic_predictions_total", "Predictions of nodes' peaks whose time is over.", "resource"),
        _counter("treadle_opportunistic_predictions_below_total", "Those of them that were below the peak.", "resource"),
        _counter(
            "treadle_opportunistic_prediction_shortfall_total",
            "What was lacking of those, each as a part of the peak, summed.",
            "resource",
            unit="parts of the peak",
        ),
        _counter(
            "treadle_opportunistic_prediction_waste_total",
            "What was too much of the others, each as a part of the peak, summed.",
            "resource",
            unit="parts of the peak",
        ),
    ),
    "The engine": (
        _gauge("treadle_leader", "1 while this instance leads."),
        _counter("treadle_passes_total", "Passes of the engine that planned."),
        _histogram("treadle_pass_duration_seconds", "Time that a pass took: planning, and handing over what was decided."),
        _counter("treadle_engine_busy_seconds_total", "Time spent handling events and planning.", unit="seconds"),
        _gauge("treadle_engine_backlog_events", "Events taken in and not yet handled."),
        _gauge(
            "treadle_longest_collection_seconds",
            "The longest that a collection of garbage has stopped everything.",
            unit="seconds",
        ),
        _counter("treadle_core_errors_total", "Defects met by the core, by what it did (event, pass, shares).", "during"),
        _gauge(
            "treadle_objects_set_aside",
            "Objects that the core cannot stand, for an error in its code or in a policy installed with it.",
        ),
    ),
    "The API server": (
        _counter("treadle_api_requests_total", "Requests to the API server; code 0 is no answer.", "use", "method", "code"),
        _counter("treadle_watch_relists_total", "Lists made again because a version had expired.", "resource"),
        _counter("treadle_watches_opened_total", "Watches opened; the server ends them in bursts.", "resource"),
        _gauge(
            "treadle_watch_silent_seconds",
            "Time since a watch has told anything; bookmarks come about every minute.",
            "resource",
            unit="seconds",
        ),
        _counter("treadle_status_writes_total", "Status patches and events written."),
        _counter(
            "treadle_events_recorded_total",
            "Events that the API server took; Scheduled is one for an application and a while.",
        ),
        _counter("treadle_writes_withheld_total", "Writes not sent, since another may lead."),
    ),
    "The ports": (
        _gauge(
            "treadle_http_connections",
            "Connections of clients, by the port: that of probes, that of the service (metrics, the REST, the page), that of the webhooks.",
            "door",
        ),
        _counter(
            "treadle_http_refused_total",
            "Connections and requests that were refused, by the port and the reason: an address has too many connections (connections), begins too many (connecting) or asks too often (requests, of a user too), no TLS came about (handshake), what is sent cannot be read (malformed), larger than allowed (large) or not sent or taken in time (slow), nobody knows the token (unauthorized) or it has no right (forbidden), or the API server cannot be asked (unavailable).",
            "door",
            "reason",
        ),
    ),
    "Certificates": (
        _gauge(
            "treadle_certificate_expiry_timestamp_seconds",
            "When the certificate that a port is served with ends, in seconds since 1970.",
            "door",
            unit="seconds",
            when=TLS,
        ),
        _gauge(
            "treadle_certificate_problem",
            "1 while something is wrong with the certificate of a port: a new one in the files cannot be served, the one that is served has ended, or clients cannot know our own; /status and the log have the words.",
            "door",
            when=TLS,
        ),
    ),
    "The history": (
        _counter(
            "treadle_history_records_total",
            "Records of the history that were written, or dropped for want of a store.",
            "result",
            when=HISTORY,
        ),
        _gauge("treadle_history_waiting", "Records of the history that wait to be written.", when=HISTORY),
        _counter("treadle_history_failures_total", "Writes of the history that failed.", when=HISTORY),
    ),
    "Forecasts": (
        _counter("treadle_forecasts_total", "Forecasts, by what came of them (made, failed).", "result", when=FORECASTS),
        _counter(
            "treadle_eta_outcomes_total",
            "First starts and ends of applications of which a range had been told, and whether they lay inside.",
            "what",
            "inside",
            when=FORECASTS,
        ),
        _gauge(
            "treadle_eta_range_stretch",
            "How many times as wide as the futures say a side of a range (early, late) is told, by the last outcomes.",
            "what",
            "side",
            when=FORECASTS,
        ),
        _gauge(
            "treadle_forecast_longest_slice_seconds",
            "The longest that taking facts for a forecast has stopped everything.",
            unit="seconds",
            when=FORECASTS,
        ),
    ),
    "Under kube-scheduler's names": (
        _gauge(
            "scheduler_pending_pods",
            "Pods that wait: active compete now, backoff are tried again later since a bind failed, gated have scheduling gates, unschedulable are all others.",
            "queue",
        ),
        _counter(
            "scheduler_schedule_attempts_total",
            "Attempts to place pods: scheduled are bound, error are refused binds, unschedulable had no room or were held by a limit; pods of an application that are alike are tried as one then.",
            "profile",
            "result",
        ),
        _histogram(
            "scheduler_scheduling_attempt_duration_seconds",
            "From the beginning of the pass that decided a node to the answer that the pod is bound; there is no other result than scheduled.",
            "profile",
            "result",
        ),
        _histogram(
            "scheduler_scheduling_algorithm_duration_seconds",
            "Time that a pass took to decide, once for each pod that it handed over to be bound; the wait for its volumes or devices is not in it.",
        ),
        _histogram(
            "scheduler_pod_scheduling_sli_duration_seconds",
            "From when a pod first waited at this instance, its gates gone, to the answer that it is bound.",
        ),
        _counter(
            "scheduler_preemption_attempts_total",
            "Searches for pods that may go for a pod, or for a whole gang, those in vain included.",
        ),
        _histogram("scheduler_preemption_victims", "Pods that had to go for a pod, or for a whole gang.", unit=""),
        _counter(
            "rest_client_requests_total",
            "Requests to the API server as client-go counts them, those that open a watch not among them; <error> is no answer.",
            "code",
            "host",
            "method",
        ),
        _histogram(
            "rest_client_request_duration_seconds",
            "Time until the API server had answered, the wait for a free connection included; of those that watch nothing.",
            "host",
            "verb",
        ),
    ),
    "The process": (
        _counter("process_cpu_seconds_total", "Total user and system CPU time spent in seconds.", unit="seconds", when=PROC),
        _gauge("process_virtual_memory_bytes", "Virtual memory size in bytes.", unit="bytes", when=PROC),
        _gauge("process_resident_memory_bytes", "Resident memory size in bytes.", unit="bytes", when=PROC),
        _gauge("process_start_time_seconds", "Start time of the process since unix epoch in seconds.", unit="seconds", when=PROC),
        _gauge("process_open_fds", "Number of open file descriptors.", when=PROC),
        _gauge("process_max_fds", "Maximum number of open file descriptors.", when=PROC),
    ),
}
"""The metrics by what they are about, in the order of the page. Those of the process are made by Prometheus' client."""

PROCESS = "The process"
TABLE: tuple[Declared, ...] = tuple(one for group in GROUPS.values() for one in group)
