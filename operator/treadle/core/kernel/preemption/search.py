"""The search for pods that have to go so that others fit: on which node, who, and the hold on the room.

Both disciplines preempt by it; what differs is who may lose what. Only nodes that would admit the pod are looked at, what is on
its way out counts before another pod is asked to go, a pod is a victim only if evicting it frees a node for the ask, and the room
is held for that ask.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from treadle.core.effects import Evict
from treadle.core.kernel.cycle import NO_NODE
from treadle.core.kernel.nodes.candidates import pick
from treadle.core.kernel.nodes.rules import host_ports
from treadle.core.kernel.pods.states import PodState
from treadle.core.kernel.preemption.holds import held_below, place
from treadle.core.kernel.preemption.memory import Hold
from treadle.core.kernel.tree.members import PodRecord
from treadle.core.kernel.tree.partitions import payer
from treadle.core.rules.victims import NO_BOUND, MayLose, Picked, pick_on_node
from treadle.core.units.amounts import add_to, fits, minus, plus
from treadle.core.units.resources import CPU, MEMORY, Vector

if TYPE_CHECKING:
    from treadle.core.kernel.nodes.shapes import Shape
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application, Ask, Queue

MOST_SPARING = 64
"""Further nodes that are looked at for one where fewer masters have to go."""
MOST_HOLDS = 128
"""Holds at one time: preemption is for what is owed, not for filling a cluster."""
CRITICAL = 2_000_000_000
"""Pods of this priority and above are the system's own (system-cluster-critical) and are never asked to go."""


class Victim:
    """A pod that may be asked to go; ``owner`` is the part of its application that it is counted in."""

    __slots__ = ("demand", "master", "owner", "record")

    def __init__(self, record: PodRecord, owner: Application, demand: Vector) -> None:
        self.record = record
        self.owner = owner
        self.master = record.spec.role == "master"
        self.demand = demand


class Terms(NamedTuple):
    """How victims are asked to go, in seconds: the time before one may be deleted, whether it is then, and how long room is held after that."""

    wait_before_kill: float
    delete_blocked: bool
    hold_timeout: float


@dataclass(slots=True)
class _Spots:
    """The nodes that may help the pods of a shape; ``roomy`` while one of them may have room without any victim."""

    rows: list[int]
    roomy: bool = True


