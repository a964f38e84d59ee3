"""From which nodes opportunistic pods had to go lately, as the status of the Scheduler keeps it for whoever serves next: what comes and goes in a loop would begin anew with each restart."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from treadle.api.common import check_time
from treadle.core.events import RemovedLately
from treadle.core.model.opportunistic import Removal

FIELD = "removals"
MOST = 256
"""Entries that are kept: those that count for the longest."""
MOST_TIMES = 1000


def written(found: Iterable[Removal]) -> list[dict[str, Any]] | None:
    """Return what the status says, None for nothing."""
    kept = sorted(found, key=lambda one: (-one.until, one.application, one.node))[:MOST]
    return [
        {
            "application": one.application,
            "node": one.node,
            "until": datetime.fromtimestamp(int(one.until), UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "times": min(one.times, MOST_TIMES),
        }
        for one in sorted(kept, key=lambda one: (one.application, one.node))
    ] or None


def read(status: Mapping[str, Any]) -> RemovedLately:
    """Return what a status says; what is not as we write it is passed over."""
    said = status.get(FIELD)
    return RemovedLately(tuple(one for one in map(_read, said[:MOST] if isinstance(said, list) else ()) if one is not None))


def _read(said: object) -> Removal | None:
    if not isinstance(said, Mapping):
        return None
    application, node, until, times = (said.get(name) for name in ("application", "node", "until", "times"))
    if not (isinstance(application, str) and isinstance(node, str) and isinstance(until, str) and isinstance(times, int)):
        return None
    try:
        check_time(until)
        return Removal(application, node, datetime.fromisoformat(until).timestamp(), max(1, min(times, MOST_TIMES)))
    except (ValueError, OverflowError):
        return None
