"""Every case, decision by decision: we answer what Hadoop answered.

``not_yet.json`` names the cases that we do not answer yet, by suite, ``deviations.json`` those that we answer otherwise on
purpose (docs/deviations.md). One that is answered as Hadoop did must be taken off its list.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conformance.replay import differences
from conformance.suites import answer, comparable

HERE = Path(__file__).parent
LISTS: dict[str, dict[str, list[str]]] = {
    "not yet": json.loads((HERE / "not_yet.json").read_text()),
    "deviates": json.loads((HERE / "deviations.json").read_text()),
}


def test_we_decide_as_hadoop_did(conformance_case: tuple[str, Any]) -> None:
    suite, case = conformance_case
    if isinstance(case, int):
        pytest.skip(f"{suite}: {case} cases are of a kind that is not built")
    why = next((why for why, listed in LISTS.items() if case["name"] in listed.get(suite, ())), "")
    found = differences(comparable(case, case["expect"]), comparable(case, answer(case)))
    if why and found:
        pytest.xfail(why)
    assert not why, f"this case passes: take it off the list of what is {why}"
    assert not found, "\n".join(found)
