"""A preemption round under the capacity discipline (YARN's ``ProportionalCapacityPreemptionPolicy``).

Ideal allocations, over-use and the limit of a round are Hadoop's. Victims differ: Hadoop takes the newest containers of
over-served queues on any node; here they are pods on one node where the waiting ask then fits, and that room is held for it, as
Hadoop does for held nodes only. A queue at or below its guarantee loses nothing, except to a queue of higher priority where
priority preemption is on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from treadle.core.disciplines.capacity.preemption_snapshot import take_snapshot, urgency
from treadle.core.disciplines.capacity.state import capacity_state
from treadle.core.kernel.cycle import AT_MAXIMUM, cycle
from treadle.core.kernel.gangs.start import lacks
from treadle.core.kernel.preemption.holds import charges_lifted, forget_the_gone, place, release
from treadle.core.kernel.preemption.search import Search, Terms, Victim, next_round, starts_with_a_gang, waits_for_a_node
from treadle.core.kernel.preemption.whole_gangs import make_room_for_gang
from treadle.core.model import Wait
from treadle.core.rules.capacity.preemption.ideal import Dealing, compute
from treadle.core.rules.capacity.preemption.intra import look_inside
from treadle.core.rules.capacity.preemption.priorities import edges_of
from treadle.core.rules.capacity.preemption.selection import masters_allowed
from treadle.core.units.amounts import add_to, least, minus, most, plus, take_from
from treadle.core.units.comparison import dominant

if TYPE_CHECKING:
    from treadle.core.disciplines.capacity.live_tree import LiveCapacityTree
    from treadle.core.effects import Effect, Evict
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application, Ask, Queue
    from treadle.core.rules.capacity.preemption.snapshot import Round, TempQueue
    from treadle.core.rules.victims import MayLose
    from treadle.core.units.resources import Vector


GRAIN = 1 / 256
"""Ideal shares are found by halving what is left, until a type is used up to the last unit; the others are short of a grain then."""


class Need(NamedTuple):
    """What a leaf lacks of what it should have: ``asks`` in their order, and by which right others go: ``queues``, ``balance``, ``priority`` or ``inside``."""

    queue: Queue
    asks: list[Ask]
    lacking: Vector
    right: str
    should: Vector


def next_run(state: State) -> float | None:
    """Return when the next round is due, None without preemption or while nothing waits."""
    preemption = state.scheduler.capacity.preemption
    return next_round(state, preemption.interval) if preemption.enabled and state.waiting else None


def round_of_preemption(state: State, budget: int) -> list[Effect]:
    """Do one round: return whom to evict, for which the room is held, and what is placed on nodes that are not kept any more."""
    capacities = capacity_state(state).capacities
    assert capacities is not None
    state.preemption.looked = state.now
    forget_the_gone(state)
    with charges_lifted(state):
        evicted = _round(state, capacities)
    return [*evicted, *cycle(state, budget)]


def _round(state: State, capacities: LiveCapacityTree) -> list[Evict]:
    settings = capacities.context.settings.preemption
    search = _CapacitySearch(state, capacities)
    effects: list[Evict] = []
    needs = _needs(state, capacities, search)
    if settings.observe_only:
        for need in needs:
            state.record(need.queue.path, "would preempt", f"{need.right}: {state.types.named(need.lacking)}")
        return effects
    for need in needs:
        effects += search.help_all(need)
    for need in sorted((need for need in needs if need.right == "queues"), key=search.part_had):
        effects += search.help_all(need, last=True)
    if settings.intra_by_priority:
        for need in (need for need in needs if need.right == "inside"):
            effects += search.help_elsewhere(need)
    return effects


def _needs(state: State, capacities: LiveCapacityTree, search: _CapacitySearch) -> list[Need]:
    settings = capacities.context.settings.preemption
    found: list[Need] = []
    round_ = search.round = take_snapshot(state, capacities, search)
    compute(round_, Dealing())
    search.measure("queues", round_)
    if settings.by_priority:
        search.edges = edges_of(round_)
        found += [
            need
            for need in _of_queues(state, round_, "priority")
            if any(one == need.queue.path for one, _ in search.edges) and not _satisfied(round_, need)
        ]
    found += _of_queues(state, round_, "queues")
    if settings.intra_queue:
        _note_who_waits(state, round_)
        look_inside(round_)
        search.measure_inside(round_)
        found += _inside(state, round_)
    if settings.balance:
        balanced = take_snapshot(state, capacities, search)
        compute(balanced, Dealing(balance=True))
        search.measure("balance", balanced)
        found += _of_queues(state, balanced, "balance")
    return found


def _of_queues(state: State, round_: Round, right: str) -> list[Need]:
    """Return the needs of leaves that have less than they ideally should, the neediest first."""
    calculator, found = round_.context.calculator, []
    settings = round_.context.settings.preemption
    patience = {"balance": settings.balance_wait, "priority": settings.by_priority_delay}.get(right, 0.0)
    for (path, partition), queue in round_.queues.items():
        leaf = _leaf(state, path, partition)
        should = queue.guaranteed if right == "priority" else _should(queue)
        if leaf is None or not calculator.more(queue.total, should, queue.used):
            continue
        asks = [
            ask
            for application in sorted(leaf.applications.values(), key=leaf.rank)
            for ask in sorted(application.asks.values())
            if _may_be_helped(state, ask) and state.now >= ask.waiting_since + patience
        ]
        if asks:
            part = calculator.divide(queue.total, queue.used, queue.guaranteed) if any(queue.guaranteed) else 1.0
            found.append(((part, path, partition), Need(leaf, asks, minus(should, queue.used), right, should)))
    return [need for _, need in sorted(found, key=lambda one: one[0])]


def _inside(state: State, round_: Round) -> list[Need]:
    """Return the needs of applications that should have more of what their own leaf has."""
    found = []
    for (path, partition), queue in round_.queues.items():
        leaf = _leaf(state, path, partition)
        if leaf is None or queue.queue.keeps_all:
            continue
        for each in reversed(queue.applications):
            application = leaf.applications.get(each.member.name) if any(each.wanted) else None
            asks = [] if application is None else [ask for ask in sorted(application.asks.values()) if _may_be_helped(state, ask)]
            if asks:
                found.append(Need(leaf, asks, list(each.wanted), "inside", []))
    return found


def _note_who_waits(state: State, round_: Round) -> None:
    """Let all leaves be looked into in which an ask waits for room: also those whose users ask for no more than they may have."""
    for (path, partition), queue in round_.queues.items():
        leaf = _leaf(state, path, partition)
        if leaf is not None and any(
            _may_be_helped(state, ask) for one in leaf.applications.values() for ask in one.asks.values()
        ):
            round_.lacks(queue)


def _leaf(state: State, path: str, partition: str) -> Queue | None:
    queue = state.tree.queues.get(path)
    if queue is None or not queue.leaf:
        return None
    return queue.parts.get(partition) if partition else queue


def _satisfied(round_: Round, need: Need) -> bool:
    queue = round_.queue(need.queue.path, need.queue.partition)
    return round_.context.calculator.compare(round_.context.total, queue.used, queue.guaranteed) >= 0


def _may_be_helped(state: State, ask: Ask) -> bool:
    if waits_for_a_node(ask) or starts_with_a_gang(ask):
        return True
    return (
        ask.wait is not None
        and ask.wait.reason == AT_MAXIMUM
        and (not ask.shape.gang[1] or ask.shape.gang in state.gangs.complete)
    )


Sum = Callable[[object], "Vector"]


class _CapacitySearch(Search):
    """Victims by the capacity discipline.

    ``quotas`` say how much a leaf may lose in a partition, by right; those of applications are for needs inside.
    """

    round: Round
    edges: set[tuple[str, str]]

    def __init__(self, state: State, capacities: LiveCapacityTree) -> None:
        settings = capacities.context.settings.preemption
        super().__init__(state, Terms(settings.wait_before_kill, settings.delete_blocked, settings.hold_timeout))
        self.capacities = capacities
        self.edges = set()
        self.quotas: dict[tuple[str, str, str], Vector] = {}
        self.inside: dict[tuple[str, str], Vector] = {}
        self.inside_of: dict[tuple[str, str], Vector] = {}
        """What may be obtained inside each leaf, by path and partition."""
        self.elsewhere = False
        """Whether any less urgent application of the leaf may give what YARN takes from the least urgent ones."""
        self.has: dict[tuple[str, str], Vector] = {}
        """What each queue has without those who go, by path and partition."""
        self.owed: dict[tuple[str, str, str], Vector] = {}
        """What it keeps, by right, path and partition."""
        self.budget: Vector | None = None
        self.need: Need | None = None

    def measure(self, right: str, round_: Round) -> None:
        """Take over what a round may obtain from each leaf."""
        if self.budget is None:
            self.budget = list(round_.budget)
        for (path, partition), queue in round_.queues.items():
            if not queue.queue.parental:
                self.quotas[right, path, partition] = list(queue.obtain)
            self.has.setdefault((path, partition), list(queue.used))
            self.owed[right, path, partition] = _owed(queue, right)

    def measure_inside(self, round_: Round) -> None:
        """Take over what may be obtained from each application of a leaf for others of it."""
        for (path, partition), queue in round_.queues.items():
            of_leaf = self.inside_of[path, partition] = [0] * self.width
            for each in queue.applications:
                if any(each.obtain):
                    self.inside[each.member.name, partition] = list(each.obtain)
                    add_to(of_leaf, each.obtain)

    def part_had(self, need: Need) -> tuple[float, str, str]:
        """Return which part of what it should have a leaf has by now: the neediest comes first."""
        context, queue = self.round.context, need.queue
        had = minus(need.should, need.lacking)
        return context.calculator.divide(context.total, had, need.should), queue.path, queue.partition

    def help(self, need: Need, ask: Ask, *, last: bool = False) -> list[Evict]:
        """Make room for as many pods of an ask as fit into what is lacking; ``last``: for one that makes up for the rest.

        A leaf that lacks less than a pod is helped as well, when all others have been: pods may be large, and guarantees are not
        multiples of them. YARN takes containers until what is to be obtained is reached or passed. The queues of victims keep
        what they are owed, so that nothing is taken back and forth.
        """
        counted = self.round.context.calculator.deciding
        # What a node that cannot help has, only gets less: it is not looked at again for others who may take no more.
        lacks_now = tuple(at for at in sorted(counted) if need.lacking[at] > 0)
        whose = ask.application if need.right == "inside" and ask.application.whole.allocated else None
        self.permitted = (need.right, need.queue, self.elsewhere, whose, lacks_now)
        if starts_with_a_gang(ask):
            return self._help_gang(need, ask, last=last)
        state, demand = self.state, self.charged_of(ask.shape)
        effects: list[Evict] = []
        self.need = need
        mine = self.held_for(ask)
        kept = [hold for hold in mine if hold.without_victims]
        held = before = len(mine) - len(kept)
        if held == len(ask.pods) or not _makes_up(demand, need.lacking, counted, last=last):
            return []
        for hold in kept:
            release(state, hold, "victims are looked for instead")
        if kept:
            self.look_again(ask.shape, [hold.row for hold in kept])
        while held < len(ask.pods) and _makes_up(demand, need.lacking, counted, last=last):
            full = None if waits_for_a_node(ask) else _full(ask)
            found = self.make_room(ask) if full is None else self.make_allowance(ask, full)
            if found is None:
                break
            effects += found
            held += 1
            take_from(need.lacking, demand)
        if kept:
            taken = {hold.row for hold in state.preemption.holds}
            for hold in kept[held - before :]:
                if hold.row not in taken:
                    place(state, hold)
        return effects

    def help_all(self, need: Need, *, last: bool = False) -> list[Evict]:
        """Make room for all asks of a need while more may be held."""
        effects: list[Evict] = []
        for ask in need.asks:
            if self.exhausted:
                break
            effects += self.help(need, ask, last=last)
        return effects

    def help_elsewhere(self, need: Need) -> list[Evict]:
        """Make room for pods that the least urgent applications cannot make room for, on nodes that others of lower priority are on.

        YARN takes from the least urgent, wherever they are, and so much that the ask would have room if nodes did not matter.
        Here no pod goes that makes no room, so the same amount may be taken from whoever is less urgent, where it makes room.
        """
        self.elsewhere = True
        try:
            return self.help_all(need)
        finally:
            self.elsewhere = False

    def _help_gang(self, need: Need, ask: Ask, *, last: bool) -> list[Evict]:
        """Make room for all pods with which a gang starts, if that fits into what is lacking, or makes up for the rest of it."""
        lacking = lacks(self.state, ask.application, ask.shape.gang)
        if isinstance(lacking, Wait):
            return []
        demand = [0] * self.width
        for position, value in lacking.demand:
            demand[position] = value
        if not _makes_up(demand, need.lacking, self.round.context.calculator.deciding, last=last):
            return []
        self.need = need
        found = make_room_for_gang(self, ask.application, ask.shape.gang, lacking)
        if found is None:
            return []
        take_from(need.lacking, demand)
        return found

    def donates(self, part: Application) -> bool:
        """Any application may; which rights reach its queue is looked at pod by pod."""
        return part.queue is not None

    def least_first(self, victim: Victim) -> tuple[object, ...]:
        """Masters last; those on lent nodes first; then the least urgent and the newest."""
        asked = victim.record.shape.asked.partition
        lent = asked is not None and asked[1] != victim.owner.partition
        return (victim.master, not lent, *super().least_first(victim)[1:])

    def permission(self) -> MayLose[Victim]:
        """Return the check for one node: within quotas, the round's budget, and what each queue is owed."""
        need = self.need
        assert need is not None
        taken: dict[object, Vector] = {}
        own = {queue.path for queue in need.queue.chain}

        def sum_of(what: object) -> Vector:
            return taken.setdefault(what, [0] * self.width)

        def may_lose(victim: Victim, considered: Vector) -> bool:
            del considered
            leaf = victim.owner.chain[0]
            if victim.master and not self._master_may_go(victim, sum_of("masters " + leaf.path)):
                return False
            inside = need.right == "inside"
            allowed = self._inside_may(victim, sum_of) if inside else self._queue_may(victim, leaf, sum_of, own)
            total = sum_of("budget")
            if not allowed or not self._within_budget(total, victim.charged):
                return False
            for what in ("budget", leaf.path, victim.owner.id, *(queue.path for queue in leaf.chain if queue.path != leaf.path)):
                add_to(sum_of(what), victim.charged)
            if victim.master:
                add_to(sum_of("masters " + leaf.path), victim.charged)
            return True

        return may_lose

    def _within_budget(self, taken: Vector, demand: Vector) -> bool:
        """Whether a round may take that much; one pod it may always take, however small the cluster."""
        budget = self.budget
        assert budget is not None
        calculator = self.round.context.calculator
        if calculator.fits(plus(taken, demand), budget):
            return True
        return not any(taken) and budget == self.round.budget

    def _queue_may(self, victim: Victim, leaf: Queue, sum_of: Sum, own: set[str]) -> bool:
        need, calculator = self.need, self.round.context.calculator
        assert need is not None
        partition = victim.owner.partition
        if leaf.path == need.queue.path or self.capacities.of[leaf.path].disable_preemption:
            return False
        if need.right == "priority":
            return (need.queue.path, leaf.path) in self.edges and not victim.master
        quota = self.quotas.get((need.right, leaf.path, partition))
        if quota is None or not calculator.any_above_zero(minus(quota, sum_of(leaf.path))):
            return False
        for queue in leaf.chain[:-1]:
            if queue.path in own:
                break
            owed = self.owed[need.right, queue.path, partition]
            after = minus(minus(self.has[queue.path, partition], sum_of(queue.path)), victim.charged)
            lacking = [at for at in calculator.deciding if need.lacking[at] > 0 and victim.charged[at] > 0]
            if any(after[at] >= owed[at] for at in lacking):
                continue  # it is not owed what is taken, however little it has of what it is owed
            if dominant(self.round.context.of(partition), sorted(calculator.deciding), after, owed, single=True) < 0:
                return False
        return True

    def _inside_may(self, victim: Victim, sum_of: Sum) -> bool:
        need = self.need
        assert need is not None
        leaf = victim.owner.chain[0]
        if leaf is not need.queue or victim.owner in {ask.application for ask in need.asks}:
            return False
        calculator = self.round.context.calculator
        if self.elsewhere:
            most = self.inside_of.get((leaf.path, victim.owner.partition))
            if most is None or not calculator.any_above_zero(minus(most, sum_of(leaf.path))):
                return False
            return urgency(victim.owner, self.capacities) < urgency(need.asks[0].application, self.capacities)
        quota = self.inside.get((victim.owner.id, victim.owner.partition))
        return quota is not None and calculator.any_above_zero(minus(quota, sum_of(victim.owner.id)))

    def _master_may_go(self, victim: Victim, taken: Vector) -> bool:
        """Masters go only while those of their leaf hold more than they may."""
        leaf = victim.owner.chain[0]
        held = minus(leaf.master_usage, taken)
        allowed = masters_allowed(self.capacities.of[leaf.path], victim.owner.partition)
        return self.round.context.calculator.more(self.round.context.total, held, allowed)

    def taken(self, victim: Victim) -> None:
        """Count a victim against the quotas and the budget."""
        leaf, partition = victim.owner.chain[0], victim.owner.partition
        for right in ("queues", "balance"):
            if (right, leaf.path, partition) in self.quotas:
                take_from(self.quotas[right, leaf.path, partition], victim.charged)
        if (victim.owner.id, partition) in self.inside:
            take_from(self.inside[victim.owner.id, partition], victim.charged)
        if self.need is not None and self.need.right == "inside" and (leaf.path, partition) in self.inside_of:
            take_from(self.inside_of[leaf.path, partition], victim.charged)
        for queue in leaf.chain:
            if (queue.path, partition) in self.has:
                take_from(self.has[queue.path, partition], victim.charged)
        assert self.budget is not None
        take_from(self.budget, victim.charged)

    def spared(self, victim: Victim) -> None:
        """Return a victim to the quotas and the budget."""
        leaf, partition = victim.owner.chain[0], victim.owner.partition
        for right in ("queues", "balance"):
            if (right, leaf.path, partition) in self.quotas:
                add_to(self.quotas[right, leaf.path, partition], victim.charged)
        if (victim.owner.id, partition) in self.inside:
            add_to(self.inside[victim.owner.id, partition], victim.charged)
        if self.need is not None and self.need.right == "inside" and (leaf.path, partition) in self.inside_of:
            add_to(self.inside_of[leaf.path, partition], victim.charged)
        for queue in leaf.chain:
            if (queue.path, partition) in self.has:
                add_to(self.has[queue.path, partition], victim.charged)
        assert self.budget is not None
        add_to(self.budget, victim.charged)

    def why(self, victim: Victim, beneficiary: Application) -> str:
        """Return by which right it goes."""
        need = self.need
        assert need is not None
        theirs, mine = beneficiary.chain[0].path, victim.owner.chain[0].path
        match need.right:
            case "inside":
                return f"application {beneficiary.id} comes before {victim.owner.id} in queue {mine}"
            case "priority":
                return f"queue {theirs} has a higher priority than queue {mine} and less than it is guaranteed"
            case "balance":
                return f"queues {theirs} and {mine} share evenly what no queue is guaranteed"
            case _:
                return f"queue {theirs} is owed what queue {mine} holds beyond what it is guaranteed"


