"""Times of a calendar as times of UTC that come again: whatever the clock of a zone does, the times that it shows are among them."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from treadle.controllers.recurrence import Recurrence, recurring
from treadle.core.errors import InvalidSpec

MINUTE, HOUR, DAY, WEEK = 60_000, 3_600_000, 86_400_000, 604_800_000


def at(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)


SINCE = at("2026-01-01T00:00:00Z")


def begins(found: Recurrence, text: str) -> bool:
    """Whether it begins at a time."""
    return at(text) % found.period in found.starts


@pytest.mark.parametrize(
    ("text", "zone", "period", "hours", "apart"),
    [
        ("0 3 * * *", "UTC", 24, [3], 24),
        ("0 3 * * *", "Asia/Kolkata", 24, [21.5], 24),
        ("0 3 * * *", "Europe/Berlin", 24, [1, 2], 24),
        ("0 3 * * *", "America/New_York", 24, [7, 8], 24),
        ("0 3 * * *", "Australia/Lord_Howe", 24, [16, 16.5], 24),
        ("30 1,3 * * *", "Europe/Berlin", 24, [0.5, 1.5, 2.5, 23.5], 2),
        ("0 */6 * * *", "UTC", 6, [0], 6),
        ("*/15 * * * *", "Europe/Berlin", 0.25, [0], 0.25),
        ("5,35 * * * *", "UTC", 0.5, [1 / 12], 0.5),
        ("0 0 * * MON", "UTC", 168, [96], 168),
        ("0 0 * * 1", "Europe/Berlin", 168, [94, 95], 168),
        ("0 0 * * 0", "UTC", 168, [72], 168),
        ("0 0 * * 7", "UTC", 168, [72], 168),
        ("0 0 * * 0-6", "UTC", 24, [0], 24),
        ("@hourly", "Europe/Berlin", 1, [0], 1),
        ("@weekly", "UTC", 168, [72], 168),
        ("  0  3 * * * ", "UTC", 24, [3], 24),
    ],
)
def test_an_expression_has_the_shortest_period_after_which_it_is_the_same_again(
    text: str, zone: str, period: float, hours: list[float], apart: float
) -> None:
    found = recurring(text, zone, SINCE)
    assert (found.period / HOUR, [start / HOUR for start in found.starts], found.apart / HOUR) == (period, hours, apart)


@pytest.mark.parametrize(("text", "expected"), [("", Recurrence()), ("24h", Recurrence(DAY)), ("1h30m", Recurrence(90 * MINUTE))])
def test_a_period_is_no_calendar_and_asks_for_no_zone(text: str, expected: Recurrence) -> None:
    assert recurring(text, "Mars/Olympus", SINCE) == expected


@pytest.mark.parametrize(
    ("text", "zone", "times"),
    [
        # Berlin: at 2026-03-29T01:00Z the clock goes from 2 to 3, at 2026-10-25T01:00Z from 3 to 2
        ("0 3 * * *", "Europe/Berlin", ["2026-03-28T02:00Z", "2026-03-29T01:00Z", "2026-03-30T01:00Z"]),
        ("0 3 * * *", "Europe/Berlin", ["2026-10-24T01:00Z", "2026-10-25T02:00Z", "2026-10-26T02:00Z"]),
        ("0 3 * * 0", "Europe/Berlin", ["2026-03-22T02:00Z", "2026-03-29T01:00Z", "2026-10-25T02:00Z"]),
        # a time that the clock leaves out is an hour later by the clock; one that it shows twice is had at both
        ("30 2 * * *", "Europe/Berlin", ["2026-03-28T01:30Z", "2026-03-29T01:30Z", "2026-03-30T00:30Z"]),
        ("30 2 * * *", "Europe/Berlin", ["2026-10-24T00:30Z", "2026-10-25T00:30Z", "2026-10-25T01:30Z", "2026-10-26T01:30Z"]),
        # New York: at 2026-03-08T07:00Z from 2 to 3, at 2026-11-01T06:00Z from 2 to 1
        ("30 2 * * *", "America/New_York", ["2026-03-07T07:30Z", "2026-03-08T07:30Z", "2026-03-09T06:30Z"]),
        ("30 1 * * *", "America/New_York", ["2026-10-31T05:30Z", "2026-11-01T05:30Z", "2026-11-01T06:30Z", "2026-11-02T06:30Z"]),
        ("0 3 * * *", "Asia/Tokyo", ["2026-03-28T18:00Z", "2026-10-25T18:00Z"]),
    ],
)
def test_what_is_promised_holds_on_either_side_of_a_change_of_the_clock(text: str, zone: str, times: list[str]) -> None:
    found = recurring(text, zone, SINCE)
    assert [time for time in times if not begins(found, time)] == []


def test_offsets_that_a_zone_had_before_are_not_promised() -> None:
    assert recurring("0 3 * * *", "Europe/Moscow", at("2010-01-01T00:00:00Z")).starts == (0, 23 * HOUR)
    assert recurring("0 3 * * *", "Europe/Moscow", SINCE).starts == (0,)


@pytest.mark.parametrize("since", [at("0001-01-01T00:00:00Z"), at("1900-01-01T00:00:00Z"), at("9999-12-31T23:59:59Z")])
@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Etc/GMT+12", "Europe/Berlin"])
def test_any_year_that_can_be_written_can_be_asked(since: int, zone: str) -> None:
    assert recurring("0 3 * * *", zone, since).period == DAY


@pytest.mark.parametrize(
    ("text", "zone", "words"),
    [
        ("0 3 1 * *", "UTC", "spec.recurrence: '0 3 1 * *' says 1 for the day of the month, which must be *"),
        ("0 3 * 1-6 *", "UTC", "spec.recurrence: '0 3 * 1-6 *' says 1-6 for the month, which must be *"),
        (
            "0 3 * * 5L",
            "UTC",
            "spec.recurrence: '0 3 * * 5L' says 5L for the day of the week, which is another one in each month",
        ),
        ("0 3 * * MON#1", "UTC", "which is another one in each month"),
        ("61 3 * * *", "UTC", "spec.recurrence: '61 3 * * *' is no cron expression: bad minute; allowed are"),
        ("0 24 * * *", "UTC", "bad hour"),
        ("0 3 * * 8", "UTC", "bad day-of-week"),
        ("*/0 3 * * *", "UTC", "bad minute"),
        ("1d", "UTC", "'1d' is neither a period nor a cron expression of five fields; allowed are a period such as 24h"),
        ("0 0 3 * * *", "UTC", "of five fields"),
        ("@monthly", "UTC", "of five fields"),
        ("TZ=Europe/Berlin 0 3 * * *", "UTC", "names a time zone, which spec.timeZone is for"),
        (
            "0 3 * * *",
            "Mars/Olympus",
            "spec.timeZone: 'Mars/Olympus' is no time zone; allowed are names of the time zone database",
        ),
        ("0 3 * * *", "Europe", "'Europe' is no time zone"),
        ("0 3 * * *", "../../etc/passwd", "is no time zone"),
        ("0 3 * * *", "/etc/localtime", "is no time zone"),
        ("0 3 * * *", "Local", "'Local' is no time zone"),
        ("0 3 * * *", "\0", "is no time zone"),
        ("0 3 * * *", "\ud800", "is no time zone"),
    ],
)
def test_what_is_no_cycle_is_refused_with_the_field_and_what_is_allowed(text: str, zone: str, words: str) -> None:
    with pytest.raises(InvalidSpec) as found:
        recurring(text, zone, SINCE)
    assert words in str(found.value)


@given(text=st.text(st.sampled_from("0123456789*/,-#L @MONSU?"), max_size=30), zone=st.text(max_size=10))
@settings(max_examples=examples(300), deadline=None)
def test_nothing_that_can_be_written_raises_anything_else(text: str, zone: str) -> None:
    for each in (zone, "UTC"):
        with suppress(InvalidSpec):
            recurring(text, each, SINCE)


def _field(most: int) -> st.SearchStrategy[set[int]]:
    return st.sets(st.integers(0, most), min_size=1, max_size=3)


@given(
    minutes=st.sets(st.sampled_from(range(0, 60, 5)), min_size=1, max_size=3),
    hours=st.one_of(_field(23), st.just(set(range(24)))),
    days=st.one_of(_field(6), st.just(set(range(7)))),
    zone=st.sampled_from(["Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "Africa/Casablanca"]),
    second_year=st.integers(2024, 2036),
)
@settings(max_examples=examples(12), deadline=None)
def test_each_time_of_two_years_is_among_those_that_come_again(
    minutes: set[int], hours: set[int], days: set[int], zone: str, second_year: int
) -> None:
    fields = [",".join(map(str, sorted(each))) for each in (minutes, hours, days)]
    begun, clock = datetime(second_year - 1, 1, 1, tzinfo=UTC), ZoneInfo(zone)
    found = recurring(f"{fields[0]} {fields[1]} * * {fields[2]}", zone, round(begun.timestamp() * 1000))
    time, end, seen = begun, datetime(second_year + 1, 1, 1, tzinfo=UTC), set[int]()
    while time < end:
        local = time.astimezone(clock)
        if local.hour in hours and local.minute in minutes and (local.weekday() + 1) % 7 in days:
            seen.add(round(time.timestamp() * 1000) % found.period)
        time += timedelta(minutes=5)
    assert seen <= set(found.starts)
    assert len(found.starts) <= 4 * len(seen)  # and not any time whatever
