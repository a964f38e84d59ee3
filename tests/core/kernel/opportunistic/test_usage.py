"""Where room goes by usage: what samples tell, how long they are worth anything, and who goes when a node is used too much."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from core.builders import GIB, Scenario, a_node, a_pod, amounts
from treadle.core import Core
from treadle.core.effects import Bind, Evict
from treadle.core.events import NodeGone, NodeSampled, NodeSeen, PodGone, PodSeen, RemovedLately, SchedulerSeen, UsageKnown
from treadle.core.kernel.opportunistic.backing_off import LONGEST
from treadle.core.kernel.opportunistic.room import idle_room
from treadle.core.kernel.tidy import close_up
from treadle.core.model import Limit, PodSpec, SchedulerSpec
from treadle.core.model.opportunistic import (
    LAST_SAMPLE,
    METRICS,
    NEWEST,
    PART,
    PERCENTILE,
    PROMETHEUS,
    SIGMA,
    NodePolicy,
    NodeWord,
    OpportunisticSettings,
    PredictionSettings,
    Removal,
    Threshold,
)

HALF_AND_80 = NodePolicy((("cpu", Threshold(500, 800, borne=1)), ("memory", Threshold(500, 800))))


def by_usage(policy: NodePolicy = HALF_AND_80, **fields: Any) -> OpportunisticSettings:
    return OpportunisticSettings(source=METRICS, policy=policy, **fields)


def scene(nodes: int = 1, cpu: int = 10, memory: int = 10, **fields: Any) -> Scenario:
    """Nodes of which each may be used by half, and has to be freed at 80%; time 1000, so that nothing that is there is new."""
    found = Scenario().wait(1000)
    return found.scheduler(opportunistic=by_usage(**fields)).nodes(nodes, cpu=cpu, memory=memory)


def idle(name: str, cpu: int = 1, memory: int = 0, application: str = "batch", **fields: Any) -> PodSpec:
    return a_pod(name, "", application, 0, 0, opportunistic=(("cpu", cpu * 1000), ("memory", memory * GIB)), **fields)


def sample(scenario: Scenario, cpu: float = 0, memory: float = 0, node: str = "node-0", window: float = 0.0) -> Scenario:
    measured = (("cpu", int(cpu * 1000)), ("memory", int(memory * GIB)))
    return scenario.tell(NodeSampled(node, measured, scenario.now, window))


def seen(scenario: Scenario, *pods: PodSpec) -> Scenario:
    return scenario.tell(*map(PodSeen, pods))


def bound(scenario: Scenario) -> list[str]:
    binds = scenario.plan()
    for bind in binds:
        spec = scenario.core.state.pods[bind.uid].spec
        scenario.tell(PodSeen(replace(spec, node=bind.node, held_in=bind.queue)))
    return sorted(bind.uid for bind in binds)


def evicted(scenario: Scenario) -> list[str]:
    return [effect.uid for effect in scenario.effects if isinstance(effect, Evict)]


def test_a_node_that_is_requested_whole_takes_what_nobody_uses() -> None:
    scenario = scene().pod("g", cpu=10, memory=10)
    bound(scenario)
    seen(scenario, *(idle(f"o{at}") for at in range(9)))
    sample(scenario.wait(30), cpu=2, memory=1)
    assert len(bound(scenario.wait(1))) == 3  # of 10 cores half may be used, and 2 are


def test_without_a_sample_nothing_is_given() -> None:
    scenario = seen(scene(2), idle("o"))
    assert bound(scenario) == []
    assert scenario.why("o") == (
        "UsageUnknown",
        (
            "spec.opportunistic.usage.source is Metrics, and nobody tells what nodes use: no sample of a node has come yet. "
            "With Requests the room is what no pod requests"
        ),
    )
    scenario.tell(UsageKnown(known=False, trouble="the API server has no metrics.k8s.io"))
    assert "has no metrics.k8s.io" in scenario.why("o")[1]
    sample(scenario.wait(1), cpu=1, node="node-1")
    assert [bind.node for bind in scenario.plan()] == ["node-1"]


def test_an_old_sample_says_nothing_any_more() -> None:
    scenario = sample(scene(old_after=60.0), cpu=1)
    seen(scenario.wait(61), idle("o"))
    assert bound(scenario) == []
    reason, message = scenario.why("o")
    assert reason == "NoIdleRoom"
    assert message.startswith("opportunistic pods get what no pod uses: no node has cpu=1, memory=0 idle for it now; ")
    assert message.endswith("; of 1 nodes it is not known what they use, so they take none")
    sample(scenario, cpu=1)
    assert bound(scenario.wait(1)) == ["o"]


def test_that_samples_cannot_be_had_any_more_is_told_when_the_newest_is_old() -> None:
    scenario = sample(scene(2, old_after=60.0), cpu=9)
    seen(scenario, idle("o"))
    lost = UsageKnown(known=False, trouble="metrics.k8s.io does not answer")
    scenario.tell(lost)
    assert scenario.why("o")[0] == "NoIdleRoom"
    scenario.wait(61).tell(lost)
    assert scenario.why("o")[0] == "UsageUnknown"
    assert "nobody tells what nodes use: metrics.k8s.io does not answer" in scenario.why("o")[1]
    sample(scenario.tell(UsageKnown(known=True)), cpu=9)
    assert scenario.why("o")[0] == "NoIdleRoom"


def test_between_two_samples_a_node_is_not_filled_twice() -> None:
    scenario = seen(sample(scene(), cpu=1), *(idle(f"o{at}") for at in range(9)))
    assert len(bound(scenario)) == 4
    for _ in range(5):
        scenario.gone(f"none-{scenario.now}").wait(2)
        assert bound(scenario) == []
    sample(scenario, cpu=1.5)  # they use next to nothing, but the sample's window began before they were known to be there
    sample(scenario.wait(15), cpu=1.5)
    assert len(bound(scenario.wait(1))) == 3


def test_guaranteed_pods_that_were_placed_since_count_by_what_they_request() -> None:
    scenario = sample(scene(), cpu=1)
    scenario.pod("g", cpu=3, memory=0)
    seen(scenario, *(idle(f"o{at}") for at in range(9)))
    assert bound(scenario) == ["g", "o0"]


def test_pods_of_other_schedulers_that_came_since_count_as_well() -> None:
    scenario = sample(scene(), cpu=1)
    seen(scenario, a_pod("theirs", cpu=3, memory=0, scheduler="default-scheduler", node="node-0"))
    seen(scenario, *(idle(f"o{at}") for at in range(9)))
    assert bound(scenario) == ["o0"]


def test_a_pod_that_warms_up_counts_for_all_that_it_asks_for() -> None:
    scenario = seen(sample(scene(warm_up=60.0), cpu=1), *(idle(f"o{at}") for at in range(9)))
    assert len(bound(scenario)) == 4
    for _ in range(3):
        sample(scenario.wait(15), cpu=1)
        assert bound(scenario.wait(1)) == []
    sample(scenario.wait(30), cpu=1)
    assert len(bound(scenario.wait(1))) == 4


def test_pods_that_just_came_when_the_first_sample_does_are_not_in_it() -> None:
    scenario = scene()
    seen(scenario, replace(idle("o0", cpu=3), node="node-0", created=scenario.now - 5))
    seen(scenario, *(idle(f"o{at}") for at in range(1, 9)))
    sample(scenario, cpu=1, window=30.0)
    assert len(bound(scenario)) == 1


def test_a_node_above_its_threshold_of_memory_is_freed_at_once() -> None:
    scenario = sample(scene(order=NEWEST), memory=1)
    seen(scenario, *(idle(f"o{at}", cpu=0, memory=1) for at in range(4)))
    assert len(bound(scenario)) == 4
    sample(scenario.wait(15), memory=9.5).plan()
    assert len(evicted(scenario)) == 2
    why = next(effect.why for effect in scenario.effects if isinstance(effect, Evict))
    assert why == "opportunistic: node node-0 uses 9728Mi of its 10Gi memory, more than 80%"
    assert scenario.core.view.opportunistic().removed == {"Requests": 0, "Usage": 2, "Pressure": 0}
    sample(scenario.wait(15), memory=9.5).plan()
    assert evicted(scenario) == [], "those that go are enough"


def test_cpu_has_to_be_above_for_as_many_samples_as_are_borne() -> None:
    scenario = seen(sample(scene(), cpu=1), idle("o", cpu=3))
    assert bound(scenario) == ["o"]
    sample(scenario.wait(15), cpu=9).plan()
    assert evicted(scenario) == []
    scenario.wait(15).plan()
    assert evicted(scenario) == [], "a sample counts once"
    sample(scenario, cpu=9).plan()
    assert evicted(scenario) == ["o"]


def test_a_pod_is_taken_to_use_the_part_of_what_it_says_that_its_node_uses() -> None:
    scenario = sample(scene(order=NEWEST), memory=1).pod("g", cpu=0, memory=9)
    bound(scenario)
    seen(scenario, *(idle(f"o{at}", cpu=0, memory=1) for at in range(9)))
    placed = bound(sample(scenario.wait(15), memory=1))
    assert len(placed) == 4
    more = [idle(f"p{at}", cpu=0, memory=1) for at in range(4)]
    seen(scenario, *more)
    assert len(bound(sample(scenario.wait(15), memory=1))) == 4  # 9 + 8 GiB are asked for
    sample(scenario.wait(15), memory=8.5).plan()
    assert len(evicted(scenario)) == 1, "0.5 GiB too much is one pod that uses half of 1 GiB"
    sample(scenario.wait(15), memory=8.9).plan()
    assert len(evicted(scenario)) == 1, "the one that goes frees half of what it says"


def test_what_guaranteed_pods_request_is_not_taken_while_it_is_not_used() -> None:
    scenario = seen(sample(scene(), cpu=1), idle("o", cpu=4))
    assert bound(scenario) == ["o"]
    scenario.pod("g", cpu=10, memory=0)
    assert bound(scenario.wait(1)) == ["g"]
    assert evicted(scenario) == []


def test_without_thresholds_a_node_gives_what_nobody_requests_and_takes_it_back() -> None:
    scenario = seen(sample(scene(policy=NodePolicy()), cpu=9), idle("o", cpu=4))
    assert bound(scenario) == ["o"]
    scenario.pod("g", cpu=10, memory=0).plan()
    assert evicted(scenario) == ["o"]


def test_what_opportunistic_pods_of_a_node_ask_for_in_sum_is_bounded() -> None:
    policy = replace(HALF_AND_80, most=200)
    scenario = seen(sample(scene(policy=policy), cpu=0), *(idle(f"o{at}") for at in range(9)))
    assert len(bound(scenario)) == 2
    sample(scenario.wait(60), cpu=0)
    sample(scenario.wait(15), cpu=0)
    assert bound(scenario.wait(1)) == []


def test_a_node_of_which_they_may_have_nothing_takes_none_with_or_without_thresholds() -> None:
    for policy in (NodePolicy(most=0), replace(HALF_AND_80, most=0)):
        assert bound(seen(sample(scene(policy=policy)), idle("o"))) == []


def test_nodes_with_labels_have_thresholds_of_their_own() -> None:
    none = ((("pool", "prod"),), NodePolicy((("cpu", Threshold(0, 800)),)))
    scenario = Scenario().scheduler(opportunistic=by_usage(overrides=(none,)))
    scenario.node("prod", labels={"pool": "prod"}).node("batch")
    for node in ("prod", "batch"):
        sample(scenario, node=node)
    seen(scenario, idle("o"), idle("p"))
    assert {bind.node for bind in scenario.plan()} == {"batch"}


def test_what_is_left_to_others_of_a_node_is_not_given() -> None:
    scenario = Scenario().scheduler(opportunistic=by_usage())
    scenario.tell(NodeSeen(a_node("n", cpu=10, headroom=())))
    scenario.tell(NodeSeen(a_node("n", cpu=10, headroom=(("cpu", Limit(value=6000)),))))
    sample(scenario, node="n", cpu=1)
    seen(scenario, *(idle(f"o{at}") for at in range(9)))
    assert len(bound(scenario)) == 1  # half of four, of which one is used


def test_a_sample_of_a_node_that_is_not_known_or_is_gone_is_passed_over() -> None:
    scenario = sample(scene(), node="nobody")
    assert scenario.core.state.opportunistic.usage.of == {}
    sample(scenario).tell(NodeGone("node-0"))
    assert scenario.core.state.opportunistic.usage.of == {}


def test_nothing_is_kept_where_room_goes_by_requests() -> None:
    scenario = sample(scene())
    scenario.scheduler(opportunistic=OpportunisticSettings())
    sample(scenario.wait(15))
    assert scenario.core.state.opportunistic.usage.of == {}


def test_samples_follow_their_nodes_to_other_rows() -> None:
    scenario = Scenario().scheduler(opportunistic=by_usage()).node("gone").node("kept", cpu=10).without_node("gone")
    sample(scenario, node="kept", cpu=1)
    seen(scenario, idle("large", cpu=9))
    assert "has idle is memory=8Gi, cpu=4" in scenario.why("large")[1]
    close_up(scenario.core.state)
    assert "has idle is memory=8Gi, cpu=4" in scenario.why("large")[1]
    assert bound(seen(scenario, idle("o", cpu=4))) == ["o"]


def test_a_new_core_knows_what_is_used() -> None:
    scenario = seen(sample(scene(2), cpu=1), *(idle(f"o{at}") for at in range(9)))
    bound(scenario)
    fresh = scenario.wait(1).core.fresh()
    for event in scenario.core.facts():
        fresh.handle(event, scenario.now)
    before, after = scenario.core.state.opportunistic.usage, fresh.state.opportunistic.usage
    assert {name: one.usage.sample for name, one in after.of.items()} == {
        name: one.usage.sample for name, one in before.of.items()
    }
    assert not [one for one in fresh.plan(scenario.now) if isinstance(one, Bind)]


@pytest.mark.parametrize("known", [True, False])
def test_whether_samples_can_be_had_is_told_to_a_new_core(known: bool) -> None:
    scenario = scene().tell(UsageKnown(known, "" if known else "away"))
    assert UsageKnown(known, "" if known else "away") in scenario.core.facts()


@settings(max_examples=100, deadline=None)
@given(
    steps=st.lists(
        st.one_of(
            st.tuples(st.just("guaranteed"), st.integers(0, 3), st.integers(1, 4)),
            st.tuples(st.just("idle"), st.integers(0, 3), st.integers(1, 4)),
            st.tuples(st.just("gone"), st.integers(0, 20), st.just(0)),
            st.tuples(st.just("sample"), st.integers(0, 2), st.integers(0, 9)),
            st.tuples(st.just("plan"), st.integers(0, 40), st.just(0)),
        ),
        max_size=40,
    )
)
def test_whatever_is_sampled_guaranteed_pods_go_where_they_would_while_no_opportunistic_one_ends(steps: list[Any]) -> None:
    cores = Core(validate=True), Core(validate=True)
    now = 0.0
    known: list[str] = []

    def tell(event: Any, *, both: bool = True) -> None:
        for core in cores if both else cores[:1]:
            core.handle(event, now)

    tell(SchedulerSeen(SchedulerSpec(opportunistic=by_usage())))
    for at in range(3):
        tell(NodeSeen(a_node(f"n{at}", cpu=8)))
    for number, (what, which, size) in enumerate((*steps, ("plan", 0, 0))):
        if what == "guaranteed":
            known.append(f"g{number}")
            tell(PodSeen(a_pod(known[-1], "", f"app{which}", demand=amounts(size, 1))))
        elif what == "idle":
            known.append(f"o{number}")
            tell(PodSeen(idle(known[-1], size)), both=False)
        elif what == "gone" and known:
            uid = known.pop(which % len(known))
            if uid[0] == "g":
                tell(PodGone(uid))
        elif what == "sample":
            tell(NodeSampled(f"n{which}", (("cpu", size * 1000),), now), both=False)
        elif what == "plan":
            now += which
            plans = [core.plan(now) for core in cores]
            binds = [[(one.uid, one.node) for one in plan if isinstance(one, Bind) and one.uid[0] == "g"] for plan in plans]
            assert binds[0] == binds[1]
            for one in plans[0]:
                if isinstance(one, Bind):
                    spec = cores[0].state.pods[one.uid].spec
                    tell(PodSeen(replace(spec, node=one.node, held_in=one.queue)), both=one.uid[0] == "g")


def says(scenario: Scenario, **fields: Any) -> Scenario:
    """Let a node say how far it may be used."""
    spec = scenario.core.state.nodes.specs[0]
    assert spec is not None
    return scenario.tell(NodeSeen(replace(spec, over_allocation=NodeWord(**fields) if fields else None)))


def test_what_a_node_says_itself_goes_before_what_the_scheduler_says_and_the_rest_stays() -> None:
    scenario = sample(scene(cpu=10, memory=10), cpu=1, memory=1)
    state = scenario.core.state

    def room() -> tuple[int, int]:
        scenario.wait(1)
        memory, cpu = idle_room(state)[:, 0]
        return int(memory) // GIB, int(cpu) // 1000

    assert room() == (4, 4)
    says(scenario, thresholds=(("cpu", Threshold(300, 400)),))
    assert room() == (4, 2)
    says(scenario, most=200)
    assert room() == (2, 2), "a fifth of it in sum"
    says(scenario, most=0)
    assert room() == (0, 0)
    says(scenario)
    assert room() == (4, 4)


def test_a_node_is_freed_at_the_threshold_that_it_says_itself() -> None:
    scenario = sample(scene(), cpu=1)
    bound(seen(scenario, idle("o")))
    sample(scenario.wait(15), cpu=6).plan()
    assert evicted(scenario) == []
    says(scenario, thresholds=(("cpu", Threshold(300, 500)),))
    sample(scenario.wait(15), cpu=6).plan()
    assert evicted(scenario) == ["o"]


def test_by_requests_what_opportunistic_pods_may_have_in_sum_is_what_the_node_says() -> None:
    scenario = Scenario().wait(1000).nodes(1, cpu=10, memory=10)
    says(scenario, most=200, thresholds=(("cpu", Threshold(300, 500)),))
    assert bound(seen(scenario, *(idle(f"o{at}") for at in range(5)))) == ["o0", "o1"]
    assert scenario.core.view.thresholds_unheeded() == ["node-0"]
    scenario.scheduler(opportunistic=by_usage())
    assert scenario.core.view.thresholds_unheeded() == []


def test_pods_of_an_application_do_not_go_back_at_once_to_a_node_that_they_had_to_leave() -> None:
    scenario = sample(scene(order=NEWEST), memory=1)
    assert bound(seen(scenario, idle("o0", cpu=0, memory=3))) == ["o0"]
    waits = []
    for number in range(1, 5):  # its controller makes it anew each time, and the node is free again at once
        sample(scenario.wait(15), memory=9).plan()
        assert evicted(scenario) == [f"o{number - 1}"]
        scenario.gone(f"o{number - 1}")
        seen(scenario, idle(f"o{number}", cpu=0, memory=3), idle(f"p{number}", cpu=0, memory=1, application=f"p{number}"))
        assert bound(sample(scenario.wait(1), memory=1)) == [f"p{number}"], "others' pods are taken"
        scenario.gone(f"p{number}")
        waited = 1
        while not bound(sample(scenario, memory=1)):
            scenario.wait(1)
            waited += 1
        waits.append(waited)
    assert waits == [30, 60, 120, 240]


def test_they_go_elsewhere_meanwhile_and_a_pod_that_waits_is_told() -> None:
    scenario = sample(sample(scene(nodes=2, order=NEWEST), memory=1), node="node-1", memory=9)
    assert bound(seen(scenario, idle("o0", cpu=0, memory=3))) == ["o0"]
    sample(scenario.wait(15), memory=9).plan()
    scenario.gone("o0")
    seen(sample(scenario.wait(1), memory=1), idle("o1", cpu=0, memory=3))
    assert bound(scenario.wait(6)) == []
    assert scenario.reports[0].message.endswith("; pods of its application had to go from node-0 lately and do not go back yet")
    sample(scenario, node="node-1", memory=1)
    assert bound(scenario.wait(1)) == ["o1"]
    assert scenario.core.state.pods["o1"].spec.node == "node-1"


def test_what_is_remembered_of_nodes_that_were_left_is_forgotten() -> None:
    scenario = sample(scene(order=NEWEST), memory=1)
    bound(seen(scenario, idle("o0", cpu=0, memory=3)))
    sample(scenario.wait(15), memory=9).plan()
    assert list(scenario.core.state.opportunistic.back_off.of) == ["ns/batch"]
    scenario.gone("o0").wait(2000)
    seen(sample(scenario, memory=9.9), idle("late", cpu=0, memory=3, application="late"))
    scenario.plan()
    assert scenario.core.state.opportunistic.back_off.of == {}


def removed(*kept: Removal) -> RemovedLately:
    return RemovedLately(kept)


def removal(node: str = "node-0", seconds: float = 20.0, times: int = 3) -> Removal:
    """That a node takes none for so many seconds of a clock that began in 1970, when the scene stands at 1000 and its epoch is 0."""
    return Removal("ns/batch", node, 1000 + seconds, times)


def test_what_another_scheduler_remembered_is_gone_by() -> None:
    scenario = sample(scene(order=NEWEST).tell(removed(removal())), memory=1)
    assert bound(seen(scenario, idle("o0", cpu=0, memory=3))) == []
    assert bound(sample(scenario.wait(21), memory=1)) == ["o0"]
    sample(scenario.wait(15), memory=9).plan()
    assert scenario.core.view.removals() == [Removal("ns/batch", "node-0", scenario.now + 240, 4)], "the fourth time in a row"
    assert RemovedLately(tuple(scenario.core.view.removals())) in scenario.core.facts()


def test_what_is_remembered_elsewhere_says_nothing_new_of_what_is_known_for_longer() -> None:
    scenario = scene().tell(removed(removal(seconds=100, times=5)))
    scenario.tell(removed(removal(seconds=99.2, times=2), removal("node-1", -959, 2), removal("node-2", -961, 2)))
    assert scenario.core.view.removals() == [removal(seconds=100, times=5), removal("node-1", -959, 2)]


def test_what_makes_no_sense_keeps_no_node_for_longer_than_the_longest_pause() -> None:
    scenario = scene().tell(removed(removal(seconds=1e9, times=1000)))
    assert scenario.core.view.removals() == [Removal("ns/batch", "node-0", 1000 + LONGEST, 30)]
    sample(scenario.wait(LONGEST + 1), memory=1)
    bound(seen(scenario, idle("o0", cpu=0, memory=3)))
    sample(scenario.wait(15), memory=9).plan()
    assert scenario.core.view.removals() == [Removal("ns/batch", "node-0", scenario.now + LONGEST, 30)]


def predicting(method: str, **fields: Any) -> Scenario:
    return scene(cpu=100, memory=100, prediction=PredictionSettings(method, **fields)).pod("g", cpu=0, memory=60)


def idle_memory(scenario: Scenario) -> int:
    """The room of memory in GiB, of a node of 100 of which half may be used."""
    return int(idle_room(scenario.core.state)[0, 0]) // GIB


def test_a_part_of_what_is_asked_for_may_be_taken_as_the_peak() -> None:
    scenario = predicting(PART, parts=500)
    bound(scenario)
    sample(scenario.wait(400), memory=10)
    assert idle_memory(scenario) == 20  # half of 60 is taken to be used, of 50
    sample(scenario.wait(15), memory=45)
    assert idle_memory(scenario) == 5, "it is never below what is used"
    seen(sample(scenario.wait(15), memory=10), idle("o", cpu=0, memory=8))
    bound(scenario)
    sample(scenario.wait(400), memory=10)
    assert idle_memory(scenario) == 16, "what opportunistic pods ask for is asked for as well"


def test_mean_and_deviations_are_the_peak_once_enough_is_known() -> None:
    scenario = predicting(SIGMA, deviations=2.0)
    bound(scenario)
    scenario.wait(400)
    for at in range(9):
        sample(scenario.wait(15), memory=10 + 4 * (at % 2))
        assert idle_memory(scenario) == 0, "all that is asked for"
    for at in range(21):
        sample(scenario.wait(15), memory=14 - 4 * (at % 2))
    assert 33 <= idle_memory(scenario) <= 35  # 12 and twice 2, of 50


def test_how_far_predictions_are_off_is_counted_where_nothing_came_or_went() -> None:
    scenario = predicting(PART, parts=200, horizon=60.0)
    bound(scenario)
    scenario.wait(400)
    for memory in (12, 12, 18, 12, 12, 12, 12, 12, 12, 12, 12):
        sample(scenario.wait(15), memory=memory)
    found = scenario.core.view.opportunistic().predictions["memory"]
    assert (found.made, found.below, round(found.lacking, 2), round(found.wasted, 2)) == (2, 1, 0.33, 0.0)
    scenario.gone("g")
    for _ in range(4):
        sample(scenario.wait(15), memory=1)
    assert scenario.core.view.opportunistic().predictions["memory"].made == 2


@pytest.mark.parametrize(("method", "source"), [(LAST_SAMPLE, METRICS), (PERCENTILE, PROMETHEUS)])
def test_without_a_prediction_the_last_sample_counts(method: str, source: str) -> None:
    scenario = predicting(method)
    scenario.scheduler(opportunistic=replace(by_usage(prediction=PredictionSettings(method)), source=source))
    bound(scenario)
    sample(scenario.wait(400), memory=10)
    assert idle_memory(scenario) == 40
    assert scenario.core.state.opportunistic.usage.of["node-0"].moments == []


def test_nobody_goes_for_a_prediction() -> None:
    scenario = predicting(PART, parts=1000)
    seen(sample(scenario, memory=1), idle("o", cpu=0, memory=30))
    sample(scenario.wait(400), memory=10).scheduler(opportunistic=by_usage())
    bound(sample(scenario.wait(15), memory=10))
    scenario.scheduler(opportunistic=by_usage(prediction=PredictionSettings(PART, parts=1000)))
    sample(scenario.wait(15), memory=40).plan()
    assert evicted(scenario) == []


def test_a_pod_that_its_owner_deletes_counts_as_gone() -> None:
    scenario = seen(sample(scene(), memory=1), *(idle(f"o{at}", cpu=0, memory=2) for at in range(2)))
    assert len(bound(scenario)) == 2
    ended = scenario.core.state.pods["o0"].spec
    scenario.tell(PodSeen(replace(ended, deleting=True)))
    sample(scenario.wait(15), memory=9).plan()
    assert evicted(scenario) == [], "the one that is being deleted gives back its 2 GiB"


def test_one_that_goes_for_what_is_used_is_not_asked_again_for_what_is_requested() -> None:
    policy = NodePolicy((("cpu", Threshold(500, 800)),))
    scenario = seen(sample(scene(policy=policy), cpu=1), idle("o", cpu=3, memory=4))
    assert bound(scenario) == ["o"]
    sample(scenario.wait(15), cpu=9).pod("g", cpu=1, memory=8).plan()
    assert evicted(scenario) == ["o"]


def test_for_what_is_requested_only_types_without_thresholds_are_given_back() -> None:
    policy = NodePolicy((("cpu", Threshold(500, 800)),))
    scenario = sample(scene(policy=policy), cpu=1).pod("idler", cpu=10, memory=0)
    bound(scenario)
    assert len(bound(seen(sample(scenario.wait(15), cpu=1), *(idle(f"o{at}", cpu=2, memory=2) for at in range(2))))) == 2
    scenario.pod("g", cpu=0, memory=7).plan()
    assert len(evicted(scenario)) == 1, "1 GiB is lacking; of cpu all is requested, and that matters to nobody"


def test_after_a_removal_the_next_sample_above_removes_at_once() -> None:
    scenario = seen(sample(scene(), cpu=1), *(idle(f"o{at}", cpu=1) for at in range(4)))
    assert len(bound(scenario)) == 4
    sample(scenario.wait(15), cpu=8.5).plan()
    assert evicted(scenario) == [], "one sample is borne"
    sample(scenario.wait(15), cpu=8.5).plan()
    (first,) = evicted(scenario)
    sample(scenario.gone(first).wait(15), cpu=8.5).plan()
    assert len(evicted(scenario)) == 1, "it was not enough"
