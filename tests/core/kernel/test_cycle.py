"""What a cycle decides: who is next, where, and what waits for what."""

from collections import Counter

import pytest

from core.builders import Scenario, a_pod, by_node, by_queue, limits, replaced
from treadle.core.events import PodSeen
from treadle.core.model import Constraints, HostPort, Requirement, Taint


def test_queues_of_equal_weight_take_turns() -> None:
    scenario = Scenario().nodes(1, cpu=10, memory=100).queue("root.a").queue("root.b")
    scenario.pods(20, "a", "root.a", "a").pods(20, "b", "root.b", "b")

    assert by_queue(scenario.plan()) == {"root.a": 5, "root.b": 5}


def test_weights_1_2_3_share_a_saturated_cluster() -> None:
    scenario = Scenario().nodes(6, cpu=10, memory=100)
    for weight in (1, 2, 3):
        scenario.queue(f"root.w{weight}", weight=float(weight)).pods(100, f"w{weight}", f"root.w{weight}", f"w{weight}")

    assert by_queue(scenario.plan()) == {"root.w1": 10, "root.w2": 20, "root.w3": 30}


def test_drf_evens_out_the_dominant_shares_of_unlike_demands() -> None:
    scenario = Scenario().nodes(1, cpu=9, memory=18).queue("root.a").queue("root.b")
    scenario.pods(20, "a", "root.a", "a", cpu=1, memory=4).pods(20, "b", "root.b", "b", cpu=3, memory=1)

    assert by_queue(scenario.plan()) == {"root.a": 3, "root.b": 2}


def test_fair_looks_at_memory_alone() -> None:
    scenario = (
        Scenario()
        .nodes(1, cpu=100, memory=12)
        .queue("root", policy="fair")
        .queue("root.a", policy="fair")
        .queue("root.b", policy="fair")
    )
    scenario.pods(20, "a", "root.a", "a", cpu=9, memory=1).pods(20, "b", "root.b", "b", cpu=1, memory=2)

    memory = {bind.queue: 0 for bind in scenario.plan()}
    assert memory.keys() == {"root.a", "root.b"}
    assert (scenario.used("root.a", "memory"), scenario.used("root.b", "memory")) == (6, 6)


def test_fifo_serves_the_earlier_application_to_its_end() -> None:
    scenario = Scenario().nodes(1, cpu=5, memory=100).queue("root.a", policy="fifo")
    scenario.pods(4, "late", "root.a", "late", created=2.0).pods(4, "early", "root.a", "early", created=1.0)

    assert Counter(bind.application for bind in scenario.plan()) == {"ns/early": 4, "ns/late": 1}


def test_under_fifo_an_applications_priority_comes_first() -> None:
    scenario = Scenario().nodes(1, cpu=2, memory=100).queue("root.a", policy="fifo").application("late", priority=5)
    scenario.pods(4, "early", "root.a", "early", created=1.0).pods(4, "late", "root.a", "late", created=2.0)

    assert {bind.application for bind in scenario.plan()} == {"ns/late"}


def test_a_queue_below_its_minimum_is_served_before_all_others() -> None:
    scenario = Scenario().nodes(1, cpu=10, memory=10).queue("root.a").queue("root.b", weight=100.0)
    scenario.queue("root.needy", weight=0.01, minimum=limits(cpu="4", memory="4Gi"))
    for name in ("a", "b", "needy"):
        scenario.pods(10, name, f"root.{name}", name)

    assert [bind.queue for bind in scenario.plan()[:4]] == ["root.needy"] * 4


def test_within_an_application_higher_pod_priority_then_the_master_goes_first() -> None:
    scenario = Scenario().nodes(1, cpu=3, memory=100).queue("root.a")
    scenario.pod("worker", "root.a").pod("driver", "root.a", role="master").pod("urgent", "root.a", priority=7).pod(
        "last", "root.a"
    )

    assert [bind.name for bind in scenario.plan()] == ["urgent", "driver", "worker"]


def test_a_budget_bounds_the_decisions_and_the_next_plan_goes_on_in_order() -> None:
    scenario = Scenario().nodes(1, cpu=10, memory=100).queue("root.a").queue("root.b")
    scenario.pods(9, "a", "root.a", "a").pods(9, "b", "root.b", "b")

    assert len(scenario.plan(3)) == 3
    assert scenario.core.state.waiting == 15
    scenario.plan(3)
    assert (scenario.used("root.a"), scenario.used("root.b")) == (3, 3)


