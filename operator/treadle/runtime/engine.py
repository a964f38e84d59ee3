"""The one task that touches the core: events in, effects out, again and again.

Everybody else puts events into the inbox and goes on. A pass drains the inbox, plans as many binds as the binder has room for and
hands them over; deciding no further ahead keeps the order current. Events are handled in slices, so that answers of binds
are not kept waiting by a long list.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable

from treadle.api.execution import GUARANTEED, OPPORTUNISTIC
from treadle.api.labels import BOUND_AS
from treadle.core import Core
from treadle.core.effects import (
    Bind,
    BindVolumes,
    Evict,
    Expire,
    FreeDevices,
    RecordEvent,
    ReportWaiting,
    ReservationDecided,
    ReserveDevices,
    Resize,
    Verify,
    Withhold,
)
from treadle.core.events import BindDone, BindFailed, Event, PodGone, ReportLost
from treadle.kube.binder import Binder, Placement
from treadle.kube.claims import ClaimBinder
from treadle.kube.device_claims import DeviceBinder
from treadle.kube.evictor import Evictor
from treadle.kube.recorder import Recorder
from treadle.kube.resizer import Resizer
from treadle.runtime.care import INTERNAL_ERROR, Care
from treadle.runtime.measures import Measures
from treadle.runtime.policies import RAISED
from treadle.runtime.provisioning import Provisioner
from treadle.runtime.waiting import WaitingReports

log = logging.getLogger(__name__)

SLICE = 256
"""Events handled before other tasks get their turn."""
BREATH, LONGER_BREATH, FEW = 0.01, 0.02, 64
"""Seconds between two passes in a burst: a pass for each event would cost more than the events do. Where fewer than ``FEW`` events came before a pass they are longer.

