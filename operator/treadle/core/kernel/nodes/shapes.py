"""Shapes: what the nodes can tell apart about pods. All pods with the same demand and constraints share one evaluation."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from treadle.core.kernel.between.kinds import Kinds
from treadle.core.kernel.between.rules import Between
from treadle.core.kernel.devices.registry import Devices
from treadle.core.kernel.nodes.near import Near
from treadle.core.kernel.nodes.preferences import Preferences
from treadle.core.kernel.nodes.rules.taints import tolerated
from treadle.core.kernel.tree.parked import Parked, Registry
from treadle.core.kernel.volumes.in_use import InUse
from treadle.core.kernel.volumes.storage import Storage
from treadle.core.model import Constraints
from treadle.core.model.devices import NO_DEVICES
from treadle.core.model.volumes import NO_NEEDS
from treadle.core.units.resources import CPU, MEMORY, Demand, ResourceTypes, Vector

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from treadle.core.kernel.nodes.cells import Cells
    from treadle.core.kernel.nodes.orders import Candidates
    from treadle.core.kernel.nodes.table import Nodes
    from treadle.core.model import PodRules
    from treadle.core.model.devices import DeviceNeeds

Alike = tuple[tuple[tuple[str, int], ...], Constraints]
"""A demand by name, and constraints about nodes by themselves."""
NO_GANG = ("", "")
ENOUGH = 256
"""Shapes up to which it is not asked whether they are in use: users can make up as many as they like, by pods that are all different."""


class Shape:
    """An interned pair of demand and constraints. ``parked`` are the asks that no node can take at present.

    ``asked`` are the constraints as they came. ``near`` are the nodes that such pods would like, None for those that do not care;
    the constraints are then only what is hard about nodes by themselves. ``between`` are the rules about the pods around it and about volumes,
    None for those without any; ``preferences`` is what they would like beside that, which is weighed anew for each pod, None where nothing is. Their orders of
    nodes are ``cells``, those of all others ``candidates``. ``storage`` is what the volumes come to, ``devices`` what
    the claims for devices do, ``prepared`` whether there is any of both; ``extra`` is what counts on nodes that have an extended resource themselves which
    a class of devices serves elsewhere. ``charged`` is what such a pod counts for in its queues, the demand itself but for pods with devices that count there, and
    ``once`` what of that counts once for all pods of the shape, since they share it (``shared``: by claim). ``gang`` is the application and its gang with which such pods start together.
    """

    __slots__ = (
        "asked",
        "between",
        "candidates",
        "cells",
        "charged",
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
        "once",
        "parked",
        "ports",
        "preferences",
        "prepared",
        "shared",
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
        preferences: Preferences | None = None,
    ) -> None:
        self.id = identity
        self.named = named
        self.demand = demand
        self.asked = constraints
        wish = constraints.wish
        weighed = preferences is not None and wish is not None and not (wish.nodes or wish.racks)
        self.near = Near(wish) if wish is not None and not weighed else None
        self.preferences = preferences
        self.between = between
        self.gang = constraints.gang or NO_GANG
        self.constraints = constraints = about_nodes(constraints)
        self.ports = constraints.host_ports
        self.storage = self.asked.storage
        self.together: Shape | None = None
        """What it is where all of its gang go to nodes with one value of a label: itself if it must, None if that is not asked for."""
        self.devices = self.asked.devices
        self.prepared = self.storage is not None or self.devices is not None
        self.extra: Demand = ()
        self.charged: Demand = demand
        self.once: Demand = ()
        self.shared: dict[str, Demand] = {}
        amounts = dict(demand)
        self.memory = amounts.get(MEMORY, 0)
        self.cpu = amounts.get(CPU, 0)
        self.candidates: Candidates | None = None
        self.cells: Cells | None = None
        self.parked = Parked(self, Registry() if registry is None else registry)

    def weigh(self, preferences: Preferences | None) -> None:
        """Prefer something else from now on."""
        self.preferences = preferences
        self.candidates = self.cells = None
        wish = self.asked.wish
        weighed = preferences is not None and wish is not None and not (wish.nodes or wish.racks)
        if weighed or wish is None:
            self.near = None
        elif self.near is None:
            self.near = Near(wish)

    def hold_off(self, names: tuple[str, ...]) -> None:
        """Let such pods go to none of these nodes for now, and to all others that suit."""
        if self.constraints.held_off != names:
            self.constraints = replace(self.constraints, held_off=names)
            self.candidates = self.cells = None


def about_nodes(constraints: Constraints) -> Constraints:
    """Return what of some constraints is hard, and about nodes by themselves."""
    wish = constraints.wish
    if (
        (wish is not None and wish.relax)
        or constraints.pods is not None
        or constraints.avoided_by
        or constraints.placement is not None
        or constraints.storage is not None
        or constraints.devices is not None
        or constraints.gang is not None
        or constraints.together is not None
        or constraints.batch is not None
        or constraints.liked_by
        or constraints.images
    ):
        kept = None if wish is not None and wish.relax else wish
        return replace(
            constraints,
            wish=kept,
            pods=None,
            avoided_by=(),
            liked_by=(),
            images=(),
            placement=None,
            storage=None,
            devices=None,
            gang=None,
            together=None,
            batch=None,
        )
    return constraints


def demanded(rules: PodRules | None) -> PodRules | None:
    """Return rules without what is only preferred, None where that is all."""
    if rules is None or not rules.hard:
        return None
    return replace(rules, preferred=(), preferred_spread=()) if rules.preferred or rules.preferred_spread else rules


def _summed(amounts: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    total: dict[str, int] = {}
    for name, amount in amounts:
        total[name] = total.get(name, 0) + amount
    return list(total.items())


def alike(named: tuple[tuple[str, int], ...], constraints: Constraints) -> Alike:
    """Return what pods have in common that a node refuses alike, wherever they wait."""
    return named, replace(about_nodes(constraints), partition=None, volumes=None, claims=None, held_off=(), problem="")


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
        self._preferences: dict[Constraints, Preferences] = {}
        self.weighed = 0
        """How often weights and kinds of taints had changed when preferences were last looked at."""
        self._known: dict[tuple[tuple[tuple[str, int], ...], Constraints], Shape] = {}
        self._next = 0
        self.waiting = Registry()
        self._largest: dict[tuple[int, ...], Vector] = {}
        self._largest_of = 0
        self._enough = ENOUGH
        self._within: dict[tuple[int, tuple[str, str] | None], Shape] = {}
        self._held_off: dict[Alike, tuple[str, ...]] = {}

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
            shape = self._known[key] = Shape(
                self._next,
                named,
                self._types.demand(named),
                constraints,
                self.waiting,
                self._rules_between(constraints),
                self._preferences_of(constraints),
            )
            if shape.devices is not None:
                self._count_devices(shape, shape.devices)
            self._next += 1
            if self._held_off:
                shape.hold_off(self._held_off.get(alike(named, constraints), ()))
            together = constraints.together
            if together is not None:
                shape.together = shape if together[1] else self.of(named, replace(constraints, together=(together[0], True)))
        return shape

    def _count_devices(self, shape: Shape, devices: DeviceNeeds) -> None:
        """Let a shape count for its devices, on nodes and in queues."""
        shape.extra = self._types.demand(devices.extended)
        shared = [count for _, counts in devices.shared for count in counts]
        if devices.charged or shared:
            shape.shared = {key: self._types.demand(counts) for key, counts in devices.shared}
            shape.once = self._types.demand(_summed(shared))
            shape.charged = self._types.demand(_summed([*shape.named, *devices.charged, *shared]))

    def hold_off(self, kind: Alike, names: tuple[str, ...]) -> None:
        """Let pods that are alike go to none of these nodes for now, and to all others that suit."""
        if names:
            self._held_off[kind] = names
        else:
            self._held_off.pop(kind, None)
        for shape in self._known.values():
            if shape.named == kind[0] and alike(shape.named, shape.asked) == kind:
                shape.hold_off(names)

    def _rules_between(self, constraints: Constraints) -> Between | None:
        """Return the rules between pods, None where there are none; pods of different sizes share them."""
        if (
            (constraints.pods is None or not constraints.pods.hard)
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
            pods=demanded(constraints.pods),
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

    def _preferences_of(self, constraints: Constraints) -> Preferences | None:
        """Return what is preferred, None for nothing; where nodes have taints that keep pods off if others will do, all have preferences that do not tolerate them."""
        rules, wish = constraints.pods, constraints.wish
        soft = rules is not None and (rules.preferred or rules.preferred_spread)
        if not (soft or constraints.liked_by or constraints.images or self._dislikes(constraints)):
            return None
        key = Constraints(
            constraints.selector,
            constraints.affinity,
            constraints.tolerations,
            wish=wish,
            pods=rules,
            liked_by=constraints.liked_by,
            images=constraints.images,
        )
        found = self._preferences.get(key)
        if found is None:
            found = self._preferences[key] = Preferences(key, self.kinds, self._nodes)
        return found

    def _dislikes(self, constraints: Constraints) -> bool:
        nodes = self._nodes
        return bool(nodes.weights.taints) and any(not tolerated(taint, constraints.tolerations) for taint in nodes.disliked)

    def weigh_anew(self) -> None:
        """Look again at what pods prefer: weights have changed, or which taints there are."""
        self.weighed = self._nodes.weighed
        before, self._preferences = self._preferences, {}
        for shape in self._known.values():
            shape.weigh(self._preferences_of(shape.asked))
        for preferences in before.values():
            preferences.close()

    def largest_within(self, maximum: Vector) -> Vector:
        """Return the most of each type that a pod of any shape counts for, but for shapes that count for more of a type than a maximum allows at all."""
        if self._largest_of != self._next:
            self._largest_of = self._next
            self._largest.clear()
        key = tuple(maximum)
        found = self._largest.get(key)
        if found is None:
            found = self._largest[key] = [0] * len(maximum)
            for shape in self._known.values():
                if all(value <= maximum[at] for at, value in shape.charged):
                    for at, value in shape.charged:
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
        weighed = {shape.preferences for shape in self._known.values()}
        for key, preferences in list(self._preferences.items()):
            if preferences not in weighed:
                preferences.close()
                del self._preferences[key]
        looked_at: list[Between | Preferences] = [*self._between.values(), *self._preferences.values()]
        self.kinds.prune({tally for each in looked_at for tally in each.tallies})
        self._within.clear()
        self._enough = max(ENOUGH, 2 * len(self._known))

    def __len__(self) -> int:
        return len(self._known)

    def parked(self) -> list[Shape]:
        """Return the shapes that have parked asks."""
        return sorted(self.waiting.shapes, key=lambda shape: shape.id)
