"""Which containers of a node to take so that a request fits (Hadoop's ``FSPreemptionThread``).

For each container that an application is short of, nodes are looked at one after the other. On a node victims are taken until the
request would fit, masters last; all victims for one container are on one node. The first node that needs no master is taken,
else the one that needs the fewest. Whether a container may be taken is the caller's rule. Works for whatever holds
containers: YARN's node managers, or pods on rows of the cluster's columns.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from treadle.core.units.amounts import add_to, fits
from treadle.core.units.resources import Vector

NO_BOUND = (1 << 31) - 1


class Possible(Protocol):
    """A container that might be taken."""

    @property
    def demand(self) -> Sequence[int]:
        """What it holds."""
        ...

    @property
    def master(self) -> bool:
        """Whether its application ends with it."""
        ...

    @property
    def owner(self) -> Hashable:
        """Its application."""
        ...


C = TypeVar("C", bound=Possible)


@dataclass(slots=True)
class Picked(Generic[C]):
    """The victims of one node, in the order in which they were found, and how many masters are among them."""

    victims: list[C] = field(default_factory=list)
    masters: int = 0


MayLose = Callable[[C, Vector], bool]
"""Whether a container may be taken beside what was picked from its application already."""


def pick_on_node(
    request: Sequence[int],
    room: Sequence[int],
    candidates: Iterable[C],
    may_lose: MayLose[C],
    most_masters: int = NO_BOUND,
    needed: int = 0,
) -> Picked[C] | None:
    """Return who has to go from a node so that ``request`` fits, or None if that cannot be had with fewer than ``most_masters`` masters.

    ``room`` is what is free and not promised. Each candidate is taken if it may be, and only then it is asked whether that is
    enough. The first ``needed`` candidates all have to go, whether there is room or not.
    """
    picked: Picked[C] = Picked()
    considered: dict[Hashable, Vector] = {}
    potential = list(room)
    for number, container in enumerate(candidates, 1):
        taken = considered.setdefault(container.owner, [0] * len(potential))
        if may_lose(container, taken):
            if container.master:
                picked.masters += 1
                if picked.masters >= most_masters:
                    return None
            picked.victims.append(container)
            add_to(taken, container.demand)
            add_to(potential, container.demand)
        elif number <= needed:
            return None
        if number >= needed and fits(request, potential):
            return picked
    return None


S_co = TypeVar("S_co", bound=Possible, covariant=True)


class Place(Protocol[S_co]):
    """A node with containers."""

    def room(self) -> Vector:
        """Return what is free and not promised."""
        ...

    def candidates(self) -> Iterable[S_co]:
        """Return its containers that are not marked yet, masters last."""
        ...


def pick_best(
    request: Sequence[int], nodes: Iterable[Place[C]], may_lose: MayLose[C], most_masters: int = NO_BOUND
) -> Picked[C] | None:
    """Return the victims of the first node that needs no master, else those of the one that needs the fewest; None if no node helps."""
    best: Picked[C] | None = None
    for node in nodes:
        picked = pick_on_node(request, node.room(), node.candidates(), may_lose, most_masters)
        if picked is not None:
            best, most_masters = picked, picked.masters
            if not most_masters:
                break
    return best
