"""What is done when the core raises: it is made anew from what is known, without the objects that it cannot stand.

A defect of ours must harm only what it is about. Handling an event may stop in the middle, so the state that raised is not gone
on with: its facts are told to a new core. If that raises as well, the objects are found whose facts make it raise, the ones that
changed last first, by trying ever smaller parts. Those are set aside: their last good version is told instead, where there is
one, else nothing.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from treadle.core import events as e
from treadle.core.model import PodSpec, QueueSpec
from treadle.runtime.policies import RAISED, is_installed

if TYPE_CHECKING:
    from treadle.core import Core

log = logging.getLogger(__name__)

PACKAGE = Path(__file__).parents[1]

Subject = tuple[str, str]
"""What an event is about: a kind, and the name that the core knows it by (a pod's uid, a queue's path, an application's id)."""
IN_FORCE = "QueuesInForce"
"""The kind of what is told of all queues together."""
DEFAULT_POLICY = "drf"
"""What a queue is ordered by whose own policy raises."""
DEFINITIONS = ("Scheduler", "Queue", "Application", "Reservation", "Namespace")
"""Kinds of which the last good version is kept: those that people edit, and of which there are few."""


def blamed(error: BaseException) -> str:
    """Return an error in words, with the place where it was raised if that is not in this package: a policy that somebody installed."""
    words = f"{type(error).__name__}: {error}"
    frames = traceback.extract_tb(error.__traceback__)
    if frames and not Path(frames[-1].filename).is_relative_to(PACKAGE):
        words += f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})"
    return words


def subject(event: e.Event) -> Subject:
    """Return what an event is about."""
    match event:
        case e.PodSeen(pod) | e.PodAssumed(pod) | e.PodRefused(pod):
            return "Pod", pod.uid
        case e.NodeHeldOff(pod):
            return "Node", pod.node
        case (
            e.PodGone(uid)
            | e.BindDone(uid)
            | e.BindFailed(uid)
            | e.BindsFailed(uid)
            | e.DevicesAssumed(uid)
            | e.EvictFailed(uid)
            | e.ResizeDone(uid)
            | e.ResizeFailed(uid)
            | e.ReportLost(uid)
        ):
            return "Pod", uid
        case e.NodeSeen(node):
            return "Node", node.name
        case e.NodeGone(name):
            return "Node", name
        case e.QueueSeen(queue):
            return "Queue", queue.path
        case e.QueueGone(path):
            return "Queue", path
        case e.ApplicationSeen(application):
            return "Application", application.id
        case e.ApplicationGone(identity) | e.ApplicationPlaced(identity):
            return "Application", identity
        case e.NamespaceSeen(name):
            return "Namespace", name
        case e.StorageSeen(thing) | e.DevicesSeen(thing):
            return type(thing).__name__, thing.key
        case e.StorageGone(kind, key) | e.DevicesGone(kind, key):
            return kind.__name__, key
        case e.NodeSampled(node):
            return "Usage", node
        case e.PodSampled(uid):
            return "Usage of a pod", uid
        case e.StorageKnown() | e.DevicesKnown() | e.ProvisionerKnown() | e.UsageKnown() | e.RemovedLately() | e.RunTimesKnown():
            return type(event).__name__, ""
        case e.PodGroupSeen(group):
            return f"PodGroup of {group.source}", group.id
        case e.PodGroupGone(source, identity):
            return f"PodGroup of {source}", identity
        case e.PodGroupsServed(source):
            return "PodGroupsServed", source
        case e.GangRequested(application, gang):
            return "Gang", f"{application} {gang}"
        case e.ReservationSeen(reservation):
            return "Reservation", reservation.id
        case e.ReservationGone(identity) | e.ReservationLost(identity):
            return "Reservation", identity
        case e.QueuesInForce() | e.QueuesPlanned():
            return IN_FORCE, ""
        case e.SchedulerSeen():
            return "Scheduler", ""


_EDITED = (e.SchedulerSeen, e.QueueSeen, e.ApplicationSeen, e.ReservationSeen, e.NamespaceSeen)


def is_definition(event: e.Event) -> bool:
    """Whether an event says how something is that people edit."""
    return isinstance(event, _EDITED)


def placed_at_least(facts: Iterable[e.Event]) -> e.Event | None:
    """Return, of a pod that is on a node or was decided for one, that it takes its room there and nothing else; None of anything else."""
    found: e.Event | None = None
    for fact in facts:
        if isinstance(fact, e.PodAssumed) or (isinstance(fact, e.PodSeen) and fact.pod.node):
            pod = fact.pod
            node = fact.node if isinstance(fact, e.PodAssumed) else pod.node
            found = e.PodSeen(PodSpec(pod.uid, pod.namespace, pod.name, node=node, demand=pod.demand, version=pod.version))
    return found


