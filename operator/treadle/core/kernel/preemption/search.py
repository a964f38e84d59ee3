"""The search for pods that have to go so that others fit: on which node, who, and the hold on the room.

Both disciplines preempt by it; what differs is who may lose what. Only nodes that would admit the pod are looked at, what is on
its way out counts before another pod is asked to go, a pod is a victim only if evicting it frees a node for the ask, and the room
is held for that ask. A node is freed only if the pod would pass every rule there then: those who are in the way by their rules, or
by a port, are among the victims, and those whom the pod has to be near are not.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from treadle.core.effects import Evict
from treadle.core.kernel.cycle import NO_NODE
from treadle.core.kernel.gangs.held import give_up
from treadle.core.kernel.nodes.candidates import pick
from treadle.core.kernel.pods.states import PodState
from treadle.core.kernel.preemption.holds import held_below, of_gang, place
from treadle.core.kernel.preemption.memory import Hold
from treadle.core.kernel.preemption.without import passes_without
from treadle.core.kernel.tree.members import PodRecord
from treadle.core.kernel.tree.partitions import payer
from treadle.core.model.pods import CRITICAL
from treadle.core.rules.victims import NO_BOUND, MayLose, Picked, pick_on_node
from treadle.core.units.amounts import add_to, fits, minus, plus, take_from
from treadle.core.units.resources import CPU, MEMORY, Vector, dense

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from treadle.core.kernel.nodes.shapes import Shape
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application, Ask, Queue

MOST_SPARING = 64
"""Further nodes that are looked at for one where fewer masters have to go."""
MOST_HOLDS = 256
"""Holds at one time: preemption is for what is owed, not for filling a cluster."""
RARELY = 10
"""Intervals between two rounds while more than a quarter of the holds that may be are there."""


class Victim:
    """A pod that may be asked to go; ``owner`` is the part of its application that it is counted in, ``demand`` what it frees on its node and ``charged`` in its queues."""

    __slots__ = ("charged", "demand", "master", "owner", "record")

    def __init__(self, record: PodRecord, owner: Application, demand: Vector, charged: Vector) -> None:
        self.record = record
        self.owner = owner
        self.master = record.spec.role == "master"
        self.demand = demand
        self.charged = charged


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
        self.width = state.types.width
        self.leaving: dict[int, Vector] = defaultdict(lambda: [0] * self.width)
        self.going: dict[Application, Vector] = defaultdict(lambda: [0] * self.width)
        self.on_node: dict[int, list[Victim]] = defaultdict(list)
        self.kept: dict[int, Vector] = {}
        """What is kept on nodes for gangs as it comes: that is given up where pods go for others."""
        self.keep(hold for hold in state.preemption.holds if hold.gang[1] and hold.without_victims)
        self.permitted: object = None
        """Who may go for whom, as far as nodes that can help differ by it."""
        self._known: dict[tuple[object, int], _Spots] = {}
        self._passed_over: dict[int, set[int]] = {}
        """Nodes that cannot help whoever is helped now, and perhaps can help others, by shape."""
        self._held = with_victims(state)
        self._holders = {hold.application for hold in state.preemption.holds}
        """For whom there have been holds in this round, so that not all are looked through for each ask."""
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
        self._passed_over.clear()

    def look_again(self, shape: Shape, rows: Sequence[int]) -> None:
        """Look again at nodes that have more room for pods of a shape than before."""
        feasible = self._known.get((self.permitted, shape.id))
        if feasible is not None:
            feasible.rows = [*dict.fromkeys(rows), *(row for row in feasible.rows if row not in rows)]
            feasible.roomy = True
        self._passed_over.get(shape.id, set()).difference_update(rows)

    def help_another(self) -> None:
        """Look again at nodes that could not help whoever was helped until now."""
        self._passed_over.clear()

    def helps_others(self, row: int) -> bool:
        """Whether a node that cannot help may help others than whoever is helped now."""
        del row
        return False

    def taken(self, victim: Victim) -> None:
        """Take note that a victim is asked to go."""
        del victim

    def spared(self, victim: Victim) -> None:
        """Take note that one that was taken is not asked to go after all."""
        del victim

    def least_first(self, victim: Victim) -> tuple[object, ...]:
        """Return the key by which those on a node are asked: masters last, the least urgent and the newest first."""
        return (victim.master, victim.record.spec.priority, -victim.record.spec.created, victim.record.spec.uid)

    def _take_in(self, application: Application) -> None:
        state = self.state
        preemption, in_the_way = state.preemption, state.backfill.going
        queued = application.queue is not None and not _of_daemon(application)
        donors = {part for part in application.everywhere() if queued and self.donates(part)}
        for uid, record in application.pods.items():
            if record.state is not PodState.BOUND:
                continue
            demand, owner = self.dense_of(record.shape), payer(record)
            charged = plus(demand, dense(record.paid, self.width)) if record.paid else demand
            asked = uid in preemption.marked or (uid in in_the_way and uid not in preemption.spared)
            if record.spec.deleting or asked:
                add_to(self.going[owner], charged)
                add_to(self.leaving[record.node], demand)
            elif owner in donors and uid not in preemption.spared and record.spec.priority < CRITICAL:
                self.on_node[record.node].append(Victim(record, owner, demand, charged))

    def dense_of(self, shape: Shape) -> Vector:
        """Return what pods of a shape demand of a node, as a dense vector."""
        return dense(shape.demand, self.width)

    def charged_of(self, shape: Shape) -> Vector:
        """Return what pods of a shape count for in their queues, as a dense vector."""
        return dense(shape.charged, self.width)

    @property
    def exhausted(self) -> bool:
        """Whether as many holds are there as may be at one time."""
        return self._held >= MOST_HOLDS

    def held_for(self, ask: Ask) -> list[Hold]:
        """Return the holds for pods of an ask."""
        if ask.application not in self._holders:
            return []
        return [hold for hold in self.state.preemption.holds if hold.application is ask.application and hold.key == ask.key]

    def make_room(self, ask: Ask) -> list[Evict] | None:
        """Hold room for one more pod of an ask, and return whom to evict for it; None if there is no way to make any."""
        self.state.preemption.attempts += 1
        if self.exhausted or self.over_maximum(ask.application, self.charged_of(ask.shape)):
            return None
        found = self.victims(ask, self.dense_of(ask.shape))
        return None if found is None else self.hold(ask, *found)

    def make_allowance(self, ask: Ask, full: Queue) -> list[Evict] | None:
        """Let pods below a queue at its maximum go for one more pod of an ask below it, which has room on a node; None if there is no way."""
        state, demand = self.state, self.charged_of(ask.shape)
        state.preemption.attempts += 1
        row = pick(state.nodes, ask.shape, state.score)
        if row < 0 or self.exhausted:
            return None
        may_lose, picked = self.permission(), Picked[Victim]()
        candidates = [one for each in self.on_node.values() for one in each if full in one.owner.chain]
        for victim in sorted(candidates, key=self.least_first):
            if self._allowance(full, demand, picked):
                break
            if may_lose(victim, [0] * self.width):
                picked.victims.append(victim)
        return self.hold(ask, row, picked) if self._allowance(full, demand, picked) else None

    def _allowance(self, full: Queue, demand: Vector, picked: Picked[Victim]) -> bool:
        used = plus(plus(full.usage, held_below(self.state, full)), demand)
        for victim in picked.victims:
            used = minus(used, victim.charged)
        return fits(minus(used, self.going_below(full)), full.maximum)

    def going_below(self, queue: Queue) -> Vector:
        """Return what is on its way out below a queue."""
        total = [0] * self.width
        for owner, amounts in self.going.items():
            if queue in owner.chain:
                add_to(total, amounts)
        return total

    def over_maximum(self, application: Application, demand: Vector) -> bool:
        """Whether an application's queues would be over a maximum by a demand, what is held for them counted and what is on its way out not."""
        return any(
            not fits(
                minus(plus(plus(queue.usage, held_below(self.state, queue)), demand), self.going_below(queue)), queue.maximum
            )
            for queue in application.limiting
        )

    def victims(self, ask: Ask, demand: Vector) -> tuple[int, Picked[Victim]] | None:
        """Return the node and the pods that have to go from it: the first node without a master among them, else the one with the fewest.

        A node that cannot help is not looked at again in this round: what it has only gets less.
        """
        feasible = self._spots(ask.shape, demand)
        if feasible.roomy:
            roomy = (row for row in feasible.rows if fits(demand, self._room(row)))
            row = next((row for row in roomy if self._passes(ask.shape, row, ())), None)
            if row is not None:
                return row, Picked()
            feasible.roomy = False
        best: tuple[int, Picked[Victim]] | None = None
        seen = 0
        useless = []
        passed_over = self._passed_over.setdefault(ask.shape.id, set())
        for row in feasible.rows:
            if row in passed_over:
                continue
            most = best[1].masters if best is not None else NO_BOUND
            picked = self._picked(ask.shape, demand, row, most)
            if picked is not None:
                best = row, picked
                if not best[1].masters:
                    break
            elif best is None and self.helps_others(row):
                passed_over.add(row)
            elif best is None:
                useless.append(row)
            seen += best is not None
            if seen > MOST_SPARING:
                break
        if useless:
            gone = set(useless)
            feasible.rows = [row for row in feasible.rows if row not in gone]
        return best

    def _picked(self, shape: Shape, demand: Vector, row: int, most: int) -> Picked[Victim] | None:
        """Return who has to go from a node so that a pod of a shape fits and passes, with fewer than ``most`` masters; None if that cannot be."""
        room, victims = self._room(row), self.on_node.get(row, ())
        picked = pick_on_node(demand, room, victims, self.permission(), most)
        if picked is None or not self._passes(shape, row, picked.victims):
            if not victims or (shape.between is None and not shape.ports):
                return None
            needed, others = self._in_the_way(shape, row, victims)
            picked = pick_on_node(demand, room, [*needed, *others], self.permission(), most, len(needed))
            if picked is None or not self._passes(shape, row, picked.victims):
                return None
        return self._reprieve(shape, demand, row, picked)

    def _in_the_way(self, shape: Shape, row: int, victims: Sequence[Victim]) -> tuple[list[Victim], list[Victim]]:
        """Return who has to go for a pod of a shape to pass the rules on a node, and who else may go."""
        if self._passes(shape, row, ()):
            return [], [victim for victim in victims if self._passes(shape, row, (victim,))]
        needed: list[Victim] = []
        others: list[Victim] = []
        for victim in victims:
            rest = [other for other in victims if other is not victim]
            (others if self._passes(shape, row, rest) else needed).append(victim)
        return (needed, others) if others or self._passes(shape, row, victims) else ([], list(victims))

    def _passes(self, shape: Shape, row: int, victims: Sequence[Victim]) -> bool:
        return passes_without(self.state, shape, row, [victim.record for victim in victims])

    def _spots(self, shape: Shape, demand: Vector) -> _Spots:
        """Return the nodes that may help pods of a shape, those with the most room first, so that few have to go."""
        feasible = self._known.get((self.permitted, shape.id))
        if feasible is None:
            nodes = self.state.nodes
            mask = nodes.mask(shape.constraints)
            rows = [row for row in {*self.on_node, *self.leaving} if mask[row] and fits(demand, nodes.allocatable[row])]
            per_memory, per_cpu = nodes.per_memory, nodes.per_cpu

            def taken(row: int) -> tuple[bool, float, int]:
                room = self._room(row)
                return (row in self.kept, -room[MEMORY] * per_memory[row] - room[CPU] * per_cpu[row], row)

            feasible = self._known[self.permitted, shape.id] = _Spots(sorted(rows, key=taken))
        return feasible

    def _room(self, row: int) -> Vector:
        """Return what a node will have free when those who leave it have left, beyond what is held there."""
        room, leaving = self.state.nodes.free[row], self.leaving.get(row)
        if self.kept and row in self.kept:
            room = plus(room, self.kept[row])
        return room if leaving is None else plus(room, leaving)

    def _reprieve(self, shape: Shape, demand: Vector, row: int, picked: Picked[Victim]) -> Picked[Victim]:
        """Let those stay without whom the room suffices as well, the last to be asked first."""
        room, kept = self._room(row), list(picked.victims)
        for victim in reversed(picked.victims):
            others = [other for other in kept if other is not victim]
            have = list(room)
            for other in others:
                add_to(have, other.demand)
            if fits(demand, have) and self._passes(shape, row, others):
                kept = others
        picked.victims = kept
        picked.masters = sum(victim.master for victim in kept)
        return picked

    def hold(self, ask: Ask, row: int, picked: Picked[Victim], gang: tuple[str, str] = ("", "")) -> list[Evict]:
        """Hold room for a pod of an ask, or of a gang that is held as a whole, and return whom to evict for it."""
        state, terms = self.state, self.terms
        if row in self.kept:
            self._give_up(row)
        victims = {victim.record.spec.uid for victim in picked.victims}
        hold = Hold(
            ask.application,
            ask.shape,
            ask.key,
            row,
            victims,
            state.now,
            state.now + terms.wait_before_kill + terms.hold_timeout,
            gang=gang,
        )
        place(state, hold)
        self._held += 1
        self._holders.add(ask.application)
        if not gang[1]:
            self.leave(picked.victims)
            state.preemption.chosen(len(victims))
        return [self._evict(victim, ask.application) for victim in picked.victims]

    def _give_up(self, row: int) -> None:
        """End what is kept for the gangs that have something kept on a node."""
        state = self.state
        for gang in {hold.gang for hold in state.preemption.holds if hold.row == row and hold.gang[1] and hold.without_victims}:
            mine = of_gang(state, gang)
            self.unkeep(mine)
            give_up(state, mine, "pods go for others there")

    def keep(self, holds: Iterable[Hold]) -> None:
        """Take note of what is kept for gangs."""
        for hold in holds:
            add_to(self.kept.setdefault(hold.row, [0] * self.width), self.dense_of(hold.shape))

    def unkeep(self, holds: Iterable[Hold]) -> None:
        """Take note that it is kept no longer."""
        for hold in holds:
            take_from(self.kept[hold.row], self.dense_of(hold.shape))
            if not any(self.kept[hold.row]):
                del self.kept[hold.row]

    def leave(self, victims: Sequence[Victim]) -> None:
        """Count victims as on their way out."""
        for victim in victims:
            at = victim.record.node
            self.on_node[at].remove(victim)
            add_to(self.leaving[at], victim.demand)
            self.taken(victim)
            add_to(self.going[victim.owner], victim.charged)

    def stay(self, victims: Sequence[Victim]) -> None:
        """Take back what ``leave`` counted."""
        for victim in victims:
            at = victim.record.node
            self.on_node[at].append(victim)
            self.on_node[at].sort(key=self.least_first)
            take_from(self.leaving[at], victim.demand)
            self.spared(victim)
            take_from(self.going[victim.owner], victim.charged)

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
            beneficiary.id,
            beneficiary.queue.path,
        )


def with_victims(state: State) -> int:
    """Return how many holds wait for victims to go."""
    return sum(not hold.without_victims for hold in state.preemption.holds)


def next_round(state: State, interval: float) -> float | None:
    """Return when the next round is due that looks every ``interval`` seconds, None while it could hold nothing.

    A round looks at all that wait, so while many of its holds are there still it waits for more of them to end.
    """
    held = with_victims(state)
    if held >= MOST_HOLDS:
        return None
    return state.preemption.looked + interval * (RARELY if held > MOST_HOLDS // 4 else 1)


def _of_daemon(application: Application) -> bool:
    """Whether it is a DaemonSet's: its controller would make the pod again on the same node."""
    return application.id.partition("/")[2].startswith("daemonset/")


def waits_for_a_node(ask: Ask) -> bool:
    """Whether an ask waits for nothing but room on a node."""
    wait = ask.obstacle
    return wait is not None and wait.reason == NO_NODE and not wait.blocker  # a gang waits for several at once


def starts_with_a_gang(ask: Ask) -> bool:
    """Whether an ask waits for room for all pods with which its gang starts."""
    wait = ask.obstacle
    return wait is not None and wait.reason == NO_NODE and bool(wait.blocker)
