"""The process that answers what would be if: a question and facts on its standard input, the answer on its standard output; then it ends.

It gives way to others where the processor or memory is short. What it reads was written by the scheduler that began it, and by nobody else.
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

from treadle.forecast.forward import Bounds
from treadle.forecast.what_if import Question, answer
from treadle.runtime.policies import load_policies

if TYPE_CHECKING:
    from treadle.core.events import Event
    from treadle.core.model import Settings

DECISIONS, PASSES = 20_000, 2_000
"""Placements and passes of each of the two futures at the most."""
NICE = 10


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked, ahead of the facts: the core's settings and time, and for how many seconds it may take."""

    settings: Settings
    now: float
    question: Question
    patience: float


def main() -> None:
    """Answer the question on standard input."""
    os.nice(NICE)
    with suppress(OSError):  # not on Linux
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    load_policies()
    reader = pickle.Unpickler(sys.stdin.buffer)  # noqa: S301 - of the process that began this one
    asked: Asked = reader.load()
    facts: list[Event] = []
    with suppress(EOFError):
        while True:
            facts += reader.load()
    until = time.monotonic() + asked.patience
    bounds = Bounds(max(asked.question.seconds, 0.001), DECISIONS, PASSES)
    found = answer(facts, asked.settings, asked.now, asked.question, bounds, lambda: time.monotonic() > until)
    sys.stdout.buffer.write(pickle.dumps(found))


if __name__ == "__main__":
    main()
