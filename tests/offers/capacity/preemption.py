"""Preemption in the capacity driver: rounds of the policy, and what becomes of the victims (Hadoop's ``CapacityScheduler.markContainerForKillable``).

Lazy preemption only marks a container: it ends when a queue that is below its guarantee wants its room.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offers.capacity import accounts
from offers.effects import Cause, HoldTaken, Marked
from offers.nodes import Container, NodeManager
from treadle.core.rules.capacity.preemption.policy import Policy

if TYPE_CHECKING:
    from offers.capacity.world import CapacityWorld


class CapacityPreemptionDriver:
    """Rounds of preemption."""

    def __init__(self, world: CapacityWorld) -> None:
        self.world = world
        self.policy = Policy()

    def round(self) -> None:
        """Choose victims, warn them, and end those whose time is up."""
        world = self.world
        nodes = world.orders.nodes(list(world.nodes.values()))
        verdict = self.policy.round(world.tree.root, nodes, world.now, world.orders.leaves, self._move, world.orders.holds)
        world.effects += [HoldTaken(accounts.owner(hold).name, hold.node.name) for hold in verdict.holds]
        world.effects += [Marked(container, due=False) for container in verdict.warned]
        world.effects += [Marked(container, due=True) for container in verdict.due]
        for hold in verdict.holds:
            accounts.end(world, hold, Cause.ABORTED)
        for container in verdict.due:
            self.end_when_wanted(world, container)

    @staticmethod
    def _move(hold: Container, node: NodeManager) -> bool:
        """Move a hold to another node of its partition; it is moved once."""
        member, source = accounts.owner(hold), hold.node
        if hold.moved or node.partition != source.partition or node.hold is not None or source.hold is not hold:
            return False
        holds = member.holds.get(hold.key, {})
        if holds.pop(source, None) is None:
            return False
        source.hold, node.hold = None, hold
        holds[node] = hold
        hold.node, hold.moved = node, True
        return True

    @staticmethod
    def end_when_wanted(world: CapacityWorld, container: Container) -> None:
        """End a container, or let it end when its room is wanted."""
        if not world.settings.lazy_preemption:
            accounts.end(world, container, Cause.PREEMPTED)
            return
        member = accounts.owner(container)
        if container.ended or container not in member.containers:
            return
        container.node.killable[container] = None
        accounts.note_killable(member.leaf, container)
