"""What a queue of the capacity discipline has of one partition (Hadoop's ``QueueCapacities`` and ``QueueResourceQuotas``)."""

from __future__ import annotations

from treadle.core.units.resources import Vector


class Share:
    """What a queue has of one partition.

    ``capacity`` and ``maximum_capacity`` are parts of the parent, ``absolute`` and ``absolute_maximum`` of the partition, all
    float32. ``minimum`` and ``maximum`` are the amounts in force, the ``configured`` ones those that the definition names as
    absolute.
    """

    def __init__(self, width: int) -> None:
        self.capacity = 0.0
        self.maximum_capacity = 0.0
        self.absolute = 0.0
        self.absolute_maximum = 0.0
        self.weight = -1.0
        self.normalized_weight = 0.0
        self.master_share = 0.0
        self.used_capacity = 0.0
        self.absolute_used = 0.0
        self.configured_minimum: Vector = [0] * width
        self.configured_maximum: Vector = [0] * width
        self.minimum: Vector = [0] * width
        self.maximum: Vector = [0] * width
        self.ratios: dict[int, float] = {}
