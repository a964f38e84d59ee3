"""What a request is checked against: the queues that take reservations, and what they can promise as their statuses say it.

So a copy that stands by knows it as well as the one that leads, which decides by what it has itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from treadle.api.queue import Queue
from treadle.controllers.plans import has
from treadle.controllers.translate import plan
from treadle.core.errors import InvalidSpec
from treadle.core.rules.capacity.calculators import AllTypes
from treadle.core.rules.reservations.validation import Planned
from treadle.rest.answers import Refused

if TYPE_CHECKING:
    from treadle.controllers.ledger import Entry, Key


class Plans(Mapping[str, Planned]):
    """The plans by the paths of their queues, read when they are asked for; ``names`` are the resource types of vectors, in order."""

    def __init__(self, entries: Mapping[Key, Entry], types: Iterable[str] = ()) -> None:
        """Keep where queues are. ``types`` are those that a request is about, beside memory and cpu."""
        self._entries = entries
        self.names = ("memory", "cpu", *sorted({*types} - {"memory", "cpu"}))

    def vector(self, named: Mapping[str, int]) -> list[int]:
        """Return named amounts as a dense vector."""
        return [named.get(name, 0) for name in self.names]

    def __getitem__(self, path: str) -> Planned:
        """Return a plan. Raises ``Refused`` where a queue has nothing, which is also what is told of a new one at first."""
        entry = self._entries[("Queue", "", path)]
        if not isinstance(entry.model, Queue) or entry.model.spec.reservations is None:
            raise KeyError(path)
        try:
            spec = plan(entry.model.spec.reservations)
        except InvalidSpec:
            raise KeyError(path) from None
        amounts = has(entry.status)
        if not any(amounts.values()):
            raise Refused(503, f"queue {path} has nothing that can be promised, or it is not told yet what it has", wait=2)
        calculator = AllTypes(len(self.names), range(len(self.names)), precise=True)
        return Planned(tuple(self.vector(amounts)), calculator, spec.cycle)

    def __iter__(self) -> Iterator[str]:
        """Yield the paths of all queues that take reservations."""
        for (kind, _, path), entry in self._entries.items():
            if kind == "Queue" and isinstance(entry.model, Queue) and entry.model.spec.reservations is not None:
                yield path

    def __len__(self) -> int:
        """Return how many there are."""
        return sum(1 for _ in self)

    def __contains__(self, path: object) -> bool:
        """Whether a queue takes reservations, whatever it has."""
        entry = self._entries.get(("Queue", "", str(path)))
        return entry is not None and isinstance(entry.model, Queue) and entry.model.spec.reservations is not None

    def path_of(self, said: str | None) -> str | None:
        """Return the path of a queue: as it is named, below the root, or by a last name that no other queue has that takes reservations; else what was said."""
        if not said or said in self:
            return said
        if f"root.{said}" in self:
            return f"root.{said}"
        alike = [path for path in self if path.rpartition(".")[2] == said]
        return alike[0] if len(alike) == 1 else said
