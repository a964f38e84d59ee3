"""What an Application's status says of its future, and of its deadline."""

from __future__ import annotations

from typing import Any

import pytest

from treadle.api.application import ApplicationSpec, ApplicationStatus
from treadle.cli.eta import words_of
from treadle.controllers.eta import at_risk, unmade, written
from treadle.forecast.ranges import Forecast, Range, Told

FOUND = Forecast(0.0, 100.0, 20, {})
TOLD = Told("ns/app", "root.a", 2, Range(1.0, 2.0, 3.0), Range(10.0, 20.0, None), None, "a note", 40)


def test_a_forecast_is_written_with_times_and_what_is_beyond_the_horizon_is_missing() -> None:
    found = written(TOLD, FOUND)
    assert found == {
        "firstPodStart": {"earliest": "1970-01-01T00:00:01Z", "median": "1970-01-01T00:00:02Z", "latest": "1970-01-01T00:00:03Z"},
        "lastPodStart": {"earliest": "1970-01-01T00:00:10Z", "median": "1970-01-01T00:00:20Z", "latest": None},
        "end": None,
        "confidence": 80,
        "deadlineRisk": 40,
        "note": "a note",
        "asOf": "1970-01-01T00:00:00Z",
    }
    ApplicationStatus.model_validate({"eta": found})


def test_a_bound_that_was_met_is_said() -> None:
    found = written(TOLD, Forecast(0.0, 100.0, 3, {}, "time"))
    assert found["note"] == "a note; it was not looked further ahead than the bound of time allows"


def test_a_time_beyond_what_can_be_written_is_the_last_that_can() -> None:
    told = Told("ns/app", "root.a", 1, Range(1e15, 1e15, 1e15), None, None)
    assert written(told, FOUND)["firstPodStart"]["median"] == "9999-12-31T23:59:59Z"


@pytest.mark.parametrize(
    ("spec", "note"),
    [
        ({}, None),
        ({"expectedDuration": "1m"}, "spec.expectedDuration: no forecasts are made by this scheduler (treadle run --eta)"),
        (
            {"expectedDuration": "1m", "deadline": "2026-01-01T00:00:00Z"},
            "spec.expectedDuration, spec.deadline: no forecasts are made by this scheduler (treadle run --eta)",
        ),
    ],
)
def test_without_forecasts_who_wants_one_is_told_so(spec: dict[str, Any], note: str | None) -> None:
    found = unmade(ApplicationSpec.model_validate(spec))
    assert found == (None if note is None else {"note": note})


@pytest.mark.parametrize(
    ("deadline", "eta", "before", "expected"),
    [
        (None, None, [], []),
        ("T", None, [], []),
        (None, {"deadlineRisk": 80}, [], []),
        ("T", {"deadlineRisk": 51}, [], [("True", "ProbablyLate")]),
        ("T", {"deadlineRisk": 50}, [], [("False", "ProbablyInTime")]),
        ("T", {"deadlineRisk": None}, [{"type": "DeadlineAtRisk"}], [("False", "NotForecast")]),
        (None, None, [{"type": "DeadlineAtRisk"}], [("False", "NotForecast")]),
    ],
)
def test_a_deadline_is_at_risk_where_more_than_half_of_the_futures_are_late(
    deadline: str | None, eta: dict[str, Any] | None, before: list[dict[str, Any]], expected: list[tuple[str, str]]
) -> None:
    assert [(one["status"], one["reason"]) for one in at_risk(deadline, eta, before, 1)] == expected


def test_the_command_prints_what_the_status_says() -> None:
    assert words_of("ns/app", {"eta": written(TOLD, FOUND)}).splitlines() == [
        "ns/app, as of 1970-01-01T00:00:00Z, 80% of futures:",
        "  first pod starts  1970-01-01T00:00:02Z  (1970-01-01T00:00:01Z .. 1970-01-01T00:00:03Z)",
        "  last pod starts   1970-01-01T00:00:20Z  (1970-01-01T00:00:10Z .. beyond the horizon)",
        "  after its deadline in 40% of futures",
        "  a note",
    ]
    assert words_of("ns/app", {"eta": {"note": "off"}}) == "ns/app:\n  off\n"
    assert words_of("ns/app", {"phase": "Running"}).startswith("ns/app: nothing is forecast (phase Running)")


def test_the_command_refuses_what_is_no_name_of_an_object(capsys: pytest.CaptureFixture[str]) -> None:
    from treadle.cli.eta import eta

    for bad in ("", "/app", "ns/", "a/b/c"):
        with pytest.raises(SystemExit):
            eta(bad)
        assert capsys.readouterr().err == f"treadle: {bad!r} is not NAMESPACE/NAME, nor a NAME in the namespace of the context\n"
