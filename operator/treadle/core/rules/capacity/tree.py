"""Queues from their definitions, at first and on a refresh (Hadoop's ``CapacitySchedulerQueueManager``, ``setupQueueConfigs``).

A refresh builds the new tree aside, checks it, and then lets the old queues take over its definitions: usage and applications
stay. Whatever is refused leaves the old definitions in force.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from types import MappingProxyType

from treadle.core.model.capacity import Capacity, CapacityQueueSpec, Kind
from treadle.core.rules.capacity import states
from treadle.core.rules.capacity.auto.managed import Entitlements
from treadle.core.rules.capacity.auto.templates import dynamic_spec, entitled_spec, imposed_on, partitions_named
from treadle.core.rules.capacity.context import ANY_PARTITION, DEFAULT, Context
from treadle.core.rules.capacity.effective import absolute_capacities, update, update_below
from treadle.core.rules.capacity.limits import limit_applications
from treadle.core.rules.capacity.queue import RUNNING, STOPPED, CapacityQueue, Entitling, InOrder, by_submission
from treadle.core.rules.capacity.validation import (
    Refused,
    check_children,
    check_maximum,
    check_no_weight,
    check_weights,
    same_kind,
)
from treadle.core.units.amounts import fits, minus

ROOT = "root"
QUEUE_ORDERS = ("utilization", "priority-utilization")
APPLICATION_ORDERS = ("fifo", "fair", "fifo-with-partitions", "fifo-for-pending-apps")
Arrange = Callable[[Sequence[CapacityQueue]], Sequence[CapacityQueue]]
Undeclared = Callable[[str], CapacityQueueSpec]


class CapacityTree:
    """The queues. ``arrange`` is the order of siblings after a refresh, which Hadoop leaves to a hash table.

    ``undeclared`` gives what is said about a queue that no list of children names: it may be made when an application asks for
    it. ``submissions`` is the order in which applications were submitted. ``drops_queues``: a refresh that leaves no place for
    queues that were made drops them with their applications, as Hadoop's does; otherwise it is refused. Without ``computed`` the
    definitions are only checked; ``alike`` then names for a leaf, by path, another whose definition says the same: of such
    siblings one is checked, and the others share what it has.
    """

    def __init__(
        self,
        specs: Mapping[str, CapacityQueueSpec],
        context: Context,
        arrange: Arrange = list,
        undeclared: Undeclared = CapacityQueueSpec,
        *,
        computed: bool = True,
        alike: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.context, self.arrange = context, arrange
        self._alike = {} if computed else alike
        self.specs, self.undeclared = dict(specs), undeclared
        self.submissions: InOrder = by_submission
        self.drops_queues = False
        self.root = self._build(ROOT, None, {})
        if computed:
            update(self.root)

    def queues(self) -> dict[str, CapacityQueue]:
        """Return the queues by path."""
        return {queue.path: queue for queue in self.root.walk()}

    def leaves(self) -> list[CapacityQueue]:
        """Return the leaves, in the order of the tree."""
        return [queue for queue in self.root.walk() if not queue.parental]

    def find(self, name: str) -> CapacityQueue | None:
        """Return a queue by its path, or by its own name if only one leaf or parent has it."""
        found = self._called(name)
        return found[0] if len(found) == 1 else None

    def ambiguous(self, name: str) -> bool:
        """Whether several queues have a name, and none has it as its path."""
        return len(self._called(name)) > 1

    def full_path(self, name: str) -> str:
        """Return a path whose first part may be the own name of a queue, from the root on."""
        first, _, rest = name.partition(".")
        queue = self.find(first)
        return name if queue is None or not rest else f"{queue.path}.{rest}"

    def _called(self, name: str) -> list[CapacityQueue]:
        if "." in name:  # no name of a queue's own has a dot
            queue: CapacityQueue | None = self.root if name.startswith(f"{ROOT}.") else None
            for part in name.split(".")[1:]:
                queue = next((child for child in queue.children if child.name == part), None) if queue is not None else None
            return [] if queue is None else [queue]
        found = {queue.path: queue for queue in self.root.walk() if name in {queue.path, queue.name}}
        return [found[name]] if name in found else list(found.values())

    def give_up(self) -> None:
        """Let the queues go of each other, so that the memory of a tree that is not needed any more is free without a collection of garbage."""
        self.undeclared = CapacityQueueSpec
        for queue in self.root.walk():
            queue.parent = queue.entitlements = None
            del queue.users.leaf

    def follow(self) -> None:
        """Take over another size of the cluster."""
        update(self.root)

    def reload(self, specs: Mapping[str, CapacityQueueSpec], undeclared: Undeclared = CapacityQueueSpec) -> None:
        """Put other definitions in force. Raises ``Refused``, and then nothing changed."""
        before, old = (self.specs, self.undeclared), self.queues()
        were = [(queue, list(queue.children), queue.dynamic, queue.state) for queue in old.values()]
        self.specs, self.undeclared = dict(specs), undeclared
        try:
            new = self._build(ROOT, None, old)
            self._check_hierarchy(old, {queue.path: queue for queue in new.walk()})
            self._reinitialize(self.root, new)
        except Refused:
            self.specs, self.undeclared = before
            for queue, children, dynamic, state in were:
                queue.children, queue.dynamic, queue.state = children, dynamic, state
            self._reinitialize(self.root, self.root)
            raise
        update(self.root)

    def add(
        self, parent: CapacityQueue, name: str, *, parental: bool, entitled: bool = False, bare: bool = False
    ) -> CapacityQueue:
        """Make a queue below a parent; what it gets is still to be computed. Raises ``Refused``.

        A ``bare`` one gets nothing from templates, and of what is above it only what it may have, so that it can be always.
        """
        queue = CapacityQueue(name, parent, self.context, parental=parental)
        queue.declared, queue.bare = False, bare
        queue.dynamic, queue.entitled = not entitled, entitled
        self._define(queue)
        parent.children.append(queue)
        return queue

    def remove(self, queue: CapacityQueue, *, settle: bool = True) -> None:
        """Remove a queue that was made, and let its siblings share what it had; without ``settle`` that is left to the caller."""
        assert queue.parent is not None
        queue.parent.children.remove(queue)
        if settle:
            update_below(queue.parent)

    def redefine(self, queue: CapacityQueue) -> None:
        """Let a queue be as if it was made anew from its definition; usage, users and children stay. Raises ``Refused``."""
        queue.shares, queue.state = {}, ""
        self._define(queue)

    def _check_hierarchy(self, old: Mapping[str, CapacityQueue], new: Mapping[str, CapacityQueue]) -> None:
        for path, queue in old.items():
            found = new.get(path)
            if queue.entitled:
                continue
            if queue.parental and queue.applications and found is not None and not found.parental and not self.drops_queues:
                raise Refused("IOException", f"{path}: it can become a leaf only when nothing runs below it")
            if found is None:
                if STOPPED not in {queue.state, self.undeclared(path).state} and not queue.dynamic:
                    raise Refused("IOException", f"{path}: a queue can be removed only when it is stopped; it is {queue.state}")
            elif queue.parental and (queue.entitlements is None) != (found.entitlements is None):
                raise Refused("IOException", f"{path}: whether leaves are made from one template can not be changed")
            elif found.parental and not queue.parental and STOPPED not in {queue.state, found.state}:
                raise Refused("IOException", f"{path}: a leaf can become a parent only when it is stopped; it is {queue.state}")

    def _reinitialize(self, queue: CapacityQueue, new: CapacityQueue) -> None:
        if not queue.parental and not fits(queue.max_allocation, new.max_allocation):
            raise Refused("IOException", f"{queue.path}: the maximum allocation can not be decreased")
        if queue is not new:
            queue.dynamic = False
        if queue.entitlements is not None:
            self._reinitialize_managed(queue, queue.entitlements)
            return
        self._define(queue)
        if not queue.parental:
            return
        mine = {child.path: child for child in queue.children}
        theirs = {child.path: child for child in new.children}
        for path, child in mine.items():
            if path not in theirs and child.dynamic:
                self._reinitialize(child, child)
        for path, child in self._arranged(theirs).items():
            own = mine.get(path)
            if own is None or own.parental != child.parental:
                child.parent = queue
                mine[path] = child
            else:
                self._reinitialize(own, child)
        kept = {path: child for path, child in mine.items() if path in theirs or child.dynamic}
        children = list(self._arranged(kept).values())
        check_children(queue, children)
        queue.children = children

    def _reinitialize_managed(self, queue: CapacityQueue, entitlements: Entitling) -> None:
        spec = self._spec(queue)
        assert spec.managed is not None
        entitlements.take_over(spec.managed)
        self._define(queue)
        for child in queue.children:
            self._define(child)
            if child.entitled:
                entitlements.empty(child)
        entitlements.restart(self.submissions)

    def _arranged(self, queues: Mapping[str, CapacityQueue]) -> dict[str, CapacityQueue]:
        return {queue.path: queue for queue in self.arrange(list(queues.values()))}

    def _build(self, name: str, parent: CapacityQueue | None, before: Mapping[str, CapacityQueue]) -> CapacityQueue:
        path = name if parent is None else f"{parent.path}.{name}"
        spec, old = self.specs.get(path, CapacityQueueSpec(path)), before.get(path)
        parental = bool(
            spec.children or spec.flexible.enabled or spec.managed or (old is not None and old.dynamic and old.parental)
        )
        if parent is None and not parental:
            raise Refused("IllegalStateException", "root: it has no child queues")
        queue = CapacityQueue(name, parent, self.context, parental=parental)
        self._define(queue)
        if spec.managed is not None:
            queue.entitlements = Entitlements(queue, spec.managed)
        if spec.children:
            children = self._children(queue, spec.children, before)
            check_children(queue, children)
            queue.children = children
        return queue

    def _children(self, parent: CapacityQueue, names: Sequence[str], before: Mapping[str, CapacityQueue]) -> list[CapacityQueue]:
        found: list[CapacityQueue] = []
        firsts: dict[str, CapacityQueue] = {}
        for name in names:
            path = f"{parent.path}.{name}"
            said_at = self._alike.get(path, path)
            first = firsts.get(said_at)
            if first is None:
                firsts[said_at] = queue = self._build(name, parent, before)
            else:
                queue = copy(first)
                queue.name, queue.path = name, path
            found.append(queue)
        return found

    def _define(self, queue: CapacityQueue) -> None:
        """Give a queue what its definition, its parent and the settings say."""
        spec, parent, settings = self._spec(queue), queue.parent, self.context.settings
        queue.spec = spec
        if not queue.entitled:
            queue.imposed = {}
        if parent is not None and queue.dynamic and not settings.legacy:
            queue.imposed = imposed_on(self.undeclared(queue.path), parent.spec.flexible, leaf=not queue.parental)
        self._set_partitions(queue)
        self._set_capacities(queue)
        absolute_capacities(queue)
        self._set_configured(queue)
        self._set_largest(queue)
        states.define(queue, spec.state)
        queue.user_weights = {**(parent.user_weights if parent is not None else {}), **spec.user_weights}
        self._set_kind(queue)
        queue.update_statistics()
        queue.priority = spec.priority or 0
        queue.order = (
            spec.order if spec.order is not None and queue.parental else (parent.order if parent is not None else "utilization")
        )
        known = QUEUE_ORDERS if queue.parental else APPLICATION_ORDERS
        if spec.order is not None and spec.order not in known:
            kind = "YarnRuntimeException" if queue.parental else "RuntimeException"
            raise Refused(
                f"{kind}/ClassNotFoundException", f"{queue.path}: ordering-policy: {spec.order} is not one of {', '.join(known)}"
            )
        enabled = settings.preemption.enabled
        above = parent.disable_preemption if parent is not None else False
        queue.disable_preemption = not enabled or (above if spec.disable_preemption is None else spec.disable_preemption)
        above = parent.disable_intra_preemption if parent is not None else False
        queue.disable_intra_preemption = not enabled or (
            above if spec.disable_intra_preemption is None else spec.disable_intra_preemption
        )
        queue.max_running = settings.max_parallel if spec.max_parallel is None else spec.max_parallel
        self._set_lifetimes(queue)
        if not queue.parental:
            self._set_leaf(queue)

    def _spec(self, queue: CapacityQueue) -> CapacityQueueSpec:
        """Return what is said about a queue; for one that was made, its parent's templates fill it up."""
        parent = queue.parent
        if parent is not None and (queue.dynamic or queue.entitled) and not queue.bare:
            said = self.undeclared(queue.path)
            if queue.entitled and parent.entitlements is not None:
                return entitled_spec(said, parent.entitlements.creation.template)
            return dynamic_spec(said, parent.spec.flexible, leaf=not queue.parental)
        return self.undeclared(queue.path) if queue.bare else self.specs.get(queue.path, CapacityQueueSpec(queue.path))

    def _set_partitions(self, queue: CapacityQueue) -> None:
        spec, parent = queue.spec, queue.parent
        if parent is None:
            queue.accessible = frozenset({ANY_PARTITION})
            named = [name for each in self.specs.values() for name in partitions_named(each)]
            queue.configured = tuple(dict.fromkeys([DEFAULT, *named]))
        else:
            queue.accessible = parent.accessible if spec.accessible is None else spec.accessible
            queue.configured = tuple(dict.fromkeys([DEFAULT, *spec.partitions]))
            if ANY_PARTITION not in parent.accessible:
                if ANY_PARTITION in queue.accessible:
                    raise Refused("IOException", f"{queue.path}: accessible-node-labels: * is more than what the parent may use")
                over = queue.accessible - parent.accessible - {DEFAULT}
                if over:
                    raise Refused(
                        "IOException", f"{queue.path}: accessible-node-labels: the parent may not use {', '.join(sorted(over))}"
                    )
        queue.default_partition = spec.default_partition
        if queue.default_partition is None and parent is not None and queue.accessible >= parent.accessible:
            queue.default_partition = parent.default_partition
        wanted = queue.default_partition
        if queue.bare and wanted and not queue.may_use(wanted):
            queue.default_partition = None
        elif not queue.parental and wanted and not queue.may_use(wanted):
            raise Refused("IOException", f"{queue.path}: default-node-label-expression: the queue may not use {wanted}")

    def _set_capacities(self, queue: CapacityQueue) -> None:
        for share in queue.shares.values():
            share.capacity = share.maximum_capacity = 0.0
            share.absolute = share.absolute_maximum = 0.0
            share.weight = -1.0
        settings, spec = self.context.settings, queue.spec
        default = settings.master_share if spec.master_share is None else spec.master_share
        for partition in queue.configured:
            given = spec.partitions.get(partition)
            share = queue.own(partition)
            guaranteed = given.guaranteed if given is not None else Capacity()
            maximum = given.maximum if given is not None else Capacity()
            check_no_weight(queue.path, maximum)
            share.capacity = 1.0 if queue.parent is None else guaranteed.part(self.context.single, 0.0)
            share.maximum_capacity = maximum.part(self.context.single, 100.0)
            share.master_share = self.context.single(
                default if given is None or given.master_share is None else given.master_share
            )
            one = guaranteed.uniform
            alike = set(guaranteed.types.values())
            if one is None and len(alike) == 1 and len(guaranteed.types) >= len(self.context.types) - 1:
                one = alike.pop()
            share.weight = -1.0 if one is None or one.kind is not Kind.WEIGHT else check_weights(queue.path, one.value)

    def _set_configured(self, queue: CapacityQueue) -> None:
        context = self.context
        for partition in queue.configured:
            given, share = queue.spec.partitions.get(partition), queue.own(partition)
            minimum = context.types.vector(given.guaranteed.amounts) if given is not None else context.none()
            maximum = context.types.vector(given.maximum.amounts) if given is not None else context.none()
            if queue.parent is not None:
                above = queue.parent.share(partition).configured_maximum
                check_maximum(queue, maximum, above, "maximum-capacity: more than the parent's")
                if not any(maximum) and any(minimum) and any(above):
                    maximum = list(above)
            if not context.lenient:
                check_maximum(queue, minimum, maximum, "capacity: more than maximum-capacity")
            share.configured_minimum, share.configured_maximum = minimum, maximum

    def _set_kind(self, queue: CapacityQueue) -> None:
        found: str | None = None
        for partition in queue.configured:
            given = queue.spec.partitions.get(partition)
            capacity = given.guaranteed if given is not None else Capacity()
            kinds = {one.kind for one in capacity.types.values()}
            absolute = capacity.written_by_type if self.context.settings.legacy else kinds == {Kind.ABSOLUTE}
            kind = "ABSOLUTE_RESOURCE" if absolute and queue.parent is not None else "PERCENTAGE"
            if found is None:
                found = kind
            else:
                same_kind(queue, found, kind, partition)
        queue.kind = found or "PERCENTAGE"

    def _set_largest(self, queue: CapacityQueue) -> None:
        above = self.context.most if queue.parent is None else queue.parent.max_allocation
        queue.max_allocation = list(above)
        for name, value in queue.spec.max_allocation.items():
            position = self.context.types.position(name)
            if value > self.context.most[position]:
                raise Refused(
                    "IllegalArgumentException", f"{queue.path}: maximum-allocation: {value} {name} is more than the cluster's"
                )
            queue.max_allocation[position] = value

    def _set_lifetimes(self, queue: CapacityQueue) -> None:
        spec, parent = queue.spec, queue.parent
        own = -1.0 if spec.max_lifetime is None else spec.max_lifetime
        queue.max_lifetime = own if own >= 0 or parent is None else parent.max_lifetime
        default = -1.0 if spec.default_lifetime is None else spec.default_lifetime
        queue.default_lifetime_set = default >= 0 or (parent is not None and parent.default_lifetime_set)
        if default < 0:
            inherits = parent is not None and parent.default_lifetime_set
            default = queue.max_lifetime
            if inherits and parent is not None:
                default = parent.default_lifetime if queue.max_lifetime <= 0 else min(parent.default_lifetime, queue.max_lifetime)
        if 0 < queue.max_lifetime < default:
            raise Refused(
                "YarnRuntimeException", f"{queue.path}: default-application-lifetime: {default} is more than the maximum"
            )
        queue.default_lifetime = default if default > 0 else queue.max_lifetime

    def _set_leaf(self, queue: CapacityQueue) -> None:
        context, settings, spec = self.context, self.context.settings, queue.spec
        queue.last_total = list(context.total)
        queue.limit = queue.told_limit = list(context.total)
        queue.user_limit = self.context.single(settings.user_limit if spec.user_limit is None else spec.user_limit)
        queue.user_limit_factor = self.context.single(
            settings.user_limit_factor if spec.user_limit_factor is None else spec.user_limit_factor
        )
        limit_applications(queue)
        room = minus(queue.max_allocation, context.least)
        queue.allocation_factor = context.calculator.ratio(room, queue.max_allocation)
        queue.default_application_priority = spec.default_application_priority or 0
        most = self.context.single(100.0 / min(100.0, queue.user_limit)) if queue.user_limit else float("inf")
        if queue.bare:
            queue.user_weights = {user: min(weight, most) for user, weight in queue.user_weights.items()}
        for user, weight in queue.user_weights.items():
            if not 0 <= self.context.single(weight) <= most:
                raise Refused("IOException", f"{queue.path}: user-settings.{user}.weight: {weight} is not between 0 and {most:g}")
        queue.users.reweigh()
        if context.as_hadoop:
            queue.unsorted.clear()


__all__ = ["RUNNING", "CapacityTree"]
