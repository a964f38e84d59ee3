"""Queues that applications made, in the tree of capacities: put into one that is made anew, and given capacity below managed parents or left without."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.disciplines.capacity.definitions import Made, graft
from treadle.core.rules.capacity.queue import by_submission
from treadle.core.rules.capacity.validation import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from treadle.core.kernel.state import State
    from treadle.core.rules.capacity.queue import CapacityApplication, CapacityQueue
    from treadle.core.rules.capacity.tree import CapacityTree


def made_of(state: State, known: Mapping[str, CapacityQueue]) -> list[Made]:
    """Return the queues made for applications that still are in them, parents first. ``known`` are the capacities by path."""
    return [
        Made(queue.path, not queue.leaf, templated=True)
        for queue in sorted(state.tree.dynamic, key=lambda one: one.path.count("."))
        if _templated(known.get(queue.path)) and queue.occupied()
    ]


def _templated(queue: CapacityQueue | None) -> bool:
    return queue is not None and (queue.dynamic or queue.entitled)


def graft_all(tree: CapacityTree, state: State, before: Mapping[str, CapacityQueue]) -> bool:
    """Put the live queues without definitions into a tree of capacities; returns whether leaves of managed parents are among them.

    ``before`` are the capacities that there were, by path.
    """
    known = tree.queues()
    made = [
        Made(queue.path, not queue.leaf, templated=queue.dynamic) for queue in state.tree.root.walk() if queue.path not in known
    ]
    grafted = graft(tree, made)
    for queue in grafted:
        old = before.get(queue.path)
        queue.last_submitted = state.now if old is None else old.last_submitted
    return any(queue.entitled for queue in grafted)


def entitle(state: State, tree: CapacityTree) -> None:
    """Decide anew who has capacity below managed parents, the first submitted first."""
    for parent in list(tree.root.walk()):
        if parent.entitlements is not None:
            _round(state, parent, again=True)
    tree.follow()


def manage(state: State, tree: CapacityTree) -> None:
    """Take capacity from leaves of managed parents that have no applications, and give it to others (``QueueManagementDynamicEditPolicy``)."""
    for parent in list(tree.root.walk()):
        if parent.entitlements is not None and not parent.entitlements.creation.fail_on_excess:
            _round(state, parent)


def _round(state: State, parent: CapacityQueue, *, again: bool = False) -> None:
    entitlements = parent.entitlements
    assert entitlements is not None
    tell_applications(state, parent.children)
    try:
        (entitlements.restart if again else entitlements.round)(by_submission)
    except Refused as error:
        state.record(parent.path, "capacities of leaves refused", str(error)[:200])
    forget_applications(parent.children)


class _Member:
    """An application as rounds see it."""

    __slots__ = ("leaf", "start")

    def __init__(self, leaf: CapacityQueue, start: float) -> None:
        self.leaf, self.start = leaf, start


def tell_applications(state: State, leaves: Sequence[CapacityQueue]) -> None:
    """Let leaves know of their applications, for one round."""
    for leaf in leaves:
        live = state.tree.queues[leaf.path]
        ordered = sorted(live.applications.values(), key=lambda one: (one.start, one.id))
        members: list[CapacityApplication] = [_Member(leaf, one.start) for one in ordered]  # type: ignore[misc]
        leaf.active, leaf.waiting, leaf.pending = [], [], members


def forget_applications(leaves: Sequence[CapacityQueue]) -> None:
    """End what ``tell_applications`` began."""
    for leaf in leaves:
        leaf.pending = []
