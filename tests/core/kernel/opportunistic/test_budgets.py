"""Disruption budgets of opportunistic pods: they hold where a node is used too much, up to an emergency, and give way where the room is another's."""

from __future__ import annotations

from dataclasses import replace

from core.builders import GIB, Scenario
from core.kernel.opportunistic.idle_pods import idle, seen
from treadle.core.effects import Evict
from treadle.core.events import EvictFailed, NodeSampled
from treadle.core.kernel.opportunistic.removing import AGAIN, PATIENCE
from treadle.core.model.opportunistic import METRICS, NEWEST, NodePolicy, OpportunisticSettings, Threshold

BY_80 = NodePolicy((("cpu", Threshold(500, 800)), ("memory", Threshold(500, 800))))


def scene(*names: str, emergency: int | None = None) -> Scenario:
    """A node of 10 cores where opportunistic pods run that use a core each; time 1000, so that nothing that is there is new."""
    settings = OpportunisticSettings(source=METRICS, policy=BY_80, order=NEWEST, emergency=emergency)
    scenario = Scenario().wait(1000).scheduler(opportunistic=settings).queue("root.a").nodes(1, cpu=10, memory=10)
    for name in names:
        seen(scenario, replace(idle(name, "root.a", memory=0), node="node-0"))
        scenario.wait(1)
    scenario.plan()
    return scenario.wait(30)


def asked(scenario: Scenario, cpu: float) -> list[tuple[str, float, bool]]:
    """Return who is asked to go by a sample: the pod, how long its budget is asked, whether it is deleted then."""
    scenario.wait(10).tell(NodeSampled("node-0", (("cpu", int(cpu * 1000)), ("memory", GIB)), scenario.now, 0.0))
    scenario.plan()
    return [(one.uid, one.patience, one.delete) for one in scenario.effects if isinstance(one, Evict)]


def test_one_that_its_budget_does_not_let_go_stays_and_others_go_before_it() -> None:
    scenario = scene("old", "middle", "new")
    assert asked(scenario, 9) == [("new", PATIENCE, False)]
    scenario.tell(EvictFailed("new", "its budget"))
    assert asked(scenario, 9) == [("middle", PATIENCE, False)]
    scenario.tell(EvictFailed("middle", "its budget"))
    scenario.wait(AGAIN)
    assert asked(scenario, 9) == [("new", PATIENCE, False)], "after a minute it is asked again"


def test_above_the_emergency_pods_are_deleted_at_once_those_with_budgets_as_well() -> None:
    scenario = scene("old", "middle", "new", emergency=950)
    assert asked(scenario, 9.5) == [("new", PATIENCE, False), ("middle", PATIENCE, False)], "at it budgets hold"
    scenario.tell(EvictFailed("new", "its budget"), EvictFailed("middle", "its budget"))
    assert asked(scenario, 9.6) == [("new", 0.0, True), ("middle", 0.0, True)]


def test_a_resource_without_thresholds_makes_no_emergency() -> None:
    scenario = scene("old", emergency=50)
    scenario.scheduler(opportunistic=OpportunisticSettings(source=METRICS, policy=NodePolicy(BY_80.thresholds[1:]), emergency=50))
    assert asked(scenario, 10) == []


def test_where_the_room_is_requested_budgets_give_way_in_the_end() -> None:
    scenario = Scenario().queue("root.a").nodes(1, cpu=1)
    seen(scenario, replace(idle("o", "root.a", memory=0), node="node-0")).wait(30)
    scenario.plan()
    scenario.pod("g", "root.a", cpu=1)
    scenario.plan()
    (bind,) = [one for one in scenario.effects if isinstance(one, Evict)]
    assert (bind.uid, bind.patience, bind.delete) == ("o", PATIENCE, True)
    scenario.tell(EvictFailed("o", "the server does not answer"))
    scenario.wait(1).plan()
    assert [one for one in scenario.effects if isinstance(one, Evict)] == []
    scenario.wait(AGAIN).plan()
    assert [one.uid for one in scenario.effects if isinstance(one, Evict)] == ["o"]


def test_what_is_spared_is_forgotten_with_the_pod() -> None:
    scenario = scene("o", "p")
    asked(scenario, 9)
    scenario.tell(EvictFailed("p", "its budget")).gone("p")
    asked(scenario, 9)
    assert scenario.core.state.opportunistic.spared == {}
