"""What would become of a pod, of a reservation, or of an edit of queues: two futures of a core that is told what another one knows, one with it and one without, and what differs.

Nothing ends in them and nothing else comes; all else is as in ``forward``, so binds succeed at once, who is asked to go goes at once, and another like it waits instead. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from treadle.core.events import PodSeen, ReservationSeen
from treadle.forecast.forward import Bounds, Future, World, live

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from treadle.core.core import Core
    from treadle.core.events import Event
    from treadle.core.model import PodSpec, Settings
    from treadle.core.model.reservations import Decision, ReservationSpec

MOST_PASSES = 200
"""Passes in which a reservation has to be decided: each takes a piece of what is to be planned."""
MADE_AGAIN = "~"
"""What the uid of a pod has in it that waits instead of one that went."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: ``pods`` that come, or ``edits`` of queues, and for how many ``seconds`` it is looked ahead; or what would be decided on a ``reservation``. ``queues`` are the paths that the edits are about."""

    pods: tuple[PodSpec, ...] = ()
    edits: tuple[Event, ...] = ()
    queues: tuple[str, ...] = ()
    seconds: float = 300.0
    reservation: ReservationSpec | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """A pod, and after how many seconds what happens to it. ``words`` are a reason and a message; ``asked``: it is one that was asked about."""

    namespace: str
    name: str
    application: str
    queue: str
    node: str = ""
    after: float = 0.0
    words: tuple[str, str] = ("", "")
    asked: bool = False


@dataclass(frozen=True, slots=True)
class Has:
    """What a queue has a right to at the end, which is its fair share or its guarantee, and what it uses; amounts by resource type."""

    share: dict[str, int] = field(default_factory=dict)
    used: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """What would be ``placed``, what would wait, and who would be asked to go that would not be otherwise: of pods that are not asked about those alone for which it makes a difference.

    ``queues`` are those that would have another share or use something else after an edit, with what they have without it and with it, in the order of their paths.
    ``not_in_force`` are queues that would not be in force as they are written, with why; ``stopped`` is what bound was met before all was known, empty if all is.
    """

    placed: list[Line] = field(default_factory=list)
    waiting: list[Line] = field(default_factory=list)
    preempted: list[Line] = field(default_factory=list)
    queues: list[tuple[str, Has, Has]] = field(default_factory=list)
    not_in_force: list[tuple[str, str]] = field(default_factory=list)
    stopped: str = ""
    decided: Decision | None = None
    """On a reservation, where one is asked about; None where nothing was decided in time."""


def never(_pod: PodSpec, _application: str, _queue: str, _age: float) -> None:
    """No pod ends."""


def answer(
    facts: Sequence[Event],
    settings: Settings,
    now: float,
    question: Question,
    bounds: Bounds = Bounds(),  # noqa: B008 - frozen
    over: Callable[[], bool] = lambda: False,
) -> Answer:
    """Return what would be different. ``now`` is the time of the core that told the facts; ``over`` is asked before each pass whether to stop."""
    if question.reservation is not None:
        return _decided(facts, settings, now, question.reservation, over)
    first = _Branch(facts, settings, now, (), bounds, over)
    without, had = first.future, first.queues() if question.edits else {}
    del first  # its core, which is large, is not kept
    events = (*question.edits, *(PodSeen(pod) for pod in question.pods))
    with_it = _Branch(facts, settings, now, events, bounds, over)
    asked = {pod.uid for pod in question.pods}
    return with_it.beside(without, had, asked, question)


def _decided(
    facts: Iterable[Event], settings: Settings, now: float, reservation: ReservationSpec, over: Callable[[], bool]
) -> Answer:
    """Return what would be decided on a reservation that came now, or of which the next version did."""
    told = list(facts)
    before = (one for one in told if isinstance(one, ReservationSeen) and one.reservation.uid == reservation.uid)
    known = next((one.decided for one in before if one.reservation.id == reservation.id), None)
    world = World(settings, now, never, iter(()))
    world.begin([*told, ReservationSeen(reservation, known)], frozenset())
    for _ in range(MOST_PASSES):
        if over():
            return Answer(stopped="time")
        world.step(1)
        found = world.core.view.reservation(reservation.id)
        if found is not None and found.decided is not None and found.decided.generation == reservation.generation:
            return Answer(decided=found.decided)
    return Answer(stopped="passes")


class _Branch:
    """One of the two futures."""

    def __init__(
        self,
        facts: Iterable[Event],
        settings: Settings,
        now: float,
        events: Iterable[Event],
        bounds: Bounds,
        over: Callable[[], bool],
    ) -> None:
        world = World(settings, now, never, iter(()))
        world.begin([*facts, *events], frozenset())
        self._world, self._began = world, now
        self.future: Future = live(world, now, bounds, over)

    @property
    def _core(self) -> Core:
        return self._world.core

    def queues(self) -> dict[str, Has]:
        """Return what each queue has at the end."""
        self._core.refresh_shares()
        return {
            one.path: Has(one.fair_share if one.shows_shares else one.here.guaranteed, one.used)
            for one in self._core.view.queues()
        }

    def beside(self, theirs: Future, had: dict[str, Has], asked: set[str], question: Question) -> Answer:
        """Return what is here and not in another one, and the other way round. ``had`` is what queues have in that one, empty where nobody asks."""
        mine = self.future
        gone = {one.pod.uid for one in theirs.gone}
        left = {one.pod.uid for one in mine.gone}
        placed = [uid for uid in mine.starts if uid in asked or (MADE_AGAIN not in uid and uid not in theirs.starts)]
        waiting = [uid for uid in self._world.waiting if uid in asked or uid in theirs.starts]
        waiting += [uid for uid in sorted(asked) if uid not in mine.starts and uid not in self._world.waiting and uid not in left]
        view = self._core.view
        not_in_force = [(path, found.message) for path in question.queues if (found := view.problem(path)) is not None]
        return Answer(
            [self._placed(uid, asked=uid in asked) for uid in placed],
            [self._waits(uid, asked=uid in asked) for uid in waiting if MADE_AGAIN not in uid],
            [
                Line(
                    one.pod.namespace,
                    one.pod.name,
                    one.pod.application,
                    one.queue,
                    one.pod.node,
                    one.at - self._began,
                    ("Preempted", one.why),
                    one.pod.uid in asked,
                )
                for one in mine.gone
                if one.pod.uid not in gone and MADE_AGAIN not in one.pod.uid
            ],
            self._changed(had) if question.edits else [],
            not_in_force,
            next((one.stopped for one in (mine, theirs) if one.stopped not in {"", "horizon"}), ""),
        )

    def _changed(self, had: dict[str, Has]) -> list[tuple[str, Has, Has]]:
        have = self.queues()
        pairs = ((path, had.get(path, Has()), have.get(path, Has())) for path in sorted(had.keys() | have.keys()))
        return [(path, before, after) for path, before, after in pairs if before != after]

    def _placed(self, uid: str, *, asked: bool) -> Line:
        future = self.future
        pod = self._world.pods.get(uid) or next(one.pod for one in future.gone if one.pod.uid == uid)
        return Line(
            pod.namespace,
            pod.name,
            pod.application,
            pod.held_in,
            future.nodes[uid],
            future.starts[uid] - self._began,
            asked=asked,
        )

    def _waits(self, uid: str, *, asked: bool) -> Line:
        pod = self._world.pods[uid]
        told = self._core.view.explain(uid)
        words, queue = (
            (("NotKnown", "nothing is known of the pod"), "") if told is None else ((told.reason, told.message), told.queue)
        )
        return Line(pod.namespace, pod.name, pod.application, queue, words=words, asked=asked)
