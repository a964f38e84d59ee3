"""Gangs that lack pods to start and wait for nodes: what an autoscaler may be asked for.

Only shortage of nodes counts: what a limit of a queue or of a user holds back, or what others are leaving already, is not asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from treadle.core.kernel.admission_checks import asks_of
from treadle.core.kernel.cycle import NO_NODE
from treadle.core.kernel.gangs.provisioning import provisioning_of
from treadle.core.kernel.gangs.start import lacks
from treadle.core.kernel.preemption.holds import of_gang
from treadle.core.kernel.tree.limits import exceeded
from treadle.core.model import Wait
from treadle.core.model.gangs import Provisioning

if TYPE_CHECKING:
    from collections.abc import Iterable

    from treadle.core.kernel.gangs.memory import Gang
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application, Ask


@dataclass(frozen=True, slots=True)
class Alike:
    """Pods of a gang that are alike: how many, the first of them, and what each asks for."""

    count: int
    pod: str
    uid: str
    demand: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Lack:
    """What a gang lacks to start, and for whom nodes may be asked.

    ``short``: it waits for nodes, and nothing else holds it. Without it there may be no ``pods``, since others of the gang are missing.
    """

    application: str
    gang: str
    object_uid: str
    """That of the Application object, empty where there is none."""
    asked: Provisioning
    pods: tuple[Alike, ...]
    selector: tuple[tuple[str, str], ...]
    """The label of the nodes of its partition, if it is in one."""
    short: bool
    since: float
    """When it found no room for the first time."""


def lacking(state: State, asked_for: Iterable[Gang]) -> list[Lack]:
    """Return the gangs that lack pods to start, of those that have waited for nodes or for which nodes were asked, and may be asked for."""
    found = []
    for gang in {**state.gangs.stuck, **dict.fromkeys(asked_for)}:
        application = state.applications.get(gang[0])
        if application is None or gang in state.gangs.complete:
            continue
        asked = provisioning_of(state, gang[0])
        if not asked.class_name:
            continue
        for part in application.everywhere():
            if part.queue is not None and (asks := [one for one in asks_of(part, gang) if one.pods]):
                found.append(_lack(state, part, gang, asked, asks))
                break
    return sorted(found, key=lambda one: one.since)


def _lack(state: State, application: Application, gang: Gang, asked: Provisioning, asks: list[Ask]) -> Lack:
    lacking = lacks(state, application, gang)
    explicit = state.explicit.get(gang[0])
    pods: dict[int, Alike] = {}
    short = False
    if not isinstance(lacking, Wait):
        for one, count in lacking.share:
            first = one.pods.first.spec
            before = pods.get(one.shape.id)
            pods[one.shape.id] = (
                Alike(count, first.name, first.uid, first.demand)
                if before is None
                else replace(before, count=before.count + count)
            )
        quota = application.quota
        short = (
            any(one.wait is not None and one.wait.reason == NO_NODE and one.wait.blocker for one in asks)
            and exceeded(application.limiting, lacking.demand) is None
            and not (quota is not None and quota.exceeded())
            and all(hold.without_victims for hold in of_gang(state, gang))
        )
    return Lack(
        gang[0],
        gang[1],
        explicit.uid if explicit is not None else "",
        asked,
        tuple(pods.values()),
        ((state.scheduler.partition_label, application.partition),) if application.partition else (),
        short,
        state.gangs.stuck.get(gang, state.now),
    )
