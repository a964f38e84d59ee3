"""Who has to go: the newest by YARN's order; by ours whose end costs least, from the queue that is furthest over its share."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from treadle.core.rules.opportunistic.victims import Candidate, Chosen, Costs, cheapest_first, newest_first, take
from treadle.core.units.amounts import minus, plus


def pod(name: str, started: float = 0.0, amount: int = 100, queue: str = "a", **more: object) -> Candidate:
    return Candidate(name, queue, [amount], [amount], started, started, **more)  # type: ignore[arg-type]


COSTS = Costs(1000.0, {"a": [500], "b": [500]}, {"a": [500], "b": [500]}, [1000])


def names(candidates: object) -> list[str]:
    return [one.name for one in candidates]  # type: ignore[attr-defined]


def freed(one: Candidate) -> list[int]:
    return list(one.freed)


def cheapest(candidates: list[Candidate], lacking: int = 100, costs: Costs = COSTS) -> list[str]:
    return names(cheapest_first(candidates, [lacking], costs))


def test_in_yarns_order_the_newest_goes_first() -> None:
    assert names(newest_first([pod("old", 1.0), pod("new", 3.0), pod("middle", 2.0)])) == ["new", "middle", "old"]


def test_no_more_go_than_are_needed() -> None:
    assert names(take([pod("x"), pod("y"), pod("z")], [150], freed).victims) == ["x", "y"]


def test_where_all_are_not_enough_what_is_lacking_is_said() -> None:
    assert take([pod("x")], [150], freed) == Chosen([pod("x")], [50])


def test_where_nothing_is_lacking_nobody_goes() -> None:
    assert take([pod("x")], [0], freed).victims == []


def test_the_least_work_is_lost_first() -> None:
    assert cheapest([pod("hour", 100.0), pod("minute", 940.0), pod("second", 999.0)]) == ["second", "minute", "hour"]


def test_work_that_was_saved_is_not_lost() -> None:
    saved = replace(pod("saved", 1.0), since=999.0)
    assert cheapest([pod("young", 900.0), saved]) == ["saved", "young"]


def test_what_uses_more_than_it_asked_for_frees_more_for_the_same_work() -> None:
    assert cheapest([pod("modest"), replace(pod("greedy"), freed=[200])], 200) == ["greedy", "modest"]


def test_a_queue_gives_back_what_it_has_over_its_share_before_others_do() -> None:
    costs = replace(COSTS, held={"a": [300], "b": [700]})
    pods = [pod("a1", 999.0), pod("b1", 1.0, queue="b"), pod("b2", 2.0, queue="b")]
    assert cheapest(pods, 300, costs) == ["b2", "b1", "a1"]


def test_a_queue_is_asked_no_more_when_another_is_further_over() -> None:
    costs = replace(COSTS, held={"a": [550], "b": [600]})
    pods = [pod("a1"), pod("a2"), pod("b1", queue="b"), pod("b2", queue="b")]
    assert [name[0] for name in cheapest(pods, 400, costs)] == ["b", "a", "b", "a"]


def test_a_queue_without_a_share_is_over_with_all_that_it_has() -> None:
    costs = replace(COSTS, held={"a": [700], "c": [300]})
    assert cheapest([pod("a1", 999.0), pod("c1", queue="c")], 100, costs) == ["c1", "a1"]


def test_pods_that_have_not_run_for_their_minimum_come_last() -> None:
    pods = [pod("young", 990.0, minimum=60.0), pod("old", 10.0, minimum=60.0)]
    assert cheapest(pods) == ["old", "young"]


def test_a_budget_allows_no_more_than_it_has() -> None:
    pods = [pod("x", 3.0, budget="web"), pod("y", 2.0, budget="web"), pod("z", 1.0), pod("w", 0.5, budget="unknown")]
    assert cheapest(pods, 400, replace(COSTS, budgets={"web": 1})) == ["x", "z"]


def test_pods_that_free_nothing_of_what_is_lacking_stay() -> None:
    idle = replace(pod("idle"), demand=[100, 0], freed=[100, 0])
    busy = replace(pod("busy"), demand=[100, 50], freed=[0, 50])
    costs = Costs(1000.0, {"a": [200, 50]}, {}, [1000, 1000])
    assert names(cheapest_first([idle, busy], [0, 10], costs)) == ["busy"]


PODS = st.lists(
    st.builds(
        lambda queue, demand, free, age, minimum: Candidate("", queue, demand, free, 1000.0 - age, 1000.0 - age, minimum),
        st.sampled_from("ab"),
        st.tuples(st.integers(0, 50), st.integers(0, 50)),
        st.tuples(st.integers(0, 50), st.integers(0, 50)),
        st.integers(0, 500),
        st.sampled_from([0.0, 100.0]),
    ),
    max_size=8,
).map(lambda found: [replace(one, name=f"p{number}") for number, one in enumerate(found)])


@given(PODS, st.tuples(st.integers(-20, 120), st.integers(-20, 120)), st.booleans())
def test_removal_takes_a_prefix_of_the_order_and_not_one_too_many(
    pods: list[Candidate], lacking: tuple[int, int], by_cost: bool
) -> None:
    costs = Costs(1000.0, {"a": [100, 100], "b": [50, 50]}, {"a": [60, 60]}, [500, 500])
    order = list(cheapest_first(pods, lacking, costs)) if by_cost else newest_first(pods)
    chosen = take(order, lacking, lambda one: one.freed)
    assert chosen.victims == order[: len(chosen.victims)]
    total = [0, 0]
    for at, one in enumerate(chosen.victims):
        assert any(amount > 0 for amount in minus(lacking, total)), f"number {at} was not needed"
        total = plus(total, one.freed)
    assert chosen.lacking == [max(amount, 0) for amount in minus(lacking, total)]
    assert len(chosen.victims) == len(order) or not any(chosen.lacking)


@given(PODS, st.tuples(st.integers(1, 120), st.integers(1, 120)))
def test_the_order_by_cost_has_everybody_who_helps_once_and_the_ripe_first(
    pods: list[Candidate], lacking: tuple[int, int]
) -> None:
    order = list(cheapest_first(pods, lacking, Costs(1000.0, {}, {}, [500, 500])))
    assert sorted(names(order)) == sorted(one.name for one in pods if any(one.freed))
    ripe = [1000.0 - one.started >= one.minimum for one in order]
    assert ripe == sorted(ripe, reverse=True)
