"""Gangs start together or not at all."""

from __future__ import annotations

from typing import Any

import pytest

from core.builders import Scenario, a_node, a_pod, by_node, limits
from core.clusters import Cluster
from treadle.core.effects import Bind
from treadle.core.events import ApplicationSeen, BindFailed, NodeGone, NodeSeen, PodSeen
from treadle.core.kernel.gangs.ever import INTERVAL
from treadle.core.model import ApplicationSpec, Constraints, FairSettings, GangSpec, PodSpec


def member(name: str, gang: str = "workers", least: int = 0, **fields: Any) -> PodSpec:
    return a_pod(name, gang=gang, gang_minimums=((gang, least),) if least else (), **fields)


def come(at: Scenario, count: int, prefix: str = "w", **fields: Any) -> Scenario:
    return at.tell(*(PodSeen(member(f"{prefix}-{number}", **fields)) for number in range(count)))


def test_a_gang_that_fits_is_placed_at_once_and_one_that_does_not_not_at_all() -> None:
    at = Scenario().nodes(2, cpu=4)
    come(at, 9, least=9)
    assert at.plan() == []
    assert at.free("node-0") == at.free("node-1") == 4
    at.nodes(1, prefix="more", cpu=1)
    assert len(at.plan()) == 9


def test_what_does_not_fit_as_a_whole_leaves_the_room_to_others() -> None:
    at = Scenario().nodes(1, cpu=4)
    come(at, 5, least=5)
    at.pods(3, "small", application="other")
    assert {bind.uid for bind in at.plan()} == {"small-0", "small-1", "small-2"}


def test_a_gang_waits_until_as_many_pods_are_there_as_start_together() -> None:
    at = Scenario().nodes(2)
    come(at, 3, least=4)
    assert at.plan() == []
    assert at.why("w-0") == (
        "GangIncomplete",
        'gang "workers" starts with 4 pods: 0 are placed and 3 wait, the others are not there yet',
    )
    come(at, 1, "late", least=4)
    assert len(at.plan()) == 4


def test_the_application_says_how_many_start_together_and_pods_beyond_that_follow_one_by_one() -> None:
    at = Scenario().nodes(1, cpu=4).tell(ApplicationSeen(ApplicationSpec("ns/app", gangs=(GangSpec("workers", 3),))))
    come(at, 6, least=6)
    assert len(at.plan()) == 4, "three together, and one for which there is room"
    at.gone("w-0")
    assert len(at.plan()) == 1


def test_a_minimum_that_nobody_says_is_asked_for_and_heard_when_it_is_said() -> None:
    at = Scenario().nodes(1)
    come(at, 2)
    assert at.plan() == []
    reason, words = at.why("w-0")
    assert reason == "GangIncomplete"
    assert 'nobody says how many pods of gang "workers" start together' in words
    at.tell(ApplicationSeen(ApplicationSpec("ns/app", gangs=(GangSpec("workers", 2),))))
    assert len(at.plan()) == 2


def test_pods_of_different_sizes_are_one_gang_and_two_gangs_of_an_application_are_two() -> None:
    at = Scenario().nodes(1, cpu=6)
    at.tell(PodSeen(member("head", least=3, cpu=2, role="master")), PodSeen(member("a", least=3)), PodSeen(member("b", least=3)))
    come(at, 3, "x", gang="others", least=3)
    assert {bind.uid for bind in at.plan()} == {"head", "a", "b"}
    assert at.why("x-0")[0] == "Unschedulable"


def test_who_waits_says_how_many_would_fit_now() -> None:
    at = Scenario().nodes(2, cpu=3)
    come(at, 8, least=8)
    at.plan()
    assert at.why("w-0") == (
        "Unschedulable",
        'gang "workers" starts with 8 pods: 0 are placed, and of the 8 others at most 6 fit now',
    )


def test_the_pods_of_a_gang_are_all_below_the_maximum_of_their_queue_or_none_is() -> None:
    at = Scenario().nodes(4).queue("root.a", maximum=limits(cpu=4))
    at.pods(2, "first", "root.a", "first")
    at.plan()
    come(at, 3, least=3, queue="root.a")
    assert at.plan() == []
    assert at.why("w-0") == (
        "QueueMaximum",
        'queue root.a has no room below its maximum for all pods with which gang "workers" starts (maxResources): cpu 2 used of 4, 3 wanted, 1 missing',
    )
    at.gone("first-0")
    assert len(at.plan()) == 3


def test_a_gang_that_is_larger_than_its_queue_may_ever_be_says_so_and_stops_nobody() -> None:
    at = Scenario().nodes(4).queue("root.a", maximum=limits(cpu=2))
    come(at, 3, least=3, queue="root.a")
    at.pods(2, "other", "root.a", "other")
    assert len(at.plan()) == 2
    reason, words = at.why("w-0")
    assert reason == "GangOverMaximum"
    assert "than queue root.a may ever have" in words
    at.gone("other-0", "other-1").queue("root.a", maximum=limits(cpu=3))
    assert len(at.plan()) == 3


