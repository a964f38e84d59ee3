"""One future of a cluster: a new core is told what another one knows, and goes on in virtual time.

What arrives is given by whoever calls, and is not asked about. Binds, volumes and devices succeed at once, a pod ends when its run time is over, a pod that is asked to go goes at once and another one like it waits
instead, since whoever made it makes another. What nobody can foresee is not known to that core: what nodes will use, and devices, whose claims others make and free. Pods that
need it wait, and say so. Pure: run times are drawn by whoever calls.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Protocol

from treadle.core import Core
from treadle.core.effects import Bind, BindVolumes, Evict, Expire, ReserveDevices, Resize, Verify
from treadle.core.events import (
    ApplicationSeen,
    BindDone,
    DevicesAssumed,
    DevicesKnown,
    DevicesSeen,
    NodeSampled,
    PodAssumed,
    PodGone,
    PodSampled,
    PodSeen,
    ResizeDone,
    UsageKnown,
)
from treadle.forecast.arrivals import original

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator

    from treadle.core.effects import Effect
    from treadle.core.events import Event
    from treadle.core.model import PodSpec, Settings
    from treadle.forecast.arrivals import Arrival

NEVER = 1e12
"""Seconds: nobody is told anything of a future."""
ROUNDS = 8
"""Passes at one time at the most, one after the effects of the other."""
LEAST_STEP = 0.01
"""Seconds between two times that only timers of the core make, at the least."""


class Remaining(Protocol):
    """How many seconds a pod goes on that has run for ``age``; None: that is not known, and it does not end within any horizon."""

    def __call__(self, pod: PodSpec, application: str, queue: str, age: float, /) -> float | None:
        """Return the seconds, at least 0. The application and the queue of a foreign pod are empty."""
        ...


@dataclass(frozen=True, slots=True)
class Bounds:
    """How far is looked: seconds, placements and passes.

    Passes are made no closer together than ``coarseness`` times how far ahead they are, so that their number does not grow with what happens; 0: whenever something is due.
    """

    horizon: float = 86_400.0
    decisions: int = 50_000
    passes: int = 10_000
    coarseness: float = 0.01


@dataclass(slots=True)
class Prospect:
    """What becomes of the pods of an application that waits. Times are by the core's clock."""

    queue: str
    waiting: int = 0
    """Its pods that wait at the beginning and may start."""
    unready: int = 0
    """Those that may not: gated, on their way out, or not to be understood."""
    first: float | None = None
    last: float | None = None
    """When the first of them, and the last, starts; None: that is not within what was looked at. ``last`` is of all of them."""
    end: float | None = None
    """When the last pod of the application ends; None: not within what was looked at, or not known."""
    unknown: int = 0
    """Its pods on nodes whose run time is not known."""
    left: int = 0
    """Those that have not started when the future ends."""
    why: tuple[str, str] = ("", "")
    """The reason and the words of one of those, then."""


@dataclass(frozen=True, slots=True)
class Gone:
    """A pod that was asked to go at a time by the core's clock, with where it was and why."""

    pod: PodSpec
    queue: str
    why: str
    at: float


@dataclass(slots=True)
class Future:
    """A future to its end. ``stopped`` is what bound was met: horizon, decisions, passes or time; empty where nothing waits any more. ``until`` is up to when, by the core's clock, all is known."""

    applications: dict[str, Prospect] = field(default_factory=dict)
    starts: dict[str, float] = field(default_factory=dict)
    """When pods started, by uid."""
    until: float = 0.0
    stopped: str = ""
    unknown: int = 0
    """Pods on nodes, of whomever, whose run time was not known when they were there."""
    evicted: int = 0
    nodes: dict[str, str] = field(default_factory=dict)
    """Where pods started, by uid."""
    gone: list[Gone] = field(default_factory=list)
    """Pods that were asked to go, in order."""


def foreseen(facts: Iterable[Event]) -> Iterator[Event]:
    """Return facts without those of which nobody knows how they go on."""
    for fact in facts:
        if isinstance(fact, DevicesKnown):
            yield DevicesKnown(known=False, trouble="forecasts do not look at devices")
        elif isinstance(fact, UsageKnown):
            yield UsageKnown(known=False, trouble="forecasts do not know what nodes will use")
        elif not isinstance(fact, DevicesSeen | DevicesAssumed | NodeSampled | PodSampled):
            yield fact


