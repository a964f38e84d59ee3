"""A queue in force: its place in the tree, its limits, its usage and the order of what waits below it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.model import QueueSpec
from treadle.core.rules.policies import Cluster, Key, Policy, Ranker
from treadle.core.rules.running import NO_LIMIT
from treadle.core.units.amounts import f32
from treadle.core.units.resources import UNBOUNDED, Vector

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.core.kernel.tree.application import Application, Ask


class Queue:
    """A node of the queue tree.

    ``usage`` is the sum of what is allocated below. ``heap`` orders the children (queues, or a leaf's applications) that have
    something to place. Entries are keys, which end with the child; one is valid while it is the child's own ``key``, and others are
    thrown away when they surface.
    ``rank`` gives children their keys, by the policy and for the present cluster.
    ``demand``, ``pending``, ``running`` and ``accepted`` applications, ``waiting_pods``, the shares and whether it is ``busy`` (an
    application below may run) are as of the last update pass.
    ``running_below`` counts the applications of it and of all queues below that may run, at most ``max_running`` if they came since that
    was the limit; ``unadmitted`` are a leaf's that wait for a limit. ``largest`` is the most that one pod may have here, None without a
    limit, and ``zero`` the resource types of which the queue may have nothing at all.
    ``master_usage`` is what the master pods of a leaf hold, ``masters_blocked`` the asks for masters that wait until that is less.
    ``users_blocked`` are a leaf's asks whose users have come to their limit. ``blocked_by`` is the ask that found the queue at its maximum, while
    nobody below may overtake it: the queue is out of its parent's order then. ``queue_rank`` ranks it under the capacity discipline.
    ``rest_key`` is its key among its siblings while asks wait for nodes below it, for which ``resting`` shapes (see ``kernel.tree.parked``); ``rekeyed``
    says which of its own children got new ones and when, counted by ``rekeys``, and ``renewed`` when all did.
    ``parts`` are what the queue is in partitions of nodes other than the default one (see ``kernel.tree.partitions``), ``whole`` is what it is a part of.
    ``active`` counts such children, so that an idle or blocked subtree costs nothing.
    ``defined``: it takes new applications, which a queue that was deleted while in use does not. ``dynamic``: a placement rule made it,
    nobody defined it, and it goes when it has been idle for a while.
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
        "rekeyed",
        "rekeys",
        "renewed",
        "rest_key",
        "resting",
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
        self.path = self.name = spec.path
        self.parent = parent
        self.children: dict[str, Queue] = {}
        self.applications: dict[str, Application] = {}
        self.usage: Vector = [0] * width
        self.demand: Vector = [0] * width
        self.demand_below: Vector = [0] * width
        """The sum of what its members demand; ``demand`` is that, held at its maximum."""
        self.pending: Vector = [0] * width
        self.running = self.accepted = self.waiting_pods = 0
        self.fair_share: Vector = [0] * width
        self.steady_share: Vector = [0] * width
        self.instant_share: Vector = [0] * width
        self.busy = False
        self.minimum: Vector | None = None
        self.maximum: Vector = [UNBOUNDED] * width
        self.limited = False
        self.heap: list[Key] = []
        self.key: Key | None = None
        self.active = 0
        self.blocked: dict[Ask, None] = {}
        self.running_below = 0
        self.max_running = NO_LIMIT
        self.unadmitted: list[Application] = []
        self.largest: Vector | None = None
        self.zero: tuple[int, ...] = ()
        self.master_usage: Vector = [0] * width
        self.masters_blocked: dict[Ask, None] = {}
        self.users_blocked: dict[Ask, None] = {}
        self.blocked_by: Ask | None = None
        self.queue_rank: object = None
        self.partition = ""
        self.parts: dict[str, Queue] = {}
        self.whole = self
        self.defined = True
        self.dynamic = False
        self.start = 0.0
        self.turn = (0.0, self.name)
        self.priority = 0
        self.rest_key: Key | None = None
        self.resting = 0
        self.rekeyed: dict[Queue | Application, int] = {}
        self.rekeys = self.renewed = 0
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

    def members(self) -> list[Queue | Application]:
        """Return who shares what this queue has: its child queues, or a leaf's applications."""
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
