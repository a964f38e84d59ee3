"""What the vectors of plans count: amounts by name, by partition, and in words."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from treadle.core.kernel.reservations.dimensions import Dimensions

ONE = Dimensions(("memory", "cpu", "pods", "gpu"))
TWO = Dimensions(("memory", "cpu", "pods", "gpu"), ("", "big"))
PARTITIONS = st.lists(st.sampled_from(["", "a", "b", "c-d"]), min_size=1, unique=True).map(tuple)


def test_amounts_are_told_of_what_matters() -> None:
    assert ONE.words([2 << 30, 1500, 110, 0]) == "cpu 1500m, memory 2Gi"
    assert ONE.words([2 << 30, 1500, 110, 0], [0, 1, 0, 1]) == "cpu 1500m, gpu 0"
    assert ONE.words([0, 0, 5, 0]) == "nothing"


def test_amounts_of_a_partition_are_told_with_its_name() -> None:
    assert TWO.words([0, 1000, 3, 0, 1 << 30, 2000, 0, 1]) == "cpu 1 and cpu 2, gpu 1, memory 1Gi of partition big"
    assert TWO.words([0, 0, 3, 0, 0, 2000, 1, 0]) == "cpu 2 of partition big"
    assert TWO.words([5, 6, 7, 8, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1, 0, 0]) == "cpu 0 of partition big"


@given(PARTITIONS, st.data())
def test_vectors_and_names_are_two_ways_to_say_the_same(partitions: tuple[str, ...], data: st.DataObject) -> None:
    mine = Dimensions(("memory", "cpu", "pods"), partitions)
    amounts = data.draw(st.lists(st.integers(0, 9), min_size=3 * len(partitions), max_size=3 * len(partitions)))
    assert mine.vector(mine.named(amounts).items()) == amounts
    assert [value for _, part in mine.parts(amounts) for value in part] == amounts
    assert all(mine.names[mine.offset(partition) or 0].endswith("memory") for partition in partitions)


def test_what_a_plan_does_not_know_is_left_out() -> None:
    assert TWO.vector([("cpu", 1), ("big:cpu", 2), ("small:cpu", 4), ("big:fpga", 8)]) == [0, 1, 0, 0, 0, 2, 0, 0]
    assert TWO.offset("small") is None
