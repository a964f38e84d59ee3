"""Delay scheduling, live: how long an ask waits for places that its pods would like before it takes others.

The rules and times of Hadoop's ``FSAppAttempt`` (``rules.locality``) with the delays of ``fair.localityDelayNode`` and
``localityDelayRack``: first only the nodes that are liked, after the one delay also their racks, after the other any node. Without
delays what is liked is just taken first. Nobody waits for places that no known node is. Under the capacity discipline offers that
were missed take the place of times (``disciplines.capacity.locality``).
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, NamedTuple

from treadle.core.disciplines.capacity.locality import MOST_KEYS, forget_others, near_enough
from treadle.core.kernel.admission_checks import compete
from treadle.core.kernel.nodes.candidates import pick
from treadle.core.kernel.nodes.preferred import best_around, best_liked
from treadle.core.model import Wait
from treadle.core.rules.locality import Level, Locality

if TYPE_CHECKING:
    from treadle.core.kernel.nodes.preferred import Near
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.application import Ask

WAITING = "WaitingForLocality"
_A_MOMENT = 0.001
"""Seconds past the end of a delay at which it is certainly over."""


class Choice(NamedTuple):
    """A row (-1: none), and why there is none although others have room."""

    row: int
    wait: Wait | None = None


def choose(state: State, ask: Ask, near: Near) -> Choice:
    """Return the node for an ask whose pods have a wish: the closest that may be taken by now."""
    nodes, shape, score = state.nodes, ask.shape, state.score
    near.follow(nodes)
    if state.books is not None:
        found = near_enough(state, ask, near)
        return Choice(found.row, _wait(state, ask, found.until, found.what, found.words) if found.words else None)
    settings, locality = state.scheduler.fair, _locality(ask)
    allowed = locality.by_time(ask.key, state.now, settings.node_delay, settings.rack_delay)
    row = best_liked(nodes, shape, near, score)
    if row >= 0:
        locality.placed(ask.key, Level.NODE)
        return Choice(row)
    row = best_around(nodes, shape, near, score)
    if row >= 0 and (allowed > Level.NODE or not len(near.liked)):
        locality.placed(ask.key, Level.RACK)
        return Choice(row)
    if row < 0:
        row = pick(nodes, shape, score)
    for_node = allowed is Level.NODE
    if row < 0 or allowed is Level.ANYWHERE or not len(near.liked if for_node else near.around):
        return Choice(row)
    delay = settings.node_delay if for_node else settings.rack_delay
    until = locality.since.get(ask.key, state.now) + delay
    what = "nodes that it prefers" if for_node else "racks of the nodes that it prefers"
    then = "their racks will do" if for_node else "any node will do"
    words = f"there is no room on the {what}; it waits for them for {delay:g} s at the most, then {then}"
    return Choice(-1, _wait(state, ask, until, what, words))


def _wait(state: State, ask: Ask, until: float, what: str, words: str) -> Wait:
    """See to it that an ask is looked at again when its delay is over, and return why it waits."""
    until += _A_MOMENT
    state.near_until[ask] = until
    heappush(state.near_timers, (until, state.number(), ask))
    return Wait(WAITING, what, words)


def wake(state: State) -> None:
    """Let those look again whose delay is over, or for whose wish a node has got room since."""
    while state.near_timers and (
        state.near_timers[0][0] <= state.now or state.near_until.get(state.near_timers[0][2]) != state.near_timers[0][0]
    ):
        until, _, ask = heappop(state.near_timers)
        if state.near_until.get(ask) == until:
            _look_again(state, ask)
    log = state.nodes.improved
    news = log.since(state.near_seen)
    state.near_seen = log.end
    if news is None or news:
        improved = None if news is None else set(news)
        for ask in list(state.near_until):
            near = ask.shape.near
            if near is not None and not (
                improved is not None
                and near.edits == state.nodes.edited.end
                and improved.isdisjoint(near.liked.tolist())
                and improved.isdisjoint(near.around.tolist())
            ):
                _look_again(state, ask)


def _look_again(state: State, ask: Ask) -> None:
    del state.near_until[ask]
    if ask.wait is not None and ask.wait.reason == WAITING:
        compete(state, ask)


def _locality(ask: Ask) -> Locality:
    application = ask.application
    if not isinstance(application.locality, Locality):
        application.locality = Locality()
    locality = application.locality
    if len(locality.allowed) > MOST_KEYS + 2 * len(application.asks):
        for known in (locality.allowed, locality.chances, locality.since):
            forget_others(known, application.asks)
    return locality
