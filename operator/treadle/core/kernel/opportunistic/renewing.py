"""Opportunistic pods that wait get the shapes that they have by now: all of a kind when one of them has another, and each by itself in turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.kernel.pods.shaping import shape_of, stale

if TYPE_CHECKING:
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import PodRecord

LOOKS = 512
"""Pods of which one pass looks whether they have another shape by now, in turn, beside one of each kind."""
MANY = 2048
"""Kinds of which it is looked at once whether they have another shape by now."""


def renew(state: State, record: PodRecord) -> bool:
    """Give a pod the shape that it has by now, and a place among others of its kind; returns whether that was another."""
    if not stale(state, record):
        return False
    shape = shape_of(state, record.spec, record.kind)
    partition = record.shape.asked.partition
    record.shape = shape if partition is None else state.shapes.within(shape, partition)
    state.opportunistic.lines.rejoin(record)
    return True


def look_anew(state: State) -> None:
    """Give shapes of now to those that have another by themselves, in turn, and to all of a kind of which one has another."""
    kept = state.opportunistic
    turn = kept.lines.to_look_at
    if not turn:
        turn.extend(kept.waiting)
    for _ in range(min(LOOKS, len(turn))):
        record = kept.waiting.get(turn.popleft())
        if record is not None:
            renew(state, record)
    renew_kinds(state)


def renew_kinds(state: State) -> None:
    """Give shapes of now to all of a kind of which the first has another; where there are very many kinds each is looked at when its turn comes."""
    kinds = state.opportunistic.lines.kinds
    if len(kinds) > MANY:
        return
    old = [kind for kind in kinds.values() if stale(state, kind.first)]
    for record in [record for kind in old for record in kind.pods.values()]:
        renew(state, record)
    if old:
        renew_kinds(state)  # of those that were not renewed another one may be the first
