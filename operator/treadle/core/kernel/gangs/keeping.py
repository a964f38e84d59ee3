"""Nodes that are kept for a gang which is owed room and never finds enough of it at once: small pods would take every gap.

For one gang at a time in each partition, the first in order of those that have waited for a while: what is kept is idle meanwhile, and gangs
that kept a part each would wait for each other. Others fill what is not kept, as jobs behind the first do in EASY backfilling.
The nodes that lack least are kept (``rooms``); nobody is asked to go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.kernel.admission_checks import asks_of
from treadle.core.kernel.cycle import NO_NODE
from treadle.core.kernel.gangs.rooms import rooms
from treadle.core.kernel.gangs.start import lacks
from treadle.core.kernel.preemption.holds import PATIENCE, place
from treadle.core.kernel.preemption.memory import Hold
from treadle.core.kernel.tree.limits import exceeded
from treadle.core.model import Wait

if TYPE_CHECKING:
    from treadle.core.kernel.gangs.memory import Gang
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application, Queue

INTERVAL = 3.0
"""Seconds between two looks."""


def next_run(state: State) -> float | None:
    """Return when to look for a gang to keep nodes for, None while none waits for room or none may have any kept."""
    if not state.gangs.stuck or state.scheduler.gangs.hold_timeout <= 0:
        return None
    return state.gangs.looked + INTERVAL


def keep_for_gangs(state: State) -> None:
    """Keep nodes for the first gang of each partition that has waited long enough and is owed room."""
    gangs = state.gangs
    gangs.looked = state.now
    gangs.left_alone = {gang: until for gang, until in gangs.left_alone.items() if until > state.now}
    waiting = _that_wait(state)
    taken = {hold.application.chain[-1] for hold in state.preemption.holds if hold.gang[1] and hold.application.queue is not None}
    by_root: dict[Queue, dict[Application, Gang]] = {}
    for gang, application in waiting.items():
        root = application.chain[-1]
        patient = state.now >= gangs.stuck[gang] + PATIENCE and gang not in gangs.left_alone
        if patient and root not in taken and state.discipline.owed(application):
            by_root.setdefault(root, {}).setdefault(application, gang)
    for root, found in by_root.items():
        for application in root.in_order(found):
            if _keep(state, application, found[application]):
                break


def _that_wait(state: State) -> dict[Gang, Application]:
    """Return the gangs that wait for room, with the part of the application where they do; others are stuck no longer."""
    found: dict[Gang, Application] = {}
    for gang in list(state.gangs.stuck):
        application = state.applications.get(gang[0])
        for part in application.everywhere() if application is not None else ():
            waits = [ask for ask in asks_of(part, gang) if ask.wait is not None and ask.wait.reason == NO_NODE]
            if waits and part.queue is not None:
                found[gang] = part
        if gang not in found:
            del state.gangs.stuck[gang]
    return found


def _keep(state: State, application: Application, gang: Gang) -> bool:
    """Keep nodes for all that a gang lacks; returns whether they are."""
    lacking = lacks(state, application, gang)
    if isinstance(lacking, Wait) or exceeded(application.limiting, lacking.demand) is not None:
        return False
    quota = application.quota
    if quota is not None and quota.exceeded():
        return False
    found = rooms(state, application, lacking)
    if found is None:
        return False
    until = state.now + state.scheduler.gangs.hold_timeout
    for ask, row in found:
        hold = Hold(application, ask.shape, ask.key, row, set(), state.now, until, without_victims=True, gang=gang)
        hold.counted = state.discipline.charges_holds
        place(state, hold)
    return True
