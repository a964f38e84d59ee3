"""Why a pod that finds no room stands at no node, by nodes: whose rules refuse it, who could never have the room, and whose queue is too long."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from treadle.core.kernel.opportunistic.queueing import gives_nothing, large_enough, sizes_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import PodRecord
    from treadle.core.model.opportunistic import NodeQueueSettings

TOO_SMALL = "node(s) could never give it so much"
LEFT = "node(s) pods of its application had to leave lately"
SHUT = "node(s) took no opportunistic pods, for what they use or since that is not known"
FULL = "queue(s) were full"
OVER = "queue(s) were as long as they may be for a pod that had to leave one for its length"


class Standing:
    """Looks at the queues of all nodes as they are in one step."""

    def __init__(self, state: State, settings: NodeQueueSettings) -> None:
        self._state, self._settings = state, settings
        self._sizes: NDArray[np.int64] | None = None
        self._lengths = np.zeros(0, dtype=np.int64)
        self._shut = np.zeros(0, dtype=np.bool_)
        self._words: dict[object, str] = {}

    def nowhere(self, record: PodRecord) -> str:
        """Return how many queues have a place for a pod, and how many nodes are out for which reason."""
        shed = tuple(self._state.opportunistic.queues.shed_from.get(record.spec.uid, ()))
        key = record.shape, record.spec.opportunistic, record.spec.application, shed
        found = self._words.get(key)
        if found is None:
            found = self._words[key] = self._nowhere(record, shed)
        return found

    def _nowhere(self, record: PodRecord, shed: tuple[str, ...]) -> str:
        nodes, settings = self._state.nodes, self._settings
        queues = self._state.opportunistic.queues
        reasons = Counter(nodes.refusals(record.shape.constraints))
        left = nodes.mask(record.shape.constraints).copy()

        def out(some: NDArray[np.bool_], reason: str) -> None:
            if count := int((some & left).sum()):
                reasons[reason] = count
            left[some] = False

        sizes = self._look()
        out(~large_enough(record, sizes), TOO_SMALL)
        away = self._state.opportunistic.back_off.nodes(record.spec.application, self._state.now)
        out(self._rows(away), LEFT)
        out(self._shut, SHUT)
        out(self._lengths >= settings.most, FULL)
        if shed:
            out((self._lengths >= queues.limit.limit()) | (self._rows(shed) & (self._lengths >= settings.least)), OVER)
        parts = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items(), key=lambda item: (-item[1], item[0])))
        free = int(left.sum())
        soon = "it comes to stand there with one of the next passes" if free else ""
        return f"{free}/{nodes.known()} queues have a place for it{': ' if parts else ''}{parts}{f'; {soon}' if soon else ''}"

    def _look(self) -> NDArray[np.int64]:
        if self._sizes is None:
            state = self._state
            at, names = state.opportunistic.queues.at, state.nodes.names
            self._sizes = sizes_of(state)
            self._lengths = np.array([len(at.get(name, ())) for name in names], dtype=np.int64)
            specs = state.nodes.specs
            self._shut = np.array(
                [spec is not None and gives_nothing(state, row) for row, spec in enumerate(specs)], dtype=np.bool_
            )
        return self._sizes

    def _rows(self, names: Iterable[str]) -> NDArray[np.bool_]:
        found, row = np.zeros(len(self._state.nodes), dtype=np.bool_), self._state.nodes.row
        found[[row[name] for name in names if name in row]] = True
        return found
