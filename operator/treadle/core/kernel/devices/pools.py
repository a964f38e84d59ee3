"""The pools of devices that a node can use: the newest generation of each, whether it is complete, and whether it can be relied on (``GatherPools``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from treadle.core.kernel.volumes.near import on

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from treadle.core.model import NodeSpec
    from treadle.core.model.devices import Amount, DeviceSpec, SliceSpec
    from treadle.core.model.volumes import NodeTerms

PoolId = tuple[str, str]
"""Driver and name."""


class Pool(NamedTuple):
    """A pool as a node sees it. ``slices`` have devices for the node, ``elsewhere`` the rest of them; ``counters`` by (set, name).

    ``incomplete``: slices of it are not there yet. ``invalid`` is why nothing of it can be used.
    """

    id: PoolId
    slices: tuple[SliceSpec, ...] = ()
    elsewhere: tuple[SliceSpec, ...] = ()
    counters: Mapping[tuple[str, str], Amount] = {}
    incomplete: bool = False
    invalid: str = ""

    @property
    def name(self) -> str:
        """How people read it."""
        return f"{self.id[0]}/{self.id[1]}"


def reaches(node: NodeSpec, name: str, nodes: NodeTerms | None, *, everywhere: bool) -> bool:
    """Whether what is for a node by name, for all, or for those that some terms admit is for a node."""
    if name:
        return node.name == name
    return everywhere or (nodes is not None and on(node, nodes))


def device_reaches(node: NodeSpec, device: DeviceSpec) -> bool:
    """Whether a device of a slice whose devices tell for themselves can be used on a node."""
    return reaches(node, device.node, device.nodes, everywhere=device.all_nodes)


def relevant(node: NodeSpec, one: SliceSpec) -> bool:
    """Whether a slice matters on a node: it has devices for it, or counters of its pool."""
    if one.counters:
        return True
    if one.node or one.all_nodes or one.nodes is not None:
        return reaches(node, one.node, one.nodes, everywhere=one.all_nodes)
    return one.per_device and any(device_reaches(node, device) for device in one.devices)


def pools_of(node: NodeSpec, slices: Iterable[SliceSpec], by_pool: Mapping[PoolId, Mapping[str, SliceSpec]]) -> list[Pool]:
    """Return the pools with slices that matter on a node, in the order in which devices are taken from them.

    ``slices`` are those that may matter there, ``by_pool`` all there are. Those with devices that are bound with conditions come last.
    """
    newest: dict[PoolId, list[SliceSpec]] = {}
    for one in slices:
        if not relevant(node, one):
            continue
        known = newest.setdefault((one.driver, one.pool), [])
        if known and one.generation > known[0].generation:
            known.clear()
        if not known or one.generation == known[0].generation:
            known.append(one)
    found: list[tuple[bool, Pool]] = []
    for pool, known in newest.items():
        generation, count = known[0].generation, known[0].count
        every = by_pool.get(pool, {}).values()
        if len(known) != count and any(one.generation > generation for one in every):
            continue  # the driver is about to replace what is for this node
        rest = [one for one in every if one.generation == generation]
        if len(known) != count and len(rest) != count:
            found.append((False, Pool(pool, incomplete=True)))
            continue
        here = sorted(known, key=lambda one: one.name)
        names = {one.name for one in here}
        elsewhere = (
            [] if len(known) == count else sorted((one for one in rest if one.name not in names), key=lambda one: one.name)
        )
        made = _checked(pool, here, elsewhere)
        late = any(device.conditions for one in made.slices for device in one.devices)
        found.append((late, made))
    return [pool for _, pool in sorted(found, key=lambda one: (one[0], one[1].id))]


def _checked(pool: PoolId, here: list[SliceSpec], elsewhere: list[SliceSpec]) -> Pool:
    """Return a complete pool, if its slices do not contradict each other."""
    devices = [one for one in here if not one.counters]
    seen: set[str] = set()
    for one in devices:
        for device in one.devices:
            if device.name in seen:
                return Pool(pool, invalid=f"duplicate device name {device.name}")
            seen.add(device.name)
    counters: dict[tuple[str, str], Amount] = {}
    sets: set[str] = set()
    for one in here:
        for name, amounts in one.counters:
            if name in sets:
                return Pool(pool, invalid=f"duplicate counter set name {name}")
            sets.add(name)
            counters.update(((name, counter), value) for counter, value in amounts)
    for one in (*here, *elsewhere):
        for device in one.devices:
            for name, amounts in device.counters:
                if name not in sets:
                    return Pool(pool, invalid=f"counter set {name} not found")
                for counter, _ in amounts:
                    if (name, counter) not in counters:
                        return Pool(pool, invalid=f"counter {counter} not found in counter set {name}")
    return Pool(pool, tuple(devices), tuple(elsewhere), counters)
