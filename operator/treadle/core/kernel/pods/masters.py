"""What the pods with the role of a master hold together in their leaf."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.kernel.tree.partitions import payer

if TYPE_CHECKING:
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import PodRecord


def count_master(record: PodRecord, sign: int) -> None:
    """Count a placed pod among what the masters of its leaf hold, or take it out."""
    application = payer(record)
    record.master = sign > 0
    if application is not None and application.queue is not None:
        ledgers = [application.queue.master_usage]
        if application.quota is not None:
            ledgers.append(application.quota.masters)
        for held in ledgers:
            for position, value in record.charged:
                held[position] += sign * value


def release_master(state: State, record: PodRecord) -> None:
    """Take a placed pod out of what masters hold, and let others look again who wait for that."""
    application = payer(record)
    count_master(record, -1)
    if application is not None and application.queue is not None and application.queue.masters_blocked:
        state.masters_relieved[application.queue] = None
