"""Who may administer queues, and see what they hold: the lists in force."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.kernel.assign import asker
from treadle.core.model import AccessList, DefaultAccess
from treadle.core.model.access import EVERYBODY
from treadle.core.rules.placement.access import may_view

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.core.kernel.state import State


def administrators(state: State) -> dict[str, AccessList]:
    """Return the lists of administrators by path, of the queues that have one. The root's absent list is everybody's where YARN's default is in force."""
    queues = state.tree.queues
    found = {path: queue.spec.administer for path, queue in queues.items() if queue.spec.administer is not None}
    root = state.tree.root
    if root.spec.administer is None and state.settings.default_access is DefaultAccess.OPEN:
        found[root.path] = AccessList(frozenset({EVERYBODY}))
    return found


def viewable(state: State, user: str, groups: tuple[str, ...], namespace: str) -> Callable[[str], bool]:
    """Return whether a user may see what a queue holds, by its path; of a queue that is not there nobody is told anything. ``namespace`` is that of a service account, empty for anybody else."""
    who, queues, default_access = asker(state, f"{namespace}/", user, groups), state.tree.queues, state.settings.default_access

    def may(path: str) -> bool:
        queue = queues.get(path)
        return queue is not None and may_view(queue, path, who, default_access)

    return may
