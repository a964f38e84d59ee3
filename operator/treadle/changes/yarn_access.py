"""What becomes of an access list when YARN's words name others: who stood there under any form that those words show is on it no more, and what they cannot say stays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from treadle.changes.edits import Json
from treadle.convert.to_properties import account_user, is_sayable

LISTS: Final = frozenset({"submitAcl", "administerAcl", "reserveAcl"})
"""Fields of a queue."""


def relisted(there: Json, wanted: Json | None) -> dict[str, Any] | None:
    """Return a list as an object has it with the users and groups of ``wanted`` instead of its own; None where neither it nor anything else is left.

    A service account stays in the form that it has, where ``wanted`` has its user.
    """
    users, groups = ((wanted or {}).get(name) or [] for name in ("users", "groups"))
    accounts = [one for one in there.get("serviceAccounts") or () if account_user(one) in users]
    known = {account_user(one) for one in accounts}
    lists: Mapping[str, list[str]] = {
        "users": [*_unsayable(there, "users"), *(one for one in users if one not in known)],
        "groups": [*_unsayable(there, "groups"), *groups],
        "serviceAccounts": accounts,
    }
    found = {**{name: value for name, value in there.items() if name not in lists}, **{k: v for k, v in lists.items() if v}}
    return found if found or wanted is not None else None


def _unsayable(there: Json, name: str) -> list[str]:
    return [one for one in there.get(name) or () if not is_sayable(one)]
