"""The events about what waits: one for an application, a reason and a while, with the limit, what is missing and who is ahead."""

from __future__ import annotations

from core.builders import Scenario, limits
from treadle.core.effects import RecordEvent
from treadle.core.events import PodGroupsServed
from treadle.core.kernel.periodic.failed_scheduling import RETOLD_AFTER


def events(scenario: Scenario, seconds: float = 0.0) -> list[RecordEvent]:
    scenario.wait(seconds).plan()
    return [effect for effect in scenario.effects if isinstance(effect, RecordEvent)]


def notes(scenario: Scenario, seconds: float = 4.0) -> list[str]:
    return [event.note for event in events(scenario, seconds)]


def test_pods_of_an_application_that_wait_for_the_same_reason_are_one_event_about_the_first() -> None:
    scenario = Scenario().nodes(1, cpu=8).queue("root.a", maximum=limits(cpu="2")).pods(5, "p", "root.a")
    scenario.plan()

    (event,) = events(scenario, 4)
    assert (event.reason, event.namespace, event.name, event.application) == ("FailedScheduling", "ns", "p-2", "ns/app")
    assert event.note == (
        "QueueMaximum: queue root.a is at its maximum (maxResources): cpu 2 used of 2, 1 wanted, 1 missing. "
        "3 pods of application ns/app of queue root.a wait for this. No pod of the queue is ahead."
    )
    assert events(scenario, 4) == []


def test_the_event_says_how_many_are_ahead_and_names_the_first() -> None:
    scenario = Scenario().nodes(1, cpu=2).queue("root.a", policy="fifo")
    scenario.pods(4, "early", "root.a", "early", created=1.0).pods(1, "late", "root.a", "late", created=2.0)
    scenario.plan()

    early, late = notes(scenario)
    assert early.endswith("No pod of the queue is ahead.")
    assert late.endswith("1 pod of application ns/late of queue root.a waits for this. 2 pods are ahead, first ns/early-2.")


def test_pods_of_their_own_application_are_ahead_as_well() -> None:
    scenario = Scenario().nodes(1, cpu=1).queue("root.a").pod("first", "root.a", cpu=2, priority=9).pod("other", "root.a", cpu=3)
    scenario.plan()
    (note,) = notes(scenario)
    assert "2 pods of application ns/app" in note
    scenario.pod("third", "root.a", "next", cpu=2)
    scenario.plan()
    assert notes(scenario)[0].endswith("2 pods are ahead, first ns/first.")


def test_a_pod_whose_turn_never_comes_is_ahead_of_no_other_and_none_is_ahead_of_it() -> None:
    scenario = Scenario().nodes(1, cpu=2).queue("root.a", max_container=limits(cpu="4"), policy="fifo")
    scenario.pod("wrong", "root.a", "wrong", created=1.0, problem="spec: no").pod("large", "root.a", "large", created=2.0, cpu=5)
    scenario.pod("first", "root.a", "first", created=3.0, cpu=3).pod("second", "root.a", "second", created=4.0, cpu=3)
    scenario.plan()

    told = {note.partition("application ns/")[2].partition(" ")[0]: note for note in notes(scenario)}
    assert told["wrong"] == "InvalidPod: spec: no. 1 pod of application ns/wrong of queue root.a waits for this."
    assert told["large"].endswith("1 pod of application ns/large of queue root.a waits for this.")
    assert told["first"].endswith("No pod of the queue is ahead.")
    assert told["second"].endswith("1 pod is ahead, first ns/first.")


def test_for_want_of_a_node_it_says_what_the_nearest_one_lacks() -> None:
    scenario = Scenario().node("small", cpu=1, memory=1).node("large", cpu=4, memory=6).pod("p", cpu=6, memory=8)
    scenario.plan()
    (note,) = notes(scenario)
    assert note.startswith("Unschedulable: 0/2 nodes are available: 2 Insufficient cpu, 2 Insufficient memory. ")
    assert "The nearest that suits, large, lacks memory 2Gi, cpu 2. " in note


def test_a_node_that_does_not_suit_is_not_the_nearest() -> None:
    scenario = Scenario().node("cordoned", cpu=7, unschedulable=True).node("small", cpu=1).pod("p", cpu=8, memory=1)
    scenario.plan()
    assert "The nearest that suits, small, lacks cpu 7." in notes(scenario)[0]


