"""Who may submit to a queue: YARN's access control lists (``AllocationConfiguration.hasAccess``).

Access is granted by the queue or by any ancestor, to all who may submit or administer. A list that is absent grants nothing, but
at the root it grants every user: so to restrict anything, both lists of the root have to be given.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from treadle.core.model import QueueSpec

Acl = tuple[frozenset[str], frozenset[str]] | None
EVERYBODY = "*"


class Guarded(Protocol):
    """A queue with the queues above it."""

    @property
    def spec(self) -> QueueSpec:
        """Its definition."""
        ...

    @property
    def chain(self) -> Sequence[Guarded]:
        """The queue and its ancestors, the root last."""
        ...


def may_submit(queue: Guarded, user: str, groups: tuple[str, ...]) -> bool:
    """Whether a user with these groups may submit to a queue."""
    return any(
        _grants(acl, user, groups, root=not above.spec.parent)
        for above in reversed(queue.chain)
        for acl in (above.spec.submit, above.spec.administer)
    )


def _grants(acl: Acl, user: str, groups: tuple[str, ...], *, root: bool) -> bool:
    if acl is None:
        return root
    users, allowed = acl
    return user in users or EVERYBODY in users or not allowed.isdisjoint(groups)
