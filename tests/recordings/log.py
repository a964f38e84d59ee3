"""A recorded log: one JSON line for the settings, then one for each event and each pass, a pass with the effects that it had."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from recordings.codec import decode, encode
from treadle.core import Core
from treadle.core.effects import Effect
from treadle.core.events import Event

LOGS = Path(__file__).parent / "logs"
"""Where the logs are kept."""


class RecordingCore(Core):
    """A core that writes down what it is told and what it answers."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.lines: list[Any] = []

    def handle(self, event: Event, now: float) -> None:
        """Write the event down, then take it over."""
        self.lines.append(["event", now, encode(event)])
        super().handle(event, now)

    def plan(self, now: float, budget: int = 1_000_000, only: str = "") -> list[Effect]:
        """Write the pass and its effects down."""
        assert not only, "no log tells of nodes that offer themselves"
        effects = super().plan(now, budget)
        self.lines.append(["plan", now, budget, [encode(effect) for effect in effects]])
        return effects

    def refresh_shares(self, now: float | None = None) -> None:
        """Write down that somebody reads: queues that have changed are settled first, which is a step of its own."""
        self.lines.append(["read"])
        super().refresh_shares(now)

    def close(self) -> None:
        """Write down when it would look again and what it would tell a new core."""
        self.lines.append(["end", self.next_timer(), [encode(event) for event in self.facts()]])

    def save(self, path: Path) -> None:
        """Write the log, the same bytes for the same lines."""
        text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in self.lines)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(text.encode(), mtime=0))


def lines_of(path: Path) -> Iterator[Any]:
    """The lines of a log."""
    with gzip.open(path, "rt") as file:
        yield from map(json.loads, file)


class Different(AssertionError):
    """A core answered otherwise than the log says."""


def play(path: Path) -> int:
    """Tell a core what a log says, and return how many effects it had. Raises ``Different`` at the first pass that differs."""
    core = Core()
    count = 0
    for number, line in enumerate(lines_of(path)):
        if line[0] == "event":
            core.handle(decode(line[2]), line[1])
        elif line[0] == "plan":
            effects = [encode(effect) for effect in core.plan(line[1], line[2])]
            _same(path, number, line[3], effects)
            count += len(effects)
        elif line[0] == "read":
            core.refresh_shares()
        else:
            _same(path, number, [line[1]], [core.next_timer()])
            _same(path, number, line[2], [encode(event) for event in core.facts()])
    return count


def _same(path: Path, number: int, expected: list[Any], found: list[Any]) -> None:
    found = json.loads(json.dumps(found))
    if found == expected:
        return
    at = next(
        (at for at, (one, two) in enumerate(zip(expected, found, strict=False)) if one != two), min(len(expected), len(found))
    )
    shown = [json.dumps(each[at]) if at < len(each) else "nothing" for each in (expected, found)]
    raise Different(f"{path.name}, line {number + 1}, at {at} of {len(expected)}: recorded {shown[0]}, now {shown[1]}")


__all__ = ["LOGS", "Different", "RecordingCore", "decode", "lines_of", "play"]
