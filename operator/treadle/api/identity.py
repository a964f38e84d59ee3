"""Who submitted an object: its namespace, whom admission has stamped on it, or whom it claims itself.

Whoever may write an object may write its annotations, so a claim is believed only where that is asked for, and a stamp only where the API server's admission puts it there and lets nobody
write it (the policies of the chart).
"""

from enum import StrEnum
from typing import Final, NamedTuple

from treadle.api import labels

STAMPED_USER: Final = f"{labels.GROUP}/submitted-by"
STAMPED_GROUPS: Final = f"{labels.GROUP}/submitted-by-groups"


class Source(StrEnum):
    """What says who the user is."""

    NAMESPACE = "namespace"
    """The namespace alone, which is a user without groups."""
    STAMPS = "stamps"
    """The stamp of admission; without one it is the namespace."""
    CLAIMS = "claims"
    """Whatever the object says (``labels.user_of``), then the stamp, then the namespace."""


class Who(NamedTuple):
    """A user and the user's groups; empty: the namespace. ``claimed`` is whom the object claims in vain, empty if nobody."""

    user: str
    groups: tuple[str, ...]
    claimed: str


def who(annotations: labels.Strings, source: Source) -> Who:
    """Return who submitted an object with these annotations."""
    claimed, groups = labels.user_of(annotations, "")
    if source is Source.CLAIMS and claimed:
        return Who(claimed, groups, "")
    stamped = (annotations or {}).get(STAMPED_USER, "") if source is not Source.NAMESPACE else ""
    mine = labels.parts((annotations or {}).get(STAMPED_GROUPS, "")) if stamped else ()
    return Who(stamped, mine, claimed if claimed != stamped else "")


def notes_of(user: str, groups: tuple[str, ...] = ()) -> dict[str, str]:
    """Return the annotations with which we make an object for a user: a claim, and the stamp, which admission lets us write. A group with a comma cannot be said."""
    said = ",".join(group for group in groups if "," not in group)
    found = {labels.USER: user, STAMPED_USER: user}
    return {**found, labels.GROUPS: said, STAMPED_GROUPS: said} if said else found
