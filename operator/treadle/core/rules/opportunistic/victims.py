"""Which opportunistic pods of a node have to go, and in which order.

YARN takes the newest first. Ours asks what it costs: first pods of the queue that is furthest over its opportunistic share, of its pods the one whose end loses the least
work for what it frees. Pods that have not run for their minimum time come last, so that each gets somewhere before it is asked; pods whose budget allows no disruption
are not taken at all. Either way no more go than are needed: a prefix of the order.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from treadle.core.units.amounts import minus
from treadle.core.units.resources import Vector

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Candidate:
    """An opportunistic pod that runs.

    ``freed`` is what its end gives back: what it uses where that is known, else what it asks for. Work is lost from ``since`` on: its start, or its
    last checkpoint.
    """

    name: str
    queue: str
    demand: Sequence[int]
    freed: Sequence[int]
    started: float
    since: float
    minimum: float = 0.0
    """For how many seconds it should run before it is asked to go."""
    budget: Hashable = None
    """What counts its disruptions together with those of others, None if nothing does."""


@dataclass(frozen=True, slots=True)
class Chosen(Generic[V]):
    """Those that go, in their order, and what is lacking even then."""

    victims: list[V]
    lacking: Vector


def newest_first(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return candidates in YARN's order."""
    return sorted(candidates, key=lambda one: (-one.started, one.name))


@dataclass(frozen=True, slots=True)
class Costs:
    """What the order by cost goes by: what opportunistic pods of queues hold and their opportunistic shares, by name.

    ``total`` makes types comparable: what the cluster has. ``budgets`` is how many more disruptions are allowed, none by those that it does not have.
    """

    now: float
    held: Mapping[str, Sequence[int]]
    shares: Mapping[str, Sequence[int]]
    total: Sequence[int]
    budgets: Mapping[Hashable, int] = field(default_factory=dict)


def cheapest_first(candidates: Iterable[Candidate], lacking: Sequence[int], costs: Costs) -> Iterator[Candidate]:
    """Yield candidates in the order by cost. Those that free nothing of what is lacking are left out, and so are those whose budget is used up on the way."""
    helpful = [one for one in candidates if any(want > 0 < give for want, give in zip(lacking, one.freed, strict=True))]
    ripe = [one for one in helpful if costs.now - one.started >= one.minimum]
    unripe = [one for one in helpful if costs.now - one.started < one.minimum]
    held = {queue: list(amounts) for queue, amounts in costs.held.items()}
    budgets = dict(costs.budgets)
    for group in (ripe, unripe):
        waiting: dict[str, list[Candidate]] = {}
        for one in sorted(group, key=lambda one: (-_price(one, lacking, costs), one.started, one.name)):
            waiting.setdefault(one.queue, []).append(one)
        while waiting:
            queue = max(
                sorted(waiting), key=lambda queue: _overuse(held.get(queue, ()), costs.shares.get(queue, ()), costs.total)
            )
            one = waiting[queue].pop()
            if not waiting[queue]:
                del waiting[queue]
            if one.budget is not None:
                if budgets.get(one.budget, 0) <= 0:
                    continue
                budgets[one.budget] -= 1
            if queue in held:
                held[queue] = minus(held[queue], one.demand)
            yield one


def take(order: Iterable[V], lacking: Sequence[int], freed: Callable[[V], Sequence[int]]) -> Chosen[V]:
    """Return the first ones of an order until nothing is lacking; all of them where that is not enough. ``freed`` says what each gives back."""
    left = list(lacking)
    victims: list[V] = []
    candidates = iter(order)
    while any(amount > 0 for amount in left):
        one = next(candidates, None)
        if one is None:
            break
        victims.append(one)
        left = minus(left, freed(one))
    return Chosen(victims, [max(amount, 0) for amount in left])


def _overuse(held: Sequence[int], share: Sequence[int], total: Sequence[int]) -> float:
    """Return by how much of the cluster a queue holds more than its share, of the type where that is the most; negative below it."""
    shares = share or [0] * len(total)
    return max(((have - due) / whole for have, due, whole in zip(held, shares, total, strict=False) if whole), default=0.0)


def _price(one: Candidate, lacking: Sequence[int], costs: Costs) -> float:
    """Return the work that is lost for what is freed: seconds since work was last safe, times its part of the cluster, by the part of what is lacking that it gives."""
    work = max(costs.now - one.since, 0.0) * max(
        (amount / whole for amount, whole in zip(one.demand, costs.total, strict=True) if whole), default=0.0
    )
    given = max(min(give, want) / want for give, want in zip(one.freed, lacking, strict=True) if want > 0)
    return work / given
