"""A run that fails is made smaller: steps are left out, and what is inside of them, as long as the same thing goes wrong."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

from fuzz.world import Failure, Step, play


def smaller(steps: list[Step], failure: Failure, most: int = 400) -> list[Step]:
    """Leave out steps as long as the same thing goes wrong: halves first, then smaller and smaller chunks."""
    tries, size = 0, max(1, len(steps) // 2)
    while size and tries < most:
        at = 0
        while at < len(steps) and tries < most:
            fewer = steps[:at] + steps[at + size :]
            tries += 1
            found = play(fewer)
            if found is not None and found.kind == failure.kind:
                steps = fewer
            else:
                at += size
        size = size // 2
    return _plainer(steps, failure)


def _plainer(steps: list[Step], failure: Failure, most: int = 600) -> list[Step]:
    """Leave out what is inside the steps: entries of objects, the outer ones first."""
    tries, at, path = 0, 0, 0
    while at < len(steps) and tries < most:
        places = list(_places(steps[at]))
        if path >= len(places):
            at, path = at + 1, 0
            continue
        tried = copy.deepcopy(steps)
        holder: Any = tried[at]
        for key in places[path][:-1]:
            holder = holder[key]
        tries += 1
        try:
            del holder[places[path][-1]]  # of a step's own words none can be left out
            found = play(tried)
        except (KeyError, TypeError):
            found = None
        if found is not None and found.kind == failure.kind:
            steps = tried
        else:
            path += 1
    return steps


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterable[tuple[Any, ...]]:
    """The paths of what can be left out of a step, parents before children."""
    if isinstance(value, tuple | list | dict):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            if path and key not in {"kind", "metadata", "uid", "name"}:
                yield (*path, key)
            yield from _places(each, (*path, key))
