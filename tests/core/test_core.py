"""States that once made the core raise: what the API server accepts never stops the scheduler."""

from __future__ import annotations

import pytest

from core.builders import GIB, Scenario, limits
from core.clusters import Cluster, Growing
from treadle.core.events import NodeSeen
from treadle.core.model import AccessList, FairSettings, NodeSpec
from treadle.core.model.capacity import Capacity, CapacityQueueSpec, FlexibleCreation, Kind, PartitionShare, Portion


def test_a_leaf_in_use_that_is_to_make_queues_serves_its_applications_until_they_have_left() -> None:
    cluster = Growing()
    cluster.share("root.users", "1w", flexible=FlexibleCreation(enabled=True)).nodes(1, cpu=20, memory=40)
    cluster.pod("p", "root.users", "app")
    cluster.confirm(cluster.plan())
    cluster.capacity()
    cluster.pod("q", "root.users", "other").wait(1)

    assert [bind.queue for bind in cluster.plan()] == ["root.users"]

    cluster.gone("p", "q").wait(1).plan()
    cluster.pod("r", "root.users.ann", "next").wait(1)
    assert [bind.queue for bind in cluster.plan()] == ["root.users.ann"]


def test_a_queue_that_is_gone_is_not_asked_what_its_masters_may_hold() -> None:
    scenario = Scenario().nodes(1, cpu=4, memory=4).scheduler(fair=FairSettings(queue_max_master_share_default=0.1))
    scenario.queue("root.b").queue("root.default")
    scenario.pod("m", "root.default", role="master", cpu=2)
    assert scenario.plan() == []

    scenario.without_queue("root.default").gone("m")
    scenario.pod("x", "root.b", "x", resources={"gpu": 1}).pod("y", "root.b", "y").wait(1)
    assert [bind.uid for bind in scenario.plan()] == ["y"]


@pytest.mark.parametrize("legacy", [True, False])
def test_a_maximum_with_a_weight_is_refused_and_says_what_is_allowed(*, legacy: bool) -> None:
    cluster = Cluster().capacity(legacy=legacy).nodes(1)
    types = {"memory": Portion(Kind.ABSOLUTE, 16 * GIB), "cpu": Portion(Kind.WEIGHT, 80.0)}
    share = PartitionShare(Capacity(Portion(Kind.PERCENT, 100.0)), Capacity(types=types, written_by_type=True))
    cluster.queue("root.a", capacity=CapacityQueueSpec("root.a", partitions={"": share}))
    cluster.pod("p", "root.a")
    cluster.plan()

    words = "root.a: maximum-capacity: 80w is a weight; allowed are percentages and amounts"
    assert words in cluster.core.state.discipline_problem


def test_who_waits_for_a_limit_is_let_in_where_a_new_resource_type_lifts_it() -> None:
    cluster = Cluster().capacity(legacy=False)
    cluster.tell(NodeSeen(NodeSpec("apart", {"acme.org/fpga": 8}, {"treadle.dev/partition": "a"})))
    cluster.pod("p", application="one").pod("q", application="two")
    cluster.plan()
    cluster.tell(NodeSeen(NodeSpec("more", {"memory": 8 * GIB, "example.com/new": 8})))
    cluster.wait(1).plan()
    cluster.everybody_says_why()


def test_what_the_starved_lacked_before_a_new_resource_type_is_still_compared() -> None:
    scenario = Scenario().scheduler(fair=FairSettings(preemption=True, min_share_timeout=1.0, fair_share_timeout=1.0))
    scenario.queue("root").queue("root.a", minimum=limits(cpu="4000000"))
    scenario.pod("p", "root.a", "one", cpu=2).pod("q", "root.a", "two", cpu=2)
    scenario.plan(1)
    scenario.pod("r", "root.a", "three")
    scenario.node("n", cpu=2, resources={"acme.org/fpga": 8}).wait(2)
    assert len(scenario.plan()) == 1


