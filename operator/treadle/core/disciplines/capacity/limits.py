"""The limits of queues as the tree of capacities says, and what else it limits: applications and how long they live."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.disciplines.capacity.applications import ApplicationLimits
from treadle.core.disciplines.capacity.live_tree import open_books
from treadle.core.kernel.seam import Running

if TYPE_CHECKING:
    from collections.abc import Container

    from treadle.core.disciplines.capacity.live_tree import Books
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.limits import Had
    from treadle.core.kernel.tree.queue import Queue
    from treadle.core.kernel.tree.tree import Settled

QUEUES = 250
"""Capacities of so many queues take as long as to let them follow the cluster half as often."""


class CapacityLimits:
    """See ``kernel.seam.Limits``. Between a choice of the discipline and the end of the settling that follows there are no books."""

    def __init__(self, state: State) -> None:
        self._state = state

    def interval(self) -> float:
        """Return the update interval, longer with many queues."""
        return self._state.settings.update_interval * (1 + len(self._state.tree.queues) / QUEUES)

    def outdated(self) -> bool:
        """Whether a partition has another size than was reckoned with."""
        books = self._books
        return books is not None and books.outdated(self._state)

    def apply(self, *, followed: bool) -> None:
        """Let the books follow the cluster, which gives all queues their limits; no order depends on demands."""
        state, books = self._state, self._books
        if books is not None and not followed:
            books.follow(state)
        state.demands, state.demands_stale = None, False

    def edited(self, settled: Settled) -> dict[Queue, Had]:  # noqa: ARG002 - one protocol for both
        """Return the queues that the books have given limits to when they followed the edits."""
        return self._state.books.take_given()  # type: ignore[no-any-return]

    def made(self, queue: Queue) -> None:  # noqa: ARG002 - one protocol for both
        """Open other books: capacities may be others in another tree. What comes of them is applied with the next pass."""
        state = self._state
        open_books(state)
        state.relimited = state.automatic.grown = True

    def part_made(self, part: Queue) -> None:
        """Give a part its limits."""
        if self._books is not None:
            self._books.adopt(part, self._state)

    def part_gone(self, queue: Queue, partition: str) -> None:
        """Forget the bounds of a part."""
        if self._books is not None:
            self._books.forget(queue.path, partition)

    def partitions(self) -> Container[str]:
        """Return the partitions whose sizes the books know."""
        return self._books.context.partitions if self._books is not None else ()

    def widened(self) -> None:
        """Open other books: all vectors in them are too short."""
        state = self._state
        if state.books is not None:
            open_books(state)
            state.relimited = state.automatic.grown = True

    def running(self) -> Running:
        """Return the limits on parallel applications of a user, and on applications that a leaf takes."""
        capacity = self._state.scheduler.capacity
        return Running(dict(capacity.user_max_parallel_of), capacity.user_max_parallel, ApplicationLimits(self._state))

    def lifetime(self, queue: Queue) -> tuple[float, float]:
        """Return the ``maximumApplicationLifetime`` and the ``defaultApplicationLifetime`` of a leaf."""
        known = self._books.of.get(queue.path) if self._books is not None else None
        return (0.0, 0.0) if known is None else (known.max_lifetime, known.default_lifetime)

    def lifetimes(self) -> bool:
        """Whether any queue has such a lifetime."""
        books = self._books
        return books is not None and any(one.max_lifetime > 0 or one.default_lifetime > 0 for one in books.of.values())

    @property
    def _books(self) -> Books | None:
        books: Books | None = self._state.books
        return books
