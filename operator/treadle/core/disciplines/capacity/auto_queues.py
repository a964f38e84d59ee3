"""Queues that applications make, live: the tree of capacities decides whether a queue can be made and what it gets, the live tree follows.

What is remembered here is small: which rules map applications, which names queues have, and when rounds are due. All of it can be
lost; after a restart queues are made again for what is bound in them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.disciplines.capacity.state import capacity_state
from treadle.core.kernel.assign import REJECTED
from treadle.core.model import Wait
from treadle.core.model.mapping import Known
from treadle.core.rules.capacity.auto.creation import CreationRefused, create, makes_queues
from treadle.core.rules.capacity.context import DEFAULT
from treadle.core.rules.placement.mapping import Mapper, Names
from treadle.core.rules.placement.names import path_problem, tidy
from treadle.core.rules.running import NO_LIMIT
from treadle.core.units.resources import UNBOUNDED

if TYPE_CHECKING:
    from treadle.core.disciplines.capacity.live_tree import LiveCapacityTree
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Queue
    from treadle.core.rules.placement.mapping import Queues


class LiveNames:
    """The queues in force as mapping rules see them. A queue that was deleted while in use is none of them."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._edition = -1
        self._called: dict[str, list[str]] = {}

    def find(self, name: str) -> Known | None:
        """Return the queue of a full path, or the only one with this name of its own."""
        path = name if name in self._state.tree.queues else self._only(name)
        queue, capacities = self._state.tree.queues.get(path), capacity_state(self._state).capacities
        if queue is None or capacities is None or not queue.defined:
            return None
        known = capacities.of.get(path)
        deep = known is not None and makes_queues(known)
        return Known(path, leaf=queue.leaf, makes=deep or (known is not None and known.entitlements is not None), deep=deep)

    def ambiguous(self, name: str) -> bool:
        """Whether several queues have this name of their own."""
        return "." not in name and name not in self._state.tree.queues and len(self._by_name().get(name, ())) > 1

    def _only(self, name: str) -> str:
        called = () if "." in name else self._by_name().get(name, ())  # no name of a queue's own has a dot
        return called[0] if len(called) == 1 else ""

    def _by_name(self) -> dict[str, list[str]]:
        tree = self._state.tree
        if self._edition != tree.edition:
            self._edition, self._called = tree.edition, {}
            for path in tree.queues:
                self._called.setdefault(path.rpartition(".")[2], []).append(path)
        return self._called


def names_of(state: State) -> Queues:
    """Return the queues in force by their names."""
    automatic = capacity_state(state).automatic
    if automatic.names is None:
        automatic.names = LiveNames(state)
    return automatic.names


def mapper_of(state: State) -> Mapper | None:
    """Return the mapping rules in force, None if there are none."""
    automatic = capacity_state(state).automatic
    spec = state.scheduler
    if automatic.source != (spec.mapping, spec.mapping_override):
        automatic.source = (spec.mapping, spec.mapping_override)
        fitting = Names(tidy, tidy, path_problem, literal=False)
        automatic.mapper = (
            Mapper(spec.mapping, names_of(state), override=spec.mapping_override, check=False, names=fitting)
            if spec.mapping
            else None
        )
    return automatic.mapper


def mapping_problem(state: State) -> str:
    """Say which mapping rules can place no application as the tree is now, and why; empty if all can.

    They go by their fallback meanwhile.
    """
    mapper = mapper_of(state) if capacity_state(state).capacities is not None else None
    faults = mapper.faults() if mapper is not None else ()
    return "; ".join(f"mapping rule {number + 1}: {why}" for number, why in faults)


def make(state: State, path: str) -> Queue | Wait:
    """Make the leaf of a path, and what is missing above it, as the templates say; or say why it cannot be."""
    capacities, tree = capacity_state(state).capacities, state.tree
    assert capacities is not None
    problem = path_problem(path)
    if problem:
        return Wait(REJECTED, path, problem)
    found = tree.queues.get(path)
    if found is not None and not found.leaf:
        return tree.no_leaf(path)
    if found is not None and (found.defined or not parent_makes(state, path)):
        return found
    if found is not None:
        tree.adopt(found)
        state.discipline.limits.made(found)
        return found
    refusal: Wait | None = None
    try:
        create(capacities.tree, path, state.now, settle=False)
    except CreationRefused as error:
        refusal = Wait(REJECTED, tree.nearest(path).path, str(error))
    _mirror(state, capacities, path)
    return tree.queues[path] if refusal is None else refusal


def _mirror(state: State, capacities: LiveCapacityTree, path: str) -> None:
    """Let the live tree have the queues of a path that the tree of capacities has.

    What every queue is due is computed once for all queues of a burst, before the next decision; until then they have no limit.
    """
    tree, parts = state.tree, path.split(".")
    for level in range(2, len(parts) + 1):
        above = ".".join(parts[:level])
        if above in tree.queues:
            continue
        queue = next((one for one in capacities.of[tree.nearest(above).path].children if one.path == above), None)
        if queue is None:
            return
        live = tree.sprout(above, holds_queues=queue.parental)
        queue.last_submitted = state.now
        capacities.of[above] = queue
        capacities.number(queue)
        queue.usage.of(DEFAULT).used = live.usage
        capacities.apply(live, queue, state)
        live.maximum, live.limited, live.zero = [UNBOUNDED] * state.types.width, False, ()
        live.max_running = NO_LIMIT
        capacities.defined[queue] = None
        assert queue.parent is not None
        capacities.sharing[queue.parent] = None
        capacity_state(state).automatic.grown |= queue.entitled
        state.record(above, "made")


def restore(state: State, path: str) -> Queue | None:
    """Make a queue for what is bound in it, whether a template allows it or not; None if it cannot be there at all."""
    tree = state.tree
    if path_problem(path):
        return None
    made = make(state, path)
    if not isinstance(made, Wait):
        return made
    nearest = tree.nearest(path)
    if nearest.leaf or nearest.path == path:
        return None
    parts = path.split(".")
    for level in range(nearest.path.count(".") + 2, len(parts) + 1):
        tree.sprout(".".join(parts[:level]), holds_queues=level < len(parts))
    queue = tree.queues[path]
    state.discipline.limits.made(queue)
    return queue


def used(state: State, queue: Queue) -> None:
    """Take note that an application was submitted to a queue; those that were made count the time from then on."""
    capacities = capacity_state(state).capacities
    known = capacities.of.get(queue.path) if capacities is not None and queue.dynamic else None
    if known is not None:
        known.last_submitted = state.now


def parent_makes(state: State, path: str) -> bool:
    """Whether queues are made below the nearest queue above a path that is not that of a queue in force."""
    capacities, nearest = capacity_state(state).capacities, state.tree.nearest(path)
    if nearest.path == path and nearest.parent is not None:
        nearest = nearest.parent
    known = capacities.of.get(nearest.path) if capacities is not None else None
    return known is not None and (makes_queues(known) or known.entitlements is not None)
