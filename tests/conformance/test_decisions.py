"""Every case, decision by decision: we answer what Hadoop answered."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.replay import comparable, differences
from conformance.suites import answer


def test_we_decide_as_hadoop_did(conformance_case: tuple[str, Any]) -> None:
    suite, case = conformance_case
    if isinstance(case, int):
        pytest.skip(f"{suite}: {case} cases are of a kind that is not built")
    found = differences(comparable(case["expect"]), comparable(answer(case)))
    assert not found, "\n".join(found)
