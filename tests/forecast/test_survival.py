"""What is left of pods after a run time, where some still run and only the newest ends are known."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.forecast.survival import Survival

LONG_AGO = float("-inf")


def parts(model: Survival, age: float = 0.0, count: int = 4000) -> dict[float, float]:
    """The parts of draws by value; what is beyond all ends under infinity."""
    random, found = Random(1), dict[float, float]()
    for _ in range(count):
        value = model.drawn(age, random)
        assert value > age
        key = value if value in model.times else float("inf")
        found[key] = found.get(key, 0.0) + 1 / count
    return found


def test_where_all_have_ended_each_run_time_is_as_likely_as_it_was_frequent() -> None:
    model = Survival([(1.0, LONG_AGO), (2.0, LONG_AGO), (2.0, LONG_AGO), (9.0, LONG_AGO)], [], 0.0)
    assert parts(model) == pytest.approx({1.0: 0.25, 2.0: 0.5, 9.0: 0.25}, abs=0.03)
    assert parts(model, 1.5) == pytest.approx({2.0: 2 / 3, 9.0: 1 / 3}, abs=0.03)


def test_it_is_the_product_limit_of_kaplan_and_meier() -> None:
    """The example of six remissions: ends at 6, 7 and 10, others still under way at 6, 9 and 11."""
    model = Survival([(6.0, LONG_AGO), (7.0, LONG_AGO), (10.0, LONG_AGO)], [6.0, 9.0, 11.0], 0.0)
    left = [5 / 6, 5 / 6 * 3 / 4, 5 / 6 * 3 / 4 * 1 / 2]
    wanted = {6.0: 1 - left[0], 7.0: left[0] - left[1], 10.0: left[1] - left[2], float("inf"): left[2]}
    assert parts(model) == pytest.approx(wanted, abs=0.03)


def test_what_goes_on_beyond_all_that_was_seen_ends_within_as_long_again() -> None:
    model = Survival([(5.0, LONG_AGO)], [20.0] * 50, 0.0)
    random = Random(0)
    values = [model.drawn(0.0, random) for _ in range(500)]
    assert all(value == 5.0 or 20.0 <= value <= 40.0 for value in values)


def test_of_the_newest_ends_alone_only_that_time_counts_in_which_all_were_seen() -> None:
    """Two kinds come as often: minutes, of which the newest ends are all within the last hour, and days, of which a few ended in it."""
    day, now = 86_400.0, 1_000_000.0
    short = [(60.0, now - 3_600 + 90 * number) for number in range(40)]
    long = [(day, now - 3_600 + 1_800 * number) for number in range(2)]
    running = [now % day + 1_800 * number for number in range(40)]
    whole = Survival([*short, *long], running, now)
    cut = Survival([*short, *long], running, now, newest=True)
    assert parts(whole)[60.0] == pytest.approx(0.5, abs=0.05)
    assert parts(cut)[60.0] > 0.9, "who began in that hour was short, but for two that still run"


def test_a_run_time_is_certain_where_all_ended_after_it() -> None:
    assert Survival([(5.0, LONG_AGO)] * 3, [1.0, 2.0], 0.0).certain(0.0) == 5.0
    assert Survival([(5.0, LONG_AGO)], [6.0], 0.0).certain(0.0) is None
    assert Survival([(5.0, LONG_AGO), (6.0, LONG_AGO)], [], 0.0).certain(0.0) is None
    assert Survival([(5.0, LONG_AGO), (6.0, LONG_AGO)], [], 0.0).certain(5.0) == 6.0


@given(
    st.lists(st.tuples(st.integers(1, 50), st.integers(0, 1000)), min_size=1, max_size=40),
    st.lists(st.integers(0, 60), max_size=40),
    st.booleans(),
    st.integers(0, 50),
)
def test_what_is_drawn_is_always_longer_than_the_age(
    ended: list[tuple[int, int]], running: list[int], newest: bool, age: int
) -> None:
    model = Survival([(float(one), float(at)) for one, at in ended], [float(one) for one in running], 1000.0, newest)
    if not model.beyond(float(age)):
        return
    random = Random(5)
    for _ in range(20):
        value = model.drawn(float(age), random)
        assert value > age
        assert value in model.times or value >= model.longest
