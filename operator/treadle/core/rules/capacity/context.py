"""What all queues of a tree know about their cluster: sizes, partitions, the calculator and the settings."""

from __future__ import annotations

from treadle.core.model.capacity import CapacitySettings
from treadle.core.rules.capacity.calculators import AllTypes, Calculator, MemoryOnly
from treadle.core.units.resources import PODS, UNBOUNDED, ResourceTypes, Vector

DEFAULT = ""
ANY_PARTITION = "*"


class Context:
    """The cluster as the rules see it. ``total`` is that of all partitions together, ``partitions`` that of each."""

    def __init__(self, types: ResourceTypes, settings: CapacitySettings) -> None:
        self.types = types
        for name in (*settings.least, *settings.most):
            types.position(name)  # before any vector is made: all have one length
        self.total: Vector = [0] * types.width
        self.partitions: dict[str, Vector] = {}
        self.calculator: Calculator = MemoryOnly(types.width, ())
        self.largest: Vector = [0] * types.width
        self.as_hadoop = False
        """Whether Hadoop's defects are kept."""
        self.lenient = False
        """Whether children may have any capacities: where a set that makes sense together is in force in part only."""
        self.apply(settings)

    @property
    def width(self) -> int:
        """How long vectors are."""
        return self.types.width

    def apply(self, settings: CapacitySettings) -> None:
        """Take over other settings."""
        self.settings = settings
        counted = [position for position in range(len(self.types)) if position != PODS]
        self.calculator = (AllTypes if settings.all_types else MemoryOnly)(self.width, counted, precise=settings.precise)
        self.single = self.calculator.single
        self.least = self.types.vector(settings.least)
        self.most = self.types.vector(settings.most, UNBOUNDED if settings.precise else 0)

    def of(self, partition: str) -> Vector:
        """Return the size of a partition."""
        found = self.partitions.get(partition)
        return [0] * self.width if found is None else found

    def none(self) -> Vector:
        """Return nothing."""
        return [0] * self.width
