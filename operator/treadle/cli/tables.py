"""Tables and bars as people read them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Final, Literal

import yaml
from cyclopts import Parameter

from treadle.controllers.in_words import NONE

Output = Literal["table", "wide", "json", "yaml"]
OutputOption = Annotated[Output, Parameter(name=["--output", "-o"])]
BAR: Final = 10
"""Letters of a bar."""


def table(rows: Sequence[tuple[str, ...]]) -> Iterable[str]:
    """Yield rows with their columns below each other."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ("   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)


def bar(fraction: float | None) -> str:
    """Return a bar with the percentage beside it; one that is over its end says so by the number."""
    if fraction is None:
        return NONE
    filled = min(BAR, round(fraction * BAR))
    return f"{'█' * filled}{'░' * (BAR - filled)} {fraction:.0%}"


def age(at: str, now: datetime) -> str:
    """Return how long ago a time in RFC 3339 was, in the largest unit of which there are two; a question mark for what is none."""
    try:
        return span((now - datetime.fromisoformat(at)).total_seconds())
    except (ValueError, TypeError):
        return "?"


def span(length: float) -> str:
    """Return how long something took, in the largest unit of which there are two; ``length`` is in seconds, and what is less than none is none."""
    seconds = max(0, int(length))
    for size, letter in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if seconds >= 2 * size:
            return f"{seconds // size}{letter}"
    return f"{seconds}s"


def condition(found: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    """Return a condition of an object's status, an empty one if it has none of the kind."""
    conditions: Iterable[Mapping[str, Any]] = (found.get("status") or {}).get("conditions") or ()
    return next((one for one in conditions if one.get("type") == kind), {})


def written(output: Output, items: Sequence[Any]) -> str:
    """Return objects as a list of JSON or YAML."""
    if output == "json":
        return json.dumps(items, indent=2, ensure_ascii=False) + "\n"
    return yaml.safe_dump(list(items), sort_keys=False, allow_unicode=True)
