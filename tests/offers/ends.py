"""The ends of containers and what they free."""

from __future__ import annotations

from typing import TYPE_CHECKING

from offers.effects import Cause, Ended
from treadle.core.units.amounts import take_from

if TYPE_CHECKING:
    from offers.nodes import Container
    from offers.world import World


def end(world: World, container: Container, cause: Cause) -> None:
    """Take a container away from its application; its node keeps the room until it reports, if it was launched. Nothing happens the second time."""
    attempt = container.owner
    if container.ended or attempt.gone:
        return
    container.ended = True
    attempt.containers.pop(container, None)
    take_from(attempt.usage, container.demand)
    for queue in attempt.queue.chain:
        take_from(queue.usage, container.demand)
    if container in attempt.marked:
        attempt.marked.remove(container)
        take_from(attempt.going, container.demand)
    container.node.release(container, by_node=False)
    container.node.reported.append(container)
    world.effects.append(Ended(container, cause))
    world.look()
