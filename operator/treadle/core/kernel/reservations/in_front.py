"""Room that is kept free in front of a reservation.

What a reservation has from some time on is its guarantee ``lead`` earlier (``following``), so who borrows it can be asked to go for pods that are there. What becomes free meanwhile is not lent again: from ``lead`` before it is promised more until as long after that, what the
reservation does not use yet is kept from all that is beyond its own guarantee, except from pods that will have ended by then (backfilling). So a gang whose pods are made at the start finds its room, and nothing is started to be evicted a moment later.

Amounts are compared in sum over the nodes of a partition that take pods, as reservations are promised.
"""

from __future__ import annotations

from itertools import islice
from math import inf
from typing import TYPE_CHECKING

from treadle.core.kernel.backfill.run_times import MOST_PODS, STARTING, UNKNOWN, longest
from treadle.core.kernel.gangs.known import complete
from treadle.core.kernel.gangs.start import Lacking, lacks
from treadle.core.kernel.reservations.words import moment
from treadle.core.kernel.tree.order import unpark
from treadle.core.model import Wait
from treadle.core.model.pods import CRITICAL
from treadle.core.model.scheduler import NEVER
from treadle.core.units.resources import in_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from treadle.core.effects import Placed
    from treadle.core.kernel.reservations.memory import Coming
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Ask, PodRecord, Queue
    from treadle.core.model import NodeSpec
    from treadle.core.units.resources import Demand, Vector

KEPT = "KeptForReservation"
INTERVAL, PER_INTERVAL = 1.0, 500
"""Seconds until those are looked at again who were held back, and as many again for each so many of them."""


def wake(state: State) -> None:
    """Let those compete again who were held back, when it is time or nothing is kept any more."""
    plans = state.plans
    if plans.held and (not any(one.coming for one in plans.of.values()) or state.now >= plans.look):
        held, plans.look = list(plans.held), inf
        plans.held.clear()
        for ask in held:
            if ask.wait is not None and ask.wait.reason == KEPT:
                unpark(ask)


def next_look(state: State) -> float:
    """Return when those are looked at again who were held back, on the core's clock; infinite while there are none."""
    return state.plans.look if state.plans.held else inf


def kept(state: State) -> Kept | None:
    """Return what is kept in this pass, None where nothing is."""
    found = list(_now(state)) if state.plans.of else []
    return Kept(state, found) if found else None


def partitions_kept(state: State) -> set[str]:
    """Return the partitions in which anything is kept now: they lend nothing meanwhile."""
    return {each.partition for each in _now(state)}


def _now(state: State) -> Iterator[Coming]:
    return (each for one in state.plans.of.values() for each in one.coming if state.now < each.until)


def guaranteed_to(state: State, queue: Queue) -> Vector:
    """Return what a queue, or its part, is guaranteed of its partition, as long as the vectors of the machine."""
    found = [0] * state.types.width
    for vector in (state.discipline.limits.due(queue.whole, queue.partition), queue.minimum or ()):
        for position, value in enumerate(vector):
            found[position] = max(found[position], value)
    return found


