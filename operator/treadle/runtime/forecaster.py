"""Asks a process of its own, from time to time, when what waits will start, and keeps what it says for the status, the HTTP port and the metrics.

The scheduler's loop takes facts and packs them in slices; everything else is done by a process at the lowest priority that lives for one forecast. What goes wrong there is logged once and
counted, what was told before stands with its time, and the next forecast is another process.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections import Counter
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from treadle.controllers.eta import written
from treadle.core.events import ApplicationGone, ApplicationSeen, PodGone, PodSeen, RunTimesKnown
from treadle.forecast.arrivals import Arrived
from treadle.forecast.calibration import Calibration, calibrated
from treadle.forecast.durations import Ended, declared_of, older
from treadle.forecast.forward import Bounds, foreseen
from treadle.runtime.aside import Packed, ask, pack
from treadle.runtime.forecast_child import Question

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from treadle.core.events import Event
    from treadle.core.model import ApplicationSpec, PodSpec, Settings
    from treadle.core.views.view import View
    from treadle.forecast.ranges import Forecast, Range

log = logging.getLogger(__name__)

EVERY = 60.0
"""Seconds between two forecasts at the least, while anything waits."""
SOON = 5.0
"""Seconds after which it is looked again whether anything waits, where nothing did."""
PART = 0.02
"""The part of the loop's time that facts may take, where that makes the rests longer."""
LOOKS, PATIENCE = 30.0, 60.0
"""Seconds that a process may look ahead, and after which it is ended."""
SLACK, SLACK_PART = 5.0, 0.02
"""How far from a range what happens still counts as inside: seconds, or if that is more the part of how far ahead it was told."""