class Search(ABC):
    """The search for victims in one round: what each node has that may go, and what is going already."""

    def __init__(self, state: State, terms: Terms) -> None:
        self.state = state
        self.terms = terms
        self.width = len(state.types)
        self.leaving: dict[int, Vector] = defaultdict(lambda: [0] * self.width)
        self.going: dict[Application, Vector] = defaultdict(lambda: [0] * self.width)
        self.on_node: dict[int, list[Victim]] = defaultdict(list)
        self._known: dict[int, _Spots] = {}
        for application in state.applications.values():
            self._take_in(application)
        for victims in self.on_node.values():
            victims.sort(key=self.least_first)

    @abstractmethod
    def donates(self, part: Application) -> bool:
        """Whether pods of an application may be asked to go at all."""

    @abstractmethod
    def permission(self) -> MayLose[Victim]:
        """Return who says, for one node, whether a pod may be taken beside those that were taken there before."""

    @abstractmethod
    def why(self, victim: Victim, beneficiary: Application) -> str:
        """Return what a victim's owner is told."""

    def look_anew(self) -> None:
        """Forget which nodes could not help: for another need they may."""
        self._known.clear()

    def taken(self, victim: Victim) -> None:
        """Take note that a victim is asked to go."""
        del victim

    def least_first(self, victim: Victim) -> tuple[object, ...]:
        """Return the key by which those on a node are asked: masters last, the least urgent and the newest first."""
        return (victim.master, victim.record.spec.priority, -victim.record.spec.created, victim.record.spec.uid)

    def _take_in(self, application: Application) -> None:
        state = self.state
        queued = application.queue is not None and not _of_daemon(application)
        donors = {part for part in application.everywhere() if queued and self.donates(part)}
        for uid, record in application.pods.items():
            if record.state is not PodState.BOUND:
                continue
            demand, owner = self.dense_of(record.shape), payer(record)
            if record.spec.deleting or uid in state.preemption.marked:
                add_to(self.going[owner], demand)
                add_to(self.leaving[record.node], demand)
            elif owner in donors and uid not in state.preemption.spared and record.spec.priority < CRITICAL:
                self.on_node[record.node].append(Victim(record, owner, demand))

    def dense_of(self, shape: Shape) -> Vector:
        """Return what pods of a shape demand, as a dense vector."""
        vector = [0] * self.width
        for position, value in shape.demand:
            vector[position] = value
        return vector

    def _most_held(self) -> bool:
        return sum(not hold.without_victims for hold in self.state.preemption.holds) >= MOST_HOLDS

    def make_room(self, ask: Ask) -> list[Evict] | None:
        """Hold room for one more pod of an ask, and return whom to evict for it; None if there is no way to make any."""
        demand = self.dense_of(ask.shape)
        if self._most_held() or self._over_maximum(ask.application, demand):
            return None
        found = self._victims(ask, demand)
        return None if found is None else self._hold(ask, *found)

    def make_allowance(self, ask: Ask, full: Queue) -> list[Evict] | None:
        """Let pods below a queue at its maximum go for one more pod of an ask below it, which has room on a node; None if there is no way."""
        state, demand = self.state, self.dense_of(ask.shape)
        row = pick(state.nodes, ask.shape, state.score)
        if row < 0 or self._most_held():
            return None
        may_lose, picked = self.permission(), Picked[Victim]()
        candidates = [one for each in self.on_node.values() for one in each if full in one.owner.chain]
        for victim in sorted(candidates, key=self.least_first):
            if self._allowance(full, demand, picked):
                break
            if may_lose(victim, [0] * self.width):
                picked.victims.append(victim)
        return self._hold(ask, row, picked) if self._allowance(full, demand, picked) else None

    def _allowance(self, full: Queue, demand: Vector, picked: Picked[Victim]) -> bool:
        used = plus(plus(full.usage, held_below(self.state, full)), demand)
        for victim in picked.victims:
            used = minus(used, victim.demand)
        return fits(minus(used, self.going_below(full)), full.maximum)

    def going_below(self, queue: Queue) -> Vector:
        """Return what is on its way out below a queue."""
        total = [0] * self.width
        for owner, amounts in self.going.items():
            if queue in owner.chain:
                add_to(total, amounts)
        return total

    def _over_maximum(self, application: Application, demand: Vector) -> bool:
        return any(
            not fits(
                minus(plus(plus(queue.usage, held_below(self.state, queue)), demand), self.going_below(queue)), queue.maximum
            )
            for queue in application.limiting
        )

    def _victims(self, ask: Ask, demand: Vector) -> tuple[int, Picked[Victim]] | None:
        """Return the node and the pods that have to go from it: the first node without a master among them, else the one with the fewest.

        A node that cannot help is not looked at again in this round: what it has only gets less.
        """
        feasible = self._spots(ask.shape, demand)
        if feasible.roomy:
            row = next((row for row in feasible.rows if fits(demand, self._room(row))), None)
            if row is not None:
                return row, Picked()
            feasible.roomy = False
        best: tuple[int, Picked[Victim]] | None = None
        seen = 0
        useless = []
        for row in feasible.rows:
            most = best[1].masters if best is not None else NO_BOUND
            picked = pick_on_node(demand, self._room(row), self.on_node.get(row, ()), self.permission(), most)
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
            feasible.rows = [row for row in feasible.rows if row not in gone]
        return best

    def _spots(self, shape: Shape, demand: Vector) -> _Spots:
        """Return the nodes that may help pods of a shape, those with the most room first, so that few have to go."""
        feasible = self._known.get(shape.id)
        if feasible is None:
            nodes, ports = self.state.nodes, shape.ports
            mask = nodes.mask(shape.constraints)
            if shape.between is not None:
                mask = mask & shape.between.mask()
            rows = [
                row
                for row in {*self.on_node, *self.leaving}
                if mask[row] and fits(demand, nodes.allocatable[row]) and (not ports or host_ports.free(ports, nodes.ports[row]))
            ]
            per_memory, per_cpu = nodes.per_memory, nodes.per_cpu

            def taken(row: int) -> tuple[float, int]:
                room = self._room(row)
                return (-room[MEMORY] * per_memory[row] - room[CPU] * per_cpu[row], row)

            feasible = self._known[shape.id] = _Spots(sorted(rows, key=taken))
        return feasible

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

    def _hold(self, ask: Ask, row: int, picked: Picked[Victim]) -> list[Evict]:
        state, terms = self.state, self.terms
        victims = {victim.record.spec.uid for victim in picked.victims}
        hold = Hold(
            ask.application,
            ask.shape,
            ask.key,
            row,
            victims,
            state.now,
            state.now + terms.wait_before_kill + terms.hold_timeout,
        )
        place(state, hold)
        effects = []
        for victim in picked.victims:
            at = victim.record.node
            self.on_node[at].remove(victim)
            add_to(self.leaving[at], victim.demand)
            self.taken(victim)
            add_to(self.going[victim.owner], victim.demand)
            effects.append(self._evict(victim, ask.application))
        return effects

    def _evict(self, victim: Victim, beneficiary: Application) -> Evict:
        spec, queue, terms = victim.record.spec, victim.owner.queue, self.terms
        assert queue is not None
        assert beneficiary.queue is not None
        self.state.record(spec.uid, "victim", f"for {beneficiary.id} of {beneficiary.queue.path}")
        return Evict(
            spec.uid,
            spec.namespace,
            spec.name,
            queue.path,
            self.why(victim, beneficiary),
            terms.wait_before_kill,
            terms.delete_blocked,
            victim.record.cause,
        )


def _of_daemon(application: Application) -> bool:
    """Whether it is a DaemonSet's: its controller would make the pod again on the same node."""
    return application.id.partition("/")[2].startswith("daemonset/")


def waits_for_a_node(ask: Ask) -> bool:
    """Whether an ask waits for nothing but room on a node."""
    wait = ask.obstacle
    return wait is not None and wait.reason == NO_NODE and not wait.blocker  # a gang waits for several at once
