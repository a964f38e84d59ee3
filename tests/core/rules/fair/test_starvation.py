"""Who is starved: below the fair share or the minimum share, and for longer than the timeout."""

from __future__ import annotations

import pytest

from core.rules.fair.eaters import CLUSTER, FAIR, Eater, Table
from treadle.core.rules.fair import starvation


def hungry(name: str = "a", used: int = 100, wants: int = 900, share: int = 600) -> Eater:
    return Eater(name, [used, used // 10, 1], [wants, wants // 10, 9], [share, share // 10, 6])


def leaf(**said: object) -> Table:
    return Table([100, 10, 1], [900, 90, 9], **said)  # type: ignore[arg-type]


def test_an_application_lacks_what_it_has_less_than_the_threshold_of_its_share() -> None:
    assert starvation.short_of_share(hungry(), leaf(), CLUSTER, 20.0) == [200, 20, 2]


def test_it_lacks_nothing_before_the_timeout() -> None:
    assert not any(starvation.short_of_share(hungry(), leaf(), CLUSTER, 9.9))
    assert any(starvation.short_of_share(hungry(), leaf(), CLUSTER, 10.0))


def test_the_timeout_begins_anew_when_the_share_is_met() -> None:
    application = hungry(used=400)
    assert not any(starvation.short_of_share(application, leaf(), CLUSTER, 20.0))
    application.usage = [100, 10, 1]
    assert not any(starvation.short_of_share(application, leaf(), CLUSTER, 25.0))
    assert any(starvation.short_of_share(application, leaf(), CLUSTER, 30.0))


def test_without_a_timeout_nobody_is_short_of_the_share() -> None:
    assert not any(starvation.short_of_share(hungry(), leaf(fair_share_timeout=None), CLUSTER, 1e9))


def test_no_more_is_lacking_than_is_asked_for() -> None:
    assert starvation.short_of_share(hungry(wants=150), leaf(), CLUSTER, 20.0) == [50, 5, 2]


@pytest.mark.parametrize(("now", "expected"), [(4.9, [0, 0, 0]), (5.0, [300, 0, 0])])
def test_a_leaf_lacks_its_minimum_after_a_timeout_of_its_own(now: float, expected: list[int]) -> None:
    assert starvation.short_of_minimum(leaf(minimum=[400, 0, 0]), CLUSTER, now) == expected


def test_a_minimum_counts_no_further_than_the_demand() -> None:
    table = leaf(minimum=[2000, 0, 0])
    assert starvation.short_of_minimum(table, CLUSTER, 50.0) == [800, 0, 0]


def test_what_a_leaf_lacks_goes_to_its_applications_in_order_until_it_is_used_up() -> None:
    first, second, third = (Eater(name, [0, 0, 0], [200, 0, 0], [0, 0, 0]) for name in ("a", "b", "c"))
    table = Table([0, 0, 0], [600, 0, 0], minimum=[300, 0, 0])
    found = list(starvation.find_starved(table, [first, second, third], CLUSTER, 50.0, remainder=False))
    assert [each.name for each in found] == ["a", "b"]
    assert [each.short_of_minimum[0] for each in (first, second, third)] == [200, 100, 0]


def test_hadoop_gives_the_last_one_what_its_need_has_over_the_rest() -> None:
    first, second = (Eater(name, [0, 0, 0], [200, 0, 0], [0, 0, 0]) for name in ("a", "b"))
    table = Table([0, 0, 0], [600, 0, 0], minimum=[250, 0, 0])
    list(starvation.find_starved(table, [first, second], CLUSTER, 50.0))
    assert second.short_of_minimum[0] == 150


def test_the_search_ends_with_the_first_that_is_not_short_of_its_share() -> None:
    starved, fed, also = hungry("a"), hungry("b", used=500), hungry("c")
    found = list(starvation.find_starved(leaf(), [starved, fed, also], CLUSTER, 20.0))
    assert [each.name for each in found] == ["a"]


def test_all_that_an_application_lacks_is_the_sum_of_both() -> None:
    application = hungry()
    application.short_of_share, application.short_of_minimum = [1, 2, 3], [10, 20, 30]
    assert starvation.starvation(application) == [11, 22, 33]
    assert starvation.is_starved(FAIR, CLUSTER, application)


@pytest.mark.parametrize(
    ("allocated", "worth"), [([800, 0, 0], False), ([801, 0, 0], True), ([0, 81, 0], True), ([0, 0, 100], False)]
)
def test_preemption_is_worth_looking_at_when_memory_or_cpu_is_used_over_the_threshold(allocated: list[int], worth: bool) -> None:
    assert starvation.worth_looking(CLUSTER, allocated, 0.8) is worth
