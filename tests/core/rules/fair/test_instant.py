"""Hadoop's update pass: demands from the bottom up, shares from the top down."""

from __future__ import annotations

from dataclasses import dataclass, field

from core.rules.fair.eaters import CLUSTER, DRF, Eater
from treadle.core.rules.fair.instant import update_demands, update_instant_shares, update_steady_shares
from treadle.core.rules.policies import Policy, policy_named


@dataclass(eq=False)
class Asking(Eater):
    asks: list[int] = field(default_factory=lambda: [0, 0, 0])

    def outstanding(self) -> list[int]:
        return list(self.asks)


@dataclass(eq=False)
class Holder(Eater):
    policy: Policy = DRF
    steady_share: list[int] = field(default_factory=lambda: [0, 0, 0])
    below: list[Holder] = field(default_factory=list)
    runnable: list[Asking] = field(default_factory=list)
    waiting: list[Asking] = field(default_factory=list)

    @property
    def parental(self) -> bool:
        return bool(self.below)

    @property
    def running_below(self) -> int:
        return len(self.runnable) + sum(child.running_below for child in self.below)


def asking(name: str, used: int, asks: int) -> Asking:
    return Asking(name, [used, used // 10, used // 100], asks=[asks, asks // 10, asks // 100])


def leaf(name: str, *runnable: Asking, **said: object) -> Holder:
    return Holder(name, [0, 0, 0], runnable=list(runnable), **said)  # type: ignore[arg-type]


def tree(*children: Holder, **said: object) -> Holder:
    return Holder("root", [0, 0, 0], below=list(children), **said)  # type: ignore[arg-type]


def test_a_demand_is_what_is_held_and_what_is_asked_for_also_by_those_that_may_not_run_yet() -> None:
    found = leaf("a", asking("x", 100, 200))
    found.waiting.append(asking("y", 0, 500))
    update_demands(found, CLUSTER, size_based_weight=False)
    assert found.demand == [800, 80, 8]


def test_a_demand_is_held_at_the_maximum() -> None:
    found = leaf("a", asking("x", 100, 900), maximum=[400, 90, 90])
    update_demands(found, CLUSTER, size_based_weight=False)
    assert found.demand == [400, 90, 10]


def test_a_parent_hands_up_memory_and_cpu_only() -> None:
    root = tree(leaf("a", asking("x", 100, 400)), leaf("b", asking("y", 0, 300)))
    update_demands(root, CLUSTER, size_based_weight=False)
    assert root.demand == [800, 80, 0]


def test_weights_follow_demands_where_that_is_wanted() -> None:
    small, large = asking("x", 0, 100), asking("y", 0, 900)
    update_demands(leaf("a", small, large), CLUSTER, size_based_weight=True)
    assert large.weight > small.weight > 1.0


def test_a_queue_without_a_running_application_has_no_share() -> None:
    busy, idle = leaf("a", asking("x", 0, 100)), leaf("b")
    update_instant_shares(tree(busy, idle), CLUSTER, CLUSTER.total)
    assert busy.fair_share[:2] == [1000, 100]
    assert idle.fair_share[:2] == [0, 0]


def test_a_share_is_not_held_at_what_is_demanded() -> None:
    one, other = leaf("a", asking("x", 0, 10)), leaf("b", asking("y", 0, 990))
    update_instant_shares(tree(one, other), CLUSTER, CLUSTER.total)
    assert one.fair_share[:2] == other.fair_share[:2] == [500, 50]


def test_under_fifo_the_first_application_has_all_of_the_queues_share() -> None:
    first, second = asking("x", 0, 10), asking("y", 0, 10)
    update_instant_shares(leaf("a", first, second, policy=policy_named("fifo")), CLUSTER, CLUSTER.total)
    assert first.fair_share[:2] == [1000, 100]
    assert second.fair_share[:2] == [0, 0]


def test_steady_shares_are_as_if_all_were_busy() -> None:
    one, idle = leaf("a", asking("x", 0, 10), weight=3.0), leaf("b")
    root = tree(one, idle)
    root.steady_share = list(CLUSTER.total)
    update_steady_shares(root, CLUSTER)
    assert (one.steady_share[:2], idle.steady_share[:2]) == ([750, 75], [250, 25])
