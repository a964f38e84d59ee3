"""Events about what was scheduled, what waits, and what was deleted at the end of a lifetime: one for an application and a while rather than one for a pod.

kube-scheduler writes a Scheduled event for each pod, which costs it about half of its rate. Ours say how many pods of an
application went to how many nodes since the last one; where very many applications had pods bound, the rest are told together, by queue. What ends is told of the Application where there is one, else of the first
of its pods.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, NamedTuple

from treadle.api.labels import API_VERSION
from treadle.core.effects import (
    ABOUT_RESERVATIONS,
    DEMOTED,
    DURATION_IGNORED,
    EXECUTION_TYPE_IGNORED,
    FAILED_SCHEDULING,
    GANG_IGNORED,
    LABEL_UNKNOWN,
    LIFETIME_OVER,
    PARTITION_IGNORED,
    POD_REFUSED,
    PROFILE_DIFFERS,
    PROFILE_UNKNOWN,
    PROMOTED,
    PROMOTION_WAITS,
    QUEUE_NOT_FOUND,
    RESERVATION_REPROVISIONED,
    RESIZE_REFUSED,
    USER_IGNORED,
    Evict,
    Expire,
    RecordEvent,
    ReservationDecided,
)
from treadle.kube.patcher import Patcher, Write
from treadle.kube.transport import JSON

NOTE_LIMIT = 1024
MOST_APPLICATIONS = 100
"""Applications that are told by themselves at one time that pods were bound: thousands of pods without an application would be as many events."""


class Told(NamedTuple):
    """What an event says: its reason and note, of which object, and of which application (``namespace/name``) and queue, empty where the event does not know them."""

    reason: str
    kind: str
    namespace: str
    name: str
    uid: str
    application: str
    queue: str
    note: str


@dataclass(slots=True)
class _Tally:
    namespace: str
    queue: str
    pod: str
    uid: str
    pods: int = 0
    applications: int = 1
    nodes: set[str] = field(default_factory=set)
    why: str = ""
    kind: tuple[str, str] = ("v1", "Pod")
    application: str = ""


_ACTIONS: Final = {
    "Scheduled": "Binding",
    "Preempted": "Preempting",
    LIFETIME_OVER: "Deleting",
    FAILED_SCHEDULING: "Scheduling",
    QUEUE_NOT_FOUND: "Placing",
    PARTITION_IGNORED: "Placing",
    GANG_IGNORED: "Placing",
    DURATION_IGNORED: "Placing",
    USER_IGNORED: "Placing",
    LABEL_UNKNOWN: "Placing",
    PROFILE_UNKNOWN: "Placing",
    PROFILE_DIFFERS: "Placing",
    POD_REFUSED: "Placing",
    EXECUTION_TYPE_IGNORED: "Placing",
    PROMOTED: "Resizing",
    DEMOTED: "Resizing",
    PROMOTION_WAITS: "Resizing",
    RESIZE_REFUSED: "Resizing",
    "InternalError": "Placing",
    **dict.fromkeys(ABOUT_RESERVATIONS, "Planning"),
}
_NORMAL: Final = {"Scheduled", "Preempted", PROMOTED, DEMOTED, PROMOTION_WAITS, RESERVATION_REPROVISIONED}


class Recorder:
    """Counts bound pods by application and writes an event for each every ``interval`` seconds."""

    def __init__(
        self, patcher: Patcher, instance: str, interval: float = 5.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.written = 0
        self.heard: Callable[[Told], None] | None = None
        """Who is told of each event as well; None for nobody."""
        self.interval = interval
        self._patcher = patcher
        self._instance = instance[:128]
        self._tallies: dict[str, _Tally] = {}
        self._ended: dict[str, _Tally] = {}
        self._due = float("inf")
        self._clock = clock

    def scheduled(self, namespace: str, application: str, queue: str, pod: str, uid: str, node: str) -> None:
        """Count one pod that was bound; the first since the last event is what the event is about."""
        tally = self._tallies.get(application)
        if tally is None:
            self._begin()
            tally = self._tallies[application] = _Tally(namespace, queue, pod, uid, application=application)
        tally.pods += 1
        tally.nodes.add(node)

    def expired(self, pod: Expire) -> None:
        """Count one pod that was deleted because the lifetime of its application is over."""
        tally = self._ended.get(pod.application)
        if tally is None:
            self._begin()
            tally = _Tally(pod.namespace, pod.queue, pod.name, pod.uid, why=pod.why, application=pod.application)
            if pod.object_uid:
                tally.pod, tally.uid = pod.application.partition("/")[2], pod.object_uid
                tally.kind = (API_VERSION, "Application")
            self._ended[pod.application] = tally
        tally.pods += 1

    def _begin(self) -> None:
        """Begin a while, if none has begun yet."""
        if not self._tallies and not self._ended:
            self._due = self._clock() + self.interval

    def preempted(self, victim: Evict) -> None:
        """Write on a pod that it was preempted, and for whom."""
        tally = _Tally(victim.namespace, victim.queue, victim.name, victim.uid)
        self._patcher.submit(f"preempted/{victim.uid}", self._event(tally, f"Preempted: {victim.why}", "Preempted"))

    def warned(self, event: RecordEvent) -> None:
        """Write a warning about a pod; one of the same application and reason that has not been sent is replaced."""
        tally = _Tally(event.namespace, "", event.name, event.uid, application=event.application)
        self._patcher.submit(f"warned/{event.application}/{event.reason}", self._event(tally, event.note, event.reason))

    def reservation(self, event: ReservationDecided) -> None:
        """Write on a Reservation what was decided; one of the same reservation and reason that has not been sent is replaced."""
        namespace, _, name = event.id.partition("/")
        tally = _Tally(namespace, "", name, event.uid)
        tally.kind = (API_VERSION, "Reservation")
        self._patcher.submit(f"reservation/{event.id}/{event.reason}", self._event(tally, event.note, event.reason))

    def discard(self) -> None:
        """Forget what has been counted and not been written."""
        self._tallies.clear()
        self._ended.clear()
        self._due = float("inf")

    def flush(self, *, now: bool = False) -> None:
        """Write what has been counted, if its time has come."""
        if not (self._tallies or self._ended) or (not now and self._clock() < self._due):
            return
        for application, tally in self._ended.items():
            note = (
                f"Deleted {_pods(tally.pods)} of application {application} in queue {tally.queue}: it {tally.why}, which is over"
            )
            self._patcher.submit(f"ended/{application}", self._event(tally, note, LIFETIME_OVER))
        self._ended.clear()
        told = list(self._tallies.items())
        for application, tally in [*told[:MOST_APPLICATIONS], *_together(told[MOST_APPLICATIONS:])]:
            count, nodes = tally.pods, len(tally.nodes)
            where = next(iter(tally.nodes)) if nodes == 1 else f"{nodes} nodes"
            of = f"application {application}" if tally.applications == 1 else f"{tally.applications} applications"
            note = f"Bound {_pods(count)} of {of} in queue {tally.queue} to {where}"
            self._patcher.submit(f"event/{application}", self._event(tally, note))
        self._tallies.clear()
        self._due = float("inf")

    def _done(self, status: int) -> None:
        self.written += status < 400

    def _event(self, tally: _Tally, note: str, reason: str = "Scheduled") -> Write:
        if self.heard is not None:
            kind, about = tally.kind[1], (tally.namespace, tally.pod, tally.uid)
            self.heard(Told(reason, kind, *about, tally.application, tally.queue, note[:NOTE_LIMIT]))
        body = {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"generateName": f"{tally.pod[:200].rstrip('-.')}-", "namespace": tally.namespace},
            "eventTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "reportingController": "treadle.dev/treadle",
            "reportingInstance": self._instance,
            "action": _ACTIONS[reason],
            "reason": reason,
            "type": "Normal" if reason in _NORMAL else "Warning",
            "note": note[:NOTE_LIMIT],
            "regarding": {
                "apiVersion": tally.kind[0],
                "kind": tally.kind[1],
                "name": tally.pod,
                "namespace": tally.namespace,
                "uid": tally.uid,
            },
        }
        return Write(f"/apis/events.k8s.io/v1/namespaces/{tally.namespace}/events", body, JSON, "POST", done=self._done)


def _pods(count: int) -> str:
    return f"{count} pod{'s' if count > 1 else ''}"


def _together(tallies: list[tuple[str, _Tally]]) -> list[tuple[str, _Tally]]:
    """Return the tallies of each queue and namespace as one, about the first of its pods."""
    found: dict[tuple[str, str], tuple[str, _Tally]] = {}
    for application, tally in tallies:
        key = (tally.namespace, tally.queue)
        if key not in found:
            found[key] = application, tally
            continue
        into = found[key][1]
        into.pods += tally.pods
        into.applications += 1
        into.nodes |= tally.nodes
    return list(found.values())
