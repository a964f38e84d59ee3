"""By how much a run lags behind what it was promised, and what it is owed for that (dynamic reprovisioning, Morpheus, OSDI 2016).

Morpheus asks the job for its progress. Here progress is what its pods have had, in amounts times ms, of which the work of pods that failed is no part: a run lags as far as
that is less than what was promised until now. What is left of the promise is then owed as much later, as far as there are pods for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.rules.reservations.over_time import OverTime, least, minus, most, plus, side_by_side, stepped, together

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from treadle.core.rules.reservations.over_time import Amounts, Segment

TOLERATED, GROWTH = 20, 10
"""Parts of the length of a promise: by how little a run lags that is left alone, and for how long it is promised more that has had all and goes on."""


def behind(promised: OverTime, since: int, now: int, done: Sequence[int]) -> int:
    """Return how many ms ago a run should have had what it has had since a time; 0 where it does not lag.

    ``done`` is amounts times ms. The type of which it has come furthest counts: its pods may ask for less of the others than was thought.
    """
    steps = list(promised.segments(since, now))
    types = {at for _, _, value in steps for at, amount in enumerate(value) if amount > 0}
    return min((now - _reached(steps, at, now, done[at]) for at in types), default=0)


def _reached(steps: Sequence[Segment], at: int, now: int, done: int) -> int:
    """Return when so much of a type had been promised, the last of these times."""
    left = done
    for start, end, value in steps:
        if value[at] * (end - start) > left:
            return start + left // value[at]
        left -= value[at] * (end - start)
    return now


def owed(
    promised: OverTime, more: OverTime | None, times: tuple[int, int, int, int], need: Sequence[int], lag: int, length: int
) -> OverTime:
    """Return what a run is owed beside what it was promised: ``more`` is what it has been given so until now.

    ``times`` are when it was looked at last, now, when its occurrence began, and when that is over. ``need`` is what its pods have and wait for. ``lag`` is by how many ms it lags, ``length``
    that of its promise. Owed is, each held at what is needed:

    * what it has been given before,
    * where it lags by more than a part of the length what was promised, so much later,
    * where it is promised less from now on, and has had all, what it had been promised, for a part of the length: it takes longer than was thought.
    """
    last, now, begun, over = times
    mine = promised.within(begun, over)
    before = more if more is not None else OverTime(len(promised.nothing))
    levels = together(plus, mine.segments(now, over), before.segments(now, over))
    target = stepped(len(promised.nothing), levels)
    if lag * TOLERATED > length:
        target = stepped(len(promised.nothing), together(most, target.segments(now, over), mine.shifted(lag).segments(now, over)))
    had = mine.nothing
    for _, _, value in together(plus, mine.segments(last, now), before.segments(last, now)):
        had = most(had, value)
    if lag * TOLERATED <= length and any(a > b for a, b in zip(least(had, need), target.at(now), strict=True)):
        until = min(over, now + max(length // GROWTH, 1))
        longer = OverTime(len(promised.nothing), [(now, until, had)])
        target = stepped(len(promised.nothing), together(most, target.segments(now, over), longer.segments(now, over)))
    return stepped(len(promised.nothing), _beyond(mine, target, now, over, need))


def _beyond(mine: OverTime, target: OverTime, now: int, over: int, need: Sequence[int]) -> Iterator[Segment]:
    """Yield what is needed of a target beyond what is promised."""
    for start, end, has, wanted in side_by_side(mine.segments(now, over), target.segments(now, over)):
        yield start, end, tuple(max(0, value) for value in minus(least(wanted, need), has))


def within_room(wanted: OverTime, room: Sequence[Segment], start: int, end: int) -> OverTime:
    """Return as much of what is wanted as there is room for: the same part of each type, since pods need all of them."""
    return stepped(len(wanted.nothing), _parts(wanted, room, start, end))


def _parts(wanted: OverTime, room: Sequence[Segment], start: int, end: int) -> Iterator[Segment]:
    for begun, over, wants, free in side_by_side(wanted.segments(start, end), iter(room)):
        yield begun, over, _part(wants, free)


def _part(wants: Amounts, free: Amounts) -> Amounts:
    if all(a <= b for a, b in zip(wants, free, strict=True) if a):
        return wants
    part, whole = min(((max(0, b), a) for a, b in zip(wants, free, strict=True) if a), key=lambda one: one[0] / one[1])
    return tuple(value * part // whole for value in wants)
