"""The process that looks ahead: facts on its standard input, a forecast on its standard output. One forecast, then it ends.

It runs at the lowest priority, and it is the first to go where memory is short. What it reads was written by the scheduler that began it, and by nobody else.
"""

from __future__ import annotations

import os
import pickle
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from treadle.core.events import SchedulerSeen
from treadle.core.model import PodSpec
from treadle.forecast.forward import Bounds
from treadle.forecast.ranges import SCENARIOS, forecast
from treadle.runtime.policies import load_policies

if TYPE_CHECKING:
    from treadle.core.events import Event
    from treadle.core.model import Settings
    from treadle.forecast.arrivals import Arrived
    from treadle.forecast.durations import Ended


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, ahead of pods that arrived and of facts: the core's settings and time, what is known of run times and arrivals, and for how many seconds it may look."""

    settings: Settings
    now: float
    ended: Ended
    arrived: Arrived
    bounds: Bounds
    seconds: float
    scenarios: int = SCENARIOS


def main() -> None:
    """Answer the question on standard input."""
    os.nice(19)
    with suppress(OSError):  # not on Linux
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    load_policies()
    reader = pickle.Unpickler(sys.stdin.buffer)  # noqa: S301 - of the process that began this one
    question: Question = reader.load()
    facts: list[Event] = []
    with suppress(EOFError):
        while True:
            for one in reader.load():
                if isinstance(one, PodSpec):
                    question.arrived.pods.append(one)
                else:
                    facts.append(one)
    assert any(isinstance(fact, SchedulerSeen) for fact in facts)
    until = time.monotonic() + question.seconds
    found = forecast(
        facts,
        question.settings,
        question.now,
        question.ended,
        question.bounds,
        question.scenarios,
        lambda: time.monotonic() > until,
        question.arrived,
    )
    sys.stdout.buffer.write(pickle.dumps(found))


if __name__ == "__main__":
    main()
