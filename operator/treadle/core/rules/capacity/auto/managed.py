"""Leaves of a managed parent have all the capacity of their template or none, as long as there is some (Hadoop's ``GuaranteedOrZeroCapacityOverTimePolicy``).

A new leaf gets capacity if there is some left. In every round, leaves without applications lose theirs, and those with
applications get what is left, the first submitted first; what a round takes away it does not give to the same leaf again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from treadle.core.model.capacity import Capacity, Kind, ManagedCreation, PartitionShare, Portion
from treadle.core.rules.capacity.calculators import whole
from treadle.core.rules.capacity.context import DEFAULT
from treadle.core.rules.capacity.effective import absolute_parts
from treadle.core.rules.capacity.queue import CapacityQueue, InOrder, by_submission
from treadle.core.rules.capacity.share import Share
from treadle.core.rules.capacity.validation import Refused
from treadle.core.units.amounts import quotient
from treadle.core.units.resources import Vector

EPSILON = 0.001
"""How much more than there is may be given, as a part of the partition."""


@dataclass(slots=True)
class Entitlement:
    """What a leaf is to have of a partition: parts of its parent and of the partition."""

    capacity: float = 0.0
    maximum: float = 0.0
    absolute: float = 0.0
    absolute_maximum: float = 0.0


@dataclass(slots=True)
class _Given:
    """Which leaves have capacity in one partition, and how much all of them."""

    active: dict[str, bool] = field(default_factory=dict)
    total: float | None = None


class Entitlements:
    """Who of the leaves below ``parent`` has capacity. ``template`` is what each may have, by partition."""

    def __init__(self, parent: CapacityQueue, creation: ManagedCreation) -> None:
        self.parent = parent
        self._given: dict[str, _Given] = {}
        self._set_template(creation)

    # ---- definitions

    def take_over(self, creation: ManagedCreation) -> None:
        """Put another template in force. Raises ``Refused`` if the leaves have more than there is and that is not wanted."""
        if creation.fail_on_excess:
            total = 0.0
            for leaf in self.parent.children:
                total = self.parent.context.single(total + leaf.share(DEFAULT).capacity)
            if self.parent.share(DEFAULT).capacity < total:
                raise Refused("IOException", f"{self.parent.path}: its leaves have {total:.1%} of it, which is more than it has")
        self._set_template(creation)

    def restart(self, in_order: InOrder = by_submission) -> None:
        """Forget who has capacity and give it anew. Raises ``Refused``."""
        self._given = {}
        self.round(in_order)

    def empty(self, leaf: CapacityQueue) -> None:
        """Let a leaf have nothing for now. The maximum of the last partition becomes that of the default one, as in Hadoop."""
        single, default = self.parent.context.single, leaf.own(DEFAULT)
        nothing = Capacity(Portion(Kind.PERCENT, 0.0))
        for partition in self.parent.shares:
            share, found = leaf.own(partition), self.template.get(partition)
            share.capacity = share.absolute = 0.0
            default.maximum_capacity = 0.0 if found is None else found.maximum_capacity
            default.absolute_maximum = single(default.maximum_capacity * self.parent.share(DEFAULT).absolute_maximum)
            for name in (DEFAULT, partition):
                most = Portion(Kind.PERCENT, single(leaf.own(name).maximum_capacity * 100))
                leaf.imposed[name] = PartitionShare(nothing, Capacity(most))
            leaf.update_statistics(partition)

    def _set_template(self, creation: ManagedCreation) -> None:
        parent, context = self.parent, self.parent.context
        self.creation = creation
        self.template: dict[str, Share] = {}
        for partition in {DEFAULT: None, **creation.template.partitions}:
            given = creation.template.partitions.get(partition)
            share = self.template[partition] = Share(context.width)
            guaranteed = Capacity() if given is None else given.guaranteed
            share.capacity = guaranteed.part(context.single, 0.0)
            share.maximum_capacity = (Capacity() if given is None else given.maximum).part(context.single, 100.0)
            share.configured_minimum = context.types.vector(guaranteed.amounts)
            share.configured_maximum = context.types.vector({} if given is None else given.maximum.amounts)
            if parent.kind == "PERCENTAGE" and any(share.configured_minimum):
                raise Refused("IOException", f"{parent.path}: leaf-queue-template: absolute resources below a queue without such")
        self._derive()

    def _derive(self) -> None:
        """Compute the parts of the parent from amounts, where the parent has such."""
        parent, context = self.parent, self.parent.context
        if parent.kind != "ABSOLUTE_RESOURCE":
            return
        for partition, share in self.template.items():
            above = parent.share(partition)
            share.capacity = context.calculator.divide(context.total, share.configured_minimum, above.configured_minimum)
            most = share.configured_maximum if any(share.configured_maximum) else above.configured_maximum
            most = context.calculator.smaller(context.total, most, above.configured_maximum)
            share.maximum_capacity = context.calculator.divide(context.total, most, above.configured_maximum)
            share.absolute = context.single(share.capacity * above.absolute)
            share.absolute_maximum = context.single(share.maximum_capacity * above.absolute_maximum)

    def amount(self, partition: str) -> Vector:
        """Return what a leaf with capacity has of a partition."""
        found, context = self.template.get(partition), self.parent.context
        return context.none() if found is None else context.calculator.times(context.of(partition), found.absolute)

    # ---- a new leaf

    def missing_room(self) -> bool:
        """Whether one more leaf would have more than there is, all leaves counted."""
        single, total = self.parent.context.single, 0.0
        for leaf in self.parent.children:
            total = single(total + leaf.share(DEFAULT).absolute)
        return single(self.template[DEFAULT].absolute + total) > self.parent.share(DEFAULT).absolute

    def settle(self, leaf: CapacityQueue) -> None:
        """Give a new leaf capacity, if there is some left."""
        single = self.parent.context.single
        absolute_parts(self.template, self.parent, self.parent.context)
        self._derive()
        self._impose(leaf)
        wanted: dict[str, Entitlement] = {}
        for partition, share in self.template.items():
            given = self._of(partition)
            given.active.setdefault(leaf.path, False)
            room = single(self.parent.share(partition).absolute - (given.total or 0.0))
            if single(room + single(EPSILON)) >= share.absolute:
                wanted[partition] = _full(share)
                self._activate(leaf, partition)
            else:
                wanted[partition] = self._nothing(leaf, partition)
        self._merge(leaf, wanted)

    # ---- rounds

    def round(self, in_order: InOrder = by_submission) -> None:
        """Take capacity from leaves without applications and give it to others. Raises ``Refused``, and then nothing changed."""
        absolute_parts(self.template, self.parent, self.parent.context)
        leaves = {leaf.path: leaf for leaf in self.parent.children if leaf.entitled}
        for partition in self.template:
            active = self._of(partition).active
            self._of(partition).active = {path: active.get(path, False) for path in leaves}
        changes: dict[str, dict[str, Entitlement]] = {}
        for partition in self.template:
            self._plan(partition, leaves, changes, in_order)
        for path, wanted in changes.items():
            if not all(0 <= each.capacity <= 1 for each in wanted.values()):
                raise Refused("SchedulerDynamicEditException", f"{path}: its template has more than its parent has")
        for path, wanted in changes.items():
            self._impose(leaves[path])
            self._merge(leaves[path], wanted)
        for path, wanted in changes.items():
            self._commit(leaves[path], wanted)

    def _plan(
        self,
        partition: str,
        leaves: Mapping[str, CapacityQueue],
        changes: dict[str, dict[str, Entitlement]],
        in_order: InOrder,
    ) -> None:
        single, given, share = self.parent.context.single, self._of(partition), self.template[partition]
        freed, left = set(), 0.0
        for path, leaf in leaves.items():
            if given.active[path] and leaf.applications == 0:
                changes.setdefault(path, {})[partition] = self._nothing(leaf, partition)
                freed.add(path)
                left = single(left + share.absolute)
        room = single(single(self.parent.share(partition).absolute - (given.total or 0.0)) + left)
        room = single(room + single(EPSILON))
        applications = in_order([one for leaf in leaves.values() for one in (*leaf.pending, *leaf.active)])
        if room < share.absolute or share.absolute <= 0 or not applications:
            return
        most = min(whole(single(quotient(room, share.absolute))), len(applications))
        chosen: dict[str, None] = {}
        for application in applications:
            path = application.leaf.path
            if len(chosen) < most and not given.active[path] and path not in freed:
                chosen[path] = None
        for path in chosen:
            changes.setdefault(path, {})[partition] = _full(share)

    def _commit(self, leaf: CapacityQueue, wanted: Mapping[str, Entitlement]) -> None:
        for partition, entitlement in wanted.items():
            active = self._of(partition).active[leaf.path]
            if entitlement.capacity > 0 and not active:
                self._activate(leaf, partition)
            elif entitlement.capacity <= 0 and active:
                self._merge(leaf, wanted)
                leaf.own(DEFAULT).configured_minimum = leaf.context.none()
                self._deactivate(leaf, partition)

    def _impose(self, leaf: CapacityQueue) -> None:
        """Let a leaf be defined by the template alone, whether it has capacity or not: without legacy mode Hadoop computes from definitions."""
        for partition in self.parent.configured:
            given = self.creation.template.partitions.get(partition, PartitionShare())
            guaranteed = given.guaranteed if given.guaranteed != Capacity() else Capacity(Portion(Kind.PERCENT, 0.0))
            maximum = given.maximum if given.maximum != Capacity() else Capacity(Portion(Kind.PERCENT, 100.0))
            leaf.imposed[partition] = PartitionShare(guaranteed, maximum)

    def _merge(self, leaf: CapacityQueue, wanted: Mapping[str, Entitlement]) -> None:
        calculator = leaf.context.calculator
        for partition, entitlement in wanted.items():
            share, total = leaf.own(partition), leaf.context.of(partition)
            share.capacity, share.absolute = entitlement.capacity, entitlement.absolute
            share.maximum_capacity, share.absolute_maximum = entitlement.maximum, entitlement.absolute_maximum
            if leaf.kind == "ABSOLUTE_RESOURCE" and share.absolute > 0:
                share.minimum = list(self.template[partition].configured_minimum)
            else:
                share.minimum = calculator.times(total, share.absolute)
            share.maximum = calculator.times(total, share.absolute_maximum)

    def _nothing(self, leaf: CapacityQueue, partition: str) -> Entitlement:
        leaf.own(partition).configured_minimum = leaf.context.none()
        return Entitlement(maximum=self.template[partition].maximum_capacity)

    def _of(self, partition: str) -> _Given:
        return self._given.setdefault(partition, _Given())

    def _activate(self, leaf: CapacityQueue, partition: str) -> None:
        given, part = self._of(partition), self.template[partition].absolute
        given.active[leaf.path] = True
        given.total = part if given.total is None else leaf.context.single(given.total + part)

    def _deactivate(self, leaf: CapacityQueue, partition: str) -> None:
        given, part = self._of(partition), self.template[partition].absolute
        given.active[leaf.path] = False
        given.total = part if given.total is None else leaf.context.single(given.total - part)


def _full(share: Share) -> Entitlement:
    return Entitlement(share.capacity, share.maximum_capacity, share.absolute, share.absolute_maximum)
