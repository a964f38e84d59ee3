"""How long the pods of past runs ran."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from treadle.history.run_times import mean_seconds, past
from treadle.history.runs import DELETED, FAILED, SUCCEEDED, UNKNOWN, Run, Step
from treadle.history.store import Store

RUN = Run(
    "ns/app",
    "root.a",
    "ann",
    90.0,
    100.0,
    100.0,
    ended=200.0,
    pods=3,
    succeeded=3,
    outcome=SUCCEEDED,
    steps=[Step(100.0, {}, 1), Step(120.0, {}, 2), Step(150.0, {}, 1, (2, 0, 0))],
)


def test_the_mean_is_the_time_of_all_pods_over_their_number() -> None:
    assert mean_seconds(RUN) == (1 * 20 + 2 * 30 + 1 * 50) / 3


@pytest.mark.parametrize(
    "run",
    [
        pytest.param(replace(RUN, ended=None), id="under way"),
        pytest.param(replace(RUN, outcome=UNKNOWN), id="its end was not seen"),
        pytest.param(replace(RUN, outcome=DELETED, deleted=3, succeeded=0), id="deleted"),
        pytest.param(replace(RUN, deleted=1, succeeded=2), id="one of its pods was deleted"),
        pytest.param(replace(RUN, started=80.0), id="its beginning was not seen"),
        pytest.param(replace(RUN, steps=[]), id="nothing is known of it"),
        pytest.param(replace(RUN, pods=0), id="no pods"),
    ],
)
def test_what_was_not_seen_whole_says_nothing(run: Run) -> None:
    assert mean_seconds(run) is None


def test_past_runs_are_read_oldest_first_until_a_time(tmp_path: Path) -> None:
    store = Store(f"sqlite:///{tmp_path}/history.db")
    runs = [
        replace(RUN, application="ns/second", started=1000.0, ended=1100.0, steps=[Step(1000.0, {}, 3)]),
        replace(RUN, application="ns/first"),
        replace(RUN, application="ns/failed", outcome=FAILED, started=500.0, ended=560.0, steps=[Step(500.0, {}, 3)]),
        replace(RUN, application="ns/later", started=2000.0, ended=3000.0, steps=[Step(2000.0, {}, 3)]),
        replace(RUN, application="ns/long ago", started=10.0, ended=20.0, steps=[Step(10.0, {}, 3)]),
    ]
    store.write(runs, [], [], 5000.0)
    found = past(store, 50.0, 2500.0)
    store.close()
    assert found == [
        ("ns/first", "root.a", 130 / 3),
        ("ns/failed", "root.a", 60.0),
        ("ns/second", "root.a", 100.0),
    ]
