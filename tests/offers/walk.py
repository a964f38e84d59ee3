"""The walk: a node is offered to the tree, and the first application in the order of the policies that can use it gets a container.

Hadoop's ``FSParentQueue``, ``FSLeafQueue`` and ``FSAppAttempt.assignContainer``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from offers.effects import Placed
from offers.holds import hold, let_go, may_hold
from offers.nodes import Container
from offers.requests import ANY, Ask, Key
from treadle.core.rules.fair.am_share import master_limit, may_start
from treadle.core.rules.fair.starvation import wants
from treadle.core.rules.locality import Level
from treadle.core.units.amounts import add_to, fits, plus
from treadle.core.units.java_orders import tree_order
from treadle.core.units.resources import Vector

if TYPE_CHECKING:
    from offers.attempt import Attempt
    from offers.nodes import NodeManager
    from offers.tree import OfferQueue
    from offers.world import World

HELD: Vector = [-1]
"""The outcome of an offer that ended in a hold."""


def assign(world: World, queue: OfferQueue, node: NodeManager) -> Vector:
    """Offer a node to a queue; returns the size of the container that was placed, ``HELD``, or an empty list for nothing."""
    if node.hold is not None or not fits(queue.usage, queue.maximum):
        return []
    compare = queue.policy.compare(world.cluster)
    if queue.parental:
        for child in tree_order(queue.below, compare):
            found = assign(world, child, node)
            if found:
                return found
        return []
    for attempt in tree_order([attempt for attempt in queue.runnable if wants(attempt)], compare):
        if not attempt.avoids(node):
            found = assign_attempt(world, attempt, node)
            if found:
                return found
    return []


def assign_attempt(world: World, attempt: Attempt, node: NodeManager) -> Vector:
    """Offer a node to an application that may be over its leaf's limit for masters."""
    return [] if master_waits(world, attempt) else _assign(world, attempt, node, None)


def assign_held(world: World, node: NodeManager) -> bool:
    """Offer a held node to whom it is held for; returns False if the hold was given up instead, so that the node is free for all."""
    held = node.hold
    assert held is not None
    attempt = held.owner
    if not possible(world, attempt, held.key, node) or master_waits(world, attempt):
        let_go(node)
        return False
    if fits(held.demand, node.free):
        _assign(world, attempt, node, held)
    return True


def master_waits(world: World, attempt: Attempt) -> bool:
    """Whether an application's master has yet to start and may not: it asks for none, or its leaf's masters would hold too much."""
    if attempt.master_running or not attempt.managed:
        return False
    ask = attempt.requests.first()
    if ask is None or ask.count <= 0:
        return True
    queue = attempt.queue
    return not may_start(queue.master_usage, ask.demand, masters_of(world, queue), queue.master_share)


def masters_of(world: World, queue: OfferQueue) -> Vector:
    """Return what masters of a leaf may hold now."""
    return master_limit(queue.fair_share, world.available, queue.maximum, queue.master_share)


def possible(world: World, attempt: Attempt, key: Key, node: NodeManager) -> bool:
    """Whether a container of a key could be on a node at all: something is asked that may be there, the node is large enough, and so are all maxima."""
    del world
    requests = attempt.requests
    anywhere = requests.ask(key, ANY)
    if anywhere is None or anywhere.count <= 0:
        return False
    rack, host = requests.count(key, node.rack) > 0, requests.count(key, node.name) > 0
    if not (requests.relaxed(key, ANY) or rack) or not (not rack or requests.relaxed(key, node.rack) or host):
        return False
    if not fits(anywhere.demand, node.total):
        return False
    queue: OfferQueue | None = attempt.queue
    while queue is not None:
        if not fits(plus(queue.usage, anywhere.demand), queue.maximum):
            return False
        queue = queue.parent
    return True


def _assign(world: World, attempt: Attempt, node: NodeManager, held: Container | None) -> Vector:
    """Try the keys in order, or the held one alone. The first that may use the node is decisive, whatever comes of it."""
    requests = attempt.requests
    for key in requests.in_order() if held is None else [held.key]:
        if held is None and not possible(world, attempt, key, node):
            continue
        attempt.locality.offered(key)
        host, rack = requests.ask(key, node.name), requests.ask(key, node.rack)
        allowed = _allowed(world, attempt, key)
        near = rack is not None and rack.count > 0
        if near and host is not None and host.count > 0:
            return _try(world, attempt, node, key, host, Level.NODE, held)
        if not requests.relaxed(key, node.rack):
            continue
        if near and allowed is not Level.NODE:
            assert rack is not None
            return _try(world, attempt, node, key, rack, Level.RACK, held)
        anywhere = requests.ask(key, ANY)
        if anywhere is None or not anywhere.relax:
            continue
        if anywhere.count > 0 and (requests.distinct(key) <= 1 or allowed is Level.ANYWHERE):
            return _try(world, attempt, node, key, anywhere, Level.ANYWHERE, held)
    return []


def _allowed(world: World, attempt: Attempt, key: Key) -> Level:
    settings = world.settings
    if settings.node_delay >= 0 and settings.rack_delay >= 0:
        return attempt.locality.by_time(key, world.now, settings.node_delay, settings.rack_delay)
    return attempt.locality.by_chances(key, len(world.nodes), settings.node_threshold, settings.rack_threshold)


def _try(world: World, attempt: Attempt, node: NodeManager, key: Key, ask: Ask, level: Level, held: Container | None) -> Vector:
    demand = ask.demand
    if fits(demand, node.free):
        place(world, attempt, node, key, demand if held is None else held.demand, level)
        if held is not None:
            let_go(node)
        if not attempt.master_running and attempt.managed:
            attempt.master_demand = list(demand)
            attempt.master_running = True
            add_to(attempt.queue.master_usage, demand)
        return list(demand) if any(demand) else []
    if may_hold(world, attempt, demand) and attempt not in node.promised and hold(world, attempt, node, key, demand, level):
        return HELD
    return []


def place(world: World, attempt: Attempt, node: NodeManager, key: Key, demand: Sequence[int], level: Level) -> Container:
    """Count a container everywhere: with the application, its queues, its requests and the node."""
    attempt.locality.placed(key, level)
    container = Container(attempt, node, key, list(demand), world.number())
    attempt.count += 1
    container.ordinal = attempt.count
    if attempt.awaits_master:
        container.master = attempt.master_seen = True
    attempt.containers[container] = None
    places = [node.name, node.rack, ANY]
    attempt.requests.give(key, places[level:])
    add_to(attempt.usage, container.demand)
    for queue in attempt.queue.chain:
        add_to(queue.usage, container.demand)
    node.put(container)
    world.effects.append(Placed(container))
    return container
