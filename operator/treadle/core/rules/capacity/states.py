"""Running, draining, stopped (Hadoop's ``QueueStateHelper``): a stopped queue takes no application in, a draining one is stopped when its last application leaves."""

from __future__ import annotations

from treadle.core.rules.capacity.queue import DRAINING, RUNNING, STOPPED, CapacityQueue
from treadle.core.rules.capacity.validation import Refused


def define(queue: CapacityQueue, wanted: str | None) -> None:
    """Take over the state of a definition; an unset one inherits at first and changes nothing later. Raises ``Refused``."""
    if wanted not in {None, RUNNING, STOPPED}:
        raise Refused("IllegalArgumentException", f"{queue.path}: state: {wanted} is not RUNNING or STOPPED")
    parent = queue.parent
    if not queue.state:
        if parent is None or parent.state == RUNNING:
            queue.state = wanted or RUNNING
        elif wanted == RUNNING:
            raise Refused(
                "IllegalArgumentException", f"{queue.path}: state: RUNNING is not possible, since {parent.path} is not running"
            )
        else:
            queue.state = STOPPED
        return
    if queue.state == RUNNING:
        if wanted == STOPPED:
            stop(queue)
    elif wanted == RUNNING:
        if parent is not None and parent.state != RUNNING:
            raise Refused("IllegalArgumentException", f"{queue.path}: state: {parent.path} is not running; start it first")
        queue.state = RUNNING


def stop(queue: CapacityQueue) -> None:
    """Stop a queue and all below it; those with applications drain."""
    queue.state = DRAINING if queue.applications > 0 else STOPPED
    for child in queue.children:
        stop(child)


def left(queue: CapacityQueue) -> None:
    """Stop a draining queue that has no application any more."""
    if queue.state == DRAINING and queue.applications == 0:
        queue.state = STOPPED
