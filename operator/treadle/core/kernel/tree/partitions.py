"""Partitions of nodes in the live tree: each is shared on its own, with an order, usage and limits of its own.

A queue, and an application, is itself in the default partition. In any other it has a part: an object of the same class, below
the part of its parent, that is made when it is first needed. What is placed and how is the same code for all of them; who runs,
and which queue an application is in, is asked of the whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.kernel.tree.members import Application, Queue

if TYPE_CHECKING:
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import PodRecord
    from treadle.core.units.resources import Vector

DEFAULT = ""


def partition_of(state: State, row: int) -> str:
    """Return the partition of a node; without partitions all nodes are in the default one."""
    spec = state.nodes.specs[row]
    return DEFAULT if spec is None else state.discipline.membership.partition_of(spec.labels)


def part_of(state: State, application: Application, partition: str) -> Application:
    """Return what an application is in a partition."""
    if partition == application.partition:
        return application
    whole = application.whole
    if partition == DEFAULT:
        return whole
    part = whole.parts.get(partition)
    if part is None:
        part = whole.parts[partition] = Application(whole.id, whole.start, state.types.width)
        part.whole, part.partition = whole, partition
        part.user, part.priority = whole.user, whole.priority
        if whole.queue is not None:
            enter(state, part, whole.queue)
    return part


def enter(state: State, part: Application, leaf: Queue) -> None:
    """Put an application, or a part of it, into a leaf or the part of it for the same partition, with all it holds."""
    queue = part.queue = queue_part(state, leaf, part.partition) if part.partition else leaf
    chain = part.chain = queue.chain
    part.ledgers = (part.usage, *[above.usage for above in chain])
    part.limiting = tuple([above for above in chain if above.limited])
    queue.applications[part.id] = part
    if any(part.usage):
        for above in chain:
            for position, value in enumerate(part.usage):
                above.usage[position] += value
    state.discipline.membership.entered(part)
    state.dirty[part] = None


def leave(state: State, part: Application) -> None:
    """Take an application, or a part of it, out of its queue with all it holds; its asks compete no longer."""
    if part.queue is None:
        return
    state.discipline.membership.leaving(part)
    for above in part.chain:
        for position, value in enumerate(part.usage):
            above.usage[position] -= value
        if above.blocked:
            state.relieved[above] = None
    part.queue.applications.pop(part.id, None)
    state.left[part.queue] = None
    part.queue, part.chain, part.ledgers, part.limiting = None, (), (part.usage,), ()


def queue_part(state: State, queue: Queue, partition: str) -> Queue:
    """Return what a queue is in a partition."""
    part = queue.parts.get(partition)
    if part is None:
        parent = queue_part(state, queue.parent, partition) if queue.parent is not None else None
        part = queue.parts[partition] = Queue(queue.spec, parent, queue.policy, state.types.width)
        part.whole, part.partition = queue, partition
        if parent is None:
            state.tree.roots[partition] = part
        else:
            parent.children[queue.path] = part
        state.discipline.limits.part_made(part)
    return part


def all_parts(holder: Queue) -> list[Queue]:
    """Return a queue and its parts."""
    return [holder, *holder.parts.values()]


def used_everywhere(holder: Queue | Application) -> Vector:
    """Return what a queue or an application holds in all partitions together."""
    total = list(holder.usage)
    for part in holder.parts.values():
        for position, value in enumerate(part.usage):
            total[position] += value
    return total


def pending_everywhere(queue: Queue) -> Vector:
    """Return what is asked for below a queue in all partitions together, as of the last time that demands were computed."""
    total = list(queue.pending)
    for part in queue.parts.values():
        for position, value in enumerate(part.pending):
            total[position] += value
    return total


def payer(record: PodRecord) -> Application:
    """Return the part of its application that a placed pod is counted in."""
    found = record.part if record.part is not None else record.application
    assert found is not None
    return found
