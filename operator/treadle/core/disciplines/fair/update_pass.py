"""The pass of ``FairScheduler.update`` for what decides by its results: the limit on masters, weights by size, preemption, and orders by demand."""

from __future__ import annotations

from math import log, log1p
from typing import TYPE_CHECKING

from treadle.core.disciplines.fair.update import update_instant_shares
from treadle.core.kernel.am_share import masters_wait
from treadle.core.kernel.tree.demand import demand_changed, forget_demands, update_demand
from treadle.core.kernel.tree.order import rekey_all
from treadle.core.units.amounts import f32
from treadle.core.units.resources import MEMORY

if TYPE_CHECKING:
    from collections.abc import Iterable

    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application

MIB = 1 << 20


def sync_demands(state: State) -> None:
    """Bring demands up to date where the order depends on them: those that changed, or all after limits have changed."""
    if state.updates.demands is None:
        return
    if state.updates.demands_stale:
        state.updates.demands_stale = False
        state.widen()
        update_demand(state.tree.root, state.types.width)
        rekey_all(state)
    else:
        for application in state.updates.demands:
            if demand_changed(application):
                state.dirty[application] = None
    state.updates.demands.clear()


def pass_due(state: State) -> bool:
    """Whether the shares that decisions go by are older than an update interval."""
    return state.now >= state.updates.demands_at + state.settings.update_interval


def update_pass(state: State) -> None:
    """Recompute demands, weights that follow them, and the instantaneous fair shares; let those look again who wait for a share.

    It is made at most once an update interval, and only while something needs it.
    """
    state.widen()
    state.updates.demands_at, state.updates.demands_cause = state.now, state.cause
    update_demand(state.tree.root, state.types.width)
    forget_demands(state)
    weigh(state, state.applications.values())
    update_instant_shares(state.tree.root, state.cluster)
    state.masters_relieved.update(state.masters_waiting)


def wanted(state: State) -> bool:
    """Whether masters wait for a share, or applications weigh by their size while pods wait and something happened."""
    sized = state.scheduler.fair.size_based_weight
    return masters_wait(state) or bool(sized and state.waiting and state.updates.demands_cause != state.cause)


def weigh(state: State, applications: Iterable[Application]) -> None:
    """Give applications their weights: 1, or by the memory that they demand (``sizebasedweight``); demands are current."""
    sized = state.scheduler.fair.size_based_weight
    for application in applications:
        weight = f32(log1p(application.demand[MEMORY] / MIB) / log(2)) if sized else 1.0
        if weight != application.weight:
            application.weight = weight
            state.dirty[application] = None
