"""How the queues of a plan follow it (``AbstractSchedulerPlanFollower``): a queue for each reservation that is active, one for all else, and what becomes of the others.

A round is a list of decisions, to be carried out in order; one that the scheduler refuses is passed over, since the next round decides anew. Shares are parts of
what the plan has now. A reservation that is deleted because the plan has too little keeps its queue for one more round, as in Hadoop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from treadle.core.errors import CoreError
from treadle.core.rules.reservations.over_time import Amounts, minus, plus
from treadle.core.rules.reservations.replanning import HOUR, replan
from treadle.core.rules.reservations.stages import up

if TYPE_CHECKING:
    from treadle.core.rules.reservations.plan import Plan


class NotActive(CoreError):
    """An application belongs to a reservation that has no queue now; the message names both."""


@dataclass(frozen=True, slots=True)
class Child:
    """A queue below the plan's: the applications in it, and what of the plan it has been given."""

    applications: Sequence[str]
    given: Sequence[int]


@dataclass(frozen=True, slots=True)
class Create:
    """Make a queue, of which nothing is the plan's yet."""

    queue: str


@dataclass(frozen=True, slots=True)
class Entitle:
    """Give a queue a part of the plan, and let it grow to ``most``; both are parts of 1."""

    queue: str
    share: float
    most: float


@dataclass(frozen=True, slots=True)
class Move:
    """Move an application to another queue."""

    application: str
    queue: str
    to: str


@dataclass(frozen=True, slots=True)
class Kill:
    """End an application whose reservation is over. Its queue is removed in a later round."""

    application: str
    queue: str


@dataclass(frozen=True, slots=True)
class Remove:
    """Remove a queue in which nothing is."""

    queue: str


Decision = Create | Entitle | Move | Kill | Remove


@dataclass(slots=True)
class Round:
    """What a round decides; ``replanned`` are the reservations that were deleted since the plan has too little, ``archived`` those that are over."""

    decisions: list[Decision] = field(default_factory=list)
    replanned: list[str] = field(default_factory=list)
    archived: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class FollowSettings:
    """``move``: applications whose reservation is over go to the default queue instead of ending. ``window`` is how far ahead the plan must be kept, in ms."""

    move: bool = True
    window: int = HOUR
    capped: frozenset[str] = frozenset()
    """Reservations whose queues may not grow beyond their share: gangs for which more is of no use."""


def default_of(plan: str) -> str:
    """Return the name of the queue for applications without a reservation, from that of the plan's queue."""
    return f"{plan}-default"


def child_for(plan: str, children: Mapping[str, Child], reservation: str | None) -> str:
    """Return the queue below a plan's for an application. Raises ``NotActive`` if its reservation has none."""
    if reservation is None:
        return default_of(plan)
    if reservation not in children:
        raise NotActive(f"reservation {reservation!r} has no queue below {plan!r} now: it has not begun, or is over")
    return reservation


def follow(
    plan: Plan,
    name: str,
    has: Sequence[int],
    children: Mapping[str, Child],
    now: int,
    settings: FollowSettings,
    *,
    replanning: bool = True,
) -> Round:
    """Return a round for the plan on queue ``name``, which ``has`` so much now. Changes the plan: reservations are deleted and archived.

    ``plan.capacity`` is what the replanner goes by, so it should be the same. Without ``replanning`` all shrink alike where more is promised.
    """
    now = up(now, plan.settings.step)
    found, default = Round(), default_of(name)
    current = plan.active(now)
    reserved: Amounts = (0,) * len(has)
    for one in current:
        reserved = plus(reserved, one.at(now))
    if default not in children:
        found.decisions.append(Create(default))
    shrink = False
    if plan.settings.calculator.more(has, reserved, has):
        if replanning:
            found.replanned = replan(plan, now, settings.window)
        else:
            shrink = True
    names = {one.name for one in current}
    for child, queue in children.items():
        if child not in names and child != default:
            found.decisions += _expired(child, queue, default, move=settings.move)
    found.decisions.append(Entitle(default, 0.0, 1.0))
    total = 0.0
    for one in sorted(
        current, key=lambda one: minus(one.at(now), children[one.name].given if one.name in children else (0,) * len(has))
    ):
        if one.name not in children:
            found.decisions.append(Create(one.name))
        share = _share(plan, has, one.at(now), reserved if shrink else None)
        found.decisions.append(Entitle(one.name, share, share if one.name in settings.capped else 1.0))
        total += share
    found.decisions.append(Entitle(default, 1.0 - total, 1.0))
    found.archived = plan.archive(now)
    return found


def _expired(name: str, queue: Child, default: str, *, move: bool) -> list[Decision]:
    found: list[Decision] = [Entitle(name, 0.0, 0.0)]
    if move:
        found += [Move(application, name, default) for application in queue.applications]
    elif queue.applications:
        return [*found, *(Kill(application, name) for application in queue.applications)]
    return [*found, Remove(name)]


def _share(plan: Plan, has: Sequence[int], wanted: Sequence[int], reserved: Sequence[int] | None) -> float:
    """Return which part of the plan a reservation gets: what it has been promised, or its part of all that was promised."""
    if not all(has[:2]):
        return 0.0
    calculator = plan.settings.calculator
    if reserved is not None:
        wanted = calculator.times(has, calculator.ratio(wanted, reserved))
    return calculator.divide(has, wanted, has)
