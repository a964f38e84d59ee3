"""Who may administer queues: the lists in force."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.model import AccessList, DefaultAccess
from treadle.core.model.access import EVERYBODY

if TYPE_CHECKING:
    from treadle.core.kernel.state import State


def administrators(state: State) -> dict[str, AccessList]:
    """Return the lists of administrators by path, of the queues that have one. The root's absent list is everybody's where YARN's default is in force."""
    queues = state.tree.queues
    found = {path: queue.spec.administer for path, queue in queues.items() if queue.spec.administer is not None}
    root = state.tree.root
    if root.spec.administer is None and state.settings.default_access is DefaultAccess.OPEN:
        found[root.path] = AccessList(frozenset({EVERYBODY}))
    return found
