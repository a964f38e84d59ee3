"""By how much a run lags, and what it is owed: of cores, and of GiB beside them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from treadle.core.rules.reservations.lagging import behind, owed, within_room
from treadle.core.rules.reservations.over_time import OverTime, Segment, least, plus

FLAT = OverTime(1, [(0, 100, (10,))])
FALLING = OverTime(1, [(0, 50, (10,)), (50, 100, (2,))])


def steps(found: OverTime) -> list[Segment]:
    return [one for one in found.intervals() if any(one[2])]


def test_a_run_that_has_had_all_does_not_lag() -> None:
    assert behind(FLAT, 0, 40, [400]) == 0
    assert behind(FLAT, 0, 40, [500]) == 0


def test_a_run_that_began_late_lags_as_long() -> None:
    assert behind(FLAT, 0, 40, [200]) == 20
    assert behind(FLAT, 0, 40, [0]) == 40


def test_a_run_is_where_its_promise_had_had_as_much() -> None:
    assert behind(FALLING, 0, 100, [500 + 2 * 30]) == 20
    assert behind(FALLING, 0, 100, [300]) == 70


def test_what_was_promised_before_it_was_watched_does_not_count() -> None:
    assert behind(FLAT, 30, 40, [100]) == 0


def test_times_at_which_nothing_was_promised_do_not_count() -> None:
    gap = OverTime(1, [(0, 10, (1,)), (50, 60, (1,))])
    assert behind(gap, 0, 40, [10]) == 0
    assert behind(gap, 0, 55, [10]) == 5


def test_the_type_of_which_it_has_come_furthest_counts() -> None:
    both = OverTime(2, [(0, 100, (10, 100))])
    assert behind(both, 0, 40, [400, 1000]) == 0
    assert behind(both, 0, 40, [0, 0]) == 40


def test_nothing_lags_behind_no_promise() -> None:
    assert behind(OverTime(1), 0, 40, [0]) == 0


def test_what_lags_is_owed_the_rest_so_much_later() -> None:
    assert steps(owed(FLAT, None, (30, 40, 0, 200), (10,), 20, 100)) == [(100, 120, (10,))]
    assert steps(owed(FALLING, None, (30, 40, 0, 200), (10,), 20, 100)) == [(50, 70, (8,)), (100, 120, (2,))]


def test_nothing_is_owed_after_the_occurrence() -> None:
    assert steps(owed(FLAT, None, (30, 40, 0, 110), (10,), 20, 100)) == [(100, 110, (10,))]


def test_no_more_is_owed_than_is_needed() -> None:
    assert steps(owed(FLAT, None, (30, 40, 0, 200), (4,), 20, 100)) == [(100, 120, (4,))]
    assert owed(FLAT, None, (30, 40, 0, 200), (0,), 20, 100).empty


def test_a_little_lag_is_left_alone() -> None:
    assert owed(FLAT, None, (30, 40, 0, 200), (10,), 5, 100).empty
    assert not owed(FLAT, None, (30, 40, 0, 200), (10,), 6, 100).empty


def test_what_takes_longer_than_its_promise_is_owed_a_tenth_of_it_again_and_again() -> None:
    first = owed(FLAT, None, (90, 100, 0, 200), (3,), 0, 100)
    assert steps(first) == [(100, 110, (3,))]
    second = owed(FLAT, first, (105, 110, 0, 200), (3,), 0, 100)
    assert steps(second) == [(110, 120, (3,))]


def test_what_takes_longer_at_a_step_down_keeps_what_it_had() -> None:
    assert steps(owed(FALLING, None, (40, 50, 0, 200), (10,), 0, 100)) == [(50, 60, (8,))]
    assert owed(FALLING, None, (40, 49, 0, 200), (10,), 0, 100).empty
    assert owed(FALLING, None, (40, 50, 0, 200), (2,), 0, 100).empty


def test_what_was_given_before_stays_as_far_as_it_is_needed() -> None:
    before = OverTime(1, [(100, 140, (10,))])
    assert steps(owed(FLAT, before, (40, 60, 0, 200), (10,), 0, 100)) == [(100, 140, (10,))]
    assert steps(owed(FLAT, before, (100, 120, 0, 200), (1,), 0, 100)) == [(120, 140, (1,))]
    assert owed(FLAT, before, (100, 120, 0, 200), (0,), 0, 100).empty


def test_where_there_is_less_room_all_types_are_had_in_the_same_part() -> None:
    wanted = OverTime(2, [(0, 10, (10, 40)), (10, 20, (10, 40))])
    room = [(0, 10, (5, 100)), (10, 20, (100, 100))]
    assert steps(within_room(wanted, room, 0, 20)) == [(0, 10, (5, 20)), (10, 20, (10, 40))]
    assert within_room(wanted, [(0, 20, (0, 100))], 0, 20).empty


def test_where_more_is_promised_than_there_is_nothing_is_had() -> None:
    assert within_room(OverTime(2), [(0, 20, (-5, 100))], 0, 20).empty
    assert steps(within_room(OverTime(2, [(0, 10, (0, 40))]), [(0, 20, (-5, 10))], 0, 20)) == [(0, 10, (0, 10))]
    assert within_room(OverTime(2, [(0, 10, (1, 40))]), [(0, 20, (-5, 10))], 0, 20).empty


promises = st.lists(
    st.tuples(st.integers(0, 60), st.integers(1, 40), st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=5
)


@given(promises, st.integers(1, 90), st.integers(0, 60), st.integers(0, 12), st.integers(0, 12), st.none() | promises)
def test_what_is_owed_is_needed_and_lies_within_the_occurrence(
    said: list[tuple[int, int, int, int]],
    now: int,
    lag: int,
    cores: int,
    memory: int,
    given_before: list[tuple[int, int, int, int]] | None,
) -> None:
    promised = OverTime(2, [(start, start + length, (one, two)) for start, length, one, two in said])
    more = None if given_before is None else OverTime(2, [(at, at + length, (one, two)) for at, length, one, two in given_before])
    need = (cores, memory)
    found = owed(promised, more, (max(0, now - 10), now, 0, 100), need, lag, 100)
    assert found.earliest is None or (found.earliest >= now and (found.latest or 0) <= 100)
    for time in range(now, 100):
        extra, has = found.at(time), promised.at(time)
        assert min(extra) >= 0
        assert all(value == 0 or value + base <= most for value, base, most in zip(extra, has, need, strict=True))
        before = (0, 0) if more is None else more.at(time)
        kept = least(plus(has, before), need)
        assert all(value + base >= least_ for value, base, least_ in zip(extra, has, kept, strict=True))


@given(promises, st.integers(1, 99), st.integers(0, 99))
def test_whoever_did_what_was_promised_until_a_time_lags_since_then_at_most(
    said: list[tuple[int, int, int, int]], now: int, until: int
) -> None:
    promised = OverTime(2, [(start, start + length, (one, two)) for start, length, one, two in said])
    done = [sum(promised.at(time)[at] for time in range(min(until, now))) for at in range(2)]
    lag = behind(promised, 0, now, done)
    assert 0 <= lag <= max(0, now - until)
    rates = [promised.at(time) for time in range(until, now)]
    if rates and all(min(rate) > 0 for rate in rates):
        assert lag == now - until
