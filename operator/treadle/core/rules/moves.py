"""Whether a running application may move to another leaf (Hadoop's ``FairScheduler.verifyMoveDoesNotViolateConstraints``).

Only queues that do not hold it already are asked: from the new leaf up to where the two branches meet.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from treadle.core.errors import InvalidSpec
from treadle.core.units.amounts import fits, plus
from treadle.core.units.resources import Vector


class MoveRefused(InvalidSpec):
    """The application stays where it is; the message says which queue has no room or which is not one."""


class Target(Protocol):
    """A queue that may take an application."""

    path: str
    running_below: int
    max_running: int
    usage: Vector
    maximum: Vector

    @property
    def parent(self) -> Target | None:
        """The queue above it, None for the root."""
        ...


def common_ancestor(one: str, other: str) -> str:
    """Return the path of the lowest queue that is an ancestor of both paths, or one of them: ``root.apple`` of ``root.apple.a`` and ``root.apple.b``."""
    parts = []
    for mine, theirs in zip(one.split("."), other.split("."), strict=False):
        if mine != theirs:
            break
        parts.append(mine)
    return ".".join(parts)


def check_move(source: str, target: Target, usage: Sequence[int], name: str = "the application") -> None:
    """Raise ``MoveRefused`` if a runnable application with this usage may not come from the path ``source`` to the leaf ``target``."""
    meeting = common_ancestor(source, target.path)
    queue: Target | None = target
    while queue is not None and queue.path != meeting:
        if queue.running_below == queue.max_running:
            raise MoveRefused(
                f"queue: {name} cannot move to {target.path}: {queue.path} has {queue.running_below} running applications, which is its limit"
            )
        if not fits(plus(queue.usage, usage), queue.maximum):
            raise MoveRefused(
                f"queue: {name} cannot move to {target.path}: with what it holds {queue.path} would be over its maximum"
            )
        queue = queue.parent