def test_an_application_whose_pods_ended_is_served_before_those_that_still_hold_theirs() -> None:
    scenario = Scenario().nodes(1, cpu=100, memory=100).queue("root.a").queue("root.b")
    scenario.pods(9, "a", "root.a", "a").pods(9, "b", "root.b", "b")
    scenario.confirm(scenario.plan(4)).gone("a-0", "a-1")

    assert by_queue(scenario.plan(2)) == {"root.a": 2}


# ---- maximum


def test_a_maximum_in_quantities_is_never_exceeded() -> None:
    scenario = Scenario().nodes(1, cpu=10, memory=100).queue("root.a", maximum=limits(cpu="3", memory="2999999999"))
    scenario.pods(10, "a", "root.a", "a")
    assert len(scenario.plan()) == 2, "two GiB are just under, three over the maximum"

    scenario.queue("root.a", maximum=limits(cpu="3", memory="3Gi"))
    assert len(scenario.plan()) == 1, "a maximum may be reached exactly"
    scenario.queue("root.a", maximum=limits(cpu="3"))
    assert scenario.plan() == []
    assert scenario.why("a-9") == (
        "QueueMaximum",
        "queue root.a is at its maximum (maxResources): cpu 3 used of 3, 1 wanted, 1 missing",
    )


def test_a_maximum_in_percent_follows_the_cluster() -> None:
    scenario = Scenario().nodes(1, cpu=10, memory=100).queue("root.a", maximum=limits(cpu="30%"))
    scenario.pods(20, "a", "root.a", "a")
    assert len(scenario.plan()) == 3

    scenario.node("second", cpu=10, memory=100).wait(1)
    assert len(scenario.plan()) == 3


def test_an_ancestors_maximum_holds_for_all_below_it() -> None:
    scenario = (
        Scenario().nodes(1, cpu=10, memory=100).queue("root.dev", maximum=limits(cpu="4")).queue("root.dev.a").queue("root.dev.b")
    )
    scenario.pods(9, "a", "root.dev.a", "a").pods(9, "b", "root.dev.b", "b")

    assert by_queue(scenario.plan()) == {"root.dev.a": 2, "root.dev.b": 2}
    assert "root.dev is at its maximum" in scenario.why("a-8")[1]


def test_what_waits_for_a_maximum_goes_on_when_a_pod_ends() -> None:
    scenario = Scenario().nodes(1, cpu=10, memory=100).queue("root.a", maximum=limits(cpu="2")).pods(4, "a", "root.a", "a")
    binds = scenario.plan()
    scenario.confirm(binds)
    assert scenario.plan() == []

    scenario.gone(binds[0].uid)
    assert len(scenario.plan()) == 1


def test_what_waits_for_a_maximum_goes_on_when_it_is_raised() -> None:
    scenario = Scenario().nodes(1, cpu=10, memory=100).queue("root.a", maximum=limits(cpu="2")).pods(4, "a", "root.a", "a")
    assert len(scenario.plan()) == 2

    scenario.queue("root.a", maximum=limits(cpu="3"))
    assert len(scenario.plan()) == 1


def test_a_small_ask_passes_a_large_one_that_does_not_fit_its_queue() -> None:
    scenario = Scenario().nodes(1, cpu=10, memory=100).queue("root.a", maximum=limits(cpu="3"))
    scenario.pod("large", "root.a", cpu=4).pod("small", "root.a", cpu=1)

    assert [bind.name for bind in scenario.plan()] == ["small"]


# ---- nodes


def test_pack_fills_one_node_before_the_next_and_spread_evens_them_out() -> None:
    packed = Scenario().nodes(4, cpu=4, memory=16).pods(4, "p")
    assert sorted(by_node(packed.plan()).values()) == [4]

    spread = Scenario().scheduler(scoring="Spread").nodes(4, cpu=4, memory=16).pods(8, "p")
    assert sorted(by_node(spread.plan()).values()) == [2, 2, 2, 2]