def test_a_member_that_ends_is_replaced_alone_when_the_minimum_was_reached_before() -> None:
    at = Scenario().nodes(1, cpu=4)
    come(at, 4, least=4)
    at.confirm(at.plan())
    at.gone("w-0")
    come(at, 1, "again", least=4)
    assert [bind.uid for bind in at.plan()] == ["again-0"]


def test_a_bind_that_fails_is_tried_again_for_that_pod_alone() -> None:
    at = Scenario().nodes(1, cpu=4)
    come(at, 4, least=4)
    binds = at.plan()
    at.confirm(binds[1:])
    at.tell(BindFailed(binds[0].uid, "transient", "no")).wait(60)
    assert [bind.uid for bind in at.plan()] == [binds[0].uid]


def test_a_new_core_completes_a_gang_of_which_some_are_bound() -> None:
    at = Scenario().nodes(1, cpu=4)
    at.tell(*(PodSeen(member(f"w-{number}", least=4, node="node-0")) for number in range(2)))
    come(at, 2, "rest", least=4)
    assert len(at.plan()) == 2


def test_two_gangs_that_each_need_most_of_the_cluster_go_one_after_the_other() -> None:
    at = Scenario().nodes(4, cpu=2)
    come(at, 6, "a", least=6, application="a")
    come(at, 6, "b", least=6, application="b")
    first = at.plan()
    assert len({bind.application for bind in first}) == 1
    assert len(first) == 6
    at.gone(*(bind.uid for bind in first))
    second = at.plan()
    assert len(second) == 6
    assert second[0].application != first[0].application


def test_a_gang_that_does_not_fit_costs_nothing_until_a_node_has_got_room() -> None:
    at = Scenario().nodes(2, cpu=4)
    come(at, 9, least=9)
    at.plan()
    nodes = at.core.state.nodes
    before = (nodes.improved.end, nodes.clock)
    at.plan()
    assert (nodes.improved.end, nodes.clock) == before


@pytest.mark.parametrize("scoring", ["Pack", "Spread"])
def test_the_nodes_of_a_gang_are_those_that_its_pods_would_get_one_by_one(scoring: str) -> None:
    def nodes_for(least: int) -> Any:
        at = Scenario().scheduler(scoring=scoring).nodes(3, cpu=4)
        come(at, 7, least=least)
        return by_node([effect for effect in at.core.plan(0.0) if isinstance(effect, Bind)])

    assert nodes_for(7) == nodes_for(1)


def test_preemption_does_not_place_a_part_of_a_gang() -> None:
    at = Scenario().scheduler(fair=FairSettings(preemption=True))
    at.nodes(1, cpu=4).queue("root.a").queue("root.b", minimum=limits(cpu=4), min_share_timeout=1.0)
    at.pods(4, "old", "root.a", "old")
    at.confirm(at.plan())
    come(at, 4, least=4, queue="root.b")
    for _ in range(10):
        assert at.wait(5).plan() == []


def test_a_user_below_the_limit_of_a_queue_starts_a_gang_that_is_larger_than_what_is_left() -> None:
    at = Cluster().capacity()
    at.nodes(2, cpu=4)
    at.share("root.a", "50%", user_limit_factor=1.0).share("root.b", "50%")
    come(at, 6, least=6, queue="root.a")
    assert len(at.plan()) == 6
    at.pod("more", "root.a", "other")
    assert at.plan() == []
    assert at.why("more")[0] == "UserLimit"


def test_a_gang_that_has_begun_goes_on_with_the_pods_that_there_are() -> None:
    """Others may have done their work: they do not come again."""
    at = Scenario().nodes(1, cpu=8)
    come(at, 4, least=4)
    at.confirm(at.plan())
    at.gone("w-0", "w-1", "w-2")
    come(at, 1, "again", least=4)
    assert len(at.plan()) == 1


def test_a_gang_whose_other_pods_are_made_after_its_first_is_told_that_it_cannot_start() -> None:
    at = Scenario().nodes(2)
    at.tell(PodSeen(member("lead-0", least=4, leads=True)), PodSeen(member("lead-1", least=4, leads=True)))
    at.plan()
    reason, words = at.why("lead-0")
    assert reason == "GangIncomplete"
    assert "2 wait, the others are not there yet. It cannot start as it is: JobSet makes the other pods of a job" in words
    at.wait(10).plan()
    assert [one.uid for one in at.reports] == ["lead-0", "lead-1"], "their owners are told"
    assert all("exclusive-topology" in one.message for one in at.reports)


def test_a_gang_of_first_pods_alone_starts_and_the_others_follow() -> None:
    at = Scenario().nodes(2)
    at.tell(*(PodSeen(member(f"lead-{number}", least=2, leads=True)) for number in range(2)))
    assert len(at.plan()) == 2


def test_one_that_no_node_could_ever_have_does_not_keep_back_as_many_as_the_gang_starts_with() -> None:
    at = Scenario().nodes(2, cpu=4)
    at.tell(PodSeen(member("big", least=3, cpu=9)))
    come(at, 3, least=3)
    assert {bind.uid for bind in at.plan()} == {"w-0", "w-1", "w-2"}
    at.wait(4).plan()
    assert at.why("big")[0] == "Unschedulable"
    assert "2 Insufficient cpu" in at.why("big")[1]


