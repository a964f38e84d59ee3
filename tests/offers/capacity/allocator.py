"""What one application does with one node (Hadoop's ``RegularContainerAllocator``).

Its keys are tried in order. A key wants its host, then the rack, then anywhere, each when the delay for the better place is over.
What does not fit may be held instead, if the application still lacks more than it holds; and what it holds elsewhere may be
swapped for room here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from offers.capacity.member import Member
from offers.nodes import Container, NodeManager
from offers.requests import ANY, Ask, Key
from treadle.core.rules.capacity.calculators import whole
from treadle.core.rules.capacity.context import DEFAULT
from treadle.core.rules.capacity.limits import Limits
from treadle.core.rules.locality import Level
from treadle.core.units.amounts import f32, minus, plus, quotient
from treadle.core.units.resources import Vector

if TYPE_CHECKING:
    from offers.capacity.world import CapacityWorld


class Outcome(Enum):
    """What came of one key, application or queue."""

    PLACED = "placed"
    HELD = "held"
    NEXT_KEY = "next key"
    TOO_FAR = "too far"
    NEXT_APPLICATION = "next application"
    QUEUE_FULL = "queue full"
    NOTHING = "nothing"


@dataclass(slots=True)
class Proposal:
    """What is to be placed or held, and what must be given up for it. ``level`` is where it is, whatever came of it."""

    outcome: Outcome = Outcome.NOTHING
    member: Member | None = None
    node: NodeManager | None = None
    key: Key | None = None
    demand: Vector = field(default_factory=list)
    level: Level = Level.NODE
    held: Container | None = None
    give_up: Container | None = None
    to_end: list[Container] = field(default_factory=list)
    within: bool = True

    def some(self, world: CapacityWorld) -> bool:
        """Whether something is to be placed or held."""
        return bool(self.demand) and world.context.calculator.positive(world.context.total, self.demand)


def try_application(
    world: CapacityWorld, member: Member, node: NodeManager, limits: Limits, held: Container | None, *, within: bool
) -> Proposal:
    """Offer a node to an application. ``within``: only requests for the node's partition, otherwise those for the default one."""
    if held is not None:
        found = _key(world, member, node, limits, held.key, held, within=within)
        return _proposal(found, member, node, held.key, held, within=within)
    calculator = world.context.calculator
    if not calculator.positive(world.context.of(node.partition), member.pending(node.partition if within else DEFAULT)):
        return Proposal(Outcome.NEXT_APPLICATION, member)
    for key in member.requests.in_order():
        found = _key(world, member, node, limits, key, None, within=within)
        if found.outcome is not Outcome.NEXT_KEY:
            return _proposal(found, member, node, key, None, within=within)
    return Proposal(Outcome.NEXT_APPLICATION, member)


@dataclass(slots=True)
class _Found:
    outcome: Outcome
    demand: Vector = field(default_factory=list)
    level: Level = Level.NODE
    give_up: Container | None = None
    to_end: list[Container] = field(default_factory=list)


def _proposal(found: _Found, member: Member, node: NodeManager, key: Key, held: Container | None, *, within: bool) -> Proposal:
    outcome = found.outcome
    if outcome in {Outcome.NEXT_KEY, Outcome.TOO_FAR}:
        outcome = Outcome.NOTHING
    level = found.level if found.demand else Level.NODE
    return Proposal(outcome, member, node, key, found.demand, level, held, found.give_up, found.to_end, within)


def _key(
    world: CapacityWorld, member: Member, node: NodeManager, limits: Limits, key: Key, held: Container | None, *, within: bool
) -> _Found:
    if held is None:
        refused = _look_first(world, member, node, limits, key, within=within)
        if refused is not None:
            return _Found(refused)
    elif member.asked(key) == 0:
        return _Found(Outcome.QUEUE_FULL, give_up=held)
    if member.avoids(node):
        return _Found(Outcome.NEXT_APPLICATION)
    member.chances[key] += 1
    found = _on_node(world, member, node, limits, key, held)
    if held is None and found.outcome is Outcome.NEXT_KEY:
        member.chances[key] -= 1
    if held is None and found.outcome in {Outcome.PLACED, Outcome.HELD}:
        if found.level is Level.NODE or (found.level is Level.RACK and world.settings.rack_full_reset):
            member.chances[key] = 0
        if node.partition == DEFAULT:
            member.missed[key] = 0
    return found


def _look_first(
    world: CapacityWorld, member: Member, node: NodeManager, limits: Limits, key: Key, *, within: bool
) -> Outcome | None:
    settings, ask = world.settings, member.requests.ask(key, ANY)
    if ask is None or ask.count <= 0:
        return Outcome.NEXT_KEY
    if not within and member.awaits_master and not settings.masters_share_partitions:
        return Outcome.NEXT_APPLICATION
    if ask.partition != (node.partition if within else DEFAULT):
        return Outcome.NEXT_KEY
    if not settings.look_further and not needs_more(world, member, key, ask.demand):
        return Outcome.NEXT_KEY
    held = member.reserved(node.partition) if settings.look_further else world.context.none()
    if not world.context.calculator.fits(ask.demand, plus(limits.headroom, held)):
        return Outcome.QUEUE_FULL
    missed = 0
    if ask.partition == DEFAULT:
        member.missed[key] += 1
        missed = member.missed[key]
    if not within and missed < len(world.nodes):
        return Outcome.NEXT_APPLICATION
    return None


