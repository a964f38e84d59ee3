"""What backfilling remembers: how long pods run, and which of them are where others have room kept."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


class RunTime(NamedTuple):
    """How long the pods of an application ran that have ended, in seconds: the middle one of them, and the longest."""

    usual: float
    longest: float


@dataclass(slots=True)
class Backfill:
    """What backfilling remembers of a cluster."""

    run_times: dict[str, RunTime] = field(default_factory=dict)
    """Of applications and of families of them, by name, as far as pods of theirs have ended."""
    there: dict[str, float] = field(default_factory=dict)
    """The pods that were placed in room that is kept for others, by uid, and by when each is to have ended."""
    in_front: dict[str, float] = field(default_factory=dict)
    """The pods that were placed in room that is kept for a reservation to come, by uid, and by when each is to have ended."""
    going: dict[str, float] = field(default_factory=dict)
    """Those of them that were asked to go, and until when they are not asked again."""
    looked: float = float("-inf")
    looked_at: int = 0
    """How many asks there were to look at, the last time that there was a gap."""
    waiting: bool = False
    """Whether the last look found pods that end at a time that is known."""
    placed: int = 0
    """How many pods have been placed so, ever."""
    evicted: int = 0
    """How many of them were asked to go, ever."""