After a quiet while nothing waits.
"""
LONG, LONGEST_REST = 0.1, 1.0
"""Seconds from which a pass is long. After it nothing is decided for as long again, but at most so many seconds: answers, watches and the lease have their turn, however much there is to decide."""
BACKLOG_SAMPLED, BACKLOG_GROWING, BACKLOG_HARMLESS = 10.0, 6, 10_000
"""The backlog is compared every so many seconds; so many times in a row it must have grown, beyond what is harmless, to be a defect."""
IDLE = 1.0
"""Seconds after which a pass is made even if nothing happens."""


class Engine:
    """Runs the core. ``may_plan`` says whether everything is synced and we lead; until then events are only taken in."""

    def __init__(
        self,
        core: Core,
        binder: Binder,
        evictor: Evictor,
        reports: WaitingReports,
        recorder: Recorder,
        claims: ClaimBinder,
        devices: DeviceBinder,
        may_plan: Callable[[], bool],
    ) -> None:
        self.core = core
        self.binder = binder
        self.evictor = evictor
        self.reports = reports
        self.recorder = recorder
        self.claims = claims
        self.devices = devices
        self.may_plan = may_plan
        self.resizer: Resizer | None = None
        """Changes the requests of pods whose execution type changes."""
        self.provisioner: Provisioner | None = None
        """Knows for which gangs nodes were asked; None where nobody asks."""
        self.history: Callable[[Event], None] | None = None
        """Who is told of events that have been handled; None where no history is kept."""
        self.leaving: Callable[[str], None] = lambda _uid: None
        """Is told of a pod, by its uid, before the core is told that it is gone."""
        self.decided: Callable[[str], None] = lambda _id: None
        """Writes the status of a reservation on which something was decided, by its id."""
        reports.lost = lambda uid: self.put(ReportLost(uid))
        self.passes = 0
        self.busy_seconds = 0.0
        self.longest_pass = 0.0
        self.events = 0
        self.passed_at = time.monotonic()
        self._rests_until = float("-inf")
        self.stopping = False
        self.care = Care(core)
        self.measures = Measures(lambda: core.view, may_plan)
        binder.took = self.measures.binds.add
        self._inbox: deque[Event] = deque()
        self._wake = asyncio.Event()
        self._sampled_at, self._sampled, self._growing = self.passed_at, 0, 0

    def put(self, event: Event) -> None:
        """Take an event in; it is handled by the next pass. Call from the loop's thread only."""
        self._inbox.append(event)
        self._wake.set()

    def trouble(self) -> str:
        """Return why the engine should be restarted, empty if there is no reason: no turn, no pass that goes well, or more events than it can handle."""
        now = time.monotonic()
        if now - self.passed_at > 60:
            return "the engine has not made a pass for a minute"
        if now >= self._sampled_at + BACKLOG_SAMPLED:
            self._sampled_at = now
            grown = self.backlog > max(self._sampled, BACKLOG_HARMLESS)
            self._sampled, self._growing = self.backlog, self._growing + 1 if grown else 0
        if self._growing >= BACKLOG_GROWING:
            return f"{self.backlog} events wait to be handled, and they have become more for a minute"
        return self.care.trouble()

    @property
    def backlog(self) -> int:
        """How many events wait to be handled."""
        return len(self._inbox)

    async def run(self) -> None:
        """Pass until cancelled."""
        breath = BREATH
        while True:
            await self._pause()
            await asyncio.sleep(breath if time.monotonic() < self.passed_at + breath else 0)
            self._wake.clear()
            before = self.events
            if not self._inbox:
                await self._turn()
            while self._inbox:
                self._take()
                await self._turn()
                await asyncio.sleep(0)
            breath = BREATH if self.events >= before + FEW else LONGER_BREATH

    async def _turn(self) -> None:
        """Make a pass; where the core has raised it is healed, and the pass is made then."""
        if not self.care.hurt:
            self._plan()
        if self.care.hurt:
            await self._heal()
            self._plan()
        for event in self.care.due(time.monotonic(), self.events):
            self.put(event)

    async def _heal(self) -> None:
        try:
            pods = await self.care.heal(self.binder.room(), self.events)
        except RAISED:
            log.exception("the core could not be healed")
            return
        for pod, why in pods:
            words = f"the scheduler cannot take this pod into account, for an error in its code or in a policy installed with it: {why}; it is tried again"
            self.reports.submit(ReportWaiting(pod.uid, pod.namespace, pod.name, INTERNAL_ERROR, words, 0))
            self.recorder.warned(RecordEvent(pod.uid, pod.namespace, pod.name, pod.application, INTERNAL_ERROR, words, 0))

    def refresh_shares(self) -> bool:
        """Bring shares up to date for who reads them, and return whether they are. Where the core raises, as a policy may, it is healed with the next turn."""
        if self.care.hurt:
            return False
        try:
            self.core.refresh_shares(time.monotonic())
        except RAISED as error:
            log.exception("shares could not be computed; the core is made anew")
            self.care.hurt_by(error, "shares")
            self._wake.set()
            return False
        return True

    async def _pause(self) -> None:
        if self._wake.is_set():  # under load always, and to look for the next timer is not for nothing
            return
        timer = self.core.next_timer() if self._can_plan() else None
        now = time.monotonic()
        seconds = IDLE if timer is None else min(IDLE, max(0.0, timer - now))
        if now < self._rests_until:
            seconds = min(seconds, self._rests_until - now)
        alarm = asyncio.get_running_loop().call_later(seconds, self._wake.set)
        await self._wake.wait()
        alarm.cancel()

    def _take(self) -> None:
        start = time.perf_counter()
        inbox, handle, now, care = self._inbox, self.core.handle, time.monotonic(), self.care
        for _ in range(min(SLICE, len(inbox))):
            event = inbox.popleft()
            self.events += 1
            if care.set_aside and care.keeps(event):
                continue
            try:
                if isinstance(event, PodGone):
                    self.leaving(event.uid)
                handle(event, now)
            except RAISED as error:
                log.exception("an event could not be handled: %.500r", event)
                care.hurt_by(error, "event", event)
                break
            care.handled(event)
            if isinstance(event, BindDone):
                self._record(event.uid, now)
            elif self.history is not None:
                self.history(event)
        self.busy_seconds += time.perf_counter() - start

    def _record(self, uid: str, now: float) -> None:
        """Count a pod that was bound for the events that people read, and take its times; one that is gone already needs none."""
        view = self.core.view
        pod = view.pod(uid)
        self.measures.bound(view, uid, now)
        if pod is not None and pod.queue and pod.node:
            self.recorder.scheduled(pod.spec.namespace, pod.application, pod.queue, pod.spec.name, uid, pod.node)

    def _plan(self) -> None:
        self.passed_at = time.monotonic()
        if not self._can_plan():
            return
        room = self.binder.room()
        start = time.perf_counter()
        try:
            effects = self.core.plan(self.passed_at, room)
        except RAISED as error:
            log.exception("a pass failed; the core is made anew. Story: %s", self.core.view.story())
            self.care.hurt_by(error, "pass")
            return
        self.care.went_well()
        planned, binds = time.perf_counter() - start, 0
        for effect in effects:
            if isinstance(effect, Bind):
                binds += 1
                self.binder.submit(
                    Placement(
                        effect.uid,
                        effect.namespace,
                        effect.name,
                        effect.node,
                        effect.queue,
                        effect.application,
                        effect.version,
                        self._notes(effect),
                    )
                )
                self.reports.discard(effect.uid)
            elif isinstance(effect, BindVolumes):
                self.claims.submit(effect)
            elif isinstance(effect, Withhold):
                for placement in self.binder.withdraw(set(effect.uids)):
                    self.put(BindFailed(placement.uid, "transient", effect.why))
            elif isinstance(effect, ReserveDevices | FreeDevices):
                self.devices.submit(effect)
            elif isinstance(effect, Resize):
                if self.resizer is not None:
                    self.resizer.submit(effect)
            elif isinstance(effect, Evict | Expire):
                self.evictor.submit(effect)
            elif isinstance(effect, RecordEvent):
                self.recorder.warned(effect)
            elif isinstance(effect, ReservationDecided):
                self.decided(effect.id)
                if effect.reason:
                    self.recorder.reservation(effect)
            elif isinstance(effect, Verify):
                self.binder.verify(Placement(effect.uid, effect.namespace, effect.name, effect.node))
            else:
                pod = self.core.view.pod(effect.uid)
                again, version = (False, "") if pod is None else (pod.spec.reported[0] != "", pod.spec.version)
                self.reports.submit(effect, again=again, version=version)
        took = time.perf_counter() - start
        self.passes += 1
        self.busy_seconds += took
        self.measures.passes.add(took)
        self.measures.plans.add(planned, binds)
        self.longest_pass = max(self.longest_pass, took)
        self.binder.away += took
        if took > LONG:
            self._rests_until = time.monotonic() + min(took, LONGEST_REST)
        self.recorder.flush()

    def _notes(self, bind: Bind) -> tuple[tuple[str, str], ...]:
        """Return the annotations of a pod for whose gang nodes were asked, or that is opportunistic, or says so."""
        view = self.core.view
        notes: tuple[tuple[str, str], ...] = ()
        if view.is_opportunistic(bind.uid):
            notes = ((BOUND_AS, OPPORTUNISTIC),)
        elif view.is_unheeded(bind.uid):
            notes = ((BOUND_AS, GUARANTEED),)
        if self.provisioner is None or not self.provisioner.asks:
            return notes
        pod = view.pod(bind.uid)
        return notes if pod is None else (*notes, *self.provisioner.notes(bind.application, pod.spec.gang))

    def _can_plan(self) -> bool:
        """Whether a pass may decide: allowed, not just after a long one, and enough room in the pipeline that it is worth one."""
        if self.stopping or time.monotonic() < self._rests_until or not self.may_plan():
            return False
        return self.binder.room() >= self.binder.limit / 2

    def finish(self) -> None:
        """Take in all that has been told, for the last words before the end; nothing more is decided."""
        self.stopping = True
        while self._inbox:
            self._take()

    def stand_down(self) -> None:
        """Stop at once, because somebody else may lead: what has not been sent is taken back, what was to be told is told by the other."""
        for placement in self.binder.withdraw():
            self.put(BindFailed(placement.uid, "transient", "no longer the leader"))
        self.evictor.withdraw()
        self.claims.withdraw()
        self.devices.withdraw()
        if self.resizer is not None:
            self.resizer.withdraw()
        self.recorder.discard()
        self.core.forget_reports()
        self.core.forget_plans()


def both(one: Callable[[Event], None] | None, other: Callable[[Event], None]) -> Callable[[Event], None]:
    """Return what tells an event to two, of whom the first may be absent."""
    if one is None:
        return other

    def told(event: Event) -> None:
        one(event)
        other(event)

    return told
