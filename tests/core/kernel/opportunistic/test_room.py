"""Opportunistic pods get what nobody requests, and give it back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from core.builders import GIB, Scenario, a_node, a_pod, amounts
from core.kernel.opportunistic.idle_pods import bound, evicted, idle, seen
from core.kernel.opportunistic.idle_pods import on_node as _on
from treadle.core import Core
from treadle.core.effects import Bind, Evict, RecordEvent, ReportWaiting
from treadle.core.events import BindFailed, EvictFailed, NodeSeen, PodGone, PodSeen, QueueSeen, SchedulerSeen
from treadle.core.kernel.tidy import close_up
from treadle.core.model import Constraints, HostPort, Limit, QueueSpec, SchedulerSpec
from treadle.core.model.devices import ContainerAsk, PodClaims
from treadle.core.model.opportunistic import NEWEST, NodePolicy, OpportunisticSettings
from treadle.core.units.resources import UNBOUNDED


def test_an_opportunistic_pod_gets_what_nobody_requests() -> None:
    scenario = Scenario().nodes(1, cpu=4).pod("g", cpu=3)
    seen(scenario, idle("o1", cpu=1), idle("o2", cpu=1))
    assert set(bound(scenario)) == {"g", "o1"}


def test_two_opportunistic_pods_are_not_given_the_same_room() -> None:
    scenario = seen(Scenario().nodes(2, cpu=2), *(idle(f"o{at}", cpu=2) for at in range(3)))
    placed = bound(scenario)
    assert sorted(placed.values()) == ["node-0", "node-1"]
    assert bound(scenario.wait(5)) == {}
    scenario.gone(next(iter(placed)))
    assert len(bound(scenario.wait(5))) == 1


def test_guaranteed_pods_come_first_in_a_pass() -> None:
    scenario = seen(Scenario().nodes(1, cpu=2), idle("o", cpu=2)).pod("g", cpu=2)
    assert bound(scenario) == {"g": "node-0"}


def test_an_opportunistic_pod_counts_in_no_queue() -> None:
    scenario = seen(Scenario().nodes(1), idle("o", "root.a"))
    bound(scenario)
    tree = scenario.core.state.tree
    assert not any(tree.root.usage)
    assert scenario.core.state.opportunistic.by_application == {"ns/batch": [GIB, 1000]}


def test_a_guaranteed_pod_takes_the_room_and_one_goes() -> None:
    scenario = seen(Scenario().nodes(1, cpu=4), idle("o1", cpu=2), idle("o2", cpu=2))
    assert len(bound(scenario)) == 2
    scenario.pod("g", cpu=2)
    assert bound(scenario.wait(1)) == {"g": "node-0"}
    (gone,) = evicted(scenario)
    why = next(effect.why for effect in scenario.effects if isinstance(effect, Evict))
    assert why == "opportunistic: guaranteed pods request what it was given on node node-0"
    scenario.plan()
    assert evicted(scenario) == []  # it is asked once
    scenario.gone(gone).plan()
    assert evicted(scenario) == []


def test_the_newest_go_first_where_that_is_asked_for() -> None:
    scenario = Scenario().scheduler(opportunistic=OpportunisticSettings(order=NEWEST)).nodes(1, cpu=4)
    bound(seen(scenario, idle("old", cpu=2)))
    bound(seen(scenario.wait(5), idle("young", cpu=2)))
    scenario.wait(5).pod("g", cpu=1).plan()
    assert evicted(scenario) == ["young"]


def test_one_that_stays_is_asked_again_after_a_while() -> None:
    scenario = seen(Scenario().nodes(1, cpu=2), idle("o", cpu=2))
    bound(scenario)
    scenario.pod("g", cpu=2).plan()
    assert evicted(scenario) == ["o"]
    scenario.tell(EvictFailed("o", "no")).wait(30).plan()
    assert evicted(scenario) == []
    scenario.wait(31).plan()
    assert evicted(scenario) == ["o"]


def test_one_whose_bind_is_under_way_is_asked_when_it_is_there() -> None:
    scenario = seen(Scenario().nodes(1, cpu=2), idle("o", cpu=2))
    scenario.plan()
    scenario.pod("g", cpu=2).plan()
    assert evicted(scenario) == []
    scenario.tell(PodSeen(_on(idle("o", cpu=2), "node-0"))).plan()
    assert evicted(scenario) == ["o"]


def test_room_is_shared_by_weights() -> None:
    scenario = Scenario().queue("root.a", weight=3.0).queue("root.b", weight=1.0).nodes(1, cpu=8)
    for queue in ("a", "b"):
        seen(scenario, *(idle(f"{queue}{at}", f"root.{queue}", queue) for at in range(8)))
    placed = bound(scenario)
    assert sorted(uid[0] for uid in placed) == ["a"] * 6 + ["b"] * 2


def test_nobody_is_held_to_its_share_where_no_other_wants_it() -> None:
    scenario = Scenario().queue("root.a", weight=1.0).queue("root.b", weight=9.0).nodes(1, cpu=8)
    seen(scenario, *(idle(f"a{at}", "root.a", "a") for at in range(8)))
    assert len(bound(scenario)) == 8


def test_the_queue_furthest_over_its_share_gives_back_first() -> None:
    scenario = Scenario().queue("root.a", weight=1.0).queue("root.b", weight=1.0).nodes(1, cpu=8)
    seen(scenario, *(idle(f"a{at}", "root.a", "a") for at in range(6)), *(idle(f"b{at}", "root.b", "b") for at in range(2)))
    assert len(bound(scenario)) == 8
    scenario.wait(9).pod("g", "root.a", cpu=2).plan()
    assert [uid[0] for uid in evicted(scenario)] == ["a", "a"]


def test_a_pod_that_waits_is_told_that_no_room_is_idle() -> None:
    scenario = seen(Scenario().nodes(1, cpu=2).pod("g", cpu=1), idle("o", cpu=2))
    scenario.plan()
    scenario.wait(scenario.core.state.settings.report_after).plan()
    (report,) = [effect for effect in scenario.effects if isinstance(effect, ReportWaiting)]
    assert report.reason == "NoIdleRoom"
    assert report.message == (
        "opportunistic pods get what no pod requests: no node has cpu=2, memory=1Gi idle for it now; "
        "1/1 nodes admit it by their rules, the most that one of them has idle is memory=15Gi, cpu=1"
    )
    found = scenario.core.explain("o")
    assert found is not None
    assert (found.reason, found.message) == (report.reason, report.message)
    scenario.wait(100).plan()
    assert scenario.reports == []


def test_room_by_usage_is_not_guessed() -> None:
    scenario = Scenario().scheduler(opportunistic=OpportunisticSettings(source="Metrics")).nodes(1)
    seen(scenario, idle("o"))
    assert scenario.plan() == []
    found = scenario.core.explain("o")
    assert found is not None
    assert found.reason == "UsageUnknown"


def test_a_failed_bind_gives_the_room_back() -> None:
    scenario = seen(Scenario().nodes(1, cpu=2), idle("o", cpu=2))
    scenario.plan()
    scenario.tell(BindFailed("o", "transient", "no"))
    assert scenario.core.state.opportunistic.of == {}
    assert [bind.uid for bind in scenario.wait(60).plan()] == ["o"]


def test_a_new_core_knows_what_was_given() -> None:
    scenario = seen(Scenario().nodes(2, cpu=2), *(idle(f"o{at}", cpu=1) for at in range(3)))
    bound(scenario)
    seen(scenario, idle("late", cpu=1)).plan()
    fresh = scenario.core.fresh()
    for event in scenario.core.facts():
        fresh.handle(event, scenario.now)
    before, after = scenario.core.state.opportunistic, fresh.state.opportunistic
    assert after.by_application == before.by_application
    assert {fresh.state.nodes.names[row]: given for row, given in after.on_row.items()} == {
        scenario.core.state.nodes.names[row]: given for row, given in before.on_row.items()
    }
    assert not [effect for effect in fresh.plan(scenario.now) if isinstance(effect, Bind) and effect.uid != "late"]


def test_what_was_given_follows_its_node_to_another_row() -> None:
    scenario = Scenario().node("gone").node("kept", cpu=2).without_node("gone")
    bound(seen(scenario, idle("o", cpu=2)))
    close_up(scenario.core.state)
    scenario.core.check()
    assert bound(seen(scenario.wait(2), idle("p", cpu=1))) == {}


def test_host_ports_and_selectors_hold() -> None:
    scenario = Scenario().node("a", labels={"zone": "a"}).node("b", labels={"zone": "b"})
    seen(scenario, idle("o", constraints=Constraints(selector=(("zone", "b"),))))
    assert bound(scenario) == {"o": "b"}


def test_a_budget_cuts_the_second_pass_and_the_next_goes_on() -> None:
    scenario = seen(Scenario().nodes(1, cpu=8), *(idle(f"o{at}") for at in range(5)))
    assert [len(scenario.plan(2)) for _ in range(3)] == [2, 2, 1]


def test_a_pod_that_requests_something_is_guaranteed_and_told_so() -> None:
    scenario = Scenario().nodes(1, cpu=2)
    seen(scenario, *(a_pod(f"p{at}", cpu=1, memory=0, opportunistic=(("cpu", 1000), ("memory", 0))) for at in range(3)))
    assert len(bound(scenario)) == 2
    (event,) = [effect for effect in scenario.effects if isinstance(effect, RecordEvent)]
    assert event.reason == "ExecutionTypeIgnored"
    assert event.note == (
        "Pods of application ns/app say that they are opportunistic, but a node keeps for them what they request: cpu=1. So they are counted as guaranteed pods, "
        "in their queue and on the node. An opportunistic pod requests cpu 0 and memory 0 and nothing else"
    )
    assert scenario.used("root.default") == 2
    assert scenario.core.state.opportunistic.of == {}
    scenario.plan()
    assert not [effect for effect in scenario.effects if isinstance(effect, RecordEvent)]


@pytest.mark.parametrize("extra", [{"resources": {"gpu": 1}}, {"constraints": Constraints(claims=PodClaims("ns"))}])
def test_devices_are_not_given_to_who_gives_way(extra: dict[str, Any]) -> None:
    scenario = Scenario().nodes(1, resources={"gpu": 1})
    seen(scenario, a_pod("p", cpu=0, memory=0, opportunistic=(("cpu", 1000), ("memory", 0)), **extra)).plan()
    assert scenario.core.state.opportunistic.waiting == {}
    (event,) = [
        effect for effect in scenario.effects if isinstance(effect, RecordEvent) and effect.reason == "ExecutionTypeIgnored"
    ]
    assert "gpu=1" in event.note or "devices" in event.note


def test_one_whose_requests_are_raised_in_place_becomes_guaranteed_where_it_is() -> None:
    scenario = seen(Scenario().nodes(1, cpu=4), idle("o", cpu=2))
    bound(scenario)
    raised = replace(idle("o", cpu=2), node="node-0", demand=amounts(2, 1))
    seen(scenario, raised)
    assert scenario.used("root.default") == 2
    assert scenario.core.state.opportunistic.of == {}
    scenario.wait(5).pod("g", cpu=3).plan()
    assert evicted(scenario) == []
    seen(scenario, _on(idle("o", cpu=2), "node-0"))
    assert scenario.used("root.default") == 0
    assert scenario.core.state.opportunistic.on_row == {0: [GIB, 2000]}


def test_pods_that_will_use_nothing_are_counted_without_harm() -> None:
    scenario = Scenario().nodes(1)
    for name in "ab":
        seen(scenario, idle(name, cpu=0, memory=0))
    assert len(bound(scenario)) == 2
    scenario.gone("a").gone("b")
    assert scenario.core.state.opportunistic.of == {}


def test_opportunistic_pods_of_a_node_have_at_most_the_part_that_is_allowed() -> None:
    half = OpportunisticSettings(policy=NodePolicy(most=500))
    scenario = seen(Scenario().scheduler(opportunistic=half).nodes(1, cpu=4), *(idle(f"o{at}") for at in range(4)))
    assert len(bound(scenario)) == 2
    assert bound(scenario.wait(5)) == {}


def test_absurd_amounts_of_pods_that_others_bound_stop_nobody() -> None:
    scenario = Scenario().nodes(2, cpu=4)
    huge = (("cpu", UNBOUNDED), ("memory", UNBOUNDED))
    seen(scenario, *(replace(idle(f"h{at}"), opportunistic=huge, node="node-0") for at in range(3)))
    seen(scenario, replace(idle("waits"), opportunistic=huge), idle("o"))
    assert bound(scenario) == {"o": "node-1"}


def test_figures_say_what_waits_runs_and_was_removed() -> None:
    scenario = seen(Scenario().nodes(1, cpu=4), *(idle(f"o{at}", cpu=2) for at in range(3)))
    bound(scenario)
    figures = scenario.core.view.opportunistic()
    assert (figures.waiting, figures.running, figures.leaving) == (1, 2, 0)
    assert figures.given == {"memory": 2 * GIB, "cpu": 4000}
    application = scenario.core.view.application("ns/batch")
    assert application is not None
    assert application.waiting_pods == 1
    assert application.waiting is not None
    assert application.waiting[0] == "NoIdleRoom"
    scenario.pod("g", cpu=2).plan()
    figures = scenario.core.view.opportunistic()
    assert (figures.leaving, figures.removed) == (1, {"Requests": 1, "Usage": 0, "Pressure": 0})


def test_the_end_of_an_opportunistic_pod_changes_no_node_of_a_guaranteed_one() -> None:
    nodes = []
    for with_idle in (True, False):
        scenario = Scenario().pods(3, "g", cpu=1)
        if with_idle:
            seen(scenario, idle("o"))
        bound(scenario.node("n0", cpu=4))
        scenario.pod("late", cpu=1)
        if with_idle:
            scenario.gone("o")
        nodes.append(bound(scenario.node("n1", cpu=2)))
    assert nodes[0] == nodes[1]


def test_a_guaranteed_gang_that_lacks_slots_where_some_are_left_starts_when_opportunistic_pods_have_ended() -> None:
    scenario = seen(Scenario().node("n", cpu=8, pods=6), *(idle(f"o{at}") for at in range(4)))
    assert len(bound(scenario)) == 4
    for at in range(4):
        scenario.pod(f"g{at}", gang="crew", gang_minimums=(("crew", 4),))
    assert bound(scenario) == {}
    assert bound(scenario.gone("o0").wait(1)) == {}
    assert len(bound(scenario.gone("o1").wait(1))) == 4


def test_a_guaranteed_pod_that_lacks_a_slot_is_placed_when_an_opportunistic_one_has_ended() -> None:
    scenario = seen(Scenario().node("n", cpu=8, pods=1), idle("o"))
    bound(scenario)
    assert bound(scenario.pod("g")) == {}
    assert bound(scenario.gone("o").wait(1)) == {"g": "n"}


def test_a_guaranteed_pod_that_lacks_a_host_port_is_placed_when_an_opportunistic_one_has_ended() -> None:
    port = Constraints(host_ports=(HostPort("0.0.0.0", "TCP", 80),))
    scenario = seen(Scenario().node("n", cpu=8), idle("o", constraints=port))
    bound(scenario)
    assert bound(scenario.pod("g", constraints=port)) == {}
    assert bound(scenario.gone("o").wait(1)) == {"g": "n"}


sizes = st.sampled_from([1, 1, 1, 2, 3, 4])
gangs = st.integers(1, 3)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("guaranteed"), st.sampled_from("ab"), sizes),
        st.tuples(st.just("gang"), st.sampled_from("ab"), gangs),
        st.tuples(st.just("idle"), st.sampled_from("ab"), sizes),
        st.tuples(st.just("gone"), st.integers(0, 20), sizes),
        st.tuples(st.just("idle gone"), st.integers(0, 20), sizes),
        st.tuples(st.just("node"), st.integers(0, 4), sizes),
        st.tuples(st.just("plan"), st.integers(0, 3), sizes),
    ),
    min_size=10,
    max_size=40,
)
begun = [("guaranteed", "a", 1), ("guaranteed", "a", 1), ("guaranteed", "a", 1), ("idle", "a", 1), ("node", 0, 3), ("plan", 0, 1)]
"""A node on which both are, and an order of nodes that was made for the guaranteed ones before they were there."""


@settings(max_examples=300, deadline=None)
@given(steps=steps, policy=st.sampled_from(["fair", "drf"]), scoring=st.sampled_from(["Pack", "Spread"]))
def test_guaranteed_decisions_are_the_same_with_and_without_opportunistic_pods(
    steps: list[Any], policy: str, scoring: str
) -> None:
    """Two cores, of which one has opportunistic pods that come, go and are removed; their slots are plenty. That none is kept out for want of these is the state machine's."""
    cores = Core(validate=True), Core(validate=True)
    now = 0.0
    known: list[tuple[str, bool]] = []

    def tell(event: Any, *, both: bool = True) -> None:
        for core in cores if both else cores[:1]:
            core.handle(event, now)

    def end(uid: str, *, both: bool) -> None:
        tell(PodGone(uid), both=both)
        known.remove((uid, both))

    tell(SchedulerSeen(SchedulerSpec(scoring=scoring)))
    for queue in "ab":
        tell(QueueSeen(QueueSpec(f"root.{queue}", weight=1.0 if queue == "a" else 2.0, policy=policy)))
    for number, (what, which, size) in enumerate((*begun, *steps, ("plan", 0, 1))):
        if what == "guaranteed":
            known.append((f"g{number}", True))
            tell(PodSeen(a_pod(f"g{number}", f"root.{which}", f"{which}-app", size)))
        elif what == "idle":
            known.append((f"o{number}", False))
            tell(PodSeen(idle(f"o{number}", f"root.{which}", f"{which}-idle", size)), both=False)
        elif what == "gang":
            for member in range(size):
                known.append((f"g{number}-{member}", True))
                gang = {"gang": f"c{number}", "gang_minimums": ((f"c{number}", size),)}
                tell(PodSeen(a_pod(f"g{number}-{member}", f"root.{which}", f"{which}-app", **gang)))
        elif what in {"gone", "idle gone"}:
            there = [(uid, both) for uid, both in known if both == (what == "gone")]
            if there:
                uid, both = there[which % len(there)]
                end(uid, both=both)
        elif what == "node":
            tell(NodeSeen(a_node(f"n{which}", cpu=2 * size)))
        elif what == "plan":
            now += which
            plans = [core.plan(now) for core in cores]
            binds = [[(one.uid, one.node) for one in plan if isinstance(one, Bind) and one.uid[0] == "g"] for plan in plans]
            assert binds[0] == binds[1]
            state = cores[0].state
            for one in plans[0]:
                if isinstance(one, Bind) and one.uid[0] == "o":  # given where there was room when it was decided
                    row = state.nodes.row[one.node]
                    assert all(a <= b for a, b in zip(state.opportunistic.on_row[row], state.nodes.free[row], strict=False))
            for one in plans[0]:
                if isinstance(one, Bind):
                    tell(PodSeen(_on(state.pods[one.uid].spec, one.node, one.queue)), both=one.uid[0] == "g")
            for one in plans[0]:
                if isinstance(one, Evict) and one.uid[0] == "o":
                    end(one.uid, both=False)


