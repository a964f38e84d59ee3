"""A round of preemption: find who is starved, choose which pods have to go for them, hold the room (``FSPreemptionThread``, live).

The rules are those of Hadoop: who is starved (``fair.starvation``) and who may lose what (``fair.victims``). What differs is what a
cluster needs: only asks that want for a node are helped, only nodes that would admit the pod are looked at, what is on its way
out counts before anybody else is asked to go, nobody goes whose leaving would not help, and room is held for whom it was made.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from treadle.core.cycle import NO_NODE
from treadle.core.effects import Evict
from treadle.core.fair.amounts import add_to, beyond, fits, plus
from treadle.core.fair.starvation import find_starved, starvation, wants, worth_looking
from treadle.core.fair.victims import NO_BOUND, Picked, keeps_share, pick_on_node
from treadle.core.nodes.filters import host_ports
from treadle.core.pods import PodRecord, PodState
from treadle.core.preemption.contender import Contender, Starving
from treadle.core.preemption.holds import held_below, place, release
from treadle.core.preemption.memory import Hold
from treadle.core.resources import CPU, MEMORY, Vector
from treadle.core.update import update_pass

if TYPE_CHECKING:
    from treadle.core.nodes.shapes import Shape
    from treadle.core.state import State
    from treadle.core.tree.application import Application, Ask
    from treadle.core.tree.queue import Queue

MOST_SPARING = 64
"""Further nodes that are looked at for one where fewer masters have to go."""
MOST_HOLDS = 128
"""Holds at one time: preemption is for what is owed, not for filling a cluster."""
CRITICAL = 2_000_000_000
"""Pods of this priority and above are the system's own (system-cluster-critical) and are never asked to go."""


class Victim:
    """A pod that may be asked to go."""

    __slots__ = ("demand", "master", "owner", "record")

    def __init__(self, record: PodRecord, owner: Application, demand: Vector) -> None:
        self.record = record
        self.owner = owner
        self.master = record.spec.role == "master"
        self.demand = demand


def due(state: State) -> bool:
    """Whether it is time to look for the starved: preemption is on, something waits, and an update interval has passed."""
    settings = state.scheduler.fair
    return (
        state.books is None
        and settings.preemption
        and state.waiting > 0
        and state.now >= state.preemption.looked + state.settings.update_interval
    )


def round_of_preemption(state: State) -> list[Evict]:
    """Look for the starved and return whom to evict for them; the room is held."""
    state.preemption.looked = state.now
    if state.passed_at != state.now:
        update_pass(state)
    _forget_the_gone(state)
    starved = _starved(state)
    if not starved:
        return []
    settings = state.scheduler.fair
    effects: list[Evict] = []
    search = _Search(state)
    for contender in sorted(starved, key=lambda one: (_dominant(state, starvation(one)), one.name)):
        effects += search.help(contender)
        contender.next_check = state.now + settings.wait_before_kill + 4 * settings.heartbeat + settings.wait_before_next_check
    return effects


def _dominant(state: State, amounts: Vector) -> float:
    return max((amounts[position] * state.cluster.per[position] for position in state.cluster.counted), default=0.0)


def _forget_the_gone(state: State) -> None:
    preemption = state.preemption
    for application in [one for one in preemption.contenders if one.queue is None or one.id not in state.applications]:
        del preemption.contenders[application]
    for queue in [one for one in preemption.leaves if state.tree.queues.get(one.path) is not one]:
        del preemption.leaves[queue]
    for uid in [uid for uid, until in preemption.spared.items() if until <= state.now]:
        del preemption.spared[uid]
    for uid in [uid for uid in preemption.marked if uid not in state.pods]:
        del preemption.marked[uid]


def _starved(state: State) -> list[Contender]:
    """Return the applications that are short of something for longer than their timeout and that wait for a node."""
    preemption = state.preemption
    matters = worth_looking(state.cluster, state.tree.root.usage, state.scheduler.fair.utilization_threshold)
    found: dict[Contender, None] = {}
    for queue in state.tree.queues.values():
        if not queue.applications:
            continue
        leaf = preemption.leaves.get(queue)
        if leaf is None:
            leaf = preemption.leaves[queue] = Starving(queue, state.now)
        leaf.refresh(state)
        candidates = []
        for application in queue.applications.values():
            contender = preemption.contenders.get(application)
            if contender is None:
                contender = preemption.contenders[application] = Contender(application, state.now)
            contender.refresh(state)
            if application.busy and application.asks and wants(contender) and state.now >= contender.next_check:
                candidates.append(contender)
        if matters and candidates:
            candidates.sort(key=queue.rank)
            for one in find_starved(leaf, candidates, state.cluster, state.now, remainder=False):
                assert isinstance(one, Contender)
                found[one] = None
    return [contender for contender in found if any(_waits_for_a_node(ask) for ask in contender.application.asks.values())]


