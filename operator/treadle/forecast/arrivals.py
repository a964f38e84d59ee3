"""What may yet arrive: what has arrived lately comes again, in another order.

A forecast in which nothing arrives is too early in a busy cluster: what comes meanwhile takes room, and may stand before what waits. Nobody knows what will come, so each future
takes it from the past: time ahead is cut into pieces as long as those that the past is cut into, and each brings what one of those brought, drawn evenly (a block bootstrap: bursts, and what
comes together, stay together).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from treadle.core.model import ApplicationSpec, PodSpec

WINDOW = 6 * 3_600.0
"""Seconds for which arrivals are remembered."""
PIECE = 1_800.0
"""Seconds of a piece of time, where so much was watched that there are ``PIECES``; shorter ones until then."""
PIECES = 6
LEAST = 600.0
"""Seconds that have to be watched before anything is taken to arrive."""
KEPT = 2_000
"""Pods that are remembered at the most: the newest."""
MOST = 5_000
"""Pods that arrive in a future at the most."""
AGAIN = "~"
"""Parts the id of an application that arrived from the number of its copy; no name in Kubernetes has it."""


class Arrival(NamedTuple):
    """A pod that arrives, at a time in seconds since 1970, after the object of its application if that has one."""

    at: float
    pod: PodSpec
    object: ApplicationSpec | None


def original(application: str) -> str:
    """Return the id of the application that one is a copy of; its own if it is none."""
    return application.partition(AGAIN)[0]


@dataclass(slots=True)
class Arrived:
    """The pods that arrived since ``since``, seconds since 1970, no earlier than the window and no more than can be kept."""

    since: float
    pods: deque[PodSpec] = field(default_factory=deque)
    objects: dict[str, ApplicationSpec] = field(default_factory=dict)
    """The objects of applications, as they were last."""
    _uids: set[str] = field(default_factory=set)
    _gone: set[str] = field(default_factory=set)
    """Those of the objects that are not there any more."""

    def note(self, pod: PodSpec) -> None:
        """A pod of ours was seen; it counts once."""
        if pod.created <= self.since or pod.uid in self._uids:
            return
        if pod.finished or pod.deleting or pod.problem or pod.opportunistic or pod.constraints.claims:
            return
        self.pods.append(_as_it_came(pod))
        self._uids.add(pod.uid)
        if len(self.pods) > KEPT:
            self.since = max(self.since, self._oldest())

    def note_object(self, application: ApplicationSpec) -> None:
        """The object of an application was seen."""
        self.objects[application.id] = application
        self._gone.discard(application.id)

    def object_gone(self, application: str) -> None:
        """The object of an application is not there any more; it is known for as long as pods of it are."""
        if application in self.objects:
            self._gone.add(application)

    def forget(self, now: float) -> None:
        """Forget what came before the window."""
        self.since = max(self.since, now - WINDOW)
        while self.pods and self.pods[0].created <= self.since:
            self._oldest()
        if self._gone:
            for name in self._gone.difference(pod.application for pod in self.pods):
                del self.objects[name]
                self._gone.discard(name)

    def without_pods(self) -> Arrived:
        """Return the same without the pods, for who hands those over bit by bit."""
        names = {pod.application for pod in self.pods}
        return Arrived(self.since, objects={name: self.objects[name] for name in names if name in self.objects})

    def foretells(self, now: float) -> bool:
        """Return whether anything is taken to arrive after a time."""
        return bool(self.pods) and now - self.since >= LEAST

    def _oldest(self) -> float:
        pod = self.pods.popleft()
        self._uids.discard(pod.uid)
        return pod.created

    def drawn(self, now: float, random: Random) -> Iterator[Arrival]:
        """Yield what arrives from a time on, without end but for ``MOST``, in the order of time; times are since 1970."""
        if not self.foretells(now):
            return
        watched = now - self.since
        count = max(PIECES, int(watched / PIECE))
        length = watched / count
        pieces: list[list[PodSpec]] = [[] for _ in range(count)]
        for pod in self.pods:
            if self.since < pod.created <= now:
                pieces[min(count - 1, int((pod.created - self.since) / length))].append(pod)
        if not any(pieces):
            return
        start, made, number = now, 0, 0
        while made < MOST:
            which = random.randrange(count)
            begin = self.since + which * length
            number += 1
            for pod in sorted(pieces[which], key=lambda one: one.created):
                at = start + pod.created - begin
                made += 1
                name = f"{pod.application}{AGAIN}{number}"
                uid, as_called = f"{pod.uid}{AGAIN}{number}", f"{pod.name}{AGAIN}{number}"
                copy = replace(pod, uid=uid, name=as_called, application=name, created=at)
                told = self.objects.get(pod.application)
                yield Arrival(at, copy, None if told is None else replace(told, id=name, created=None))
            start += length


def _as_it_came(pod: PodSpec) -> PodSpec:
    """A pod before anything happened to it; volumes and PodGroups are its own, and another one will have others."""
    rules = pod.constraints
    if rules.volumes is not None or rules.storage is not None:
        rules = replace(rules, volumes=None, storage=None)
    return replace(
        pod, node="", held_in="", started=0.0, gated=False, reported=("", ""), version="", gang_source="", constraints=rules
    )
