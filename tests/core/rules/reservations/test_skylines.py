"""What jobs used, as one run and by intervals."""

from __future__ import annotations

from core.rules.reservations.plans import CONTAINER, size
from treadle.core.rules.reservations.over_time import OverTime
from treadle.core.rules.reservations.skylines import Skyline, counts, intervals_of, merged


def skyline(*used: tuple[int, int, int], submitted: int = 0) -> Skyline:
    return Skyline("j", submitted, CONTAINER, OverTime(2, [(start, end, size(count)) for start, end, count in used]))


def test_jobs_are_as_many_whole_seconds_later_as_they_were_submitted_later() -> None:
    run = merged([skyline((0, 10, 5)), skyline((0, 10, 3), submitted=4999)])
    assert intervals_of([run], 5) == 3
    assert counts(run, 5, 3) == [8, 8, 3]


def test_an_interval_has_the_most_of_its_time() -> None:
    assert counts(skyline((0, 5, 3), (5, 10, 8), (10, 15, 4), (15, 20, 6)), 3, 7) == [3, 8, 8, 8, 4, 6, 6]


def test_a_run_that_begins_late_is_not_moved() -> None:
    run = skyline((10, 20, 7))
    assert intervals_of([run], 5) == 4
    assert counts(run, 5, 4) == [0, 0, 7, 7]
