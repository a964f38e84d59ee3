"""A Reservation from the runs of an application: what it needs, when it comes again and by when it is over."""

from __future__ import annotations

from typing import Any
from zoneinfo import ZoneInfo

import pytest

from treadle.api.objects import parse
from treadle.controllers.recurrence import recurring
from treadle.history.proposing import NoProposal, Proposal, Wishes, propose
from treadle.history.rhythm import DAY, HOUR, MINUTE
from treadle.history.runs import FAILED, SUCCEEDED, Run, Step
from treadle.runtime.solver import Highs

MONDAY = 1_704_067_200.0
GIB = 1 << 30


def run(submitted: float, *stages: tuple[float, int], outcome: str = SUCCEEDED, name: str = "etl/nightly", **extra: int) -> Run:
    """A run whose pods, of 2 cores and 4 GiB, are so many for so many seconds, stage by stage; it starts a minute after it was submitted."""
    at = started = submitted + 60
    steps = []
    for seconds, pods in stages:
        amounts = {"cpu": 2000 * pods, "memory": 4 * GIB * pods, **{key: value * pods for key, value in extra.items()}}
        steps.append(Step(at, {key: value for key, value in amounts.items() if value}, pods))
        at += seconds
    steps.append(Step(at, {}, 0, (stages[0][1], 0, 0)))
    return Run(name, "root.nightly", "ann", submitted, started, started, at, 1, 1, 0, 0, outcome, steps)


def proposed(runs: list[Run], **wishes: Any) -> Proposal:
    found = propose(runs, Highs(), MONDAY + 30 * DAY + HOUR, Wishes(**wishes))
    parse("Reservation", found.body)
    return found


def spec(found: Proposal) -> dict[str, Any]:
    said: dict[str, Any] = found.body["spec"]
    return said


def test_runs_that_are_all_alike_are_what_is_reserved() -> None:
    runs = [run(MONDAY + day * DAY, (HOUR, 2), (HOUR, 5), (1800, 1)) for day in range(10)]
    found = proposed(runs)
    assert found.body["metadata"] == {"name": "nightly", "namespace": "etl"}
    said = spec(found)
    assert (said["queue"], said["arrival"], said["recurrence"]) == ("root.nightly", "2024-02-01T00:00:00Z", "24h")
    assert said["deadline"] == "2024-02-01T02:31:00Z", "each had ended by then, a minute of waiting included"
    demand = {"cpu": "2", "memory": "4Gi"}
    assert said["expression"] == {
        "interpreter": "OrderNoGap",
        "requests": [
            {"demand": demand, "count": 2, "concurrency": 2, "duration": "1h"},
            {"demand": demand, "count": 5, "concurrency": 5, "duration": "1h"},
            {"demand": demand, "count": 1, "concurrency": 1, "duration": "30m"},
        ],
    }
    assert (
        found.reasons[0]
        == "It is made from 10 runs that succeeded, submitted from 2024-01-01T00:00:00Z until 2024-01-10T00:00:00Z."
    )
    assert "95% of the runs had ended 2h31m after the time of their recurrence." in found.reasons


def test_what_one_run_of_many_had_more_is_not_reserved() -> None:
    runs = [run(MONDAY + day * DAY, (HOUR, 40 if day == 4 else 4)) for day in range(20)]
    (request,) = spec(proposed(runs))["expression"]["requests"]
    assert request["count"] == 4


def test_a_single_long_run_does_not_move_the_deadline() -> None:
    runs = [run(MONDAY + day * DAY, (10 * HOUR if day == 4 else HOUR, 4)) for day in range(30)]
    assert spec(proposed(runs))["deadline"] == "2024-02-01T01:01:00Z"


def test_runs_that_did_not_succeed_say_nothing() -> None:
    runs = [run(MONDAY + day * DAY, (HOUR, 4)) for day in range(10)]
    runs += [run(MONDAY + day * DAY + 7 * HOUR, (MINUTE, 90), outcome=FAILED) for day in range(10)]
    (request,) = spec(proposed(runs))["expression"]["requests"]
    assert request["count"] == 4


