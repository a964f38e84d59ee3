"""Sets that are tried again though nothing has changed on nodes: the solver has time for them by now, or another way to place them is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.kernel.admission_checks import requeue

if TYPE_CHECKING:
    from collections.abc import Iterable

    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application


def try_sets_again(state: State, applications: Iterable[Application]) -> None:
    """Let the asks of some applications compete that wait as sets."""
    for application in applications:
        for ask in application.every_ask():
            if ask.batched:
                requeue(state, ask)


def try_due_sets_again(state: State) -> None:
    """Let the sets be tried for which the solver has time by now."""
    again = state.together.again
    for identity in [identity for identity, when in again.items() if when <= state.now]:
        del again[identity]
        application = state.applications.get(identity)
        if application is not None:
            try_sets_again(state, (application,))
