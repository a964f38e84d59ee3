"""Run times of pods that have ended, and of those that still run: how long a pod goes on that has run for a while.

Who has ended lately is rather short while a load builds up, since the long ones still run. So those count as well, as pods of which it is known that they run longer than until now (the product limit of Kaplan and Meier,
1958), and of what ended a while ago only the part is looked at in which all ends were seen (left truncation). What goes on beyond all that is known, since something was seen to, ends within as long again.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from random import Random


class Survival:
    """The part of pods that is left after a run time. ``ended`` are run times with when they ended, of which only the ``newest`` are known, or all; ``running`` are the ages of pods at the time ``now``."""

    __slots__ = ("_gone", "longest", "times")

    def __init__(self, ended: Iterable[tuple[float, float]], running: Iterable[float], now: float, newest: bool = False) -> None:
        line = list(ended)
        seen_from = min((at for _, at in line), default=-inf) if newest else -inf
        entered: list[float] = []
        left: list[float] = []
        ends: dict[float, int] = {}
        for seconds, at in line:
            ends[seconds] = ends.get(seconds, 0) + 1
            entered.append(max(0.0, seen_from - (at - seconds)) if at > -inf else 0.0)
            left.append(seconds)
        for age in running:
            entered.append(max(0.0, seen_from - (now - age)))
            left.append(age)
        entered.sort()
        left.sort()
        self.times = sorted(ends)
        """Run times at which some ended, in order."""
        self.longest = left[-1] if left else 0.0
        """The longest that was seen of any, whether it has ended or not."""
        self._gone: list[float] = []
        """The part that has ended after each of them."""
        part = 1.0
        for seconds in self.times:
            there: float = bisect_left(entered, seconds) - bisect_left(left, seconds)
            gone = ends[seconds]
            if gone >= there and seconds < self.longest:
                there = gone + 0.5  # others were seen to go on for longer, so not all end here
            part *= 1.0 - gone / max(there, gone)
            self._gone.append(1.0 - part)

    def beyond(self, age: float) -> int:
        """Return at how many run times longer than an age some ended."""
        return len(self.times) - bisect_right(self.times, age)

    def drawn(self, age: float, random: Random) -> float:
        """Draw a run time that is longer than an age; there has to be one."""
        first = bisect_right(self.times, age)
        before = self._gone[first - 1] if first else 0.0
        position = bisect_left(self._gone, before + random.random() * (1.0 - before), first)
        return self.times[position] if position < len(self.times) else max(self.longest, age) * (1.0 + random.random())

    def certain(self, age: float) -> float | None:
        """Return the only run time that there is for a pod of an age, None if there are several."""
        return self.times[-1] if self.beyond(age) == 1 and self._gone[-1] == 1.0 else None
