"""Who may submit to a queue: YARN's access control lists (``AllocationConfiguration.hasAccess``).

Access is granted by the queue or by any ancestor, to whoever may submit or administer. A list that is absent grants nothing, but at
the root it grants everybody: so to restrict anything, both lists of the root have to be given.
"""

from treadle.core.tree.queue import Queue

Acl = tuple[frozenset[str], frozenset[str]] | None
EVERYBODY = "*"


def may_submit(queue: Queue, user: str, groups: tuple[str, ...]) -> bool:
    """Whether a user with these groups may submit to a queue."""
    return any(
        _grants(acl, user, groups, root=above.parent is None)
        for above in reversed(queue.chain)
        for acl in (above.spec.submit, above.spec.administer)
    )


def _grants(acl: Acl, user: str, groups: tuple[str, ...], *, root: bool) -> bool:
    if acl is None:
        return root
    users, allowed = acl
    return user in users or EVERYBODY in users or not allowed.isdisjoint(groups)
