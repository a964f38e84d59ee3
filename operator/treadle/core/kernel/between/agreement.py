"""What must hold of the counts that rules between pods go by: they are what the pods on nodes come to, by node and by domain."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from treadle.core.kernel.between.topologies import NOWHERE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from treadle.core.kernel.between.kinds import Kinds
    from treadle.core.kernel.between.tallies import Tally
    from treadle.core.kernel.tree.members import PodRecord


def broken(kinds: Kinds, records: Iterable[PodRecord]) -> list[str]:
    """Return every contradiction between the counts and the pods, as sentences."""
    problems = []
    pods = Counter(record.kind for record in records)
    found: dict[Tally, Counter[int]] = {}
    for record in records:
        if not record.kind.describes(record.spec) and record.node < 0:
            problems.append(f"pod {record.spec.uid} is of another kind than its description says")
        if record.node >= 0:
            for tally in record.kind.tallies:
                found.setdefault(tally, Counter())[record.node] += 1
    problems += [
        f"a kind in {kind.namespace} has {kind.pods} pods, {pods[kind]} are known"
        for kind in kinds.known()
        if kind.pods != pods[kind]
    ]
    for tally in kinds.tallies():
        if not tally.uncounted:
            problems += _tally(tally, found.get(tally, Counter()))
    return problems


def _tally(tally: Tally, pods: Counter[int]) -> list[str]:
    problems = [] if tally.rows == dict(pods) else [f"a count has {tally.rows} by row, the pods come to {dict(pods)}"]
    for topology, counts in tally.by_domain.items():
        expected = Counter[int]()
        for row, count in pods.items():
            if topology.domain[row] != NOWHERE:
                expected[topology.domain[row]] += count
        if counts.counts != dict(expected):
            problems.append(f"by {topology.key} a count has {counts.counts}, the pods come to {dict(expected)}")
    return problems
