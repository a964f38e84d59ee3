"""Room that is held for a whole gang: it starts when all of it has come, or the room is given up.

A gang that begins is placed by the rules like any other, on the rooms that were held for it or on better ones. Of what has come
before the rest nothing is used: half a gang in its place would keep others out and do no work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.kernel.admission_checks import asks_of
from treadle.core.kernel.gangs.domains import room_for
from treadle.core.kernel.gangs.start import lacks, start
from treadle.core.kernel.preemption.holds import admitted, place, release
from treadle.core.model import Wait

if TYPE_CHECKING:
    from treadle.core.effects import Placed
    from treadle.core.kernel.gangs.memory import Gang
    from treadle.core.kernel.preemption.memory import Hold
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Ask


OTHERS_LACK = "the gang lacks other pods by now"


def serve_gangs(state: State, budget: int) -> list[Placed]:
    """Return the placements of the gangs whose room has come, and end the holds of those that need them no more or have waited for too long."""
    held: dict[Gang, list[Hold]] = {}
    for hold in state.preemption.holds:
        if hold.gang[1]:
            held.setdefault(hold.gang, []).append(hold)
    effects: list[Placed] = []
    for gang, holds in held.items():
        if state.nodes.only >= 0:
            continue
        asks = [ask for ask in asks_of(holds[0].application, gang) if ask.pods]
        why = _over(state, gang, holds, asks)
        if why:
            give_up(state, holds, why)
            if why == OTHERS_LACK:
                del state.gangs.left_alone[gang]  # it may be had at once
        elif len(effects) < budget:
            effects += _tried(state, gang, holds, asks[0])
    if effects:
        state.decided(effects)
    return effects


def give_up(state: State, holds: list[Hold], why: str) -> None:
    """End all holds for a gang; for as long as they were kept in vain none is kept again."""
    gang = holds[0].gang
    for hold in holds:
        release(state, hold, why)
    state.gangs.left_alone[gang] = state.now + (state.now - holds[0].placed_at)
    state.gangs.tried.pop(gang, None)


def _over(state: State, gang: Gang, holds: list[Hold], asks: list[Ask]) -> str:
    """Return why room need not, or cannot, be held any longer for a gang; empty if it can."""
    application = holds[0].application
    if not asks or gang in state.gangs.complete or application.queue is None:
        return "the gang does not wait for it"
    if any(hold.counted != state.discipline.charges_holds for hold in holds if hold.without_victims):
        return "nothing is kept by this discipline's rules any more"
    lacking = lacks(state, application, gang)
    if isinstance(lacking, Wait) or sum(count for _, count in lacking.share) != len(holds):
        return OTHERS_LACK
    if state.now >= holds[0].until:
        return "its time is up"
    if not all(admitted(state, hold) for hold in holds):
        return "a node admits its pod no longer"
    return ""


def _tried(state: State, gang: Gang, holds: list[Hold], ask: Ask) -> list[Placed]:
    """Start a gang on what is held for it, if enough of that may have come."""
    free, log = state.nodes.free, state.nodes.improved
    missing = [hold for hold in holds if any(free[hold.row][position] < 0 for position, _ in hold.shape.demand)]
    if missing and (state.gangs.tried.get(gang) == log.end or room_for(state, missing[0].shape) < len(missing)):
        return []
    if any(uid in state.pods for hold in missing for uid in hold.victims):
        return []  # those who go make room for it
    for hold in holds:
        release(state, hold, "fulfilled")
    outcome = start(state, ask, () if missing else holds)
    if outcome.placed:
        state.gangs.tried.pop(gang, None)
        return outcome.placed
    if not missing:
        state.gangs.left_alone[gang] = state.now + (state.now - holds[0].placed_at)
        return []
    for hold in holds:
        place(state, hold)
    state.gangs.tried[gang] = log.end
    return []
