"""The limit on masters, the largest pod of a queue, and queues that may have nothing of a resource."""

from __future__ import annotations

import pytest

from core.builders import Scenario, a_pod, limits
from treadle.core.events import PodSeen
from treadle.core.model import FairSettings


def masters(scenario: Scenario, count: int, queue: str = "root.a", cpu: int = 1) -> Scenario:
    """One application with a master each, in the order of their numbers."""
    for number in range(count):
        scenario.pod(f"m{number}", queue, f"app{number}", role="master", cpu=cpu, memory=cpu, created=float(number))
    return scenario


def names(binds: list) -> list[str]:
    return sorted(bind.name for bind in binds)


def test_masters_hold_at_most_half_of_the_fair_share_and_others_are_not_held_back() -> None:
    scenario = masters(Scenario().nodes(1, cpu=8, memory=8).queue("root.a"), 6)
    assert names(scenario.plan()) == ["m0", "m1", "m2", "m3"]
    reason, message = scenario.why("m4")
    assert reason == "MasterShare"
    assert message == (
        "the masters of queue root.a hold memory 4Gi of the 4Gi that they may together "
        "(maxAMShare 0.5 of the queue's fair share), 1Gi wanted"
    )
    scenario.pods(3, "w", "root.a", "app0", role="worker")
    assert names(scenario.plan()) == ["w-0", "w-1", "w-2"]


def test_a_master_that_has_gone_lets_the_next_one_start_in_the_order_of_the_queue() -> None:
    scenario = masters(Scenario().nodes(1, cpu=8, memory=8).queue("root.a", policy="fifo"), 7)
    scenario.confirm(scenario.plan()).gone("m1")
    assert names(scenario.plan()) == ["m4"]
    scenario.gone("m0", "m2")
    assert names(scenario.plan()) == ["m5", "m6"]


def test_a_small_master_starts_where_a_large_one_waits() -> None:
    scenario = Scenario().nodes(1, cpu=8, memory=8).queue("root.a", policy="fifo")
    masters(scenario, 1).pod("large", "root.a", "large", role="master", cpu=4, memory=4, created=10.0)
    scenario.pod("small", "root.a", "small", role="master", created=20.0)
    assert names(scenario.plan()) == ["m0", "small"]


@pytest.mark.parametrize(("share", "started"), [(0.25, 2), (1.0, 6), (-1.0, 6)])
def test_the_queues_own_share_goes_before_the_default(share: float, started: int) -> None:
    scenario = Scenario().nodes(1, cpu=8, memory=8).queue("root.a", max_master_share=share)
    assert len(masters(scenario, 6).plan()) == started


def test_the_default_is_the_schedulers_and_an_edit_lets_masters_start_at_once() -> None:
    scenario = Scenario().nodes(1, cpu=8, memory=8).queue("root.a")
    scenario.scheduler(fair=FairSettings(queue_max_master_share_default=0.125))
    assert len(masters(scenario, 6).plan()) == 1
    scenario.scheduler(fair=FairSettings(queue_max_master_share_default=0.5))
    assert len(scenario.plan()) == 3
    scenario.queue("root.a", max_master_share=-1.0)
    assert len(scenario.plan()) == 2


def test_a_share_that_grows_is_noticed_within_an_update_interval() -> None:
    scenario = Scenario().nodes(1, cpu=8, memory=8).queue("root.a").queue("root.b")
    scenario.pod("other", "root.b", "other", created=0.5)
    assert len(masters(scenario, 6).plan()) == 3
    assert scenario.why("m2")[0] == "MasterShare"
    scenario.gone("other")
    assert scenario.core.next_timer() is not None
    assert len(scenario.wait(0.5).plan()) == 2


def test_what_masters_hold_moves_and_goes_with_them_and_survives_a_restart() -> None:
    scenario = Scenario()
    for number in range(4):
        bound = a_pod(f"b{number}", "root.a", f"old{number}", role="master", node="node-0")
        scenario.tell(PodSeen(bound))
    scenario.nodes(1, cpu=8, memory=8).queue("root.a").queue("root.b")
    masters(scenario, 1)
    assert scenario.plan() == []
    scenario.application("old0", "root.b")
    assert scenario.core.state.tree.queues["root.b"].master_usage[1] == 1000
    scenario.gone("b1", "b2")
    assert names(scenario.wait(0.5).plan()) == ["m0"]


def test_only_shared_resources_count_not_pod_slots_nor_what_the_cluster_has_none_of() -> None:
    scenario = Scenario().node("small", cpu=100, memory=100, pods=4).queue("root.a")
    assert len(masters(scenario, 4).plan()) == 4
    scenario.pod("gpu", "root.a", "gpu", role="master", resources={"gpu": 1})
    scenario.plan()
    assert scenario.why("gpu")[0] == "Unschedulable"


def test_a_failed_bind_of_a_master_returns_its_share() -> None:
    scenario = masters(Scenario().nodes(1, cpu=2, memory=2).queue("root.a"), 2)
    (bind,) = scenario.plan()
    scenario.fail(bind, "refused")
    assert names(scenario.plan()) == ["m1"]


def test_a_pod_larger_than_the_queue_allows_one_to_be_waits_until_the_limit_changes() -> None:
    scenario = Scenario().nodes(1, cpu=8, memory=8).queue("root.p", max_container=limits(cpu="2")).queue("root.p.a")
    scenario.pod("large", "root.p.a", cpu=3).pod("small", "root.p.a", cpu=2)
    assert names(scenario.plan()) == ["small"]
    assert scenario.why("large") == (
        "OverMaxAllocation",
        "cpu: 3 is asked for, and a pod may have at most 2 (maxContainerAllocation of queue root.p)",
    )
    scenario.gone("small")
    assert scenario.plan() == [], "room does not help"

    scenario.queue("root.p.a", max_container=limits(cpu="4"))
    assert names(scenario.plan()) == ["large"]


def test_a_lowered_largest_pod_holds_back_what_waits_already() -> None:
    scenario = Scenario().queue("root.a").pod("p", "root.a", cpu=3)
    scenario.plan()
    scenario.queue("root.a", max_container=limits(cpu="2")).nodes(1, cpu=8)
    assert scenario.plan() == []
    assert scenario.why("p")[0] == "OverMaxAllocation"


def test_what_a_queue_may_have_none_of_is_said_so_and_looked_at_again_when_that_changes() -> None:
    scenario = Scenario().nodes(1, resources={"gpu": 4}).queue("root.a", maximum=limits(gpu="0", cpu="100%"))
    scenario.pod("p", "root.a", resources={"gpu": 1}).pod("q", "root.a")
    assert names(scenario.plan()) == ["q"]
    assert scenario.why("p") == ("ZeroMaximum", "gpu: 1 is asked for, and queue root.a may have none of it (maxResources is 0)")

    scenario.queue("root.a", maximum=limits(gpu="1"))
    assert names(scenario.plan()) == ["p"]


def test_a_percentage_of_a_cluster_without_nodes_is_a_maximum_like_another() -> None:
    scenario = Scenario().queue("root.a", maximum=limits(cpu="50%")).pod("p", "root.a")
    scenario.plan()
    assert scenario.why("p")[0] == "QueueMaximum"
