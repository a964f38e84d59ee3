"""Collections of garbage that stop nobody for long.

A collection costs some tenths of a microsecond for each object that it looks at, and the interpreter looks at whatever lives
long three times before it leaves it alone, and again with each full collection: some hundred milliseconds at once where 100,000
pods are known. So it is kept from collecting, but for bursts, and everything is collected here as soon as there are some thousand
objects more than before; what survives that is put aside (``gc.freeze``). An object that lives long is looked at once. It is
freed all the same when nobody refers to it any more, as nearly everything is here; only what refers to itself in a circle, and
does so while it is put aside, is never found. Where as many objects go as come, a collection every few seconds finds what refers
to itself.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import time
from typing import Literal

YOUNG = (20_000, 1_000_000, 1_000_000)
"""Thresholds of the interpreter: how many more objects make a collection of the youngest, if this module has not had its turn until then, and (never) those of others."""
_DEFAULT = gc.get_threshold()
OFTEN = 0.1
"""Seconds between two looks at how many more objects there are; a look takes less than a microsecond."""
MOST_AT_ONCE = 5_000
"""Objects more than at the last collection for which the next is made, and what survives it is put aside."""
EVERY = 10.0
"""Seconds between two collections at the most, and between two times that memory is given back at the least."""


def give_back() -> bool:
    """Return to the system what the allocator keeps and nothing uses, where it is that of glibc; it takes less than a millisecond."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return trim is not None and bool(trim(0))


class Garbage:
    """Sees to the collections of this process.

    ``longest`` is how many seconds one took at the most since it began, ``full`` how many full ones there were.
    """

    def __init__(self) -> None:
        self.longest = 0.0
        self.full = 0
        self._since = 0.0
        self._full_at = 0.0
        self._gave_back_at = 0.0

    def begin(self) -> None:
        """Collect once, put aside what there is, and take over. To be called when what lives long has been made."""
        gc.collect()
        gc.freeze()
        self._full_at = self._gave_back_at = time.monotonic()
        gc.set_threshold(*YOUNG)
        gc.callbacks.append(self._measure)

    async def run(self) -> None:
        """Collect what is due, until cancelled, and leave the collector as it was."""
        self.begin()
        try:
            while True:
                await asyncio.sleep(OFTEN)
                self.tend(time.monotonic())
        finally:
            self.end()

    def tend(self, now: float) -> None:
        """Collect everything that was not put aside, if that is due; ``now`` is in seconds of the monotonic clock."""
        more, collected, _ = gc.get_count()
        many, due = more > MOST_AT_ONCE or collected > 0, now >= self._full_at + EVERY
        if not many and not due:
            return
        self._full_at = now
        self.full += 1
        gc.collect()
        if many or len(gc.get_objects(2)) > MOST_AT_ONCE:
            gc.freeze()
        if now >= self._gave_back_at + EVERY:
            self._gave_back_at = now
            give_back()

    def end(self) -> None:
        """Leave the collector as it was."""
        gc.callbacks.remove(self._measure)
        gc.unfreeze()
        gc.set_threshold(*_DEFAULT)

    def _measure(self, phase: Literal["start", "stop"], _: dict[str, int]) -> None:
        if phase == "start":
            self._since = time.perf_counter()
        else:
            self.longest = max(self.longest, time.perf_counter() - self._since)
