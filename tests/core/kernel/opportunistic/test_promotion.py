"""Pods on nodes change their execution type: guaranteed where there is room for it, opportunistic at once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.builders import GIB, Scenario, a_pod
from core.kernel.opportunistic.idle_pods import bound, evicted, idle, seen
from treadle.core.effects import RecordEvent, Resize
from treadle.core.events import BindDone, PodSeen, ResizeDone, ResizeFailed
from treadle.core.kernel.opportunistic.promotion import AGAIN, INTERVAL, LOOKS, OVERDUE, REFUSED_AGAIN
from treadle.core.model import Limit, PodSpec

WANTED = (("cpu", 1000), ("memory", GIB))


def running(scenario: Scenario, name: str) -> PodSpec:
    return scenario.core.state.pods[name].spec


def asks(scenario: Scenario, name: str) -> Scenario:
    """Its owner edits the label."""
    return scenario.tell(PodSeen(replace(running(scenario, name), promotes=WANTED)))


def shown(scenario: Scenario, spec: PodSpec) -> Scenario:
    """The API shows what was decided."""
    done = replace(spec, promotes=(), opportunistic=(), demand=(*WANTED, ("pods", 1)))
    return scenario.tell(PodSeen(done))


def resizes(scenario: Scenario) -> list[tuple[str, bool]]:
    scenario.plan()
    return [(effect.uid, effect.guaranteed) for effect in scenario.effects if isinstance(effect, Resize)]


def told(scenario: Scenario) -> list[tuple[str, str]]:
    return [(effect.reason, effect.note) for effect in scenario.effects if isinstance(effect, RecordEvent)]


def used(scenario: Scenario, path: str = "root.a") -> list[int]:
    return list(scenario.core.state.tree.queues[path].usage)


def restarted(scenario: Scenario) -> Scenario:
    """Another core, that is told what this one knows."""
    found = Scenario().wait(scenario.now)
    return found.tell(*scenario.core.facts())


def one(cpu: int = 4, **queue: object) -> Scenario:
    scenario = Scenario().queue("root.a", **queue).nodes(1, cpu=cpu, memory=64)
    bound(seen(scenario, idle("o", "root.a")))
    return scenario


def test_a_pod_that_asks_is_guaranteed_from_the_decision_on() -> None:
    scenario = asks(one(), "o")
    before = replace(running(scenario, "o"))
    assert resizes(scenario) == [("o", True)]
    assert used(scenario)[:3] == [GIB, 1000, 1]
    assert scenario.core.state.opportunistic.of == {}
    scenario.tell(PodSeen(before))  # some other edit, before the API shows it
    assert used(scenario)[:2] == [GIB, 1000]
    scenario.tell(ResizeDone("o", guaranteed=True))
    assert resizes(scenario) == []
    assert told(scenario) == [("Promoted", "It is guaranteed from now on and requests cpu=1, memory=1Gi")]
    shown(scenario, before).wait(OVERDUE + 1)
    assert resizes(scenario) == []
    assert used(scenario)[:2] == [GIB, 1000]
    assert scenario.core.state.opportunistic.turning.until == {}


def test_it_goes_before_new_pods_on_its_node() -> None:
    scenario = asks(one(cpu=1), "o").pod("new", "root.a", cpu=1)
    assert scenario.plan() == []
    assert [effect.uid for effect in scenario.effects if isinstance(effect, Resize)] == ["o"]
    assert evicted(scenario) == []


def test_it_waits_for_room_on_its_node_and_is_told_once() -> None:
    scenario = one().pod("g", "root.a", cpu=3)
    scenario.plan()
    scenario.pod("h", "root.a", cpu=1)
    bound(scenario)  # takes the room of the other, which stays for now
    asks(scenario.wait(5), "o")
    assert resizes(scenario) == []
    assert told(scenario) == [
        ("PromotionWaits", "It stays opportunistic for now: node node-0 has only cpu=0 of 1 that no pod requests")
    ]
    assert resizes(scenario.wait(5)) == []
    assert told(scenario) == []
    scenario.gone("h")
    assert resizes(scenario.wait(5)) == [("o", True)]


def test_a_queue_at_its_maximum_is_named() -> None:
    scenario = one(maximum={"cpu": Limit(1000)}).pod("g", "root.a", cpu=1)
    bound(scenario)
    assert resizes(asks(scenario.wait(5), "o")) == []
    assert told(scenario) == [("PromotionWaits", "It stays opportunistic for now: queue root.a is at its maximum of cpu")]
    scenario.gone("g")
    assert resizes(scenario.wait(5)) == [("o", True)]


@pytest.mark.parametrize(("refused", "after"), [(False, AGAIN), (True, REFUSED_AGAIN)])
def test_what_cannot_be_changed_stays_what_it_is_and_is_tried_again(refused: bool, after: float) -> None:
    scenario = asks(one(), "o")
    assert resizes(scenario) == [("o", True)]
    scenario.tell(ResizeFailed("o", "422 no", refused))
    assert used(scenario)[:2] == [0, 0]
    assert set(scenario.core.state.opportunistic.of) == {"o"}
    assert resizes(scenario) == []
    note = "It stays opportunistic: its requests cannot be changed: 422 no"
    assert told(scenario) == ([("ResizeRefused", note)] if refused else [])
    assert resizes(scenario.wait(after - 1)) == []
    assert resizes(scenario.wait(2)) == [("o", True)]


def test_one_of_which_nothing_is_heard_is_asked_for_again() -> None:
    scenario = asks(one(), "o")
    resizes(scenario)
    assert resizes(scenario.wait(OVERDUE - 1)) == []
    assert resizes(scenario.wait(2)) == [("o", True)]
    assert used(scenario)[:2] == [GIB, 1000]


def test_one_that_changes_its_mind_stays_opportunistic() -> None:
    scenario = asks(one(), "o")
    before = running(scenario, "o")
    resizes(scenario)
    scenario.tell(PodSeen(replace(before, promotes=())))
    assert used(scenario)[:2] == [0, 0]
    assert resizes(scenario.wait(100)) == []


def test_one_that_ends_while_it_is_promoted_leaves_nothing() -> None:
    scenario = asks(one(), "o")
    resizes(scenario)
    scenario.gone("o").tell(ResizeFailed("o", "gone"))
    assert used(scenario)[:3] == [0, 0, 0]
    turning = scenario.core.state.opportunistic.turning
    assert (turning.asking, turning.promoting, turning.told) == ({}, {}, {})
    assert resizes(scenario.wait(1000)) == []
    assert turning.until == {}


def test_a_guaranteed_pod_that_asks_is_counted_until_the_api_shows_that_it_requests_nothing() -> None:
    scenario = Scenario().queue("root.a").nodes(1, cpu=1)
    scenario.pod("g", "root.a", cpu=1, memory=1)
    bound(scenario)
    spec = replace(running(scenario, "g"), opportunistic=WANTED, demotes=True)
    assert resizes(scenario.tell(PodSeen(spec))) == [("g", False)]
    assert resizes(scenario.wait(1)) == []
    assert used(scenario)[:2] == [GIB, 1000]
    scenario.tell(ResizeDone("g", guaranteed=False)).plan()
    assert told(scenario)[-1] == ("Demoted", "It is opportunistic from now on and requests nothing")
    scenario.tell(PodSeen(replace(spec, demotes=False, demand=(("memory", 1024), ("pods", 1)))))
    assert used(scenario)[:2] == [0, 0]
    assert set(scenario.core.state.opportunistic.of) == {"g"}
    scenario.pod("new", "root.a", cpu=1)
    assert set(bound(scenario.wait(1))) == {"new"}
    assert evicted(scenario) == ["g"]


def test_one_that_is_demoted_as_soon_as_it_is_promoted_does_not_wait_for_the_former_change_to_be_overdue() -> None:
    scenario = asks(one(), "o")
    before = replace(running(scenario, "o"))
    assert resizes(scenario) == [("o", True)]
    scenario.tell(ResizeDone("o", guaranteed=True))
    # The watch shows both changes, of the requests and of the label, in one.
    both = replace(before, promotes=(), opportunistic=WANTED, demotes=True, demand=(*WANTED, ("pods", 1)))
    scenario.tell(PodSeen(both)).wait(1)
    assert resizes(scenario) == [("o", False)]
    scenario.tell(ResizeDone("o", guaranteed=False))
    scenario.tell(PodSeen(replace(before, promotes=WANTED, demotes=False))).wait(1)
    assert resizes(scenario) == [("o", True)]


def wishes(scenario: Scenario, name: str) -> Scenario:
    """It says that it is to become guaranteed when there is room."""
    return scenario.tell(PodSeen(replace(running(scenario, name), promotes=WANTED, promotes_itself=True)))


def test_one_that_wishes_it_is_promoted_when_there_is_room_and_nobody_is_told_that_it_waits() -> None:
    scenario = one(maximum={"cpu": Limit(1000)}).pod("g", "root.a", cpu=1)
    bound(scenario)
    wishes(scenario.wait(5), "o")
    assert (resizes(scenario), told(scenario)) == ([], [])
    scenario.gone("g")
    assert resizes(scenario.wait(INTERVAL)) == [("o", True)]
    assert used(scenario)[:2] == [GIB, 1000]
    before = replace(running(scenario, "o"), promotes=WANTED, opportunistic=WANTED, demand=(("pods", 1),))
    scenario.tell(PodSeen(before))  # its label is written
    assert used(scenario)[:2] == [GIB, 1000]
    shown(scenario, before).wait(OVERDUE + 1)
    assert resizes(scenario) == []
    assert used(scenario)[:2] == [GIB, 1000]


@pytest.mark.parametrize("itself", [True, False])
def test_one_that_asked_before_its_bind_was_seen_is_promoted(itself: bool) -> None:
    scenario = Scenario().queue("root.a").nodes(1, cpu=4, memory=64)
    (bind,) = seen(scenario, idle("o", "root.a")).plan()
    scenario.tell(BindDone("o"))
    scenario.tell(PodSeen(replace(running(scenario, "o"), node=bind.node, promotes=WANTED, promotes_itself=itself)))
    assert resizes(scenario.wait(INTERVAL)) == [("o", True)]


def test_one_that_requests_something_and_said_that_it_is_opportunistic_stays_guaranteed() -> None:
    scenario = Scenario().queue("root.a").nodes(1, cpu=4, memory=64)
    (bind,) = seen(scenario, a_pod("o", "root.a", "batch", 1, 0, opportunistic=WANTED)).plan()
    scenario.tell(BindDone("o"))
    assert scenario.core.view.is_unheeded("o"), "which is written with its bind, so that it asks for nothing"
    scenario.tell(PodSeen(replace(running(scenario, "o"), node=bind.node)))
    for found in (scenario, restarted(scenario)):
        assert resizes(found.wait(INTERVAL)) == []
        assert used(found)[:2] == [0, 1000]
        assert found.core.state.opportunistic.of == {}


def test_one_that_is_to_be_demoted_before_its_bind_was_seen_is() -> None:
    scenario = Scenario().queue("root.a").nodes(1, cpu=4, memory=64).pod("g", "root.a", cpu=1)
    (bind,) = scenario.plan()
    assert not scenario.core.view.is_unheeded("g")
    asking = replace(running(scenario, "g"), node=bind.node, opportunistic=WANTED, demotes=True)
    assert resizes(scenario.tell(BindDone("g"), PodSeen(asking)).wait(INTERVAL)) == [("g", False)]
    assert resizes(restarted(scenario)) == [("g", False)]


def test_new_pods_go_before_one_that_wishes_it() -> None:
    scenario = one(cpu=1)
    wishes(scenario.wait(5), "o").pod("new", "root.a", cpu=1)
    assert set(bound(scenario)) == {"new"}
    assert evicted(scenario) == ["o"]
    assert resizes(scenario.wait(INTERVAL)) == []


def test_one_that_is_asked_to_go_is_not_promoted() -> None:
    scenario = one(cpu=1)
    wishes(scenario.wait(5), "o").pod("new", "root.a", cpu=1)
    bound(scenario)
    evicted(scenario)
    scenario.gone("new")
    assert resizes(scenario.wait(INTERVAL)) == []


def test_one_whose_label_was_written_and_whose_requests_were_not_asks_like_any_other() -> None:
    scenario = wishes(one(), "o")
    assert resizes(scenario) == [("o", True)]
    scenario.tell(PodSeen(replace(running(scenario, "o"), promotes=WANTED, opportunistic=WANTED, demand=(("pods", 1),))))
    scenario.tell(ResizeFailed("o", "422 no", refused=True))
    assert used(scenario)[:2] == [0, 0]
    assert resizes(scenario.wait(REFUSED_AGAIN)) == [("o", True)]


def test_many_that_wish_it_are_looked_at_in_turn() -> None:
    scenario = Scenario().queue("root.a", maximum={"cpu": Limit(1)}).nodes(5, cpu=100, memory=100)
    for number in range(LOOKS + 2):
        seen(scenario, idle(f"o{number}", "root.a", cpu=1, memory=0))
    bound(scenario)
    for number in range(LOOKS + 2):
        wishes(scenario, f"o{number}")
    turning = scenario.core.state.opportunistic.turning
    assert resizes(scenario.wait(INTERVAL)) == []
    assert list(turning.wishing)[:2] == [f"o{LOOKS}", f"o{LOOKS + 1}"]
    scenario.queue("root.a")
    assert resizes(scenario.wait(INTERVAL))[:2] == [(f"o{LOOKS}", True), (f"o{LOOKS + 1}", True)]


def test_what_a_pod_requests_is_told_though_its_label_was_edited_to_and_fro_meanwhile() -> None:
    scenario = one()
    before = running(scenario, "o")
    assert resizes(asks(scenario, "o")) == [("o", True)]
    scenario.tell(PodSeen(replace(before, promotes=())), ResizeDone("o", guaranteed=True))
    scenario.plan()
    assert ("Promoted", "It is guaranteed from now on and requests cpu=1, memory=1Gi") in told(scenario)


WHY = "metadata.annotations[treadle.dev/demand]: nonsense"


def test_one_whose_words_are_not_acted_on_stays_what_it_is_and_is_told_once() -> None:
    scenario = one()
    before = running(scenario, "o")
    said = replace(before, stays=True, unheeded=WHY, says_type=True)
    scenario.tell(PodSeen(said)).plan()
    assert told(scenario) == [("ExecutionTypeIgnored", f"It stays opportunistic: {WHY}")]
    assert set(scenario.core.state.opportunistic.of) == {"o"}
    scenario.tell(PodSeen(replace(said, labels=(("a", "b"),)))).plan()
    assert told(scenario) == []
    scenario.tell(PodSeen(before)).plan()
    assert told(scenario) == []
    scenario.tell(PodSeen(said)).plan()
    assert len(told(scenario)) == 1, "it says so anew"
    again = restarted(scenario)
    again.plan()
    assert set(again.core.state.opportunistic.of) == {"o"}
    assert len(told(again)) == 1
    scenario.gone("o")
    turning = scenario.core.state.opportunistic.turning
    assert (turning.unheeded, turning.untold) == ({}, {})


def test_a_guaranteed_one_is_told_that_it_stays_guaranteed() -> None:
    scenario = Scenario().queue("root.a").nodes(1).pod("g", "root.a")
    bound(scenario)
    scenario.tell(PodSeen(replace(running(scenario, "g"), unheeded=WHY, says_type=True))).plan()
    assert told(scenario) == [("ExecutionTypeIgnored", f"It stays guaranteed: {WHY}")]


def test_one_whose_words_made_no_sense_before_its_bind_was_seen_is_told() -> None:
    scenario = Scenario().queue("root.a").nodes(1, cpu=4, memory=64)
    (bind,) = seen(scenario, idle("o", "root.a")).plan()
    scenario.tell(BindDone("o"))
    scenario.tell(PodSeen(replace(running(scenario, "o"), node=bind.node, unheeded=WHY, says_type=True))).plan()
    assert told(scenario) == [("ExecutionTypeIgnored", f"It stays opportunistic: {WHY}")]


def test_one_that_wishes_nothing_any_more_is_not_looked_at() -> None:
    scenario = one()
    before = running(scenario, "o")
    wishes(scenario, "o").tell(PodSeen(before))
    assert scenario.core.state.opportunistic.turning.wishing == {}
    assert resizes(scenario.wait(INTERVAL)) == []
