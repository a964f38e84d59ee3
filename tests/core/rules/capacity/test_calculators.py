"""How the calculators of the capacity discipline round."""

from __future__ import annotations

from treadle.core.rules.capacity.calculators import AllTypes
from treadle.core.units.amounts import f32
from treadle.core.units.resources import CPU, MEMORY


def test_a_factor_of_its_own_for_each_type_is_not_rounded_to_single_precision() -> None:
    calculator, third = AllTypes(3, [MEMORY, CPU]), f32(1 / 3)
    assert calculator.times_up([12288, 12, 0], third, [1, 1, 1]) == [4096, 4, 0]
    assert calculator.times_each_up([12288, 12, 0], [third, third, 0.0], [1, 1, 1]) == [4097, 5, 0]
