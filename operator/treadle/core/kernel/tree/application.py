"""Applications and their asks: what waits, grouped by shape, and what they hold."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

from treadle.core.units.line import Line
from treadle.core.units.resources import Vector

if TYPE_CHECKING:
    from treadle.core.kernel.nodes.shapes import Shape
    from treadle.core.kernel.pods.table import PodRecord
    from treadle.core.kernel.tree.queue import Queue
    from treadle.core.kernel.tree.quota import Quota
    from treadle.core.model import Wait
    from treadle.core.rules.policies import Key


class Ask:
    """Pods of one application that are alike in demand, constraints, priority and role: YARN's ResourceRequest with a count.

    ``key`` is (shape's id, pod priority, whether master) and unique in the application. ``plain``: nothing but room and maxima matters to it. ``rank`` orders the asks of an application: higher pod priority first, then the master, then first come first served.
    """

    __slots__ = (
        "active",
        "application",
        "key",
        "master",
        "plain",
        "pods",
        "queued",
        "rank",
        "report_armed",
        "shape",
        "wait",
        "waiting_since",
    )

    def __init__(self, application: Application, shape: Shape, key: tuple[int, int, bool], number: int) -> None:
        self.application = application
        self.shape = shape
        self.key = key
        self.master = key[2]
        self.plain = not self.master and shape.near is None
        self.rank = (-key[1], not key[2], number)
        self.pods: Line[PodRecord] = Line()
        self.active = False
        self.queued = False
        self.wait: Wait | None = None
        self.waiting_since = 0.0
        self.report_armed = False

    @property
    def obstacle(self) -> Wait | None:
        """Why it does not compete; None if it does, or if the first of its shape does for it, since a node has room for that."""
        parked = self.shape.parked
        return None if parked.open and parked.asks.get(self) else self.wait

    def __lt__(self, other: Ask) -> bool:
        return self.rank < other.rank


class Application:
    """A set of pods that share as one: explicit (an Application object), or implied by the pods' labels or owner.

    ``queue`` is None while it has no queue to be in; ``wait`` then says why. ``ended`` says that its lifetime is over, so that nothing of it starts. ``home`` is the partition that it belongs to, kept where that matters. ``chain`` is the queues from the leaf to the root.
    ``busy``: it may run; ``counted``: it runs, by the limits on running applications, which is decided at the beginning of a pass. ``ledgers`` are the usage vectors of the application and its chain: what a placement is added to,
    ``limiting`` those of the chain that have a maximum. ``quota`` is that of its user in its leaf, under the capacity discipline.
    ``parts`` are what the application is in partitions of nodes other than the default one (see ``kernel.tree.partitions``), ``whole`` is what it is a part of;
    the whole has the pods, the number of those that are placed, and the decision whether it may run.
    ``rest_key`` is its key in its leaf while asks of it wait for nodes, asks of ``resting`` shapes (see ``kernel.tree.parked``).
    """

    __slots__ = (
        "active",
        "allocated",
        "asks",
        "busy",
        "chain",
        "counted",
        "demand",
        "demand_in",
        "ended",
        "explicit",
        "fair_share",
        "home",
        "id",
        "instant_share",
        "key",
        "ledgers",
        "limiting",
        "locality",
        "maximum",
        "minimum",
        "name",
        "order",
        "partition",
        "parts",
        "pods",
        "priority",
        "queue",
        "quota",
        "requested",
        "rest_key",
        "resting",
        "start",
        "told",
        "turn",
        "usage",
        "user",
        "wait",
        "wanted",
        "weight",
        "whole",
    )

    blocked_by: Ask | None = None
    """Never set: only queues are taken out of the order by who finds them full."""

    def __init__(self, identity: str, start: float, width: int) -> None:
        self.id = self.name = identity
        self.start = start
        self.turn = (start, identity)
        self.explicit = False
        self.wanted = ""
        self.requested = ""
        self.user = ""
        self.priority = 0
        self.weight = 1.0
        self.minimum: Vector | None = None
        self.maximum: Vector | None = None
        self.queue: Queue | None = None
        self.chain: tuple[Queue, ...] = ()
        self.usage: Vector = [0] * width
        self.ledgers: tuple[Vector, ...] = (self.usage,)
        self.limiting: tuple[Queue, ...] = ()
        self.demand: Vector = [0] * width
        self.demand_in: Queue | None = None
        """The leaf in whose demand its own is counted."""
        self.fair_share: Vector = [0] * width
        self.instant_share: Vector = [0] * width
        self.busy = True
        self.counted = False
        self.locality: object = None
        self.allocated = 0
        self.quota: Quota | None = None
        self.partition = ""
        self.parts: dict[str, Application] = {}
        self.whole = self
        self.asks: dict[tuple[int, int, bool], Ask] = {}
        self.order: list[Ask] = []
        self.pods: dict[str, PodRecord] = {}
        self.key: Key | None = None
        self.rest_key: Key | None = None
        self.resting = 0
        self.active = 0
        self.wait: Wait | None = None
        self.ended: Wait | None = None
        self.home: object = None
        self.told: dict[str, float] = {}
        """When an event told for which reason its pods wait."""

    def enqueue(self, ask: Ask) -> None:
        """Put an ask into the application's own order, once."""
        if not ask.queued:
            ask.queued = True
            heappush(self.order, ask)

    def next_ask(self) -> Ask:
        """Return the first active ask; the caller knows that there is one."""
        order = self.order
        while not order[0].active:
            heappop(order).queued = False
        return order[0]

    def master_usage(self) -> Vector:
        """Return what its placed masters hold in its partition."""
        total = [0] * len(self.usage)
        for record in self.whole.pods.values():
            if record.master and record.part is self:
                for position, value in record.shape.demand:
                    total[position] += value
        return total

    def everywhere(self) -> list[Application]:
        """Return the application and its parts in further partitions."""
        return [self, *self.parts.values()]

    def every_ask(self) -> list[Ask]:
        """Return the asks of the application in all partitions."""
        return [ask for part in self.everywhere() for ask in part.asks.values()]

    @property
    def pending(self) -> int:
        """How many pods wait for nodes of the application's own partition, and of its parts' ones."""
        return sum(len(ask.pods) for ask in self.every_ask())

    def pending_demand(self, width: int) -> Vector:
        """Return the sum of the demands of the waiting pods."""
        total = [0] * width
        for ask in self.every_ask():
            for position, value in ask.shape.demand:
                total[position] += value * len(ask.pods)
        return total

    def bury(self) -> None:
        """Let go of what refers to an application that is no more, so that its memory is free without a collection of garbage."""
        for part in self.everywhere():
            part.order.clear()
            part.whole = NOBODY
        self.parts.clear()

    def __lt__(self, other: object) -> bool:
        """Never: names make keys differ, so only an entry left by a vanished namesake ties with ours, and it is dropped anyway."""
        return False

    def __repr__(self) -> str:
        return f"Application({self.id})"


NOBODY = Application("", 0.0, 0)
"""What all that is no more is a part of."""
