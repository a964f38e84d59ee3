"""Where node agents tell how long tasks wait, that decides as well: nothing is placed above one threshold, and above a second one pods go, one by one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from core.builders import GIB, Scenario, a_pod
from treadle.core.effects import Evict
from treadle.core.events import EvictFailed, NodeSampled, NodeSeen, PodSampled, PodSeen
from treadle.core.kernel.opportunistic.removing import AGAIN
from treadle.core.model import PodSpec
from treadle.core.model.nodes import NodePressure
from treadle.core.model.opportunistic import (
    AGENT,
    METRICS,
    NEWEST,
    SOME,
    NodePolicy,
    NodeWord,
    OpportunisticSettings,
    PressureThreshold,
    Threshold,
)

POLICY = NodePolicy(
    (("cpu", Threshold(500, 800)), ("memory", Threshold(500, 800))), 1000, (PressureThreshold("memory", SOME, 100, 300),)
)


def scene(**fields: Any) -> Scenario:
    settings = OpportunisticSettings(**{"source": AGENT, "policy": POLICY, **fields})
    return Scenario().wait(1000).scheduler(opportunistic=settings).nodes(1, cpu=10, memory=10)


def idle(name: str, **fields: Any) -> PodSpec:
    return a_pod(name, "", "batch", 0, 0, opportunistic=(("cpu", 100), ("memory", GIB)), **fields)


def sample(scenario: Scenario, waits: int | None, memory: int = 1) -> Scenario:
    pressure = () if waits is None else (("memory", waits, 0),)
    return scenario.tell(NodeSampled("node-0", (("cpu", 100), ("memory", memory * GIB)), scenario.now, 1.0, pressure))


def placed(scenario: Scenario) -> list[str]:
    binds = scenario.plan()
    for bind in binds:
        spec = scenario.core.state.pods[bind.uid].spec
        scenario.tell(PodSeen(replace(spec, node=bind.node, held_in=bind.queue)))
    return [bind.uid for bind in binds]


def evicted(scenario: Scenario) -> list[str]:
    scenario.plan()
    return [effect.uid for effect in scenario.effects if isinstance(effect, Evict)]


def test_while_tasks_wait_nothing_is_placed_however_little_is_used() -> None:
    scenario = sample(scene(), 100).tell(PodSeen(idle("o")))
    assert placed(scenario) == []
    assert placed(sample(scenario.wait(2), 99).wait(1)) == ["o"]


def test_a_node_that_does_not_tell_how_long_tasks_wait_takes_nothing_and_is_counted() -> None:
    scenario = sample(scene(), None).tell(PodSeen(idle("o")))
    assert placed(scenario) == []
    assert scenario.core.view.nodes_unknown() == 1
    sample(scenario.wait(2), 0)
    assert scenario.core.view.nodes_unknown() == 0
    assert placed(scenario.wait(1)) == ["o"]


def test_an_old_sample_tells_nothing_of_pressure_even_where_no_usage_decides() -> None:
    by_pressure = NodePolicy((), 1000, POLICY.pressure)
    scenario = sample(scene(policy=by_pressure), 0).wait(61).tell(PodSeen(idle("o")))
    assert placed(scenario) == []
    assert placed(sample(scenario, 0).wait(1)) == ["o"]


def running(scenario: Scenario, *names: str) -> Scenario:
    for name in names:
        assert placed(sample(scenario.wait(2), 0).tell(PodSeen(idle(name))).wait(1)) == [name]
    return scenario


def test_above_the_second_threshold_pods_go_one_by_one_while_it_lasts() -> None:
    scenario = running(scene(order=NEWEST), "a", "b", "c")
    assert evicted(sample(scenario.wait(2), 301)) == ["c"]
    assert evicted(sample(scenario.wait(2), 900)) == [], "one goes already"
    scenario.gone("c")
    assert evicted(sample(scenario.wait(2), 900)) == [], "the mean of ten seconds still tells of it"
    assert evicted(sample(scenario.wait(10), 301)) == ["b"]
    scenario.gone("b")
    assert evicted(sample(scenario.wait(12), 300)) == []
    assert scenario.core.view.opportunistic().removed == {"Requests": 0, "Usage": 0, "Pressure": 2}


def test_one_that_does_not_go_keeps_no_others_there_for_longer_than_a_minute() -> None:
    scenario = running(scene(order=NEWEST), "a", "b")
    assert evicted(sample(scenario.wait(2), 900)) == ["b"]
    spec = scenario.core.state.pods["b"].spec
    scenario.tell(PodSeen(replace(spec, deleting=True)))
    assert evicted(sample(scenario.wait(50), 900)) == []
    assert evicted(sample(scenario.wait(20), 900)) == ["a"]


def test_the_owner_is_told_what_was_waited_for() -> None:
    scenario = running(scene(), "a")
    sample(scenario.wait(2), 305).plan()
    (effect,) = [one for one in scenario.effects if isinstance(one, Evict)]
    assert effect.why == "opportunistic: on node node-0 some tasks waited for memory for 30.5% of ten seconds, more than 30%"


def test_by_cost_the_pod_goes_that_uses_what_is_waited_for() -> None:
    scenario = running(scene(), "a", "b", "c").wait(2)
    for name, memory in (("a", 0), ("b", 2 * GIB), ("c", 0)):
        scenario.tell(PodSampled(name, (("memory", memory),), scenario.now, 1.0))
    assert evicted(sample(scenario, 500)) == ["b"]


def test_what_is_used_too_much_goes_first_and_as_much_as_is_needed() -> None:
    scenario = running(scene(order=NEWEST), "a", "b", "c").wait(2)
    for name in "abc":
        scenario.tell(PodSampled(name, (("memory", GIB),), scenario.now, 1.0))
    assert evicted(sample(scenario, 900, memory=10)) == ["c", "b"]
    assert scenario.core.view.opportunistic().removed["Usage"] == 2


def test_a_new_core_knows_how_long_tasks_wait() -> None:
    scenario = sample(scene(), 100).tell(PodSeen(idle("o")))
    fresh = scenario.core.fresh()
    for event in scenario.core.facts():
        fresh.handle(event, scenario.now)
    assert fresh.state.opportunistic.usage.of["node-0"].waiting == {("memory", SOME): 100, ("memory", "Full"): 0}


def test_it_is_measured_how_long_it_takes_until_somebody_is_asked_and_until_it_is_over() -> None:
    scenario = running(scene(), "a").wait(2)
    at = scenario.now
    sample(scenario, 0, memory=9).wait(3).plan()
    figures = scenario.core.view.opportunistic()
    assert (figures.until_asked.count, figures.until_asked.total) == (1, 3.0)
    assert figures.until_asked.within[2.0] == 0
    assert figures.until_asked.within[5.0] == 1
    assert (figures.until_below.count, figures.until_gone.count) == (0, 0)
    sample(scenario.wait(4), 0, memory=9)
    scenario.tell(PodSeen(replace(scenario.core.state.pods["a"].spec, deleting=True)))
    scenario.tell(PodSeen(replace(scenario.core.state.pods["a"].spec, finished=True)))
    figures = scenario.core.view.opportunistic()
    assert (figures.until_gone.count, figures.until_gone.total) == (1, scenario.now - at)
    sample(scenario.wait(4), 0, memory=3)
    figures = scenario.core.view.opportunistic()
    assert (figures.until_below.count, figures.until_below.total) == (1, scenario.now - at)


def test_one_that_its_budget_keeps_and_one_that_goes_for_requests_are_not_measured() -> None:
    scenario = running(scene(), "a").wait(2)
    assert evicted(sample(scenario, 0, memory=9)) == ["a"]
    scenario.tell(EvictFailed("a", "its budget")).gone("a")
    assert scenario.core.view.opportunistic().until_gone.count == 0
    assert scenario.core.state.opportunistic.usage.crossed == {}


def test_one_that_is_asked_twice_is_measured_once_from_the_first_time() -> None:
    scenario = running(scene(), "a").wait(2)
    at = scenario.now
    assert evicted(sample(scenario, 0, memory=9)) == ["a"]
    assert evicted(sample(scenario.wait(AGAIN + 1), 0, memory=9)) == ["a"]
    scenario.gone("a")
    figures = scenario.core.view.opportunistic()
    assert (figures.until_gone.count, figures.until_gone.total) == (1, scenario.now - at)


def test_what_others_use_too_much_is_not_measured() -> None:
    scenario = sample(scene(), 0, memory=9)
    sample(scenario.wait(5), 0, memory=3)
    assert scenario.core.view.opportunistic().until_below.count == 0


def says(scenario: Scenario, waits: int, ago: float = 0.0) -> Scenario:
    """The node itself says how long tasks wait; its clock runs from the epoch of the core's."""
    spec = scenario.core.state.nodes.specs[0]
    assert spec is not None
    told = NodePressure(((("memory", SOME), waits),), scenario.now + scenario.core.state.settings.epoch - ago)
    return scenario.tell(NodeSeen(replace(spec, pressure=told)))