def test_pauses_are_left_out_and_may_be_longer_or_shorter() -> None:
    expression = spec(proposed([run(MONDAY + day * DAY, (HOUR, 2), (HOUR, 0), (HOUR, 3)) for day in range(10)]))["expression"]
    assert expression["interpreter"] == "Order"
    assert [(one["count"], one["duration"]) for one in expression["requests"]] == [(2, "1h"), (3, "1h")]


def test_devices_are_reserved_whole() -> None:
    runs = [run(MONDAY + day * DAY, (HOUR, 3), **{"nvidia.com/gpu": 2}) for day in range(5)]
    (request,) = spec(proposed(runs))["expression"]["requests"]
    assert request["demand"] == {"cpu": "1", "memory": "2Gi", "nvidia.com/gpu": "1"}
    assert request["count"] == 6


def test_runs_under_other_names_each_time_are_one_thing_and_it_has_the_name_that_is_wished() -> None:
    runs = [run(MONDAY + day * DAY, (HOUR, 1), name=f"etl/nightly-{day}") for day in range(5)]
    found = proposed(runs, name="nightly", namespace="team", queue="root.other")
    assert found.body["metadata"] == {"name": "nightly", "namespace": "team"}
    assert spec(found)["queue"] == "root.other"


def test_what_runs_beside_the_reservations_of_a_queue_is_proposed_for_that_queue() -> None:
    runs = [run(MONDAY + day * DAY, (HOUR, 1)) for day in range(5)]
    for one in runs:
        one.queue = "root.plan.plan-default"
    assert spec(proposed(runs))["queue"] == "root.plan"


def test_on_workdays_it_has_a_cron_expression_in_the_zone_and_says_what_the_queue_needs() -> None:
    runs = [run(MONDAY + day * DAY + 2 * HOUR, (HOUR, 1)) for day in range(28) if day % 7 < 5]
    found = proposed(runs, zone=ZoneInfo("Europe/Berlin"))
    said = spec(found)
    assert (said["recurrence"], said["timeZone"]) == ("0 3 * * 1,2,3,4,5", "Europe/Berlin")
    assert said["arrival"] == "2024-01-31T02:00:00Z"
    assert recurring(said["recurrence"], said["timeZone"], 0).starts
    assert "The queue has to have spec.reservations.maximumPeriod 168h or a multiple of it." in found.reasons


def test_where_runs_take_as_long_as_the_time_between_them_the_window_ends_with_the_next() -> None:
    runs = [run(MONDAY + hour * HOUR, (50 * MINUTE, 1)) for hour in range(24)]
    late = [run(MONDAY + hour * HOUR, (50 * MINUTE, 1)) for hour in range(24)]
    for one in late:
        one.ended = (one.ended or 0) + 20 * MINUTE
        one.steps[-1] = one.steps[-1]._replace(at=one.steps[-1].at)
    assert spec(proposed(runs))["recurrence"] == "1h"
    found = proposed(late)
    assert "The window is shorter: the next one begins 1h after it." in found.reasons
    assert spec(found)["deadline"] == "2024-01-31T03:00:00Z"


@pytest.mark.parametrize(
    ("runs", "words"),
    [
        ([], "the history has no such runs"),
        ([run(MONDAY, (HOUR, 1), outcome=FAILED)], "of 1 runs none has succeeded"),
        ([run(MONDAY + day * DAY, (HOUR, 1)) for day in range(2)], "2 runs have succeeded, and 3 are needed to say when they come again"),
        ([run(MONDAY + day * 7 * HOUR, (HOUR, 1)) for day in range(9)], "no period is found in the beginnings of 9 runs, which are between 7h and 7h apart"),
        ([run(MONDAY + day * DAY, (HOUR, 0)) for day in range(5)], "its pods requested nothing"),
        ([run(MONDAY + hour * HOUR, (3 * HOUR, 1)) for hour in range(24)], "runs take 3h, and begin every 1h: they would overlap"),
    ],
)  # fmt: skip
def test_where_nothing_can_be_proposed_it_is_said_why(runs: list[Run], words: str) -> None:
    with pytest.raises(NoProposal) as raised:
        propose(runs, Highs(), MONDAY + 30 * DAY, Wishes())
    assert words in str(raised.value)
