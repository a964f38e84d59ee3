"""What an application asks for and has not got yet, by priority, size and place (Hadoop's ``OpportunisticContainerContext``)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

Size = tuple[int, ...]
"""An amount of each resource type."""
ANY = "*"
RACK = "/"
"""What the names of racks begin with."""


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """Requests of one priority (the larger the number, the earlier they are served) and one identity that the application gave."""

    priority: int
    identity: int = -1


@dataclass(frozen=True, slots=True)
class Asked:
    """One line of a request: so many containers at a place: a node, a rack or anywhere. Of a place it replaces what was asked before."""

    key: Key
    place: str
    size: Size
    count: int
    partition: str = ""


@dataclass(slots=True)
class Request:
    """So many containers of a size; ``nodes`` and ``racks`` are where some of them are preferred."""

    key: Key
    size: Size
    count: int
    partition: str = ""
    nodes: dict[str, int] = field(default_factory=dict)
    racks: dict[str, int] = field(default_factory=dict)

    def ask(self, place: str, count: int) -> None:
        """Say how many are wanted at a place."""
        if place == ANY:
            self.count = count
            return
        where = self.racks if place.startswith(RACK) else self.nodes
        if count:
            where[place] = count
        else:
            where.pop(place, None)

    def given(self, place: str) -> None:
        """One was placed for the sake of a place."""
        self.count -= 1
        for where in (self.racks, self.nodes):
            if place in where:
                where[place] -= 1
                if not where[place]:
                    del where[place]
                return


@dataclass(frozen=True, slots=True)
class Placed:
    """A container that found a node. ``place`` is what of the request it was placed for, ``number`` counts the application's containers."""

    number: int
    key: Key
    asked: Size
    size: Size
    node: str
    place: str


@dataclass(slots=True)
class Sizes:
    """The least, the most and the step of what a container may have."""

    least: Size
    most: Size
    step: Size

    def normal(self, size: Size) -> Size:
        """Return a size raised to the least, rounded up to the step and held at the most (Hadoop's ``normalize``)."""
        given = zip(size, self.least, self.most, self.step, strict=True)
        return tuple(min(-(-max(one, least) // step) * step, most) for one, least, most, step in given)


class Outstanding:
    """The requests of one application, and the nodes that it avoids."""

    def __init__(self, sizes: Sizes) -> None:
        self.sizes = sizes
        self.requests: dict[Key, dict[Size, Request]] = {}
        self.avoided: set[str] = set()
        self._made = 1

    def avoid(self, add: Iterable[str], remove: Iterable[str]) -> None:
        """Avoid further nodes, and others no longer."""
        self.avoided.difference_update(remove)
        self.avoided.update(add)

    def ask(self, asked: Iterable[Asked]) -> None:
        """Take what is asked for."""
        for one in asked:
            of_key = self.requests.setdefault(one.key, {})
            if one.size not in of_key:
                of_key[one.size] = Request(one.key, one.size, one.count, one.partition)
            of_key[one.size].ask(one.place, one.count)

    def in_order(self) -> list[Key]:
        """Return the keys in the order in which they are served."""
        return sorted(self.requests, reverse=True)

    def of(self, key: Key) -> list[Request]:
        """Return the requests of a key, one for each size."""
        return list(self.requests.get(key, {}).values())

    def preferred(self, places: Mapping[str, int]) -> list[str]:
        """Return preferred places in the order in which they are served."""
        return list(places)

    def place(self, request: Request, node: str, place: str) -> Placed:
        """Return a container of a request on a node."""
        self._made += 1
        return Placed(self._made, request.key, request.size, self.sizes.normal(request.size), node, place)

    def match(self, placed: Collection[Placed]) -> None:
        """Count off what was placed."""
        for one in placed:
            of_key = self.requests.get(one.key)
            request = of_key.get(one.asked) if of_key is not None else None
            if of_key is None or request is None:
                continue
            request.given(one.place)
            if not request.count:
                del of_key[one.asked]
                if not of_key:
                    del self.requests[one.key]
