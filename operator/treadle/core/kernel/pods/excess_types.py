"""Resource types that no node has: pods may bring up a few dozen of them by asking, for the sake of nodes that are yet to come.

Every type is a column of the nodes and a number in every vector, and a pod may name thousands. A pod that asks for one more than
is taken up waits with that reason, or is counted without it where it was bound; it is looked at again when a node brings a new
type.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from treadle.core.kernel.state import State
    from treadle.core.model import PodSpec

MOST_TYPES = 64
"""Resource types up to which pods may bring up new ones; those that nodes have are always counted."""


def countable(state: State, spec: PodSpec) -> PodSpec:
    """Return a pod whose resource types all have a place in the vectors: the pod itself, or what is left of one that asks for too many."""
    known = state.types.index
    unknown = [name for name, _ in spec.demand if name not in known]
    if not unknown or len(known) + len(unknown) <= MOST_TYPES:
        state.excess_types.pop(spec.uid, None)
        return spec
    state.excess_types[spec.uid] = spec
    problem = f"spec: no node has {unknown[0]}, and {len(known)} resource types are counted already; at most {MOST_TYPES} are taken up for pods' sake"
    counted = tuple((name, value) for name, value in spec.demand if name in known)
    return replace(spec, demand=counted, problem=spec.problem or problem)