def test_pack_leaves_a_node_that_others_have_left_for_the_one_that_is_fullest_now() -> None:
    scenario = Scenario().nodes(3, cpu=10, memory=100)
    scenario.pod("large", node="node-0", cpu=6).pod("middling", node="node-1", cpu=4)
    assert by_node(scenario.pods(1, "first").plan()) == {"node-0": 1}

    scenario.gone("large").pods(6, "p")

    assert by_node(scenario.plan()) == {"node-1": 6}
    assert by_node(scenario.pods(9, "q").plan()) == {"node-0": 9}


def test_spread_goes_to_the_emptiest_node_first() -> None:
    scenario = Scenario().scheduler(scoring="Spread").node("small", cpu=2, memory=8).node("large", cpu=8, memory=32).pods(6, "p")
    assert by_node(scenario.plan()) == {"large": 5, "small": 1}


def test_no_node_takes_more_than_it_has_of_anything() -> None:
    scenario = Scenario().nodes(3, cpu=4, memory=4, pods=3, resources={"nvidia.com/gpu": 2})
    scenario.pods(20, "p", cpu=1, memory=1, resources={"nvidia.com/gpu": 1})

    assert by_node(scenario.plan()) == {"node-0": 2, "node-1": 2, "node-2": 2}


def test_a_pod_that_wants_what_no_node_has_waits_with_counts_for_each_reason() -> None:
    scenario = (
        Scenario()
        .nodes(3, cpu=4)
        .node("tainted", taints=(Taint("gpu", "yes", "NoSchedule"),))
        .node("cordoned", unschedulable=True)
    )
    scenario.pod("big", cpu=5)
    scenario.plan()

    message = (
        "0/5 nodes are available: 3 Insufficient cpu, 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable."
        " Not tolerated: {gpu: yes} on 1."
    )
    assert scenario.why("big") == ("Unschedulable", message)


@pytest.mark.parametrize(
    ("what", "change"),
    [
        ("a node comes", lambda s: s.node("new", cpu=8)),
        ("a node grows", lambda s: s.node("node-0", cpu=8)),
        ("a foreign pod ends", lambda s: s.gone("foreign")),
    ],
)
def test_what_waits_for_a_node_goes_on_when(what: str, change: object) -> None:
    scenario = (
        Scenario()
        .nodes(1, cpu=4)
        .pod("foreign", scheduler="default-scheduler", node="node-0", cpu=3, application="x")
        .pod("mine", cpu=4)
    )
    assert scenario.plan() == []

    change(scenario)  # type: ignore[operator]
    assert [bind.name for bind in scenario.plan()] == ["mine"], what


def test_what_waits_for_a_node_goes_on_when_the_node_is_uncordoned_or_its_taint_removed_or_its_label_set() -> None:
    wanted = Constraints(selector=(("disk", "ssd"),))
    scenario = Scenario().node("n", unschedulable=True, taints=(Taint("a", "b", "NoExecute"),)).pod("mine", constraints=wanted)
    assert scenario.plan() == []
    scenario.node("n", taints=(Taint("a", "b", "NoExecute"),))
    assert scenario.plan() == []
    scenario.node("n")
    assert scenario.plan() == []
    scenario.node("n", labels={"disk": "ssd"})
    assert len(scenario.plan()) == 1


def test_a_node_that_goes_or_is_cordoned_takes_no_more() -> None:
    scenario = Scenario().nodes(2, cpu=4).pods(1, "first")
    scenario.plan()
    scenario.without_node("node-0").node("node-1", unschedulable=True).pods(3, "more")

    assert scenario.plan() == []


def test_two_pods_with_one_host_port_go_to_two_nodes_and_the_third_waits() -> None:
    port = Constraints(host_ports=(HostPort("0.0.0.0", "TCP", 8080),))
    scenario = Scenario().nodes(2).pods(3, "p", constraints=port)

    assert sorted(by_node(scenario.plan()).values()) == [1, 1]
    assert "free ports" in scenario.why("p-2")[1]
    scenario.gone("p-0")
    assert len(scenario.plan()) == 1


def test_required_affinity_to_a_node_by_name_is_kept() -> None:
    only = Constraints(affinity=((Requirement("metadata.name", "In", ("node-2",), field=True),),))
    assert by_node(Scenario().nodes(4).pods(3, "p", constraints=only).plan()) == {"node-2": 3}


