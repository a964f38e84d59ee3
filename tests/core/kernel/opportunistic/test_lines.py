"""A pass looks at one of each kind of opportunistic pods that wait, and finds whoever has other rules by now."""

from __future__ import annotations

import pytest

from core.builders import Scenario, a_pod, replaced
from core.kernel.opportunistic.idle_pods import bound, idle, seen
from core.ruled_worlds import about
from treadle.core.events import PodSeen
from treadle.core.kernel.opportunistic import placing, renewing, telling
from treadle.core.kernel.opportunistic.renewing import renew
from treadle.core.kernel.opportunistic.room import Room
from treadle.core.model import Constraints, PodRules
from treadle.core.model.opportunistic import NodeQueueSettings, OpportunisticSettings


def full() -> Scenario:
    scenario = Scenario().nodes(2, cpu=4)
    bound(seen(scenario, *(idle(f"f{at}", cpu=4) for at in range(2))))
    return scenario


@pytest.mark.parametrize("queues", [False, True])
def test_a_pass_looks_at_one_of_those_that_are_alike(queues: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = OpportunisticSettings(node_queues=NodeQueueSettings(most=5, least=1) if queues else None)
    scenario = full().scheduler(opportunistic=settings)
    seen(scenario, *(idle(f"o{at}") for at in range(300)))
    bound(scenario.wait(1))
    looks: list[str] = []
    usual = placing.obstacle

    def counted(state, record, together):  # type: ignore[no-untyped-def]
        looks.append(record.spec.uid)
        return usual(state, record, together)

    monkeypatch.setattr(placing, "obstacle", counted)
    seen(scenario, idle("late"))
    bound(scenario.wait(1))
    assert 0 < len(looks) < 30


def test_who_is_alike_in_other_applications_is_not_looked_for_room_again_where_none_was_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scenario = full()
    seen(scenario, *(idle(f"o{at}", application=f"a{at:03}", cpu=3) for at in range(300)))
    bound(scenario.wait(1))
    picks: list[str] = []
    usual = Room.pick

    def counted(self, record, *rest):  # type: ignore[no-untyped-def]
        picks.append(record.spec.uid)
        return usual(self, record, *rest)

    monkeypatch.setattr(Room, "pick", counted)
    assert list(bound(scenario.gone("f0").wait(1))) == ["o0"]
    assert len(picks) <= 2


def test_those_of_several_kinds_come_by_priority_and_then_in_the_order_in_which_they_came() -> None:
    scenario = full()
    sizes = {"one": 1, "two": 2, "three": 1, "four": 2}
    seen(scenario, *(idle(name, cpu=size) for name, size in sizes.items()), idle("first", cpu=1, priority=1))
    bound(scenario.wait(1))
    assert list(bound(scenario.gone("f0").wait(1))) == ["first", "one", "two"]
    assert list(bound(scenario.gone("f1").wait(1))) == ["three", "four"]


@pytest.mark.parametrize("edits", [1, 2])
def test_one_that_is_edited_while_it_waits_keeps_its_place(edits: int) -> None:
    scenario = full()
    seen(scenario, *(idle(f"o{at}", cpu=2) for at in range(4)))
    bound(scenario.wait(1))
    for edit in range(edits):
        seen(scenario, idle("o0", cpu=2, labels=(("edited", str(edit)),)))
        bound(scenario.wait(1))
    assert list(bound(scenario.gone("f0").wait(1))) == ["o0", "o1"]


def test_one_that_was_gone_and_comes_again_is_the_last() -> None:
    scenario = full()
    seen(scenario, *(idle(f"o{at}", cpu=2) for at in range(3)))
    bound(scenario.wait(1))
    seen(scenario.gone("o0"), idle("o0", cpu=2))
    assert list(bound(scenario.gone("f0").wait(1))) == ["o1", "o2"]


def test_one_with_another_shape_stays_in_its_partition_and_in_its_place() -> None:
    scenario = full()
    seen(scenario, idle("o0"), idle("o1"), idle("o2"))
    bound(scenario.wait(1))
    state = scenario.core.state
    kept = state.opportunistic
    record = kept.waiting["o1"]
    asked = replaced(record.shape.asked, batch=("gone", "", ()), partition=("pool", "gpu"))  # as if it was placed with others
    record.shape = state.shapes.of(record.shape.named, asked)
    kept.lines.forget("o1")
    kept.lines.enter(record)
    assert renew(state, record)
    assert (record.shape.asked.batch, record.shape.asked.partition) == (None, ("pool", "gpu"))
    assert kept.lines.of["o1"] is not kept.lines.of["o0"]
    assert not renew(state, record)
    assert [one.spec.uid for _, one in kept.lines.in_order(kept.lines.kinds.values(), lambda _: False)] == ["o0", "o2", "o1"]


def with_other_shapes(monkeypatch: pytest.MonkeyPatch, each: int, settings: OpportunisticSettings) -> Scenario:
    """Pods of three applications, so many of each, that wait and have other shapes by now, where there are too many kinds to look at all at once."""
    scenario = full().scheduler(opportunistic=settings)
    for application in range(3):
        seen(
            scenario,
            *(idle(f"o{application}{at}", application=f"a{application}", labels=(("app", "web"),)) for at in range(each)),
        )
    bound(scenario.wait(1))
    monkeypatch.setattr(renewing, "MANY", 0)
    monkeypatch.setattr(renewing, "LOOKS", 0)
    avoids = Constraints(pods=PodRules("ns", labels=(("app", "db"),), anti_affinity=(about("web", "zone"),)))
    return scenario.tell(PodSeen(a_pod("r", application="db", node="node-0", labels=(("app", "db"),), constraints=avoids)))


@pytest.mark.parametrize("each", [1, 2, 3])
def test_a_kind_of_which_all_get_other_shapes_while_it_is_looked_at_is_none_any_more(
    each: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = OpportunisticSettings(node_queues=NodeQueueSettings(most=50, least=1))
    state = with_other_shapes(monkeypatch, each, settings).core.state
    state.now += 5
    assert placing.place(state, 100) == []
    kept = state.opportunistic
    assert sum(len(kind.pods) for kind in kept.lines.kinds.values()) == len(kept.waiting) == 3 * each


@pytest.mark.parametrize("each", [1, 2])
def test_those_that_get_other_shapes_while_they_are_counted_are_counted_once(each: int, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = with_other_shapes(monkeypatch, each, OpportunisticSettings())
    assert telling.reasons(scenario.core.state) == {placing.NO_ROOM: 3 * each}
