"""The cluster as the rules of the capacity discipline see it."""

from __future__ import annotations

from treadle.core.model.capacity import CapacitySettings
from treadle.core.rules.capacity.calculators import AllTypes, MemoryOnly
from treadle.core.rules.capacity.context import Context
from treadle.core.units.resources import UNBOUNDED, ResourceTypes


def test_types_that_only_settings_name_are_part_of_every_vector() -> None:
    context = Context(ResourceTypes(), CapacitySettings(least={"memory": 1, "nvidia.com/gpu": 1}))
    assert context.width == len(context.none()) == len(context.least) == 4
    assert context.least[3] == 1


def test_a_partition_without_nodes_has_nothing() -> None:
    context = Context(ResourceTypes(), CapacitySettings())
    context.partitions = {"": [5, 5, 5]}
    assert (context.of(""), context.of("gpu")) == ([5, 5, 5], [0, 0, 0])


def test_other_settings_may_count_other_types() -> None:
    context = Context(ResourceTypes(), CapacitySettings(all_types=False))
    assert isinstance(context.calculator, MemoryOnly)
    context.apply(CapacitySettings(all_types=True))
    assert isinstance(context.calculator, AllTypes)


def test_without_a_largest_container_there_is_no_limit_where_amounts_are_precise() -> None:
    assert set(Context(ResourceTypes(), CapacitySettings(precise=True)).most) == {UNBOUNDED}
