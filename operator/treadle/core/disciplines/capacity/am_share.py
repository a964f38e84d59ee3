"""The limits on masters under the capacity discipline, live: of a leaf and of one user in it (``AbstractLeafQueue.activateApplications``).

The pods with role master count while they are on nodes, as in the fair discipline; YARN charges a master when its application starts. As there,
one master may always start where no other one is.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from treadle.core.rules.capacity.am_share import limit_of_leaf, limit_of_user
from treadle.core.rules.capacity.limits import Limits, of_child, take_limit

if TYPE_CHECKING:
    from treadle.core.kernel.tree.application import Ask
    from treadle.core.rules.capacity.queue import CapacityQueue
    from treadle.core.units.resources import Vector


def short_of(ask: Ask) -> tuple[str, int, int, int] | None:
    """Return whose limit a master would break ("queue" or "user"), of which type, what is held of it and the limit; None if it may start."""
    account = ask.application.account
    assert account is not None
    leaf, partition, queue = account.leaf, account.partition, ask.application.chain[0]
    if not any(queue.master_usage):
        return None
    tell_room(leaf)
    counted = leaf.context.calculator.deciding
    limits: tuple[tuple[str, Vector, Vector], ...] = (
        ("queue", queue.master_usage, limit_of_leaf(leaf, partition)),
        ("user", account.masters, limit_of_user(leaf, partition, account.user.name)),
    )
    for whose, held, limit in limits:
        for at, value in ask.shape.demand:
            if at in counted and held[at] + value > limit[at]:
                return whose, at, held[at], limit[at]
    return None


def tell_room(leaf: CapacityQueue) -> None:
    """Let a leaf know what those above it leave to it now; limits on masters are parts of that."""
    chain = list(leaf.chain)[::-1]
    limits = Limits(leaf.context.total)
    for above, below in pairwise(chain):
        limits = of_child(above, below, limits, "", net=False)
    take_limit(leaf, limits)
    leaf.told_limit = leaf.limit
