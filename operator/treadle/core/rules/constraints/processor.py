"""Requests with placement constraints that are placed together (``DefaultPlacementAlgorithm`` of Hadoop's placement processor).

Each request, in the order of an iterator, takes nodes on a walk that goes on in circles where the one before ended; it begins with the
node that was last found good. A later placement may break an earlier one, so all are looked at again, and those that are broken are taken back. What found no
node or was taken back is tried once more; what is left then is rejected.

``Site`` is where requests are placed: it says what a node admits, and counts what is put there.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, Protocol, TypeVar

Node = TypeVar("Node", bound=Hashable)
Place_contra = TypeVar("Place_contra", contravariant=True)
Owner = TypeVar("Owner")

SERIAL, POPULAR_TAGS = "SERIAL", "POPULAR_TAGS"
"""The iterators: as they came, or those first of whose tags one is most common among the requests."""
ROUNDS = 2
"""How often a request is tried in a batch (``RE_ATTEMPT_COUNT``)."""


@dataclass(frozen=True, slots=True)
class Request(Generic[Owner]):
    """So many containers with some tags, which are alike."""

    owner: Owner
    tags: tuple[str, ...]
    count: int


@dataclass(slots=True)
class Found(Generic[Owner, Node]):
    """The nodes of a request that were found for it in one round."""

    request: Request[Owner]
    nodes: list[Node] = field(default_factory=list)


class Site(Protocol[Owner, Place_contra]):
    """Where requests are placed."""

    def fits(self, request: Request[Owner], node: Place_contra, /) -> bool:
        """Whether there is room for one container of a request on a node."""

    def satisfied(self, request: Request[Owner], node: Place_contra, /) -> bool:
        """Whether the constraints of a request hold on a node, by what was put there."""

    def put(self, request: Request[Owner], node: Place_contra, /) -> None:
        """Count one container of a request on a node."""

    def take(self, request: Request[Owner], node: Place_contra, /) -> None:
        """Count one less."""


@dataclass(frozen=True, slots=True)
class Answer(Generic[Owner, Node]):
    """What was placed, in the order in which it was found, and what of each request was rejected."""

    placed: list[Found[Owner, Node]]
    rejected: list[Request[Owner]]


def in_order(requests: Sequence[Request[Owner]], iterator: str) -> list[Request[Owner]]:
    """Return requests in the order of an iterator; equals as they came."""
    if iterator != POPULAR_TAGS:
        return list(requests)
    carried: dict[str, int] = {}
    for request in requests:
        for tag in set(request.tags):
            carried[tag] = carried.get(tag, 0) + 1
    return sorted(requests, key=lambda request: -max((carried[tag] for tag in request.tags), default=0))


def place(
    requests: Sequence[Request[Owner]],
    nodes: Sequence[Node],
    site: Site[Owner, Node],
    iterator: str = SERIAL,
) -> Answer[Owner, Node]:
    """Place a batch, as far as it can be."""
    placed: list[Found[Owner, Node]] = []
    rejected = list(requests)
    for _ in range(ROUNDS):
        rejected = _round(rejected, nodes, site, iterator, placed)
        rejected += take_back(site, placed)
        if not rejected:
            break
    return Answer(placed, rejected)


def _round(
    requests: Sequence[Request[Owner]],
    nodes: Sequence[Node],
    site: Site[Owner, Node],
    iterator: str,
    placed: list[Found[Owner, Node]],
) -> list[Request[Owner]]:
    """Find nodes for requests; returns what is left of them, in the order in which they came."""
    left: dict[int, int] = {}
    walk, last = iter(nodes), None
    for request in in_order(requests, iterator) if nodes else ():
        found: Found[Owner, Node] = Found(request)
        count = request.count
        placed.append(found)
        circle = Circle(last, walk, nodes)
        while circle.more() and count > 0:
            node = circle.next()
            if site.fits(request, node) and site.satisfied(request, node):
                count -= 1
                found.nodes.append(node)
                site.put(request, node)
                last = node
        left[id(request)] = count
    counts = [(request, left.get(id(request), request.count)) for request in requests]
    return [replace(request, count=count) for request, count in counts if count > 0]


def take_back(site: Site[Owner, Node], placed: list[Found[Owner, Node]]) -> list[Request[Owner]]:
    """Take back what does not satisfy its constraints any more, the first one first; returns it as requests.

    What is taken back later may have been what others relied on, which were looked at before: nothing is broken once nothing is taken back.
    """
    broken = []
    for found in placed:
        before, found.nodes = found.nodes, []
        for node in before:
            site.take(found.request, node)
            if site.satisfied(found.request, node):
                site.put(found.request, node)
                found.nodes.append(node)
        if len(found.nodes) < len(before):
            broken.append(replace(found.request, count=len(before) - len(found.nodes)))
    placed[:] = [found for found in placed if found.nodes]
    return broken


class Circle(Generic[Node]):
    """A walk around nodes: first to one that is given, then to all from where a shared walk stands (``CircularIterator``).

    The shared walk loses the node at which the circle begins, and each that it is moved on to; once it is at its end every circle begins anew.
    """

    def __init__(self, first: Node | None, walk: Iterator[Node], nodes: Sequence[Node]) -> None:
        self._first = first
        self._nodes = nodes
        self._walk = walk
        start = next(walk, None)
        if start is None:
            self._walk = iter(nodes)
            start = next(self._walk)
        self._start: Node = start
        self._coming: Node | None = start

    def more(self) -> bool:
        """Whether there is a node to go to; the walk is moved on to it."""
        if self._coming is None and self._first is None:
            node = next(self._walk, None)
            if node is None:
                self._walk = iter(self._nodes)
                node = next(self._walk)
            self._coming = None if node == self._start else node
        return self._coming is not None or self._first is not None

    def next(self) -> Node:
        """Return the node that comes; ``more`` has said that there is one."""
        if self._first is not None:
            node, self._first = self._first, None
            return node
        coming, self._coming = self._coming, None
        assert coming is not None
        return coming
