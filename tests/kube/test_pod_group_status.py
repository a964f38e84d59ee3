"""What the status of PodGroups of each system is to say."""

from __future__ import annotations

from typing import Any

import pytest

from treadle.core.model.gangs import KUBERNETES, PLUGINS, VOLCANO
from treadle.kube.pod_group_status import FIRST_VERSION, Group, changes, wanted

Json = dict[str, Any]
NOW, BEFORE = "2026-11-24T12:00:00Z", "2026-11-24T11:00:00Z"
ROOM = ("Unschedulable", "0/1 nodes are available")


def say(source: str, group: Group, status: Json | None = None, version: str = "v") -> Json | None:
    return wanted(source, version, group, status or {}, 7, NOW)


@pytest.mark.parametrize(
    ("group", "phase"),
    [
        (Group(3, 0, 0, 0, None), "Inqueue"),
        (Group(3, 3, 0, 0, None), "Inqueue"),
        (Group(3, 3, 2, 1, None), "Unknown"),
        (Group(3, 3, 3, 0, None), "Running"),
        (Group(3, 5, 4, 4, ROOM), "Running"),
    ],
)
def test_volcano_phases(group: Group, phase: str) -> None:
    found = say(VOLCANO, group)
    assert found is not None
    assert found["phase"] == phase
    assert found["running"] == (group.running or None)


def test_volcano_conditions_say_why_pods_wait_and_that_they_are_placed() -> None:
    found = say(VOLCANO, Group(3, 3, 0, 0, ROOM))
    assert found is not None
    (waits,) = found["conditions"]
    assert waits.pop("transitionID")
    assert waits == {
        "type": "Unschedulable",
        "status": "True",
        "reason": "NotEnoughResources",
        "message": ROOM[1],
        "lastTransitionTime": NOW,
    }
    held = say(VOLCANO, Group(3, 3, 0, 0, ("QueueMaximum", "queue root.a is full")))
    assert held is not None
    assert held["conditions"][0]["reason"] == "QueueMaximum"
    placed = say(
        VOLCANO,
        Group(3, 3, 3, 3, None),
        {"conditions": [{"type": "Unschedulable", "status": "True", "lastTransitionTime": BEFORE}]},
    )
    assert placed is not None
    assert [(one["type"], one["status"]) for one in placed["conditions"]] == [("Unschedulable", "False"), ("Scheduled", "True")]


def test_what_has_been_written_is_not_written_again() -> None:
    group = Group(3, 3, 0, 0, ROOM)
    first = say(VOLCANO, group)
    assert first is not None
    status = {key: value for key, value in first.items() if value is not None}
    again = say(VOLCANO, group, status)
    assert again is not None
    assert changes(status, again) == {}
    kubernetes = say(KUBERNETES, group)
    assert kubernetes is not None
    again = say(KUBERNETES, group, kubernetes)
    assert again is not None
    assert changes(kubernetes, again) == {}


def test_kubernetes_condition_has_the_name_of_its_version_and_stays_once_it_is_true() -> None:
    placed = Group(2, 2, 2, 0, None)
    found = say(KUBERNETES, placed, version=FIRST_VERSION)
    assert found is not None
    (condition,) = found["conditions"]
    assert condition == {
        "type": "PodGroupScheduled",
        "status": "True",
        "reason": "Scheduled",
        "message": "2 pods are placed, the group starts with 2",
        "observedGeneration": 7,
        "lastTransitionTime": NOW,
    }
    later = say(KUBERNETES, placed, version="scheduling.k8s.io/v1beta1")
    assert later is not None
    assert later["conditions"][0]["type"] == "PodGroupInitiallyScheduled"
    assert say(KUBERNETES, Group(2, 2, 0, 0, ROOM), found, FIRST_VERSION) is None


def test_kubernetes_condition_is_false_with_the_reason_that_the_pods_are_told() -> None:
    found = say(KUBERNETES, Group(2, 2, 0, 0, ("NodesRequested", "m" * 5000)))
    assert found is not None
    (condition,) = found["conditions"]
    assert (condition["status"], condition["reason"], len(condition["message"])) == ("False", "NodesRequested", 1024)
    assert say(KUBERNETES, Group(2, 2, 0, 0, None)) is None, "nothing is known yet"


