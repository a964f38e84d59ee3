"""Which discipline is in force: whose rules share the tree.

Switching re-reads the other block of the same queues. The capacity discipline needs a whole tree that makes sense together; one
that does not is refused, the reason is shown, and what was in force stays: the other discipline, or the last good set of
definitions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.disciplines.capacity.definitions import check, name_types
from treadle.core.disciplines.capacity.discipline import CapacityDiscipline
from treadle.core.disciplines.capacity.edits import sync_edits
from treadle.core.disciplines.capacity.made_queues import made_of
from treadle.core.disciplines.capacity.state import capacity_state, make_capacities
from treadle.core.disciplines.fair.discipline import FairDiscipline
from treadle.core.errors import InvalidSpec
from treadle.core.kernel.pods.lifecycle import regroup
from treadle.core.kernel.tree.partitions import leave as leave_part
from treadle.core.kernel.update import apply_limits
from treadle.core.model import CAPACITY, FAIR

if TYPE_CHECKING:
    from treadle.core.disciplines.capacity.definitions import Made
    from treadle.core.events import QueuesInForce
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application
    from treadle.core.kernel.tree.tree import Settled


def begin(state: State) -> None:
    """Let the queues of a new state share as the fair discipline says."""
    state.discipline = FairDiscipline(state)


def settle(state: State) -> None:
    """Choose the discipline for the definitions of now, before the tree takes them over."""
    tree, settings = state.tree, state.scheduler.capacity
    state.discipline_problem = ""
    if state.scheduler.discipline == FAIR:
        if state.discipline.name == FAIR:
            return
        capacities = capacity_state(state).capacities
        tree.whole = True
        state.discipline = FairDiscipline(state)
        tree.check, tree.templates = None, False
        tree.idle.update((queue, state.now) for queue in tree.dynamic if not queue.members())
        for application in state.applications.values():
            application.home = None
            for part in application.everywhere():
                leave(part)
            regroup(state, application)
            for part in application.parts.values():
                leave_part(state, part)
            application.parts.clear()
        for queue in tree.queues.values():
            queue.parts.clear()
        tree.roots.clear()
        if capacities is not None:
            capacities.close()
        return
    if state.discipline.name != CAPACITY:
        tree.templates = True
        try:
            check(tree.wanted(), settings)
        except InvalidSpec as error:
            tree.templates = False
            state.discipline_problem = (
                f"spec.discipline: Capacity cannot be in force: {error}; {state.discipline.name} stays in force"
            )
            return
        _begin_capacity(state)
        tree.whole = True
    mine = capacity_state(state)
    tree.check = lambda wanted: mine.automatic.checked.check(wanted, settings, lambda: _made(state))


def _begin_capacity(state: State) -> None:
    state.discipline = CapacityDiscipline(state)


def _made(state: State) -> list[Made]:
    capacities = capacity_state(state).capacities
    return [] if capacities is None else made_of(state, capacities.of)


def leave(application: Application) -> None:
    """Let an application forget its quota."""
    if application.quota is not None:
        application.quota = None
        application.ledgers = (application.usage, *(queue.usage for queue in application.chain))


def settled(state: State, found: Settled | None = None) -> bool:
    """Let the capacities follow a tree that has just been settled; returns whether the limits of all queues are to be applied.

    Without ``found`` anything in the tree may be different.
    """
    whole = found is None or found.whole
    if state.discipline.name == CAPACITY and (found is None or whole or not sync_edits(state, found)):
        blocks = [queue.spec.capacity for queue in state.tree.queues.values()]
        name_types(state.types, [block for block in blocks if block is not None])
        state.widen()
        make_capacities(state)
        whole = True
    return whole or state.updates.resolved_types != len(state.types)


def put_in_force(state: State, event: QueuesInForce) -> None:
    """Put queues in force as they are told, whether or not they could come into force together now."""
    capacity = state.scheduler.discipline == CAPACITY
    if capacity and state.discipline.name != CAPACITY:
        _begin_capacity(state)
    state.tree.restore(event.queues, templates=capacity)
    settled(state)
    apply_limits(state)