def test_another_reason_is_told_when_the_one_before_has_stood_for_a_while_and_the_same_is_not_told_again() -> None:
    scenario = Scenario().nodes(1, cpu=2).queue("root.a").pods(3, "p", "root.a")
    scenario.plan()
    assert notes(scenario)[0].startswith("Unschedulable")
    scenario.queue("root.a", maximum=limits(cpu="2")).node("more", cpu=4)
    scenario.plan()
    assert notes(scenario, 4) == []
    assert notes(scenario, 30)[0].startswith("QueueMaximum")
    scenario.queue("root.a").without_node("more")
    scenario.plan()
    assert notes(scenario, 60) == [], "Unschedulable was told less than five minutes ago"


def test_what_goes_on_waiting_is_told_again_before_the_api_server_forgets_it() -> None:
    scenario = Scenario().nodes(1, cpu=1).pods(2, "p")
    scenario.confirm(scenario.plan())
    assert len(events(scenario, 4)) == 1
    assert events(scenario, RETOLD_AFTER - 10) == []
    assert scenario.core.next_timer() == 4.0 + RETOLD_AFTER
    assert len(events(scenario, 20)) == 1
    scenario.gone("p-0")
    scenario.confirm(scenario.plan())
    assert events(scenario, RETOLD_AFTER + 10) == []


def test_what_is_placed_in_time_is_not_told() -> None:
    scenario = Scenario().nodes(1, cpu=1).pods(2, "p")
    scenario.confirm(scenario.plan())
    scenario.wait(2).gone("p-0").plan()
    assert events(scenario, 10) == []


def test_an_application_without_a_queue_is_told_of_without_one() -> None:
    scenario = Scenario().nodes(1).queue("root.a", running=False).pod("p", "root.a")
    scenario.plan()
    assert notes(scenario) == [
        "QueueStopped: queue root.a is stopped and takes no new applications. 1 pod of application ns/app waits for this."
    ]


def test_a_queue_that_does_not_exist_is_told_of_when_the_default_takes_the_pod() -> None:
    scenario = Scenario().nodes(1).queue("root.default").pods(2, "p", "root.nope")
    (event,) = events(scenario)
    assert (event.reason, event.name) == ("QueueNotFound", "p-0")
    assert event.note == "Queue root.nope, which application ns/app asks for, does not exist; its pods are in queue root.default"
    assert events(scenario, 10) == []


def test_a_queue_that_is_defined_before_anything_is_decided_is_not_missed() -> None:
    scenario = Scenario().nodes(1).pods(2, "p", "root.late").queue("root.late")
    assert events(scenario) == []
    scenario.pod("q", "late", "short")
    assert events(scenario) == []


def test_after_a_while_of_standing_by_everything_is_told_anew() -> None:
    scenario = Scenario().nodes(1, cpu=1).pods(3, "p")
    scenario.plan()
    assert len(events(scenario, 4)) == 1
    assert len(scenario.reports) == 2
    scenario.core.forget_reports()
    assert len(events(scenario, 4)) == 1
    assert len(scenario.reports) == 2


def test_who_asks_for_a_partition_where_there_are_none_is_told_once() -> None:
    scenario = Scenario().nodes(1, cpu=2)
    for name in ("one", "two", "three"):
        scenario.pod(name, partition="gpu")
    scenario.pod("plain", application="other").plan()
    (event,) = (event for event in scenario.effects if isinstance(event, RecordEvent) and event.reason == "PartitionIgnored")
    assert event.name == "one"
    assert event.note == (
        "Partition gpu, which application ns/app asks for, means nothing under the discipline Fair: its pods may go to any node. "
        "Partitions belong to the discipline Capacity; a nodeSelector holds under both"
    )
    scenario.pod("late", partition="gpu").plan()
    assert not [event for event in scenario.effects if isinstance(event, RecordEvent) and event.reason == "PartitionIgnored"]
    scenario.gone("one", "two", "three", "late")
    assert not scenario.core.state.reports.unheeded


def test_pods_that_name_a_pod_group_that_there_cannot_be_are_told_once_that_they_are_placed_one_by_one():
    scenario = Scenario().nodes().tell(PodGroupsServed("Volcano", served=False))
    for name in ("one", "two"):
        scenario.pod(name, gang="pg", gang_source="Volcano")
    scenario.pod("plain", application="other").plan()
    (event,) = (event for event in scenario.effects if isinstance(event, RecordEvent) and event.reason == "GangIgnored")
    assert event.name == "one"
    assert event.note == (
        "Pods of application ns/app name the PodGroup ns/pg of Volcano: the API server has no such kind, so each of its pods is placed as soon as there is "
        "room for it, whether there is for the others or not"
    )
    scenario.pod("late", gang="pg", gang_source="Volcano").plan()
    assert not [event for event in scenario.effects if isinstance(event, RecordEvent) and event.reason == "GangIgnored"]
    scenario.gone("one", "two", "late")
    assert not scenario.core.state.reports.ungrouped
