"""Mapping rules of the CapacityScheduler, as they are written."""

from dataclasses import dataclass
from enum import Enum


class Fallback(Enum):
    """What happens where a rule that matches cannot place."""

    SKIP = "skip"
    REJECT = "reject"
    PLACE_DEFAULT = "placeDefault"


class Match(Enum):
    """What a rule looks at. ``ANY`` matches every application."""

    ANY = "any"
    USER = "user"
    GROUP = "group"
    APPLICATION = "application"


@dataclass(frozen=True, slots=True)
class MappingRule:
    """One rule.

    ``place`` is the path it gives, variables included; else ``default`` is what it sets ``%default`` to; else it rejects.
    """

    match: Match
    value: str = ""
    place: str | None = None
    default: str | None = None
    create: bool = True
    fallback: Fallback = Fallback.SKIP


@dataclass(frozen=True, slots=True)
class Known:
    """A queue as mapping sees it. ``makes``: leaves may be made right below it; ``deep``: with a parent between as well."""

    path: str
    leaf: bool
    makes: bool = False
    deep: bool = False
