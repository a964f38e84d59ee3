"""What is used, asked for, held and used by masters, per partition (Hadoop's ``ResourceUsage``)."""

from __future__ import annotations

from collections.abc import Sequence

from treadle.core.units.amounts import add_to, take_from
from treadle.core.units.resources import Vector


class Amounts:
    """The amounts of one partition. ``used`` of a queue or a user includes what is held for them; ``reserved`` is that part.

    ``master_limit`` is what masters of a leaf may hold, as it was computed last.
    """

    __slots__ = ("master_limit", "masters", "pending", "reserved", "used")

    def __init__(self, width: int) -> None:
        self.used: Vector = [0] * width
        self.pending: Vector = [0] * width
        self.reserved: Vector = [0] * width
        self.masters: Vector = [0] * width
        self.master_limit: Vector | None = None


class Usage:
    """Amounts by partition; the empty name is the default partition."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.partitions: dict[str, Amounts] = {}

    def of(self, partition: str) -> Amounts:
        """Return the amounts of a partition, to read and to change."""
        found = self.partitions.get(partition)
        if found is None:
            found = self.partitions[partition] = Amounts(self.width)
        return found

    def see(self, partition: str) -> Amounts:
        """Return the amounts of a partition, to read only: a partition that is only looked at is not one in which something is used."""
        found = self.partitions.get(partition)
        return Amounts(self.width) if found is None else found

    def used(self, partition: str) -> Vector:
        """Return what is used, to read only."""
        found = self.partitions.get(partition)
        return [0] * self.width if found is None else found.used

    def all_used(self) -> Vector:
        """Return what is used of all partitions together."""
        total = [0] * self.width
        for amounts in self.partitions.values():
            add_to(total, amounts.used)
        return total

    def all_pending(self) -> Vector:
        """Return what is asked for of all partitions together."""
        total = [0] * self.width
        for amounts in self.partitions.values():
            add_to(total, amounts.pending)
        return total

    def change(self, partition: str, what: str, by: Sequence[int], *, less: bool = False) -> None:
        """Add to one of the amounts of a partition, or take from it."""
        vector: Vector = getattr(self.of(partition), what)
        (take_from if less else add_to)(vector, by)
