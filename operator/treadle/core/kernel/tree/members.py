"""The members of the tree, from the root down to a pod: queues, applications, their asks and the records of pods.

Each refers to those above and below it, so they are described in one module. They hold what is known; what is done with them is
in the modules around: limits, orders, admission and demand beside this one, the steps of a pod's life in ``kernel.pods``.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

from treadle.core.kernel.pods.states import PodState
from treadle.core.kernel.tree.parked import Rest
from treadle.core.model import QueueSpec
from treadle.core.rules.policies import Cluster, Key, Policy, Ranker
from treadle.core.rules.running import NO_LIMIT
from treadle.core.units.amounts import f32
from treadle.core.units.line import Line
from treadle.core.units.resources import UNBOUNDED, Demand, Vector

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from treadle.core.kernel.between.kinds import Kind
    from treadle.core.kernel.nodes.shapes import Shape
    from treadle.core.kernel.tree.parked import Level
    from treadle.core.kernel.tree.quota import Quota
    from treadle.core.model import PodSpec, Wait


class PodRecord:
    """A pod as last seen, and what is counted for it: its ``shape`` on ``node``, a row of the node columns (-1: it is on none).

    ``state`` is written by ``PodTable.move``, and by ``assume`` for every placement.
    """

    __slots__ = (
        "application",
        "ask",
        "cause",
        "decided",
        "entered",
        "failure_words",
        "failures",
        "kind",
        "master",
        "node",
        "paid",
        "part",
        "reported_at",
        "reported_message",
        "reported_reason",
        "shape",
        "since",
        "spec",
        "state",
    )

    def __init__(self, spec: PodSpec, shape: Shape, kind: Kind) -> None:
        self.spec = spec
        self.shape = shape
        self.kind = kind
        self.state = PodState.IDLE
        self.application: Application | None = None
        self.part: Application | None = None
        """What of the application it is counted in while it is placed, by the partition of its node."""
        self.paid: Demand = ()
        """What it counts for in its queues beside its demand: devices (``kernel.pods.device_charges``)."""
        self.ask: Ask | None = None
        self.node = -1
        self.cause = 0
        self.decided: PodSpec | None = None
        """The pod as it was when its bind was decided, where it has been edited since and the bind is under way: what is counted is what that was."""
        self.failures = 0
        self.failure_words = ""
        """What the API server said when a bind of it failed last."""
        self.master = False
        """Whether it is counted among the masters of its queue."""
        self.entered = float("-inf")
        """When it first waited here; minus infinity: it never did."""
        self.since = 0.0
        """When it was last assumed."""
        self.reported_reason, self.reported_message = spec.reported
        self.reported_at = float("-inf")

    @property
    def charged(self) -> Demand:
        """What a placed pod counts for in its queues; a type may come twice."""
        return self.shape.demand + self.paid


class Ask:
    """Pods of one application that are alike in demand, constraints, priority and role: YARN's ResourceRequest with a count."""

    __slots__ = (
        "active",
        "application",
        "batched",
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
        """The shape's id, the pods' priority, whether they are masters: unique in the application."""
        self.master = key[2]
        self.batched = shape.asked.batch is not None and not self.master
        """Whether it is placed together with others of its application."""
        self.plain = not self.master and shape.near is None and not shape.gang[1] and not self.batched
        """Whether nothing but room and maxima matters to it."""
        self.rank = (-key[1], not key[2], number)
        """Its place among the asks of its application: pod priority, then masters, then first come first served."""
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

    def add_to(self, total: Vector) -> None:
        """Add what its pods would count for in their queues."""
        shape, count = self.shape, len(self.pods)
        for position, value in shape.charged:
            total[position] += value * count
        if shape.once:
            self.share(total)

    def share(self, total: Vector) -> None:
        """Take away what all of its pods together count for once, for all of them but one."""
        again = len(self.pods) - 1
        for position, value in self.shape.once:
            total[position] -= value * again

    @property
    def charged(self) -> list[tuple[Demand, int]]:
        """What its pods would count for in their queues, (amounts of one pod, number of pods): the first one may count for what all have."""
        shape, count = self.shape, len(self.pods)
        if not shape.once:
            return [(shape.charged, count)]
        shared = dict(shape.once)
        further = tuple((at, left) for at, value in shape.charged if (left := value - shared.get(at, 0)))
        return [(shape.charged, 1), (further, count - 1)]

    def __lt__(self, other: Ask) -> bool:
        return self.rank < other.rank


class Application:
    """A set of pods that share as one: explicit (an Application object), or implied by the pods' labels or owner.

    In each partition of nodes other than the default one an application is a part, an object of this class
    (``kernel.tree.partitions``). The ``whole`` has the pods, the number of those that are placed, and the decision whether the
    application may run.
    """

    __slots__ = (
        "active",
        "allocated",
        "asked_priority",
        "asks",
        "busy",
        "chain",
        "counted",
        "demand",
        "demand_in",
        "ended",
        "explicit",
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
        "rests",
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
    """Never set: only queues are taken out of the order by an ask that finds them full."""
    limited = False
    """Never set: only queues have a maximum."""

    def __init__(self, identity: str, start: float, width: int) -> None:
        # identity and definition
        self.id = self.name = identity
        self.start = start
        self.turn = (start, identity)
        self.explicit = False
        self.user = ""
        self.asked_priority = self.priority = 0
        """The one that it asks for, and the one that it has: at most what its queue allows."""
        self.weight = 1.0
        self.minimum: Vector | None = None
        self.maximum: Vector | None = None
        self.wanted = ""
        """The queue that its pods name."""
        self.requested = ""
        """The queue that its Application object names, which goes before that."""

        # place in the tree
        self.queue: Queue | None = None
        """None while no queue takes it; ``wait`` then says why."""
        self.chain: tuple[Queue, ...] = ()
        """The queues from its leaf to the root."""
        self.limiting: tuple[Queue, ...] = ()
        """Those of the chain that have a maximum."""
        self.partition = ""
        self.home: object = None
        """The partition that it belongs to, where the discipline keeps that."""
        self.parts: dict[str, Application] = {}
        self.whole = self

        # usage
        self.usage: Vector = [0] * width
        self.ledgers: tuple[Vector, ...] = (self.usage,)
        """The usage of the application and of its chain: what a placement is added to."""
        self.demand: Vector = [0] * width
        self.demand_in: Queue | None = None
        """The leaf in whose demand its own is counted."""
        self.instant_share: Vector = [0] * width
        self.allocated = 0
        self.quota: Quota | None = None
        """What its user may have in its leaf, under the capacity discipline."""

        # pods and what waits
        self.pods: dict[str, PodRecord] = {}
        self.asks: dict[tuple[int, int, bool], Ask] = {}
        self.order: list[Ask] = []
        self.active = 0
        self.wait: Wait | None = None
        self.locality: object = None
        self.told: dict[str, float] = {}
        """When an event told for which reason its pods wait."""

        # whether it may run
        self.busy = True
        self.counted = False
        """Whether it runs by the limits on running applications, which is decided at the beginning of a pass."""
        self.ended: Wait | None = None
        """That its lifetime is over, so that nothing of it starts."""

        # order in its leaf
        self.key: Key | None = None
        self.rest_key: Key | None = None
        """Its key while asks of it wait for nodes (``kernel.tree.parked``)."""
        self.rests: dict[Shape, list[Ask]] = {}
        """The asks that do, by shape, the first one first."""

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
                for position, value in record.charged:
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
            ask.add_to(total)
        return total

    def bury(self) -> None:
        """Let go of what refers to an application that is no more, so that its memory is free without a collection of garbage."""
        for part in self.everywhere():
            part.order.clear()
            part.whole = NO_APPLICATION
        self.parts.clear()

    def __lt__(self, other: object) -> bool:
        """Never: names make keys differ, so only an entry left by a vanished namesake ties with ours, and it is dropped anyway."""
        return False

    def __repr__(self) -> str:
        return f"Application({self.id})"


NO_APPLICATION = Application("", 0.0, 0)
"""What all that is no more is a part of."""


class Queue:
    """A queue in force: its place in the tree, its limits, its usage and the order of what waits below it.

    In each partition of nodes other than the default one a queue is a part, an object of this class (``kernel.tree.partitions``).
    ``demand``, ``pending``, ``running``, ``accepted``, ``waiting_pods``, the shares and ``busy`` are as of the last update pass.
    """

    __slots__ = (
        "accepted",
        "active",
        "applications",
        "blocked",
        "blocked_by",
        "busy",
        "children",
        "defined",
        "demand",
        "demand_below",
        "dynamic",
        "fair_share",
        "heap",
        "instant_share",
        "key",
        "largest",
        "limited",
        "master_usage",
        "masters_blocked",
        "max_running",
        "maximum",
        "minimum",
        "name",
        "parent",
        "partition",
        "parts",
        "path",
        "pending",
        "policy",
        "priority",
        "queue_rank",
        "rank",
        "rest",
        "rest_key",
        "rests",
        "running",
        "running_below",
        "spec",
        "start",
        "steady_share",
        "turn",
        "unadmitted",
        "usage",
        "users_blocked",
        "waiting_pods",
        "weight",
        "whole",
        "zero",
    )

    def __init__(self, spec: QueueSpec, parent: Queue | None, policy: Policy, width: int) -> None:
        # identity and place in the tree
        self.path = self.name = spec.path
        self.parent = parent
        self.children: dict[str, Queue] = {}
        self.applications: dict[str, Application] = {}
        self.partition = ""
        self.parts: dict[str, Queue] = {}
        self.whole = self
        self.defined = True
        """Whether it takes new applications, which a queue that was deleted while in use does not."""
        self.dynamic = False
        """Whether a placement rule made it and no Queue object defines it: it goes when it has been idle for a while."""
        self.start = 0.0
        self.turn = (0.0, self.name)

        # limits, resolved against the cluster by ``limits.resolve``
        self.minimum: Vector | None = None
        self.maximum: Vector = [UNBOUNDED] * width
        self.limited = False
        self.largest: Vector | None = None
        """The most that one pod may have here; None without a limit."""
        self.zero: tuple[int, ...] = ()
        """The resource types of which it may have nothing at all."""
        self.max_running = NO_LIMIT
        self.priority = 0

        # usage, demand and shares
        self.usage: Vector = [0] * width
        self.demand: Vector = [0] * width
        self.demand_below: Vector = [0] * width
        """The sum of what its members demand; ``demand`` is that, held at its maximum."""
        self.pending: Vector = [0] * width
        self.running = self.accepted = self.waiting_pods = 0
        self.busy = False
        """Whether an application below may run."""
        self.fair_share: Vector = [0] * width
        self.steady_share: Vector = [0] * width
        self.instant_share: Vector = [0] * width
        self.running_below = 0
        """Applications of it and of all queues below that may run: at most ``max_running`` if they came since that was the limit."""
        self.master_usage: Vector = [0] * width
        """What the masters of a leaf hold."""

        # order of its children
        self.heap: list[Key] = []
        """The keys of children that have something to place: one is valid while it is the child's own ``key``, others are dropped when they surface."""
        self.key: Key | None = None
        self.active = 0
        """How many children have something to place, so that an idle or blocked subtree costs nothing."""
        self.queue_rank: object = None
        """What ranks it under the capacity discipline."""
        self.rest_key: Key | None = None
        """Its key among its siblings while asks wait for nodes below it (``kernel.tree.parked``)."""
        self.rests: dict[Shape, Level] = {}
        """The children below which they do, by shape."""
        self.rest = Rest()
        """The order of all these children."""

        # what waits for it
        self.blocked: dict[Ask, None] = {}
        self.blocked_by: Ask | None = None
        """The ask that found it at its maximum, while no other below may overtake that: it is out of its parent's order then."""
        self.masters_blocked: dict[Ask, None] = {}
        """Asks for masters that wait until less is held by masters."""
        self.users_blocked: dict[Ask, None] = {}
        """Asks of a leaf whose users have come to their limit."""
        self.unadmitted: list[Application] = []
        """Applications of a leaf that wait for a limit on running ones."""
        self.redefine(spec, policy)

    def redefine(self, spec: QueueSpec, policy: Policy) -> None:
        """Take over an edited definition; limits are resolved against the cluster by ``limits.resolve``."""
        self.spec = spec
        self.weight = f32(spec.weight)
        self.policy = policy
        self.rank: Ranker = policy.ranker(Cluster.of([]))

    @property
    def leaf(self) -> bool:
        """Whether applications may live here; the root never holds any."""
        return not self.children and self.parent is not None and not self.spec.holds_queues

    @property
    def parental(self) -> bool:
        """Whether it is for child queues, or takes no applications for another reason."""
        return not self.leaf

    @property
    def below(self) -> Sequence[Queue]:
        """The child queues, in the order in which they were made."""
        return list(self.children.values())

    @property
    def chain(self) -> tuple[Queue, ...]:
        """This queue and its ancestors, the root last."""
        chain = []
        queue: Queue | None = self
        while queue is not None:
            chain.append(queue)
            queue = queue.parent
        return tuple(chain)

    @property
    def state(self) -> str:
        """Running, Draining (stopped or deleted while applications are left) or Stopped; a queue is never above its ancestors."""
        if all(queue.spec.running and queue.defined for queue in self.chain):
            return "Running"
        return "Draining" if self.occupied() else "Stopped"

    def in_order(self, applications: Iterable[Application]) -> Iterator[Application]:
        """Yield the applications that are below it, of those given, in the order in which they are served."""
        leaves: dict[Queue, list[Application]] = {}
        for application in applications:
            if self in application.chain:
                leaves.setdefault(application.chain[0], []).append(application)
        above = {each for leaf in leaves for each in leaf.chain}

        def walk(queue: Queue) -> Iterator[Application]:
            yield from sorted(leaves.get(queue, ()), key=queue.rank)
            for child in sorted((child for child in queue.children.values() if child in above), key=queue.rank):
                yield from walk(child)

        return walk(self)

    def members(self) -> list[Queue | Application]:
        """Return what shares what this queue has: its child queues, or a leaf's applications."""
        return [*self.children.values(), *self.applications.values()]

    def occupied(self) -> bool:
        """Whether any application is left in this queue or below."""
        return bool(self.applications) or any(child.occupied() for child in self.children.values())

    def walk(self) -> list[Queue]:
        """Return this queue and all below it, parents before children."""
        found = [self]
        for queue in found:
            found.extend(queue.children.values())
        return found

    def __lt__(self, other: object) -> bool:
        """Never: paths make keys differ, so only an entry left by a vanished namesake ties with ours, and it is dropped anyway."""
        return False

    def __repr__(self) -> str:
        return f"Queue({self.path})"