def test_a_pod_bound_by_somebody_to_a_node_that_is_not_known_yet_counts_when_the_node_comes() -> None:
    scenario = Scenario().pod("foreign", scheduler="default-scheduler", node="later", cpu=3, application="x").pods(4, "p")
    scenario.node("later", cpu=4)

    assert len(scenario.plan()) == 1


def test_a_hard_constraint_that_is_not_built_is_refused_with_its_name() -> None:
    scenario = Scenario().nodes(1).pod("p", constraints=Constraints(unsupported=("spec.resourceClaims",)))

    assert scenario.plan() == []
    reason, message = scenario.why("p")
    assert reason == "UnsupportedConstraint"
    assert "spec.resourceClaims" in message


def test_gated_and_terminating_pods_are_left_alone_until_the_gate_is_lifted() -> None:
    scenario = Scenario().nodes(1).pod("gated", gated=True).pod("leaving", deleting=True)
    assert scenario.plan() == []
    assert scenario.why("gated")[0] == "SchedulingGated"

    scenario.tell(PodSeen(replaced(a_pod("gated"), gated=False)))
    assert [bind.name for bind in scenario.plan()] == ["gated"]


def test_a_gated_pod_is_no_demand_of_its_queue_and_waits_for_nobody() -> None:
    scenario = Scenario().nodes(1, cpu=2).queue("root.a").pod("gated", "root.a", gated=True, cpu=2)
    assert scenario.plan() == []
    scenario.core.refresh_shares()
    state = scenario.core.state
    assert state.pods.waiting == 0
    assert not any(state.tree.queues["root.a"].demand)
    assert not state.applications

    scenario.wait(60).plan()
    assert not scenario.reports, "the API server says itself that a pod is gated"

    scenario.pod("other", "root.a", application="other", cpu=2)
    assert [bind.name for bind in scenario.plan()] == ["other"], "and it holds no room"
    scenario.tell(PodSeen(replaced(a_pod("gated", "root.a", cpu=2), gated=False)))
    scenario.plan()
    assert scenario.why("gated")[0] == "Unschedulable"
    scenario.gone("other")
    assert [bind.name for bind in scenario.plan()] == ["gated"]


def test_a_gated_member_is_not_one_of_those_that_start_together() -> None:
    scenario = Scenario().nodes(1)
    members = [a_pod(f"w-{number}", gang="w", gang_minimums=(("w", 2),), gated=number == 1) for number in range(2)]
    scenario.tell(*map(PodSeen, members))
    assert scenario.plan() == []
    assert scenario.why("w-0")[0] == "GangIncomplete"
    scenario.tell(PodSeen(replaced(members[1], gated=False)))
    assert len(scenario.plan()) == 2


def test_a_pod_that_waits_for_a_feature_goes_when_a_kubelet_declares_it() -> None:
    scenario = Scenario().nodes(1).pod("p", constraints=Constraints(features=("Users",)))
    assert scenario.plan() == []
    assert scenario.why("p")[1] == "0/1 nodes are available: 1 node(s) didn't match Pod's required features."
    scenario.nodes(1, features=("Users",))
    assert [bind.node for bind in scenario.plan()] == ["node-0"]


def test_pods_of_other_schedulers_are_not_ours_and_an_alias_makes_them_so() -> None:
    scenario = Scenario().nodes(1).pod("theirs", scheduler="yunikorn")
    assert scenario.plan() == []

    scenario.scheduler(aliases=("yunikorn",)).pod("theirs", scheduler="yunikorn")
    assert [bind.name for bind in scenario.plan()] == ["theirs"]


def test_a_queue_is_served_by_what_it_holds_after_an_end_in_an_application_that_waits_for_a_node() -> None:
    scenario = Scenario().nodes(1, cpu=12, memory=64).queue("root.a").queue("root.b")
    scenario.pods(5, "big", "root.a", "big").pods(3, "b", "root.b", "b")
    scenario.confirm(scenario.plan())
    scenario.pod("huge", "root.a", "big", cpu=9).plan()
    scenario.pods(4, "small", "root.a", "small").pods(4, "more", "root.b", "b")
    assert by_queue(scenario.plan(1)) == {"root.b": 1}
    scenario.gone("big-0", "big-1", "big-2")
    assert by_queue(scenario.plan(1)) == {"root.a": 1}
