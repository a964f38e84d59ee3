"""What is left of a gang does not hold room for ever, and a bind that fails takes back those that were not sent."""

from __future__ import annotations

from core.builders import Scenario, a_pod, replaced
from treadle.core.effects import Bind, Effect, Evict, Withhold
from treadle.core.events import BindFailed, EvictFailed, PodSeen
from treadle.core.model import GangSettings, PodSpec

SHORT = GangSettings(partial_timeout=60.0)


def member(name: str, least: int, **fields: object) -> PodSpec:
    return a_pod(name, application="big", gang="w", gang_minimums=(("w", least),), **fields)


def started(at: Scenario, count: int) -> Scenario:
    at.tell(*(PodSeen(member(f"w{number}", count)) for number in range(count)))
    return at.confirm(at.plan())


def evicted(at: Scenario, seconds: float) -> list[Evict]:
    at.wait(seconds).plan()
    return [effect for effect in at.effects if isinstance(effect, Evict)]


def lost_one(at: Scenario) -> None:
    """One of the gang is gone, another pod has its room, and the one in its place finds none."""
    at.gone("w0")
    at.pod("other", application="other")
    at.confirm(at.plan())
    at.tell(PodSeen(member("again", 3)))
    at.plan()
    assert at.why("again")[0] == "Unschedulable"


def test_what_is_left_of_a_gang_is_evicted_when_the_others_find_no_room_for_too_long() -> None:
    at = started(Scenario().scheduler(gangs=SHORT).nodes(1, cpu=3), 3)
    lost_one(at)
    assert evicted(at, 59) == []
    found = evicted(at, 1)
    assert sorted(effect.uid for effect in found) == ["w1", "w2"]
    assert found[0].why == (
        'gang "w" of application ns/big starts with 3 pods, 2 are left, and for the others there has been no room for 60 s'
    )
    assert all(at.core.view.is_victim(uid) for uid in ("w1", "w2"))
    at.gone("w1", "w2")
    at.tell(PodSeen(member("x", 3)), PodSeen(member("y", 3)))
    assert at.plan() == [], "they wait together again"
    at.gone("other")
    assert len(at.plan()) == 3


def test_room_that_comes_in_time_keeps_it() -> None:
    at = started(Scenario().scheduler(gangs=SHORT).nodes(1, cpu=3), 3)
    lost_one(at)
    at.wait(50).gone("other")
    assert [bind.uid for bind in at.plan()] == ["again"]
    assert evicted(at, 100) == []


def test_a_pod_that_a_budget_keeps_is_asked_again_later() -> None:
    at = started(Scenario().scheduler(gangs=SHORT).nodes(1, cpu=3), 3)
    lost_one(at)
    assert len(evicted(at, 60)) == 2
    at.tell(EvictFailed("w1", "a budget"))
    assert evicted(at, 1) == []
    assert {effect.uid for effect in evicted(at, 60)} == {"w1", "w2"}


def test_pods_that_have_ended_and_do_not_come_again_are_not_missed() -> None:
    at = started(Scenario().scheduler(gangs=SHORT).nodes(1, cpu=3), 3)
    at.gone("w0", "w1")
    assert evicted(at, 500) == []


def test_without_a_time_what_is_left_stays() -> None:
    at = started(Scenario().scheduler(gangs=GangSettings(partial_timeout=0.0)).nodes(1, cpu=3), 3)
    lost_one(at)
    assert evicted(at, 10_000) == []


def test_after_a_restart_in_the_middle_of_a_start_the_time_begins_anew() -> None:
    at = Scenario().scheduler(gangs=SHORT).nodes(1, cpu=3)
    at.pod("other", application="other")
    at.confirm(at.plan())
    at.tell(*(PodSeen(replaced(member(f"w{number}", 3), node="node-0")) for number in range(2)), PodSeen(member("w2", 3)))
    at.plan()
    assert sorted(effect.uid for effect in evicted(at, 61)) == ["w0", "w1"]


def withheld(effects: list[Effect]) -> set[str]:
    return {uid for effect in effects if isinstance(effect, Withhold) for uid in effect.uids}


def test_a_bind_that_fails_takes_back_those_of_its_gang_that_were_not_sent_and_they_start_together_again() -> None:
    at = Scenario().nodes(1, cpu=4)
    at.tell(*(PodSeen(member(f"w{number}", 4)) for number in range(4)))
    binds = at.plan()
    at.confirm(binds[:1])
    at.fail(binds[1])
    at.plan()
    assert withheld(at.effects) == {"w2", "w3"}
    at.tell(*(BindFailed(uid, "transient", "not sent") for uid in ("w2", "w3")))
    assert at.plan() == []
    again = [bind.uid for _ in range(3) for bind in at.wait(0.5).plan() if isinstance(bind, Bind)]
    assert sorted(again) == ["w1", "w2", "w3"]


def test_pods_beyond_the_minimum_are_not_taken_back() -> None:
    at = started(Scenario().nodes(1, cpu=8), 2)
    at.tell(PodSeen(member("more", 2)), PodSeen(member("most", 2)))
    binds = at.plan()
    at.fail(binds[0])
    at.plan()
    assert withheld(at.effects) == set()
