"""The queue tree of the offer driver: queues as an allocation file has them, and those that applications bring into being.

Hadoop's ``QueueManager``. A queue that cannot be made (its parent is a leaf, or does not allow its policy) is left out without
stopping the others; its ancestors that could be made stay. A queue is static while it is defined and dynamic otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from treadle.core.errors import InvalidSpec
from treadle.core.kernel.tree import limits
from treadle.core.kernel.tree.members import Queue
from treadle.core.model import FairSettings, QueueSpec
from treadle.core.rules.fair.instant import update_steady_shares
from treadle.core.rules.placement.rules import broken_name
from treadle.core.rules.policies import Cluster, Policy, policy_named
from treadle.core.rules.running import NO_LIMIT
from treadle.core.units.amounts import f32, least
from treadle.core.units.resources import UNBOUNDED, ResourceTypes, Vector

if TYPE_CHECKING:
    from offers.attempt import Attempt

ROOT = "root"
_NEVER_ABOVE = "root.default."


class OfferQueue(Queue):
    """A queue of the offer driver. ``runnable`` and ``waiting`` are a leaf's applications, ``running_below`` counts the former in the whole subtree.

    ``parental``: it is for child queues, even if it has none. Timeouts are None where they never end.
    """

    __slots__ = (
        "fair_share_threshold",
        "fair_share_timeout",
        "master_share",
        "master_usage",
        "max_container",
        "max_running",
        "min_share_timeout",
        "minimum_met_at",
        "parental",
        "preemptable",
        "runnable",
        "running_below",
        "waiting",
    )
    parent: OfferQueue | None
    children: dict[str, OfferQueue]  # type: ignore[assignment] # all queues of this tree are of this kind
    parental: bool

    def __init__(
        self, spec: QueueSpec, parent: OfferQueue | None, policy: Policy, width: int, now: float, *, parental: bool
    ) -> None:
        self.runnable: list[Attempt] = []
        self.waiting: list[Attempt] = []
        self.running_below = 0
        self.parental = parental
        self.minimum_met_at = now
        self.master_usage: Vector = [0] * width
        self.master_share = 0.5
        self.max_running = NO_LIMIT
        self.max_container: Vector | None = None
        self.min_share_timeout: float | None = None
        self.fair_share_timeout: float | None = None
        self.fair_share_threshold = 0.5
        self.preemptable = True
        super().__init__(spec, parent, policy, width)
        self.dynamic = True

    @property
    def below(self) -> list[OfferQueue]:
        """The child queues, in the order in which they were made."""
        return list(self.children.values())

    @property
    def empty(self) -> bool:
        """Whether no application is in it or below."""
        return not self.runnable and not self.waiting and all(child.empty for child in self.children.values())

    def largest_container(self) -> Vector | None:
        """Return the most that one container may have here: its own limit or the nearest one above, None without any."""
        at: OfferQueue | None = self
        while at is not None and at.max_container is None:
            at = at.parent
        return None if at is None else at.max_container


class OfferTree:
    """The queues by path. ``leaves`` are in the order in which they were made; so are the children of each queue."""

    def __init__(self, types: ResourceTypes, settings: FairSettings, now: float) -> None:
        self.types, self.settings = types, settings
        self.cluster = Cluster.of([0] * len(types), every=True)
        self.specs: dict[str, QueueSpec] = {}
        self.parents: set[str] = set()
        self.pending: list[str] = []
        root = QueueSpec(ROOT, policy="fair")
        self.root = OfferQueue(root, None, policy_named("fair"), len(types), now, parental=True)
        self.root.dynamic = False
        self.queues: dict[str, OfferQueue] = {ROOT: self.root}
        self.leaves: list[OfferQueue] = []

    def load(self, specs: Sequence[QueueSpec], settings: FairSettings, now: float) -> None:
        """Put definitions in force, in the order given. What cannot be is left out, or stays what it was."""
        self.settings = settings
        self.specs = {spec.path: spec for spec in specs}
        self.parents = {ROOT} | {spec.parent for spec in specs} | {spec.path for spec in specs if spec.holds_queues}
        self._set_policies(self.root)
        self.pending = []
        for parental in (False, True):
            for spec in specs:
                if (spec.path in self.parents) is parental and spec.path != ROOT:
                    self._ensure(spec.path, now, parental=parental)
        for queue in self.root.walk():
            assert isinstance(queue, OfferQueue)
            queue.dynamic = queue.dynamic or (queue.path not in self.specs and queue.parent is not None)
            self._adopt(queue)
        self._steady_before_child_limits()

    def _steady_before_child_limits(self) -> None:
        """Recompute steady shares as Hadoop's reload does: before queues that nobody declared have their parents' ``max_child`` again (``applyChildDefaults``)."""
        undeclared = [queue for queue in self.queues.values() if queue.path not in self.specs and queue.parent is not None]
        for queue in undeclared:
            self._resolve(queue, as_child=False)
        self.recompute_steady()
        for queue in undeclared:
            self._resolve(queue)

    def follow(self, cluster: Cluster) -> None:
        """Take over another size of the cluster: limits in percent follow it, and so do the steady shares."""
        self.cluster = cluster
        for queue in self.queues.values():
            self._resolve(queue)
        self.recompute_steady()

    def recompute_steady(self) -> None:
        """Recompute the shares of queues as if all were busy."""
        self.root.steady_share = list(self.cluster.total)
        update_steady_shares(self.root, self.cluster)

    def leaf(self, path: str) -> OfferQueue | None:
        """Return a leaf, None if there is none of this path."""
        queue = self.queues.get(path)
        return None if queue is None or queue.parental else queue

    def leaf_or_new(self, path: str, now: float) -> OfferQueue | None:
        """Return a leaf, making it and its ancestors if need be; None if it is a parent or cannot be made. Raises ``InvalidSpec`` for a name that no queue may have."""
        queue = self.queues.get(path)
        if queue is None:
            queue = self._make(path, now, parental=False)
            if queue is not None:
                self.recompute_steady()
        return None if queue is None or queue.parental else queue

    def remove_idle(self, now: float) -> list[str]:
        """Remove dynamic queues without applications, then dynamic ancestors left without any; make what waited for that. Returns the paths removed."""
        gone = []
        for queue in sorted(self.queues.values(), key=lambda queue: -queue.path.count(".")):
            if queue.dynamic and not queue.children and queue.empty:
                self._remove(queue)
                gone.append(queue.path)
        for path in self.pending[:]:
            self.pending.remove(path)
            self._ensure(path, now, parental=path in self.parents)
            for queue in self.queues.values():
                self._adopt(queue)
        self.recompute_steady()
        return gone

    def defined(self, path: str) -> bool:
        """Whether there is a static queue of this path."""
        queue = self.queues.get(path)
        return queue is not None and not queue.dynamic

    def exists(self, path: str) -> bool:
        """Whether there is a queue of this path."""
        return path in self.queues

    def is_leaf(self, path: str) -> bool:
        """Whether there is a leaf of this path."""
        return self.leaf(path) is not None

    def policy_of(self, path: str) -> Policy:
        """Return the policy that a path is to have."""
        spec = self.specs.get(path)
        return policy_named(spec.policy if spec is not None and spec.policy else self.settings.default_policy)

    def _set_policies(self, queue: OfferQueue) -> bool:
        """Give a subtree its new policies, children first; stops where one is not allowed, and what was changed stays changed."""
        policy = self.policy_of(queue.path)
        for child in queue.below:
            if not allows(policy, self.policy_of(child.path)) or not self._set_policies(child):
                return False
        queue.policy = policy
        return True

    def _ensure(self, path: str, now: float, *, parental: bool) -> None:
        """Make a defined queue; one of the other kind that is in its way goes if it is empty, else this one waits."""
        obstacle = self.queues.get(path)
        if obstacle is not None and obstacle.parental is parental:
            obstacle = None
        elif obstacle is None:
            above = path.rpartition(".")[0]
            while above and obstacle is None:
                found = self.queues.get(above)
                obstacle = found if found is not None and not found.parental else None
                above = above.rpartition(".")[0]
        if path.startswith(_NEVER_ABOVE) or (obstacle is not None and not obstacle.empty):
            self.pending.append(path)
            return
        if obstacle is not None:
            self._remove(obstacle)
        queue = self.queues.get(path) or self._make(path, now, parental=parental)
        if queue is not None:
            queue.dynamic = False

    def _make(self, path: str, now: float, *, parental: bool) -> OfferQueue | None:
        broken = broken_name(path)
        if broken is not None:
            raise InvalidSpec(broken)
        missing: list[str] = []
        above = path
        while above not in self.queues:
            missing.insert(0, above)
            above = above.rpartition(".")[0]
        parent = self.queues[above]
        if not parent.parental:
            return None
        for new in missing:
            policy = self.policy_of(new)
            leaf = new == path and not parental
            if not allows(parent.policy, policy) or (policy.children is None and not leaf):
                return None
            queue = OfferQueue(QueueSpec(new), parent, policy, len(self.types), now, parental=not leaf)
            parent.children[new] = self.queues[new] = queue
            if leaf:
                self.leaves.append(queue)
            self._adopt(queue)
            parent = queue
        return parent

    def _remove(self, queue: OfferQueue) -> None:
        for child in queue.below:
            self._remove(child)
        del self.queues[queue.path]
        if queue in self.leaves:
            self.leaves.remove(queue)
        assert queue.parent is not None
        del queue.parent.children[queue.path]

    def _adopt(self, queue: OfferQueue) -> None:
        """Give a queue what its definition, its parent and the defaults say; its policy was set before."""
        settings, parent = self.settings, queue.parent
        spec = self.specs.get(queue.path) or QueueSpec(queue.path)
        queue.redefine(spec, queue.policy)
        queue.weight = f32(spec.weight)
        default = settings.queue_max_running_default
        wanted = spec.max_running if spec.max_running is not None else default
        queue.max_running = NO_LIMIT if wanted is None else wanted
        share = spec.max_master_share
        queue.master_share = settings.queue_max_master_share_default if share is None else share
        above = settings if parent is None else parent
        queue.min_share_timeout = above.min_share_timeout if spec.min_share_timeout is None else spec.min_share_timeout
        queue.fair_share_timeout = above.fair_share_timeout if spec.fair_share_timeout is None else spec.fair_share_timeout
        threshold = spec.fair_share_threshold
        queue.fair_share_threshold = above.fair_share_threshold if threshold is None else threshold
        queue.preemptable = spec.preemptable and (parent is None or parent.preemptable)
        self._resolve(queue)

    def _resolve(self, queue: OfferQueue, *, as_child: bool = True) -> None:
        dynamic, queue.dynamic = queue.dynamic, as_child and queue.path not in self.specs and queue.parent is not None
        limits.resolve(queue, self.cluster.total, self.types, self.settings.queue_max_default)
        queue.dynamic = dynamic  # one that is defined but was refused, and then made for an application, has its own limits
        queue.max_container = None
        if queue.spec.max_container:
            most = [UNBOUNDED] * len(self.types)
            for name, limit in queue.spec.max_container.items():
                position = self.types.index[name]
                most[position] = least([most[position]], [limit.resolve(self.cluster.total[position])])[0]
            queue.max_container = most


def allows(policy: Policy, child: Policy) -> bool:
    """Whether a queue with a policy may have child queues with another."""
    return policy.children is not None and child.name in policy.children
