"""Holds: a node kept for a request that does not fit yet (what YARN calls a reservation on a node; ``FSAppAttempt.reserve``).

One node is held for at most one request, and while it is nobody else gets anything there. Only a starved application may hold,
only for a request that is large enough, and only a part of the nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING

from offers.nodes import Container
from offers.requests import Key
from treadle.core.rules.fair.starvation import is_starved
from treadle.core.rules.locality import Level
from treadle.core.units.amounts import f32

if TYPE_CHECKING:
    from offers.attempt import Attempt
    from offers.nodes import NodeManager
    from offers.world import World


def may_hold(world: World, attempt: Attempt, demand: Sequence[int]) -> bool:
    """Whether an application may hold a node for a request of this size."""
    policy = attempt.queue.policy
    if not is_starved(policy, world.cluster, attempt):
        return False
    by = f32(world.settings.reservation_multiple)
    step = world.settings.increment
    threshold = [int(step.get(name, 0) * by) for name in world.types.names]
    return policy.weigh(world.cluster, demand, threshold) >= 0


def hold(world: World, attempt: Attempt, node: NodeManager, key: Key, demand: Sequence[int], level: Level) -> bool:
    """Hold a node, or keep on holding it, for a request; returns whether it is held."""
    if node.hold is not None and node.hold.owner is not attempt:
        return False
    if level is not Level.NODE:
        rack = node.rack if level is Level.RACK else None
        nodes = len(world.nodes) if rack is None else len(world.racks.get(node.rack, ()))
        if attempt.holds_in(rack) >= ceil(f32(f32(nodes) * f32(world.settings.reservable_nodes))):
            return False
    if node.hold is None:
        node.hold = Container(attempt, node, key, demand, world.number())
        attempt.holds[node] = node.hold
    return True


def let_go(node: NodeManager) -> None:
    """End the hold on a node."""
    if node.hold is not None:
        node.hold.owner.holds.pop(node, None)
        node.hold = None
