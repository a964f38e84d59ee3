"""What was decided for these logs is decided still: rearranging the core changes no effect, no timer and no fact."""

from __future__ import annotations

from pathlib import Path

import pytest

from recordings.log import LOGS, Different, RecordingCore, lines_of, play
from recordings.reserved import RESERVED
from recordings.workloads import CHURNS, CLUSTERS, Cluster
from treadle.core.units.resources import ResourceTypes

ALL = sorted(LOGS.glob("*.jsonl.gz"))


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.name.partition(".")[0])
def test_a_recorded_log_has_the_effects_that_it_had(path: Path) -> None:
    assert play(path) > 0


@pytest.mark.parametrize(
    "path",
    [path for path in ALL if path.name.startswith(("capacity", "churn", "fair", "idle", "measured", "reserved"))],
    ids=lambda path: path.name.partition(".")[0],
)
def test_how_long_vectors_are_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ResourceTypes, "EXACT", 3)
    assert play(path) > 0


def test_there_is_a_log_for_every_workload() -> None:
    assert len(ALL) == len(CHURNS) + len(CLUSTERS) + len(RESERVED) + 3


def test_the_logs_know_every_kind_of_effect_and_event() -> None:
    kinds = set()
    for path in ALL:
        for line in lines_of(path):
            kinds |= {line[2][0]} if line[0] == "event" else {effect[0] for effect in line[3]} if line[0] == "plan" else set()
    told = {"ApplicationGone", "ApplicationSeen", "BindDone", "BindFailed", "EvictFailed", "NamespaceSeen"}
    told |= {"PodSampled", "ResizeDone", "ResizeFailed"}
    told |= {"NodeGone", "NodeSampled", "NodeSeen", "UsageKnown", "PodGone", "PodSeen", "QueueGone", "QueueSeen", "SchedulerSeen"}
    told |= {"ReservationGone", "ReservationLost", "ReservationSeen"}
    assert kinds == told | {"ReservationDecided", "Bind", "Evict", "Expire", "RecordEvent", "ReportWaiting", "Resize", "Verify"}


def test_a_workload_plays_the_same_twice_and_one_changed_effect_is_found(tmp_path: Path) -> None:
    first, second = (Cluster(9, "Fair").run(60) for _ in range(2))
    assert first.lines == second.lines
    first.save(tmp_path / "log.jsonl.gz")
    assert play(tmp_path / "log.jsonl.gz") > 0
    tampered = RecordingCore()
    tampered.lines = first.lines
    at = next(at for at, line in enumerate(first.lines) if line[0] == "plan" and line[3])
    tampered.lines[at][3].pop()
    tampered.save(tmp_path / "tampered.jsonl.gz")
    with pytest.raises(Different, match=f"line {at + 1}, "):
        play(tmp_path / "tampered.jsonl.gz")