def _waits_for_a_node(ask: Ask) -> bool:
    return ask.wait is not None and ask.wait.reason == NO_NODE


@dataclass(slots=True)
class _Spots:
    """The nodes that may help the pods of a shape; ``roomy`` while one of them may have room without any victim."""

    rows: list[int]
    roomy: bool = True


class _Search:
    """The search for victims in one round: what each node has that may go, and what is going already."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.width = len(state.types)
        self.leaving: dict[int, Vector] = defaultdict(lambda: [0] * self.width)
        self.going: dict[Application, Vector] = defaultdict(lambda: [0] * self.width)
        self.on_node: dict[int, list[Victim]] = defaultdict(list)
        self._known: dict[int, _Spots] = {}
        for application in state.applications.values():
            self._take_in(application)
        for victims in self.on_node.values():
            victims.sort(key=lambda one: (one.master, one.record.spec.priority, -one.record.spec.created, one.record.spec.uid))

    def _take_in(self, application: Application) -> None:
        state = self.state
        donates = application.queue is not None and _may_donate(application.queue) and not _of_daemon(application)
        for uid, record in application.pods.items():
            if record.state is not PodState.BOUND:
                continue
            demand = self._dense(record)
            if record.spec.deleting or uid in state.preemption.marked:
                add_to(self.going[application], demand)
                add_to(self.leaving[record.node], demand)
            elif donates and uid not in state.preemption.spared and record.spec.priority < CRITICAL:
                self.on_node[record.node].append(Victim(record, application, demand))

    def _dense(self, record: PodRecord) -> Vector:
        vector = [0] * self.width
        for position, value in record.shape.demand:
            vector[position] = value
        return vector

    def help(self, contender: Contender) -> list[Evict]:
        """Hold room for as many pods of an application as make up for what it lacks, and return whom to evict."""
        state, application = self.state, contender.application
        lacking = starvation(contender)
        effects: list[Evict] = []
        for ask in sorted(application.asks.values()):
            if not _waits_for_a_node(ask):
                continue
            demand = [0] * self.width
            for position, value in ask.shape.demand:
                demand[position] = value
            mine = [hold for hold in state.preemption.holds if hold.application is application and hold.key == ask.key]
            count = min(len(ask.pods) - sum(not hold.patient for hold in mine), _times(contender, state, lacking, demand))
            for hold in mine if count > 0 else ():
                if hold.patient:
                    release(state, hold, "victims are asked to go instead")
            for _ in range(count):
                if len(state.preemption.holds) >= MOST_HOLDS or self._over_maximum(application, demand):
                    return effects
                found = self._victims(ask, demand)
                if found is None:
                    break
                effects += self._hold(ask, *found)
                lacking = beyond(lacking, demand)
        return effects

    def _over_maximum(self, application: Application, demand: Vector) -> bool:
        return any(
            not fits(plus(plus(queue.usage, held_below(self.state, queue)), demand), queue.maximum)
            for queue in application.limiting
        )

    def _victims(self, ask: Ask, demand: Vector) -> tuple[int, Picked[Victim]] | None:
        """Return the node and the pods that have to go from it: the first node without a master among them, else the one with the fewest.

        A node that cannot help is not looked at again in this round: what it has only gets less.
        """
        spots = self._spots(ask.shape, demand)
        if spots.roomy:
            row = next((row for row in spots.rows if fits(demand, self._room(row))), None)
            if row is not None:
                return row, Picked()
            spots.roomy = False
        best: tuple[int, Picked[Victim]] | None = None
        seen = 0
        useless = []
        for row in spots.rows:
            most = best[1].masters if best is not None else NO_BOUND
            picked = pick_on_node(demand, self._room(row), self.on_node.get(row, ()), self._may_lose, most)
            if picked is not None:
                best = row, self._reprieve(demand, self._room(row), picked)
                if not best[1].masters:
                    break
            elif best is None:
                useless.append(row)
            seen += best is not None
            if seen > MOST_SPARING:
                break
        if useless:
            gone = set(useless)
            spots.rows = [row for row in spots.rows if row not in gone]
        return best

    def _spots(self, shape: Shape, demand: Vector) -> _Spots:
        """Return the nodes that may help pods of a shape, those with the most room first, so that few have to go."""
        spots = self._known.get(shape.id)
        if spots is None:
            nodes, ports = self.state.nodes, shape.ports
            mask = nodes.mask(shape.constraints)
            rows = [
                row
                for row in {*self.on_node, *self.leaving}
                if mask[row] and fits(demand, nodes.allocatable[row]) and (not ports or host_ports.free(ports, nodes.ports[row]))
            ]
            per_memory, per_cpu = nodes.per_memory, nodes.per_cpu

            def taken(row: int) -> tuple[float, int]:
                room = self._room(row)
                return (-room[MEMORY] * per_memory[row] - room[CPU] * per_cpu[row], row)

            spots = self._known[shape.id] = _Spots(sorted(rows, key=taken))
        return spots

    def _room(self, row: int) -> Vector:
        """Return what a node will have free when those who leave it have left, beyond what is held there."""
        leaving = self.leaving.get(row)
        return self.state.nodes.free[row] if leaving is None else plus(self.state.nodes.free[row], leaving)

    @staticmethod
    def _reprieve(demand: Vector, room: Vector, picked: Picked[Victim]) -> Picked[Victim]:
        """Let those stay without whom the room suffices as well, the last to be asked first."""
        kept = list(picked.victims)
        for victim in reversed(picked.victims):
            others = [other for other in kept if other is not victim]
            have = list(room)
            for other in others:
                add_to(have, other.demand)
            if fits(demand, have):
                kept = others
        picked.victims = kept
        picked.masters = sum(victim.master for victim in kept)
        return picked

    def _may_lose(self, victim: Victim, considered: Vector) -> bool:
        owner, state = victim.owner, self.state
        queue = owner.queue
        assert queue is not None
        if victim.master and not _masters_may_go(state, queue):
            return False
        going = plus(self.going[owner], considered)
        return keeps_share(queue.policy, state.cluster, owner.usage, owner.instant_share, going, victim.demand)

    def _hold(self, ask: Ask, row: int, picked: Picked[Victim]) -> list[Evict]:
        state, settings = self.state, self.state.scheduler.fair
        victims = {victim.record.spec.uid for victim in picked.victims}
        hold = Hold(
            ask.application,
            ask.shape,
            ask.key,
            row,
            victims,
            state.now,
            state.now + settings.wait_before_kill + settings.hold_timeout,
        )
        place(state, hold)
        effects = []
        for victim in picked.victims:
            self.on_node[row].remove(victim)
            add_to(self.leaving[row], victim.demand)
            add_to(self.going[victim.owner], victim.demand)
            effects.append(_evict(state, victim, ask.application))
        return effects


def _evict(state: State, victim: Victim, beneficiary: Application) -> Evict:
    spec, queue, settings = victim.record.spec, victim.owner.queue, state.scheduler.fair
    assert queue is not None
    assert beneficiary.queue is not None
    state.tell(spec.uid, "victim", f"for {beneficiary.id} of {beneficiary.queue.path}")
    why = f"queue {beneficiary.queue.path} is owed what queue {queue.path} holds beyond its fair share"
    return Evict(
        spec.uid,
        spec.namespace,
        spec.name,
        queue.path,
        why,
        settings.wait_before_kill,
        settings.delete_blocked_victims,
        victim.record.cause,
    )


def _times(contender: Contender, state: State, lacking: Vector, demand: Vector) -> int:
    """Return how many pods of a demand make up for what is lacking without going beyond it."""
    queue = contender.application.queue
    assert queue is not None
    types = [at for at in queue.policy.counts(state.cluster) if lacking[at] > 0 and demand[at] > 0]
    return min((lacking[at] // demand[at] for at in types), default=0)


def _may_donate(queue: Queue) -> bool:
    return all(above.spec.preemptable for above in queue.chain)


def _of_daemon(application: Application) -> bool:
    """Whether it is a DaemonSet's: its controller would make the pod again on the same node."""
    return application.id.partition("/")[2].startswith("daemonset/")


def _masters_may_go(state: State, queue: Queue) -> bool:
    settings = state.scheduler.fair
    return settings.master_preemption_of.get(queue.path, settings.master_preemption)
