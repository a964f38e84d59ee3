"""Which partition applications belong to, kept up to date, and who is let into a partition or shut out of it by that.

Only in leaves that keep partitions apart does it matter, so nothing is noted while there is none. The first master decides, else
the first pod, by the time at which they were made; that they have ended since changes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.disciplines.capacity.application_partition import ApplicationPartition, partition_of
from treadle.core.disciplines.capacity.quota import quota_of
from treadle.core.disciplines.capacity.state import capacity_state
from treadle.core.kernel.admission_checks import PARTITION_DENIED, requeue

if TYPE_CHECKING:
    from collections.abc import Iterable

    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application, PodRecord


def note(state: State, uid: str) -> None:
    """Take note of a pod that was seen, which may have joined an application."""
    capacities = capacity_state(state).capacities
    if capacities is None or not capacities.enforcing:
        return
    record = state.pods.get(uid)
    application = record.application if record is not None else None
    if record is None or application is None:
        return
    home = partition_of(application)
    before = home.word if home is not None else ""
    if home is None:
        home = application.home = ApplicationPartition()
        _note_object(state, application, home)
    _note_pod(home, record)
    if home.word != before:
        look_again(application, state)


def follow(state: State, application: Application) -> None:
    """Take note of an application whose object has changed."""
    home = partition_of(application)
    if home is not None:
        _note_object(state, application, home)
        look_again(application, state)


def follow_all(state: State, applications: Iterable[Application]) -> None:
    """Take note of applications after definitions have changed, and let those look again that are let in or shut out now."""
    capacities = capacity_state(state).capacities
    if capacities is None:
        return
    for application in applications:
        if capacities.enforcing and application.home is None:
            home = application.home = ApplicationPartition()
            _note_object(state, application, home)
            for record in application.pods.values():
                _note_pod(home, record)
        look_again(application, state)


def look_again(application: Application, state: State) -> None:
    """Let the asks of an application compete, or wait, where whether they may use their partition has changed."""
    for part in application.everywhere():
        quota = quota_of(part)
        if quota is None:
            continue
        denied = bool(quota.denied())
        for ask in part.asks.values():
            waits = ask.wait is not None and ask.wait.reason == PARTITION_DENIED
            if denied != waits:
                requeue(state, ask)


def _note_pod(home: ApplicationPartition, record: PodRecord) -> None:
    spec = record.spec
    rank = (spec.role != "master", spec.created, spec.uid)
    if rank < home.rank:
        home.rank, home.of_pod = rank, spec.partition


def _note_object(state: State, application: Application, home: ApplicationPartition) -> None:
    explicit = state.explicit.get(application.id)
    home.of_object = explicit.partition if explicit is not None else ""
