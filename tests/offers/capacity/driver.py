"""The door of the capacity driver: what happens is told by methods, what was decided comes back as effects. There is no clock: ``now`` is an argument."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from offers.beside import Beside
from offers.capacity import accounts, admission, membership
from offers.capacity.allocator import Outcome, Proposal
from offers.capacity.commit import commit
from offers.capacity.member import Member
from offers.capacity.preemption import CapacityPreemptionDriver
from offers.capacity.walk import assign, assign_leaf, killable
from offers.capacity.world import CapacityOrders, CapacityWorld
from offers.effects import Accepted, Cause, Effect, Moved
from offers.nodes import Container, NodeManager
from offers.requests import Ask, Key
from treadle.core.model.capacity import CapacityQueueSpec, CapacitySettings
from treadle.core.rules.capacity.auto.removal import Removal
from treadle.core.rules.capacity.context import DEFAULT, Context
from treadle.core.rules.capacity.limits import Limits, headroom
from treadle.core.rules.capacity.ordering import rank_anew
from treadle.core.rules.capacity.tree import CapacityTree, Undeclared
from treadle.core.rules.capacity.validation import Refused
from treadle.core.rules.locality import Level
from treadle.core.rules.moves import MoveRefused
from treadle.core.rules.running import RunningLimits, by_start
from treadle.core.units.amounts import add_to
from treadle.core.units.resources import ResourceTypes, Vector


class MoveDenied(MoveRefused):
    """The new leaf takes nobody in, or no more."""


class CapacityDriver:
    """YARN's CapacityScheduler over nodes that offer themselves. ``groups`` are those of users, for access lists. ``as_hadoop``: with its defects too."""

    def __init__(
        self,
        queues: Mapping[str, CapacityQueueSpec],
        settings: CapacitySettings,
        *,
        types: ResourceTypes,
        now: float,
        groups: Mapping[str, tuple[str, ...]] | None = None,
        orders: CapacityOrders | None = None,
        as_hadoop: bool = False,
        undeclared: Undeclared = CapacityQueueSpec,
    ) -> None:
        context = Context(types, settings)
        context.as_hadoop = as_hadoop
        orders = orders or CapacityOrders()
        tree = CapacityTree(queues, context, orders.queues, undeclared)
        tree.submissions, tree.drops_queues = orders.submissions, as_hadoop
        limits: RunningLimits[Member] = RunningLimits(dict(settings.user_max_parallel_of), settings.user_max_parallel)
        self.world = CapacityWorld(context, tree, limits, orders, now=now, as_hadoop=as_hadoop)
        self.groups = groups or {}
        self.preemption = CapacityPreemptionDriver(self.world)
        self.removal = Removal()
        self.beside = Beside()

    def load(
        self,
        queues: Mapping[str, CapacityQueueSpec],
        settings: CapacitySettings,
        now: float,
        *,
        undeclared: Undeclared = CapacityQueueSpec,
    ) -> list[Effect]:
        """Put other definitions in force. Raises ``Refused``, and then the old ones stay."""
        world, before = self._at(now), self.world.settings
        world.context.apply(settings)
        try:
            world.tree.reload(queues, undeclared)
        except Exception:
            world.context.apply(before)
            world.tree.follow()
            raise
        world.running.of_user = dict(settings.user_max_parallel_of)
        world.running.default = settings.user_max_parallel
        membership.promote(world, by_start(world.running.candidates_on_reload(world.tree.root, membership.waiting)), None)
        return self._effects()

    def add_node(self, name: str, rack: str, total: Sequence[int], now: float, *, partition: str = DEFAULT) -> list[Effect]:
        """Let a node of a partition in."""
        world = self._at(now)
        node = world.nodes[name] = NodeManager(name, rack, total, world.orders.containers)
        node.partition = partition
        world.racks.setdefault(rack, []).append(node)
        world.cluster_changed()
        return self._effects()

    def resize_node(self, name: str, total: Sequence[int], now: float) -> list[Effect]:
        """Take over another size of a node; a hold on it ends."""
        world = self._at(now)
        node = world.nodes[name]
        if node.total != list(total):
            if node.hold is not None:
                accounts.end(world, node.hold, Cause.ABORTED)
            node.resize(total)
            for container in node.containers if world.as_hadoop else ():
                if not accounts.owner(container).gone:
                    accounts.count_again(accounts.owner(container), container)
        world.cluster_changed()
        return self._effects()

    def remove_node(self, name: str, now: float) -> list[Effect]:
        """Let a node go, with all that runs or is held there."""
        world = self._at(now)
        node = world.nodes[name]
        for container in list(node.containers):
            accounts.end(world, container, Cause.ABORTED)
            node.release(container, by_node=True)
        if node.hold is not None:
            accounts.end(world, node.hold, Cause.ABORTED)
        del world.nodes[name]
        world.racks[node.rack].remove(node)
        world.cluster_changed()
        return self._effects()

    def add_application(
        self,
        name: str,
        user: str,
        queue: str,
        now: float,
        *,
        managed: bool = False,
        master: Sequence[int] | None = None,
        master_partition: str = DEFAULT,
        partition: str = DEFAULT,
        priority: int = 0,
        placed: bool = False,
    ) -> list[Effect]:
        """Let an application into its queue, which is made if it may be.

        ``master`` is what its master will ask for; without one it is charged the smallest container. ``partition`` is the one
        that the whole application is for, which a leaf that keeps partitions apart goes by. ``placed``: a mapping rule gave the
        queue.
        """
        world = self._at(now)
        world.submitted += 1
        leaf = admission.leaf_for(world, name, user, queue, placed=placed)
        if leaf is None:
            return self._effects()
        leaf.last_submitted = now
        membership.count(leaf)
        member = Member(name, user, leaf, world.submitted, min(priority, world.settings.max_priority), managed=managed)
        member.partition = partition
        if master is not None:
            member.master_demand, member.master_partition = list(master), master_partition
        world.members[name] = member
        world.effects.append(Accepted(name, leaf.path))
        membership.submit(world, leaf, member, runs=world.running.obstacle(leaf, user) is None)
        return self._effects()

    def ask(self, name: str, key: Key, asks: Sequence[Ask], now: float) -> list[Effect]:
        """Replace what an application asks for at the named places. The partition of the ask for anywhere holds for all."""
        self._at(now)
        member = self.world.members.get(name)
        if member is not None:
            normal = [Ask(a.place, self.normal(a.demand), a.count, a.relax, a.partition) for a in asks]
            if accounts.ask(member, key, normal) and not member.awaits_master and member.leaf.spec.size_based_weight:
                rank_anew(member.leaf, member)
        return self._effects()

    def avoid(self, name: str, add: Iterable[str], remove: Iterable[str], now: float) -> list[Effect]:
        """Change the hosts and racks that an application does not want."""
        world = self._at(now)
        member = world.members.get(name)
        if member is not None:
            member.change_blacklist(add, remove, world.nodes.values())
        return self._effects()

    def offer(self, name: str, now: float) -> list[Effect]:
        """Let a node report and offer itself: what was launched and what ended there is taken over, then its room is given away."""
        world, settings = self._at(now), self.world.settings
        node = world.nodes[name]
        for container in node.launching:
            if container in node.containers:
                node.containers[container] = True
        for container in node.reported:
            accounts.end(world, container, Cause.FINISHED)
            node.release(container, by_node=True)
        node.launching.clear()
        node.reported.clear()
        far = count = 0
        while True:
            self.beside.before(node)
            proposal = self._once(node)
            self.beside.after(node)
            if proposal is None:
                break
            far += proposal.level is Level.ANYWHERE
            count += proposal.some(world)
            if not any(proposal.demand) or far >= max(settings.max_offswitch, 1) or proposal.outcome is Outcome.HELD:
                break
            if not settings.assign_multiple or (settings.max_assign != -1 and count >= settings.max_assign):
                break
        for member in world.members.values():
            member.master_seen = member.master_seen or member.count > 0
        return self._effects()

    def launch(self, container: Container) -> None:
        """Note that a container was started on its node, which reports it with its next offer. Without this a container's end frees its room at once."""
        container.node.launching.append(container)

    def preempt(self, now: float) -> list[Effect]:
        """Do one round of preemption."""
        self._at(now)
        self.preemption.round()
        return self._effects()

    def manage(self, now: float) -> list[Effect]:
        """Do one round of giving capacity to the leaves of managed parents (``QueueManagementDynamicEditPolicy``)."""
        world = self._at(now)
        for queue in list(world.tree.root.walk()):
            if queue.entitlements is not None and not queue.entitlements.creation.fail_on_excess:
                with suppress(Refused):
                    queue.entitlements.round(world.orders.submissions)
        return self._effects()

    def expire(self, now: float, *, start: bool = False) -> list[Effect]:
        """Do one round of removing queues that were made and are not used; ``start``: only mark them."""
        world = self._at(now)
        if start:
            self.removal.mark(world.tree.root.walk())
        else:
            self.removal.round(world.tree, now)
        return self._effects()

    def tick(self, now: float) -> list[Effect]:
        """Note the time."""
        self._at(now)
        return self._effects()

    def end(self, container: Container, cause: Cause, now: float) -> list[Effect]:
        """End a container."""
        accounts.end(self._at(now), container, cause)
        return self._effects()

    def kill(self, container: Container, now: float) -> list[Effect]:
        """End a container as preemption does: at once, or, with lazy preemption, when somebody who is due it wants its room."""
        self.preemption.end_when_wanted(self._at(now), container)
        return self._effects()

    def move(self, name: str, queue: str, now: float, *, checked_before: bool = True) -> list[Effect]:
        """Move an application to another leaf. Raises ``MoveRefused``."""
        world = self._at(now)
        member, target = world.members.get(name), world.tree.find(queue)
        if member is None:
            raise MoveRefused(f"queue: there is no running application {name} to move")
        if target is None or target.parental:
            raise MoveRefused(f"queue: {queue} is not a leaf queue")
        source = member.leaf
        if checked_before:
            if world.as_hadoop:
                member.partitions_asked().discard(DEFAULT)
            over = [each for each in member.partitions_asked() if not target.may_use(each)]
            if over:
                raise MoveRefused(
                    f"queue: {queue} may not use partition {', '.join(sorted(over))}, which the application asks for"
                )
        why = membership.closed(target, member.user)
        if why:
            raise MoveDenied(f"queue: {why}")
        world.effects.append(Moved(name, target.path))
        if target is not source or world.as_hadoop:
            membership.move(world, member, source, target)
        return self._effects()

    def remove_application(self, name: str, now: float) -> list[Effect]:
        """Let an application go, with all its containers and holds."""
        world = self._at(now)
        member = world.members[name]
        leaf = member.leaf
        for container in world.orders.ends(member):
            accounts.end(world, container, Cause.ABORTED)
        for held in member.all_holds():
            accounts.end(world, held, Cause.ABORTED)
        for partition, amounts in member.usage.partitions.items():
            for queue in leaf.chain if any(amounts.pending) else ():
                queue.usage.change(partition, "pending", amounts.pending, less=True)
        member.requests.clear()
        membership.leave(leaf, member)
        member.gone = True
        if member.runnable:
            world.running.stop(leaf, member)
            lists = world.running.candidates_after(leaf, member.user, membership.waiting)
            membership.promote(world, by_start(lists), len(lists))
        else:
            world.running.forget(member)
        leaf.users.satisfied(member.user, name)
        membership.uncount(leaf)
        del world.members[name]
        return self._effects()

    def may(self, user: str, queue: str, *, administer: bool = False) -> bool:
        """Whether a user may submit to a queue, or administer it: granted by the queue or any above it."""
        found = self.world.tree.find(queue)
        groups = self.groups.get(user, ())
        for above in found.chain if found is not None else ():
            granted = above.spec.administer if administer else above.spec.submit
            if granted is None:
                if above.parent is None:
                    return True
            elif user in granted[0] or "*" in granted[0] or not granted[1].isdisjoint(groups):
                return True
        return False

    def headroom(self, name: str) -> Vector:
        """Return what an application may expect to get beyond what it has, of all partitions that it asked for."""
        world = self.world
        member = world.members[name]
        if member.headroom_from is None:
            return world.context.none()
        leaf, user = member.headroom_from
        asked = member.partitions_asked()
        total = world.context.none()
        for partition in asked or {DEFAULT}:
            add_to(total, headroom(leaf, user, partition, world.tree.root.usage.used(partition)))
        total[0] = max(total[0], 0)
        return total

    def normal(self, demand: Sequence[int]) -> Vector:
        """Return a demand as it is counted: in steps, and at most the largest container that can be had."""
        context = self.world.context
        largest = context.largest if self.world.nodes else context.most
        return context.calculator.normal(demand, context.least, largest, context.least)

    def _once(self, node: NodeManager) -> Proposal | None:
        """Give away one container's room, or hold the node; ``None``: nothing more is to be had here."""
        world, context = self.world, self.world.context
        if node.hold is not None:
            member = accounts.owner(node.hold)
            proposal = assign_leaf(world, member.leaf, node, Limits(context.of(DEFAULT)), within=True)
            commit(world, proposal)
            return None
        room = [one + other for one, other in zip(node.free, killable(world, node), strict=True)]
        if context.calculator.containers(room, context.least) <= 0:
            return None
        proposal = assign(world, world.tree.root, node, Limits(context.of(node.partition)), within=True)
        commit(world, proposal)
        if proposal.some(world):
            return proposal
        if node.partition == DEFAULT or world.settings.partitions.get(node.partition, True):
            return None
        proposal = assign(world, world.tree.root, node, Limits(context.of(DEFAULT)), within=False)
        commit(world, proposal)
        return proposal

    def _at(self, now: float) -> CapacityWorld:
        self.world.now = now
        return self.world

    def _effects(self) -> list[Effect]:
        effects, self.world.effects = self.world.effects, []
        return effects
