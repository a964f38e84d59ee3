"""How much is used how often: percentiles right to a twentieth, and what is long ago counts little."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from treadle.core.rules.opportunistic.histograms import GROWTH, Histogram

AMOUNTS = st.lists(st.integers(0, 1 << 50), min_size=1, max_size=40)


def filled(amounts: list[int], half_life: float = 1e6, apart: float = 1.0) -> Histogram:
    found = Histogram(10, half_life)
    for at, amount in enumerate(amounts):
        found.add(amount, at * apart)
    return found


def test_nothing_known_is_nothing_used() -> None:
    assert (Histogram(10, 60.0).percentile(950), Histogram(10, 60.0).weight(5.0)) == (0, 0.0)


def test_a_rare_peak_is_above_the_percentile_and_not_above_all() -> None:
    found = filled([100] * 99 + [5000])
    assert 100 <= found.percentile(980) <= 105
    assert 5000 <= found.percentile(1000) <= 5250


def test_after_many_half_lives_the_past_is_forgotten() -> None:
    found = Histogram(10, half_life=60.0)
    for at in range(100):
        found.add(5000, float(at))
    for at in range(10):
        found.add(100, 100 * 60.0 + at)
    assert found.percentile(990) <= 105
    assert len(found.weights) == 1


def test_at_a_time_long_before_its_samples_it_is_worth_no_more_than_they_are() -> None:
    found = Histogram(10, half_life=1.0)
    found.add(100, 5000.0)
    assert found.weight(0.0) == 1.0


def test_a_sample_is_worth_half_of_itself_after_a_half_life() -> None:
    found = filled([100], half_life=60.0)
    assert found.weight(0.0) == 1.0
    assert found.weight(60.0) == 0.5


@given(AMOUNTS, st.integers(1, 1000))
def test_a_percentile_is_right_to_a_twentieth(amounts: list[int], parts: int) -> None:
    exact = sorted(amounts)[-(-parts * len(amounts) // 1000) - 1]
    found = filled(amounts, half_life=1e12).percentile(parts)
    nearby = sorted(amounts)[max(-(-parts * len(amounts) // 1000) - 2, 0)]
    assert nearby <= found <= max(exact * GROWTH + 1, 10), "ages of a second weigh a little, so the one below may be meant"


@given(AMOUNTS, st.lists(st.integers(0, 1000), min_size=2, max_size=5))
def test_larger_percentiles_are_never_smaller_amounts(amounts: list[int], parts: list[int]) -> None:
    found = filled(amounts, half_life=5.0)
    amounts_found = [found.percentile(one) for one in sorted(parts)]
    assert amounts_found == sorted(amounts_found)


@given(AMOUNTS, st.lists(st.floats(0, 1e5), min_size=2, max_size=6))
def test_what_is_known_is_worth_ever_less(amounts: list[int], later: list[float]) -> None:
    found = filled(amounts, half_life=500.0)
    worth = [found.weight(len(amounts) + one) for one in sorted(later)]
    assert worth == sorted(worth, reverse=True)


@given(AMOUNTS, st.integers(1, 999))
def test_a_newer_larger_sample_lowers_no_percentile(amounts: list[int], parts: int) -> None:
    found = filled(amounts, half_life=5.0)
    before = found.percentile(parts)
    found.add(max(amounts), float(len(amounts)))
    assert found.percentile(parts) >= before


@given(st.integers(0, 1 << 62))
def test_every_amount_is_in_a_bucket_that_holds_it(amount: int) -> None:
    found = Histogram(10, 1.0)
    bucket = found.bucket(amount)
    assert found.end(bucket) >= amount
    assert bucket == 0 or found.end(bucket - 1) < amount
