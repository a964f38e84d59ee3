"""What of nodes is left to the pods of other schedulers, by a setting and by what nodes say themselves."""

from __future__ import annotations

from typing import Any

from core.builders import Scenario, limits

THEIRS: dict[str, Any] = {"scheduler": "default-scheduler", "node": "node-0"}


def left(**named: str | int) -> tuple[Any, ...]:
    return tuple(sorted(limits(**named).items()))


def total(at: Scenario) -> float:
    at.plan(0)
    state = at.core.state
    return state.cluster.total[state.types.index["cpu"]] / 1000


def test_what_is_left_to_others_is_not_placed_into_and_not_shared() -> None:
    at = Scenario().nodes(1, cpu=4, headroom=left(cpu=1)).pods(4, "p")
    assert total(at) == 3
    assert len(at.plan()) == 3
    assert at.why("p-3")[1] == "0/1 nodes are available: 1 Insufficient cpu."


def test_what_others_hold_is_part_of_it() -> None:
    at = Scenario().nodes(1, cpu=4, headroom=left(cpu=2)).pod("theirs", cpu=1, **THEIRS)
    assert at.free("node-0") == 2
    at.pod("more", cpu=2, **THEIRS)
    assert at.free("node-0") == 1, "they hold more than is left to them"
    assert total(at) == 1
    at.gone("theirs", "more")
    assert at.free("node-0") == 2
    assert total(at) == 2


def test_room_that_others_give_back_beyond_it_is_ours_at_once() -> None:
    at = Scenario().nodes(1, cpu=4, headroom=left(cpu=1)).pod("theirs", cpu=3, **THEIRS).pods(2, "p")
    assert len(at.plan()) == 1
    at.gone("theirs")
    assert len(at.plan()) == 1


def test_the_setting_holds_for_every_node_and_a_node_may_say_otherwise_of_a_type() -> None:
    at = Scenario().nodes(1, cpu=4).node("own", cpu=4, headroom=left(cpu=3))
    at.scheduler(headroom=left(cpu="25%", memory="50%"))
    assert (at.free("node-0"), at.free("own")) == (3, 1)
    assert (at.free("node-0", "memory"), at.free("own", "memory")) == (8, 8)
    at.scheduler()
    assert (at.free("node-0"), at.free("own")) == (4, 1)
    assert at.free("own", "memory") == 16


def test_pods_that_wait_go_when_less_is_left() -> None:
    at = Scenario().scheduler(headroom=left(cpu=4)).nodes(1, cpu=4).pod("a")
    assert at.plan() == []
    at.scheduler(headroom=left(cpu=3))
    assert len(at.plan()) == 1


def test_what_runs_stays_when_more_is_left_and_no_more_comes() -> None:
    at = Scenario().nodes(1, cpu=4).pods(4, "p")
    at.confirm(at.plan())
    at.nodes(1, cpu=4, headroom=left(cpu=2)).pod("late")
    assert at.free("node-0") == -2
    assert at.plan() == []
    at.gone("p-0", "p-1", "p-2")
    assert len(at.plan()) == 1


def test_no_more_is_left_than_a_node_has_and_types_that_it_has_not_are_not_left() -> None:
    at = Scenario().nodes(1, cpu=4, headroom=left(cpu=10, gpu=3)).pod("nothing", cpu=0, memory=1)
    assert at.free("node-0") == 0
    assert len(at.plan()) == 1


def test_pod_slots_may_be_left_too() -> None:
    at = Scenario().nodes(1, pods=3, headroom=left(pods=2)).pods(2, "p", cpu=0)
    assert len(at.plan()) == 1


def test_a_node_that_is_gone_leaves_nothing() -> None:
    at = Scenario().nodes(1, cpu=4, headroom=left(cpu=2)).pod("theirs", cpu=1, **THEIRS).without_node("node-0")
    at.nodes(1, cpu=4)
    assert at.free("node-0") == 3
    at.without_node("node-0").gone("theirs")
    assert not at.core.state.nodes.left
    assert not at.core.state.nodes.withheld
