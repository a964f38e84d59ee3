"""What Hadoop refuses in definitions of queues: capacities of siblings that do not go together."""

from __future__ import annotations

import pytest

from core.rules.capacity.trees import amount, percent, tree_of, weight
from treadle.core.model.capacity import Capacity, Kind, Portion
from treadle.core.rules.capacity.validation import Refused, check_no_weight, check_weights


@pytest.mark.parametrize(("one", "other"), [(60, 30), (60, 60), (99.9, 0)])
def test_percentages_of_siblings_sum_up_to_a_hundred(one: float, other: float) -> None:
    with pytest.raises(Refused, match="it must be 0 or 100"):
        tree_of(percent("root.a", one), percent("root.b", other))


@pytest.mark.parametrize(("one", "other"), [(60, 40), (100, 0), (99.96, 0.01)])
def test_a_sum_that_is_nearly_a_hundred_is_one(one: float, other: float) -> None:
    tree_of(percent("root.a", one), percent("root.b", other))


def test_children_without_any_capacity_need_a_word_about_that() -> None:
    specs = [percent("root.p", 100, children=("x",)), percent("root.p.x", 0)]
    with pytest.raises(Refused, match="allow-zero-capacity-sum"):
        tree_of(*specs)
    tree_of(percent("root.p", 100, children=("x",), allow_zero_sum=True), specs[1])


def test_percentages_and_weights_are_not_mixed_among_siblings() -> None:
    with pytest.raises(Refused, match=r"root\.p: percentages, weights and absolute resources are mixed"):
        tree_of(percent("root.p", 100, children=("x", "y")), percent("root.p.x", 50), weight("root.p.y", 1))


def test_amounts_of_children_are_at_most_those_of_their_parent() -> None:
    with pytest.raises(Refused, match="the children have more absolute resources than the queue"):
        tree_of(amount("root.p", 500, children=("x", "y")), amount("root.p.x", 300), amount("root.p.y", 300))


def test_a_parent_with_amounts_has_no_children_with_percentages() -> None:
    with pytest.raises(Refused, match="absolute resources must be used by a queue and its children alike"):
        tree_of(amount("root.p", 500, children=("x",)), percent("root.p.x", 100))


def test_a_refusal_names_hadoops_exception() -> None:
    with pytest.raises(Refused) as refused:
        tree_of(percent("root.a", 10))
    assert refused.value.hadoop == "IOException"


def test_a_maximum_is_no_weight() -> None:
    check_no_weight("root.a", Capacity(Portion(Kind.PERCENT, 50.0)))
    with pytest.raises(Refused, match=r"root\.a: maximum-capacity: 2w is a weight; allowed are percentages and amounts"):
        check_no_weight("root.a", Capacity(Portion(Kind.WEIGHT, 2.0)))


@pytest.mark.parametrize("value", [-0.5, 10001.0])
def test_weights_have_a_range(value: float) -> None:
    with pytest.raises(Refused, match="is not between 0 and 10000"):
        check_weights("root.a", value)


@pytest.mark.parametrize("value", [0.0, 1.5, 10000.0, -1.0])
def test_weights_in_the_range_and_none_at_all_are_taken(value: float) -> None:
    assert check_weights("root.a", value) == value
