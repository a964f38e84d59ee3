"""How much the runs in reservations have had, where those that lag are promised more: what their pods ask for, for as long as they ran.

It is counted from the beginning of an occurrence, or from when this core first looked at it: what had run before a restart is not known, and neither is what had been promised then. The work of
pods that failed, were deleted or lost with their node is lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.kernel.backfill.run_times import begun
from treadle.core.kernel.reservations.forms import clock
from treadle.core.kernel.tree.partitions import all_parts, payer
from treadle.core.model.reservations import within

if TYPE_CHECKING:
    from collections.abc import Iterator

    from treadle.core.kernel.reservations.dimensions import Dimensions
    from treadle.core.kernel.reservations.memory import Progress
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import PodRecord, Queue


def finished(state: State, record: PodRecord) -> None:
    """Count the work of a pod that has succeeded and is about to leave its queue."""
    application = record.application
    if application is None or record.node < 0 or application.queue is None:
        return
    mine = state.plans.progress.get(application.queue.path)
    if mine is not None:
        _count(state, record, mine.since, mine.done)


def had(state: State, dimensions: Dimensions, mine: Progress, queue: Queue | None) -> list[int]:
    """Return what a run has had since it is watched, in amounts times ms: what has succeeded, and what runs."""
    done = dict(mine.done)
    for record in _on_nodes(queue):
        _count(state, record, mine.since, done)
    return dimensions.vector(done.items())


def needs(dimensions: Dimensions, queue: Queue | None) -> list[int]:
    """Return what the pods in a queue have and wait for."""
    found, width = [0] * len(dimensions.names), len(dimensions.types)
    for part in () if queue is None else all_parts(queue):
        first = dimensions.offset(part.partition)
        if first is None:
            continue
        for position in range(width):
            found[first + position] += part.usage[position]
        for application in part.applications.values():
            for ask in application.asks.values():
                for position, value in ask.shape.charged:
                    if position < width:
                        found[first + position] += value * len(ask.pods)
    return found


def _on_nodes(queue: Queue | None) -> Iterator[PodRecord]:
    if queue is not None:
        for application in queue.applications.values():
            yield from (record for record in application.pods.values() if record.node >= 0)


def _count(state: State, record: PodRecord, since: int, done: dict[str, int]) -> None:
    began = max(since, int((begun(state, record) + state.settings.epoch) * 1000))
    ran = clock(state) - began
    if ran > 0:
        partition, names = payer(record).partition, state.types.names
        for position, value in record.shape.demand:
            name = within(partition, names[position])
            done[name] = done.get(name, 0) + value * ran
