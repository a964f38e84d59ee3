"""What is measured while it runs and cannot be read from the core's state afterwards: times, and what waited for how long.

The core has no clock, so times are taken here, from when it was told what. Nothing is kept for a pod.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING

from treadle.core.views.waiting import WaitingFigures
from treadle.metrics.histogram import Histogram, doubling
from treadle.runtime.policies import RAISED

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.core.views.view import View

log = logging.getLogger(__name__)

WAITS = (1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 14_400.0, 43_200.0, 86_400.0)
"""Seconds that pods wait, from a burst that is placed at once to a day in a full cluster."""
MOST_QUEUES = 50
"""Queues just below the root whose waits are told one by one; a thousand would be as many series as all else together."""
OTHERS = "(others)"
"""Stands for all other queues."""
MOST_PATHS = 10_000
"""Paths whose first two names are remembered; queues that rules make come and go."""
ANSWERS = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
"""Seconds until the API server answers: the bounds of client-go, whose metric it stands for."""
EVERY = 5.0
"""Seconds between two looks at what waits."""
COST = 200.0
"""A look is not made again before so many times as long as it took have gone by: with very many applications it is made less often."""


class Measures:
    """Takes the times. ``leads`` says whether decisions are made here: who stands by does not let anybody wait."""

    def __init__(self, view: Callable[[], View], leads: Callable[[], bool], clock: Callable[[], float] = time.monotonic) -> None:
        self.passes = Histogram(doubling(0.001, 15))
        """Seconds that passes took."""
        self.plans = Histogram(doubling(0.001, 15))
        """Seconds that a pass took to decide, for each pod that it handed over to be bound."""
        self.answers: dict[str, Histogram] = {}
        """Seconds until the API server answered, by the method."""
        self.binds = Histogram(doubling(0.001, 15))
        """Seconds from sending a bind to its answer."""
        self.scheduled = Histogram(doubling(0.001, 15))
        """Seconds from the beginning of the pass that decided a node to the API server's word that the pod is bound."""
        self.entered = Histogram(doubling(0.01, 20))
        """Seconds from when a pod first waited here to that word."""
        self.by_queue: dict[str, Histogram] = {}
        """Seconds from the creation of a pod to the decision of its node, by the queue below the root that it is in."""
        self.waited: dict[str, float] = {}
        """Seconds that pods waited, summed over pods, by the reason."""
        self.waiting = WaitingFigures({}, {})
        self._view, self._leads, self._clock = view, leads, clock
        self._of_path: dict[str, Histogram] = {}
        self._looked_at, self._led = clock(), False
        self._not_before = float("-inf")

    def bound(self, view: View, uid: str, now: float) -> None:
        """Take the times of a pod of which the API server says that it is bound."""
        found = view.placement_times(uid)
        if found is None:
            return
        self.scheduled.add(now - found.decided)
        if found.entered >= 0:
            self.entered.add(now - found.entered)
        if found.since_made is not None:
            (self._of_path.get(found.queue) or self._at(found.queue)).add(found.since_made)

    def answered(self, method: str, seconds: float) -> None:
        """Take the time of an answer of the API server."""
        (self.answers.get(method) or self.answers.setdefault(method, Histogram(ANSWERS))).add(seconds)

    def _at(self, path: str) -> Histogram:
        name = ".".join(path.split(".", 2)[:2])
        if name not in self.by_queue and len(self.by_queue) >= MOST_QUEUES:
            name = OTHERS
        found = self.by_queue.setdefault(name, Histogram(WAITS))
        if len(self._of_path) >= MOST_PATHS:
            self._of_path.clear()
        self._of_path[path] = found
        return found

    def look(self) -> None:
        """Look at what waits, unless that would be too often, and count the time since the last look for those who waited then."""
        now = self._clock()
        if now < self._not_before:
            return
        leads = self._leads()
        if leads and self._led:
            for reason, pods in self.waiting.reasons.items():
                self.waited[reason] = self.waited.get(reason, 0.0) + pods * (now - self._looked_at)
        start = self._clock()
        try:
            self.waiting = self._view().waiting()
        except RAISED:  # the core is made anew with the next pass, and looked at then
            log.exception("what waits could not be counted")
        self._looked_at, self._led = now, leads
        self._not_before = now + COST * (self._clock() - start)

    async def run(self) -> None:
        """Look at what waits again and again, also where nobody asks for it."""
        while True:
            self.look()
            await asyncio.sleep(EVERY)
