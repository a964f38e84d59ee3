"""When something has begun again and again: which period or days of the week are found in it, and where none are."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.controllers.recurrence import recurring
from treadle.history.rhythm import DAY, HOUR, MINUTE, PERIODS, Rhythm, rhythm

BERLIN = ZoneInfo("Europe/Berlin")
MONDAY = 1_704_067_200.0
"""The first of January 2024, midnight in UTC."""


def at(text: str, zone: ZoneInfo | None = None) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=zone or ZoneInfo("UTC")).timestamp()


def daily(days: int, hour: float, zone: ZoneInfo = BERLIN, first: str = "2024-03-11") -> list[float]:
    """Beginnings on so many days at an hour of a zone's clock."""
    start = datetime.fromisoformat(first)
    return [(start + timedelta(days=day, hours=hour)).replace(tzinfo=zone).timestamp() for day in range(days)]


@pytest.mark.parametrize(
    ("what", "starts", "zone", "recurrence"),
    [
        ("each hour at about ten past", [MONDAY + hour * HOUR + 600 + hour % 3 * 60 for hour in range(20)], None, "1h"),
        ("each quarter of an hour", [MONDAY + number * 900 for number in range(9)], None, "15m"),
        ("each twelve hours, one missing", [MONDAY + number * 43_200 for number in (0, 1, 2, 4, 5, 6, 7)], None, "12h"),
        ("each day at 3:00 of UTC", [MONDAY + day * DAY + 3 * HOUR for day in range(5)], None, "24h"),
        ("each day at 3:05 in Berlin, over the change of the clock", daily(30, 3 + 1 / 12), BERLIN, "5 3 * * *"),
        ("each Thursday", [MONDAY + week * 7 * DAY + 3 * DAY for week in range(4)], None, "168h"),
        ("each Thursday in Berlin", daily(50, 1)[3::7], BERLIN, "0 1 * * 4"),
        ("each Sunday in Berlin", daily(50, 1)[6::7], BERLIN, "0 1 * * 0"),
        ("on workdays", [one for day, one in enumerate(daily(28, 22.5)) if day % 7 < 5], BERLIN, "30 22 * * 1,2,3,4,5"),
        ("on workdays but a holiday", [one for day, one in enumerate(daily(28, 22.5)) if day % 7 < 5 and day != 9], BERLIN, "30 22 * * 1,2,3,4,5"),
        ("around midnight", [MONDAY + day * DAY + late for day, late in enumerate((-300, 200, -100, 100, -200))], None, "24h"),
        ("on Monday, Wednesday and Friday", [one for day, one in enumerate(daily(28, 4)) if day % 7 in {0, 2, 4}], BERLIN, "0 4 * * 1,3,5"),
    ],
)  # fmt: skip
def test_what_is_regular_is_found(what: str, starts: list[float], zone: ZoneInfo | None, recurrence: str) -> None:
    found = rhythm(starts, zone)
    assert found is not None, what
    assert found.recurrence == recurrence


@pytest.mark.parametrize(
    ("what", "starts"),
    [
        ("two are too few", [MONDAY, MONDAY + DAY]),
        ("at whatever time of the day", [MONDAY + day * DAY + day * 5 * HOUR % DAY for day in range(12)]),
        ("each month", [at(f"2024-{month:02}-01T03:00:00") for month in range(1, 8)]),
        ("every other week", [MONDAY + week * 14 * DAY for week in range(6)]),
        ("three days of one week, with gaps: which days it is cannot be told", [MONDAY + day * DAY for day in (0, 2, 4)]),
        ("all at once", [MONDAY] * 5),
        ("each seven hours, which does not divide a day", [MONDAY + number * 7 * HOUR for number in range(20)]),
    ],
)
def test_what_is_not_regular_has_no_rhythm(what: str, starts: list[float]) -> None:
    assert rhythm(starts) is None, what


def test_the_next_beginning_is_at_the_time_that_the_clock_of_the_zone_shows() -> None:
    found = rhythm(daily(12, 3, first="2024-03-15"), BERLIN)
    assert found is not None
    assert found.next(at("2024-03-29T12:00:00")) == at("2024-03-30T03:00:00", BERLIN)
    assert found.next(at("2024-03-30T12:00:00")) == at("2024-03-31T03:00:00", BERLIN), "an hour earlier by UTC"
    assert found.next(at("2024-03-30T12:00:00")) - found.next(at("2024-03-29T12:00:00")) == 23 * HOUR


def test_workdays_go_from_friday_to_monday() -> None:
    found = rhythm([one for day, one in enumerate(daily(28, 22)) if day % 7 < 5], BERLIN)
    assert found is not None
    friday, monday = at("2024-05-03T22:00:00", BERLIN), at("2024-05-06T22:00:00", BERLIN)
    assert found.next(friday) == monday
    assert found.nearest(friday + 30 * HOUR) == friday
    assert found.apart == DAY


def test_a_single_day_of_the_week_is_a_week_apart() -> None:
    assert Rhythm(DAY, 0, (3,)).apart == 7 * DAY
    assert Rhythm(DAY, 0, (0, 4)).apart == 3 * DAY


@given(
    period=st.sampled_from(PERIODS),
    phase=st.integers(0, DAY // MINUTE),
    late=st.lists(st.floats(-0.02, 0.02), min_size=3, max_size=12),
)
def test_a_period_is_found_however_late_each_beginning_is_within_bounds(period: int, phase: int, late: list[float]) -> None:
    starts = [MONDAY + phase * MINUTE + number * period + one * period for number, one in enumerate(late)]
    found = rhythm(starts)
    assert found is not None
    assert recurring(found.recurrence, "UTC", 0).period == period * 1000
    for time in starts:
        assert abs(found.nearest(time) - time) <= 0.05 * period + MINUTE
        assert found.next(time) > time
