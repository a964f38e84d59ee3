"""What a pod on a node counts for in other pods' rules: in all that its kind is in, on the row where it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import PodRecord
    from treadle.core.model import PodSpec


def enter(record: PodRecord) -> None:
    """Count a pod on the node that it is on; ``assume`` does so itself."""
    for tally in record.kind.tallies:
        tally.add(record.node, 1)


def leave(record: PodRecord) -> None:
    """Take a pod out of what it counts for on its node."""
    for tally in record.kind.tallies:
        tally.add(record.node, -1)


def take_kind(state: State, record: PodRecord, spec: PodSpec) -> None:
    """Let a pod, which is counted nowhere at present, be of the kind that it has by now."""
    kinds, before = state.shapes.kinds, record.kind
    if not before.describes(spec):
        record.kind = kinds.of(spec)
        kinds.release(before)


def count_up(state: State) -> None:
    """Count the pods that are on nodes for the rules that have come up."""
    kinds = state.shapes.kinds
    for record in state.pods.values():
        row = record.node
        if row >= 0:
            for tally in record.kind.tallies:
                if tally.uncounted:
                    tally.rows[row] = tally.rows.get(row, 0) + 1
    for tally in kinds.uncounted:
        tally.made_up()
    kinds.uncounted.clear()
