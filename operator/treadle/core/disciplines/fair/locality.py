"""Delay scheduling by time: how long an ask waits for places that its pods would like before it takes others.

The rules and times of Hadoop's ``FSAppAttempt`` (``rules.locality``) with the delays of ``fair.localityDelayNode`` and
``localityDelayRack``: first only the preferred nodes, after the one delay also their racks, after the other any node. Without
delays what is preferred is just taken first. No ask waits for places that no known node is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.kernel.locality import MOST_KEYS, forget_others, wait_until
from treadle.core.kernel.nodes.candidates import pick
from treadle.core.kernel.nodes.preferred import best_preferred, best_rack_local
from treadle.core.kernel.seam import Choice
from treadle.core.rules.locality import Level, Locality

if TYPE_CHECKING:
    from treadle.core.kernel.nodes.near import Near
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Ask


def choose(state: State, ask: Ask, near: Near) -> Choice:
    """Return the closest node that an ask may take by now, or why it waits for a closer one."""
    nodes, shape, score = state.nodes, ask.shape, state.score
    settings, locality = state.scheduler.fair, _locality(ask)
    allowed = locality.by_time(ask.key, state.now, settings.node_delay, settings.rack_delay)
    row = best_preferred(nodes, shape, near, score)
    if row >= 0:
        locality.placed(ask.key, Level.NODE)
        return Choice(row)
    row = best_rack_local(nodes, shape, near, score)
    if row >= 0 and (allowed > Level.NODE or not len(near.preferred)):
        locality.placed(ask.key, Level.RACK)
        return Choice(row)
    if row < 0:
        row = pick(nodes, shape, score)
    for_node = allowed is Level.NODE
    if row < 0 or allowed is Level.ANYWHERE or not len(near.preferred if for_node else near.rack_local):
        return Choice(row)
    delay = settings.node_delay if for_node else settings.rack_delay
    until = locality.since.get(ask.key, state.now) + delay
    what = "nodes that it prefers" if for_node else "racks of the nodes that it prefers"
    then = "their racks will do" if for_node else "any node will do"
    words = f"there is no room on the {what}; it waits for them for {delay:g} s at the most, then {then}"
    return Choice(-1, wait_until(state, ask, until, what, words))


def _locality(ask: Ask) -> Locality:
    application = ask.application
    if not isinstance(application.locality, Locality):
        application.locality = Locality()
    locality = application.locality
    if len(locality.allowed) > MOST_KEYS + 2 * len(application.asks):
        for known in (locality.allowed, locality.chances, locality.since):
            forget_others(known, application.asks)
    return locality