def _with_default_policy(facts: Iterable[e.Event], paths: Container[str]) -> list[e.Event]:
    """Return facts in which some queues have the default policy."""

    def tame(queue: QueueSpec) -> QueueSpec:
        return replace(queue, policy=DEFAULT_POLICY) if queue.path in paths else queue

    found: list[e.Event] = []
    for fact in facts:
        match fact:
            case e.QueueSeen(queue):
                found.append(e.QueueSeen(tame(queue)))
            case e.QueuesInForce(queues):
                found.append(e.QueuesInForce(tuple(map(tame, queues))))
            case _:
                found.append(fact)
    return found


@dataclass(slots=True)
class Healed:
    """A core that works, and what was set aside for it: why, by what it is about."""

    core: Core
    set_aside: dict[Subject, str] = field(default_factory=dict)


class Incurable(Exception):
    """No core could be made that works, not even one that is told nothing."""


class Healer:
    """Makes a core from facts that works. Pure but for its log: it may run in a thread of its own."""

    def __init__(self, fresh: Callable[[], Core], now: float, budget: int) -> None:
        self._fresh, self._now, self._budget = fresh, now, budget
        self._why = ""
        self.tried = 0
        """Cores that were made."""

    def heal(self, facts: Iterable[e.Event], suspects: Iterable[Subject], good: Mapping[Subject, e.Event]) -> Healed:
        """Return a core that has handled the facts and can plan. Raises ``Incurable``.

        ``suspects`` are what changed since the last pass that went well, ``good`` the versions that were in force then.
        """
        known = list(facts)
        if self._works(known) is not None:
            return Healed(self._made(known))
        healed = self._without_policies(known)
        if healed is not None:
            return healed
        doubtful = set(suspects)
        base = [event for event in known if subject(event) not in doubtful]
        if not doubtful or self._works(base) is None:
            doubtful, base = {subject(event) for event in known}, []
            if self._works(base) is None:
                raise Incurable(self._why)
        groups = list(dict.fromkeys(subject(event) for event in known if subject(event) in doubtful))
        kept: set[Subject] = set()
        set_aside: dict[Subject, str] = {}
        self._add(known, groups, doubtful, kept, set_aside)
        told = self._told(known, doubtful, kept)
        for culprit in set_aside:
            instead = good.get(culprit) or placed_at_least([event for event in known if subject(event) == culprit])
            if instead is not None and self._works([*told, instead]) is not None:
                told.append(instead)
        return Healed(self._made(told), set_aside)

    def _without_policies(self, known: list[e.Event]) -> Healed | None:
        """Return a core in which the queues whose installed policies raise have the default policy; None if that is not what is wrong."""
        own = [fact.queue.path for fact in known if isinstance(fact, e.QueueSeen) and is_installed(fact.queue.policy)]
        raising = set(own)
        if not own or self._works(_with_default_policy(known, raising)) is None:
            return None
        why: dict[Subject, str] = {}
        for path in own:
            if self._works(_with_default_policy(known, raising - {path})) is None:
                why["Queue", path] = self._why
            else:
                raising.discard(path)
        return Healed(self._made(_with_default_policy(known, raising)), why)

    def _add(
        self,
        known: list[e.Event],
        groups: list[Subject],
        doubtful: set[Subject],
        kept: set[Subject],
        set_aside: dict[Subject, str],
    ) -> None:
        """Let what is told grow by those groups that it can stand."""
        if not groups:
            return
        if self._works(self._told(known, doubtful, kept.union(groups))) is not None:
            kept.update(groups)
        elif len(groups) == 1:
            set_aside[groups[0]] = self._why
        else:
            middle = len(groups) // 2
            self._add(known, groups[:middle], doubtful, kept, set_aside)
            self._add(known, groups[middle:], doubtful, kept, set_aside)

    @staticmethod
    def _told(known: list[e.Event], doubtful: set[Subject], kept: set[Subject]) -> list[e.Event]:
        return [event for event in known if (about := subject(event)) in kept or about not in doubtful]

    def _works(self, told: list[e.Event]) -> Core | None:
        """Return a core that has handled what is told and made a pass; None if it raised."""
        self.tried += 1
        core = self._fresh()
        try:
            for event in told:
                core.handle(event, self._now)
            core.plan(self._now, self._budget)
            core.refresh_shares()
        except RAISED as error:
            self._why = blamed(error)
            return None
        return core

    def _made(self, told: list[e.Event]) -> Core:
        """Return a core that has handled what is told and decided nothing yet."""
        core = self._fresh()
        for event in told:
            core.handle(event, self._now)
        return core
