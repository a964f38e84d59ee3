"""Pods of an application that had to go from a node are placed elsewhere, or there later: for twice as long each time, so that they never come and go in a loop.

Their controllers make them anew at once, under other names, so it is the application that is remembered.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from treadle.core.model.opportunistic import Removal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FIRST, LONGEST = 30.0, 960.0
"""Seconds for which a node takes no opportunistic pods of an application of which one had to go from there, the first time and at the most."""
FORGOTTEN = 960.0
"""Seconds after which it counts as the first time again."""

ROUNDED = 1.0
"""Seconds by which what is remembered elsewhere may be rounded."""
MOST_TIMES = 30
"""Times in a row that count: the pause has been the longest for long."""


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
        times = min(before.times + 1, MOST_TIMES) if before is not None and now < before.until + FORGOTTEN else 1
        there[node] = Pause(now + min(FIRST * 2.0 ** (times - 1), LONGEST), times)

    def recall(self, removals: Iterable[Removal], epoch: float, now: float) -> None:
        """Take over what is remembered elsewhere, as far as less is known here; ``epoch`` is what the core's clock counts from. None keeps a node for longer than one of ours does."""
        for one in removals:
            until = min(one.until - epoch, now + LONGEST)
            there = self.of.setdefault(one.application, {})
            before = there.get(one.node)
            if now < until + FORGOTTEN and (before is None or until >= before.until + ROUNDED):
                there[one.node] = Pause(until, min(one.times, MOST_TIMES))

    def known(self, epoch: float, now: float) -> list[Removal]:
        """Return what counts yet."""
        return [
            Removal(identity, node, away.until + epoch, away.times)
            for identity, there in self.of.items()
            for node, away in there.items()
            if now < away.until + FORGOTTEN
        ]

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
