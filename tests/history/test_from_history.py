"""``treadle reserve --from-history``: what is printed can be applied, and where nothing can be proposed a line says why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from treadle.cli import from_history
from treadle.cli.reserve import reserve
from treadle.history.runs import SUCCEEDED, Run, Step
from treadle.history.store import Store

NOW = 1_700_000_000.0
DAY = 86_400.0


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    url = f"sqlite:///{tmp_path}/history.db"
    store = Store(url)
    for number in range(10):
        at = NOW - (10 - number) * DAY
        for name in ("etl/nightly", f"etl/Report_{number}"):
            steps = [Step(at, {"cpu": 500, "memory": 1 << 30}, 1)]
            store.write([Run(name, "root.a", "ann", at, at, at, at + 600, 1, 1, 0, 0, SUCCEEDED, steps)], [], [], NOW)
    store.close()
    monkeypatch.setattr(from_history.time, "time", lambda: NOW)
    return url


def test_what_is_printed_is_a_reservation_after_comments_that_say_what_it_was_made_from(
    kept: str, capsys: pytest.CaptureFixture[str]
) -> None:
    reserve(from_history="etl/nightly", store=kept)
    said = capsys.readouterr().out
    assert said.startswith("# It is made from 10 runs that succeeded, submitted from 2023-11-04T22:13:20Z")
    body = yaml.safe_load(said)
    assert body["metadata"] == {"name": "nightly", "namespace": "etl"}
    assert body["spec"]["recurrence"] == "24h"
    (request,) = body["spec"]["expression"]["requests"]
    assert request == {"demand": {"cpu": "500m", "memory": "1Gi"}, "count": 1, "concurrency": 1, "duration": "10m"}


def test_runs_by_a_pattern_need_a_name_that_objects_may_have(kept: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        reserve(from_history="etl/Report_*", store=kept)
    error = capsys.readouterr().err
    assert "Reservation Report_9: metadata.name: " in error
    assert "--name" in error
    reserve(from_history="etl/Report_*", store=kept, name="report", namespace="team", queue="root.b", time_zone="Europe/Berlin")
    body = yaml.safe_load(capsys.readouterr().out)
    assert body["metadata"] == {"name": "report", "namespace": "team"}
    assert (body["spec"]["queue"], body["spec"]["recurrence"]) == ("root.b", "13 23 * * *")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"from_history": "etl/none"}, "nothing is proposed for etl/none of the last 30 days: the history has no such runs"),
        ({"from_history": "etl/nightly", "days": 2.5}, "2 runs have succeeded, and 3 are needed"),
        ({"from_history": "etl/nightly", "store": "history.db"}, "--store: it is not the URL of a history; allowed are"),
        ({"from_history": "etl/nightly", "store": ""}, "--from-history: --store says where the history is"),
        ({"from_history": "etl/nightly", "store": "sqlite:////proc/none/history.db"}, "the history cannot be read: "),
        ({"from_history": "etl/nightly", "time_zone": "Mars/Base"}, "--time-zone: 'Mars/Base' is no time zone"),
        ({"from_history": "etl/nightly", "time_zone": "localtime"}, "--time-zone: 'localtime' is no time zone"),
        ({"from_history": "etl/nightly", "days": -30.0}, "--days: -30 is not more than 0"),
        ({"from_history": "etl/nightly", "dry_run": True}, "takes neither a file nor --dry-run"),
        ({"store": ""}, "name the file of a Reservation, or an application with --from-history"),
    ],
)
def test_what_makes_no_sense_is_said_in_a_line(
    kept: str, given: dict[str, Any], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        reserve(**{"store": kept, **given})
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1


def test_options_of_a_proposal_are_not_passed_over_with_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        reserve(tmp_path / "a.yaml", queue="root.b")
    assert "--queue: belongs to --from-history" in capsys.readouterr().err


def test_without_the_solver_it_is_said_how_to_have_it(
    kept: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        from_history.Highs, "problem", "the Python package highspy is not installed (pip install 'treadle[solver]')"
    )
    with pytest.raises(SystemExit):
        reserve(from_history="etl/nightly", store=kept)
    assert "--from-history: the Python package highspy is not installed" in capsys.readouterr().err
