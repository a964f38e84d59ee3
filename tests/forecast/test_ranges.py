"""From futures to ranges: the tenth and the ninth tenth of what was seen, and words where something is not known."""

from __future__ import annotations

from typing import Any

import pytest

from core.builders import Scenario
from treadle.core.events import ApplicationSeen
from treadle.core.model import ApplicationSpec, Settings
from treadle.forecast.durations import Ended
from treadle.forecast.forward import Bounds
from treadle.forecast.ranges import SCENARIOS, Forecast, Range, forecast

BOUNDS = Bounds(horizon=10_000.0)


def told(scenario: Scenario, ended: Ended | None = None, **others: Any) -> Forecast:
    return forecast(scenario.core.facts(), Settings(epoch=1_000_000.0), scenario.now, ended or Ended(), BOUNDS, **others)


def busy() -> Scenario:
    scenario = Scenario().wait(10.0).nodes(1, cpu=1)
    return scenario.pod("old", application="old", node="node-0", started=1_000_010.0)


def test_what_is_declared_exactly_has_one_future_and_no_width() -> None:
    scenario = Scenario().wait(10.0).nodes(1, cpu=1).tell(ApplicationSeen(ApplicationSpec("ns/app", duration=20.0)))
    scenario.pods(2, "p")
    found = told(scenario)
    one = found.applications["ns/app"]
    assert (found.at, found.scenarios, one.queue, one.waiting, one.note) == (1_000_010.0, 1, "root.default", 2, "")
    assert one.first == Range(*[1_000_010.0] * 3)
    assert one.last == Range(*[1_000_030.0] * 3)
    assert one.end == Range(*[1_000_050.0] * 3)


def test_run_times_that_vary_give_a_range_that_is_the_same_every_time() -> None:
    scenario, ended = busy().pod("new", duration=5.0), Ended()
    for seconds in range(10, 110):
        ended.note("ns/old", "root.default", float(seconds), 0.0)
    found = told(scenario, ended)
    first = found.applications["ns/app"].first
    assert found.scenarios == SCENARIOS
    assert first is not None
    assert first.earliest is not None
    assert first.median is not None
    assert first.latest is not None
    assert 1_000_020.0 <= first.earliest < first.median < first.latest <= 1_000_120.0
    assert told(scenario, ended) == found


def test_what_is_not_known_is_said() -> None:
    one = told(busy().pod("new", duration=5.0)).applications["ns/app"]
    assert (one.first, one.last, one.end) == (None, None, None)
    assert "1 of its pods do not start within what was looked at: Unschedulable: " in one.note
    assert (
        "1 pods on nodes, its own included, run for a time that is not known, and are taken to go on: room may come earlier"
        in one.note
    )


def test_an_application_whose_run_time_is_not_known_has_starts_and_no_end() -> None:
    one = told(Scenario().nodes(1).pod("new")).applications["ns/app"]
    assert one.first is not None
    assert one.end is None
    assert "how long 1 of its pods run is not known" in one.note


def test_a_future_that_starts_nothing_within_the_horizon_leaves_the_late_end_of_a_range_open() -> None:
    scenario, ended = busy().pod("new", duration=5.0), Ended()
    for _ in range(3):
        ended.note("ns/old", "root.default", 50.0, 0.0)
        ended.note("ns/old", "root.default", 50_000.0, 0.0)
    one = told(scenario, ended).applications["ns/app"]
    assert one.first is not None
    assert one.first.earliest is not None
    assert one.first.latest is None
    assert "futures: Unschedulable" in one.note


def test_it_stops_where_the_caller_says_so_with_what_it_has() -> None:
    scenario, ended = busy().pod("new", duration=5.0), Ended()
    for seconds in (10.0, 20.0):
        ended.note("ns/old", "root.default", seconds, 0.0)
    found = told(scenario, ended, over=lambda: True)
    assert (found.scenarios, found.stopped) == (1, "time")


def test_applications_that_wait_for_nothing_are_not_told_of() -> None:
    assert told(busy()).applications == {}


@pytest.mark.parametrize(
    ("deadline", "seconds", "risk"),
    [
        (1_000_029.0, [20.0], 100),
        (1_000_030.0, [20.0], 0),
        (1_000_020.0, [5.0, 15.0], 40),
        (1_000_020.0, [], None),
        (1_000_020.0, [50_000.0], 100),
        (1_020_000.0, [50_000.0], None),
    ],
    ids=["late", "in time", "perhaps", "not known", "beyond the horizon and late", "beyond the horizon and not known"],
)
def test_the_risk_of_a_deadline_is_the_share_of_futures_that_end_after_it(
    deadline: float, seconds: list[float], risk: int | None
) -> None:
    ended = Ended()
    for one in seconds:
        ended.note("ns/app", "root.default", one, 0.0)
    scenario = Scenario().wait(10.0).nodes(1, cpu=1).tell(ApplicationSeen(ApplicationSpec("ns/app", deadline=deadline)))
    found = told(scenario.pod("new"), ended).applications["ns/app"]
    assert found.risk == risk


def test_an_application_with_a_deadline_is_told_of_though_it_waits_for_nothing() -> None:
    scenario = Scenario().wait(10.0).nodes(1).tell(ApplicationSeen(ApplicationSpec("ns/app", deadline=1_000_020.0)))
    scenario.pod("runs", node="node-0", started=1_000_005.0, duration=60.0)
    one = told(scenario).applications["ns/app"]
    assert (one.first, one.last, one.end, one.risk) == (None, None, Range(*[1_000_065.0] * 3), 100)
