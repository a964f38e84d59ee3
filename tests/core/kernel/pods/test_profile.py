"""Pods that name a resource profile: what they are told."""

from __future__ import annotations

import pytest

from core.builders import GIB, Scenario
from treadle.core.effects import RecordEvent

PROFILES = {"small": {"cpu": 1000, "memory": GIB}, "gpu": {"cpu": 1000, "memory": GIB, "nvidia.com/gpu": 1}}


def told(scenario: Scenario) -> list[tuple[str, str]]:
    scenario.plan()
    return [
        (one.reason, one.note) for one in scenario.effects if isinstance(one, RecordEvent) and one.reason.startswith("Profile")
    ]


@pytest.fixture
def scenario() -> Scenario:
    return Scenario().scheduler(profiles=PROFILES).nodes(2).queue("root.a")


def test_pods_that_ask_for_what_their_profile_has_are_told_nothing(scenario: Scenario) -> None:
    scenario.pods(2, "p", "root.a", profile="small")
    assert told(scenario) == []
    assert scenario.used("root.a") == 2


def test_pods_that_ask_for_something_else_are_told_once_and_placed_by_what_they_ask(scenario: Scenario) -> None:
    scenario.pods(2, "p", "root.a", cpu=2, profile="gpu")
    words = (
        "Pods of application ns/app name the resource profile gpu and ask for something else: cpu 2 instead of 1, nvidia.com/gpu 0 instead of 1. "
        "What counts is what a pod asks for"
    )
    assert told(scenario) == [("ProfileDiffers", words)]
    assert scenario.used("root.a") == 4
    scenario.pod("later", "root.a", cpu=2, profile="gpu")
    assert told(scenario) == []


def test_pods_that_name_a_profile_which_is_not_there_are_told_which_are(scenario: Scenario) -> None:
    scenario.pod("p", "root.a", profile="huge")
    words = (
        "Resource profile huge, which pods of application ns/app name, is not in spec.resourceProfiles of the Scheduler, which has gpu, small. "
        "What counts is what a pod asks for"
    )
    assert told(scenario) == [("ProfileUnknown", words)]


def test_pods_that_wait_are_told_when_their_profile_becomes_another(scenario: Scenario) -> None:
    scenario.pod("p", "root.a", cpu=8, profile="small")
    assert [reason for reason, _ in told(scenario)] == ["ProfileDiffers"]
    scenario.scheduler(profiles={**PROFILES, "small": {"cpu": 8000, "memory": GIB}})
    assert told(scenario) == []
    scenario.scheduler()
    assert [reason for reason, _ in told(scenario)] == ["ProfileUnknown"]


def test_what_was_told_of_an_application_that_is_gone_is_forgotten(scenario: Scenario) -> None:
    scenario.pod("p", "root.a", profile="huge")
    told(scenario)
    scenario.gone("p").plan()
    assert not scenario.core.state.reports.profiles_told
    assert not scenario.core.state.reports.profiled