def test_conditions_of_others_stay() -> None:
    other = {"type": "DisruptionTarget", "status": "True", "lastTransitionTime": BEFORE}
    found = say(KUBERNETES, Group(2, 2, 2, 0, None), {"conditions": [other]})
    assert found is not None
    assert found["conditions"][0] == other


@pytest.mark.parametrize(
    ("group", "found"),
    [
        (Group(3, 0, 0, 0, None), None),
        (Group(3, 2, 0, 0, None), {"phase": "Pending", "running": None}),
        (Group(3, 3, 1, 1, None), {"phase": "Unknown", "running": 1}),
        (Group(3, 3, 3, 1, None), {"phase": "Scheduling", "running": 1}),
        (Group(3, 3, 3, 3, None), {"phase": "Running", "running": 3}),
    ],
)
def test_the_phases_of_the_scheduler_plugins(group: Group, found: Json | None) -> None:
    said = say(PLUGINS, group)
    assert said == (None if found is None else {**found, "succeeded": None, "failed": None})


def test_changes_are_what_is_another_and_nothing_that_was_not_there() -> None:
    assert changes({"phase": "Pending", "succeeded": 1}, {"phase": "Running", "running": None}) == {"phase": "Running"}
    assert changes({"running": 3}, {"running": None}) == {"running": None}


@pytest.mark.parametrize("status", [{"conditions": None}, {"conditions": "x"}, {"conditions": [7, {}]}])
def test_a_status_that_makes_no_sense_is_written_over(status: Json) -> None:
    for source in (KUBERNETES, VOLCANO, PLUGINS):
        say(source, Group(1, 1, 1, 1, None), status)
        say(source, Group(1, 1, 0, 0, ROOM), status)


@pytest.mark.parametrize(
    ("group", "before", "phase"),
    [
        (Group(3, 2, 2, 2, None, succeeded=1), "Running", "Running"),
        (Group(3, 0, 0, 0, None, succeeded=3), "Running", "Completed"),
        (Group(3, 0, 0, 0, None, succeeded=1, failed=2), "Running", "Completed"),
        (Group(3, 1, 0, 0, None, failed=2), "Running", "Inqueue"),
        (Group(3, 1, 1, 1, None, failed=1), "Running", "Unknown"),
        (Group(3, 3, 3, 3, None), "Completed", "Running"),
    ],
)
def test_volcano_phases_of_the_end(group: Group, before: str, phase: str) -> None:
    found = say(VOLCANO, group, {"phase": before})
    assert found is not None
    assert found["phase"] == phase
    assert (found["succeeded"], found["failed"]) == (group.succeeded or None, group.failed or None)


def test_a_group_of_volcano_stays_completed_when_its_pods_are_gone() -> None:
    assert say(VOLCANO, Group(3, 0, 0, 0, None), {"phase": "Completed"}) is None


@pytest.mark.parametrize(
    ("group", "phase"),
    [
        (Group(3, 2, 2, 2, None, succeeded=1), "Running"),
        (Group(3, 2, 2, 1, None, succeeded=1), "Scheduling"),
        (Group(3, 0, 0, 0, None, succeeded=3), "Finished"),
        (Group(3, 1, 1, 1, None, succeeded=1, failed=1), "Failed"),
        (Group(3, 1, 0, 0, None, failed=1), "Pending"),
        (Group(3, 1, 1, 1, None, succeeded=3, failed=1), "Finished"),
    ],
)
def test_phases_of_the_end_of_the_scheduler_plugins(group: Group, phase: str) -> None:
    found = say(PLUGINS, group, {"phase": "Running"})
    assert found is not None
    assert found["phase"] == phase


@pytest.mark.parametrize("phase", ["Finished", "Failed"])
def test_the_end_of_a_group_of_the_scheduler_plugins_is_final(phase: str) -> None:
    assert say(PLUGINS, Group(3, 3, 3, 3, None), {"phase": phase}) is None