def test_a_node_may_say_itself_how_long_tasks_wait_where_its_samples_do_not() -> None:
    scenario = sample(says(scene(source=METRICS), 100), None).tell(PodSeen(idle("o")))
    assert placed(scenario) == []
    assert scenario.core.view.nodes_unknown() == 0
    assert placed(sample(says(scenario.wait(2), 99), None).wait(1)) == ["o"]


@pytest.mark.parametrize("ago", [61.0, -61.0])
def test_what_it_says_counts_for_as_long_as_a_sample_and_not_from_the_future(ago: float) -> None:
    scenario = sample(says(scene(source=METRICS), 0, ago), None).tell(PodSeen(idle("o")))
    assert placed(scenario) == []
    assert scenario.core.view.nodes_unknown() == 1


def test_what_an_agent_tells_goes_before_what_the_node_says() -> None:
    assert placed(sample(says(scene(), 1000), 0).tell(PodSeen(idle("o")))) == ["o"]


def test_what_a_node_said_once_counts_once_as_a_sample_that_is_borne() -> None:
    borne = NodePolicy((), 1000, (PressureThreshold("memory", SOME, 100, 300, 1),))
    scenario = scene(source=METRICS, policy=borne)
    assert placed(sample(says(scenario, 0), None).tell(PodSeen(idle("o"))).wait(1)) == ["o"]
    says(scenario.wait(2), 500)
    for _ in range(3):
        assert evicted(sample(scenario.wait(1), None)) == []
    says(scenario.wait(1), 500)
    assert evicted(sample(scenario.wait(1), None)) == ["o"]