class Kept:
    """What is kept in one pass, and who is held back for it."""

    def __init__(self, state: State, found: Sequence[Coming]) -> None:
        self._state = state
        self._seen = 0
        self._of: dict[str, KeptOf] = {}
        for partition in dict.fromkeys(one.partition for one in found):
            self._of[partition] = KeptOf(state, [one for one in found if one.partition == partition], partition)

    def holds_back(self, ask: Ask, placed: Sequence[Placed]) -> Wait | None:
        """Return why an ask has to wait after so much was placed in this pass, None if it need not.

        Of an ask that has to a pod may go that will have ended in time; it is the first of the ask then.
        """
        self.follow(placed)
        mine = self._of.get(ask.application.partition)
        return None if mine is None else mine.holds_back(ask)

    def follow(self, placed: Sequence[Placed]) -> None:
        """Take note of what was placed since the last look."""
        for effect in islice(placed, self._seen, None):
            record = self._state.pods[effect.uid]
            mine = None if record.part is None else self._of.get(record.part.partition)
            if mine is not None:
                mine.take(record)
        self._seen = len(placed)
        for mine in self._of.values():
            mine.looked()

    def finish(self, placed: Sequence[Placed]) -> None:
        """Take note of the rest, and of when those are looked at again who were held back: who comes meanwhile does not put that off."""
        self.follow(placed)
        plans = self._state.plans
        if plans.held:
            plans.look = min(plans.look, self._state.now + INTERVAL * (1 + len(plans.held) // PER_INTERVAL))


class KeptOf:
    """What is kept of a partition, and who is held back for that."""

    def __init__(self, state: State, found: Sequence[Coming], partition: str) -> None:
        self._state, self._partition = state, partition
        queues = state.tree.queues
        self._coming = [(one, queues[one.path]) for one in found if one.path in queues]
        self._above = {above for _, queue in self._coming for above in queue.chain[1:]}
        self._short, self._ends = "", inf
        self._missing: dict[int, int] | None = None
        self._guaranteed: dict[Queue, Vector] = {}
        self._found: dict[tuple[Queue, Demand], tuple[Coming, int] | None] = {}
        """What was found for asks of a leaf that are alike, since something was placed last."""
        self._waits: dict[tuple[Coming, int], Wait] = {}
        nodes = state.nodes
        label = state.scheduler.partition_label if state.discipline.membership.partitions_matter() else None
        takes = nodes.passing(("takes pods", label, partition), self._takes_pods) if len(nodes) else None
        self._free: list[int] = (
            [0] * state.types.width if takes is None else nodes.columns()[:, : len(nodes)][:, takes].clip(0).sum(axis=1).tolist()
        )

    def _takes_pods(self, spec: NodeSpec) -> bool:
        return not spec.unschedulable and self._state.discipline.membership.partition_of(spec.labels) == self._partition

    def holds_back(self, ask: Ask) -> Wait | None:
        """Return why an ask has to wait, None if it need not; a pod that may go is the first of the ask then."""
        demand = _wanted(self._state, ask)
        alike = ask.application.chain[0], demand
        if alike not in self._found:
            short = self._first_short(ask, demand, inf)
            self._found[alike] = None if short is None or self._is_due(ask, demand) else short
        found = self._found[alike]
        if found is None:
            return None
        if self._may_backfill(ask) and self._a_short_one(ask, demand):
            return None
        self._state.plans.held[ask] = None
        if found not in self._waits:
            self._waits[found] = Wait(KEPT, found[0].identity, self._words(*found))
        return self._waits[found]

    def take(self, record: PodRecord) -> None:
        """Take note of a pod that was placed."""
        state, uid = self._state, record.spec.uid
        for position, value in record.shape.demand:
            self._free[position] -= value
        if uid == self._short:
            state.backfill.in_front[uid] = self._ends
            state.backfill.placed += 1
            state.record(uid, "backfilled", state.nodes.names[record.node])
        self._missing = None
        self._found.clear()
        self._waits.clear()

    def looked(self) -> None:
        """Forget which pod might go: it was placed, or was not."""
        self._short = ""

    def _first_short(self, ask: Ask, demand: Demand, ends: float) -> tuple[Coming, int] | None:
        """Return a reservation that would find less than is kept for it of a type, which is said as well; of those that are promised more before some time."""
        if ends == inf:
            if self._missing is None:
                self._missing = self._sum(self._coming)
            missing = self._missing
        else:
            missing = self._sum([(one, queue) for one, queue in self._coming if one.at < ends])
        chain = [above.whole for above in ask.application.chain]
        own = [(one, queue) for one, queue in self._coming if queue in chain and one.at < ends]
        if own:
            missing = dict(missing)
            for position, value in self._sum(own).items():
                missing[position] -= value
        for position, value in demand:
            lacking = missing.get(position, 0)
            if value > 0 and lacking > 0 and self._free[position] - value < lacking:
                return next(
                    one for one, queue in self._coming if one.at < ends and queue not in chain and _lacks(one, queue, position)
                ), position
        return None

    @staticmethod
    def _sum(found: Sequence[tuple[Coming, Queue]]) -> dict[int, int]:
        """Return what reservations do not use yet of what is kept for them."""
        total: dict[int, int] = {}
        for one, queue in found:
            for position, amount in enumerate(one.amounts):
                if _lacks(one, queue, position):
                    total[position] = total.get(position, 0) + amount - _used(one, queue, position)
        return total

    def _is_due(self, ask: Ask, demand: Demand) -> bool:
        """Whether a queue that an ask is below is guaranteed what it would have then; what queues above a plan have is for its reservations as well."""
        for queue in ask.application.chain:
            if queue.parent is None or queue.whole in self._above:
                continue
            guaranteed = self._guaranteed.get(queue)
            if guaranteed is None:
                guaranteed = self._guaranteed[queue] = guaranteed_to(self._state, queue)
            if all(queue.usage[position] + value <= guaranteed[position] for position, value in demand):
                return True
        return False

    def _may_backfill(self, ask: Ask) -> bool:
        state = self._state
        return (
            state.scheduler.backfill != NEVER
            and not ask.batched
            and not ask.shape.gang[1]
            and ask.shape.devices is None
            and ask.key[1] < CRITICAL
            and state.discipline.may_be_asked(ask.application)
        )

    def _a_short_one(self, ask: Ask, demand: Demand) -> bool:
        """Whether one of the first pods of an ask will have ended when any of those may begin in whose room it would be; it is the first then."""
        state = self._state
        for record in islice(ask.pods, MOST_PODS):
            seconds = longest(state, record.spec)
            ends = state.now + STARTING + seconds
            if seconds < UNKNOWN and self._first_short(ask, demand, ends) is None:
                ask.pods.let_first([record])
                self._short, self._ends = record.spec.uid, ends
                return True
        return False

    def _words(self, one: Coming, position: int) -> str:
        name = self._state.types.names[position]
        free = in_words(name, max(0, self._free[position]))
        where = f" of partition {one.partition}" if one.partition else ""
        return (
            f"room is kept for reservation {one.identity}, which is promised {name} {in_words(name, one.amounts[position])}{where} from {moment(one.time)} on; "
            f"{name} {free} is free in all. What its pods do not use is lent again from {moment(round((one.until + self._state.settings.epoch) * 1000))} on, "
            "and before to pods that say that they will have ended by its start"
        )


def _lacks(one: Coming, queue: Queue, position: int) -> bool:
    return one.amounts[position] > _used(one, queue, position)


def _used(one: Coming, queue: Queue, position: int) -> int:
    """Return what a reservation's queue uses of the partition; one in which it never had anything has no part yet."""
    mine = queue.parts.get(one.partition) if one.partition else queue
    return 0 if mine is None else mine.usage[position]


def _wanted(state: State, ask: Ask) -> Demand:
    """Return what would be placed at once: a pod, all that a gang lacks, or all of what is placed together."""
    if ask.shape.gang[1] and not complete(state, ask):
        lacking = lacks(state, ask.application, ask.shape.gang)
        return lacking.demand if isinstance(lacking, Lacking) else ask.shape.demand
    if not ask.batched:
        return ask.shape.demand
    total: dict[int, int] = {}
    for one in ask.application.asks.values():
        if one.batched:
            for position, value in one.shape.demand:
                total[position] = total.get(position, 0) + value * len(one.pods)
    return tuple(total.items())