def run(
    facts: Iterable[Event],
    settings: Settings,
    now: float,
    remaining: Remaining,
    bounds: Bounds = Bounds(),
    over: Callable[[], bool] = lambda: False,
    also: Container[str] = frozenset(),
    arriving: Iterable[Arrival] = (),
) -> Future:
    """Return what becomes of the pods that wait, if that arrives, in the order of time, and run times are those.

    ``over`` is asked before each pass whether to stop; ``also`` are applications of which is told even if they wait for nothing.
    """
    world = World(settings, now, remaining, iter(arriving))
    world.begin(facts, also)
    return live(world, now, bounds, over)


def live(world: World, now: float, bounds: Bounds, over: Callable[[], bool]) -> Future:
    """Let a world that has begun go on until nothing waits any more or a bound is met."""
    future, passes, decisions = world.future, 0, 0
    while True:
        for _ in range(ROUNDS):
            passes += 1
            moved = world.step(bounds.decisions - decisions)
            decisions += moved
            if not moved or decisions >= bounds.decisions:
                break
        if not world.waiting:
            break
        due = world.due()
        ahead = (world.now - now) * bounds.coarseness
        when = now + bounds.horizon if due is None else max(due, world.now + ahead)
        if decisions >= bounds.decisions:
            future.stopped = "decisions"
        elif when >= now + bounds.horizon:
            world.now, future.stopped = now + bounds.horizon, "horizon"
        elif passes >= bounds.passes:
            future.stopped = "passes"
        elif over():
            future.stopped = "time"
        if future.stopped:
            break
        world.advance(when)
    world.finish(now + bounds.horizon)
    return future


