"""The step of a pass that keeps plans: what was promised is put back first, then it is decided what is asked for now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.kernel.reservations.capacity import follow_queues, put_back
from treadle.core.kernel.reservations.deciding import decide, more

if TYPE_CHECKING:
    from treadle.core.effects import Effect
    from treadle.core.kernel.state import State


def keep(state: State) -> list[Effect]:
    """Bring all plans up to this moment, and return what is to be told."""
    follow_queues(state)
    put_back(state)
    return [*decide(state)]


def next_look(state: State) -> float | None:
    """Return when plans have something to do even if nothing happens, None if never."""
    return state.now if state.plans.undecided and more(state) else None
