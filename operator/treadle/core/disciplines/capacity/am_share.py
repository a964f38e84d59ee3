"""The limits on masters under the capacity discipline, live: of a leaf and of one user in it (``AbstractLeafQueue.activateApplications``).

The pods with role master count while they are on nodes, as in the fair discipline; YARN charges a master when its application
starts. As there, one master may always start where no other one is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.disciplines.capacity.quota import quota_of
from treadle.core.kernel.tree.order import unpark
from treadle.core.rules.capacity.am_share import limit_of_leaf, limit_of_user
from treadle.core.rules.capacity.limits import tell_room

if TYPE_CHECKING:
    from treadle.core.kernel.tree.members import Ask, Queue
    from treadle.core.units.resources import Vector


class CapacityMasters:
    """See ``kernel.seam.Masters``."""

    def may_start(self, ask: Ask) -> bool:
        """Whether a master breaks neither the limit of its leaf nor that of its user."""
        return short_of(ask) is None

    def wake(self, leaf: Queue) -> None:
        """Let those compete that break no limit."""
        for ask in list(leaf.masters_blocked):
            if short_of(ask) is None:
                unpark(ask)


def short_of(ask: Ask) -> tuple[str, int, int, int] | None:
    """Return whose limit a master would break ("queue" or "user"), of which type, what is held of it and the limit; None if it may start."""
    quota = quota_of(ask.application)
    assert quota is not None
    leaf, partition, queue = quota.leaf, quota.partition, ask.application.chain[0]
    if not any(queue.master_usage):
        return None
    tell_room(leaf)
    counted = leaf.context.calculator.deciding
    limits: tuple[tuple[str, Vector, Vector], ...] = (
        ("queue", queue.master_usage, limit_of_leaf(leaf, partition)),
        ("user", quota.masters, limit_of_user(leaf, partition, quota.user.name)),
    )
    for whose, held, limit in limits:
        for at, value in ask.shape.charged:
            if at in counted and held[at] + value > limit[at]:
                return whose, at, held[at], limit[at]
    return None
