"""How the queues of a plan follow it (worked example of ``TestSchedulerPlanFollowerBase``)."""

from __future__ import annotations

import pytest

from core.rules.reservations.plans import fixed, plan_of, size
from treadle.core.rules.reservations.following import (
    Child,
    Create,
    Entitle,
    FollowSettings,
    Kill,
    Move,
    NotActive,
    Remove,
    child_for,
    follow,
)
from treadle.core.rules.reservations.plan import Plan

EMPTY = Child((), (0, 0))
STAYS = FollowSettings()


def plan() -> Plan:
    found = plan_of()
    found.add(fixed(1, [(0, 5, 10)]), 0)
    found.add(fixed(2, [(3, 8, 10)]), 0)
    found.add(fixed(3, [(10, 11, 0), (11, 12, 10), (12, 13, 20), (13, 14, 10)]), 0)
    return found


def test_each_active_reservation_has_a_queue_and_the_default_one_has_the_rest() -> None:
    assert follow(plan(), "p", size(100), {}, 3, STAYS).decisions == [
        Create("p-default"),
        Entitle("p-default", 0.0, 1.0),
        Create("r2"),
        Entitle("r2", pytest.approx(0.1), 1.0),  # type: ignore[arg-type]
        Create("r1"),
        Entitle("r1", pytest.approx(0.1), 1.0),  # type: ignore[arg-type]
        Entitle("p-default", pytest.approx(0.8), 1.0),  # type: ignore[arg-type]
    ]


def test_a_queue_may_have_nothing_yet() -> None:
    found = follow(plan(), "p", size(100), {"p-default": EMPTY, "r3": EMPTY}, 10, STAYS).decisions
    assert found == [Entitle("p-default", 0.0, 1.0), Entitle("r3", 0.0, 1.0), Entitle("p-default", 1.0, 1.0)]


def test_who_shrinks_comes_before_who_grows() -> None:
    found = follow(plan(), "p", size(100), {"p-default": EMPTY, "r1": EMPTY, "r2": Child((), size(20))}, 3, STAYS).decisions
    assert [one.queue for one in found if isinstance(one, Entitle)] == ["p-default", "r2", "r1", "p-default"]


def test_when_a_reservation_is_over_its_applications_move_or_end() -> None:
    children = {"p-default": EMPTY, "r1": Child(("a",), size(10))}
    moved = follow(plan(), "p", size(100), children, 9, STAYS)
    assert moved.decisions[:3] == [Entitle("r1", 0.0, 0.0), Move("a", "r1", "p-default"), Remove("r1")]
    ended = follow(plan(), "p", size(100), children, 9, FollowSettings(move=False))
    assert ended.decisions[:2] == [Entitle("r1", 0.0, 0.0), Kill("a", "r1")]
    assert Remove("r1") not in ended.decisions
    assert ended.archived == ["r1", "r2"]


def test_where_more_is_promised_than_there_is_the_newest_go_or_all_shrink() -> None:
    found = plan_of()
    found.add(fixed(1, [(0, 9, 60)]), 1)
    found.add(fixed(2, [(0, 9, 40)]), 2)
    found.capacity = size(50)
    shrunk = follow(found, "p", size(50), {"p-default": EMPTY}, 0, STAYS, replanning=False)
    assert [round(one.share, 3) for one in shrunk.decisions if isinstance(one, Entitle)] == [0.0, 0.4, 0.6, 0.0]
    assert follow(found, "p", size(50), {"p-default": EMPTY}, 0, STAYS).replanned == ["r2", "r1"]


def test_a_gang_may_be_kept_from_growing() -> None:
    found = follow(plan(), "p", size(100), {"p-default": EMPTY, "r1": EMPTY}, 0, FollowSettings(capped=frozenset({"r1"})))
    assert found.decisions[1] == Entitle("r1", pytest.approx(0.1), pytest.approx(0.1))  # type: ignore[arg-type]


def test_applications_go_to_the_queue_of_their_reservation() -> None:
    children = {"p-default": EMPTY, "r1": EMPTY}
    assert child_for("p", children, None) == "p-default"
    assert child_for("p", children, "r1") == "r1"
    with pytest.raises(NotActive, match="'r2' has no queue below 'p' now"):
        child_for("p", children, "r2")
