"""PodGroup objects of other systems say how many pods start together."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from core.builders import Scenario, a_pod
from treadle.core.events import PodGroupGone, PodGroupSeen, PodGroupsServed, PodSeen
from treadle.core.model import PodGroupSpec
from treadle.core.model.gangs import KUBERNETES, PLUGINS, SOURCES, VOLCANO


def group(source: str, minimum: int | None, **fields: Any) -> PodGroupSeen:
    return PodGroupSeen(PodGroupSpec(source, "ns/g", minimum, **fields))


def come(at: Scenario, source: str, count: int, prefix: str = "p", **fields: Any) -> Scenario:
    return at.tell(*(PodSeen(a_pod(f"{prefix}-{number}", gang="g", gang_source=source, **fields)) for number in range(count)))


@pytest.mark.parametrize("source", SOURCES)
def test_pods_wait_for_their_group_and_start_with_its_minimum(source: str) -> None:
    at = come(Scenario().nodes(1, cpu=4).tell(PodGroupsServed(source, served=True)), source, 3)
    assert at.plan() == []
    reason, words = at.why("p-0")
    assert reason == "GangIncomplete"
    assert words == f"PodGroup ns/g of {source}, which says how many of its pods start together, is not there"
    at.tell(group(source, 4))
    assert at.plan() == []
    come(at, source, 1, "q")
    assert len(at.plan()) == 4


@pytest.mark.parametrize("source", [VOLCANO, PLUGINS])
def test_where_there_can_be_no_such_objects_pods_are_placed_one_by_one(source: str) -> None:
    at = come(Scenario().nodes(1, cpu=2), source, 3)
    assert at.plan() == [], "it is not known yet whether there are any"
    assert "PodGroups have not been listed" in at.why("p-0")[1]
    at.tell(PodGroupsServed(source, served=False))
    assert len(at.plan()) == 2
    at.tell(PodGroupsServed(source, served=True), group(source, 2))
    assert at.plan() == []
    assert at.why("p-2")[0] == "Unschedulable"


def test_kubernetes_own_group_is_waited_for_whether_its_kind_is_there_or_not() -> None:
    at = come(Scenario().nodes().tell(PodGroupsServed(KUBERNETES, served=False)), KUBERNETES, 2)
    assert at.plan() == []
    assert at.why("p-0")[0] == "GangIncomplete"


def test_a_group_without_a_gang_lets_its_pods_be_placed_one_by_one() -> None:
    at = come(Scenario().nodes(1, cpu=2).tell(PodGroupsServed(KUBERNETES, served=True), group(KUBERNETES, None)), KUBERNETES, 3)
    assert len(at.plan()) == 2


def test_an_edit_of_the_minimum_and_of_the_topology_holds_for_what_waits() -> None:
    at = come(Scenario().nodes(1, cpu=2).tell(PodGroupsServed(PLUGINS, served=True), group(PLUGINS, 3)), PLUGINS, 3)
    assert at.plan() == []
    at.tell(group(PLUGINS, 2, topology="rack"))
    assert at.plan() == [], "no node has a rack"
    at.tell(group(PLUGINS, 2))
    assert len(at.plan()) == 2


def test_a_group_that_is_deleted_is_waited_for_again() -> None:
    at = come(Scenario().nodes(1, cpu=2).tell(PodGroupsServed(VOLCANO, served=True), group(VOLCANO, 3)), VOLCANO, 3)
    at.plan()
    at.tell(PodGroupGone(VOLCANO, "ns/g")).nodes(1, "more", cpu=2)
    assert at.plan() == []
    assert at.why("p-0")[0] == "GangIncomplete"
    at.tell(group(VOLCANO, 3))
    assert len(at.plan()) == 3


def test_fields_that_are_not_acted_on_are_told_once() -> None:
    at = Scenario().nodes().tell(PodGroupsServed(VOLCANO, served=True), group(VOLCANO, 2, unheeded=("spec.minTaskMember",)))
    come(at, VOLCANO, 2).plan()
    (event,) = (effect for effect in at.effects if getattr(effect, "reason", "") == "GangIgnored")
    assert event.note == (
        "Pods of application ns/app name the PodGroup ns/g of Volcano: these fields are not acted on: spec.minTaskMember"
    )


def test_what_came_and_went_is_forgotten() -> None:
    at = come(Scenario().nodes().tell(PodGroupsServed(VOLCANO, served=True), group(VOLCANO, 2)), VOLCANO, 2)
    at.plan()
    at.gone("p-0", "p-1").tell(PodGroupGone(VOLCANO, "ns/g")).plan()
    gangs = at.core.state.gangs
    assert not any((gangs.users, gangs.groups, gangs.begun, gangs.complete, gangs.marked))


def test_a_new_core_is_told_of_the_groups() -> None:
    at = come(Scenario().nodes(1, cpu=1).tell(PodGroupsServed(PLUGINS, served=True), group(PLUGINS, 2)), PLUGINS, 2)
    at.plan()
    other = at.core.fresh()
    for event in at.core.facts():
        other.handle(event, at.now)
    other.plan(at.now)
    assert other.explain("p-0") == at.core.explain("p-0")


def queue_of(at: Scenario) -> str:
    queue = at.core.state.applications["ns/app"].queue
    return queue.path if queue is not None else ""


def two_queues() -> Scenario:
    return (
        Scenario()
        .queue("root.a")
        .queue("root.b")
        .queue("root.default")
        .nodes(1, cpu=4)
        .tell(PodGroupsServed(VOLCANO, served=True))
    )


@pytest.mark.parametrize("first", ["the group", "the pods"])
def test_pods_that_name_no_queue_go_to_the_one_that_their_group_names(first: str) -> None:
    at = two_queues()
    if first == "the group":
        at.tell(group(VOLCANO, 2, queue="root.b"))
    come(at, VOLCANO, 2)
    if first == "the pods":
        at.plan()
        assert queue_of(at) == "root.default"
        at.tell(group(VOLCANO, 2, queue="root.b"))
    assert len(at.plan()) == 2
    assert queue_of(at) == "root.b"


@pytest.mark.parametrize("order", list(itertools.permutations(("the group", "a plain pod", "a pod with a queue"))))
def test_the_queue_that_a_pod_names_goes_before_that_of_its_group(order: tuple[str, ...]) -> None:
    at = two_queues()
    for what in order:
        if what == "the group":
            at.tell(group(VOLCANO, 2, queue="root.b"))
        else:
            come(at, VOLCANO, 1, what.replace(" ", "-"), queue="root.a" if what == "a pod with a queue" else "")
        at.plan()
    assert queue_of(at) == "root.a"
    at.tell(group(VOLCANO, 2, queue="root.default"))
    at.plan()
    assert queue_of(at) == "root.a"


def test_an_application_follows_its_group_to_another_queue() -> None:
    at = come(two_queues().tell(group(VOLCANO, 2, queue="root.a")), VOLCANO, 2)
    assert len(at.plan()) == 2
    at.tell(group(VOLCANO, 2, queue="root.b"))
    at.plan()
    assert queue_of(at) == "root.b"
    at.tell(PodGroupGone(VOLCANO, "ns/g"))
    at.plan()
    assert queue_of(at) == "root.b", "nobody names another one"


def test_the_figures_of_a_group_tell_who_is_on_nodes_and_why_the_others_wait() -> None:
    at = come(Scenario().nodes(1, cpu=2).tell(PodGroupsServed(VOLCANO, served=True), group(VOLCANO, 3)), VOLCANO, 3)
    at.plan()
    (one,) = at.core.view.pod_groups()
    assert (one.source, one.id, one.minimum, one.pods, one.on_nodes, one.waits) == (VOLCANO, "ns/g", 3, 3, (), None)
    at.wait(4.0).plan()
    (one,) = at.core.view.pod_groups()
    assert one.waits is not None
    assert one.waits[0] == "Unschedulable"
    at.nodes(1, "more", cpu=2)
    binds = at.plan()
    assert next(iter(at.core.view.pod_groups())).on_nodes == (), "they are not bound yet"
    at.confirm(binds)
    assert sorted(next(iter(at.core.view.pod_groups())).on_nodes) == ["p-0", "p-1", "p-2"]


def test_a_group_whose_pods_belong_to_another_scheduler_has_none_of_ours() -> None:
    at = Scenario().tell(PodGroupsServed(VOLCANO, served=True), group(VOLCANO, 3))
    come(at, VOLCANO, 3, scheduler="volcano")
    at.plan()
    assert [one.pods for one in at.core.view.pod_groups()] == [0]
