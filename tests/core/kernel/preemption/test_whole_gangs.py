"""Room is made for a whole gang or for none of it, under either discipline."""

from __future__ import annotations

from typing import Any

import pytest

from core.builders import Scenario, a_node, a_pod, replaced
from core.clusters import Preempting
from treadle.core.effects import Bind, Evict
from treadle.core.events import EvictFailed, NodeSeen, PodSeen
from treadle.core.model import Constraints, FairSettings, GangSettings, PodRules, PodSpec, PodTerm, Requirement

NO_HOLDS = GangSettings(hold_timeout=0.0)


def fair() -> Scenario:
    settings = FairSettings(preemption=True, fair_share_timeout=5.0, fair_share_threshold=1.0)
    return Scenario().scheduler(fair=settings, gangs=NO_HOLDS).queue("root.hog").queue("root.starved")


def capacity() -> Scenario:
    return Preempting().preempting(per_round=1.0).share("root.hog", "50%").share("root.starved", "50%")


def member(name: str, least: int, **fields: Any) -> PodSpec:
    return a_pod(name, "root.starved", application="big", gang="w", gang_minimums=(("w", least),), **fields)


def hogged(at: Scenario, nodes: int = 3, cpu: int = 4, **hog: Any) -> Scenario:
    for number in range(nodes):
        at.tell(NodeSeen(a_node(f"n{number}", cpu=cpu, labels={"host": f"n{number}"})))
    at.pods(nodes * cpu, "hog", "root.hog", "hog", **hog)
    return at.confirm(at.plan())


def run(at: Scenario, seconds: int, leave: bool = True) -> tuple[list[str], list[str]]:
    """Let time go by; those who are asked to go do. Returns who was, and what was placed for the gang."""
    asked: list[str] = []
    placed: list[str] = []
    for _ in range(seconds):
        at.wait(1.0)
        binds = at.plan()
        placed += [bind.uid for bind in binds if isinstance(bind, Bind) and not bind.uid.startswith("hog")]
        evicted = [effect.uid for effect in at.effects if isinstance(effect, Evict)]
        at.confirm(binds)
        asked += evicted
        if leave and evicted:
            for uid in evicted:
                at.tell(PodSeen(replaced(at.core.state.pods[uid].spec, deleting=True)))
            at.gone(*evicted)
    return asked, placed


@pytest.mark.parametrize("make", [fair, capacity])
def test_all_who_are_in_its_way_go_and_all_of_it_starts(make: Any) -> None:
    at = hogged(make())
    at.tell(*(PodSeen(member(f"g{number}", 3, cpu=2)) for number in range(3)))
    asked, placed = run(at, 40)
    assert len(asked) == 6
    assert sorted(placed) == ["g0", "g1", "g2"]
    assert not at.core.state.preemption.holds
    searches, victims = at.core.view.preemptions
    assert victims == {6: 1}, "those who go for a gang are counted as its victims together"
    assert searches >= 1


@pytest.mark.parametrize("make", [fair, capacity])
def test_who_cannot_have_room_for_all_has_none_made(make: Any) -> None:
    """More than its queue is owed: nobody goes for a part of it."""
    at = hogged(make())
    at.tell(*(PodSeen(member(f"g{number}", 4, cpu=2)) for number in range(4)))
    asked, placed = run(at, 40)
    assert asked == []
    assert placed == []
    assert at.core.view.preemptions[1] == {}
    at.tell(*(PodSeen(a_pod(f"one{number}", "root.starved", application="one")) for number in range(2)))
    assert len(run(at, 40)[0]) == 2, "others of the queue are helped"


@pytest.mark.parametrize("make", [fair, capacity])
def test_nobody_goes_where_the_pods_of_the_gang_could_not_be_together(make: Any) -> None:
    alone = PodRules("ns", anti_affinity=(PodTerm("host", (Requirement("app", "In", ("x",)),), ("ns",)),))
    rules = {"labels": (("app", "x"),), "constraints": Constraints(pods=alone)}
    at = hogged(make(), nodes=3)
    at.tell(*(PodSeen(member(f"g{number}", 4, **rules)) for number in range(4)))
    assert run(at, 40) == ([], []), "four apart on three nodes"
    at.tell(NodeSeen(a_node("n3", cpu=4, labels={"host": "n3"})))
    at.pods(4, "hog-more", "root.hog", "hog")
    at.confirm(at.plan())
    asked, placed = run(at, 40)
    assert len(asked) in {3, 4}
    assert len(placed) == 4
    assert len({at.core.state.pods[uid].node for uid in placed}) == 4


@pytest.mark.parametrize("make", [fair, capacity])
def test_a_victim_that_stays_gives_up_the_room_of_all(make: Any) -> None:
    at = hogged(make())
    at.tell(*(PodSeen(member(f"g{number}", 3, cpu=2)) for number in range(3)))
    asked: list[str] = []
    for _ in range(30):
        asked += run(at, 1, leave=False)[0]
        if asked:
            break
    assert len([hold for hold in at.core.state.preemption.holds if hold.gang[1]]) == 3
    at.tell(EvictFailed(asked[0], "a budget"))
    assert not at.core.state.preemption.holds


@pytest.mark.parametrize("make", [fair, capacity])
def test_what_is_kept_for_a_gang_already_is_made_good_by_victims(make: Any) -> None:
    at = make()
    at.scheduler(
        discipline=at.core.state.scheduler.discipline,
        fair=at.core.state.scheduler.fair,
        capacity=at.core.state.scheduler.capacity,
        gangs=GangSettings(),
    )
    hogged(at)
    at.tell(*(PodSeen(member(f"g{number}", 3, cpu=2)) for number in range(3)))
    asked, placed = run(at, 60)
    assert len(asked) == 6
    assert sorted(placed) == ["g0", "g1", "g2"]