def test_a_deleted_parent_is_not_made_anew_as_a_leaf() -> None:
    cluster = Growing().capacity(legacy=False, max_depth=2)
    cluster.share("root.b", "1w", flexible=FlexibleCreation(enabled=True)).nodes(1)
    cluster.share("root.b.x", "1w", flexible=FlexibleCreation(enabled=True))
    cluster.pod("deep", "root.b.x.deep", "one").pod("p", "root.b.x", "two")
    cluster.plan()
    cluster.without_queue("root.b.x").wait(1).plan()
    cluster.pod("q", "root.b.x", "three").wait(1).plan()
    assert cluster.why("q")[0] == "QueueIsParent"


def test_a_template_that_is_wrong_does_not_keep_a_bound_pod_from_the_queue_that_it_was_bound_in() -> None:
    cluster = Growing()
    wrong = CapacityQueueSpec("template", order="utilization")
    cluster.flexible(leaf=wrong)
    cluster.pod("p", node="node-0", held_in="root.users.ann")
    cluster.pod("q", "root.rest", "other").wait(1)
    assert [bind.uid for bind in cluster.plan()] == ["q"]
    assert cluster.core.state.tree.queues["root.users.ann"].usage[1] == 1000


def test_a_deleted_queue_drains_below_one_whose_users_weigh_more_than_its_own_limit_allows() -> None:
    cluster = Cluster().capacity().nodes(1, cpu=20, memory=40)
    cluster.share("root.p", "1w", user_weights={"ann": 5.0})
    for name in "ab":
        cluster.share(f"root.p.{name}", "1w", user_limit=10.0, user_limit_factor=-1.0)
    cluster.pod("p", "root.p.b", user="ann").confirm(cluster.plan())
    cluster.without_queue("root.p.b").wait(1).pod("q", "root.p.a", "other")
    assert [bind.uid for bind in cluster.plan()] == ["q"]
    assert cluster.core.state.tree.problems["root.p.b"].reason == "Draining"


def test_a_deleted_queue_drains_below_one_whose_default_partition_it_may_not_use() -> None:
    cluster = Cluster().capacity(partitions={"gpu": True, "ssd": True}).nodes(1, cpu=20, memory=40)
    cluster.share("root.p", "1w", accessible=frozenset({"ssd"}), default_partition="gpu")
    for name in "ab":
        cluster.share(f"root.p.{name}", "1w", default_partition="ssd")
    cluster.pod("p", "root.p.b", node="node-0")
    cluster.plan()
    cluster.without_queue("root.p.b").wait(1).pod("q", "root.p.a", "other").plan()
    assert cluster.core.state.tree.problems["root.p.b"].reason == "Draining"
    assert cluster.why("q")[0] == "Unschedulable"


def test_a_pod_for_which_room_has_come_back_is_not_told_that_there_is_none() -> None:
    scenario = Scenario().nodes(2, cpu=1)
    scenario.pods(3, "p")
    scenario.confirm(scenario.plan())
    (waiting,) = (uid for uid in ("p-0", "p-1", "p-2") if scenario.why(uid)[0] == "Unschedulable")
    assert scenario.why(waiting)[1] == "0/2 nodes are available: 2 Insufficient cpu."

    scenario.gone(next(uid for uid in ("p-0", "p-1", "p-2") if uid != waiting))
    words = "1 of 2 nodes have got room since the pod was last looked at; it is looked at again with the next pass"
    assert scenario.why(waiting) == ("Unschedulable", words)


def test_what_people_chose_makes_no_message_longer_than_may_be_written() -> None:
    scenario = Scenario().nodes(1)
    nobody = AccessList()
    scenario.queue("root", submit=nobody, administer=nobody).queue("root.a")
    scenario.pod("p", "root.a", user="u" * 5000)
    scenario.plan()
    reason, message = scenario.why("p")
    assert (reason, len(message), message[-1]) == ("AccessDenied", 1024, "…")
