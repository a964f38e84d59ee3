"""Delay scheduling by missed offers, live (``RegularContainerAllocator``): how long an ask waits for what it prefers before it takes less.

YARN counts the nodes that offered themselves to a key in vain since it was last given what it prefers. A rack is near enough when
more than ``nodeLocalityDelay`` went by, but no more than there are nodes; any node is after ``rackLocalityAdditionalDelay``
further ones or, if that is -1, after as many as pods are waiting, times the part of the cluster that they name. There are no
heartbeats here. What keeps the number's meaning is their rate: a node offers itself once a second, so while n nodes could take a
pod that waits, n offers a second are missed. The first is the look itself. The nodes are counted when a wait begins, and the time
it ends then is not put off any more.
"""

from __future__ import annotations

from math import floor, inf
from typing import TYPE_CHECKING, NamedTuple

from treadle.core.kernel.locality import MOST_KEYS, forget_others, wait_until
from treadle.core.kernel.nodes.candidates import pick
from treadle.core.kernel.nodes.preferred import best_preferred, best_rack_local
from treadle.core.kernel.nodes.rules.resources import fitting
from treadle.core.kernel.seam import Choice

if TYPE_CHECKING:
    from treadle.core.kernel.nodes.near import Near
    from treadle.core.kernel.nodes.shapes import Shape
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Ask

OFFERS = 1.0
"""How often a node offers itself, in a second (``yarn.resourcemanager.nodemanagers.heartbeat-interval-ms``)."""

Key = tuple[int, int, bool]


class Missed:
    """The offers that the keys of an application have missed, and of those that wait since when, how many a second, and until when at the most."""

    __slots__ = ("count", "waiting")

    def __init__(self) -> None:
        self.count: dict[Key, float] = {}
        self.waiting: dict[Key, tuple[float, float, float]] = {}

    def up_to(self, key: Key, now: float) -> tuple[float, float]:
        """Return what a key has missed by now, and until when it waits at the most (infinite if it did not)."""
        missed = self.count.get(key, 0.0)
        since, rate, until = self.waiting.get(key, (now, 0.0, inf))
        return missed + rate * (now - since), until

    def stop(self, key: Key, missed: float) -> None:
        """Note that a key does not wait for what it prefers any more, and what it has missed."""
        self.waiting.pop(key, None)
        self.count[key] = missed

    def wait(self, key: Key, missed: float, now: float, rate: float, until: float) -> None:
        """Note that a key waits from now on."""
        self.count[key], self.waiting[key] = missed, (now, rate, until)


class Verdict(NamedTuple):
    """A row (-1: none), and until when an ask waits, for what and why (no words: it does not wait for places)."""

    row: int
    until: float = 0.0
    what: str = ""
    words: str = ""


def choose(state: State, ask: Ask, near: Near) -> Choice:
    """Return the closest node that an ask may take by now, or why it waits for a closer one."""
    found = near_enough(state, ask, near)
    return Choice(found.row, wait_until(state, ask, found.until, found.what, found.words) if found.words else None)


def near_enough(state: State, ask: Ask, near: Near) -> Verdict:
    """Return the closest node that an ask may take by now, or until when it waits for a closer one."""
    nodes, shape, score, key = state.nodes, ask.shape, state.score, ask.key
    book = _missed(ask)
    row = best_preferred(nodes, shape, near, score)
    if row >= 0:
        book.stop(key, 0.0)
        return Verdict(row)
    missed, until = book.up_to(key, state.now)
    row = best_rack_local(nodes, shape, near, score)
    in_rack = row >= 0
    if not in_rack:
        row = pick(nodes, shape, score)
    if row < 0:
        book.stop(key, missed)
        return Verdict(row)
    for_rack, for_any = thresholds(state, ask, near)
    enough = min(for_rack, for_any) if in_rack else for_any
    if missed >= enough or state.now >= until:
        reset = in_rack and missed >= for_rack and state.scheduler.capacity.rack_full_reset
        book.stop(key, 0.0 if reset else max(missed, enough))
        return Verdict(row)
    count = _able(state, shape)
    until = min(until, state.now + (enough - missed) / (OFFERS * count))
    book.wait(key, missed, state.now, OFFERS * count, until)
    return Verdict(-1, until, *_words(near, until - state.now, enough, count, racks=in_rack and for_rack <= for_any))


def thresholds(state: State, ask: Ask, near: Near) -> tuple[int, int]:
    """Return how many offers an ask must have missed before the racks of what it prefers will do, and before any node will."""
    settings, nodes = state.scheduler.capacity, near.known
    for_rack = settings.node_delay if len(near.preferred) else -1
    if not len(near.preferred) and not len(near.rack_local):
        return 0, 0
    if settings.rack_delay > -1:
        for_any: float = settings.node_delay + settings.rack_delay
    else:
        for_any = len(ask.pods) * min((len(near.preferred) + near.racks) / max(nodes, 1), 1.0)
    return max(0, min(nodes, for_rack)), max(0, floor(min(nodes, for_any)))


def _able(state: State, shape: Shape) -> int:
    """Return how many nodes have room for a pod of a shape and may take it, one at least."""
    nodes = state.nodes
    free = nodes.columns()[:, : len(nodes)]
    return max(1, int((nodes.mask(shape.constraints) & fitting(free, shape.demand)).sum()))


def _words(near: Near, seconds: float, enough: int, count: int, *, racks: bool) -> tuple[str, str]:
    what = "nodes that it prefers" if racks or not len(near.rack_local) else "racks of the nodes that it prefers"
    then = "their racks will do" if racks else "any node will do"
    nodes = f"{count} node{'s' if count > 1 else ''}"
    return what, (
        f"there is no room on the {what}; it lets {enough} offers of other nodes go by ({nodes} with room, each once a second), "
        f"for {seconds:.3g} s at the most, then {then}"
    )


def _missed(ask: Ask) -> Missed:
    application = ask.application
    if not isinstance(application.locality, Missed):
        application.locality = Missed()
    book = application.locality
    if len(book.count) > MOST_KEYS + 2 * len(application.asks):
        forget_others(book.count, application.asks)
        forget_others(book.waiting, application.asks)
    return book
