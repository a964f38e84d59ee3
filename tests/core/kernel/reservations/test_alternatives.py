"""What is refused says the nearest change with which it would have been accepted."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.kernel.reservations.planned import DISCIPLINES, HOUR, PLAN, Reserving, asked, changed, wanted
from examples import examples
from treadle.core.model.reservations import PlanSpec

both = pytest.mark.parametrize("discipline", DISCIPLINES)


def offered(it: Reserving, name: str) -> dict[str, object]:
    decided = it.figures(name).decided
    assert decided is not None
    found: dict[str, object] = {}
    for one in decided.alternatives:
        if one.deadline is not None:
            found["deadline"] = one.deadline / HOUR
        if one.concurrency is not None:
            found["concurrency"] = one.concurrency
        if one.queue:
            found["queue"] = one.queue
    return found


@both
def test_a_later_deadline(discipline: str) -> None:
    it = Reserving(discipline).ask(wanted("a", asked(cpu=10, hours=2))).ask(wanted("b", asked(cpu=5, hours=1)))
    it.plan()
    assert offered(it, "b") == {"deadline": pytest.approx(4, abs=0.02)}
    assert "; it would be accepted with spec.deadline 1970-01-01T04:0" in it.said("b")[1]


@both
def test_a_smaller_concurrency(discipline: str) -> None:
    it = Reserving(discipline).ask(wanted("b", asked(cpu=3, count=12, concurrency=6, hours=0.25)))
    it.plan()
    assert it.said("b")[0] == "GangTooLarge"
    assert offered(it, "b") == {"concurrency": 3}
    assert it.said("b")[1].endswith("; it would be accepted with a concurrency of 3")


@both
def test_another_queue_that_its_user_may_reserve_in(discipline: str) -> None:
    it = Reserving(discipline, percent=30).divide({"rest": 10, "big": 60}, big=PlanSpec())
    it.ask(wanted("b", asked(cpu=10, hours=2)))
    it.plan()
    assert offered(it, "b") == {"queue": "root.big"}
    assert it.phase("b") == "Rejected"
    assert it.core.state.plans.of["root.big"].plan.reservations == {}


def test_none_where_nothing_mends_it() -> None:
    it = Reserving().ask(wanted("b", asked(gpu=1)))
    it.plan()
    assert (offered(it, "b"), "it would be accepted" in it.said("b")[1]) == ({}, False)


def test_a_deadline_that_is_over_and_a_window_that_is_too_short() -> None:
    it = Reserving().at(10).ask(wanted("over", start=1, end=2)).ask(wanted("short", asked(hours=3), start=12, end=13))
    it.plan()
    assert offered(it, "over") == {"deadline": pytest.approx(11 + 5 / 60, abs=0.02)}
    assert offered(it, "short") == {"deadline": 15}


def test_an_update_that_is_refused_says_what_would_do_with_what_was_promised_given_back() -> None:
    it = Reserving().ask(wanted("a", asked(cpu=10, hours=1), end=3)).ask(wanted("b", asked(cpu=10, hours=1), end=3))
    it.plan()
    before = it.steps("b")
    it.ask(wanted("b", asked(cpu=10, hours=2), end=3, generation=2))
    it.plan()
    assert it.phase("b") == "Accepted"
    assert "deadline" in offered(it, "b")
    assert it.steps("b") == before


requests = st.builds(
    asked,
    cpu=st.integers(1, 12),
    count=st.sampled_from([1, 2, 4, 6]),
    hours=st.sampled_from([0.5, 1, 2]),
    memory=st.integers(0, 60),
)


@given(
    taken=st.lists(st.tuples(requests, st.integers(0, 4), st.integers(2, 6)), max_size=4),
    asks=st.lists(requests, min_size=1, max_size=2),
    length=st.integers(1, 4),
    gang=st.sampled_from([1, 2]),
)
@settings(max_examples=examples(40), deadline=None)
def test_whatever_is_offered_is_accepted(taken, asks, length: int, gang: int) -> None:
    it = Reserving().divide({"other": 30}, other=PlanSpec(at_once=0.5))
    for number, (request, start, hours) in enumerate(taken):
        it.ask(wanted(f"t{number}", request, start=start, end=start + hours, user=f"u{number}"))
    it.plan()
    it.plan()
    spec = wanted("x", *(replace(one, concurrency=gang if one.count % gang == 0 else 1) for one in asks), start=1, end=1 + length)
    it.ask(spec)
    it.plan()
    decided = it.figures("x").decided
    assert decided is not None
    for number, one in enumerate(decided.alternatives):
        again = changed(replace(spec, id="ns/again", uid=f"again{number}"), one)
        it.ask(again)
        it.plan()
        assert it.phase("again") == "Accepted", one
        it.withdraw("again")
    assert set(it.core.state.plans.of) == {PLAN, "root.other"}


@both
def test_a_deadline_of_what_comes_again_is_tried_with_the_window_that_it_makes_the_first(discipline: str) -> None:
    it = Reserving(discipline).ask(wanted("once", asked(cpu=10, hours=2), start=0, end=2))
    it.plan()
    it.at(1.5).ask(wanted("daily", asked(cpu=10, hours=2), start=0, end=1, period=24 * HOUR))
    it.plan()
    assert it.said("daily")[0] == "WindowTooShort"
    deadline = offered(it, "daily")["deadline"]
    assert isinstance(deadline, float)
    it.ask(wanted("daily", asked(cpu=10, hours=2), start=0, end=deadline, period=24 * HOUR, generation=2))
    it.plan()
    assert it.said("daily") == ("", "")


@pytest.mark.parametrize("start", [-2, 0, 1 / 30])
@pytest.mark.parametrize("seconds", [0, 5, 299, 300])
def test_a_deadline_is_good_for_five_minutes_though_the_window_has_begun_by_then(start: float, seconds: int) -> None:
    it = Reserving().at(10).ask(wanted("a", asked(cpu=6, hours=1), start=10 + start, end=10.5)).ask(wanted("b", start=9, end=12))
    it.plan()
    assert it.said("a")[0] == "WindowTooShort"
    deadline = offered(it, "a")["deadline"]
    assert isinstance(deadline, float)
    it.wait(seconds).ask(wanted("a", asked(cpu=6, hours=1), start=10 + start, end=deadline, generation=2))
    it.plan()
    assert it.said("a") == ("", "")
