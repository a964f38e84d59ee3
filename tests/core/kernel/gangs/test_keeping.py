"""A large gang that is owed room starts in the end, though small pods take every gap; two gangs never wait for each other."""

from __future__ import annotations

from typing import Any

import pytest

from core.builders import Scenario, a_node, a_pod, replaced
from core.clusters import Cluster
from treadle.core.effects import Bind
from treadle.core.events import ApplicationSeen, BindDone, NodeSeen, PodGone, PodSeen
from treadle.core.model import ApplicationSpec, Constraints, GangSettings, GangSpec, PodRules, PodSpec, PodTerm, Requirement


def member(name: str, least: int, application: str = "big", gang: str = "w", **fields: Any) -> PodSpec:
    return a_pod(name, application=application, gang=gang, gang_minimums=((gang, least),), **fields)


class Churn:
    """Nodes on which small pods run that are replaced as soon as they end: there is never room for much at once."""

    def __init__(self, at: Scenario, nodes: int, cpu: int, **fields: Any) -> None:
        self.at, self.fields, self.made = at, fields, 0
        self.running: list[str] = []
        for number in range(nodes):
            at.tell(NodeSeen(a_node(f"n{number}", cpu=cpu)))
        self.refill(3 * nodes * cpu)
        self.step(0)

    def refill(self, count: int) -> None:
        for _ in range(count):
            self.made += 1
            self.at.tell(PodSeen(a_pod(f"s{self.made}", application=f"small{self.made % 5}", **self.fields)))

    def step(self, ends: int) -> list[str]:
        """Some of the small pods that have run longest end and as many come; returns what other pods were placed."""
        at = self.at
        for name in self.running[:ends]:
            at.tell(PodGone(name))
        del self.running[:ends]
        self.refill(ends)
        placed = [effect for effect in at.core.plan(at.now) if isinstance(effect, Bind)]
        for bind in placed:
            at.tell(BindDone(bind.uid))
        at.wait(1.0)
        self.running += [bind.uid for bind in placed if bind.uid.startswith("s")]
        return [bind.uid for bind in placed if not bind.uid.startswith("s")]


def capacity() -> Cluster:
    at = Cluster().capacity()
    at.share("root.a", "50%", user_limit_factor=-1).share("root.b", "50%", user_limit_factor=-1)
    return at


def fair() -> Scenario:
    return Scenario().queue("root.a").queue("root.b")


@pytest.mark.parametrize("make", [fair, capacity])
def test_a_gang_is_not_starved_by_small_pods(make: Any) -> None:
    at = make()
    churn = Churn(at, nodes=4, cpu=4, queue="root.b")
    at.tell(*(PodSeen(member(f"g{number}", 4, cpu=2, queue="root.a")) for number in range(4)))
    placed: list[str] = []
    for _ in range(60):
        placed += churn.step(1)
        if placed:
            break
    assert sorted(placed) == ["g0", "g1", "g2", "g3"], "all of it at once"
    assert not at.core.state.preemption.holds


@pytest.mark.parametrize("make", [fair, capacity])
def test_without_holds_it_would_be(make: Any) -> None:
    at = make()
    at.scheduler(
        discipline=at.core.state.scheduler.discipline,
        capacity=at.core.state.scheduler.capacity,
        gangs=GangSettings(hold_timeout=0.0),
    )
    churn = Churn(at, nodes=4, cpu=4, queue="root.b")
    at.tell(*(PodSeen(member(f"g{number}", 4, cpu=2, queue="root.a")) for number in range(4)))
    placed = [name for _ in range(60) for name in churn.step(1)]
    assert placed == []


@pytest.mark.parametrize("make", [fair, capacity])
def test_of_two_large_gangs_one_starts_and_then_the_other(make: Any) -> None:
    at = make()
    churn = Churn(at, nodes=4, cpu=4, queue="root.b")
    for gang in "xy":
        at.tell(*(PodSeen(member(f"{gang}{number}", 5, gang, cpu=2, queue="root.a")) for number in range(5)))
    started: list[str] = []
    for _ in range(200):
        placed = churn.step(1)
        if placed:
            assert len(placed) == 5
            started.append(placed[0][0])
            at.gone(*placed)
        if len(started) == 2:
            break
    assert sorted(started) == ["x", "y"]


