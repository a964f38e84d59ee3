"""``treadle history``: runs and samples for people, and for programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from treadle.cli import history as module
from treadle.cli.history import history
from treadle.history.runs import FAILED, SUCCEEDED, Run, Step
from treadle.history.store import QueueSample, Store

NOW = 1_700_000_000.0
HOUR = 3600.0


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    url = f"sqlite:///{tmp_path}/history.db"
    store = Store(url)
    begun, gib = NOW - 2 * HOUR, 1 << 30
    steps = [Step(begun, {"cpu": 2500, "memory": 4 * gib, "nvidia.com/gpu": 1}, 2), Step(begun + HOUR, {}, 0, (2, 0, 0))]
    store.write(
        [
            Run("team/etl", "root.a", "ann", begun - 40, begun, begun, begun + HOUR, 2, 2, 0, 0, SUCCEEDED, steps),
            Run("team/old", "root.b", "bob", begun - 1e6, begun - 1e6, begun, begun - 9e5, 1, 0, 1, 0, FAILED, []),
        ],
        [Run("team/now", "root.b", "", NOW - 60, NOW - 60, NOW - 60, None, 1, steps=[Step(NOW - 60, {"cpu": 60_000}, 1)])],
        [QueueSample("root.a", NOW - 300, {"cpu": 2500, "memory": gib}, {}, {"cpu": 4000}, 1, 2, 3)],
        NOW,
    )
    store.close()
    monkeypatch.setattr(module.time, "time", lambda: NOW)
    return url


def test_it_shows_when_runs_were_and_what_they_used(kept: str, capsys: pytest.CaptureFixture[str]) -> None:
    history(store=kept)
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == list(module.HEADS)
    assert lines[1] == ["team/now", "root.b", "2023-11-14T22:12:20Z", "0s", "60s", "1", "cpu=1h"]
    assert lines[2][:8] == ["team/etl", "root.a", "ann", "2023-11-14T20:13:20Z", "40s", "3600s", "2", "Succeeded"]
    assert lines[2][8:] == ["cpu=2.5h", "memory=4Gi*h", "nvidia.com/gpu=1h"]
    assert len(lines) == 3


def test_json_has_every_step(kept: str, capsys: pytest.CaptureFixture[str]) -> None:
    history("team/e*", store=kept, output="json")
    (line,) = capsys.readouterr().out.splitlines()
    found = json.loads(line)
    assert (found["application"], found["outcome"], len(found["steps"])) == ("team/etl", "Succeeded", 2)


def test_samples_of_a_queue(kept: str, capsys: pytest.CaptureFixture[str]) -> None:
    history(store=kept, queue="root.a", samples=True)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["2023-11-14T22:08:20Z", "cpu=2500m", "memory=1Gi", "cpu=4", "1", "2", "3"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"store": "history.db"}, "--store: it is not the URL of a history; allowed are"),
        ({"store": "sqlite:////proc/none/history.db"}, "the history cannot be read: "),
        ({"store": "sqlite:////tmp/x.db", "samples": True}, "--samples: name the queue with --queue"),
        (
            {"store": "sqlite:////tmp/x.db", "samples": True, "queue": "root.a", "application": "team/etl"},
            "--samples: shows what a queue has held, and nothing of team/etl",
        ),
        ({"store": "sqlite:////tmp/x.db", "days": -1.0}, "--days: -1 is not more than 0"),
        ({"store": "sqlite:////tmp/x.db", "days": float("nan")}, "--days: nan is not more than 0"),
        ({"store": "sqlite:////tmp/x.db", "most": 0}, "--most: 0 is less than 1"),
    ],
)
def test_what_makes_no_sense_is_said_in_a_line(given: dict[str, str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        history(**given)  # type: ignore[arg-type]
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1


def test_who_reads_where_nothing_was_kept_is_told_and_makes_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in (tmp_path / "typo" / "history.db", tmp_path / "empty.db"):
        if path.parent == tmp_path:
            path.touch()
        before = path.exists()
        with pytest.raises(SystemExit):
            history(store=f"sqlite:///{path}")
        assert "the history cannot be read: there is none in sqlite:///" in capsys.readouterr().err
        assert (path.exists(), path.parent.exists()) == (before, path.parent == tmp_path)
