"""From the definitions of Queues to the tree of capacities, and what of them is refused as a whole.

Capacities make sense together only: the percentages of siblings, kinds that must not be mixed. So a set of definitions is in
force as a whole or not at all, like Hadoop's file. Queues without a definition are put into the tree afterwards: those that were
made for applications get what the templates above them say, and one that drains, or that no template is for any more, is
guaranteed nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from treadle.core.errors import InvalidSpec
from treadle.core.model import DEFAULT_QUEUE, QueueSpec
from treadle.core.model.capacity import (
    Capacity,
    CapacityQueueSpec,
    CapacitySettings,
    FlexibleCreation,
    Kind,
    PartitionShare,
    Portion,
)
from treadle.core.rules.capacity.auto.creation import makes_queues, weights_only
from treadle.core.rules.capacity.context import Context
from treadle.core.rules.capacity.queue import CapacityQueue
from treadle.core.rules.capacity.tree import CapacityTree
from treadle.core.rules.capacity.validation import Refused, check_children
from treadle.core.units.resources import ResourceTypes

ROOT = "root"


class Made(NamedTuple):
    """A queue without a definition.

    ``templated``: it was made for an application, and gets what a template says if there is one.
    """

    path: str
    parental: bool
    templated: bool


def specs_of(wanted: Mapping[str, QueueSpec]) -> dict[str, CapacityQueueSpec]:
    """Return the definitions of a tree of capacities. Raises ``InvalidSpec``."""
    missing = sorted(path for path, spec in wanted.items() if spec.capacity is None and path not in {ROOT, DEFAULT_QUEUE})
    if missing:
        raise InvalidSpec(
            f"{missing[0]}: spec.capacity is missing, which the discipline Capacity needs of every queue but the root"
        )
    specs: dict[str, CapacityQueueSpec] = {}
    for path, given in wanted.items():
        spec = given.capacity
        if spec is None:
            spec = CapacityQueueSpec(ROOT) if path == ROOT else _nothing(path, 100.0 if len(wanted) == 2 else 0.0)
        specs[path] = spec
    specs.setdefault(ROOT, CapacityQueueSpec(ROOT))
    children: dict[str, list[str]] = {}
    for path in specs:
        if path != ROOT:
            above, _, name = path.rpartition(".")
            children.setdefault(above, []).append(name)
    if ROOT not in children and not specs[ROOT].flexible.enabled:
        children[ROOT] = ["default"]
        specs[DEFAULT_QUEUE] = _nothing(DEFAULT_QUEUE, 100.0)
    return {path: replace(spec, children=tuple(children.get(path, ()))) for path, spec in specs.items()}


def name_types(types: ResourceTypes, specs: Iterable[CapacityQueueSpec]) -> None:
    """Make the resource types known that definitions name, before anything is computed: all vectors of a tree have one length."""
    for spec in specs:
        for share in spec.partitions.values():
            for name in (*share.guaranteed.types, *share.maximum.types):
                types.position(name)
        for name in spec.max_allocation:
            types.position(name)
        made = (spec.flexible.common, spec.flexible.leaf, spec.flexible.parent, spec.managed.template if spec.managed else None)
        name_types(types, [template for template in made if template is not None])


def alike(path: str) -> QueueSpec:
    """Return the definition of a queue that shares alike with its siblings."""
    share = PartitionShare(Capacity(Portion(Kind.WEIGHT, 1.0)))
    return QueueSpec(path, capacity=CapacityQueueSpec(path, partitions={} if path == ROOT else {"": share}))


def _nothing(path: str, percent: float = 0.0) -> CapacityQueueSpec:
    return CapacityQueueSpec(path, partitions={"": PartitionShare(Capacity(Portion(Kind.PERCENT, percent)))})


def check(wanted: Mapping[str, QueueSpec], settings: CapacitySettings, kept: Iterable[Made] = ()) -> None:
    """Raise ``InvalidSpec`` if definitions cannot be in force together, or leave no place for queues that are ``kept``, parents first.

    Those below a queue whose definition is gone are not asked for: they drain.
    """
    tree = tree_of(wanted, settings)
    try:
        check_made(tree, tree.queues(), kept)
    finally:
        tree.give_up()


def tree_of(wanted: Mapping[str, QueueSpec], settings: CapacitySettings) -> CapacityTree:
    """Return the definitions as a tree in which nothing is computed.

    Raises ``InvalidSpec`` if they cannot be in force together.
    """
    known = {path: spec for path, spec in wanted.items() if path == ROOT or _has_parents(path, wanted)}
    specs, types = specs_of(known), ResourceTypes()
    name_types(types, specs.values())
    return CapacityTree(specs, Context(types, settings), computed=False)


def check_made(tree: CapacityTree, queues: dict[str, CapacityQueue], kept: Iterable[Made]) -> None:
    """Raise ``InvalidSpec`` if the queues that were made, and are in use, have no place in a tree.

    ``queues`` is by path; the tree stays as it is.
    """
    added, parents = dict[str, CapacityQueue](), dict[str, CapacityQueue]()
    try:
        for made in kept:
            above, _, name = made.path.rpartition(".")
            parent = added.get(above) or queues.get(above)
            if parent is None or made.path in queues:
                continue
            if parent.entitlements is None and not makes_queues(parent):
                raise InvalidSpec(
                    f"{parent.path}: spec.capacity.autoCreation.enabled: queue {made.path} was made below it and has applications; "
                    "it can be switched off when they have left"
                )
            entitled = parent.entitlements is not None
            added[made.path] = tree.add(parent, name, parental=made.parental, entitled=entitled)
            if not entitled:
                parents[parent.path] = parent
        for parent in parents.values():
            check_children(parent, parent.children)
    finally:
        for queue in reversed(added.values()):
            tree.remove(queue, settle=False)


def _has_parents(path: str, wanted: Mapping[str, QueueSpec]) -> bool:
    above = path.rpartition(".")[0]
    return above == ROOT or (above in wanted and _has_parents(above, wanted))


def graft(tree: CapacityTree, made: Iterable[Made]) -> list[CapacityQueue]:
    """Put queues without a definition, parents first, into a tree, and return them; what they get is still to be computed."""
    without: dict[str, CapacityQueueSpec] = {}
    tree.undeclared = lambda path: without.get(path) or _inheriting(tree, path)
    known, open_ = tree.queues(), dict[str, bool]()
    grafted: list[CapacityQueue] = []
    for one in made:
        above, _, name = one.path.rpartition(".")
        parent = known[above]
        if not parent.parental:
            parent.become_parent()
        if above not in open_:
            weighing = not tree.context.settings.legacy or weights_only(parent)
            open_[above] = parent.entitlements is not None or (makes_queues(parent) and weighing)
        queue = _by_template(tree, parent, name, one) if one.templated and open_[above] else None
        if queue is None:
            without[one.path] = _nothing(one.path)
            try:
                queue = tree.add(parent, name, parental=one.parental)
            except Refused:  # what the templates above it say is not for such a queue
                queue = tree.add(parent, name, parental=one.parental, bare=True)
            queue.dynamic = False
        known[one.path] = queue
        grafted.append(queue)
    return grafted


def _inheriting(tree: CapacityTree, path: str) -> CapacityQueueSpec:
    """Return what is said about a queue that is made: the templates of the nearest declared queue are for all that is made below it.

    In Hadoop they are for its children only; what is further down has properties with wildcards, for which there are no objects.
    """
    above = path.rpartition(".")[0]
    while above and above not in tree.specs:
        above = above.rpartition(".")[0]
    flexible = tree.specs[above].flexible if above else FlexibleCreation()
    return CapacityQueueSpec(path, flexible=replace(flexible, enabled=False, max_queues=None, max_depth=None, removal=None))


def _by_template(tree: CapacityTree, parent: CapacityQueue, name: str, one: Made) -> CapacityQueue | None:
    entitlements = parent.entitlements
    if entitlements is not None and one.parental:
        return None
    try:
        queue = tree.add(parent, name, parental=one.parental, entitled=entitlements is not None)
    except Refused:
        return None
    if entitlements is not None:
        entitlements.empty(queue)
    return queue
