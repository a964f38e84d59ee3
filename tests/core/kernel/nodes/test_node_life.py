"""The life of a node while pods are on it, on their way to it, and waiting for it."""

from __future__ import annotations

from core.builders import Scenario, a_node, a_pod, replaced
from treadle.core.effects import Bind
from treadle.core.events import BindDone, NodeSeen, PodSeen
from treadle.core.model import Constraints, Taint

GPU = Taint("gpu", "", "NoSchedule")


def bound(at: Scenario) -> list[Bind]:
    """Plan, and let all binds hold."""
    binds = at.plan()
    at.confirm(binds)
    return binds


def test_a_node_that_comes_takes_what_waits() -> None:
    at = Scenario().pods(3, "p")
    assert at.plan() == []
    at.nodes(1, cpu=2)
    assert len(at.plan()) == 2


def test_a_node_that_is_cordoned_keeps_its_pods_and_what_was_on_its_way_and_takes_no_more() -> None:
    at = Scenario().nodes(1, cpu=4).pod("there")
    bound(at)
    at.pod("under-way", application="b")
    (bind,) = at.plan()
    at.nodes(1, cpu=4, unschedulable=True).pod("late", application="c")
    assert at.plan() == []
    assert at.why("late")[1] == "0/1 nodes are available: 1 node(s) were unschedulable."
    at.confirm([bind])
    assert at.free("node-0") == 2
    at.nodes(1, cpu=4)
    assert [one.name for one in at.plan()] == ["late"]


def test_a_node_that_is_drained_gives_its_room_to_no_pod_until_it_is_uncordoned() -> None:
    at = Scenario().nodes(1, cpu=2).pods(2, "p")
    bound(at)
    at.nodes(1, cpu=2, unschedulable=True).gone("p-0").pod("again")
    assert at.plan() == []
    at.gone("p-1").nodes(1, cpu=2)
    assert len(at.plan()) == 1


def test_a_node_that_is_lost_with_pods_on_it_is_no_room_and_its_pods_count_until_they_are_gone() -> None:
    at = Scenario().queue("root.a").nodes(1, cpu=4).pod("there", "root.a", cpu=2)
    bound(at)
    at.without_node("node-0").pod("late", "root.a")
    assert at.plan() == []
    assert at.used("root.a") == 2, "nobody has said that the pod is gone"
    at.gone("there")
    assert at.used("root.a") == 0
    assert not at.core.state.nodes.row, "nothing is left of the node"


def test_a_node_that_is_lost_while_a_bind_is_under_way_is_where_the_pod_is_until_it_is_known() -> None:
    at = Scenario().nodes(1, cpu=4).pod("a", cpu=2)
    (bind,) = at.plan()
    at.without_node("node-0").nodes(1, prefix="other", cpu=4)
    assert at.plan() == []
    at.fail(bind)
    at.wait(60)
    assert [one.node for one in at.plan()] == ["other-0"]


def test_the_api_takes_a_bind_to_a_node_that_is_gone_and_the_pod_counts_there_when_it_comes_back() -> None:
    at = Scenario().nodes(1, cpu=4).pod("a", cpu=3)
    (bind,) = at.plan()
    at.without_node("node-0").tell(BindDone("a"))
    at.confirm([bind]).nodes(1, cpu=4)
    assert at.free("node-0") == 1


def test_a_node_made_anew_under_its_name_has_what_is_bound_to_the_name_and_is_what_it_is_now() -> None:
    at = Scenario().nodes(1, cpu=4, labels={"disk": "ssd"}).pod("old", cpu=1)
    bound(at)
    at.without_node("node-0").nodes(1, cpu=8, labels={"disk": "hdd"})
    assert at.free("node-0") == 7
    at.pod("ssd", application="b", constraints=Constraints(selector=(("disk", "ssd"),)))
    at.pod("hdd", application="c", constraints=Constraints(selector=(("disk", "hdd"),)))
    assert [one.name for one in at.plan()] == ["hdd"]


