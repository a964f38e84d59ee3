"""Which objects the core cannot stand: they are set aside, told of, and tried again; see ``healing`` for how they are found."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from treadle.core.events import (
    ApplicationGone,
    BindDone,
    Event,
    NodeGone,
    PodAssumed,
    PodGone,
    PodSeen,
    QueueGone,
    ReservationGone,
)
from treadle.runtime.healing import DEFINITIONS, IN_FORCE, Healer, Subject, blamed, is_definition, subject

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.core import Core
    from treadle.core.model import PodSpec

log = logging.getLogger(__name__)

INTERNAL_ERROR = "InternalError"
"""The reason of a pod, and of an object of ours, that was set aside."""
FIRST_RETRY, LAST_RETRY = 5.0, 600.0
"""Seconds before an object that was set aside is tried again at the earliest; they double with each try."""
MOST_CHANGES = 20_000
"""Events that are remembered since the last pass that went well; of an instance that only stands by there may be any number."""
_PODS = (PodSeen, BindDone, PodGone)
ILL_AFTER = 30.0
"""Seconds without a pass that went well, though there were some, after which the instance is not healthy."""


@dataclass(slots=True)
class SetAside:
    """What is known of an object that the core cannot stand: its events, why, how often it was tried, and when it is tried again."""

    events: list[Event]
    why: str
    tries: int
    again: float
    handled: int = 0
    """How many events had been handled by the engine when it was set aside."""


class Care:
    """Keeps a core going. ``since`` are the events handled since the last pass that went well."""

    def __init__(self, core: Core, clock: Callable[[], float] = time.monotonic) -> None:
        self.core = core
        self.since: list[Event] = []
        self.set_aside: dict[Subject, SetAside] = {}
        self.errors: Counter[str] = Counter()
        """How often the core raised, by what it did: ``event``, ``pass`` or ``shares``."""
        self.last = ""
        """What the core raised last."""
        self.healed = 0
        self.hurt = False
        self._clock = clock
        self._culprit: Event | None = None
        self._ill_since: float | None = None
        self._lost: set[str] = set()
        self._tries: dict[Subject, int] = {}
        self._good: dict[Subject, Event] = {}

    def hurt_by(self, error: BaseException, during: str, event: Event | None = None) -> None:
        """Take note that the core raised: it is to be healed before it is used again."""
        self.last = blamed(error)
        self.errors[during] += 1
        self.hurt, self._culprit = True, event
        self._ill_since = self._clock() if self._ill_since is None else self._ill_since
        self._lost = self.core.view.just_assumed() if during == "pass" else set()

    def went_well(self) -> None:
        """Take note of a pass that went well: what is in force now is good."""
        self._ill_since = None
        for event in self.since:
            if isinstance(event, _PODS):  # nearly every event
                continue
            if is_definition(event):
                self._good[subject(event)] = event
            elif isinstance(event, QueueGone | ApplicationGone | ReservationGone):
                self._good.pop(subject(event), None)
        self.since.clear()

    def handled(self, event: Event) -> None:
        """Take note of an event that was handled."""
        self.since.append(event)
        if len(self.since) > MOST_CHANGES:
            self.since = [one for one in self.since if is_definition(one)][-MOST_CHANGES // 2 :]

    def trouble(self) -> str:
        """Return why we are not healthy, empty if we are."""
        if self._ill_since is not None and self._clock() > self._ill_since + ILL_AFTER:
            return f"no pass has gone well for {self._clock() - self._ill_since:.0f} s: {self.last}"
        return ""

    def keeps(self, event: Event) -> bool:
        """Whether an event is about an object that was set aside, and is kept until that is tried again; what people edit is tried at once."""
        about = subject(event)
        kept = self.set_aside.get(about)
        if kept is None:
            return False
        if about[0] in DEFINITIONS or isinstance(event, PodGone | NodeGone):
            del self.set_aside[about]
            self._tell_queues()
            return False
        kept.events = [one for one in kept.events if type(one) is not type(event)] + [event]
        return True

    def due(self, now: float, handled: int) -> list[Event]:
        """Return the events of what is to be tried again: its time has come, and something has changed since."""
        events: list[Event] = []
        for about, kept in list(self.set_aside.items()):
            if now >= kept.again and handled > kept.handled:
                del self.set_aside[about]
                self._tell_queues()
                events += kept.events
        return events

    async def heal(self, budget: int, handled: int) -> list[tuple[PodSpec, str]]:
        """Make the core anew, without what it cannot stand.

        Returns the waiting pods that were set aside, and why. Raises what healing raises.
        """
        self.hurt = False
        core, culprit = self.core, self._culprit
        decided = core.view.assumed() - self._lost
        known = core.facts(decided)
        if culprit is not None:
            known.append(culprit)
        suspects = {subject(event) for event in self.since}
        if culprit is not None:
            suspects.add(subject(culprit))
        healer = Healer(core.fresh, core.view.now, budget)
        found = await asyncio.to_thread(healer.heal, known, suspects, dict(self._good))
        core.become(found.core)
        self.healed += 1
        self.since.clear()
        waiting: list[tuple[PodSpec, str]] = []
        now = self._clock()
        for about, why in found.set_aside.items():
            if about[0] == IN_FORCE:
                continue  # what is written is told in its place
            events: list[Event] = [event for event in known if subject(event) == about and not isinstance(event, PodAssumed)]
            tries = self._tries[about] = self._tries.get(about, -1) + 1
            self.set_aside[about] = SetAside(events, why, tries, now + min(FIRST_RETRY * 2**tries, LAST_RETRY), handled)
            log.error("%s %s is set aside: the core cannot stand it (%s)", *about, why)
            waiting += [(event.pod, why) for event in events if isinstance(event, PodSeen) and not event.pod.node]
        if len(self._tries) > 10 * len(self.set_aside) + 100:
            self._tries = {about: tries for about, tries in self._tries.items() if about in self.set_aside}
        self._tell_queues()
        return waiting

    def _tell_queues(self) -> None:
        """Let the core know whose queues are set aside, so that it does not say that they do not exist."""
        self.core.queues_set_aside(name for kind, name in self.set_aside if kind == "Queue")

    def why_set_aside(self, kind: str, name: str) -> str:
        """Return what is to be said of an object that is set aside, empty if it is not."""
        kept = self.set_aside.get((kind, name))
        if kept is None:
            return ""
        instead = "; the last good version stays in force" if (kind, name) in self._good else ""
        return f"the scheduler cannot act on this object, for an error in its code or in a policy installed with it: {kept.why}{instead}; it is tried again"
