"""What of the opportunistic room is whose: divided between queues in proportion to their weights, which are their capacities or fair shares.

Room is shared as guaranteed resources are: what a queue does not want, or may not have by its limit, goes to its siblings, and below a queue to its children. Each type is
divided by itself. What a queue holds beyond its part is what it gives back first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from treadle.core.units.amounts import minus, plus
from treadle.core.units.resources import Vector


@dataclass(slots=True)
class Claim:
    """A queue that holds opportunistic pods or wants some: ``wanted`` is all that its own pods ask for, what they hold included.

    Weights are whole numbers (an amount, or millionths of a capacity). A queue with children wants what they do, too.
    """

    name: str
    weight: int
    wanted: Vector
    limit: Vector | None = None
    children: list[Claim] = field(default_factory=list)

    def most(self) -> Vector:
        """Return what it can use."""
        wanted = self.wanted
        for child in self.children:
            wanted = plus(wanted, child.most())
        return wanted if self.limit is None else [min(*pair) for pair in zip(wanted, self.limit, strict=True)]


def pool(room: Sequence[int], held: Sequence[Sequence[int]]) -> Vector:
    """Return what is divided: the room that nodes have and what opportunistic pods hold already."""
    total = list(room)
    for one in held:
        total = plus(total, one)
    return total


def divide(total: Sequence[int], claims: Sequence[Claim]) -> dict[str, Vector]:
    """Return the part of each queue by name, those below it included."""
    most = [claim.most() for claim in claims]
    columns = [fill(amount, [claim.weight for claim in claims], [one[at] for one in most]) for at, amount in enumerate(total)]
    parts: dict[str, Vector] = {}
    for at, claim in enumerate(claims):
        own = [column[at] for column in columns]
        parts[claim.name] = own
        if claim.children:
            parts |= divide(own, claim.children)
    return parts


def fill(total: int, weights: Sequence[int], most: Sequence[int]) -> list[int]:
    """Divide an amount by weights, nobody getting more than it can use.

    What does not come out even goes to the first ones, a unit each. Nothing is left while somebody with a weight can use it.
    """
    parts = [0] * len(weights)
    open_ = [at for at, weight in enumerate(weights) if weight > 0 and most[at] > 0]
    left = total
    while open_ and left > 0:
        whole = sum(weights[at] for at in open_)
        sated = [at for at in open_ if most[at] * whole <= left * weights[at]]
        if not sated:
            for at in open_:
                parts[at] = left * weights[at] // whole
            rest = left - sum(parts[at] for at in open_)
            for at in open_[:rest]:
                parts[at] += 1
            break
        for at in sated:
            parts[at] = most[at]
        left -= sum(most[at] for at in sated)
        open_ = [at for at in open_ if at not in sated]
    return parts


def over(held: Sequence[int], part: Sequence[int]) -> Vector:
    """Return what a queue holds beyond its part."""
    return [max(amount, 0) for amount in minus(held, part)]
