"""Room for a whole gang: pods are asked to go for all of what its minimum lacks, or none is.

Pods of the gang are counted on nodes one after the other while it is looked, and those who would go for one count for nothing to the
next, so each passes all rules beside the others. For one gang at a time below a root: others would take each other's victims.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from treadle.core.kernel.attempt import tried
from treadle.core.kernel.preemption.holds import of_gang, place, release
from treadle.core.kernel.preemption.without import without

if TYPE_CHECKING:
    from treadle.core.effects import Evict
    from treadle.core.kernel.gangs.start import Lacking
    from treadle.core.kernel.preemption.search import Search, Victim
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application, Ask
    from treadle.core.rules.victims import Picked


def make_room_for_gang(search: Search, application: Application, gang: tuple[str, str], lacking: Lacking) -> list[Evict] | None:
    """Hold room for all pods that a gang lacks, and return whom to evict for it; None if there is no way."""
    state = search.state
    state.preemption.attempts += 1
    mine = of_gang(state, gang)
    if any(not hold.without_victims for hold in mine) or _others_are_helped(state, application, gang):
        return None
    search.unkeep(mine)
    for hold in mine:
        release(state, hold, "victims are looked for instead")
    found = _found(search, application, lacking)
    if found is None:
        search.keep(mine)
        for hold in mine:
            place(state, hold)
        return None
    evicts = [evict for ask, row, picked in found for evict in search.hold(ask, row, picked, gang)]
    state.preemption.chosen(len(evicts))
    return evicts


def _found(search: Search, application: Application, lacking: Lacking) -> list[tuple[Ask, int, Picked[Victim]]] | None:
    """Return a node for each pod, and who has to go from there; those count as on their way out."""
    state = search.state
    total = [0] * search.width
    for position, value in lacking.demand:
        total[position] = value
    if search.over_maximum(application, total):
        return None
    found: list[tuple[Ask, int, Picked[Victim]]] = []
    search.look_anew()
    with ExitStack() as gone, tried(state, application) as attempt:
        for ask, record in lacking.pods:
            if ask.shape.between is not None or ask.shape.ports:
                search.look_anew()  # what did not pass may, beside the others of the gang
            one = search.victims(ask, search.dense_of(ask.shape))
            if one is None:
                break
            row, picked = one
            search.leave(picked.victims)
            gone.enter_context(without(state, [victim.record for victim in picked.victims]))
            attempt.place(ask, record, row)
            found.append((ask, row, picked))
    search.look_anew()
    if len(found) == sum(count for _, count in lacking.share):
        return found
    for _, _, picked in reversed(found):
        search.stay(picked.victims)
    return None


def _others_are_helped(state: State, application: Application, gang: tuple[str, str]) -> bool:
    root = application.chain[-1]
    return any(
        hold.gang[1]
        and hold.gang != gang
        and not hold.without_victims
        and hold.application.queue is not None
        and hold.application.chain[-1] is root
        for hold in state.preemption.holds
    )
