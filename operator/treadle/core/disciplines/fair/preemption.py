"""A round of preemption: find who is starved, choose which pods have to go for them, hold the room (``FSPreemptionThread``, live).

The rules are those of Hadoop: who is starved (``rules.fair.starvation``) and who may lose what (``rules.fair.victims``). What
differs is what a cluster needs: only asks that want for a node are helped, only nodes that would admit the pod are looked at,
what is on its way out counts before another pod is asked to go, a pod is a victim only if evicting it frees a node for the ask,
and the room is held for that ask.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from treadle.core.disciplines.fair.starvation import StarvationState, Starving
from treadle.core.disciplines.fair.update_pass import update_pass
from treadle.core.kernel.gangs.start import lacks
from treadle.core.kernel.preemption.holds import forget_the_gone, held_below, release
from treadle.core.kernel.preemption.search import Search, Terms, Victim, next_round, starts_with_a_gang, waits_for_a_node
from treadle.core.kernel.preemption.whole_gangs import make_room_for_gang
from treadle.core.model import Wait
from treadle.core.rules.fair.starvation import find_starved, starvation, wants, worth_looking
from treadle.core.rules.fair.victims import keeps_share
from treadle.core.rules.victims import MayLose
from treadle.core.units.amounts import add_to, beyond, minus, plus, take_from

if TYPE_CHECKING:
    from treadle.core.disciplines.fair.membership import FairMembership
    from treadle.core.effects import Effect, Evict
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application, Queue
    from treadle.core.units.resources import Vector


def next_run(state: State) -> float | None:
    """Return when to look for the starved: preemption is on, something waits, and an update interval has passed."""
    return next_round(state, state.settings.update_interval) if state.scheduler.fair.preemption and state.waiting else None


def round_of_preemption(state: State, memory: FairMembership, budget: int) -> list[Effect]:  # noqa: ARG001 - one signature for all rounds
    """Look for the starved and return whom to evict for them; the room is held."""
    state.preemption.looked = state.now
    if state.updates.demands_at != state.now:
        update_pass(state)
    forget_the_gone(state)
    starved = _starved(state, memory)
    if not starved:
        return []
    settings = state.scheduler.fair
    effects: list[Effect] = []
    search = _FairSearch(state, Terms(settings.wait_before_kill, settings.delete_blocked_victims, settings.hold_timeout))
    for contender in sorted(starved, key=lambda one: (_dominant(state, starvation(one)), one.name)):
        if search.exhausted:
            break
        effects += search.help(contender)
        contender.next_check = state.now + settings.wait_before_kill + 4 * settings.heartbeat + settings.wait_before_next_check
    return effects


def _dominant(state: State, amounts: Vector) -> float:
    return max((amounts[position] * state.cluster.per[position] for position in state.cluster.counted), default=0.0)


def _starved(state: State, memory: FairMembership) -> list[StarvationState]:
    """Return the applications that are short of something for longer than their timeout and that wait for a node."""
    matters = worth_looking(state.cluster, state.tree.root.usage, state.scheduler.fair.utilization_threshold)
    found: dict[StarvationState, None] = {}
    for queue in state.tree.queues.values():
        if not queue.applications:
            continue
        leaf = memory.leaves.get(queue)
        if leaf is None:
            leaf = memory.leaves[queue] = Starving(queue, state.now)
        leaf.refresh(state)
        candidates = []
        for application in queue.applications.values():
            contender = memory.contenders.get(application)
            if contender is None:
                contender = memory.contenders[application] = StarvationState(application, state.now)
            contender.refresh(state)
            if application.busy and application.asks and wants(contender) and state.now >= contender.next_check:
                candidates.append(contender)
        if matters and candidates:
            candidates.sort(key=queue.rank)
            for one in find_starved(leaf, candidates, state.cluster, state.now, remainder=False):
                assert isinstance(one, StarvationState)
                found[one] = None
    return [
        contender
        for contender in found
        if any(waits_for_a_node(ask) or starts_with_a_gang(ask) for ask in contender.application.asks.values())
    ]


class _FairSearch(Search):
    """Victims by the fair discipline: no application falls below its fair share, unless its leaf stays at its own, of what is ``lacking`` to who is ``helped``."""

    helped: Application
    lacking: Vector
    _leaving: defaultdict[Queue, Vector] | None = None
    """What is on its way out of leaves, once that was asked."""
    _spare: dict[tuple[Queue, tuple[int, ...], tuple[int, ...]], bool] | None = None
    """Whether an application of a leaf has a pod of a size to spare of any of some types, since a pod of the leaf was taken last."""

    def donates(self, part: Application) -> bool:
        """Whether a queue and those above it allow that others preempt from them."""
        return part.queue is not None and all(above.spec.preemptable for above in part.queue.chain)

    def helps_others(self, row: int) -> bool:
        """Whether pods of who is helped are there: others may have them."""
        return any(victim.owner is self.helped for victim in self.on_node.get(row, ()))

    def permission(self) -> MayLose[Victim]:
        """Return the check that an application, or else its leaf, stays at its share."""
        taken: dict[Application | Queue, Vector] = {}

        def may_lose(victim: Victim, considered: Vector) -> bool:
            del considered  # what its node gets back; here it matters what its queues do
            so_far = taken.setdefault(victim.owner, [0] * self.width)
            of_leaf = taken.setdefault(victim.owner.chain[0], [0] * self.width)
            if not self._may_lose(victim, so_far, of_leaf):
                return False
            add_to(so_far, victim.charged)
            add_to(of_leaf, victim.charged)
            return True

        return may_lose

    def why(self, victim: Victim, beneficiary: Application) -> str:
        """Return whose share it is."""
        return f"queue {beneficiary.chain[0].path} is owed what queue {victim.owner.chain[0].path} holds beyond its fair share"

    def help(self, contender: StarvationState) -> list[Evict]:
        """Hold room for as many pods of an application as make up for what it lacks, and return whom to evict."""
        state, application = self.state, contender.application
        lacking = self.lacking = starvation(contender)
        # What a node that cannot help has, only gets less: it is not looked at again for others who may take no more.
        self.permitted = frozenset(at for at, value in enumerate(lacking) if value > 0)
        self.help_another()
        self.helped = application
        effects: list[Evict] = []
        gangs: dict[tuple[str, str], None] = {}
        for ask in sorted(application.asks.values()):
            if starts_with_a_gang(ask):
                gangs[ask.shape.gang] = None
            if not waits_for_a_node(ask):
                continue
            demand = [0] * self.width
            for position, value in ask.shape.charged:
                demand[position] = value
            mine = self.held_for(ask)
            count = min(len(ask.pods) - sum(not hold.without_victims for hold in mine), _times(contender, state, lacking, demand))
            for hold in mine if count > 0 else ():
                if hold.without_victims:
                    release(state, hold, "victims are asked to go instead")
            for _ in range(count):
                found = self.make_room(ask)
                if found is None:
                    break
                effects += found
                lacking = beyond(lacking, demand)
        for gang in gangs:
            share = lacks(state, application, gang)
            if isinstance(share, Wait):
                continue
            demand = [0] * self.width
            for position, value in share.demand:
                demand[position] = value
            found = make_room_for_gang(self, application, gang, share) if _times(contender, state, lacking, demand) else None
            if found is not None:
                effects += found
                lacking = beyond(lacking, demand)
        return effects

    def taken(self, victim: Victim) -> None:
        """Count a victim as gone from its leaf."""
        self._spare = None
        if self._leaving is not None:
            add_to(self._leaving[victim.owner.chain[0]], victim.charged)

    def spared(self, victim: Victim) -> None:
        """Count it as staying."""
        self._spare = None
        if self._leaving is not None:
            take_from(self._leaving[victim.owner.chain[0]], victim.charged)

    def _may_lose(self, victim: Victim, considered: Vector, of_leaf: Vector) -> bool:
        owner, state = victim.owner, self.state
        queue = owner.queue
        assert queue is not None
        if owner is self.helped or (victim.master and not _masters_may_go(state, queue)):
            return False
        going = plus(self.going[owner], considered)
        after = minus(minus(owner.usage, going), victim.charged)
        counted = queue.policy.counts(state.cluster)
        lacking = [at for at in counted if self.lacking[at] > 0 and victim.charged[at] > 0]
        if any(after[at] >= owner.instant_share[at] for at in lacking):
            return True  # what is taken is beyond its share, however little it has of other types
        if queue is not self.helped.queue and self._beyond(queue, victim, of_leaf, lacking):
            return True
        return keeps_share(queue.policy, state.cluster, owner.usage, owner.instant_share, going, victim.charged)

    def _beyond(self, queue: Queue, victim: Victim, of_leaf: Vector, lacking: list[int]) -> bool:
        """Whether a leaf stays at its share of a type without a pod, and none of its applications has such a pod beyond its own: many small ones have none."""
        if self._leaving is None:
            self._leaving = defaultdict(lambda: [0] * self.width)
            for owner, amounts in self.going.items():
                if owner.chain:
                    add_to(self._leaving[owner.chain[0]], amounts)
        cluster, going = self.state.cluster, self._leaving[queue]
        shared = set(lacking).intersection(*(above.policy.counts(cluster) for above in queue.chain[1:]))
        if all(queue.usage[at] - going[at] - of_leaf[at] - victim.charged[at] < queue.instant_share[at] for at in shared):
            return False
        if self._spare is None:
            self._spare = {}
        key = queue, tuple(lacking), tuple(victim.charged[at] for at in lacking)
        if key not in self._spare:
            none = [0] * self.width
            self._spare[key] = any(
                one.usage[at] - self.going.get(one, none)[at] - size >= one.instant_share[at]
                for one in queue.applications.values()
                for at, size in zip(lacking, key[2], strict=True)
            )
        return not self._spare[key]


def _times(contender: StarvationState, state: State, lacking: Vector, demand: Vector) -> int:
    """Return how many pods of a demand make up for what is lacking without going beyond it.

    Of other types they may take no more than the fair share of their leaf: what was taken beyond it would be taken back by whom it is due.
    """
    queue = contender.application.queue
    assert queue is not None
    types = [at for at in queue.policy.counts(state.cluster) if demand[at] > 0]
    if not any(lacking[at] > 0 for at in types):
        return 0
    shared = set(types).intersection(*(above.policy.counts(state.cluster) for above in queue.chain[1:]))
    has = plus(queue.usage, held_below(state, queue)) if state.preemption.holds else queue.usage
    rooms = {at: max(0, queue.instant_share[at] - has[at]) for at in shared}
    rooms.update((at, lacking[at]) for at in types if lacking[at] > 0)
    return min(room // demand[at] for at, room in rooms.items())


def _masters_may_go(state: State, queue: Queue) -> bool:
    settings = state.scheduler.fair
    return settings.master_preemption_of.get(queue.path, settings.master_preemption)
