"""Placements that are assumed and of which nothing is heard (YARN's ``ContainerAllocationExpirer``): the API server is asked.

YARN gives up a container that its application does not fetch in time. A bind has another owner, the API server, so its word is
needed: a pod that is bound stays counted, one that is not returns what was counted for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.effects import Bind, Verify
from treadle.core.pods import PodState

if TYPE_CHECKING:
    from collections.abc import Iterable

    from treadle.core.effects import Effect
    from treadle.core.state import State


def await_outcome(state: State, effects: Iterable[Effect]) -> None:
    """Remember the binds that a pass has made."""
    binds = [effect for effect in effects if isinstance(effect, Bind)]
    if binds:
        state.flights.append((state.now, binds))


def expired(state: State) -> list[Verify]:
    """Return the questions about binds that are overdue; they are asked again as long as there is no answer."""
    questions: list[Verify] = []
    now, flights = state.now, state.flights
    _land(state)
    while flights and now >= flights[0][0] + state.settings.expire_after:
        since, binds = flights.popleft()
        overdue = [bind for bind in binds if _awaited(state, bind, since)]
        if overdue:
            flights.append((now, overdue))
        for bind in overdue:
            state.tell(bind.uid, "overdue", bind.node)
            questions.append(Verify(bind.uid, bind.namespace, bind.name, bind.node, bind.cause))
    return questions


def next_expiry(state: State) -> float | None:
    """Return when the next bind is overdue, None if none is under way."""
    _land(state)
    return state.flights[0][0] + state.settings.expire_after if state.flights else None


def _land(state: State) -> None:
    """Forget the oldest binds as their outcomes are known."""
    flights = state.flights
    while flights and not any(_awaited(state, bind, flights[0][0]) for bind in flights[0][1]):
        flights.popleft()


def _awaited(state: State, bind: Bind, since: float) -> bool:
    """Whether a pod is still assumed by a bind of then, not by a later one."""
    record = state.pods.get(bind.uid)
    return record is not None and record.state is PodState.ASSUMED and record.since <= since
