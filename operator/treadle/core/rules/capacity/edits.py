"""Edits of a few queues in a tree that stays: what is defined anew, and whose shares are others then.

The result is that of a tree made anew from all definitions, but for what no edit of a single queue can change in place
(``NotInPlace``): then the tree is to be made anew. A queue hands down some of what its definition says, so those below are
defined anew where that changes; its siblings' shares are computed anew where what it asks for changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from treadle.core.model.capacity import CapacityQueueSpec
from treadle.core.rules.capacity.auto.creation import weights_only
from treadle.core.rules.capacity.queue import CapacityQueue
from treadle.core.rules.capacity.tree import ROOT, CapacityTree


class NotInPlace(Exception):
    """The tree is to be made anew for an edit."""


@dataclass(slots=True)
class Edited:
    """What an edit changed: the queues that were ``defined`` (anew), and the parents whose children share anew."""

    defined: dict[CapacityQueue, None] = field(default_factory=dict)
    sharing: dict[CapacityQueue, None] = field(default_factory=dict)
    restructured: dict[CapacityQueue, None] = field(default_factory=dict)

    @property
    def parents(self) -> list[CapacityQueue]:
        """Return the parents of all that changed, the highest first."""
        found = dict.fromkeys(self.sharing)
        found.update((queue.parent, None) for queue in self.defined if queue.parent is not None)
        return sorted(found, key=lambda queue: queue.path.count("."))


def edit(
    tree: CapacityTree, queues: dict[str, CapacityQueue], gone: Iterable[str], said: Mapping[str, CapacityQueueSpec]
) -> Edited:
    """Put edited definitions in force, parents first, and take out the queues that are ``gone``, children first; ``queues`` is by path.

    What the queues get is still to be computed. Raises ``NotInPlace``, or ``Refused`` for definitions that cannot be; the tree is
    of no use then.
    """
    edited, weighing = Edited(), dict[CapacityQueue, bool]()
    above = {path.rpartition(".")[0] for path in said}
    for path in gone:
        _take_out(tree, queues, path, edited, weighing)
    for path, spec in said.items():
        known = queues.get(path)
        if known is None:
            parental = path in above or spec.flexible.enabled
            known = queues[path] = _put_in(tree, queues, spec, edited, weighing, parental=parental)
        else:
            _check_kept(known, spec)
            _note(known.parent, weighing)
            tree.specs[path] = replace(spec, children=known.spec.children)
        _define(tree, known, edited)
    for queue in edited.restructured:
        names = tuple(child.name for child in queue.children if child.declared)
        queue.spec = tree.specs[queue.path] = replace(tree.specs[queue.path], children=names)
        if queue.parental != bool(names or queue.spec.flexible.enabled):
            raise NotInPlace
    if any(weights_only(parent) != before for parent, before in weighing.items()):
        raise NotInPlace  # whether queues can be made beside the others is another matter now
    return edited


def _note(parent: CapacityQueue | None, weighing: dict[CapacityQueue, bool]) -> None:
    """Take note of whether queues can be made below a parent, if some were."""
    if parent is not None and parent not in weighing and parent.children and not parent.children[-1].declared:
        weighing[parent] = weights_only(parent)


def _take_out(
    tree: CapacityTree, queues: dict[str, CapacityQueue], path: str, edited: Edited, weighing: dict[CapacityQueue, bool]
) -> None:
    queue = queues.get(path)
    if queue is None or queue.parent is None or queue.children or not queue.declared or queue.entitlements is not None:
        raise NotInPlace
    parent = queue.parent
    _note(parent, weighing)
    parent.children.remove(queue)
    del queues[path], tree.specs[path]
    edited.sharing.pop(queue, None)
    edited.restructured.pop(queue, None)
    edited.sharing[parent] = edited.restructured[parent] = None


def _put_in(
    tree: CapacityTree,
    queues: dict[str, CapacityQueue],
    spec: CapacityQueueSpec,
    edited: Edited,
    weighing: dict[CapacityQueue, bool],
    *,
    parental: bool,
) -> CapacityQueue:
    above, _, name = spec.path.rpartition(".")
    parent = queues.get(above)
    if (
        parent is None
        or not parent.parental
        or not parent.declared
        or parent.entitlements is not None
        or spec.managed is not None
    ):
        raise NotInPlace
    _note(parent, weighing)
    queue = CapacityQueue(name, parent, tree.context, parental=parental)
    at = len(parent.children)
    while at and not parent.children[at - 1].declared:
        at -= 1  # those without a definition come last
    tree.specs[spec.path] = replace(spec, children=())
    parent.children.insert(at, queue)
    edited.sharing[parent] = edited.restructured[parent] = edited.restructured[queue] = None
    return queue


def _check_kept(queue: CapacityQueue, spec: CapacityQueueSpec) -> None:
    """Raise ``NotInPlace`` if a queue becomes one of another kind."""
    managed = queue.entitlements is not None or spec.managed is not None
    if not queue.declared or managed or spec.flexible != queue.spec.flexible:
        raise NotInPlace


def _define(tree: CapacityTree, queue: CapacityQueue, edited: Edited) -> None:
    if not queue.declared or queue.entitlements is not None:
        raise NotInPlace
    asked, handed = _asked(queue), _handed_down(queue)
    tree.redefine(queue)
    edited.defined[queue] = None
    if queue.parent is not None and _asked(queue) != asked:
        edited.sharing[queue.parent] = None
    if queue.children and _handed_down(queue) != handed:
        for child in queue.children:
            _define(tree, child, edited)


def _asked(queue: CapacityQueue) -> object:
    """Return what of a definition has a say in what the siblings get."""
    if not queue.context.settings.legacy:
        return queue.spec.partitions
    return {name: (share.weight, share.configured_minimum) for name, share in queue.shares.items() if name in queue.configured}


def _handed_down(queue: CapacityQueue) -> tuple[object, ...]:
    """Return what the definitions of those below take over."""
    return (
        queue.state,
        queue.accessible,
        queue.default_partition,
        queue.max_allocation,
        queue.user_weights,
        queue.order,
        queue.disable_preemption,
        queue.disable_intra_preemption,
        queue.max_lifetime,
        queue.default_lifetime,
        queue.default_lifetime_set,
        {name: queue.shares[name].configured_maximum for name in queue.configured if name in queue.shares},
        queue.configured if queue.path == ROOT else (),
    )


__all__ = ["Edited", "NotInPlace", "edit"]
