"""The rows of the moment as bytes, and which of them changed with each tick: computed once, whoever looks.

The loop serves binds as well, so a tick takes it for ``SLICE`` seconds at a time, and for no more than ``PART`` of all time. Rows of one tick are therefore not of one
moment; each is right by itself, and the next tick brings what moved meanwhile.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec

from treadle.page import rows

if TYPE_CHECKING:
    from treadle.core.views.view import View

SLICE: Final = 0.002
"""Seconds for which the loop is taken at once."""
PART: Final = 0.1
"""The part of the time that ticks may take."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A row as it is sent, and the queue by which it is decided who sees it."""

    where: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Change:
    """A row before and after; None where there is none."""

    before: Shown | None
    after: Shown | None


Changes = dict[str, Change]
"""What changed, by key."""


@dataclass(frozen=True, slots=True)
class Sources:
    """What is shown: the core, shares brought up to date before it is read, forecasts, and what else is said of the cluster."""

    view: Callable[[], View]
    refresh: Callable[[], object] = lambda: None
    forecast: rows.Forecast = lambda _: None
    more: Callable[[], Mapping[str, Any]] = dict
    history: bool = False
    """Whether it can be asked for what was before (``past``)."""
    offers: Collection[str] = frozenset()
    """What else is served beside the page: ``whatif``, ``changes`` of queues."""


class Board:
    """Keeps the rows. ``now`` is a clock in seconds."""

    def __init__(self, sources: Sources, now: Callable[[], float] = time.perf_counter) -> None:
        """Show nothing yet."""
        self.sources = sources
        self.rows: dict[str, dict[str, Shown]] = {topic: {} for topic in rows.TOPICS}
        self.cluster = b"{}"
        self.paths: set[str] = set()
        """Of the queues there are."""
        self.longest = self.took = 0.0
        """Seconds for which the last tick had the loop at once, and together."""
        self._now = now

    async def tick(self, topics: frozenset[str]) -> dict[str, Changes]:
        """Bring the rows of topics up to date and return what changed; others are forgotten."""
        self.longest = self.took = 0.0
        began = self._now()
        self.sources.refresh()
        view = self.sources.view()  # for all of the tick: what it keeps is of the beginning, all else it reads is of the moment
        self.cluster = msgspec.json.encode({**rows.cluster(view), **self.sources.more()})
        self._count(began)
        changes: dict[str, Changes] = {}
        for topic in rows.TOPICS:
            if topic not in topics:
                self.rows[topic] = {}
                continue
            changes[topic] = {}
            for _ in self._work(view, topic, changes[topic]):
                await asyncio.sleep(0)
        return changes

    def rest(self, every: float) -> float:
        """Return for how many seconds to rest after a tick."""
        return max(every, self.took / PART)

    def _count(self, began: float) -> None:
        took = self._now() - began
        self.longest, self.took = max(self.longest, took), self.took + took

    def _work(self, view: View, topic: str, changes: Changes) -> Iterator[None]:
        """Bring the rows of a topic up to date, and yield after each slice."""
        began = self._now()
        known, lines = self.rows[topic], rows.Lines()
        names = rows.keys(view, topic)
        if topic == rows.QUEUES:
            self.paths = set(names)
        for gone in known.keys() - set(names):
            changes[gone] = Change(known.pop(gone), None)
        for name in names:
            if (row := self._row(view, topic, name, lines)) is not None:
                shown = Shown(rows.where(row, topic), msgspec.json.encode(row))
                if (before := known.get(name)) != shown:
                    known[name], changes[name] = shown, Change(before, shown)
            if self._now() - began >= SLICE:
                self._count(began)
                yield
                began = self._now()
        self._count(began)

    def _row(self, view: View, topic: str, name: str, lines: rows.Lines) -> rows.Row | None:
        match topic:
            case rows.QUEUES:
                return rows.queue_row(view, name)
            case rows.APPLICATIONS:
                return rows.application_row(view, name, lines, self.sources.forecast)
        return rows.node_row(view, name)
