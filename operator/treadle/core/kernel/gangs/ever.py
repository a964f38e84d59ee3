"""Which pods of a gang a node could have at all, were ours gone from it: one that none could have does not keep back the others, where they are as many as the gang starts with.

What a node could have changes with nodes and with others' pods, of which no gang is woken. So gangs that wait and have pods to spare are looked at from time to time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.core.kernel.admission_checks import asks_of
from treadle.core.kernel.nodes.rules.resources import fitting
from treadle.core.kernel.tree.order import unpark

if TYPE_CHECKING:
    from treadle.core.kernel.gangs.memory import Gang
    from treadle.core.kernel.nodes.shapes import Shape
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Ask

INTERVAL = 3.0
"""Seconds between two looks at the gangs that have pods to spare."""
LOOKS = 64
"""Gangs that are looked at at one time, in turn."""


def possible_first(state: State, gang: Gang, asks: list[Ask]) -> list[Ask]:
    """Return the asks of a gang that has pods to spare in their order, but at the end those that no node could have a pod of."""
    never = [one for one in asks if not possible(state, one.shape)]
    state.gangs.spare[gang] = tuple(one.shape.id for one in never)
    return [one for one in asks if one not in never] + never if never else asks


def possible(state: State, shape: Shape) -> bool:
    """Whether a node could have a pod of a shape if all of ours left."""
    nodes = state.nodes
    usable = nodes.mask(shape.constraints)
    if bool((usable & fitting(nodes.columns()[:, : len(nodes)], shape.demand)).any()):
        return True
    for row in np.flatnonzero(usable).tolist():
        have, others = nodes.allocatable[row], nodes.others_on(row)
        if all(have[position] - (0 if others is None else others[position]) >= value for position, value in shape.demand):
            return True
    return False


def next_look(state: State) -> float | None:
    """Return when it is looked again at the gangs that have pods to spare, None while none waits."""
    return state.gangs.spare_looked + INTERVAL if state.gangs.spare else None


def look_again(state: State) -> None:
    """Let gangs compete again that wait, where other pods of theirs than before are those that no node could have."""
    when, spare = next_look(state), state.gangs.spare
    if when is None or state.now < when:
        return
    state.gangs.spare_looked = state.now
    for gang in list(spare)[:LOOKS]:
        before = spare.pop(gang)
        application = state.applications.get(gang[0])
        asks = [ask for part in application.everywhere() for ask in asks_of(part, gang)] if application is not None else []
        if len(asks) < 2 or gang in state.gangs.complete:
            continue
        spare[gang] = tuple(one.shape.id for one in asks if not possible(state, one.shape))
        if set(spare[gang]) != set(before):
            for ask in asks:
                if ask.wait is not None:
                    unpark(ask)