def test_what_a_node_says_while_a_pod_goes_and_ten_seconds_after_lets_no_other_one_go() -> None:
    scenario = says(scene(source=METRICS, order=NEWEST), 0)
    for name in "ab":
        assert placed(sample(says(scenario.wait(2), 0), None).tell(PodSeen(idle(name))).wait(1)) == [name]
    assert evicted(sample(says(scenario.wait(2), 500), None)) == ["b"]
    sample(scenario.wait(5), None).plan()
    scenario.gone("b")
    assert evicted(sample(says(scenario.wait(6), 500), None)) == [], "the sample before told that it was going"
    assert evicted(sample(says(scenario.wait(5), 500), None)) == ["a"]


def test_a_node_may_say_itself_from_which_pressure_on_it_takes_none() -> None:
    scenario = scene(policy=NodePolicy((), 1000))
    spec = scenario.core.state.nodes.specs[0]
    assert spec is not None
    word = NodeWord(pressure=(PressureThreshold("memory", SOME, 50, 300),))
    scenario.tell(NodeSeen(replace(spec, over_allocation=word)))
    assert placed(sample(scenario, 60).tell(PodSeen(idle("o")))) == []
    assert placed(sample(scenario.wait(2), 40).wait(1)) == ["o"]
    sample(scenario.wait(2), None)
    assert scenario.core.view.nodes_unknown() == 1


def test_the_word_of_a_node_stands_for_the_resources_that_it_names() -> None:
    memory, cpu = PressureThreshold("memory", SOME, 50, 60), PressureThreshold("cpu", SOME, 10, 20)
    policy = NodePolicy((), 1000, (*POLICY.pressure, cpu))
    assert NodeWord(pressure=(memory,)).instead_of(policy).pressure == (cpu, memory)


def test_another_core_reads_what_a_node_says_from_the_node() -> None:
    scenario = sample(says(scene(source=METRICS), 20), None)
    (told,) = [one for one in scenario.core.facts() if isinstance(one, NodeSampled)]
    assert told.pressure == ()
