"""Pods that say how long they run in words that cannot be understood: what is told of that, and that they are scheduled."""

from __future__ import annotations

from core.builders import Scenario
from treadle.core.effects import RecordEvent


def told(scenario: Scenario) -> list[tuple[str, str]]:
    return [(one.uid, one.note) for one in scenario.effects if isinstance(one, RecordEvent) and one.reason == "DurationIgnored"]


def test_an_application_is_told_once_of_a_run_time_that_cannot_be_understood_and_its_pods_are_placed() -> None:
    scenario = Scenario().nodes(2)
    scenario.pods(2, "p", unread_duration="metadata.annotations[treadle.dev/expected-duration]: '1d' must be a duration")
    assert len(scenario.plan()) == 2
    words = (
        "metadata.annotations[treadle.dev/expected-duration]: '1d' must be a duration. How long pods of application ns/app run is not known by it; "
        "they are scheduled all the same"
    )
    assert told(scenario) == [("p-0", words)]
    scenario.pod("later", unread_duration="something else")
    scenario.plan()
    assert told(scenario) == []


def test_a_pod_that_says_how_long_it_runs_is_told_nothing() -> None:
    scenario = Scenario().nodes(1).pod("p", duration=60.0)
    assert len(scenario.plan()) == 1
    assert told(scenario) == []
