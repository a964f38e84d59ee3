"""The priority of an application: what its object says, or else the highest of its pods'."""

from __future__ import annotations

from core.builders import Scenario
from treadle.core.events import ApplicationGone, ApplicationSeen, PodGone
from treadle.core.model import ApplicationSpec


def a_fifo_queue() -> Scenario:
    """A queue with room for one pod, in which the older application has no priority."""
    return Scenario().nodes(1, cpu=1).queue("root.a", policy="fifo").pod("older", "root.a", "older", cpu=1, created=1.0)


def test_an_application_without_an_object_has_the_highest_priority_of_its_pods() -> None:
    scenario = a_fifo_queue().pod("low", "root.a", "newer", cpu=1, created=2.0)
    scenario.pod("high", "root.a", "newer", cpu=1, created=2.0, priority=100)
    assert [bind.uid for bind in scenario.plan()] == ["high"]
    assert scenario.core.state.applications["ns/newer"].priority == 100


def test_what_the_object_says_goes_before_what_pods_have_until_it_is_gone() -> None:
    scenario = a_fifo_queue()
    scenario.tell(ApplicationSeen(ApplicationSpec("ns/newer", priority=0)))
    scenario.pod("high", "root.a", "newer", cpu=1, created=2.0, priority=100)
    assert scenario.core.state.applications["ns/newer"].priority == 0
    scenario.tell(ApplicationGone("ns/newer"))
    assert scenario.core.state.applications["ns/newer"].priority == 100


def test_a_place_that_a_pod_gave_does_not_go_with_it() -> None:
    scenario = a_fifo_queue().pod("low", "root.a", "newer", cpu=1, created=2.0)
    scenario.pod("high", "root.a", "newer", cpu=1, created=2.0, priority=100)
    scenario.tell(PodGone("high"))
    assert [bind.uid for bind in scenario.plan()] == ["low"]
