"""Our share function against what Hadoop's ComputeFairShares answered, group of siblings by group of siblings.

The cases are dumps of a real FairScheduler: every queue with its weight, minimum, maximum and shares. What a parent had and what
its children are is given to our function, and its answer compared with what Hadoop gave the children.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from treadle.core.rules.shares import fair_shares
from treadle.core.units.resources import UNBOUNDED

CASES = json.loads((Path(__file__).parent / "cases" / "fair_shares.json").read_text())
DUMPS = [case for case in CASES if "end" in case["expect"]]


def groups(case: dict[str, Any]) -> list[tuple[str, dict[str, Any], list[dict[str, Any]]]]:
    """Every queue that has children, with them."""
    queues = case["expect"]["end"]["queues"]
    found = []
    for path, queue in queues.items():
        children = [queues[child] for child in queues if child.rpartition(".")[0] == path]
        if children:
            found.append((path, queue, children))
    return found


def bounded(value: int) -> int:
    return min(value, UNBOUNDED)


@pytest.mark.parametrize("case", DUMPS, ids=lambda case: case["name"])
def test_the_shares_of_siblings_are_hadoops(case: dict[str, Any]) -> None:
    checked = 0
    for path, parent, children in groups(case):
        types = [0] if parent["policy"] == "fair" else range(len(parent["fair"]))
        for position in types:
            arguments = (
                [child["weight"] for child in children],
                [child["min"][position] for child in children],
                [bounded(child["max"][position]) for child in children],
            )
            busy = [child["runnable"] > 0 for child in children]
            present = fair_shares(parent["fair"][position], *arguments, busy)
            steady = fair_shares(parent["steady"][position], *arguments)
            assert [bounded(child["fair"][position]) for child in children] == present, (path, "fair share", position)
            assert [bounded(child["steady"][position]) for child in children] == steady, (path, "steady share", position)
            checked += 1
    assert checked or not groups(case)


def test_there_are_cases_to_check() -> None:
    assert sum(len(groups(case)) for case in DUMPS) > 100