def _owed(queue: TempQueue, right: str) -> Vector:
    """Return what of its usage a queue keeps: its guarantee as far as it wants that, and where shares are balanced its ideal share as well."""
    kept = least(plus(queue.used, queue.pending), queue.guaranteed)
    if right == "balance":
        kept = most(kept, queue.ideal)
    return least(queue.used, kept)


def _should(queue: TempQueue) -> Vector:
    """Return what a queue should have: its ideal share, and its guarantee, as far as it wants that, where it is but a grain less."""
    target = least(queue.guaranteed, plus(queue.used, queue.pending))
    return [most if has < most <= has * (1 + GRAIN) else has for has, most in zip(queue.ideal, target, strict=True)]


def _makes_up(demand: Vector, lacking: Vector, counted: frozenset[int], *, last: bool) -> bool:
    """Whether a pod fits into what is lacking, or, as the last one, is of what is lacking."""
    return all(lacking[at] > 0 for at in counted if demand[at]) if last else fits_counted(demand, lacking, counted)


def fits_counted(demand: Vector, lacking: Vector, counted: frozenset[int]) -> bool:
    """Whether a pod is no more than what is lacking, of the types that count."""
    return all(demand[at] <= lacking[at] for at in counted if demand[at])


def _full(ask: Ask) -> Queue:
    wait = ask.wait
    assert wait is not None
    return next(queue for queue in ask.application.chain if queue.path == wait.blocker)