def test_a_queue_gives_its_opportunistic_pods_no_more_than_its_limit_in_sum() -> None:
    scenario = (
        Scenario().nodes(2, cpu=8).queue("root.a", max_opportunistic={"cpu": Limit(3000)}).queue("root.a.x").queue("root.a.y")
    )
    seen(scenario, *(idle(f"x{at}", "root.a.x", "x") for at in range(3)), *(idle(f"y{at}", "root.a.y", "y") for at in range(3)))
    assert len(bound(scenario)) == 3
    assert scenario.core.view.opportunistic_of("root.a") == {"memory": 3 * GIB, "cpu": 3000}
    assert bound(scenario.wait(60)) == {}
    assert {report.reason for report in scenario.reports} == {"OpportunisticMaximum"}
    assert scenario.reports[0].message == (
        "opportunistic pods of queue root.a have cpu=3 of 3 that they may have (spec.opportunistic.limits)"
    )
    scenario.queue("root.a", max_opportunistic={"cpu": Limit(4000)})
    assert len(bound(scenario.wait(5))) == 1
    gone = next(uid for uid in scenario.core.state.opportunistic.of)
    assert len(bound(scenario.gone(gone).wait(5))) == 1


def test_a_smaller_pod_of_a_queue_goes_past_one_that_is_over_its_limit() -> None:
    scenario = Scenario().nodes(1, cpu=8).queue("root.a", max_opportunistic={"cpu": Limit(percent=25.0)})
    seen(
        scenario,
        idle("large", "root.a", "large", cpu=3),
        idle("small", "root.a", "small", cpu=2),
        idle("free", "root.b", "b", cpu=3),
    )
    scenario.queue("root.b")
    assert set(bound(scenario)) == {"small", "free"}


def test_a_lower_limit_takes_nothing_back() -> None:
    scenario = Scenario().nodes(1, cpu=8).queue("root.a")
    bound(seen(scenario, idle("o", "root.a", cpu=2)))
    scenario.queue("root.a", max_opportunistic={"cpu": Limit(0)})
    bound(scenario.wait(5))
    assert evicted(scenario) == []


def test_one_that_has_an_extended_resource_and_no_claim_is_not_told_of_claims() -> None:
    asks = (ContainerAsk(0, "c", False, (("gpu", 1, 0),)),)
    extra: dict[str, Any] = {"resources": {"gpu": 1}, "constraints": Constraints(claims=PodClaims("ns", asks=asks))}
    scenario = Scenario().nodes(1, resources={"gpu": 1})
    seen(scenario, a_pod("p", cpu=0, memory=0, opportunistic=(("cpu", 1000), ("memory", 0)), **extra)).plan()
    (note,) = [
        effect.note for effect in scenario.effects if isinstance(effect, RecordEvent) and effect.reason == "ExecutionTypeIgnored"
    ]
    assert "gpu=1. So" in note
