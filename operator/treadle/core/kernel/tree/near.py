"""Which queue was probably meant by the path of one that does not exist."""

from __future__ import annotations

from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST_COMPARED: Final = 256
"""Queues that a path is compared with: those in one place with it, and those of its name elsewhere."""
ALIKE: Final = 0.6


def meant(asked: str, paths: Iterable[str]) -> str:
    """Return the path among ``paths`` that was probably meant by another, empty where none is like it.

    Spelling counts within one parent only; a queue with the same name in another place is meant where there is one alone.
    """
    low = asked.lower()
    above, _, name = low.rpartition(".")
    beside: list[str] = []
    same: list[str] = []
    for path in paths:
        if path == asked:
            continue
        if path == low:
            return path
        parent, _, own = path.rpartition(".")
        if parent == above and parent:
            beside.append(path)
        elif own == name and parent:
            same.append(path)
    near = get_close_matches(name, [path.rpartition(".")[2] for path in islice(beside, MOST_COMPARED)], 1, ALIKE)
    if near:
        return f"{above}.{near[0]}"
    return same[0] if len(same) == 1 else ""
