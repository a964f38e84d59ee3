"""What is done from time to time for queues that applications made: those that no application uses go, and managed leaves get their capacity or lose it.

Hadoop's ``AutoCreatedQueueDeletionPolicy`` and ``QueueManagementDynamicEditPolicy``, which are monitors there. Nothing is done,
and no pass is caused, while there are no such queues.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.disciplines.capacity.made_queues import forget_applications, manage, tell_applications
from treadle.core.disciplines.capacity.state import capacity_state, make_capacities
from treadle.core.kernel.update import apply_given, apply_limits, look_again

if TYPE_CHECKING:
    from treadle.core.disciplines.capacity.live_tree import LiveCapacityTree
    from treadle.core.kernel.state import State
    from treadle.core.rules.capacity.queue import CapacityQueue


def do_rounds(state: State) -> bool:
    """Do the rounds that are due, and apply the limits that follow from queues that came or went; returns whether any was removed."""
    kept = capacity_state(state)
    capacities, automatic = kept.capacities, kept.automatic
    if capacities is None:
        return False
    settings, removed = state.scheduler.capacity, False
    automatic.removed_at = _since(automatic.removed_at, state.now, bool(state.tree.dynamic))
    if automatic.removed_at is not None and state.now >= automatic.removed_at + settings.removal_interval:
        automatic.removed_at = state.now
        removed = _remove_idle(state, capacities)
        capacities = kept.capacities or capacities
    automatic.managed_at = _since(automatic.managed_at, state.now, _any_managed(capacities))
    if automatic.managed_at is not None and state.now >= automatic.managed_at + settings.management_interval:
        automatic.managed_at = state.now
        before = _capacities(capacities)
        manage(state, capacities.tree)
        automatic.grown |= before != _capacities(capacities)
    if automatic.grown:
        automatic.grown = False
        apply_limits(state)
    elif capacities.defined or capacities.sharing:
        capacities.share_anew(state)
        apply_given(state, capacities.take_given())
        look_again(state)
    return removed


def next_run(state: State) -> float | None:
    """Return when something is due, None if nothing is."""
    kept, settings = capacity_state(state), state.scheduler.capacity
    capacities, automatic = kept.capacities, kept.automatic
    if capacities is None:
        return None
    pending = automatic.grown or capacities.defined or capacities.sharing
    times = [state.now] if pending else []
    if automatic.removed_at is not None:
        times.append(automatic.removed_at + settings.removal_interval)
    if automatic.managed_at is not None:
        times.append(automatic.managed_at + settings.management_interval)
    return min(times, default=None)


def _since(before: float | None, now: float, wanted: bool) -> float | None:
    return None if not wanted else now if before is None else before


def _any_managed(capacities: LiveCapacityTree) -> bool:
    return any(
        queue.children and queue.entitlements is not None and not queue.entitlements.creation.fail_on_excess
        for queue in capacities.managed
    )


def _capacities(capacities: LiveCapacityTree) -> list[tuple[str, str, float]]:
    return [
        (queue.path, partition, share.absolute)
        for parent in capacities.managed
        for queue in parent.children
        if queue.entitled
        for partition, share in queue.shares.items()
    ]


def _remove_idle(state: State, capacities: LiveCapacityTree) -> bool:
    """Do one round of removal; queues that were made where none may be made any more go as soon as they are empty."""
    tree = state.tree
    made = [capacities.of[queue.path] for queue in tree.dynamic]
    leaves = [queue for queue in made if queue.dynamic and not queue.parental]
    tell_applications(state, leaves)
    due = capacity_state(state).automatic.removal.mark(made)
    forget_applications(leaves)
    idle = state.scheduler.capacity.idle_before_removal
    gone = [queue.path for queue in due if state.now - queue.last_submitted >= idle]
    for path in gone:
        _remove(state, capacities, capacities.of[path])
    for queue in sorted(tree.dynamic, key=lambda one: -one.path.count(".")):
        known = capacities.of[queue.path]
        alone = not known.dynamic and not known.entitled
        if alone and not queue.applications and not queue.children:
            _remove(state, capacities, known)
            gone.append(queue.path)
            tree.prune(queue)
    for path in gone:
        capacities.drop(path)
        if path in tree.queues:
            tree.prune(tree.queues[path])
        state.record(path, "removed")
    if any(_became_leaf(state, capacities, path.rpartition(".")[0]) for path in gone):
        make_capacities(state)
        capacity_state(state).automatic.grown = True
    return bool(gone)


def _became_leaf(state: State, capacities: LiveCapacityTree, path: str) -> bool:
    """Whether a queue was a parent only for the queues made below it, which are gone."""
    return path in capacities.of and capacities.of[path].parental and state.tree.queues[path].leaf


def _remove(state: State, capacities: LiveCapacityTree, queue: CapacityQueue) -> None:
    """Take a queue out of the tree of capacities; what its siblings get then is computed once for all that go."""
    assert queue.parent is not None
    capacity_state(state).automatic.grown |= queue.parent.entitlements is not None
    capacities.sharing[queue.parent] = None
    capacities.defined.pop(queue, None)
    capacities.sharing.pop(queue, None)
    capacities.tree.remove(queue, settle=False)
