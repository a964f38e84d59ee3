"""What the vectors of a plan count: each resource type in each partition of nodes of which its queue has something, or may have been promised something."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from treadle.core.model.reservations import within
from treadle.core.units.resources import in_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from treadle.core.rules.reservations.over_time import Amounts

POD_COUNT = "pods"


@dataclass(frozen=True)
class Dimensions:
    """The types, in the order that they have in all vectors, for one partition after the other; the first is that of requests that name none.

    Amounts by name have the names that ``model.reservations.within`` gives: those of the default partition are the types' own.
    """

    types: tuple[str, ...]
    partitions: tuple[str, ...] = ("",)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The name of each position."""
        return tuple(within(partition, name) for partition in self.partitions for name in self.types)

    @cached_property
    def index(self) -> dict[str, int]:
        """The position of each name."""
        return {name: at for at, name in enumerate(self.names)}

    def vector(self, named: Iterable[tuple[str, int]]) -> list[int]:
        """Return named amounts as a vector, without what the plan does not know: a reservation makes none known."""
        found = [0] * len(self.names)
        for name, value in named:
            position = self.index.get(name)
            if position is not None:
                found[position] += value
        return found

    def named(self, vector: Iterable[int]) -> dict[str, int]:
        """Return the amounts of a vector that are not zero, by name."""
        return {name: value for name, value in zip(self.names, vector, strict=True) if value}

    def parts(self, vector: Sequence[int]) -> Iterator[tuple[str, Amounts]]:
        """Yield each partition, and what a vector has of it, by type."""
        width = len(self.types)
        for at, partition in enumerate(self.partitions):
            yield partition, tuple(vector[at * width : (at + 1) * width])

    def offset(self, partition: str) -> int | None:
        """Return the position of the first type of a partition, None where there is none of it."""
        return self.partitions.index(partition) * len(self.types) if partition in self.partitions else None

    def words(self, vector: Sequence[int], like: Sequence[int] = ()) -> str:
        """Return amounts such as ``cpu 4, memory 16Gi``, of what there is something of, or something of ``like``; ``nothing`` for none.

        Those of a partition follow with its name. How many pods there may be is left out.
        """
        said = []
        for (partition, mine), (_, other) in zip(self.parts(vector), self.parts(like or vector), strict=True):
            named = [
                f"{name} {in_words(name, value)}"
                for name, value, shown in zip(self.types, mine, other, strict=True)
                if shown and name != POD_COUNT
            ]
            if named:
                said.append((partition, ", ".join(sorted(named)) + (f" of partition {partition}" if partition else "")))
        return " and ".join(words for _, words in sorted(said)) or "nothing"
