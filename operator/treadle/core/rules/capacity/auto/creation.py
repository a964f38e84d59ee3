"""Making the leaf that an application asks for, with the parents that are missing (Hadoop's ``CapacitySchedulerQueueManager.createQueue``).

Below a managed parent one level is made, elsewhere as many as the depth allows, counted from the first queue that is declared.
Where capacities are percentages or amounts, nothing is made, since the siblings would not add up any more.
"""

from __future__ import annotations

from treadle.core.errors import InvalidSpec
from treadle.core.rules.capacity.effective import update_below
from treadle.core.rules.capacity.queue import CapacityQueue, Entitling
from treadle.core.rules.capacity.tree import CapacityTree
from treadle.core.rules.capacity.validation import WEIGHT, Refused, kind_of

MOST_QUEUES = 1000


class CreationRefused(InvalidSpec):
    """A queue can not be made; the message says why.

    ``hadoop`` is the exception of a wrong template, which nothing catches there.
    """

    def __init__(self, message: str, hadoop: str = "") -> None:
        self.hadoop = hadoop
        super().__init__(message)


def create(tree: CapacityTree, path: str, now: float, *, settle: bool = True) -> CapacityQueue:
    """Make a leaf that does not exist and return it; the first part of its path may be the own name of a queue.

    Raises ``CreationRefused``.

    A parent that was made before a limit was met stays, as in Hadoop. Without ``settle`` it is left to the caller to compute what
    every queue gets.
    """
    parts = path.split(".")
    if not all(parts) or len(parts) < 2:
        raise CreationRefused(f"queue {path}: it can be made only below another queue, and its path may have no empty part")
    above = tree.find(path.rpartition(".")[0])
    if above is not None and above.entitlements is not None:
        return _create_entitled(tree, above, above.entitlements, parts[-1], settle=settle)
    parent, missing = missing_parents(tree, path)
    for name in missing:
        parent = _create_below(tree, parent, name, now, parental=True, settle=settle)
    return _create_below(tree, parent, parts[-1], now, parental=False, settle=settle)


def missing_parents(tree: CapacityTree, path: str) -> tuple[CapacityQueue, list[str]]:
    """Return the queue that exists above a path, and the names of those to be made in between, the highest first.

    Raises ``CreationRefused``.
    """
    above = path.rpartition(".")[0]
    if tree.ambiguous(above):
        raise CreationRefused(f"queue {path}: several queues are called {above}")
    distance, missing = 1, list[str]()
    existing = declared = tree.find(above)
    while above and (declared is None or declared.dynamic):
        distance += 1
        if existing is None:
            missing.insert(0, above.rpartition(".")[2])
        above = above.rpartition(".")[0]
        declared = tree.find(above)
        existing = existing or declared
    if existing is None or declared is None:
        raise CreationRefused(f"queue {path}: there is no queue above it")
    limit = declared.spec.flexible.max_depth
    depth = tree.context.settings.max_depth if limit is None else limit
    if distance > depth:
        raise CreationRefused(
            f"queue {path}: it is {distance} levels below {declared.path}; allowed are {depth} (maximum-queue-depth)"
        )
    if not existing.parental:
        raise CreationRefused(f"queue {path}: {existing.path} is a leaf")
    if not makes_queues(existing) or existing.entitlements is not None:
        raise CreationRefused(f"queue {path}: no queues are made below {existing.path} (auto-queue-creation-v2.enabled)")
    return existing, missing


def makes_queues(queue: CapacityQueue) -> bool:
    """Whether queues of any depth may be made below a parent: it says so, or was made itself."""
    return queue.parental and (queue.dynamic or queue.spec.flexible.enabled)


def _create_below(
    tree: CapacityTree, parent: CapacityQueue, name: str, now: float, *, parental: bool, settle: bool
) -> CapacityQueue:
    limit = parent.spec.flexible.max_queues
    _check_number(parent, name, MOST_QUEUES if limit is None else limit)
    if tree.context.settings.legacy and not weights_only(parent):
        raise CreationRefused(
            f"queue {parent.path}.{name}: its siblings have percentages or amounts; queues are made beside weights only"
        )
    try:
        queue = tree.add(parent, name, parental=parental)
    except Refused as error:
        raise CreationRefused(f"queue {parent.path}.{name}: its template is wrong: {error}", _uncaught(error)) from error
    if tree.context.settings.legacy and not weights_only(parent):
        parent.children.remove(queue)
        raise CreationRefused(f"queue {queue.path}: its template says a percentage or amounts; allowed is a weight")
    parent.last_submitted = now
    if settle:
        update_below(parent)
    return queue


def _uncaught(error: Refused) -> str:
    return "" if error.hadoop == "IOException" else error.hadoop


def weights_only(parent: CapacityQueue) -> bool:
    """Whether the children of a queue, if there are any, say their capacities as weights."""
    try:
        return kind_of(parent.children, list(parent.shares), parent.path) == WEIGHT
    except Refused:
        return False


def _check_number(parent: CapacityQueue, name: str, limit: int) -> None:
    if len(parent.children) >= limit:
        raise CreationRefused(
            f"queue {parent.path}.{name}: {parent.path} has {len(parent.children)} child queues, which is its limit (max-queues)"
        )


def _create_entitled(
    tree: CapacityTree, parent: CapacityQueue, entitlements: Entitling, name: str, *, settle: bool
) -> CapacityQueue:
    creation = entitlements.creation
    _check_number(parent, name, creation.max_queues)
    if creation.fail_on_excess and entitlements.missing_room():
        raise CreationRefused(f"queue {parent.path}.{name}: the leaves of {parent.path} have all its capacity")
    try:
        leaf = tree.add(parent, name, parental=False, entitled=True)
    except Refused as error:
        raise CreationRefused(f"queue {parent.path}.{name}: its template is wrong: {error}", _uncaught(error)) from error
    entitlements.empty(leaf)
    entitlements.settle(leaf)
    if settle:
        update_below(parent)
    return leaf
