"""One ordered log of everything that happened; a resourceVersion is a position in it.

Objects are dictionaries that are replaced and never changed, so a list, a watch and a caller may share one. A kind keeps its last
`ring` events: a watch that wants older ones is told that they are gone (410), as the watch cache of the API server does.
"""

import asyncio
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable
from functools import cached_property
from operator import attrgetter
from typing import NamedTuple

import msgspec

from treadle.fakeapi.errors import ApiError, Json
from treadle.fakeapi.selectors import Test

Key = tuple[str, str]
"""(namespace, name); the namespace of a cluster-scoped object is empty."""
encode = msgspec.json.Encoder().encode


class Entry:
    """An object and, once somebody asked for it, its JSON."""

    def __init__(self, obj: Json) -> None:
        self.obj = obj

    @cached_property
    def raw(self) -> bytes:
        """The object as JSON, encoded at most once however many watch it."""
        return encode(self.obj)


class Event(NamedTuple):
    """What one write did: `old` is None for a new object, `new` for a removed one; `last` is its final state."""

    version: int
    old: Entry | None
    new: Entry | None
    last: Entry

    def seen_through(self, test: Test | None) -> tuple[str, Entry] | None:
        """The event for a watch with a selector. Leaving the selection is DELETED, with the old object at the new version."""
        was = self.old is not None and (test is None or test(self.old.obj))
        if self.new is not None and (test is None or test(self.new.obj)):
            return ("MODIFIED" if was else "ADDED"), self.new
        if not was or self.old is None:
            return None
        return "DELETED", self.last if self.new is None else Entry(_at(self.old.obj, self.version))


def _at(obj: Json, version: int) -> Json:
    return obj | {"metadata": obj["metadata"] | {"resourceVersion": str(version)}}


class Collection:
    """The objects of one kind, the newest part of its log, and who wants to know: `listeners` are called, `wakers` are set."""

    def __init__(self, start: int, ring: int) -> None:
        self.entries: dict[Key, Entry] = {}
        self.listeners: list[Callable[[Event], None]] = []
        self.wakers: set[asyncio.Event] = set()
        self._log: list[Event] = []
        self._ring, self._forgotten = ring, start

    def append(self, event: Event) -> None:
        """Log an event and tell everybody."""
        self._log.append(event)
        if len(self._log) > 2 * self._ring:  # now and then, since cutting a list moves what is left
            self.forget(self._ring)
        for listener in self.listeners:
            listener(event)
        for waker in self.wakers:
            waker.set()

    def forget(self, keep: int = 0) -> None:
        """Drop all but the newest events; dropping all is what a restart of the API server does."""
        if len(self._log) > keep:
            self._forgotten = self._log[len(self._log) - keep - 1].version
            del self._log[: len(self._log) - keep]

    def since(self, version: int) -> list[Event]:
        """The events after `version`, oldest first. Raises a 410 ApiError when some are forgotten."""
        first = max(self._forgotten, self._log[-self._ring - 1].version if len(self._log) > self._ring else 0)
        if version < first:
            raise ApiError(410, "Expired", f"too old resource version: {version} ({first})")
        return self._log[bisect_right(self._log, version, key=attrgetter("version")) :]


class Store:
    """All collections and the counter that orders their events."""

    def __init__(self, ring: int) -> None:
        self.version = 1000  # so that version 1 is too old from the start, as on a server that has run for a while
        self.collections: defaultdict[str, Collection] = defaultdict(lambda: Collection(self.version, ring))

    def put(self, storage: str, key: Key, obj: Json) -> Json:
        """Add or replace an object; returns it with its new resourceVersion."""
        self.version += 1
        collection, entry = self.collections[storage], Entry(_at(obj, self.version))
        old = collection.entries.get(key)
        collection.entries[key] = entry
        collection.append(Event(self.version, old, entry, entry))
        return entry.obj

    def remove(self, storage: str, key: Key, last: Json) -> Json:
        """Remove an object whose last state is `last`; returns it with the version of its removal."""
        self.version += 1
        collection, entry = self.collections[storage], Entry(_at(last, self.version))
        collection.append(Event(self.version, collection.entries.pop(key), None, entry))
        return entry.obj
