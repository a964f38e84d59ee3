"""What somebody may see: all that is in a queue by the verb ``view`` of Kubernetes' roles or by the queue's own lists, applications and pods of a namespace by the right to list them there, and nodes by that to list them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from treadle.core.rules.placement.names import is_below
from treadle.rest.answers import Refused

if TYPE_CHECKING:
    from treadle.core.views.view import View
    from treadle.kube.reviews import User
    from treadle.rest.asking import Asker

Sees = Callable[[str], bool]
"""Whether what a queue holds may be seen, by its path."""


class Sight:
    """Knows who may see what. Its methods raise ``KubeError`` where the API server cannot be asked."""

    def __init__(self, asker: Asker, view: Callable[[], View]) -> None:
        """Keep whom to ask, and where the lists are in force."""
        self._asker, self._view = asker, view

    async def of_queues(self, user: User, queue: str = "") -> Sees:
        """Return what a user may see below ``queue``, of all queues if it is empty. Raises ``Refused`` where a queue is named of which that is nothing.

        The verb ``view`` is asked for on all queues, and on the one that is named and those above it, as far as they are there; for others their lists are asked alone, since a question for each would be one request each.
        """
        parts, paths = queue.split(".") if queue else [], self._view().paths()
        on_the_way = (".".join(parts[:depth]) for depth in range(1, len(parts) + 1))
        for name in ("", *(name for name in on_the_way if name in paths)):
            if await self._asker.may(user, "view", "queues", name=name):
                return self._there(queue)
        sees = self._view().viewable(user.name, user.groups, user.namespace)
        if queue and not any(sees(path) for path in self._view().paths() if is_below(path, queue)):
            raise Refused(403, f"User {user.name} may not view queue {queue}: neither it nor a queue above it allows that")
        return sees

    def _there(self, queue: str) -> Sees:
        if queue and queue not in self._view().paths():
            raise Refused(404, f"queue: there is no queue {queue}")
        return lambda _: True

    async def of_members(self, user: User, queue: str, namespace: str, resource: str) -> Sees:
        """Return what a user may see of ``applications`` or ``pods``, by the paths of their queues, empty for what is in none: all of a namespace that is named where they may list them there, else what is in queues that they may view."""
        if namespace and await self._asker.may(user, "list", resource, namespace):
            return lambda _: True
        sees = await self.of_queues(user, queue)
        return lambda path: bool(path) and sees(path)

    async def all_queues(self, user: User) -> bool:
        """Return whether a user may view all queues by the verb."""
        return await self._asker.may(user, "view", "queues")

    async def nodes(self, user: User) -> bool:
        """Return whether a user may see the nodes: who may list them, or view all queues."""
        return await self._asker.may(user, "list", "nodes") or await self.all_queues(user)

    async def check_nodes(self, user: User) -> None:
        """Raise ``Refused`` where a user may not see the nodes."""
        if not await self.nodes(user):
            raise Refused(403, f"User {user.name} may neither list nodes nor view all queues")
