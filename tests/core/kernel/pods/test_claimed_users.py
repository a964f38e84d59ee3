"""Pods that claim a user in vain: their owner is told, once for an application."""

from __future__ import annotations

from core.builders import Scenario, a_pod
from treadle.core.effects import USER_IGNORED, RecordEvent
from treadle.core.events import PodSeen


def told(scenario: Scenario) -> list[RecordEvent]:
    return [effect for effect in scenario.effects if isinstance(effect, RecordEvent) and effect.reason == USER_IGNORED]


def test_the_first_pod_of_an_application_says_whom_it_claims_and_for_whom_it_counts() -> None:
    scenario = Scenario()
    scenario.queue("root.a").nodes()
    scenario.tell(*(PodSeen(a_pod(f"p{number}", "root.a", "app", user="ns", claimed="ann")) for number in range(3)))
    scenario.plan()
    (event,) = told(scenario)
    assert (event.namespace, event.name) == ("ns", "p0")
    assert event.note == "its annotations claim the user 'ann', which is not believed; it counts for 'ns'"
    scenario.tell(PodSeen(a_pod("p4", "root.a", "app", user="ns", claimed="bob"))).plan()
    assert told(scenario) == []


def test_who_claims_nobody_else_is_told_nothing() -> None:
    scenario = Scenario()
    scenario.queue("root.a").nodes().tell(PodSeen(a_pod("p", "root.a", user="ann"))).plan()
    assert told(scenario) == []
