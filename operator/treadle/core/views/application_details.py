"""Applications with all that YARN's web services tell of them, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from treadle.core.kernel.periodic.lifetimes import lifetime_of, submitted
from treadle.core.views.figures import application_figures

if TYPE_CHECKING:
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application
    from treadle.core.views.figures import Amounts, ApplicationFigures

MOST_ASKS = 100
"""Sets of pods that are alike and told of an application."""


@dataclass(frozen=True, slots=True)
class AskDetails:
    """Pods that are alike and wait: what one of them requests, and how many there are."""

    priority: int
    partition: str
    requests: Amounts
    pods: int


@dataclass(frozen=True, slots=True)
class PartitionDetails:
    """What an application has in a partition of nodes."""

    name: str
    used: Amounts
    pending: Amounts
    masters: Amounts


@dataclass(frozen=True, slots=True)
class ApplicationDetails:
    """An application. ``submitted``, ``started`` (its first pod that is known to its kubelet) and ``expires`` are in seconds since 1970, None where they are not known or there is none.

    ``master`` is the node of its pod with role master, empty without one; ``held`` is the room that is kept for it, ``tags`` those by which placement constraints name it.
    """

    figures: ApplicationFigures
    submitted: float | None
    started: float | None
    expires: float | None
    priority: int
    pods: int
    master: str
    held: Amounts
    tags: tuple[str, ...]
    asks: tuple[AskDetails, ...]
    partitions: tuple[PartitionDetails, ...]


def application_details(state: State, identity: str) -> ApplicationDetails | None:
    """Return the details of an application, None if it is not known."""
    application = state.applications.get(identity)
    if application is None:
        return None
    named, width = state.types.named, state.types.width
    held = [0] * width
    for hold in state.preemption.holds:
        if hold.application.whole is application:
            for position, value in hold.shape.charged:
                held[position] += value
    records = list(application.pods.values())
    started = [record.spec.started for record in records if record.node >= 0 and record.spec.started]
    since = submitted(state, application)
    lifetime = lifetime_of(state, application)
    asks = sorted(ask for ask in application.every_ask() if ask.pods)
    return ApplicationDetails(
        application_figures(state, application),
        since or None,
        min(started, default=None),
        None if lifetime is None else since + lifetime[0],
        application.priority,
        application.allocated,
        next((state.nodes.names[one.node] for one in records if one.node >= 0 and one.master), ""),
        named(held),
        next((one.spec.application_tags for one in records if one.spec.application_tags), ()),
        tuple(
            AskDetails(ask.key[1], ask.application.partition, named(_dense(ask.shape.charged, width)), len(ask.pods))
            for ask in asks[:MOST_ASKS]
        ),
        tuple(
            PartitionDetails(part.partition, named(part.usage), named(_pending(part, width)), named(part.master_usage()))
            for part in application.everywhere()
        ),
    )


def _pending(part: Application, width: int) -> list[int]:
    total = [0] * width
    for ask in part.asks.values():
        ask.add_to(total)
    return total


def _dense(demand: tuple[tuple[int, int], ...], width: int) -> list[int]:
    total = [0] * width
    for position, value in demand:
        total[position] += value
    return total
