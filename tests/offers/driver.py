"""The door of the offer driver: what happens is told by methods, what was decided comes back as effects.

There is no clock: ``now`` is an argument in any unit, the same as that of the times in the settings. Demands and shares change
only in ``update``; between two updates decisions follow the live usage and the last shares, as in Hadoop.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from offers.attempt import Attempt
from offers.beside import Beside
from offers.effects import Accepted, Cause, Effect, Moved, Rejected
from offers.ends import end
from offers.holds import let_go
from offers.nodes import Container, NodeManager
from offers.preemption import Preemption, serve_promised
from offers.requests import Ask, Key
from offers.tree import OfferQueue, OfferTree
from offers.walk import assign, assign_held
from offers.world import Orders, World
from treadle.core.errors import InvalidSpec
from treadle.core.model import FairSettings, PlacementRule, QueueSpec
from treadle.core.rules.fair.instant import update_demands, update_instant_shares
from treadle.core.rules.moves import MoveRefused, check_move
from treadle.core.rules.placement.rules import Refused, Request, Rules, qualified
from treadle.core.rules.policies import Cluster
from treadle.core.rules.running import RunningLimits, by_start
from treadle.core.units.amounts import add_to, fits, least, loosely_beyond, minus, scaled, take_from
from treadle.core.units.resources import UNBOUNDED, ResourceTypes, Vector


class AskRefused(InvalidSpec):
    """An ask for a resource type of which the queue may have nothing at all; nothing of the whole call is taken over."""


Groups = Mapping[str, tuple[str, ...]]


class OfferDriver:
    """YARN's scheduler over nodes that offer themselves.

    ``groups`` are those of users, for placement rules and access lists; of a user that is not in it the look-up fails.
    """

    def __init__(
        self,
        queues: Sequence[QueueSpec],
        settings: FairSettings,
        rules: Sequence[PlacementRule],
        *,
        types: ResourceTypes,
        now: float,
        groups: Groups | None = None,
        orders: Orders | None = None,
    ) -> None:
        tree = OfferTree(types, settings, now)
        limits: RunningLimits[Attempt] = RunningLimits(settings.user_max_running, settings.user_max_running_default)
        self.world = World(types, settings, tree, limits, orders or Orders(), now=now)
        self.preemption = Preemption(self.world)
        self.groups: Groups = groups or {}
        self.beside = Beside()
        self.load(queues, settings, rules, now)

    def load(
        self, queues: Sequence[QueueSpec], settings: FairSettings, rules: Sequence[PlacementRule], now: float
    ) -> list[Effect]:
        """Put definitions in force; raised limits let waiting applications run. Raises ``InvalidSpec`` for rules that cannot be in force."""
        world = self._at(now)
        self.rules = Rules.of(rules)
        world.settings = settings
        world.tree.load(queues, settings, now)
        world.running.of_user = settings.user_max_running
        world.running.default = settings.user_max_running_default
        lists = world.running.candidates_on_reload(world.tree.root, self._waiting)
        self._promote(by_start(lists), None)
        return self._effects()

    def add_node(self, name: str, rack: str, total: Sequence[int], now: float) -> list[Effect]:
        """Let a node in."""
        world = self._at(now)
        node = world.nodes[name] = NodeManager(name, rack, total, world.orders.containers)
        world.racks.setdefault(rack, []).append(node)
        self._cluster_changed()
        return self._effects()

    def resize_node(self, name: str, total: Sequence[int], now: float) -> list[Effect]:
        """Take over another size of a node."""
        world = self._at(now)
        node = world.nodes[name]
        if node.total != list(total):
            node.resize(total)
            world.racks[node.rack].remove(node)
            world.racks[node.rack].append(node)
            self._cluster_changed()
        return self._effects()

    def remove_node(self, name: str, now: float) -> list[Effect]:
        """Let a node go, with all that runs or is held there."""
        world = self._at(now)
        node = world.nodes[name]
        for container in list(world.orders.containers(node)):
            end(world, container, Cause.ABORTED)
            node.release(container, by_node=True)
        let_go(node)
        del world.nodes[name]
        world.racks[node.rack].remove(node)
        if not world.racks[node.rack]:
            del world.racks[node.rack]
        self._cluster_changed()
        return self._effects()

    def add_application(
        self, name: str, user: str, queue: str, now: float, *, managed: bool = False, master: Sequence[int] | None = None
    ) -> list[Effect]:
        """Place an application and let it into its queue. ``master`` is what its master will ask for, if anything."""
        world = self._at(now)
        try:
            path = self.rules.place(Request(queue, user, self.groups.get(user)), world.tree)
            if path is None:
                world.effects.append(
                    Rejected(name, "scheduler", self.rules.refusal(Request(queue, user, self.groups.get(user)), world.tree))
                )
                return self._effects()
            leaf = world.tree.leaf_or_new(path, now)
        except Refused as error:
            world.effects.append(Rejected(name, "placement", str(error)))
            return self._effects()
        why = f"{path} is not a leaf queue and cannot become one" if leaf is None else self._closed(leaf, user, master)
        if leaf is None or why:
            world.effects.append(Rejected(name, "scheduler", why))
            return self._effects()
        attempt = Attempt(name, user, leaf, now, len(world.types), managed=managed)
        settings = world.settings
        attempt.masters_preemptable = settings.master_preemption_of.get(leaf.path, settings.master_preemption)
        world.attempts[name] = attempt
        world.effects.append(Accepted(name, leaf.path))
        self._enter(leaf, attempt, runs=world.running.obstacle(leaf, user) is None)
        return self._effects()

    def ask(self, name: str, key: Key, asks: Sequence[Ask], now: float) -> list[Effect]:
        """Replace what an application asks for at the named places. Raises ``AskRefused``."""
        self._at(now)
        attempt = self._attempt(name)
        if attempt is not None:
            for ask in asks:
                self._refuse_impossible(attempt.queue, ask.demand)
            attempt.requests.update(key, [Ask(a.place, self.normal(a.demand, attempt.queue), a.count, a.relax) for a in asks])
        return self._effects()

    def avoid(self, name: str, add: Iterable[str], remove: Iterable[str], now: float) -> list[Effect]:
        """Change the hosts and racks that an application does not want."""
        world = self._at(now)
        attempt = self._attempt(name)
        if attempt is not None:
            attempt.change_blacklist(add, remove, world.nodes.values())
        return self._effects()

    def offer(self, name: str, now: float) -> list[Effect]:
        """Let a node report and offer itself: what was launched and what ended there is taken over, then the tree is walked."""
        world = self._at(now)
        node = world.nodes[name]
        for container in node.launching:
            if container in node.containers:
                node.containers[container] = True
        for container in node.reported:
            end(world, container, Cause.FINISHED)
            node.release(container, by_node=True)
        node.launching.clear()
        node.reported.clear()
        serve_promised(world, node)
        if node.hold is None or not self._held(node):
            self._walk(node)
        world.look()
        return self._effects()

    def launch(self, container: Container) -> None:
        """Note that a container was started on its node, which reports it with its next offer. Without this a container's end frees its room at once."""
        container.node.launching.append(container)

    def update(self, now: float) -> list[Effect]:
        """Recompute demands and shares, and find who is starved."""
        world = self._at(now)
        root = world.tree.root
        update_demands(root, world.cluster, size_based_weight=world.settings.size_based_weight)
        update_instant_shares(root, world.cluster, world.cluster.total)
        world.look()
        self.preemption.look()
        return self._effects()

    def preempt(self, now: float) -> list[Effect]:
        """Choose victims for every starved application; they end when the time to warn them is over."""
        self._at(now)
        while self.preemption.help_next():
            pass
        self.preemption.end_due()
        return self._effects()

    def tick(self, now: float) -> list[Effect]:
        """Do what is due by now."""
        self._at(now)
        self.preemption.end_due()
        return self._effects()

    def end(self, container: Container, cause: Cause, now: float) -> list[Effect]:
        """End a container."""
        end(self._at(now), container, cause)
        return self._effects()

    def move(self, name: str, queue: str, now: float, *, checked_before: bool = True) -> list[Effect]:
        """Move an application to another leaf. Raises ``MoveRefused``. ``checked_before``: first ask alone whether it may, as YARN's clients do."""
        world = self._at(now)
        attempt = self._attempt(name)
        if attempt is None:
            raise MoveRefused(f"queue: there is no running application {name} to move")
        target = world.tree.leaf(qualified(queue))
        if target is None:
            raise MoveRefused(f"queue: {queue} does not exist or is not a leaf queue")
        old = attempt.queue
        if attempt.runnable and (checked_before or target is not old):
            check_move(old.path, target, attempt.usage, name)
        if target is not old:
            runs = world.running.obstacle(target, attempt.user) is None
            if attempt.runnable and not runs:
                raise MoveRefused(f"queue: {name} cannot move to {target.path}: {world.running.obstacle(target, attempt.user)}")
            ran = self._leave(attempt)
            attempt.queue = target
            self._enter(target, attempt, runs=runs)
            if ran:
                self._replace(old, attempt.user)
        world.effects.append(Moved(name, target.path))
        return self._effects()

    def remove_application(self, name: str, now: float) -> list[Effect]:
        """Let an application go with all it has; others may become runnable."""
        world = self._at(now)
        attempt = self._attempt(name)
        if attempt is None:
            return self._effects()
        for container in list(attempt.containers):
            end(world, container, Cause.ABORTED)
        for node in list(attempt.holds):
            let_go(node)
        attempt.requests.clear()
        ran = self._leave(attempt)
        attempt.gone = True
        if ran:
            self._replace(attempt.queue, attempt.user)
        del world.attempts[name]
        return self._effects()

    def remove_idle_queues(self, now: float) -> list[str]:
        """Remove dynamic queues that nothing is in. YARN does so every ten seconds if there is an allocation file."""
        return self._at(now).tree.remove_idle(now)

    def may(self, user: str, queue: str, *, administer: bool = False) -> bool:
        """Whether a user may submit to a queue, or administer it: granted by the queue or any above it."""
        found = self.world.tree.queues.get(qualified(queue))
        return found is not None and self._granted(found, user, administer=administer)

    def headroom(self, name: str) -> Vector:
        """Return what an application may expect to get beyond what it has."""
        world = self.world
        attempt = world.attempts[name]
        queue = attempt.queue
        left = minus(world.cluster.total, world.allocated)
        for node in attempt.blacklisted_nodes:
            left = loosely_beyond(left, node.free)
        left = least(left, minus(queue.maximum, queue.usage))
        return queue.policy.headroom(world.cluster, queue.fair_share, queue.usage, left)

    def normal(self, demand: Sequence[int], queue: OfferQueue | None = None) -> Vector:
        """Return a demand rounded up to the increments, at least the minimum and at most the largest container that can be had."""
        world, settings = self.world, self.world.settings
        own = queue.largest_container() if queue is not None else None
        result = []
        for position, name in enumerate(world.types.names):
            value = max(demand[position], settings.least.get(name, 0))
            step = settings.increment.get(name, 0)
            if step > 0:
                value = -(-value // step) * step
            largest = settings.most.get(name, UNBOUNDED)
            if world.nodes:
                largest = min(largest, max(node.total[position] for node in world.nodes.values()))
            if own is not None:
                largest = min(largest, own[position])
            result.append(min(value, largest))
        return result

    def _held(self, node: NodeManager) -> bool:
        self.beside.before(node)
        used = assign_held(self.world, node)
        self.beside.after(node)
        return used

    def _walk(self, node: NodeManager) -> None:
        """Offer the node to the tree again and again, as long as several assignments at once are wanted."""
        world, settings = self.world, self.world.settings
        half = scaled(node.free, 0.5)
        assigned = [0] * len(half)
        count = 0
        while node.hold is None:
            self.beside.before(node)
            found = assign(world, world.tree.root, node)
            self.beside.after(node)
            if len(found) != len(half):
                return
            count += 1
            add_to(assigned, found)
            if not settings.assign_multiple:
                return
            if not fits(assigned, half) if settings.dynamic_max_assign else 0 < settings.max_assign <= count:
                return

    def _at(self, now: float) -> World:
        self.world.now = now
        return self.world

    def _effects(self) -> list[Effect]:
        effects, self.world.effects = self.world.effects, []
        return effects

    def _attempt(self, name: str) -> Attempt | None:
        return self.world.attempts.get(name)

    def _cluster_changed(self) -> None:
        world = self.world
        total = [0] * len(world.types)
        for node in world.nodes.values():
            add_to(total, node.total)
        world.cluster = Cluster.of(total, every=True)
        world.tree.follow(world.cluster)
        world.look()

    def _closed(self, leaf: OfferQueue, user: str, master: Sequence[int] | None) -> str:
        if not (self._granted(leaf, user) or self._granted(leaf, user, administer=True)):
            return f"user {user} may not submit to {leaf.path}"
        try:
            self._refuse_impossible(leaf, master or ())
        except AskRefused as error:
            return str(error)
        return ""

    def _granted(self, queue: OfferQueue, user: str, *, administer: bool = False) -> bool:
        groups = self.groups.get(user, ())
        for above in queue.chain:
            granted = above.spec.administer if administer else above.spec.submit
            if granted is None:
                if above.parent is None:
                    return True
            elif user in granted[0] or "*" in granted[0] or not granted[1].isdisjoint(groups):
                return True
        return False

    def _refuse_impossible(self, queue: OfferQueue, demand: Sequence[int]) -> None:
        for position, value in enumerate(demand):
            if value > 0 and queue.maximum[position] == 0:
                what = self.world.types.names[position]
                raise AskRefused(f"{what}: {value} is asked for, and queue {queue.path} may have none of it (maxResources is 0)")

    def _waiting(self, queue: object, /) -> list[Attempt]:
        assert isinstance(queue, OfferQueue)
        return queue.waiting

    def _enter(self, leaf: OfferQueue, attempt: Attempt, *, runs: bool) -> None:
        for queue in leaf.chain:
            add_to(queue.usage, attempt.usage)
        attempt.runnable = runs
        if runs:
            leaf.runnable.append(attempt)
            self.world.running.run(leaf, attempt)
        else:
            leaf.waiting.append(attempt)
            self.world.running.wait(attempt)

    def _leave(self, attempt: Attempt) -> bool:
        """Take an application out of its queue; returns whether it was runnable."""
        leaf, running = attempt.queue, self.world.running
        for queue in leaf.chain:
            take_from(queue.usage, attempt.usage)
        if not attempt.runnable:
            leaf.waiting.remove(attempt)
            running.forget(attempt)
            return False
        leaf.runnable.remove(attempt)
        running.stop(leaf, attempt)
        if attempt.master_running:
            take_from(leaf.master_usage, attempt.master_demand)
        return True

    def _replace(self, leaf: OfferQueue, user: str) -> None:
        """Let those run that waited for an application that left, at most one for each list that they wait in."""
        lists = self.world.running.candidates_after(leaf, user, self._waiting)
        self._promote(by_start(lists), len(lists))

    def _promote(self, candidates: Iterable[Attempt], limit: int | None) -> None:
        running = self.world.running
        done: list[Attempt] = []
        for attempt in candidates:
            leaf = attempt.queue
            if running.obstacle(leaf, attempt.user) is not None:
                continue
            leaf.runnable.append(attempt)
            attempt.runnable = True
            running.run(leaf, attempt)
            done.append(attempt)
            if limit is not None and len(done) >= limit:
                break
        for attempt in done:
            attempt.queue.waiting.remove(attempt)
            running.forget(attempt)
