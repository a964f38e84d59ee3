"""What a queue is due and may have at most in the cluster of this moment (Hadoop's ``updateClusterResource`` in legacy mode).

Percentages and weights are products of float32 parts down the tree, truncated; absolute amounts are scaled down when the parent
has less than its children are promised.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from math import isinf

from treadle.core.rules.capacity import modern
from treadle.core.rules.capacity.am_share import start_applications
from treadle.core.rules.capacity.context import DEFAULT, Context
from treadle.core.rules.capacity.limits import Limits, limit_applications, limits_of, of_child, take_limit
from treadle.core.rules.capacity.queue import CapacityQueue
from treadle.core.rules.capacity.share import Share
from treadle.core.units.amounts import add_to
from treadle.core.units.resources import PODS, Vector


def update(root: CapacityQueue) -> None:
    """Recompute the whole tree after the cluster or the definitions changed."""
    limits = Limits(root.context.total)
    if root.context.settings.legacy:
        _update(root, limits)
    else:
        modern.update(root)
        refresh(root, limits)
        _refresh_below(root, limits)


def update_below(parent: CapacityQueue) -> None:
    """Recompute what a queue and those below it get after its children changed."""
    limits = Limits(parent.context.total)
    if parent.context.settings.legacy:
        _update(parent, limits)
    elif parent.parent is None:
        update(parent)
    else:
        modern.update_children(parent.parent)
        _refresh_below(parent.parent, limits)


def update_edited(
    parents: Iterable[CapacityQueue], defined: Container[CapacityQueue], sharing: Container[CapacityQueue]
) -> list[CapacityQueue]:
    """Recompute what the children of some queues get, the highest first, and return the queues of which anything changed.

    Those that were ``defined`` anew are computed with all that is below them; of their siblings only those that get more or less,
    and only where the parent is one whose children are ``sharing`` anew.
    """
    updated: dict[CapacityQueue, None] = {}
    for parent in parents:
        legacy, limits = parent.context.settings.legacy, limits_of(parent)
        all_share = parent in sharing or not legacy
        before = {child: _figures(child) for child in parent.children} if all_share else {}
        if parent in sharing and legacy:
            for child in parent.children:
                for share in child.shares.values():
                    share.normalized_weight = 0.0
        (_share_anew if legacy else modern.update_children)(parent)
        for child in parent.children if all_share else [child for child in parent.children if child in defined]:
            if legacy:
                _own(child)
            else:
                modern.update_parts(child)
            if child in defined or _figures(child) != before[child]:
                left = of_child(parent, child, limits, DEFAULT, net=False)
                if legacy:
                    _update(child, left)
                else:
                    refresh(child, left)
                    if child.children:
                        modern.update_children(child)
                        _refresh_below(child, left)
                updated.update(dict.fromkeys(child.walk()))
    return list(updated)


def _figures(queue: CapacityQueue) -> list[object]:
    """Return what those below a queue, and its limits, depend on."""
    return [
        (name, share.capacity, share.maximum_capacity, share.absolute, share.absolute_maximum, share.minimum[:], share.maximum[:])
        for name, share in queue.shares.items()
    ]


def _own(queue: CapacityQueue) -> None:
    """Compute what a queue has itself."""
    for share in queue.shares.values():
        share.absolute = share.absolute_maximum = 0.0
    absolute_capacities(queue)
    _in_force(queue)


def absolute_capacities(queue: CapacityQueue) -> None:
    """Compute the parts of partitions from the parts of the parent."""
    absolute_parts(queue.shares, queue.parent, queue.context)


def absolute_parts(shares: Mapping[str, Share], parent: CapacityQueue | None, context: Context) -> None:
    """Compute the parts of partitions from parts of ``parent``, for a queue or a template of one."""
    legacy = context.settings.legacy
    for partition, share in shares.items():
        above = parent.share(partition) if parent is not None else None
        part = max(share.capacity, share.normalized_weight) if legacy else share.capacity
        if not legacy or part > 0:
            share.absolute = context.single(part * (1.0 if above is None else above.absolute))
        if share.maximum_capacity > 0:
            share.absolute_maximum = context.single(share.maximum_capacity * (1.0 if above is None else above.absolute_maximum))


def _update(queue: CapacityQueue, limits: Limits) -> None:
    if not queue.parental:
        queue.last_total = list(queue.context.total)
        absolute_capacities(queue)
        _in_force(queue)
        refresh(queue, limits)
        return
    if queue.parent is None:
        for share in queue.shares.values():
            if share.weight > 0:
                share.normalized_weight = 1.0
    absolute_capacities(queue)
    for partition in queue.configured:
        if queue.parent is None:
            share = queue.own(partition)
            share.minimum, share.maximum = list(queue.context.of(partition)), list(queue.context.of(partition))
        else:
            _in_force(queue)
    _share_anew(queue)
    for child in queue.children:
        _update(child, of_child(queue, child, limits, DEFAULT, net=False))
    queue.update_statistics()


def _share_anew(queue: CapacityQueue) -> None:
    """Compute which parts of a queue its children have, by weights, and how far amounts are scaled down."""
    for child in queue.children:
        for partition in queue.shares if child.dynamic else ():
            if child.share(partition).weight == -1.0:
                child.own(partition).weight = 1.0
    if queue.children and weighs(queue.children, queue):
        _normalize(queue)
    for partition in queue.configured:
        _scale_children(queue, partition)


def refresh(queue: CapacityQueue, limits: Limits) -> None:
    """Bring everything of a queue that follows from its amounts up to date."""
    if queue.parental:
        queue.update_statistics()
        return
    context = queue.context
    queue.last_total = list(context.total)
    limit_applications(queue)
    take_limit(queue, limits)
    queue.told_limit = queue.limit
    queue.users.recount(list(dict.fromkeys([*queue.shares, *queue.usage.partitions])))
    queue.update_statistics()
    start_applications(queue)
    queue.users.changed()
    for application in queue.active:
        user = queue.users.users.get(application.user)
        if user is not None:
            queue.users.limit(application.user, DEFAULT)
            application.headroom_from = (queue, user)


def _refresh_below(parent: CapacityQueue, limits: Limits) -> None:
    for child in parent.children:
        modern.update_parts(child)
        left = of_child(parent, child, limits, DEFAULT, net=False)
        refresh(child, left)
        if child.children:
            modern.update_children(child)
            _refresh_below(child, left)


def weighs(queues: list[CapacityQueue], parent: CapacityQueue) -> bool:
    """Whether queues share by weights."""
    return any(queue.share(partition).weight >= 0 for queue in queues for partition in parent.shares if partition in queue.shares)


def _normalize(parent: CapacityQueue) -> None:
    for partition in parent.shares:
        shares = [child.shares[partition] for child in parent.children if partition in child.shares]
        total = 0.0
        for share in shares:
            total = parent.context.single(total + max(0.0, share.weight))
        if abs(total) > 1e-6:
            for share in shares:
                share.normalized_weight = parent.context.single(share.weight / total)


def _in_force(queue: CapacityQueue) -> None:
    assert queue.parent is not None
    for partition in queue.configured:
        share, total = queue.own(partition), queue.context.of(partition)
        if queue.kind != "ABSOLUTE_RESOURCE":
            share.minimum = queue.context.calculator.times(total, share.absolute)
            share.maximum = queue.context.calculator.times(total, share.absolute_maximum)
            continue
        above = queue.parent.share(partition)
        share.minimum = [
            queue.context.calculator.whole(queue.context.single(queue.context.single(value) * above.ratios[position]))
            if position in above.ratios
            else value
            for position, value in enumerate(share.configured_minimum)
        ]
        most: Vector = above.configured_maximum if any(above.configured_maximum) else above.maximum
        if any(share.configured_maximum):
            most = queue.context.calculator.smaller(total, share.configured_maximum, most)
        share.maximum = list(most)
        derive(queue, partition, queue.context.total)


def derive(queue: CapacityQueue, partition: str, total: Vector) -> None:
    """Compute the parts of the parent from amounts."""
    assert queue.parent is not None
    calculator, share, above = queue.context.calculator, queue.own(partition), queue.parent.share(partition)
    part = calculator.divide(total, share.minimum, above.minimum)
    share.capacity = 0.0 if isinf(part) else part
    part = calculator.divide(total, share.maximum, above.maximum)
    share.maximum_capacity = 0.0 if isinf(part) else part
    share.absolute = queue.context.single(share.capacity * above.absolute)
    share.absolute_maximum = queue.context.single(share.maximum_capacity * above.absolute_maximum)


def _scale_children(queue: CapacityQueue, partition: str) -> None:
    context, share = queue.context, queue.own(partition)
    promised = context.none()
    for child in queue.children:
        add_to(promised, child.share(partition).configured_minimum)
    has: Vector = context.of(partition) if queue.parent is None else share.minimum
    share.ratios = {}
    if (queue.parent is None and not any(has)) or not context.calculator.less(context.total, has, promised):
        return
    share.ratios = {
        at: queue.context.single(queue.context.single(has[at]) / queue.context.single(promised[at]))
        for at in range(context.width)
        if promised[at] and at != PODS
    }


def shares_of(queue: CapacityQueue) -> dict[str, Share]:
    """Return the shares of a queue by partition."""
    return queue.shares
