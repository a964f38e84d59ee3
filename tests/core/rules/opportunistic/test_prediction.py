"""The most that a node will use within minutes, by each predictor."""

from __future__ import annotations

from math import isclose
from statistics import fmean, pstdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.core.model.opportunistic import LARGEST, LAST_SAMPLE, PART, PERCENTILE, RESERVATION, SIGMA, PredictionSettings
from treadle.core.rules.opportunistic.histograms import Histogram
from treadle.core.rules.opportunistic.prediction import (
    Largest,
    LastSample,
    Moments,
    NodeHistory,
    NSigma,
    PartOfDemand,
    Percentiles,
    PodHistory,
    Predictor,
    Reservation,
    Reservations,
    predictor,
)


def used_by(amounts: list[int]) -> Histogram:
    found = Histogram(1, 1e9)
    for at, amount in enumerate(amounts):
        found.add(amount, float(at))
    return found


def moments(amounts: list[int], half_life: float = 1e12) -> Moments:
    found = Moments(half_life)
    for at, amount in enumerate(amounts):
        found.add(amount, float(at))
    return found


STEADY = PodHistory(1000, used_by([400] * 20), Reservation(1000, 0.0))
NEW = PodHistory(1000, used_by([10] * 3))
NODE = NodeHistory([STEADY, NEW], used=700, moments=moments([600, 700, 800, 700] * 5))


def test_the_last_sample_predicts_that_nothing_changes() -> None:
    assert LastSample().peak(NODE, 20.0) == 700


def test_a_part_of_what_is_asked_for_is_predicted_but_no_less_than_is_used() -> None:
    assert PartOfDemand(900).peak(NODE, 20.0) == 1800
    assert PartOfDemand(100).peak(NODE, 20.0) == 700


def test_percentiles_are_added_and_new_pods_count_in_full() -> None:
    predictor = Percentiles(margin=100, enough=10.0)
    assert 440 <= predictor.of_pod(STEADY, 20.0) <= 463
    assert predictor.of_pod(NEW, 20.0) == 1000
    assert predictor.peak(NODE, 20.0) == predictor.of_pod(STEADY, 20.0) + 1000


def test_what_was_known_long_ago_is_not_enough() -> None:
    old = PodHistory(1000, Histogram(1, 60.0))
    for at in range(20):
        old.used.add(400, float(at))  # type: ignore[union-attr]
    assert Percentiles().of_pod(old, 20.0) < 1000
    assert Percentiles().of_pod(old, 600.0) == 1000


def test_mean_and_deviations_are_the_nodes_own() -> None:
    assert NSigma(2.0).peak(NODE, 20.0) == 842
    assert NSigma(2.0).peak(NodeHistory([STEADY, NEW], 700, moments([700] * 3)), 3.0) == 2000, "too little is known"


def test_the_largest_of_several_is_taken() -> None:
    assert Largest([NSigma(2.0), PartOfDemand(500)]).peak(NODE, 20.0) == 1000


def test_a_reservation_is_what_was_asked_for_until_the_start_is_over_and_then_sinks() -> None:
    kept = Reservation(1000, 0.0, margin=0, half_life=100.0, settled=300.0)
    kept.use(200, 10.0)
    assert [kept.amount(at) for at in (10.0, 300.0, 400.0, 500.0)] == [1000, 1000, 600, 400]


def test_a_reservation_rises_at_once() -> None:
    kept = Reservation(1000, 0.0, margin=200, half_life=100.0, settled=0.0)
    kept.use(100, 10.0)
    kept.use(2000, 1000.0)
    assert kept.amount(1000.0) == 2400


def test_reservations_are_added() -> None:
    kept = Reservation(1000, 0.0, margin=0, half_life=100.0, settled=0.0)
    kept.use(0, 0.0)
    node = NodeHistory([PodHistory(1000, reservation=kept), NEW], used=0)
    assert Reservations().peak(node, 100.0) == 1500


def test_without_pods_nothing_but_usage_is_predicted() -> None:
    assert Percentiles().peak(NodeHistory([], 70), 0.0) == 70


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        (LAST_SAMPLE, LastSample()),
        (PART, PartOfDemand(700)),
        (PERCENTILE, Percentiles(700, 50)),
        (RESERVATION, Reservations()),
        (SIGMA, NSigma(3.0)),
        (LARGEST, Largest([Percentiles(700, 50), NSigma(3.0)])),
    ],
)
def test_the_settings_choose_the_predictor(method: str, expected: Predictor) -> None:
    assert predictor(PredictionSettings(method, 700, 50, 3.0)) == expected


PREDICTORS: list[Predictor] = [
    LastSample(),
    PartOfDemand(500),
    Percentiles(),
    NSigma(),
    Reservations(),
    Largest([]),
    Largest([NSigma(), Percentiles()]),
]


@pytest.mark.parametrize("one", PREDICTORS, ids=str)
@given(
    pods=st.lists(st.tuples(st.integers(0, 1000), st.lists(st.integers(0, 2000), max_size=15)), max_size=4),
    used=st.integers(0, 5000),
    seen=st.lists(st.integers(0, 5000), max_size=15),
)
def test_no_prediction_is_below_what_is_used(
    one: Predictor, pods: list[tuple[int, list[int]]], used: int, seen: list[int]
) -> None:
    node = NodeHistory(
        [PodHistory(demand, used_by(amounts), Reservation(demand, 0.0)) for demand, amounts in pods], used, moments(seen)
    )
    assert one.peak(node, 20.0) >= used


@given(
    st.integers(0, 10**6),
    st.lists(st.tuples(st.floats(0, 1000), st.integers(0, 10**6)), max_size=10),
    st.lists(st.floats(0, 1e5), min_size=2, max_size=6),
)
def test_a_reservation_only_sinks_while_no_sample_comes_and_never_below_what_was_used(
    demand: int, samples: list[tuple[float, int]], later: list[float]
) -> None:
    kept, now, last = Reservation(demand, 0.0), 0.0, None
    for apart, amount in samples:
        now += apart
        before = kept.amount(now)
        kept.use(amount, now)
        last = amount
        assert kept.amount(now) >= min(before, amount * 12 // 10)
    amounts = [kept.amount(now + one) for one in sorted(later)]
    assert amounts == sorted(amounts, reverse=True)
    assert last is None or min(amounts) >= last


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=30))
def test_without_decay_mean_and_deviation_are_the_ordinary_ones(amounts: list[int]) -> None:
    found = moments(amounts)
    assert isclose(found.mean, fmean(amounts), rel_tol=1e-6, abs_tol=1e-6)
    assert isclose(found.deviation, pstdev(amounts), rel_tol=1e-5, abs_tol=1e-2)


def test_a_new_level_is_believed_after_some_half_lives() -> None:
    found = moments([1000] * 50 + [100] * 50, half_life=5.0)
    assert found.mean < 105
    assert found.deviation < 60