def test_where_the_minimum_needs_one_that_no_node_could_have_nothing_starts() -> None:
    at = Scenario().nodes(2, cpu=4)
    at.tell(PodSeen(member("big", least=4, cpu=9)))
    come(at, 3, least=4)
    assert at.plan() == []
    assert "Insufficient cpu" in at.why("big")[1]
    at.node("huge", cpu=9)
    assert {bind.uid for bind in at.plan()} == {"big", "w-0", "w-1", "w-2"}


def test_one_that_a_node_could_have_were_it_empty_starts_with_the_others() -> None:
    at = Scenario().nodes(1, cpu=4).pod("other", application="other", cpu=2)
    at.plan()
    at.tell(PodSeen(member("big", least=2, cpu=4)))
    come(at, 2, least=2)
    assert at.plan() == [], "the first two of it need more room than there is"


def test_what_no_node_could_have_counts_against_no_maximum() -> None:
    at = Scenario().nodes(1, cpu=4).queue("root.a", maximum=limits(cpu=4))
    at.tell(PodSeen(member("big", least=2, cpu=9, queue="root.a")))
    come(at, 2, least=2, queue="root.a")
    assert len(at.plan()) == 2


def test_a_gang_starts_when_the_node_goes_that_one_of_it_waited_for() -> None:
    at = Scenario().node("huge", cpu=8).nodes(1, cpu=2).pod("other", application="other", cpu=6)
    at.plan()
    at.tell(PodSeen(member("big", least=3, cpu=8)))
    come(at, 3, least=3)
    assert at.plan() == [], "it is to start with the big one"
    at.gone("other").tell(NodeGone("huge"))
    assert at.plan() == [], "there is room for two"
    at.node("small", cpu=1)
    at.wait(INTERVAL)
    assert {bind.uid for bind in at.plan()} == {"w-0", "w-1", "w-2"}


def test_a_gang_that_is_not_woken_by_what_takes_from_a_node_is_looked_at_again() -> None:
    at = Scenario().node("huge", cpu=8).nodes(3, cpu=1).pod("other", application="other", cpu=2, node="huge")
    at.tell(PodSeen(member("big", least=3, cpu=8)))
    come(at, 3, least=3)
    assert at.plan() == at.plan() == []
    at.tell(NodeSeen(a_node("huge", cpu=2)))
    assert at.plan() == []
    assert len(at.wait(INTERVAL).plan()) == 3
    assert at.core.state.gangs.spare == {}


def test_nodes_are_kept_for_those_that_a_node_could_have() -> None:
    at = Scenario().nodes(2, cpu=4).pods(8, "other", application="other")
    at.plan()
    at.tell(PodSeen(member("big", least=2, cpu=9)))
    come(at, 2, least=2, cpu=4)
    for _ in range(6):
        at.wait(4).plan()
    assert [hold.shape.cpu for hold in at.core.state.preemption.holds] == [4000, 4000]


def test_what_others_hold_of_a_node_for_good_it_could_not_have() -> None:
    at = Scenario().node("n", cpu=8)
    at.tell(PodSeen(a_pod("proxy", application="kube", cpu=1, scheduler="default-scheduler", node="n")))
    at.tell(PodSeen(member("big", least=3, cpu=8)))
    come(at, 3, least=3)
    assert {bind.uid for bind in at.plan()} == {"w-0", "w-1", "w-2"}


def test_a_gang_of_several_kinds_waits_without_any_node() -> None:
    at = Scenario()
    at.tell(PodSeen(member("big", least=2, cpu=8)))
    come(at, 2, least=2)
    assert at.plan() == []
    at.nodes(1, cpu=2)
    assert {bind.uid for bind in at.plan()} == {"w-0", "w-1"}


def test_one_that_a_node_could_not_have_by_its_description_keeps_nobody_back_either() -> None:
    at = Scenario().nodes(2, cpu=4)
    at.tell(PodSeen(member("odd", least=2, constraints=Constraints(selector=(("disk", "ssd"),)))))
    come(at, 2, least=2)
    assert {bind.uid for bind in at.plan()} == {"w-0", "w-1"}
    assert set(at.node("ssd", labels={"disk": "ssd"}).plan()[0][:1]) == {"odd"}


def test_who_waits_beside_one_that_no_node_could_have_is_told_of_its_own_kind_and_that_one_that_it_is_left_out() -> None:
    at = Scenario().nodes(1, cpu=1)
    at.tell(PodSeen(member("big", least=2, cpu=9)))
    come(at, 2, least=2)
    assert at.plan() == []
    words = 'gang "workers" starts with 2 pods: 0 are placed, and of the 2 others at most 1 fit now'
    assert at.why("w-0") == ("Unschedulable", words)
    assert at.why("big")[1].startswith("0/1 nodes are available: 1 Insufficient cpu")
    assert at.why("big")[1].endswith('; no node could have it, so its gang "workers" starts without it')