def test_what_is_kept_is_said_and_given_up_when_its_time_is_up() -> None:
    at = fair().scheduler(gangs=GangSettings(hold_timeout=30.0))
    churn = Churn(at, nodes=2, cpu=4, queue="root.b")
    at.tell(*(PodSeen(member(f"g{number}", 4, cpu=2, queue="root.a")) for number in range(4)))
    for _ in range(20):
        churn.step(0)
    assert len(at.core.state.preemption.holds) == 4
    assert "Room for all 4 of them is kept until it has come, on 2 nodes" in at.why("g0")[1]
    for _ in range(30):
        churn.step(0)
    assert not at.core.state.preemption.holds
    assert at.core.state.gangs.left_alone
    for _ in range(35):
        churn.step(0)
    assert at.core.state.preemption.holds, "its turn comes again"


def test_others_fill_what_is_not_kept() -> None:
    at = fair()
    churn = Churn(at, nodes=3, cpu=4, queue="root.b")
    at.tell(*(PodSeen(member(f"g{number}", 2, cpu=4, queue="root.a")) for number in range(2)))
    for _ in range(15):
        churn.step(0)
    kept = {at.core.state.nodes.names[hold.row] for hold in at.core.state.preemption.holds}
    assert len(kept) == 2
    (other,) = {"n0", "n1", "n2"} - kept
    before = len(churn.running)
    ends = [name for name in churn.running if at.core.state.nodes.names[at.core.state.pods[name].node] == other][:2]
    churn.running = [*ends, *(name for name in churn.running if name not in ends)]
    churn.step(2)
    assert len(churn.running) == before


def test_the_rules_between_its_pods_hold_among_what_is_kept() -> None:
    alone = PodRules("ns", anti_affinity=(PodTerm("\0node", (Requirement("app", "In", ("x",)),), ("ns",)),))
    at = fair()
    churn = Churn(at, nodes=3, cpu=4, queue="root.b")
    rules = {"labels": (("app", "x"),), "constraints": Constraints(pods=alone)}
    at.tell(*(PodSeen(member(f"g{number}", 3, cpu=2, queue="root.a", **rules)) for number in range(3)))
    for _ in range(15):
        churn.step(0)
    assert len({hold.row for hold in at.core.state.preemption.holds}) == 3
    placed = [name for _ in range(30) for name in churn.step(1)]
    assert sorted(placed) == ["g0", "g1", "g2"]


def test_a_gang_that_needs_fewer_by_now_starts_without_waiting_for_all_that_was_kept() -> None:
    at = fair()
    churn = Churn(at, nodes=2, cpu=4, queue="root.b")
    at.tell(*(PodSeen(member(f"g{number}", 4, cpu=2, queue="root.a")) for number in range(4)))
    for _ in range(15):
        churn.step(0)
    assert at.core.state.preemption.holds
    churn.step(2)
    at.tell(ApplicationSeen(ApplicationSpec("ns/big", gangs=(GangSpec("w", 1),))))
    assert churn.step(0) == ["g0"]


def test_no_nodes_are_kept_for_a_gang_that_the_pods_of_others_leave_no_room_for() -> None:
    at = fair()
    for number in range(2):
        at.tell(PodSeen(replaced(a_pod(f"d{number}", scheduler="default-scheduler", cpu=2), node=f"n{number}")))
    churn = Churn(at, nodes=2, cpu=4, queue="root.b")
    at.tell(*(PodSeen(member(f"g{number}", 2, cpu=3, queue="root.a")) for number in range(2)))
    for _ in range(30):
        churn.step(0)
    assert not at.core.state.preemption.holds
    at.gone("d0", "d1")
    for _ in range(5):
        churn.step(0)
    assert len(at.core.state.preemption.holds) == 2


def test_a_gang_that_is_deleted_gives_back_what_is_kept() -> None:
    at = fair()
    churn = Churn(at, nodes=2, cpu=4, queue="root.b")
    at.tell(*(PodSeen(member(f"g{number}", 2, cpu=4, queue="root.a")) for number in range(2)))
    for _ in range(15):
        churn.step(0)
    assert at.core.state.preemption.holds
    at.gone("g0", "g1")
    churn.step(0)
    assert not at.core.state.preemption.holds
    assert not at.core.state.gangs.stuck
