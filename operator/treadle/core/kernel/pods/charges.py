"""What a pod counts for in its application and the queues above it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application
    from treadle.core.units.resources import Demand


def charge(state: State, application: Application, demand: Demand) -> None:
    """Add a demand to the usage of an application and its queues."""
    if state.updates.demands is not None:
        state.updates.demands[application] = None
    for usage in application.ledgers:
        for position, value in demand:
            usage[position] += value
    if application.quota is not None:
        application.quota.touched[application.quota.user] = None
    state.dirty[application] = None


def discharge(state: State, application: Application, demand: Demand) -> None:
    """Return a demand; what waits for one of the queues' maxima is looked at again."""
    if state.updates.demands is not None:
        state.updates.demands[application] = None
    for usage in application.ledgers:
        for position, value in demand:
            usage[position] -= value
    if application.quota is not None:
        application.quota.touched[application.quota.user] = None
    for queue in application.chain:
        if queue.blocked:
            state.relieved[queue] = None
    state.dirty[application] = None
