"""Admission requests that ask for a stamp, and where the stamp is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from treadle.admission.stamping import PATHS

Json = dict[str, Any]


def at(body: Mapping[str, Any], path: Iterable[str]) -> Any:
    """What of an object is stamped, by its path."""
    for name in path:
        body = body[name]
    return body


def inside(path: Sequence[str], what: Json) -> Json:
    """An object that has something at a path."""
    for name in reversed(path):
        what = {name: what}
    return what


def request(
    group: str, kind: str, metadata: Json | None, user: str = "kim", groups: Sequence[str] = (), was: Json | None = None
) -> Json:
    """A request to make what has this metadata, itself or in its template; ``was`` is what its template had before an edit."""
    path = PATHS[group, kind]

    def body(metadata: Json | None) -> Json:
        return inside(path, {"spec": {"x": 1}} if metadata is None else {"metadata": metadata, "spec": {"x": 1}})

    return {
        "uid": "u1",
        "operation": "CREATE" if was is None else "UPDATE",
        "resource": {"group": group, "version": "v1", "resource": kind},
        "userInfo": {"username": user, "groups": list(groups)},
        "object": body(metadata),
        "oldObject": None if was is None else body(was),
    }
