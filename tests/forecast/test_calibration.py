"""Ranges are stretched by what has happened to the last ones, so that four of five outcomes lie within."""

from __future__ import annotations

from random import Random

import pytest

from treadle.forecast.calibration import MOST, WINDOW, Calibration, Stretch, calibrated
from treadle.forecast.ranges import Forecast, Range, Told

SAID = Range(1_080.0, 1_100.0, 1_120.0)
"""What is said at 1000: a width is 20 on either side."""


def noted(*happened: float, said: Range = SAID) -> Calibration:
    calibration = Calibration()
    for one in happened:
        calibration.note(1_000.0, said, one)
    return calibration


def test_nothing_is_stretched_before_anything_has_happened() -> None:
    assert Calibration().stretch == Stretch(1.0, 1.0)
    assert Calibration().told(1_000.0, SAID) == SAID


def test_outcomes_as_they_were_told_change_nothing() -> None:
    assert noted(*[1_080.0 + number for number in range(41)]).stretch == Stretch(1.0, 1.0)


def test_one_that_is_far_off_changes_nothing() -> None:
    assert noted(9_000.0).stretch == Stretch(1.0, 1.0)


def test_where_more_than_a_tenth_is_late_that_side_is_stretched_until_a_tenth_is() -> None:
    late = noted(*[1_100.0 + 2 * number for number in range(40)])  # up to 78 after the median
    assert late.stretch.early == 1.0
    assert 3.0 < late.stretch.late < 3.9
    told = late.told(1_000.0, SAID)
    assert told is not None
    assert told.latest is not None
    assert (told.earliest, told.median, told.latest - told.median) == (1_080.0, 1_100.0, pytest.approx(20 * late.stretch.late))


def test_where_more_than_a_tenth_is_early_that_side_is_stretched_but_not_into_the_past() -> None:
    early = noted(*[1_030.0] * 20)
    assert early.stretch == Stretch(3.5, 1.0)
    assert early.told(1_000.0, SAID) == Range(1_030.0, 1_100.0, 1_120.0)
    assert early.told(1_060.0, SAID) == Range(1_060.0, 1_100.0, 1_120.0)
    assert early.told(1_090.0, SAID) == SAID, "what was said is in the past already"


def test_a_range_without_a_width_gets_one_by_how_far_ahead_it_is() -> None:
    exact = Range(2_000.0, 2_000.0, 2_000.0)
    off = noted(*[2_040.0] * 20, said=exact)
    assert off.stretch == Stretch(1.0, 2.0), "2% of a thousand seconds are 20"
    assert off.told(1_000.0, exact) == Range(2_000.0, 2_000.0, 2_040.0)


def test_it_is_never_more_than_so_many_times_as_wide() -> None:
    assert noted(*[1e9] * 20).stretch.late == MOST


def test_what_is_long_ago_is_forgotten() -> None:
    calibration = noted(*[1_200.0] * 50)
    assert calibration.stretch.late > 1
    for _ in range(WINDOW):
        calibration.note(1_000.0, SAID, 1_100.0)
    assert calibration.stretch == Stretch(1.0, 1.0)


def test_a_range_that_is_open_stays_so_and_nothing_is_late_for_it() -> None:
    open_ = Range(1_080.0, 1_100.0, None)
    assert noted(*[1e6] * 20, said=open_).stretch == Stretch(1.0, 1.0)
    assert noted(*[1_200.0] * 20).told(1_000.0, open_) == open_
    unknown = Range(1_080.0, None, None)
    calibration = noted(*[1_200.0] * 20)
    before = calibration.stretch
    calibration.note(1_000.0, unknown, 5_000.0)
    assert calibration.stretch == before, "more than half of the futures did not say when"
    assert calibration.told(1_000.0, unknown) == unknown
    assert calibration.told(1_000.0, None) is None


@pytest.mark.parametrize("wrong", [1.0, 2.0, 4.0])
@pytest.mark.parametrize("shift", [0.0, 15.0])
def test_four_of_five_outcomes_come_to_lie_within_however_wrong_the_futures_are(wrong: float, shift: float) -> None:
    """With a shift fewer lie before the range, since no side gets narrower than it was said."""
    chance, calibration, inside = Random(1), Calibration(), 0
    for number in range(600):
        happened = 1_000.0 + max(0.0, chance.gauss(100.0 + shift, 15.6 * wrong))  # 15.6: a tenth lies beyond 20
        told = calibration.told(1_000.0, SAID)
        assert told is not None
        assert told.earliest is not None
        assert told.latest is not None
        inside += number >= 200 and told.earliest <= happened <= told.latest
        calibration.note(1_000.0, SAID, happened)
    assert 0.75 <= inside / 400 <= (0.9 if shift else 0.85)


def test_all_that_a_forecast_tells_of_is_stretched_starts_by_starts_and_ends_by_ends() -> None:
    said = Told("ns/a", "root.q", 1, SAID, SAID, SAID)
    starts, ends = noted(*[1_140.0] * 30), Calibration()
    found = calibrated(Forecast(1_000.0, 1e6, 20, {"ns/a": said}), starts, ends).applications["ns/a"]
    assert found.first == found.last == Range(1_080.0, 1_100.0, 1_140.0)
    assert found.end == SAID
