"""One node: what starts, what waits there and what has to go (Hadoop's ``ContainerScheduler`` of the node manager).

Guaranteed containers start while they fit, in the order in which they came; opportunistic ones only where no guaranteed one waits, in their own order. Neither
overtakes: where the head of a queue does not fit, nobody behind it starts. A guaranteed one that has to wait displaces running opportunistic ones, the newest first,
no more than it and those ahead of it need. The queue of opportunistic ones is bounded, by a length or by room.

What is used is the sum of what running containers have been given, never what they really use.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum

from treadle.core.rules.opportunistic.victims import take
from treadle.core.units.amounts import fits, plus
from treadle.core.units.resources import Vector


class Move(Enum):
    """What becomes of a container."""

    START = "start"
    RESUME = "resume"
    PAUSE = "pause"
    REFUSE = "refuse"
    """It does not come into the queue, which is full."""
    DISPLACE = "displace"
    """It has to go, so that a guaranteed one can start."""
    SHED = "shed"
    """It has to leave the queue, whose limit has become shorter."""


@dataclass(slots=True)
class Container:
    """A container on its way through a node."""

    name: str
    demand: Sequence[int]
    guaranteed: bool = False
    paused: bool = False


Moved = tuple[Move, str]
Containers = dict[str, Container]


@dataclass(frozen=True, slots=True)
class QueueSettings:
    """How a node queues."""

    most: int = 0
    """How many opportunistic containers may wait. With 0 none is taken, also on an idle node, since all come through the queue, and guaranteed ones
    start without a look at what is free."""
    by_room: bool = False
    """Opportunistic ones are taken as long as they fit beside all that runs and waits; ``most`` does not count."""
    pause: bool = False
    """Displaced ones are paused and go on later, instead of ending."""


@dataclass(slots=True)
class NodeQueue:
    """The containers of a node of some size. What they are asked is done when the node says so: until then they keep their room."""

    size: Vector
    settings: QueueSettings
    running: Containers = field(default_factory=dict)
    guaranteed: Containers = field(default_factory=dict)
    opportunistic: Containers = field(default_factory=dict)
    going: Containers = field(default_factory=dict)
    """Running ones that were displaced."""
    used: Vector = field(init=False)

    def __post_init__(self) -> None:
        self.used = [0] * len(self.size)

    @property
    def starts_by_force(self) -> bool:
        """Whether guaranteed containers start without a look at what is free."""
        return self.settings.most <= 0 and not self.settings.by_room

    def arrive(self, container: Container) -> list[Moved]:
        """A container comes."""
        if container.guaranteed:
            self.guaranteed[container.name] = container
            moves = [*self._start(force=self.starts_by_force)]
            return moves + self._displace(container) if container.name in self.guaranteed else moves
        moves = [*self._start(force=False)]
        if not self._admits(container):
            return [*moves, (Move.REFUSE, container.name)]
        self.opportunistic[container.name] = container
        return [*moves, *self._start(force=False)]

    def end(self, name: str) -> list[Moved]:
        """A container has ended, wherever it was."""
        return self._released(name)

    def pause(self, container: Container) -> list[Moved]:
        """A container has been paused: it waits behind the others of its kind."""
        self._dequeue(container.name)
        container.paused = True
        self._queue_of(container)[container.name] = container
        return self._released(container.name, queued=True)

    def promote(self, name: str) -> list[Moved]:
        """An opportunistic container becomes guaranteed. One that waits displaces others; what waits is looked at."""
        container = self._find(name)
        moves: list[Moved] = []
        if container is not None:
            container.guaranteed = True
            if self.opportunistic.pop(name, None) is not None:
                self.guaranteed[name] = container
                moves = self._displace(container)
        return [*moves, *self._start(force=self.starts_by_force)]

    def demote(self, name: str) -> list[Moved]:
        """A guaranteed container becomes opportunistic. One that waits goes on waiting, whatever the length of the queue; what waits is looked at."""
        container = self._find(name)
        if container is not None:
            container.guaranteed = False
            if self.guaranteed.pop(name, None) is not None:
                self.opportunistic[name] = container
        return [*self._start(force=self.starts_by_force)]

    def resize(self, name: str, demand: Sequence[int]) -> None:
        """A container gets another size. Nobody starts or goes for it: the next arrival or end looks at what is free."""
        container = self._find(name)
        if container is None:
            return
        if name in self.running:
            self._count(container, -1)
        container.demand = demand
        if name in self.running:
            self._count(container, 1)

    def shorten(self, most: int) -> list[Moved]:
        """Let go those of the queue of opportunistic containers that are over a limit, the last ones. Paused ones stay and do not count; below 0 nothing is asked."""
        if not 0 <= most < len(self.opportunistic):
            return []
        over = [one.name for one in self.opportunistic.values() if not one.paused][most:]
        for name in over:
            del self.opportunistic[name]
        return [(Move.SHED, name) for name in over]

    def recover(self, container: Container, *, runs: bool) -> None:
        """A container was here before the node's agent started anew: it runs, or it waits. Nothing starts until ``recovered``."""
        if runs:
            self.running[container.name] = container
            self._count(container, 1)
        else:
            self._queue_of(container)[container.name] = container

    def recovered(self) -> list[Moved]:
        """All that was here is known again."""
        return [*self._start(force=self.starts_by_force)]

    def fits(self, demand: Sequence[int]) -> bool:
        """Whether there is room beside what runs."""
        return fits(plus(self.used, demand), self.size)

    def _admits(self, container: Container) -> bool:
        if not self.settings.by_room:
            return len(self.opportunistic) < self.settings.most
        return self.fits(_sum([container, *self.guaranteed.values(), *self.opportunistic.values()], len(self.size)))

    def _start(self, *, force: bool) -> Iterator[Moved]:
        yield from self._start_from(self.guaranteed, force=force)
        if not self.guaranteed:
            yield from self._start_from(self.opportunistic, force=False)

    def _start_from(self, queue: Containers, *, force: bool) -> Iterator[Moved]:
        while queue:
            container = next(iter(queue.values()))
            if not (force or self.fits(container.demand)):
                return
            del queue[container.name]
            self.running[container.name] = container
            self._count(container, 1)
            yield (Move.RESUME if container.paused else Move.START), container.name
            container.paused = False

    def _displace(self, container: Container) -> list[Moved]:
        ahead: list[Container] = []
        for one in self.guaranteed.values():
            ahead.append(one)
            if one is container:
                break
        coming, leaving = _sum(ahead, len(self.size)), _sum(self.going.values(), len(self.size))
        lacking = [
            used + more - less - size for used, more, less, size in zip(self.used, coming, leaving, self.size, strict=True)
        ]
        newest = (one for one in reversed(self.running.values()) if not one.guaranteed and one.name not in self.going)
        found = take(newest, lacking, lambda one: one.demand).victims
        self.going.update((one.name, one) for one in found)
        return [(Move.PAUSE if self.settings.pause else Move.DISPLACE, one.name) for one in found]

    def _released(self, name: str, *, queued: bool = False) -> list[Moved]:
        self.going.pop(name, None)
        if not queued:
            self._dequeue(name)
        container = self.running.pop(name, None)
        if container is None:
            return []
        self._count(container, -1)
        return [*self._start(force=self.starts_by_force)]

    def _find(self, name: str) -> Container | None:
        return self.running.get(name) or self.guaranteed.get(name) or self.opportunistic.get(name)

    def _dequeue(self, name: str) -> None:
        if self.opportunistic.pop(name, None) is None:
            self.guaranteed.pop(name, None)

    def _queue_of(self, container: Container) -> Containers:
        return self.guaranteed if container.guaranteed else self.opportunistic

    def _count(self, container: Container, sign: int) -> None:
        self.used = [have + sign * amount for have, amount in zip(self.used, container.demand, strict=True)]


def _sum(containers: Iterable[Container], types: int) -> Vector:
    total = [0] * types
    for one in containers:
        total = plus(total, one.demand)
    return total
