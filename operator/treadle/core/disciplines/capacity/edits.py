"""Edits of a few queues while the capacities of a tree are in force: the live tree of capacities follows in place where it can."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.disciplines.capacity.application_partition import enforces
from treadle.core.disciplines.capacity.definitions import name_types
from treadle.core.disciplines.capacity.live_tree import of_leaf
from treadle.core.disciplines.capacity.state import capacity_state
from treadle.core.errors import InvalidSpec
from treadle.core.model import DEFAULT_QUEUE
from treadle.core.model.capacity import CapacityQueueSpec
from treadle.core.rules.capacity.auto.templates import partitions_named
from treadle.core.rules.capacity.context import DEFAULT
from treadle.core.rules.capacity.edits import NotInPlace, edit

if TYPE_CHECKING:
    from treadle.core.disciplines.capacity.live_tree import LiveCapacityTree
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application
    from treadle.core.kernel.tree.tree import Settled


def sync_edits(state: State, settled: Settled) -> bool:
    """Let the live tree of capacities follow a settling in place; returns whether that could be done.

    If not, it is to be made anew.

    Leaves of managed parents have capacity by an order of submission that is decided anew for all of them, so there is no edit
    beside them.
    """
    capacities = capacity_state(state).capacities
    if (
        capacities is None
        or capacities.alike
        or capacities.undecided
        or (state.updates.cluster_changed and capacities.outdated(state))
    ):
        return False
    if any(queue.entitled for parent in capacities.managed for queue in parent.children):
        return False
    if DEFAULT_QUEUE in capacities.of and DEFAULT_QUEUE not in state.tree.queues:
        return False  # a tree without queues has one of this name without a definition
    said: dict[str, CapacityQueueSpec] = {}
    for queue in (*settled.made, *settled.edited):
        given = (of_leaf(queue.spec) if queue.leaf else queue.spec).capacity
        if queue.dynamic or not queue.defined or given is None or queue.parent is None:
            return False
        said[queue.path] = given
    width = len(state.types)
    name_types(state.types, said.values())
    gone = [queue.path for queue in settled.gone]
    if len(state.types) > width or not _alike(capacities, said, gone):
        return False
    said = dict(sorted(said.items(), key=lambda item: item[0].count(".")))
    try:
        edited = edit(capacities.tree, capacities.of, gone, said)
    except (InvalidSpec, NotInPlace):
        return False
    for path in gone:
        capacities.drop(path)
    for queue in settled.made:
        capacity = capacities.of[queue.path]
        capacities.number(capacity)
        capacity.usage.of(DEFAULT).used = queue.usage
    capacities.defined_anew(edited)
    capacities.share_anew(state)
    return True


def _alike(capacities: LiveCapacityTree, said: dict[str, CapacityQueueSpec], gone: list[str]) -> bool:
    """Whether the partitions that any definition names stay the same, and whether leaves keep partitions apart: both are known to all queues."""
    specs = capacities.tree.specs
    old = {path: specs[path] for path in (*said, *gone) if path in specs}
    before = {name for spec in old.values() for name in partitions_named(spec)} - {DEFAULT}
    after = {name for spec in said.values() for name in partitions_named(spec)} - {DEFAULT}
    named = capacities.tree.root.configured
    if not after <= set(named):
        return False
    if before - after and not all(
        any(name in specs[path].partitions for path in specs if path not in old) for name in before - after
    ):
        return False
    return not any(enforces(spec) for spec in (*old.values(), *said.values()))


def redefined(state: State) -> list[Application]:
    """Return the applications in leaves that were defined anew since the last time that this was asked."""
    capacities = capacity_state(state).capacities
    if capacities is None:
        return []
    paths = [queue.path for queue in capacities.redefined if not queue.parental]
    capacities.redefined.clear()
    live = [state.tree.queues[path] for path in paths if path in state.tree.queues]
    return [application for leaf in live for application in leaf.applications.values()]
