"""What somebody wants to have reserved: requests, how they belong together, and between when (YARN's ``ReservationDefinition``).

And what a live scheduler is told of it: objects that ask for reservations, queues that take them, and what was promised before.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

LARGEST = (1 << 63) - 1
_WHOLE = re.compile(r"[+-]?0*[0-9]{1,19}")


class Interpreter(Enum):
    """How the requests of a reservation belong together (``ReservationRequestInterpreter``)."""

    ANY = "Any"
    """One of them is enough."""
    ALL = "All"
    """All of them, at whatever times."""
    ORDER = "Order"
    """All of them; one starts when the one before is over, or later."""
    ORDER_NO_GAP = "OrderNoGap"
    """All of them, each in one block that starts when the one before is over."""


def within(partition: str, name: str) -> str:
    """Return the name that an amount of a resource type has in a partition of nodes: its own in the default one, ``partition:type`` in another. Neither has a colon itself."""
    return f"{partition}:{name}" if partition else name


def partition_of(name: str) -> tuple[str, str]:
    """Return the partition, empty for the default one, and the type of such a name."""
    partition, _, kind = name.rpartition(":")
    return partition, kind


ORDERED = frozenset({Interpreter.ORDER, Interpreter.ORDER_NO_GAP})
"""Where requests come one after the other."""


@dataclass(frozen=True, slots=True)
class ReservationRequest:
    """Containers of one size for one duration in ms; they start and end in gangs of ``concurrency``. ``demand`` is a dense vector."""

    demand: Sequence[int]
    count: int
    concurrency: int = 1
    duration: int = -1


@dataclass(frozen=True, slots=True)
class Occurrences:
    """When something is that begins at ``arrival`` and takes ``length``, and comes again each ``period``, 0 for once. Times are in ms.

    Within a period it may begin several times: ``starts`` says how long after ``arrival``, in order; the first is 0, all are below ``period``. The windows of
    neighbours may overlap.
    """

    arrival: int
    length: int
    period: int = 0
    starts: tuple[int, ...] = (0,)

    def last(self, time: int) -> int | None:
        """Return when the occurrence began that began last, at ``time`` or before; None if none has begun."""
        if time < self.arrival:
            return None
        if not self.period:
            return self.arrival
        whole, rest = divmod(time - self.arrival, self.period)
        return self.arrival + whole * self.period + self.starts[bisect_right(self.starts, rest) - 1]

    def after(self, time: int) -> int | None:
        """Return when the first occurrence begins after ``time``; None if there is none."""
        if time < self.arrival:
            return self.arrival
        if not self.period:
            return None
        whole, rest = divmod(time - self.arrival, self.period)
        at = bisect_right(self.starts, rest)
        first = self.arrival + whole * self.period
        return first + (self.starts[at] if at < len(self.starts) else self.period)

    def active(self, time: int) -> bool:
        """Whether a time is within an occurrence."""
        begun = self.last(time)
        return begun is not None and time < begun + self.length


@dataclass(frozen=True, slots=True)
class ReservationDefinition:
    """Requests, to be served from ``arrival`` to ``deadline`` (ms since the epoch), and again each period of ``recurrence`` ms, "0" for once.

    ``starts`` says of what begins several times in a period how long after ``arrival``, see ``Occurrences``; it is empty for what begins once. ``apart`` is how long
    it is from one beginning to the next that somebody asked for, 0: the period. Beginnings in between stand for one another, so what overlaps is had once.
    """

    arrival: int
    deadline: int
    requests: Sequence[ReservationRequest] = ()
    interpreter: Interpreter = Interpreter.ALL
    recurrence: str = "0"
    name: str = ""
    priority: int | None = None
    starts: tuple[int, ...] = ()
    apart: int = 0

    @property
    def period(self) -> int:
        """After how many ms it comes again; 0 if it does not. Raises ``ValueError`` where ``recurrence`` is no whole number of 64 bits."""
        period = int(self.recurrence) if _WHOLE.fullmatch(self.recurrence) else LARGEST + 1
        if not -LARGEST - 1 <= period <= LARGEST:
            raise ValueError(f"{self.recurrence!r} is no period in ms")
        return period


ALIGNED, GREEDY = "Aligned", "Greedy"
"""The agents: one that spreads the load, and one that takes what is free first (``AlignedPlannerWithGreedy``, ``GreedyReservationAgent``)."""
OVER_TIME, NO_OVERCOMMIT = "CapacityOverTime", "NoOverCommit"
"""The sharing policies, by the names that YARN's classes begin with."""


