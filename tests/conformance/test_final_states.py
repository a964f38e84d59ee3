"""Who has how much in full clusters in the end: by YARN's heartbeats, and by passes over all nodes."""

from __future__ import annotations

import pytest

from conformance.final_states import HADOOP, KINDS, REASONS, SOME, by_heartbeats, count, random_case
from conformance.live import ALIKE


@pytest.mark.parametrize("kind", KINDS)
def test_by_heartbeats_a_full_cluster_ends_as_in_hadoop(kind: str) -> None:
    for seed in range(SOME):
        case = random_case(kind, seed)
        assert [list(amounts) for amounts in by_heartbeats(case).values()] == HADOOP[case["name"]], case["name"]


@pytest.mark.parametrize("kind", KINDS)
def test_where_a_full_cluster_ends_otherwise_the_reason_is_known(kind: str) -> None:
    found = count(kind, SOME)
    assert set(found) <= REASONS
    if kind == "fair, alike pods":
        assert found == {ALIKE: SOME}
