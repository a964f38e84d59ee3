"""Who may submit to a queue, reserve in it, and see what it holds: YARN's access control lists (``AllocationConfiguration.hasAccess``).

Access is granted by the queue or by any ancestor, to all who may submit or administer. A list that is absent grants nothing, but at the root: there YARN lets every user in, so that both lists
of the root have to be given to restrict anything. ``DefaultAccess`` says whom we let in there: every user as well, a namespace to its own queue, or nobody.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from treadle.core.model import DEFAULT_QUEUE, Asker, DefaultAccess, PriorityBound, QueueSpec
from treadle.core.rules.placement.rules import ROOT


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


def is_open(root: QueueSpec, default_access: DefaultAccess) -> bool:
    """Whether every queue lets everybody in, since a list of the root is absent."""
    return default_access is DefaultAccess.OPEN and (root.submit is None or root.administer is None)


def may_submit(queue: Guarded, path: str, who: Asker, default_access: DefaultAccess = DefaultAccess.OPEN) -> bool:
    """Whether somebody may submit to the queue ``path``: ``queue`` is that one, or the nearest above it that there is."""
    root = queue.chain[-1].spec
    if is_open(root, default_access):
        return True
    if default_access is DefaultAccess.NAMESPACE and root.submit is None and _by_namespace(queue, path, who):
        return True
    return any(acl is not None and who.listed(acl) for each in queue.chain for acl in (each.spec.submit, each.spec.administer))


def may_reserve(queue: Guarded, path: str, who: Asker, default_access: DefaultAccess = DefaultAccess.OPEN) -> bool:
    """Whether somebody may reserve in a queue: whom a list of those who reserve or administer names, on the way up; without any list of those who reserve, whoever may submit."""
    if all(each.spec.reserve is None for each in queue.chain):
        return may_submit(queue, path, who, default_access)
    return any(acl is not None and who.listed(acl) for each in queue.chain for acl in (each.spec.reserve, each.spec.administer))


def may_view(queue: Guarded, path: str, who: Asker, default_access: DefaultAccess = DefaultAccess.OPEN) -> bool:
    """Whether somebody may see what a queue holds: whom a list of those who view or administer names, on the way up; without any list of those who view, whoever may submit."""
    if all(each.spec.view is None for each in queue.chain):
        return may_submit(queue, path, who, default_access)
    return any(acl is not None and who.listed(acl) for each in queue.chain for acl in (each.spec.view, each.spec.administer))


def bound_of(queue: Guarded, who: Asker) -> tuple[int, int | None] | None:
    """Return the highest priority that somebody may ask for in a queue, and the one of who asks for none (None: the queue's); None if nothing is said.

    The nearest queue upward that says anything decides. Of its entries that name the asker the one with the highest priority counts (``AppPriorityACLsManager``); whom none names may ask for none.
    """
    for each in queue.chain:
        if each.spec.priorities:
            mine: list[PriorityBound] = [one for one in each.spec.priorities if who.listed(one.who)]
            best = max(mine, key=lambda one: one.most, default=None)
            return (0, None) if best is None else (best.most, best.default)
    return None


def own_queue(who: Asker) -> str:
    """Return the path of the queue that a namespace may use by itself: the one that it names, or else the one right below the root that is called like it."""
    return who.own or f"{ROOT}.{who.namespace}"


def _by_namespace(queue: Guarded, path: str, who: Asker) -> bool:
    """Whether a namespace may submit by itself: to its own queue and below, and to the default one unless that has a list, for it is for whoever has no other."""
    own = own_queue(who)
    if path == own or path.startswith(f"{own}."):
        return True
    return path == DEFAULT_QUEUE and (queue.spec.path != path or queue.spec.submit is None)
