"""Where applications are placed: in the queue that is asked for, or by placement rules, which may make it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.kernel.assign import by_rules, make
from treadle.core.kernel.tree.members import Queue

if TYPE_CHECKING:
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application
    from treadle.core.model import Wait
    from treadle.core.rules.placement.rules import Request


class FairPlacement:
    """See ``kernel.seam.Placement``."""

    def __init__(self, state: State) -> None:
        self._state = state

    def asks(self) -> bool:
        """Whether there are placement rules."""
        return self._state.tree.rules is not None

    def ruled(self) -> bool:
        """Whether there are placement rules."""
        return self.asks()

    def place(self, application: Application, request: Request, namespace: str, *, runs: bool) -> Queue | Wait:  # noqa: ARG002 - one protocol for both
        """Place by the placement rules."""
        rules = self._state.tree.rules
        assert rules is not None
        return by_rules(self._state, rules, application, request, runs=runs)

    def make(self, path: str) -> Queue | Wait:
        """Make a queue below one that holds queues, or below the root."""
        return make(self._state, path)

    def restore(self, path: str) -> Queue | None:
        """Make a queue for what is bound in it, if it can be."""
        made = make(self._state, path)
        return made if isinstance(made, Queue) else None

    def used(self, queue: Queue) -> None:
        """Do nothing: a queue is idle from when its last application left."""

    def problem(self) -> str:
        """Return nothing: rules that make no sense are refused."""
        return ""
