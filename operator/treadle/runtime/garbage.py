"""Collections of garbage that stop nobody for long.

A collection costs about a microsecond for each object that it looks at, so a full one takes some hundred milliseconds where
100,000 pods are known. And the interpreter decides by how many more objects there are than before: where as many pods go as come
it does nothing for long, and then all at once. So what is young is collected here many times a second, and in full whenever some
thousand objects have outlived that. What survives a full collection is put aside where it is much (``gc.freeze``), so that no
collection looks at it again. It is freed all the same when nobody refers to it any more, as nearly everything is here; only what
refers to itself in a circle, and does so for long enough to be put aside, is never found.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import time
from typing import Literal

YOUNG = (3_000, 3, 1_000_000)
"""Thresholds of the interpreter: how many more objects make a collection of the youngest, how many such one of the second generation, and (never) those of a full one."""
_DEFAULT = gc.get_threshold()
OFTEN = 0.1
"""Seconds between two collections of what is young; where nothing happens one takes some microseconds."""
MOST_AT_ONCE = 5_000
"""Objects that have outlived those for which a full collection is made, and beyond which what survives that is put aside."""
EVERY = 10.0
"""Seconds between two full collections at the most."""


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

    def begin(self) -> None:
        """Collect once, put aside what there is, and take over. To be called when what lives long has been made."""
        gc.collect()
        gc.freeze()
        self._full_at = time.monotonic()
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
        """Collect what is young, and everything that was not put aside if that is due; ``now`` is in seconds of the monotonic clock."""
        gc.collect(1)
        if len(gc.get_objects(2)) > MOST_AT_ONCE or now >= self._full_at + EVERY:
            self._full_at = now
            self.full += 1
            gc.collect()
            give_back()
            if len(gc.get_objects(2)) > MOST_AT_ONCE:
                gc.freeze()

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
