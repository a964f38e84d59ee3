"""What an application asks for: per priority a size, and counts for hosts, racks and anywhere (Hadoop's ``LocalityAppPlacementAllocator``).

The count for ANY is the whole; counts for hosts and racks say where some of it would rather be. A count replaces the former one.
A key whose count for ANY is used up is no longer served, but what is left of its hosts and racks stays until asked anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from treadle.core.units.amounts import add_to
from treadle.core.units.resources import Vector

ANY = "*"


class Key(NamedTuple):
    """What requests are kept under. The smallest is served first."""

    priority: int
    allocation: int = -1


@dataclass(slots=True)
class Ask:
    """A count of containers of one size at one place: a host, a rack, or ANY. ``relax``: other places will do as well.

    ``partition`` of the ask for ANY holds for all places of its key.
    """

    place: str
    demand: Sequence[int]
    count: int
    relax: bool = True
    partition: str = ""


class Requests:
    """All requests of an application. ``places`` is by key, then by place; ``keys`` are those with a count for ANY, ``partitions`` all that were ever asked for."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.places: dict[Key, dict[str, Ask]] = {}
        self.keys: set[Key] = set()
        self.partitions: set[str] = set()

    def update(self, key: Key, asks: Sequence[Ask]) -> None:
        """Replace the counts of the named places of a key."""
        places = self.places.setdefault(key, {})
        for ask in asks:
            places[ask.place] = ask
            if ask.place == ANY:
                total = ask.count
                if total > 0:
                    self.keys.add(key)
        if any(ask.place == ANY for ask in asks) and places[ANY].count <= 0:
            self.keys.discard(key)
            del self.places[key]

    def clear(self) -> None:
        """Forget everything."""
        self.places.clear()
        self.keys.clear()

    def in_order(self) -> list[Key]:
        """Return the keys that are served, the most urgent first."""
        return sorted(self.keys)

    def ask(self, key: Key, place: str) -> Ask | None:
        """Return what is asked at a place, None if nothing ever was or all of it was given."""
        return self.places.get(key, {}).get(place)

    def count(self, key: Key, place: str) -> int:
        """Return how many containers are wanted at a place."""
        ask = self.ask(key, place)
        return ask.count if ask is not None else 0

    def relaxed(self, key: Key, place: str) -> bool:
        """Whether one may look beyond a place; where nothing is asked nothing forbids it."""
        ask = self.ask(key, place)
        return ask is None or ask.relax

    def distinct(self, key: Key) -> int:
        """Return how many places a key names."""
        return len(self.places.get(key, {}))

    def first(self) -> Ask | None:
        """Return what is asked for anywhere under the most urgent key."""
        return self.ask(min(self.keys), ANY) if self.keys else None

    def outstanding(self) -> Vector:
        """Return the sum of what is asked for."""
        total = [0] * self.width
        for key in self.keys:
            ask = self.places[key].get(ANY)
            if ask is not None and ask.count > 0:
                add_to(total, [value * ask.count for value in ask.demand])
        return total

    def give(self, key: Key, places: Sequence[str]) -> None:
        """Count one container as given: at each of ``places``, the last of which is ANY."""
        asked = self.places[key]
        for place in places:
            ask = asked[place]
            ask.count -= 1
            if ask.count == 0:
                del asked[place]
        if ANY not in asked:
            self.keys.discard(key)
            if not asked:
                del self.places[key]
