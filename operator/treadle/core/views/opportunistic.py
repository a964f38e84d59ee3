"""What there is of opportunistic pods at one moment, as plain data for those who show it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from treadle.core.kernel.opportunistic.caps import Caps
from treadle.core.kernel.opportunistic.forecast import by_pods
from treadle.core.kernel.opportunistic.known import TYPES
from treadle.core.kernel.opportunistic.placing import held_by_queue
from treadle.core.kernel.opportunistic.telling import waiting
from treadle.core.rules.opportunistic.delays import BOUNDS, Delays
from treadle.core.units.amounts import plus

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application
    from treadle.core.units.resources import Vector

REMOVED_FOR = ("Requests", "Usage", "Pressure")
"""For what opportunistic pods have to go: others request what they were given, a node is used too much, or tasks wait there for too long."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Of which nodes, by name, and of which pods it is to be known what they use; pods are uids by namespace and name."""

    nodes: Sequence[str] = ()
    pods: Mapping[tuple[str, str], str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Predictions:
    """Predictions whose time is over, and how many of them were below the peak; what was lacking and what was too much, summed, each as a part of the real peak."""

    made: int
    below: int
    lacking: float
    wasted: float


@dataclass(frozen=True, slots=True)
class Times:
    """How many times were measured, their sum in seconds, and how many were at most so many seconds."""

    count: int
    total: float
    within: dict[float, int]


@dataclass(frozen=True, slots=True)
class OpportunisticFigures:
    """``given`` is what those on nodes were given, by the names of resource types: room that would be idle without them. ``leaving`` are those of them that were asked to go."""

    waiting: int
    queued: int
    """Those of them that stand in queues at nodes."""
    queue_limit: int
    """How long queues at nodes may be, 0 where there are none."""
    shed: int
    """How many times a pod had to leave such a queue since it was too long."""
    running: int
    leaving: int
    given: dict[str, int]
    removed: dict[str, int]
    predictions: dict[str, Predictions]
    """How far predictions were off, by the names of resource types."""
    until_asked: Times
    """From the first sample above a preemption threshold until a pod was asked to go for it."""
    until_gone: Times
    """From that sample until it was gone."""
    until_below: Times
    """From that sample until one that was not above."""


def opportunistic(state: State) -> OpportunisticFigures:
    """Return the figures of opportunistic pods."""
    kept = state.opportunistic
    given = [0] * TYPES
    for amounts in kept.on_row.values():
        given = plus(given, amounts)
    queues, settings = kept.queues, state.scheduler.opportunistic.node_queues
    limit = 0 if settings is None else settings.least  # where nobody stands the limit is not worked out
    if settings is not None and queues.at:
        limit = queues.limit.limit()
    return OpportunisticFigures(
        waiting=len(kept.waiting),
        queued=sum(uid in kept.waiting for uid in queues.of),
        queue_limit=limit,
        shed=queues.shed,
        running=len(kept.of),
        leaving=sum(uid in kept.of for uid in kept.going),
        given=dict(zip(state.types.names[:TYPES], given, strict=True)),
        removed={name: kept.removed[name] for name in REMOVED_FOR},
        predictions={
            name: Predictions(one.count, one.below, one.shortfall / 1000, one.waste / 1000)
            for name, one in zip(state.types.names, kept.usage.errors, strict=False)
        },
        until_asked=_times(kept.usage.until_asked),
        until_gone=_times(kept.usage.until_gone),
        until_below=_times(kept.usage.until_below),
    )


def _times(kept: Delays) -> Times:
    return Times(kept.count, kept.total, dict(zip(BOUNDS, kept.within, strict=True)))


def wanted(state: State) -> Wanted:
    """Return of whom it is to be known what they use."""
    settings = state.scheduler.opportunistic
    nodes = [spec.name for spec in state.nodes.specs if spec is not None]
    if by_pods(settings):
        records = [record for record in state.pods.values() if record.node >= 0 and record.application is not None]
    else:
        records = [one.record for one in state.opportunistic.of.values()] if settings.pods_told else []
    return Wanted(nodes, {(record.spec.namespace, record.spec.name): record.spec.uid for record in records})


def by_queue(state: State) -> dict[str, Vector]:
    """Return what opportunistic pods of queues, and of all below them, were given, by path; queues without any are left out."""
    return Caps(state, held_by_queue(state)).held


def of_application(state: State, application: Application) -> tuple[int, tuple[str, str] | None]:
    """Return how many opportunistic pods of an application wait, and (reason, message) of the first of them."""
    line = state.opportunistic.waiting
    found = [uid for uid in application.pods if uid in line] if line else []
    return len(found), waiting(state, line[found[0]]) if found else None
