"""A round of preemption: the selectors one after the other, each seeing what those before it chose; then warning, and the end when the warning is over."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from treadle.core.rules.capacity.preemption.intra import inside_queues
from treadle.core.rules.capacity.preemption.priorities import by_priorities
from treadle.core.rules.capacity.preemption.reserved import by_holds
from treadle.core.rules.capacity.preemption.selection import by_queues
from treadle.core.rules.capacity.preemption.snapshot import all_holds, begin
from treadle.core.rules.capacity.queue import CapacityQueue


@dataclass
class Verdict:
    """What came of a round: ``holds`` to give up at once, ``warned`` containers, and those that are ``due``."""

    holds: list[Any] = field(default_factory=list)
    warned: list[Any] = field(default_factory=list)
    due: list[Any] = field(default_factory=list)


class Policy:
    """Remembers since when containers are warned."""

    def __init__(self) -> None:
        self.since: dict[int, tuple[Any, float]] = {}

    def round(
        self,
        root: CapacityQueue,
        nodes: Sequence[Any],
        now: float,
        leaves: Callable[[Sequence[str]], Sequence[str]] = list,
        move: Callable[[Any, Any], bool] | None = None,
        holds: Callable[[Any], Sequence[Any]] = all_holds,
    ) -> Verdict:
        """Do one round.

        ``leaves`` orders the leaves, ``move`` moves a hold to another node if it can, ``holds`` gives those of an application.
        """
        settings = root.context.settings.preemption
        paths = leaves([queue.path for queue in root.walk() if not queue.parental])
        found = begin(root, nodes, paths, now)
        found.holds_of = holds
        verdict = Verdict()
        groups: list[tuple[list[Any], float]] = []

        def select(choose: Callable[[], list[Any] | None], wait: float) -> None:
            before = dict(found.chosen)
            verdict.holds += choose() or []
            groups.append(([container for key, container in found.chosen.items() if key not in before], wait))

        wait = settings.wait_before_kill
        if settings.by_priority:
            select(lambda: by_priorities(found, move), wait)
        if settings.by_reserved:
            select(lambda: by_holds(found), wait)
        select(lambda: by_queues(found, balance=False, with_held=settings.count_reserved_as_pending), wait)
        if settings.balance:
            select(lambda: by_queues(found, balance=True, with_held=False), settings.balance_wait)
        if settings.intra_queue:
            select(lambda: inside_queues(found), wait)
        if settings.observe_only:
            return Verdict()
        for containers, patience in groups:
            self._warn(containers, patience if patience > 0 else wait, now, verdict)
        for key in [key for key, (_, since) in self.since.items() if since + 2 * wait < now]:
            del self.since[key]
        return verdict

    def _warn(self, containers: Sequence[Any], wait: float, now: float, verdict: Verdict) -> None:
        for container in containers:
            known = self.since.get(id(container))
            if known is None:
                self.since[id(container)] = (container, now)
                verdict.warned.append(container)
            elif known[1] + wait <= now:
                del self.since[id(container)]
                verdict.due.append(container)
