"""What would be if is what then is: a core that goes on, with the pods or the edit that were asked about, places and preempts the same."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.builders import Scenario, a_pod, limits
from core.clusters import Cluster, Preempting
from treadle.controllers.capacity import capacity as read
from treadle.core.effects import Bind, Evict
from treadle.core.events import BindDone, Event, PodGone, PodSeen, QueueGone, QueueSeen
from treadle.core.model import PodSpec, QueueSpec, Settings
from treadle.core.model.capacity import CapacityQueueSpec, PartitionShare
from treadle.core.model.fair import FairSettings
from treadle.forecast.forward import Bounds
from treadle.forecast.what_if import Answer, Question, answer

LEAVES = ("root.a", "root.b.x", "root.b.y")


class Reality:
    """A core that goes on after the same facts, in a cluster in which binds succeed and who is asked to go goes at once, and another like it waits instead."""

    def __init__(self, scenario: Scenario, *events: Event) -> None:
        self.core, self.now = scenario.core.fresh(), scenario.now
        self.pods: dict[str, PodSpec] = {}
        self.placed: dict[str, str] = {}
        self.evicted: set[str] = set()
        for event in (*scenario.core.facts(), *events):
            self.tell(event)

    def tell(self, event: Event) -> None:
        if isinstance(event, PodSeen):
            self.pods[event.pod.uid] = event.pod
        self.core.handle(event, self.now)

    def look(self) -> bool:
        moved = False
        for effect in self.core.plan(self.now):
            if isinstance(effect, Bind):
                self.placed.setdefault(effect.uid, effect.node)
                self.tell(BindDone(effect.uid))
                pod = replace(self.pods[effect.uid], node=effect.node, held_in=effect.queue)
            elif isinstance(effect, Evict):
                self.evicted.add(effect.uid)
                self.tell(PodGone(effect.uid))
                pod = replace(self.pods.pop(effect.uid), uid=f"{effect.uid}~", node="", held_in="")
            else:
                continue
            self.tell(PodSeen(pod))
            moved = True
        return moved

    def go_on(self, seconds: float) -> Reality:
        """Let time pass, a quarter of a second after the other."""
        end = self.now + seconds
        while True:
            while self.look():
                pass
            if self.now >= end:
                return self
            self.now += 0.25


def would(scenario: Scenario, question: Question, **bounds: Any) -> Answer:
    return answer(
        scenario.core.facts(), Settings(), scenario.now, question, Bounds(max(question.seconds, 0.001), coarseness=0.0, **bounds)
    )


def agrees(scenario: Scenario, question: Question) -> Answer:
    """Look ahead, and see what then is with what was asked about and without."""
    found = would(scenario, question)
    events = (*question.edits, *map(PodSeen, question.pods))
    with_it = Reality(scenario, *events).go_on(question.seconds)
    without = Reality(scenario).go_on(question.seconds)
    asked = {pod.uid for pod in question.pods}
    placed = {uid: node for uid, node in with_it.placed.items() if uid in asked or (uid not in without.placed and "~" not in uid)}
    assert {line.name: line.node for line in found.placed} == placed
    evicted = {uid for uid in with_it.evicted - without.evicted if "~" not in uid}
    assert {line.name for line in found.preempted} == evicted
    left = {
        uid for uid, pod in with_it.pods.items() if not pod.node and (uid in asked or uid in without.placed) and "~" not in uid
    }
    assert {line.name for line in found.waiting} == left - set(placed)
    return found


def fair() -> Scenario:
    s = Scenario()
    return s.queue("root.a", weight=2.0).queue("root.b").queue("root.b.x", policy="fifo", maximum=limits(cpu=5)).queue("root.b.y")


def capacity() -> Scenario:
    s = Cluster().capacity().share("root.a", "40%").share("root.b", "60%")
    return s.share("root.b.x", "50%", "80%").share("root.b.y", "50%")


some = st.tuples(st.sampled_from(LEAVES), st.integers(0, 3), st.integers(1, 3), st.integers(0, 2))
states = st.lists(some, max_size=14)


def pods(found: list[tuple[str, int, int, int]], prefix: str, since: float = 1.0) -> tuple[PodSpec, ...]:
    return tuple(
        a_pod(f"{prefix}-{number}", queue, f"{queue}-{application}", cpu=cpu, priority=priority, created=since)
        for number, (queue, application, cpu, priority) in enumerate(found)
    )


def running(made: Any, found: list[tuple[str, int, int, int]], nodes: int) -> Scenario:
    """A cluster in which pods have come and what had room for runs."""
    s: Scenario = made().wait(1000.0).nodes(nodes, cpu=4)
    s.core.validate = False
    s.tell(*map(PodSeen, pods(found, "old"))).wait(1.0)
    while binds := s.plan():
        s.confirm(binds)
    return s


@pytest.mark.parametrize("made", [fair, capacity])
@settings(max_examples=40)
@given(found=states, coming=st.lists(some, min_size=1, max_size=4), nodes=st.integers(1, 4))
def test_pods_would_be_placed_where_a_core_that_goes_on_places_them(
    made: Any, found: list[Any], coming: list[Any], nodes: int
) -> None:
    s = running(made, found, nodes)
    agrees(s, Question(pods(coming, "new", 2.0), seconds=5.0))


@settings(max_examples=40)
@given(found=states, nodes=st.integers(1, 4), weight=st.sampled_from((0.5, 5.0)), most=st.integers(0, 12), gone=st.booleans())
def test_an_edit_would_place_and_hold_back_what_a_core_that_goes_on_does(
    found: list[Any], nodes: int, weight: float, most: int, gone: bool
) -> None:
    s = running(fair, found, nodes)
    edits: tuple[Event, ...] = (
        QueueSeen(QueueSpec("root.b.x", weight=weight, maximum=limits(cpu=most))),
        QueueSeen(QueueSpec("root.a", maximum=limits(cpu=most))),
        *((QueueGone("root.b.y"),) if gone else ()),
    )
    agrees(s, Question((), edits, ("root.b.x", "root.a"), 5.0))


@settings(max_examples=30)
@given(
    there=st.lists(st.tuples(st.sampled_from(("root.a", "root.b")), st.integers(1, 2)), min_size=6, max_size=12),
    coming=st.integers(1, 4),
    cpu=st.integers(1, 2),
)
def test_who_would_be_asked_to_go_is_asked_to_go(there: list[tuple[str, int]], coming: int, cpu: int) -> None:
    s: Scenario = Preempting().preempting().share("root.a", "50%", "100%").share("root.b", "50%", "100%")
    s.wait(1000.0).nodes(2, cpu=6)
    s.core.validate = False
    s.tell(*(PodSeen(a_pod(f"old-{n}", queue, f"{queue}-old", cpu=size)) for n, (queue, size) in enumerate(there))).wait(1.0)
    while binds := s.plan():
        s.confirm(binds)
    asked = tuple(a_pod(f"new-{n}", "root.b", "new", cpu=cpu, created=5.0) for n in range(coming))
    agrees(s, Question(asked, seconds=40.0))


def starving() -> Scenario:
    """Under the fair discipline a has the whole node of b, which may preempt after ten seconds."""
    s = Scenario().scheduler(fair=FairSettings(preemption=True, utilization_threshold=0.0, wait_before_kill=5.0))
    s.queue("root.a").queue("root.b", minimum=limits(cpu=2), min_share_timeout=10.0)
    s.wait(1000.0).node("n", cpu=4).pods(4, "a", "root.a", application="a").wait(1.0)
    while binds := s.plan():
        s.confirm(binds)
    return s


def test_a_pod_says_for_whom_others_would_go_and_after_how_long() -> None:
    s = starving()
    found = agrees(s, Question((a_pod("new", "root.b", "b", cpu=2),), seconds=60.0))
    assert [(line.name, line.node, line.asked) for line in found.placed] == [("new", "n", True)]
    assert 10.0 <= found.placed[0].after <= 30.0
    assert len(found.preempted) == 2
    assert {(line.queue, line.words[0], bool(line.words[1])) for line in found.preempted} == {("root.a", "Preempted", True)}
    soon = would(s, Question((a_pod("new", "root.b", "b", cpu=2),), seconds=5.0))
    assert (soon.placed, soon.preempted, [line.name for line in soon.waiting]) == ([], [], ["new"])
    assert soon.waiting[0].words[0] == "Unschedulable"


def test_pods_that_are_not_placed_for_it_any_more_are_told_as_well() -> None:
    s = Scenario().queue("root.a").wait(10.0).node("n", cpu=2)
    s.pod("old", "root.a", cpu=2, priority=1)
    found = agrees(s, Question((a_pod("new", "root.a", "app", cpu=2, priority=2),), seconds=0.0))
    assert [line.name for line in found.placed] == ["new"]
    assert [(line.name, line.asked, line.words[0]) for line in found.waiting] == [("old", False, "Unschedulable")]


def test_what_starts_or_waits_anyway_is_not_told() -> None:
    s = Scenario().queue("root.a").wait(10.0).node("n", cpu=3).pod("old", "root.a").pod("large", "root.a", cpu=9)
    found = agrees(s, Question((a_pod("new", "root.a"),), seconds=0.0))
    assert ([line.name for line in found.placed], found.waiting) == (["new"], [])


def test_a_pod_that_may_not_start_waits_with_its_reason() -> None:
    s = Scenario().queue("root.a").wait(10.0).node("n", cpu=2)
    found = would(s, Question((a_pod("new", "root.a", gated=True),), seconds=0.0))
    assert [(line.name, line.words[0]) for line in found.waiting] == [("new", "SchedulingGated")]


def test_a_queue_that_would_not_be_in_force_is_told_with_why() -> None:
    s = Scenario().queue("root.a").wait(10.0).node("n", cpu=2)
    edit = QueueSeen(QueueSpec("root.a", policy="nothing"))
    found = would(s, Question((), (edit,), ("root.a",), 0.0))
    ((path, why),) = found.not_in_force
    assert (path, "nothing" in why) == ("root.a", True)


def test_what_bound_was_met_before_all_is_known_is_said() -> None:
    s = Scenario().queue("root.a").wait(10.0).node("n", cpu=2)
    asked = Question(tuple(a_pod(f"new-{n}", "root.a") for n in range(6)), seconds=10.0)
    assert would(s, asked, decisions=1).stopped == "decisions"
    assert would(s, asked).stopped == ""
    s = starving()
    asked = Question((a_pod("new", "root.b", "b", cpu=2),), seconds=60.0)
    assert answer(s.core.facts(), Settings(), s.now, asked, Bounds(60.0), lambda: True).stopped == "time"


def test_the_core_that_told_the_facts_is_not_touched() -> None:
    s = running(fair, [("root.a", 0, 1, 0)], 1)
    before = s.core.facts()
    would(s, Question((a_pod("new", "root.a"),), seconds=30.0))
    assert s.core.facts() == before


def capacities(**shares: str) -> tuple[Event, ...]:
    return tuple(
        QueueSeen(
            QueueSpec(
                f"root.{name}",
                capacity=CapacityQueueSpec(
                    f"root.{name}", partitions={"": PartitionShare(read("guaranteed", share))}, user_limit_factor=-1
                ),
            )
        )
        for name, share in shares.items()
    )


@settings(max_examples=15)
@given(running=st.integers(6, 12), waiting=st.integers(1, 6), share=st.sampled_from((20, 50, 80)))
def test_an_edit_of_shares_would_preempt_whom_it_then_preempts(running: int, waiting: int, share: int) -> None:
    s: Scenario = Preempting().preempting().share("root.a", "90%").share("root.b", "10%")
    s.wait(1000.0).nodes(2, cpu=6)
    s.core.validate = False
    s.pods(running, "a", "root.a", application="a").wait(1.0)
    while binds := s.plan():
        s.confirm(binds)
    s.pods(waiting, "b", "root.b", application="b")
    found = agrees(s, Question((), capacities(a=f"{100 - share}%", b=f"{share}%"), ("root.a", "root.b"), 60.0))
    assert found.not_in_force == []


def test_an_edit_of_shares_says_who_would_go_and_who_would_come_instead() -> None:
    s: Scenario = Preempting().preempting().share("root.a", "90%").share("root.b", "10%")
    s.wait(1000.0).nodes(1, cpu=10)
    s.pods(10, "a", "root.a", application="a").wait(1.0)
    s.confirm(s.plan()).pods(8, "b", "root.b", application="b")
    found = agrees(s, Question((), capacities(a="50%", b="50%"), ("root.a", "root.b"), 60.0))
    assert {line.queue for line in found.preempted} == {"root.a"}
    assert {line.queue for line in found.placed} == {"root.b"}
    assert len(found.preempted) == len(found.placed) == 4
