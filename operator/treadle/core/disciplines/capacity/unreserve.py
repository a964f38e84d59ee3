"""Who has a node kept may be placed elsewhere, and gives it back then (``reservations-continue-look-all-nodes``).

What is kept counts against the limits of the queue and the user as if the pod ran. So an ask may find itself at a limit by what
is kept for itself alone: it gives back as much as it takes to be placed, as in ``RegularContainerAllocator`` an application gives
up a reservation of the same key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.kernel.nodes.candidates import pick
from treadle.core.kernel.preemption.holds import count, release
from treadle.core.kernel.tree.limits import exceeded

if TYPE_CHECKING:
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Ask


def unreserve(state: State, ask: Ask) -> bool:
    """Let an ask at a limit give back a node that is kept for it, if it fits elsewhere and no more than that stands in its way; returns whether it did."""
    mine = [
        hold for hold in state.preemption.holds if hold.counted and hold.application is ask.application and hold.key == ask.key
    ]
    if not mine or pick(state.nodes, ask.shape, state.score) < 0:
        return False
    for hold in mine:
        count(hold, -1)
    limited = _limited(ask)
    for hold in mine:
        count(hold, 1)
    if limited:
        return False
    release(state, mine[-1], "its pod may be placed elsewhere")
    return True


def _limited(ask: Ask) -> bool:
    application = ask.application
    if exceeded(application.limiting, ask.shape.charged) is not None:
        return True
    return application.quota is not None and application.quota.exceeded()
