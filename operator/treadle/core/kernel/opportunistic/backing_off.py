"""Pods of an application that had to go from a node are placed elsewhere, or there later: for twice as long each time, so that they never come and go in a loop.

Their controllers make them anew at once, under other names, so it is the application that is remembered.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

FIRST, LONGEST = 30.0, 960.0
"""Seconds for which a node takes no opportunistic pods of an application of which one had to go from there, the first time and at the most."""
FORGOTTEN = 960.0
"""Seconds after which it counts as the first time again."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Until when a node takes no pods of an application, and how often in a row one had to go."""

    until: float
    times: int


class BackOff:
    """Nodes by the application whose pods they do not take at present, or did not lately."""

    def __init__(self) -> None:
        self.of: dict[str, dict[str, Pause]] = {}

    def remember(self, application: str, node: str, now: float) -> None:
        """Take note that a pod of an application has to go from a node; of several at once it is one time."""
        there = self.of.setdefault(application, {})
        before = there.get(node)
        if before is not None and now < before.until:
            return
        times = before.times + 1 if before is not None and now < before.until + FORGOTTEN else 1
        there[node] = Pause(now + min(FIRST * 2.0 ** (times - 1), LONGEST), times)

    def nodes(self, application: str, now: float) -> list[str]:
        """Return the nodes that take no pods of an application at present."""
        there = self.of.get(application)
        return [] if there is None else [node for node, away in there.items() if now < away.until]

    def next_end(self, now: float) -> float | None:
        """Return when a node takes pods again, None if all do."""
        return min((away.until for there in self.of.values() for away in there.values() if away.until > now), default=None)

    def forget(self, now: float, applications: Mapping[str, object]) -> None:
        """Forget what has been over for long, and what is about applications that are gone for as long."""
        for identity, there in list(self.of.items()):
            for node in [node for node, away in there.items() if now >= away.until + FORGOTTEN]:
                del there[node]
            if not there or (identity not in applications and not any(now < away.until for away in there.values())):
                del self.of[identity]
