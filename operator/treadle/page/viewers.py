"""Who looks, at what, and what each of them is sent: one event for all who may see the same.

Somebody who does not read what is sent is not waited for: no more than ``MOST_OWED`` events are kept for anybody, who then is hung up on and comes back for all of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from treadle.core.rules.placement.names import is_below
from treadle.page import rows
from treadle.page.board import Board, Changes
from treadle.page.packing import event, packed

MOST_OWED: Final = 4
MOST_APPLICATIONS: Final = 20_000
"""Applications that one viewer is told of."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What somebody wants to see: topics, and of applications those in ``queue`` and below it."""

    topics: frozenset[str]
    queue: str = ""


@dataclass(slots=True, eq=False)
class Viewer:
    """Somebody who looks. ``sees`` are the paths of queues of which they may see what they hold, None for all there are."""

    wish: Wish
    sees: frozenset[str] | None
    nodes: bool = True
    """Whether nodes may be seen, and what the cluster has together."""
    asks: Callable[[], Callable[[str], bool]] | None = None
    """Returns what tells for the moment whether what a queue holds may be seen, for queues that are new; None for all."""
    owed: asyncio.Queue[bytes | None] = field(default_factory=lambda: asyncio.Queue(MOST_OWED + 1))
    """Pieces to send; None is the last: hang up."""
    full: bool = False
    """Whether all of it was sent, so that changes make sense."""
    cut: frozenset[str] = frozenset()
    """Topics of which there was too much to be told."""

    @property
    def event(self) -> str:
        """What they are sent next: all or what changed."""
        return "change" if self.full else "full"

    @property
    def kind(self) -> Hashable:
        """What all have in common who are sent the same."""
        return self.event, self.wish, self.sees, self.nodes, self.cut if self.full else None

    def may(self, topic: str) -> bool:
        """Whether anything of a topic may be seen."""
        return topic != rows.NODES or self.nodes

    def shows(self, topic: str, where: str) -> bool:
        """Whether a row of a queue is wanted and may be seen."""
        if topic == rows.APPLICATIONS and not is_below(where, self.wish.queue):
            return False
        if topic == rows.NODES:
            return self.nodes
        return bool(where) if self.sees is None else where in self.sees

    def put(self, piece: bytes) -> bool:
        """Owe a piece; returns whether there is room, and ends the stream if not."""
        room = self.owed.qsize() < MOST_OWED
        self.owed.put_nowait(piece if room else None)
        return room

    def end(self, words: bytes) -> None:
        """Owe the last words, and nothing after them."""
        while not self.owed.empty():
            self.owed.get_nowait()
        self.owed.put_nowait(words)
        self.owed.put_nowait(None)

    def find(self, paths: Sequence[str]) -> None:
        """See those of new queues that may be seen."""
        if paths and self.sees is not None and self.asks is not None:
            may = self.asks()
            found = [path for path in paths if path not in self.sees and may(path)]
            self.sees = self.sees.union(found) if found else self.sees


class Viewers:
    """All who look."""

    def __init__(self, board: Board) -> None:
        """Nobody looks."""
        self._board = board
        self.all: set[Viewer] = set()
        self.dropped = 0
        """How many did not read what they were sent."""

    @property
    def topics(self) -> frozenset[str]:
        """What is looked at by anybody."""
        return frozenset().union(*(one.wish.topics for one in self.all))

    async def tell(self, changes: Mapping[str, Changes]) -> None:
        """Send everybody what changed, and all of it to whoever has nothing yet.

        Who comes, or may see something else, while this is made has a turn with the next tick.
        """
        made: dict[Hashable, bytes] = {}
        new = [path for path, one in changes.get(rows.QUEUES, {}).items() if one.before is None]
        for viewer in list(self.all):
            if viewer.full:
                viewer.find(new)
        for viewer in list(self.all):
            if viewer.kind not in made:
                body = self._changed(viewer, changes) if viewer.full else self._all(viewer)
                made[viewer.kind] = await asyncio.to_thread(packed, event(viewer.event, body))
        for viewer in list(self.all):
            piece = made.get(viewer.kind)
            if piece is None:
                continue
            viewer.full = True
            if not viewer.put(piece):
                self.dropped += 1
                self.all.discard(viewer)

    def _changed(self, viewer: Viewer, changes: Mapping[str, Changes]) -> bytes:
        found: dict[str, dict[str, Any]] = {}
        for topic in sorted(viewer.wish.topics - viewer.cut):
            now: list[bytes] = []
            gone: list[str] = []
            for key, one in changes.get(topic, {}).items():
                if one.after is not None and viewer.shows(topic, one.after.where):
                    now.append(one.after.body)
                elif one.before is not None and viewer.shows(topic, one.before.where):
                    gone.append(key)
            if now or gone:
                found[topic] = {"rows": _array(now), "gone": gone}
        return self._body(viewer, found)

    def _all(self, viewer: Viewer) -> bytes:
        found: dict[str, Any] = {}
        viewer.cut = frozenset()
        for topic in sorted(viewer.wish.topics):
            if not viewer.may(topic):
                found[topic] = {"refused": True}
                continue
            seen = [one.body for one in self._board.rows[topic].values() if viewer.shows(topic, one.where)]
            if topic == rows.APPLICATIONS and len(seen) > MOST_APPLICATIONS:
                found[topic], viewer.cut = {"tooMany": len(seen)}, frozenset({topic})
                continue
            found[topic] = {"rows": _array(seen)}
        if self._board.sources.history:
            found["history"] = True
        if self._board.sources.offers:
            found["offers"] = sorted(self._board.sources.offers)
        return self._body(viewer, found)

    def _body(self, viewer: Viewer, found: dict[str, Any]) -> bytes:
        if viewer.nodes or viewer.shows(rows.QUEUES, rows.ROOT):
            found["cluster"] = msgspec.Raw(self._board.cluster)
        return msgspec.json.encode(found)


def _array(parts: list[bytes]) -> msgspec.Raw:
    return msgspec.Raw(b"[" + b",".join(parts) + b"]")
