"""Parts of devices that several claims share: what a request takes of each capacity, by the device's policy (consumable capacity)."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from treadle.core.model.devices import Amount, DeviceCapacity, DeviceSpec

Consumed = dict[str, "Amount"]


def taken(wanted: Amount | None, capacity: DeviceCapacity) -> Amount:
    """Return what a request takes of a capacity: what it asks for, rounded up as the device says; without a word the default, or all."""
    if wanted is None:
        return capacity.value if capacity.default is None else capacity.default
    if capacity.ranged and capacity.least is not None:
        if wanted < capacity.least:
            return capacity.least
        if not capacity.step:
            return wanted
        least, step = ceil(capacity.least), ceil(capacity.step)
        return least + step * -((least - ceil(wanted)) // step)
    if capacity.values:
        return next((value for value in capacity.values if wanted <= value), wanted)
    return wanted


def forbidden(amount: Amount, capacity: DeviceCapacity) -> bool:
    """Whether the device's policy does not let an amount be taken."""
    if capacity.default is not None and amount == capacity.default:
        return False
    if capacity.ranged:
        if capacity.most is not None and amount > capacity.most:
            return True
        return bool(capacity.step) and (ceil(amount) - ceil(capacity.least or 0)) % ceil(capacity.step or 1) != 0
    return bool(capacity.values) and amount not in capacity.values


def consumed_of(device: DeviceSpec, wanted: Mapping[str, Amount]) -> Consumed:
    """Return what a request takes of a device's capacities."""
    return {name: taken(wanted.get(name), capacity) for name, capacity in device.capacity}


def enough(device: DeviceSpec, wanted: Mapping[str, Amount], used: Mapping[str, Amount], more: Mapping[str, Amount]) -> bool:
    """Whether a device has what a request takes beside what others use of it, and ``more`` that is about to be used."""
    names = dict(device.capacity)
    if any(name not in names for name in wanted):
        return False
    for name, capacity in device.capacity:
        amount = taken(wanted.get(name), capacity)
        if forbidden(amount, capacity) or used.get(name, 0) + more.get(name, 0) + amount > capacity.value:
            return False
    return True
