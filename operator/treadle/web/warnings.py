"""Warnings about requests, which anybody may send: so many lines as one is enough to know by, however many requests there are."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

EVERY = 10.0
"""Seconds between two lines."""


class Seldom:
    """Writes a warning, and those that come soon after it not; the next one says how many those were."""

    def __init__(self, log: logging.Logger, now: Callable[[], float] = time.monotonic) -> None:
        """Begin with nothing said."""
        self._log, self._now = log, now
        self._said_at, self._unsaid = float("-inf"), 0

    def __call__(self, text: str) -> None:
        """Warn, unless that was done a moment ago."""
        now = self._now()
        if now < self._said_at + EVERY:
            self._unsaid += 1
            return
        more = f" (and {self._unsaid} more such warnings before)" if self._unsaid else ""
        self._log.warning("%s%s", text, more)
        self._said_at, self._unsaid = now, 0