def test_a_node_that_grows_in_place_takes_more_at_once() -> None:
    at = Scenario().nodes(1, cpu=2).pods(4, "p")
    bound(at)
    at.nodes(1, cpu=3)
    assert len(at.plan()) == 1


def test_a_node_that_shrinks_below_what_is_used_takes_nothing_until_it_has_room_again() -> None:
    at = Scenario().nodes(1, cpu=4).pods(4, "p")
    bound(at)
    at.nodes(1, cpu=2).pod("late")
    assert at.free("node-0") == -2
    assert at.plan() == []
    at.gone("p-0", "p-1")
    assert at.free("node-0") == 0
    assert at.plan() == []
    at.gone("p-2")
    assert len(at.plan()) == 1


def test_a_node_that_shrinks_while_binds_are_under_way_is_overdrawn_and_recovers_when_they_fail() -> None:
    at = Scenario().nodes(1, cpu=4).pods(4, "p")
    binds = at.plan()
    at.nodes(1, cpu=1)
    assert at.free("node-0") == -3
    for bind in binds[1:]:
        at.fail(bind)
    at.confirm(binds[:1])
    assert at.free("node-0") == 0
    assert at.wait(60).plan() == []
    at.nodes(1, cpu=4)
    assert len(at.plan()) == 3


def test_a_type_that_a_node_no_longer_has_is_missing_and_what_used_it_still_counts() -> None:
    at = Scenario().nodes(1, resources={"gpu": 2}).pod("a", resources={"gpu": 1})
    bound(at)
    at.nodes(1).pod("b", resources={"gpu": 1})
    assert at.plan() == []
    at.nodes(1, resources={"gpu": 1})
    assert at.plan() == []
    at.gone("a")
    assert len(at.plan()) == 1


def test_labels_and_taints_that_change_while_a_bind_is_under_way_do_not_move_the_pod_and_are_heeded_when_the_bind_fails() -> None:
    at = Scenario().nodes(1, labels={"disk": "ssd"}).pod("a", constraints=Constraints(selector=(("disk", "ssd"),)))
    (bind,) = at.plan()
    at.nodes(1, labels={"disk": "hdd"}, taints=(GPU,)).node("other", labels={"disk": "ssd"})
    assert at.plan() == []
    at.fail(bind).wait(60)
    assert [one.node for one in at.plan()] == ["other"]


def test_a_taint_that_comes_keeps_the_next_pod_away_though_the_last_one_went_there() -> None:
    at = Scenario().nodes(2).pod("a")
    (first,) = bound(at)
    at.node(first.node, taints=(GPU,)).pod("b")
    (second,) = at.plan()
    assert second.node != first.node


def test_a_pod_whose_resize_is_deferred_counts_for_what_it_wants_and_an_infeasible_one_for_what_it_has() -> None:
    """What a pod counts for while it is resized is worked out where it is read; the room on its node follows."""
    at = Scenario().nodes(1, cpu=4).pod("a", cpu=1)
    (bind,) = bound(at)
    spec = a_pod("a", cpu=3, node=bind.node)
    at.tell(PodSeen(spec)).pod("late", application="b", cpu=2)
    assert at.free("node-0") == 1
    assert at.plan() == []
    at.tell(PodSeen(replaced(spec, demand=a_pod("a", cpu=1).demand)))
    assert len(at.plan()) == 1


def test_a_pod_that_grows_beyond_its_node_overdraws_it() -> None:
    at = Scenario().nodes(1, cpu=4).pods(2, "p", cpu=2)
    bound(at)
    at.tell(PodSeen(a_pod("p-0", cpu=4, node="node-0"))).pod("late")
    assert at.free("node-0") == -2
    assert at.plan() == []


def test_a_node_that_comes_and_goes_in_one_step_takes_nothing() -> None:
    at = Scenario().pod("a").tell(NodeSeen(a_node("n"))).without_node("n")
    assert at.plan() == []
