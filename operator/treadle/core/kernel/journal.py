"""The story: the newest transitions, each with the id of the event that caused it.

Explanations and errors quote it, so that "why" and "how did we get here" have one source.
"""

from __future__ import annotations

from collections import deque
from heapq import merge
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from treadle.core.effects import Placed


class Step(NamedTuple):
    """One transition: the event's id, when, about what (a uid, a path, a name), what happened, and where or why."""

    cause: int
    at: float
    subject: str
    what: str
    detail: str = ""


LENGTH = 2_000
"""Steps, and placements, that are remembered: enough to see what led to an error, and full within minutes, so that memory is flat after that."""


class Story:
    """A bounded history of steps, oldest forgotten first.

    Placements are by far the most, so they are kept as the effects that they are, pass by pass.
    """

    def __init__(self, length: int = LENGTH) -> None:
        self._steps: deque[tuple[int, float, str, str, str]] = deque(maxlen=length)
        self._passes: deque[tuple[float, Sequence[Placed]]] = deque()
        self._placed = 0
        self._length = length
        self.add = self._steps.append
        """Add a step, as a plain tuple in the order of ``Step``'s fields."""

    def placed(self, at: float, binds: Sequence[Placed]) -> None:
        """Add the placements of one pass; the sequence is kept and must not change."""
        kept = binds[-self._length :] if len(binds) > self._length else binds
        self._passes.append((at, kept))
        self._placed += len(kept)
        while self._placed - len(self._passes[0][1]) >= self._length:
            self._placed -= len(self._passes.popleft()[1])

    @property
    def steps(self) -> list[Step]:
        """All remembered steps, oldest first; of those with one cause the placements are the last."""
        return [Step(*step) for step in merge(self._steps, self._placements(), key=itemgetter(0))]

    def _placements(self) -> Iterator[tuple[int, float, str, str, str]]:
        placed = ((bind.cause, at, bind.uid, "assumed", bind.node) for at, binds in self._passes for bind in binds)
        return islice(placed, max(0, self._placed - self._length), None)

    def of(self, subject: str) -> list[Step]:
        """Return the remembered steps about one subject, oldest first."""
        return [step for step in self.steps if step.subject == subject]

    def newest(self, count: int = 20) -> list[str]:
        """Return the newest steps as lines for an error's message."""
        return [f"#{s.cause} at {s.at:.3f} {s.subject}: {s.what} {s.detail}".rstrip() for s in self.steps[-count:]]