@dataclass(frozen=True, slots=True)
class PlanSpec:
    """How a queue takes reservations (``reservable`` and what goes with it). Times are in ms, ``at_once`` and ``average`` are parts of 1.

    ``early``: of equally good places the first (``favor-early-allocation``). ``move``: whose reservation is over goes on in the default queue
    (``reservation-move-on-expiry``). ``enforcement``: how far ahead the plan is kept within the queue's capacity, and ``patience`` how long that has to be too little. ``lead``: how long before its
    start room is made for a reservation. ``cycle``: the largest period.
    """

    agent: str = ALIGNED
    smoothness: int = 10
    early: bool = True
    policy: str = OVER_TIME
    window: int = 24 * 60 * 60 * 1000
    at_once: float = 1.0
    average: float = 1.0
    move: bool = True
    enforcement: int = 60 * 60 * 1000
    patience: int = 60 * 1000
    lead: int = 60 * 1000
    cycle: int = 24 * 60 * 60 * 1000


@dataclass(frozen=True, slots=True)
class Asked:
    """A request with its amounts by name; see ``ReservationRequest``. Its gangs may be as small as ``least`` where larger ones find no place; 0: they may not.

    It is for nodes of ``partition``; empty: that of its queue's pods that name none.
    """

    demand: tuple[tuple[str, int], ...]
    count: int
    concurrency: int
    duration: int
    least: int = 0
    partition: str = ""


@dataclass(frozen=True, slots=True)
class ReservationSpec:
    """What a Reservation object says; its id is ``namespace/name``. Times are in ms since the epoch, ``period`` is 0 for once.

    ``starts`` is for times of a calendar: when it begins within each period that began with the epoch, in order; it begins at the first of these times at or after
    ``arrival`` then. It is empty where it begins at ``arrival``. ``apart`` is as of ``ReservationDefinition``.

    ``generation`` tells versions apart, ``created`` is when the object was made. ``unplanned`` says what of it cannot be planned, empty if all can.
    """

    id: str
    generation: int
    queue: str
    arrival: int
    deadline: int
    requests: tuple[Asked, ...]
    interpreter: Interpreter = Interpreter.ALL
    period: int = 0
    user: str = ""
    groups: tuple[str, ...] = ()
    priority: int | None = None
    created: int = 0
    uid: str = ""
    unplanned: str = ""
    trial: bool = False
    """Whether it is only asked what would be decided."""
    starts: tuple[int, ...] = ()
    apart: int = 0
    applications: tuple[str, ...] = ()
    """Names of applications of its namespace that run in it though they do not name it; ``*`` stands for any letters."""
    reprovision: bool = False
    """Whether a run that lags is promised more, as far as there is room."""


WOULD_BE_ACCEPTED = "WouldBeAccepted"
"""The reason of a decision on what is only asked, and would be promised something."""


Steps = tuple[tuple[int, int, tuple[tuple[str, int], ...]], ...]
"""From when until when how much, by name (``within``)."""


@dataclass(frozen=True, slots=True)
class Promise:
    """What a reservation was promised: from when until when how much, by name (``within``), and after each ``period`` again. ``accepted`` is when, in ms.

    ``concurrency`` is that of each request where some are smaller than was asked, else empty. ``starts`` is as of ``ReservationDefinition``; ``steps`` are those of the whole period.
    ``more`` is what the run under way is promised besides since it is ``behind`` by so many ms, once.
    """

    generation: int
    queue: str
    user: str
    accepted: int
    arrival: int
    deadline: int
    period: int
    steps: Steps
    concurrency: tuple[int, ...] = ()
    starts: tuple[int, ...] = ()
    more: Steps = ()
    behind: int = 0

    @property
    def occurrences(self) -> Occurrences:
        """When its windows are."""
        return Occurrences(self.arrival, self.deadline - self.arrival, self.period, self.starts or (0,))


@dataclass(frozen=True, slots=True)
class Alternative:
    """A change with which a reservation that was refused would have been accepted: one of a later deadline, a smaller concurrency and another queue."""

    deadline: int | None = None
    concurrency: int | None = None
    queue: str = ""


KEPT = "; what was promised before stands"
"""What is added to the words of a refusal where an earlier version is promised."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided on a version of a reservation: it is promised what ``promise`` says, or the promise to the version before stands, or there is none.

    ``reason`` is a CamelCase word, empty for what was accepted, and ``words`` are for its owner. ``dropped``: what had been promised could not be kept.
    """

    generation: int
    promise: Promise | None
    reason: str = ""
    words: str = ""
    alternatives: tuple[Alternative, ...] = ()
    dropped: bool = False

    @property
    def accepted(self) -> bool:
        """Whether that version is what is promised."""
        return self.promise is not None and self.promise.generation == self.generation