def needs_more(world: CapacityWorld, member: Member, key: Key, demand: Sequence[int]) -> bool:
    """Whether an application lacks more containers than it holds nodes for; the longer large requests wait, the more nodes they may hold."""
    calculator, leaf = world.context.calculator, member.leaf
    holds = len(member.holds.get(key, {}))
    starving = 0
    if holds:
        size = calculator.ratio(demand, leaf.max_allocation)
        again = f32(f32(member.held_again[key]) / f32(holds))
        starving = whole(f32(again * f32(1.0 - min(size, leaf.allocation_factor))))
    return starving + member.asked(key) - holds > 0


def _on_node(world: CapacityWorld, member: Member, node: NodeManager, limits: Limits, key: Key, held: Container | None) -> _Found:
    requests = member.requests
    for place, level in ((node.name, Level.NODE), (node.rack, Level.RACK)):
        ask = requests.ask(key, place)
        if ask is None or ask.count <= 0:
            continue
        if level is Level.RACK and not requests.relaxed(key, place):
            return _Found(Outcome.NEXT_KEY)
        if _near_enough(world, member, node, key, level, held):
            found = _size(world, member, node, limits, key, ask, level, held)
            if found.demand:
                return found
    ask = requests.ask(key, ANY)
    if ask is None or ask.count <= 0 or not ask.relax:
        return _Found(Outcome.NEXT_KEY)
    if not _near_enough(world, member, node, key, Level.ANYWHERE, held):
        return _Found(Outcome.NEXT_APPLICATION)
    found = _size(world, member, node, limits, key, ask, Level.ANYWHERE, held)
    if found.outcome is Outcome.TOO_FAR:
        found.outcome = Outcome.NEXT_APPLICATION
    return found


def _near_enough(world: CapacityWorld, member: Member, node: NodeManager, key: Key, level: Level, held: Container | None) -> bool:
    """Whether the delay for better places is over (delay scheduling)."""
    nodes, settings, missed = len(world.nodes), world.settings, member.chances[key]
    if level is not Level.ANYWHERE and member.requests.count(key, node.rack) <= 0:
        return False
    if level is Level.NODE:
        return member.requests.count(key, node.name) > 0
    if level is Level.RACK:
        return min(nodes, settings.node_delay) < missed
    if held is not None:
        return True
    if not nodes:
        return False
    places = member.requests.distinct(key)
    if places == 1:
        return True
    if settings.rack_delay > -1:
        return missed > min(nodes, settings.node_delay + settings.rack_delay)
    wait = min(f32(quotient(f32(max(places - 1, 0)), f32(nodes))), 1.0)
    return min(float(nodes), f32(f32(member.asked(key)) * wait)) < f32(missed)


def _size(
    world: CapacityWorld,
    member: Member,
    node: NodeManager,
    limits: Limits,
    key: Key,
    ask: Ask,
    level: Level,
    held: Container | None,
) -> _Found:
    calculator, settings, demand = world.context.calculator, world.settings, list(ask.demand)
    if not calculator.fits(demand, node.total):
        return _Found(Outcome.TOO_FAR)
    needs = needs_more(world, member, key, demand)
    fit = calculator.containers(node.free, demand)
    lacking = calculator.larger(world.context.total, minus(demand, limits.headroom), limits.to_release)
    must_give_up = calculator.any_above_zero(lacking)
    give_up: Container | None = None
    to_end: list[Container] = []
    if fit == 0 and limits.may_end:
        room = list(node.free)
        for container in [one for one in node.order(node) if one in node.killable]:
            to_end.append(container)
            room = plus(room, container.demand)
            if calculator.fits(demand, room):
                fit = 1
                break
    if fit > 0:
        if held is None and settings.look_further and (not needs or must_give_up):
            give_up = _to_give_up(world, member, key, lacking if must_give_up else demand)
            if give_up is None:
                return _Found(Outcome.TOO_FAR)
        return _Found(Outcome.PLACED, demand, level, give_up, to_end)
    if (needs or held is not None) and not (settings.look_further and held is None and must_give_up):
        return _Found(Outcome.HELD, demand, level)
    return _Found(Outcome.TOO_FAR)


def _to_give_up(world: CapacityWorld, member: Member, key: Key, amount: Sequence[int]) -> Container | None:
    holds = member.holds.get(key, {})
    for node in world.orders.nodes(list(holds)):
        if world.context.calculator.fits(amount, holds[node].demand):
            return node.hold if node.name in world.nodes else None
    return None
