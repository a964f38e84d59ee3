"""How far predictions are off: each is held against the peak until its time is over."""

from __future__ import annotations

from treadle.core.rules.opportunistic.accuracy import Errors, Watched


def watched(*samples: tuple[float, int, int], horizon: float = 100.0) -> Errors:
    """The errors after samples of (time, used, predicted)."""
    errors = Errors()
    found = Watched(horizon, errors)
    for at, used, predicted in samples:
        found.use(used, predicted, at)
    return errors


def test_a_prediction_is_counted_when_its_time_is_over() -> None:
    assert watched((0.0, 50, 100), (100.0, 60, 1)).count == 0
    assert watched((0.0, 50, 100), (100.0, 60, 1), (101.0, 60, 1)).count == 1


def test_one_above_the_peak_wastes() -> None:
    errors = watched((0.0, 50, 120), (50.0, 100, 1), (90.0, 70, 1), (101.0, 9999, 1))
    assert (errors.below, errors.mean_waste) == (0, 200.0)


def test_one_below_the_peak_harms() -> None:
    errors = watched((0.0, 50, 80), (50.0, 100, 1), (101.0, 10, 1))
    assert (errors.often_below, errors.worst, errors.shortfall) == (1000.0, 200.0, 200.0)


def test_nothing_counted_is_no_error() -> None:
    assert (Errors().often_below, Errors().mean_waste) == (0.0, 0.0)


def test_a_prediction_about_other_pods_is_not_counted() -> None:
    errors = Errors()
    found = Watched(100.0, errors)
    found.use(50, 80, 0.0)
    found.forget()
    found.use(50, 80, 200.0)
    assert errors.count == 0
