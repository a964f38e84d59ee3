"""YARN's placement constraints: where the containers of a request may be, by the allocation tags of those that are there.

``PlacementConstraint`` of Hadoop's API. All forms of a single constraint (affinity, anti-affinity, cardinality) are one: so many
with each tag in a scope, at least and at most.
"""

from dataclasses import dataclass

NODE, RACK = "node", "rack"
MOST = 2**31 - 1
"""The maximum that is none (``Integer.MAX_VALUE``)."""

SELF, NOT_SELF, ALL, APP_ID, APP_TAG = "self", "not-self", "all", "app-id", "app-tag"
NAMESPACES = frozenset({SELF, NOT_SELF, ALL, APP_ID, APP_TAG})
"""Whose containers are counted: those of the same application, of others, of all, of one by id, or of those with a tag."""


@dataclass(frozen=True, slots=True)
class TagTarget:
    """Containers with allocation tags, of the applications that ``namespace`` says (``value`` for one by id, or those with a tag)."""

    tags: tuple[str, ...]
    namespace: str = SELF
    value: str = ""


@dataclass(frozen=True, slots=True)
class PartitionTarget:
    """The partition that the node must be in; without values the default one, else the first."""

    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AttributeTarget:
    """A node attribute, here a label of the node, and the values of which the first in order counts."""

    key: str
    values: tuple[str, ...]


Target = TagTarget | PartitionTarget | AttributeTarget


@dataclass(frozen=True, slots=True)
class Single:
    """All targets must hold: of each tag at least ``least`` and at most ``most`` containers in the scope; ``operator`` EQ or NE for attributes."""

    scope: str
    least: int
    most: int
    targets: tuple[Target, ...]
    operator: str = "NO_OP"


@dataclass(frozen=True, slots=True)
class And:
    """All must hold."""

    children: tuple["PlacementConstraint", ...]


@dataclass(frozen=True, slots=True)
class Or:
    """One must hold."""

    children: tuple["PlacementConstraint", ...]


@dataclass(frozen=True, slots=True)
class DelayedOr:
    """One must hold: of those that are in force, which are the first, after its delay in ``delays`` (seconds) also the second, and so on. The last delay means nothing."""

    children: tuple["PlacementConstraint", ...]
    delays: tuple[float, ...]


PlacementConstraint = Single | And | Or | DelayedOr
