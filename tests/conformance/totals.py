"""What of the conformance cases the core that serves decides itself. ``python -m conformance.totals`` writes the numbers into docs/deviations.md."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conformance.kinds import Kind
from conformance.live import ALIKE, NOTHING, Live
from conformance.suites import part_for
from treadle.convert.errors import AllocationError, MappingError
from treadle.core.errors import InvalidSpec

CASES = Path(__file__).parent / "cases"
DEVIATIONS = Path(__file__).parents[2] / "docs" / "deviations.md"
NOT_AT_START = (AllocationError, MappingError, InvalidSpec)
"""Errors with which a case ends before anything is placed."""


@dataclass(slots=True)
class Totals:
    """``cases`` that were played, and the sums over them of what ``Live`` counts."""

    cases: int = 0
    placed: Counter[str] = field(default_factory=Counter)
    unplaced: Counter[str] = field(default_factory=Counter)
    submissions: Counter[str] = field(default_factory=Counter)
    figures: Counter[str] = field(default_factory=Counter)
    unexplained: list[str] = field(default_factory=list)

    def add(self, live: Live, case: str = "") -> None:
        """Add one case."""
        self.cases += 1
        for name in ("placed", "unplaced", "submissions", "figures"):
            getattr(self, name).update(getattr(live, name))
        self.unexplained += [f"{case}: {line}" for line in live.unexplained]

    def row(self) -> tuple[str, ...]:
        """Return the cells of a suite's row."""
        return (
            str(self.cases),
            str(self.placed.total()),
            str(self.placed[ALIKE]),
            str(self.unplaced.total()),
            str(self.unplaced[NOTHING]),
            f"{self.submissions[ALIKE]} of {self.submissions.total()}",
            f"{self.figures[ALIKE]} of {self.figures.total()}",
        )


def suites() -> list[str]:
    """Return the suites in which containers are placed."""
    return [file.stem for file in sorted(CASES.glob("*.json")) if any(_plays(case) for case in json.loads(file.read_text()))]


def _plays(case: dict[str, Any]) -> bool:
    part = part_for(case)
    return hasattr(part, "play")


def totals_of(suite: str) -> Totals:
    """Play a suite."""
    totals = Totals()
    for case in json.loads((CASES / f"{suite}.json").read_text()):
        if not _plays(case):
            continue
        try:
            player = part_for(case).play(case, live=True)
        except NOT_AT_START:
            continue
        totals.add(player.live, case["name"])
    return totals


def summed(found: dict[str, Totals]) -> Totals:
    """Return the sums over several suites."""
    result = Totals(sum(one.cases for one in found.values()))
    for one in found.values():
        for name in ("placed", "unplaced", "submissions", "figures"):
            getattr(result, name).update(getattr(one, name))
    return result


def tables(found: dict[str, Totals]) -> list[tuple[str, ...]]:
    """Return the rows of both tables: the suites with their sum, then the kinds of differences."""
    whole = summed(found)
    rows = [(suite, *one.row()) for suite, one in found.items()] + [("all", *whole.row())]
    return rows + [(kind.value, str(whole.placed[kind]), str(whole.unplaced[kind])) for kind in Kind]


def written(text: str, rows: list[tuple[str, ...]]) -> str:
    """Return a text with the numbers of the rows in its tables; what follows them in a row stays."""
    lines = text.splitlines()
    known = {cells[0]: cells for cells in rows}
    for at, line in enumerate(lines):
        there = [cell.strip() for cell in line.strip("|").split("|")]
        cells = known.get(there[0]) if line.startswith("|") else None
        if cells is not None:
            lines[at] = f"| {' | '.join([*cells, *there[len(cells) :]])} |"
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    DEVIATIONS.write_text(written(DEVIATIONS.read_text(), tables({suite: totals_of(suite) for suite in suites()})))
