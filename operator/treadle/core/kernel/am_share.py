"""Masters that wait for what the masters of their leaf may hold together: how much that is, is the discipline's."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from treadle.core.kernel.state import State

MASTER_SHARE = "MasterShare"


def wake(state: State) -> None:
    """Let as many masters compete as there may be now in leaves whose masters hold less than before, or may hold more."""
    for leaf in state.masters_relieved:
        if leaf.masters_blocked:  # else none waits there any more, and the leaf may be gone from the tree
            state.discipline.masters.wake(leaf)
    state.masters_relieved.clear()


def masters_wait(state: State) -> bool:
    """Whether a master waits for its queue's masters to hold less."""
    for leaf in [leaf for leaf in state.masters_waiting if not leaf.masters_blocked]:
        del state.masters_waiting[leaf]
    return bool(state.masters_waiting)
