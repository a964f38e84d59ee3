"""Which labels and annotations of our group mean something on a pod, and what was probably meant by one that does not."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Final

from treadle.api import execution, gang_words, identity, labels

_GROUP: Final = f"{labels.GROUP}/"
_NOT_ON_PODS: Final = frozenset(
    {
        labels.HEADROOM,
        labels.OVER_ALLOCATION,
        labels.PRESSURE,
        labels.MADE_FROM_HISTORY,
        labels.MADE_REASONS,
        labels.DRY_RUN,
        labels.RESERVATION_NAME,
        labels.API_VERSION,
    }
)
KNOWN: Final = (
    frozenset(
        value
        for module in (labels, execution, gang_words, identity)
        for value in vars(module).values()
        if isinstance(value, str) and value.startswith(_GROUP)
    )
    - _NOT_ON_PODS
)
"""All that the modules that read pods name."""
_NAMES: Final = [key.removeprefix(_GROUP) for key in sorted(KNOWN)]
MOST_NAMED: Final = 4
MOST_LETTERS: Final = 80


def unknown_of(own: Mapping[str, str] | None, notes: Mapping[str, str] | None) -> str:
    """Return the labels and annotations of a pod that mean nothing, with what was probably meant or is allowed; empty for none."""
    found = [_named(key) for said in (own, notes) for key in said or () if key.startswith(_GROUP) and key not in KNOWN]
    found += _unread(own or {}, notes or {})
    if not found:
        return ""
    more = f", and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
    return ", ".join(found[:MOST_NAMED]) + more


def _unread(own: Mapping[str, str], notes: Mapping[str, str]) -> list[str]:
    """Return the labels and annotations that have a value which cannot be read, with what is allowed."""
    found = []
    role = own.get(labels.ROLE) or notes.get(labels.ROLE)
    if role and role not in {"master", "worker"}:
        found.append(f"{labels.ROLE} ({role[:MOST_LETTERS]!r}; allowed are master and worker)")
    if labels.YUNIKORN_USER in notes and labels.USER not in notes and labels.yunikorn_user(notes[labels.YUNIKORN_USER]) is None:
        found.append(f"{labels.YUNIKORN_USER} (not a JSON document with a user)")
    return found


def _named(key: str) -> str:
    if key in _NOT_ON_PODS:
        return f"{key} (it is not for pods)"
    near = get_close_matches(key.removeprefix(_GROUP), _NAMES, 1, 0.75)
    return key[:MOST_LETTERS] + (f" (did you mean {_GROUP}{near[0]}?)" if near else "")
