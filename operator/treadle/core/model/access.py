"""Who may do what in a queue: YARN's access control lists, and those of priorities."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

EVERYBODY: Final = "*"


class AccessList(NamedTuple):
    """Users, their groups and namespaces; the user ``*`` is everybody. Empty ones are nobody."""

    users: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    namespaces: frozenset[str] = frozenset()
    """Namespaces of the objects, whoever made them."""


class DefaultAccess(StrEnum):
    """Whom the absent lists of the root let in."""

    OPEN = "open"
    """Everybody: YARN's default."""
    NAMESPACE = "namespace"
    """Each namespace, to the queue of its own and the default one."""
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks: a user, the user's groups, and the namespace of what is submitted. ``own`` is the path of the queue that the namespace names, empty if it names none."""

    user: str
    groups: tuple[str, ...] = ()
    namespace: str = ""
    own: str = ""

    def listed(self, acl: AccessList) -> bool:
        """Whether a list names the asker."""
        return (
            self.user in acl.users
            or EVERYBODY in acl.users
            or self.namespace in acl.namespaces
            or not acl.groups.isdisjoint(self.groups)
        )


@dataclass(frozen=True, slots=True)
class PriorityBound:
    """Which priority some may ask for in a queue and below (an entry of ``acl_application_max_priority``); ``default`` is that of who asks for none, None for the queue's."""

    who: AccessList
    most: int
    default: int | None = None
