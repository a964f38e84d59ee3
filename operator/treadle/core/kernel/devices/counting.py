"""Devices as queues count them: how many of which resource type a claim comes to, and how many there are to share.

A class counts as the resource type that the Scheduler says (``deviceClasses``), or as the extended resource that it serves; a class without either counts as none.
What a claim has is counted as it was allocated. Before that it is the first alternative of each request that counts: so many as it asks for, one where it
asks for all. Admin access takes nothing from others and counts for nothing; a part of a device counts as one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.kernel.devices.on_nodes import ANYWHERE
from treadle.core.model.devices import ALL, SelectorProblem
from treadle.core.units.resources import UNBOUNDED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from treadle.core.kernel.devices.registry import Devices
    from treadle.core.model.devices import Counts, DeviceClaimSpec, DeviceClassSpec, SliceSpec


def counts_of(claim: DeviceClaimSpec, devices: Devices) -> Counts:
    """Return what a claim counts for, by resource type."""
    return _summed(_of_allocation(claim, devices) if devices.has(claim.key) is not None else _of_requests(claim, devices))


def counts_of_extended(extended: Counts, devices: Devices) -> Counts:
    """Return what extended resources that classes serve count for: the same number of what their class counts as."""
    found = []
    for name, amount in extended:
        device_class = devices.serves(name)
        kind = devices.kinds.get(device_class) if device_class is not None else None
        if kind is not None:
            found.append((kind, amount))
    return _summed(found)


def _of_allocation(claim: DeviceClaimSpec, devices: Devices) -> Iterator[tuple[str, int]]:
    allocation = devices.has(claim.key)
    classes = {
        f"{request.name}/{asked.name}" if request.first else request.name: asked.device_class
        for request in claim.requests
        for asked in request.alternatives
    }
    for result in allocation.results if allocation is not None else ():
        kind = devices.kinds.get(classes.get(result.request, ""))
        if kind is not None and not result.admin:
            yield kind, 1


def _of_requests(claim: DeviceClaimSpec, devices: Devices) -> Iterator[tuple[str, int]]:
    for request in claim.requests:
        asked = next(iter(request.alternatives), None)
        kind = devices.kinds.get(asked.device_class) if asked is not None else None
        if asked is not None and kind is not None and not asked.admin:
            yield kind, 1 if asked.mode == ALL else asked.count


def _summed(found: Iterable[tuple[str, int]]) -> Counts:
    total: dict[str, int] = {}
    for kind, count in found:
        total[kind] = min(total.get(kind, 0) + count, UNBOUNDED)
    return tuple(sorted(total.items()))


class Stock:
    """How many devices of each resource type there are, by the node that they are on; those of no single node are ``ANYWHERE``.

    Of a pool only the newest generation counts. A device counts once for a type, whichever of its classes select it.
    """

    def __init__(self, devices: Devices) -> None:
        self._devices = devices
        self._by_slice: dict[str, dict[tuple[str, str], int]] = {}
        self.there: dict[tuple[str, str], int] = {}
        """Numbers by node and type."""

    def follow(self) -> bool:
        """Count what has changed; returns whether there is another number of anything."""
        devices, changed = self._devices, False
        names, devices.uncounted = devices.uncounted, {}
        by_kind: dict[str, list[DeviceClassSpec]] = {}
        for name, kind in devices.kinds.items():
            by_kind.setdefault(kind, []).append(devices.classes[name])
        for name in names:
            one, before = devices.slices.get(name), self._by_slice.pop(name, {})
            now = self._count(one, by_kind) if one is not None and by_kind and devices.newest(one) else {}
            if now:
                self._by_slice[name] = now
            if now != before:
                changed = True
                self._add(before, -1)
                self._add(now, 1)
        return changed

    def _add(self, counts: dict[tuple[str, str], int], sign: int) -> None:
        for key, count in counts.items():
            left = self.there.get(key, 0) + sign * count
            if left:
                self.there[key] = left
            else:
                del self.there[key]

    def _count(self, one: SliceSpec, by_kind: dict[str, list[DeviceClassSpec]]) -> dict[tuple[str, str], int]:
        found: dict[tuple[str, str], int] = {}
        for at, device in enumerate(one.devices):
            node = (device.node if one.per_device else one.node) or ANYWHERE
            for kind, classes in by_kind.items():
                if any(self._selects(each, one, at) for each in classes):
                    found[node, kind] = found.get((node, kind), 0) + 1
        return found

    def _selects(self, device_class: DeviceClassSpec, one: SliceSpec, at: int) -> bool:
        try:
            return all(self._devices.matches(one, at, selector) for selector in device_class.selectors)
        except SelectorProblem:
            return False  # the allocator refuses it as well, and its message says why
