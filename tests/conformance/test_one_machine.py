"""What Hadoop's answers prove is what serves: the cases are decided by ``Core`` itself, one offering node at a time.

The reference driver, whose whole answers are compared with Hadoop's (``test_decisions``), goes along; where both decide otherwise
the difference has a kind that docs/deviations.md explains, and its numbers are those of the tables there.
"""

from __future__ import annotations

import pytest

from conformance.live import ALIKE
from conformance.totals import DEVIATIONS, Totals, suites, summed, tables, totals_of, written


@pytest.fixture(scope="module")
def played() -> dict[str, Totals]:
    return {suite: totals_of(suite) for suite in suites()}


@pytest.mark.timeout(600)
def test_every_difference_has_a_kind_that_is_meant(played: dict[str, Totals]) -> None:
    assert [line for totals in played.values() for line in totals.unexplained] == []


def test_more_than_nine_tenths_of_all_containers_are_placed_by_the_core_that_serves(played: dict[str, Totals]) -> None:
    whole = summed(played)
    assert whole.placed[ALIKE] > 0.9 * whole.placed.total()


def test_the_tables_of_the_documentation_are_what_was_played(played: dict[str, Totals]) -> None:
    text = DEVIATIONS.read_text()
    assert text.splitlines() == written(text, tables(played)).splitlines(), "python -m conformance.totals writes what was played"
