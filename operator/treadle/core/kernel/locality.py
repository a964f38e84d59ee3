"""Asks that wait for places that their pods would like: until when, and when they look again.

How long that may be is the discipline's.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

from treadle.core.kernel.admission_checks import requeue
from treadle.core.model import Wait

if TYPE_CHECKING:
    from collections.abc import Collection

    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Ask

WAITING = "WaitingForLocality"
MOST_KEYS = 256
"""Keys up to which an application is not looked through for those that it does not ask for any more: its pods may all be different."""
_A_MOMENT = 0.001
"""Seconds past the end of a delay at which it is certainly over."""


def wait_until(state: State, ask: Ask, until: float, what: str, words: str) -> Wait:
    """See to it that an ask is looked at again when its delay is over, and return why it waits."""
    until += _A_MOMENT
    state.locality.until[ask] = until
    heappush(state.locality.timers, (until, state.number(), ask))
    return Wait(WAITING, what, words)


def wake(state: State) -> None:
    """Let those look again whose delay is over, or for whose wish a node has got room since."""
    while state.locality.timers and (
        state.locality.timers[0][0] <= state.now
        or state.locality.until.get(state.locality.timers[0][2]) != state.locality.timers[0][0]
    ):
        until, _, ask = heappop(state.locality.timers)
        if state.locality.until.get(ask) == until:
            _look_again(state, ask)
    log = state.nodes.improved
    news = log.since(state.locality.seen)
    state.locality.seen = log.end
    if news is None or news:
        improved = None if news is None else set(news)
        for ask in list(state.locality.until):
            near = ask.shape.near
            if near is not None and not (
                improved is not None
                and near.edits == state.nodes.edited.end
                and improved.isdisjoint(near.preferred.tolist())
                and improved.isdisjoint(near.rack_local.tolist())
            ):
                _look_again(state, ask)


def _look_again(state: State, ask: Ask) -> None:
    del state.locality.until[ask]
    if ask.wait is not None and ask.wait.reason == WAITING:
        requeue(state, ask)


def forget_others(known: dict[Any, Any], keys: Collection[Any]) -> None:
    """Forget what is known of keys that an application does not ask for any more."""
    for key in [key for key in known if key not in keys]:
        del known[key]
