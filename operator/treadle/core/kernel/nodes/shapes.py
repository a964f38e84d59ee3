"""Shapes: what the nodes can tell apart about pods. All pods with the same demand and constraints share one evaluation."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from treadle.core.kernel.between.kinds import Kinds
from treadle.core.kernel.between.rules import Between
from treadle.core.kernel.devices.registry import Devices
from treadle.core.kernel.nodes.near import Near
from treadle.core.kernel.tree.parked import Parked, Registry
from treadle.core.kernel.volumes.in_use import InUse
from treadle.core.kernel.volumes.storage import Storage
from treadle.core.model import Constraints
from treadle.core.model.devices import NO_DEVICES
from treadle.core.model.volumes import NO_NEEDS
from treadle.core.units.resources import CPU, MEMORY, Demand, ResourceTypes, Vector

if TYPE_CHECKING:
    from collections.abc import Collection

    from treadle.core.kernel.nodes.cells import Cells
    from treadle.core.kernel.nodes.orders import Candidates
    from treadle.core.kernel.nodes.table import Nodes

NO_GANG = ("", "")
ENOUGH = 256
"""Shapes up to which it is not asked whether they are in use: users can make up as many as they like, by pods that are all different."""


class Shape:
    """An interned pair of demand and constraints. ``parked`` are the asks that no node can take at present.

    ``asked`` are the constraints as they came. ``near`` are the nodes that such pods would like, None for those that do not care;
    the constraints are then only what is hard about nodes by themselves. ``between`` are the rules about the pods around it and about volumes,
    None for those without any; their orders of nodes are ``cells``, those of all others ``candidates``. ``storage`` is what the volumes come to, ``devices`` what
    the claims for devices do, ``prepared`` whether there is any of both; ``extra`` is what counts on nodes that have an extended resource themselves which
    a class of devices serves elsewhere. ``gang`` is the application and its gang with which such pods start together.
    """

    __slots__ = (
        "asked",
        "between",
        "candidates",
        "cells",
        "constraints",
        "cpu",
        "demand",
        "devices",
        "extra",
        "gang",
        "id",
        "memory",
        "named",
        "near",
        "parked",
        "ports",
        "prepared",
        "storage",
        "together",
    )

    def __init__(
        self,
        identity: int,
        named: tuple[tuple[str, int], ...],
        demand: Demand,
        constraints: Constraints,
        registry: Registry | None = None,
        between: Between | None = None,
    ) -> None:
        self.id = identity
        self.named = named
        self.demand = demand
        self.asked = constraints
        wish = constraints.wish
        self.near = Near(wish) if wish is not None else None
        self.between = between
        self.gang = constraints.gang or NO_GANG
        if (
            (wish is not None and wish.relax)
            or between is not None
            or constraints.storage is not None
            or constraints.devices is not None
            or constraints.gang is not None
        ):
            kept = None if wish is not None and wish.relax else wish
            constraints = replace(
                constraints,
                wish=kept,
                pods=None,
                avoided_by=(),
                placement=None,
                storage=None,
                devices=None,
                gang=None,
                together=None,
            )
        self.constraints = constraints
        self.ports = constraints.host_ports
        self.storage = self.asked.storage
        self.together: Shape | None = None
        """What it is where all of its gang go to nodes with one value of a label: itself if it must, None if that is not asked for."""
        self.devices = self.asked.devices
        self.prepared = self.storage is not None or self.devices is not None
        self.extra: Demand = ()
        amounts = dict(demand)
        self.memory = amounts.get(MEMORY, 0)
        self.cpu = amounts.get(CPU, 0)
        self.candidates: Candidates | None = None
        self.cells: Cells | None = None
        self.parked = Parked(self, Registry() if registry is None else registry)


class Shapes:
    """The shapes in use, by what they are."""

    def __init__(self, types: ResourceTypes, nodes: Nodes) -> None:
        self._types = types
        self._nodes = nodes
        self.kinds = Kinds()
        self.storage = Storage()
        self.in_use = InUse(self.storage)
        self.devices = Devices()
        self._between: dict[Constraints, Between] = {}
        self._known: dict[tuple[tuple[tuple[str, int], ...], Constraints], Shape] = {}
        self._next = 0
        self.waiting = Registry()
        self._largest: dict[tuple[int, ...], Vector] = {}
        self._largest_of = 0
        self._enough = ENOUGH
        self._within: dict[tuple[int, tuple[str, str] | None], Shape] = {}

    def within(self, shape: Shape, partition: tuple[str, str] | None) -> Shape:
        """Return what a shape is for nodes of one partition (a node label and its value); None: wherever they are."""
        found = self._within.get((shape.id, partition))
        if found is None:
            found = self.of(shape.named, replace(shape.asked, partition=partition))
            self._within[shape.id, partition] = found
        return found

    def of(self, named: tuple[tuple[str, int], ...], constraints: Constraints) -> Shape:
        """Return the one shape for a demand (named amounts) and constraints."""
        key = (named, constraints)
        shape = self._known.get(key)
        if shape is None:
            between = self._rules_between(constraints)
            shape = self._known[key] = Shape(self._next, named, self._types.demand(named), constraints, self.waiting, between)
            if shape.devices is not None and shape.devices.extended:
                shape.extra = self._types.demand(shape.devices.extended)
            self._next += 1
            together = constraints.together
            if together is not None:
                shape.together = shape if together[1] else self.of(named, replace(constraints, together=(together[0], True)))
        return shape

    def _rules_between(self, constraints: Constraints) -> Between | None:
        """Return the rules between pods, None where there are none; pods of different sizes share them."""
        if (
            constraints.pods is None
            and not constraints.avoided_by
            and constraints.placement is None
            and (constraints.together is None or not constraints.together[1])
            and constraints.storage in {None, NO_NEEDS}
            and constraints.devices in {None, NO_DEVICES}
        ):
            return None
        key = Constraints(
            constraints.selector,
            constraints.affinity,
            constraints.tolerations,
            pods=constraints.pods,
            avoided_by=constraints.avoided_by,
            placement=constraints.placement,
            storage=constraints.storage,
            gang=constraints.gang if constraints.together is not None and constraints.together[1] else None,
            together=constraints.together if constraints.together is not None and constraints.together[1] else None,
            devices=constraints.devices,
        )
        found = self._between.get(key)
        if found is None:
            found = self._between[key] = Between(key, self.kinds, self._nodes, self.storage, self.in_use, self.devices)
        return found

    def largest_within(self, maximum: Vector) -> Vector:
        """Return the most of each type that a pod of any shape demands, but for shapes that demand more of a type than a maximum allows at all."""
        if self._largest_of != self._next:
            self._largest_of = self._next
            self._largest.clear()
        key = tuple(maximum)
        found = self._largest.get(key)
        if found is None:
            found = self._largest[key] = [0] * len(maximum)
            for shape in self._known.values():
                if all(value <= maximum[at] for at, value in shape.demand):
                    for at, value in shape.demand:
                        found[at] = max(found[at], value)
        return found

    @property
    def crowded(self) -> bool:
        """Whether so many shapes have come up since the last look that it is time to see which are in use."""
        return len(self._known) > self._enough or self.kinds.crowded

    def prune(self, used: Collection[Shape]) -> None:
        """Forget the shapes that are not in use, and what pods were counted for them."""
        self._known = {key: shape for key, shape in self._known.items() if shape in used}
        kept = {shape.between for shape in self._known.values()}
        for key, between in list(self._between.items()):
            if between not in kept:
                between.close()
                del self._between[key]
        self.kinds.prune({tally for between in self._between.values() for tally in between.tallies})
        self._within.clear()
        self._enough = max(ENOUGH, 2 * len(self._known))

    def __len__(self) -> int:
        return len(self._known)

    def parked(self) -> list[Shape]:
        """Return the shapes that have parked asks."""
        return sorted(self.waiting.shapes, key=lambda shape: shape.id)
