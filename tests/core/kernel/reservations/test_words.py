"""Times of plans in words."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.core.kernel.reservations.words import duration, moment


@given(st.integers(-30_000_000_000, 30_000_000_000))
def test_times_are_told_as_the_calendar_has_them(seconds: int) -> None:
    assert moment(seconds * 1000) == datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")


def test_thousandths_of_a_second_are_told_where_there_are_any() -> None:
    assert moment(1_796_086_800_012) == "2026-12-01T01:00:00.012Z"


@pytest.mark.parametrize(("time", "text"), [(0, "0s"), (90_061_001, "25h1m1s1ms"), (3_600_000, "1h"), (500, "500ms")])
def test_lengths_of_time(time: int, text: str) -> None:
    assert duration(time) == text
