"""Limits on what one namespace may have: beyond them applications wait outside of every queue, and come in as others start or go."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.builders import Scenario, a_pod, replaced
from examples import examples
from treadle.core.events import PodSeen
from treadle.core.model import PlacementRule
from treadle.core.model.capacity import CapacityQueueSpec, FlexibleCreation
from treadle.core.model.scheduler import CAPACITY, FAIR, NamespaceLimits

BOTH = pytest.mark.parametrize("discipline", [FAIR, CAPACITY])


def cluster(discipline: str = FAIR, cpu: int = 1, **limits: int) -> Scenario:
    return Scenario().scheduler(discipline=discipline, namespace_limits=NamespaceLimits(**limits)).nodes(1, cpu=cpu, memory=64)


def pod(scenario: Scenario, name: str, namespace: str = "ns", queue: str = "", application: str = "", **fields: Any) -> None:
    spec = replaced(a_pod(name, queue, namespace=namespace, **fields), application=f"{namespace}/{application or name}")
    scenario.tell(PodSeen(spec))


def in_queues(scenario: Scenario, namespace: str = "ns") -> set[str]:
    return {
        application.id.partition("/")[2]
        for application in scenario.core.state.applications.values()
        if application.queue is not None and application.id.startswith(f"{namespace}/")
    }


@BOTH
def test_applications_beyond_the_limit_wait_with_a_reason_and_come_in_as_others_start(discipline: str) -> None:
    scenario = cluster(discipline, applications=2)
    for number in range(5):
        pod(scenario, f"p{number}", created=number)
    pod(scenario, "other", "elsewhere", created=9)
    assert in_queues(scenario) == {"p0", "p1"}
    assert in_queues(scenario, "elsewhere") == {"other"}, "another namespace has limits of its own"
    words = "as many applications of namespace ns wait in queues as may: 2 (spec.namespaceLimits.waitingApplications of the Scheduler)"
    assert scenario.why("p4") == ("TooManyWaiting", words)

    scenario.confirm(scenario.plan())
    scenario.wait(1).plan()
    assert in_queues(scenario) == {"p0", "p1", "p2"}, "p0 has started"
    scenario.gone("p1").wait(1).plan()
    assert in_queues(scenario) == {"p0", "p2", "p3"}
    scenario.everybody_says_why()


@BOTH
def test_pods_of_an_application_that_is_in_all_count_and_no_further_application_comes_in(discipline: str) -> None:
    scenario = cluster(discipline, pods=3)
    for number in range(5):
        pod(scenario, f"big-{number}", application="big")
    scenario.plan()
    assert in_queues(scenario) == {"big"}
    pod(scenario, "late")
    scenario.wait(1).plan()
    assert scenario.why("late")[1].startswith("as many pods of namespace ns wait in queues as may: 3 (")
    scenario.gone("big-1", "big-2").wait(1).plan()
    assert in_queues(scenario) == {"big", "late"}


@BOTH
def test_without_limits_and_with_higher_ones_everybody_comes_in(discipline: str) -> None:
    scenario = cluster(discipline, applications=1)
    for number in range(4):
        pod(scenario, f"p{number}")
    assert in_queues(scenario) == {"p0"}
    scenario.scheduler(discipline=discipline, namespace_limits=NamespaceLimits(applications=2)).wait(1).plan()
    scenario.wait(1).plan()
    assert len(in_queues(scenario)) == 3, "one runs, two wait"
    scenario.scheduler(discipline=discipline).wait(1).plan()
    assert in_queues(scenario) == {"p0", "p1", "p2", "p3"}


def test_what_runs_after_a_restart_is_held_off_by_no_limit() -> None:
    scenario = cluster(cpu=8, applications=1, queues=1).scheduler(
        rules=(PlacementRule("specified"), PlacementRule("default")), namespace_limits=NamespaceLimits(1, 1, 1)
    )
    for number in range(3):
        pod(scenario, f"p{number}", queue=f"root.q{number}", node="node-0", held_in=f"root.q{number}")
    assert in_queues(scenario) == {"p0", "p1", "p2"}
    pod(scenario, "new", queue="root.new")
    assert scenario.plan() == []
    assert scenario.why("new")[0] == "TooManyQueues", "and their queues count"


def test_a_namespace_makes_no_more_queues_than_it_may_under_placement_rules() -> None:
    rules = (PlacementRule("specified"), PlacementRule("default"))
    scenario = cluster(cpu=8).scheduler(rules=rules, namespace_limits=NamespaceLimits(queues=2))
    for number in range(4):
        pod(scenario, f"p{number}", queue=f"root.q{number}")
    pod(scenario, "again", queue="root.q1")
    pod(scenario, "other", "elsewhere", "root.q9")
    assert {bind.queue for bind in scenario.plan()} == {"root.q0", "root.q1", "root.q9"}
    words = "queue root.q3 is not made: 2 were made for namespace ns, and 2 may (spec.namespaceLimits.queues of the Scheduler)"
    assert scenario.why("p3") == ("TooManyQueues", words)

    scenario.queue("root.q2", holds_queues=False).plan()
    assert in_queues(scenario) == {"p0", "p1", "again", "p2"}, "a queue that is defined needs not be made"


def test_who_waits_for_a_queue_gets_it_when_the_limit_is_raised_or_somebody_else_makes_it() -> None:
    rules = (PlacementRule("specified"), PlacementRule("default"))
    scenario = cluster(cpu=8).scheduler(rules=rules, namespace_limits=NamespaceLimits(queues=1))
    for number in range(4):
        pod(scenario, f"p{number}", queue=f"root.q{number}")
    scenario.confirm(scenario.plan())
    pod(scenario, "other", "elsewhere", "root.q1")
    scenario.confirm(scenario.plan())
    scenario.wait(1).plan()
    assert in_queues(scenario) == {"p0", "p1"}, "root.q1 is there"
    scenario.scheduler(rules=rules, namespace_limits=NamespaceLimits(queues=2)).wait(1).plan()
    assert in_queues(scenario) == {"p0", "p1", "p2"}
    scenario.scheduler(rules=rules).wait(1).plan()
    assert in_queues(scenario) == {"p0", "p1", "p2", "p3"}


def test_queues_that_are_made_by_edits_of_what_waits_count_as_well() -> None:
    rules = (PlacementRule("specified"), PlacementRule("default"))
    scenario = cluster(cpu=1).scheduler(rules=rules, namespace_limits=NamespaceLimits(queues=3))
    for number in range(8):
        scenario.application(f"p{number}", "root.first")
        pod(scenario, f"p{number}", cpu=4)
    scenario.plan()
    for number in range(8):
        scenario.application(f"p{number}", f"root.q{number}").plan()
    made = [path for path in scenario.core.state.tree.queues if path.startswith("root.q")]
    assert len(made) <= 3


def test_a_namespace_makes_no_more_queues_than_it_may_under_templates() -> None:
    scenario = cluster(CAPACITY, cpu=8, queues=2)
    scenario.queue("root", holds_queues=True, capacity=CapacityQueueSpec("root", flexible=FlexibleCreation(enabled=True)))
    for number in range(4):
        pod(scenario, f"p{number}", queue=f"root.q{number}")
    assert {bind.queue for bind in scenario.plan()} == {"root.q0", "root.q1"}
    assert scenario.why("p3")[0] == "TooManyQueues"


@given(
    most=st.integers(1, 4),
    steps=st.lists(
        st.one_of(
            st.tuples(st.just("come"), st.sampled_from(["a", "b"])),
            st.tuples(st.just("go"), st.integers(0, 30)),
            st.tuples(st.just("pass"), st.booleans()),
        ),
        max_size=40,
    ),
)
@settings(max_examples=examples(60), deadline=None)
def test_nobody_waits_for_ever_and_no_more_come_in_than_may(most: int, steps: list[tuple[str, Any]]) -> None:
    scenario = cluster(cpu=2, applications=most)
    names: list[str] = []
    for step, what in steps:
        if step == "come":
            names.append(f"p{len(names)}")
            pod(scenario, names[-1], what, created=len(names))
        elif step == "go" and names:
            scenario.gone(names.pop(what % len(names)))
        else:
            scenario.wait(1).confirm(scenario.plan())
    for _ in range(2 * len(names) + 2):
        scenario.wait(1).confirm(scenario.plan())
        for namespace in ("a", "b"):
            waiting = [
                one
                for one in in_queues(scenario, namespace)
                if not scenario.core.state.applications[f"{namespace}/{one}"].allocated
            ]
            assert len(waiting) <= most
        running = [uid for uid, record in scenario.core.state.pods.items() if record.spec.node]
        scenario.gone(*running)
    assert not scenario.core.state.pods, "everybody had a turn"