class Forecaster:
    """Keeps the newest forecast. ``telling`` gives the facts of the core one by one, ``clock`` the time since 1970."""

    def __init__(
        self,
        telling: Callable[[], Iterator[Event]],
        view: Callable[[], View],
        settings: Settings,
        may_ask: Callable[[], bool] = lambda: True,
        clock: Callable[[], float] = time.time,
        past: Callable[[], Iterable[tuple[str, str, float]]] | None = None,
        put: Callable[[Event], None] = lambda _: None,
    ) -> None:
        """``put`` takes what the core is to know; ``past`` gives run times from before this process, as application, queue and seconds, the oldest first; it is called in a thread and may raise anything."""
        self._telling, self._view, self._may_ask, self._clock = telling, view, may_ask, clock
        self._settings = replace(settings, solver=None)
        self.forecast: Forecast | None = None
        self.counts: Counter[str] = Counter()
        """Forecasts by what came of them: made, failed."""
        self.outcomes: Counter[tuple[str, bool]] = Counter()
        """Starts and ends of applications that a range had been told of: what, and whether it lay inside."""
        self.ended = Ended()
        self.arrived = Arrived(clock())
        self._past = past
        self._put = put
        self._told = RunTimesKnown(())
        self._past_problem = ""
        self.problem = ""
        """Why the last forecast failed, empty if it did not."""
        self.longest_slice = 0.0
        """Seconds that others had to wait at the most while facts were taken."""
        self.command = (sys.executable, "-m", "treadle.runtime.forecast_child")
        self.bounds = Bounds()
        self.patience = PATIENCE
        self._running: dict[str, PodSpec] = {}
        """Pods that we have bound, by uid."""
        self._objects: dict[str, ApplicationSpec] = {}
        """Applications that declare a run time or a deadline."""
        self._starts: dict[str, tuple[float, Range]] = {}
        self._ends: dict[str, tuple[float, Range]] = {}
        """The ranges that were told last of applications, with when that was, until they have started and ended."""
        self.calibrations = {"start": Calibration(), "end": Calibration()}
        """How wide ranges have to be, by what happened to those that were found first."""
        self._first: dict[tuple[str, str], tuple[float, Range]] = {}
        """What the futures said first of an application's start and end, by what and its id."""
        self._meanwhile: set[str] = set()
        """Applications of which pods have started since the facts for the newest forecast were taken."""

    # ---- what happens

    def note(self, event: Event) -> None:
        """Take note of run times and outcomes."""
        match event:
            case PodSeen(pod) if pod.application and not pod.node:
                self.arrived.note(pod)
            case PodSeen(pod) if pod.node and pod.held_in:
                if pod.finished:
                    self._end(pod.uid)
                else:
                    if pod.uid not in self._running:
                        self._meanwhile.add(pod.application)
                        self._judge("start", self._starts, pod.application)
                    self._running[pod.uid] = pod
            case PodGone(uid):
                self._end(uid)
            case ApplicationSeen(application):
                self.arrived.note_object(application)
                if application.duration or application.deadline is not None:
                    self._objects[application.id] = application
                else:
                    self._objects.pop(application.id, None)
            case ApplicationGone(identity):
                self.arrived.object_gone(identity)
                self._objects.pop(identity, None)

    def _end(self, uid: str) -> None:
        pod = self._running.pop(uid, None)
        if pod is None:
            return
        if pod.started and not pod.deleting:
            said = self._objects.get(pod.application)
            declared = declared_of(pod, 0.0 if said is None else said.duration or 0.0)
            now = self._clock()
            self.ended.note(pod.application, pod.held_in, max(0.0, now - pod.started), declared, now)
        if pod.application in self._ends and not self._view().knows(pod.application):
            self._judge("end", self._ends, pod.application)

    def _judge(self, what: str, told: dict[str, tuple[float, Range]], application: str) -> None:
        at, found = told.pop(application, (0.0, None))
        if found is None:
            return
        now = self._clock()
        slack = max(SLACK, SLACK_PART * (now - at))
        if (said := self._first.pop((what, application), None)) is not None:
            self.calibrations[what].note(*said, now)
        early = found.earliest is not None and now < found.earliest - slack
        late = found.latest is not None and now > found.latest + slack
        self.outcomes[what, not early and not late and found.earliest is not None] += 1

    # ---- forecasts

    async def run(self) -> None:
        """Forecast until cancelled, while anything waits."""
        took = 0.0
        while True:
            await asyncio.sleep(max(EVERY, took / PART) if self.forecast is not None or self.problem else SOON)
            self.tell_run_times()
            if self._may_ask():
                took = await self.look()

    def tell_run_times(self) -> None:
        """Tell the core how long pods ran that have ended, if that has changed: backfilling may go by it."""
        known = RunTimesKnown(self.ended.run_times())
        if known != self._told:
            self._told = known
            self._put(known)

    async def look(self) -> float:
        """Make a forecast if anything waits, and return how many seconds of the loop that took."""
        if not self._view().counts().waiting and not any(one.deadline is not None for one in self._objects.values()):
            self.forecast = None
            self._forget_the_gone()
            return 0.0
        took = 0.0
        await self._remember()
        self._meanwhile.clear()
        try:
            packed = await self._pack()
            took = packed.took
            found = await self._ask(packed.body)
        except Exception as error:  # noqa: BLE001 - whatever it is, scheduling goes on, and it is said
            self._failed(str(error) or type(error).__name__)
            return took
        self.counts["made"] += 1
        self.problem = ""
        self._keep_first(found)
        found = self.forecast = calibrated(found, self.calibrations["start"], self.calibrations["end"])
        # An application that does not wait any more has started; one that is not told of may still end.
        self._starts = {name: (found.at, one.first) for name, one in found.applications.items() if one.first is not None}
        self._ends = {name: kept for name, kept in self._ends.items() if self._view().knows(name)}
        self._ends |= {name: (found.at, one.end) for name, one in found.applications.items() if one.end is not None}
        return took

    def _forget_the_gone(self) -> None:
        """Forget what was told of applications that are gone: one of the same name that comes later is another."""
        knows = self._view().knows
        self._starts = {name: kept for name, kept in self._starts.items() if knows(name)}
        self._ends = {name: kept for name, kept in self._ends.items() if knows(name)}
        self._first = {key: said for key, said in self._first.items() if knows(key[1])}
        self._meanwhile.clear()

    def _keep_first(self, found: Forecast) -> None:
        """Keep what was said first, for as long as it may still be judged: of a start while the application waits."""
        knows, told = self._view().knows, found.applications

        def may_come(what: str, name: str) -> bool:
            if what == "start":
                return name in told and told[name].waiting > 0
            return name in told or knows(name)

        self._first = {key: said for key, said in self._first.items() if may_come(*key)}
        for name, one in told.items():
            for what, said in (("start", one.first), ("end", one.end)):
                # A start that has been while the futures were looked at is not to come any more.
                if said is not None and not (what == "start" and name in self._meanwhile):
                    self._first.setdefault((what, name), (found.at, said))

    async def _remember(self) -> None:
        """Take in what ran before this process did, once, ahead of what has ended since."""
        if self._past is None:
            return
        try:
            before = await asyncio.to_thread(lambda past: list(past()), self._past)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is said, and forecasts go without it
            why = str(error) or type(error).__name__
            if not self._past_problem:
                log.warning("run times of the history are not known to forecasts; reading them is tried again: %s", why)
            self._past_problem = why
            return
        self._past, self._past_problem = None, ""
        self.ended = older(before, self.ended)

    def _failed(self, why: str) -> None:
        self.counts["failed"] += 1
        if not self.problem:
            log.warning("no forecast was made; the last one stands, and it is tried again: %s", why)
        self.problem = why

    async def _pack(self) -> Packed:
        self.arrived.forget(self._clock())
        question = Question(self._settings, self._view().now, self.ended, self.arrived.without_pods(), self.bounds, LOOKS)
        packed = await pack(question, chain(tuple(self.arrived.pods), foreseen(self._telling())))
        self.longest_slice = max(self.longest_slice, packed.longest)
        return packed

    async def _ask(self, packed: bytes) -> Forecast:
        found: Forecast = await ask(self.command, packed, self.patience)
        return found

    # ---- for readers

    def status(self, identity: str, previous: Any) -> dict[str, Any] | None:
        """Return ``status.eta`` of an application by its id; ``previous`` is what is there, which stands until this process has made a forecast."""
        if self.forecast is None:
            return previous if isinstance(previous, dict) and not self.counts["made"] else None
        told = self.forecast.applications.get(identity)
        return None if told is None else written(told, self.forecast)

    def everything(self) -> dict[str, Any]:
        """Return what is told of all applications, those without an object too, as JSON's types."""
        found = self.forecast
        return {
            "problem": self.problem or None,
            "scenarios": None if found is None else found.scenarios,
            "applications": {} if found is None else {name: written(told, found) for name, told in found.applications.items()},
        }


def past_of(history: str, days: float) -> Callable[[], list[tuple[str, str, float]]]:
    """Return who reads what ran in the last ``days`` before now from a history, by its URL."""
    began = time.time()

    def read() -> list[tuple[str, str, float]]:
        from treadle.history.run_times import past  # with its library, where a history is kept only
        from treadle.history.store import Store

        store = Store(history)
        try:
            return past(store, began - days * 86_400, began)
        finally:
            store.close()

    return read