class World:
    """A core, and the cluster around it."""

    def __init__(self, settings: Settings, now: float, remaining: Remaining, arriving: Iterator[Arrival]) -> None:
        silent = replace(settings, report_after=NEVER, report_again=NEVER, refresh_after=NEVER, solver=None)
        self.core, self.now, self.remaining = Core(silent), now, remaining
        self.epoch = settings.epoch
        self.pods: dict[str, PodSpec] = {}
        self.ends: list[tuple[float, int, str]] = []
        self.when: dict[str, float | None] = {}
        """When pods on nodes end, None where that is not known."""
        self.waiting: dict[str, str] = {}
        """The application of each pod that waits and may start, by uid."""
        self.future = Future()
        self.arriving = arriving
        self.coming = next(arriving, None)
        self._number = 0

    def begin(self, facts: Iterable[Event], also: Container[str]) -> None:
        """Tell the core what is known. What was decided is done."""
        decided: dict[str, str] = {}
        for fact in foreseen(facts):
            if isinstance(fact, PodAssumed):
                decided[fact.pod.uid] = fact.node
            elif isinstance(fact, PodSeen):
                self.pods[fact.pod.uid] = fact.pod
            self.core.handle(fact, self.now)
        for uid, node in decided.items():
            if uid in self.pods:
                self._on_node(uid, node)
        view = self.core.view
        names = frozenset(view.names)
        for uid, pod in list(self.pods.items()):
            known = view.pod(uid)
            if pod.node:
                if known is not None and known.application in also:
                    self.future.applications.setdefault(known.application, Prospect(known.queue))
                if uid not in decided:
                    self._runs(uid, "" if known is None else known.application, "" if known is None else known.queue)
            elif pod.gated or pod.deleting or pod.problem:
                if pod.application and pod.scheduler in names:
                    name, queue = (pod.application, "") if known is None else (known.application, known.queue)
                    self.future.applications.setdefault(name, Prospect(queue)).unready += 1
            elif known is not None:
                one = self.future.applications.setdefault(known.application, Prospect(known.queue))
                one.queue = known.queue
                one.waiting += 1
                self.waiting[uid] = known.application

    def step(self, budget: int) -> int:
        """Make a pass and let what it decides happen; returns how many pods it moved."""
        moved = 0
        for effect in self.core.plan(self.now, max(1, budget)):
            moved += self._happen(effect)
        return moved

    def _happen(self, effect: Effect) -> int:
        match effect:
            case Bind() | BindVolumes() | ReserveDevices():
                self._on_node(effect.uid, effect.node)
                return 1
            case Evict(uid):
                self.future.evicted += 1
                if uid in self.pods:
                    self.future.gone.append(Gone(self.pods[uid], effect.queue, effect.why, self.now))
                self._made_again(uid)
                return 1
            case Expire(uid):
                self._gone(uid)
                return 1
            case Resize(uid, _, _, guaranteed):
                self.core.handle(ResizeDone(uid, guaranteed), self.now)
            case Verify(uid) if uid in self.pods:
                self.core.handle(PodSeen(self.pods[uid], answer=True), self.now)
        return 0

    def _on_node(self, uid: str, node: str) -> None:
        """A pod is bound to a node and runs."""
        known = self.core.view.pod(uid)
        if known is None:
            return
        pod = replace(self.pods[uid], node=node, held_in=known.queue, started=self.now + self.epoch)
        self.pods[uid] = pod
        self.core.handle(BindDone(uid), self.now)
        self.core.handle(PodSeen(pod), self.now)
        if self.waiting.pop(uid, None) is not None:
            one = self.future.applications.setdefault(known.application, Prospect(known.queue))
            one.first = self.now if one.first is None else one.first
            one.last = self.now
            self.future.starts[uid], self.future.nodes[uid] = self.now, node
        self._runs(uid, known.application, known.queue)

    def _runs(self, uid: str, application: str, queue: str) -> None:
        """Find out when a pod on a node ends."""
        pod = self.pods[uid]
        age = max(0.0, self.now + self.epoch - pod.started) if pod.started else 0.0
        left = self.remaining(pod, original(application), queue, age)
        self.when[uid] = None if left is None else self.now + left
        if left is not None:
            self._number += 1
            heappush(self.ends, (self.now + left, self._number, uid))
        elif application and original(application) == application:
            self.future.unknown += 1

    def _made_again(self, uid: str) -> None:
        pod = self._gone(uid)
        if pod is None:
            return
        self._number += 1
        again = replace(
            pod, uid=f"{uid}~{self._number}", node="", held_in="", started=0.0, deleting=False, reported=("", ""), version=""
        )
        self.pods[again.uid] = again
        self.core.handle(PodSeen(again), self.now)
        known = self.core.view.pod(again.uid)
        if known is not None and original(known.application) == known.application:
            self.waiting[again.uid] = known.application
            self.future.applications.setdefault(known.application, Prospect(known.queue))

    def _gone(self, uid: str) -> PodSpec | None:
        pod = self.pods.pop(uid, None)
        self.when.pop(uid, None)
        self.waiting.pop(uid, None)
        if pod is not None:
            self.core.handle(PodGone(uid), self.now)
        return pod

    def due(self) -> float | None:
        """Return when something happens next, None if nothing does."""
        while self.ends and self.when.get(self.ends[0][2]) != self.ends[0][0]:
            heappop(self.ends)
        timer = self.core.next_timer()
        coming = [] if timer is None or timer >= self.now + NEVER / 2 else [max(timer, self.now + LEAST_STEP)]
        if self.ends:
            coming.append(self.ends[0][0])
        if self.coming is not None:
            coming.append(max(self.now, self.coming.at - self.epoch))
        return min(coming, default=None)

    def advance(self, when: float) -> None:
        """Let time pass, and the pods end that end meanwhile."""
        self.now = max(self.now, when)
        while self.ends and self.ends[0][0] <= when:
            at, _, uid = heappop(self.ends)
            if self.when.get(uid) == at:
                application = self._application(uid)
                if application in self.future.applications:
                    one = self.future.applications[application]
                    one.end = max(one.end or at, at)
                self._gone(uid)
        while self.coming is not None and self.coming.at - self.epoch <= when:
            self._arrives(self.coming)
            self.coming = next(self.arriving, None)

    def _arrives(self, arrival: Arrival) -> None:
        """A pod comes that nobody asked about; one of which it is not known how long it would run does not, since it would keep its room for ever."""
        pod = arrival.pod
        if self.remaining(pod, original(pod.application), pod.queue, 0.0) is None:
            return
        self.pods[pod.uid] = pod
        if arrival.object is not None:
            self.core.handle(ApplicationSeen(arrival.object), self.now)
        self.core.handle(PodSeen(pod), self.now)

    def _application(self, uid: str) -> str:
        known = self.core.view.pod(uid)
        return "" if known is None else known.application

    def finish(self, latest: float) -> None:
        """Work out what is known at the end: who is left, and when those end that run."""
        view, future = self.core.view, self.future
        future.until = self.now if future.stopped else latest
        for uid, application in self.waiting.items():
            one = future.applications[application]
            one.left += 1
            if not one.why[0] and (told := view.explain(uid)) is not None:
                one.why = told.reason, told.message
        for uid, at in self.when.items():
            known = view.pod(uid)
            if known is None or known.application not in future.applications:
                continue
            one = future.applications[known.application]
            if at is None:
                one.unknown += 1
            else:
                one.end = max(one.end or at, at)
        for one in future.applications.values():
            if one.left or one.unready:
                one.last = None
            if one.left or one.unready or one.unknown or (one.end is not None and one.end > latest):
                one.end = None
