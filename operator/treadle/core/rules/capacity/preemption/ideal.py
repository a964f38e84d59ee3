"""What every queue should have ideally (Hadoop's ``PreemptableResourceCalculator``).

From the root down, what a parent should have is dealt out to its children: the one furthest below its guarantee first, in
proportion to the guarantees, until none wants more. What a queue has beyond that may be taken, within the round's budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from treadle.core.rules.capacity.calculators import Calculator
from treadle.core.rules.capacity.ordering import by_part
from treadle.core.rules.capacity.preemption.snapshot import Round, TempQueue
from treadle.core.units.amounts import add_to, least, minus, most, plus, quotient, take_from
from treadle.core.units.java_orders import Heap
from treadle.core.units.resources import CPU, MEMORY, PODS, Vector

NO_GUARANTEE = 2147483647.0
MOST_ROUNDS = 10_000
"""Rounds of dealing among siblings, where fractions are precise; what is left then is small."""


@dataclass(frozen=True, slots=True)
class Dealing:
    """How ideal shares are dealt.

    ``with_held``: what is held counts as asked for, and all that is too much is taken at once. ``balance``: beyond guarantees
    too.
    """

    with_held: bool = False
    balance: bool = False


def compute(round_: Round, how: Dealing) -> None:
    """Compute for all queues what should be taken from them."""
    context = round_.context
    for partition in round_.partitions:
        root = round_.roots[partition]
        _extras(root, context.calculator)
        root.ideal = list(root.guaranteed)
        _descend(round_, root, how)
    preemption, calculator, total = context.settings.preemption, context.calculator, context.total
    one = context.none()
    one[MEMORY] = one[CPU] = 1
    for path in round_.leaves:
        if round_.queue(path, "").protected:
            continue
        for partition in round_.partitions:
            queue = round_.queue(path, partition)
            queue.obtain = context.none()
            tolerated = calculator.times(queue.guaranteed, 1.0 + preemption.ignored_over_capacity)
            if _over(round_, total, queue.used, tolerated):
                queue.obtain = list(queue.to_take)
                if not how.with_held and calculator.positive(total, queue.obtain):
                    queue.obtain = calculator.times_up(queue.to_take, preemption.natural_termination, one)


def _over(round_: Round, total: Vector, mine: Vector, other: Vector) -> bool:
    """Whether one amount is more than another: by its dominant part, or where fractions are precise of any type.

    Both are the same where guarantees are a part of all types. Else a queue that is guaranteed much of one type borrows another as far as that in Hadoop, and never gives it back to whom it is guaranteed.
    """
    calculator = round_.context.calculator
    if round_.context.settings.precise:
        return calculator.any_above_zero(minus(mine, other))
    return calculator.more(total, mine, other)


def _extras(queue: TempQueue, calculator: Calculator) -> None:
    none = [0] * calculator.width
    for child in queue.children:
        _extras(child, calculator)
    extra = minus(queue.used, queue.guaranteed)
    if calculator.less(queue.total, extra, none):
        extra = none
    queue.untouchable, queue.preemptable = list(none), list(none)
    if not queue.children:
        if queue.protected:
            queue.untouchable = extra
        else:
            queue.preemptable = extra
        return
    below = list(none)
    for child in queue.children:
        add_to(below, child.preemptable)
    queue.untouchable = list(none) if calculator.compare(queue.total, below, extra) >= 0 else minus(extra, below)
    queue.preemptable = calculator.smaller(queue.total, below, extra)


def _descend(round_: Round, queue: TempQueue, how: Dealing) -> None:
    if not queue.children:
        return
    calculator, unassigned = round_.context.calculator, list(queue.ideal)
    total = queue.total if round_.context.settings.precise else queue.ideal  # what amounts are weighed by
    some = [child for child in queue.children if calculator.positive(total, child.guaranteed)]
    others = [child for child in queue.children if child not in some]
    unassigned = _deal(round_, total, some, unassigned, how, evenly=False)
    if others and calculator.positive(total, unassigned):
        _deal(round_, total, others, unassigned, how, evenly=True)
    precise, none = round_.context.settings.precise, round_.context.none()
    needed = list(none)
    for child in queue.children:
        if _over(round_, total, child.used, child.ideal):
            add_to(needed, most(minus(child.used, child.ideal), none) if precise else minus(child.used, child.ideal))
    scale = calculator.divide(total, round_.budget, needed) if calculator.more(total, needed, round_.budget) else 1.0
    for child in queue.children:
        has = minus(child.used, child.killable)
        asks = plus(child.used, child.pending)
        if precise:
            keep = most(least(asks, child.guaranteed), child.ideal)
        else:
            keep = calculator.larger(total, calculator.smaller(total, asks, child.guaranteed), child.ideal)
        child.to_take = calculator.times(minus(has, keep), scale) if _over(round_, total, has, keep) else list(none)
    for child in queue.children:
        _descend(round_, child, how)


def _deal(round_: Round, total: Vector, queues: Sequence[TempQueue], unassigned: Vector, how: Dealing, *, evenly: bool) -> Vector:
    calculator, precise = round_.context.calculator, round_.context.settings.precise
    none = round_.context.none()
    one = [int(at != PODS) for at in range(calculator.width)]

    def part(queue: TempQueue) -> float:
        if not calculator.positive(total, queue.guaranteed):
            return NO_GUARANTEE
        if precise:  # a plenty of one type does not stand in the way of its guarantee of another, nor brings it more of that
            asks = _wanted(queue, how)
            wanted = [at for at in calculator.deciding if asks[at] > 0 and queue.guaranteed[at]]
            return max(quotient(queue.ideal[at], queue.guaranteed[at]) for at in wanted) if wanted else NO_GUARANTEE
        return calculator.divide(total, queue.ideal, queue.guaranteed)

    def compare(mine: TempQueue, theirs: TempQueue) -> int:
        return by_part(part(mine), part(theirs), mine.priority, theirs.priority)

    needy: Heap[TempQueue] = Heap(compare)
    for queue in queues:
        queue.ideal = list(queue.used)
        if _over(round_, total, queue.used, queue.guaranteed):
            queue.ideal = plus(least(queue.guaranteed, queue.used), queue.untouchable)
        unassigned = minus(unassigned, queue.ideal)
        if calculator.less(total, queue.ideal, plus(queue.used, queue.pending)):
            needy.push(queue)
    rounds = 0
    while needy and calculator.positive(total, unassigned):
        rounds += 1
        if precise:
            needy = _still_needy(round_, needy, Heap(compare), how)
            if not needy or rounds > MOST_ROUNDS:
                break
            _normalize_wanted(calculator, needy.items, how, evenly=evenly)
        else:
            _normalize(calculator, needy.items, evenly=evenly)
        before = list(unassigned)
        for queue in _most_underserved(round_, needy, compare):
            if not calculator.any_above_zero(unassigned):
                break
            offered = least(calculator.times_each_up(before, queue.normalized, one), unassigned)
            left = _offer(round_, queue, offered, total, how)
            taken = minus(offered, left)
            if calculator.positive(total, taken):
                needy.push(queue)
            unassigned = most(minus(unassigned, taken), none)
    while needy:
        round_.lacks(needy.pop())
    return unassigned


def _most_underserved(round_: Round, needy: Heap[TempQueue], compare: object) -> list[TempQueue]:
    assert callable(compare)
    found: list[TempQueue] = []
    while needy:
        queue = needy.pop()
        found.append(queue)
        round_.lacks(queue)
        if needy and compare(queue, needy.items[0]) < 0:
            round_.lacks(needy.items[0])
            return found
    return found


def _still_needy(round_: Round, needy: Heap[TempQueue], fresh: Heap[TempQueue], how: Dealing) -> Heap[TempQueue]:
    """Return the queues that could take anything yet. One that could not would count with its guarantee, and leave the others ever smaller parts of the rest."""
    deciding = round_.context.calculator.deciding
    for queue in needy.items:
        wanted = _wanted(queue, how)
        if any(wanted[at] > 0 for at in deciding):
            fresh.push(queue)
        else:
            round_.lacks(queue)
    return fresh


def _normalize_wanted(calculator: Calculator, queues: Sequence[TempQueue], how: Dealing, *, evenly: bool) -> None:
    """Compute the parts in which each type is dealt to those who want it: by their guarantees of it, evenly where none has any.

    Hadoop's parts are by all guarantees, and by those of the dominant type as soon as one of them is guaranteed nothing of a type.
    """
    wants = [_wanted(queue, how) for queue in queues]
    for at in range(calculator.width):
        if at == PODS:
            continue
        mine = [queue for queue, wanted in zip(queues, wants, strict=True) if wanted[at] > 0]
        total = 0 if evenly else sum(queue.guaranteed[at] for queue in mine)
        for queue in queues:
            queue.normalized[at] = 0.0
        for queue in mine:
            queue.normalized[at] = queue.guaranteed[at] / total if total else 1.0 / len(mine)


def _normalize(calculator: Calculator, queues: Sequence[TempQueue], *, evenly: bool) -> None:
    single, width = calculator.single, calculator.width
    even = single(1.0 / single(len(queues)))
    total = [sum(queue.guaranteed[at] for queue in queues) for at in range(width)]
    absolute = 0.0
    for queue in queues:
        absolute = single(absolute + queue.absolute)
    for at in range(width):
        if at == PODS:
            continue
        by_absolute, by_number = False, absolute == 0
        for queue in queues:
            if evenly:
                break
            if queue.guaranteed[at] == 0 and queue.absolute and total[at]:
                by_absolute = True
                break
            if not total[at]:
                by_number = True
        for queue in queues:
            if evenly or (by_number and not by_absolute):
                queue.normalized[at] = even
            elif by_absolute:
                queue.normalized[at] = single(queue.absolute / absolute) if absolute else queue.normalized[at]
            else:
                queue.normalized[at] = single(quotient(single(queue.guaranteed[at]), single(total[at])))


def _wanted(queue: TempQueue, how: Dealing) -> Vector:
    """Return what a queue could take, each type by itself: a plenty of one is not taken for what is wanted of another."""
    asks = plus(queue.used, queue.pending if how.with_held else queue.pending_now)
    wanted = least(queue.maximum, asks)
    if not how.balance and not queue.children:
        wanted = least(wanted, most(queue.used, queue.guaranteed))
    return [max(0, value - has) for value, has in zip(wanted, queue.ideal, strict=True)]


def _offer(round_: Round, queue: TempQueue, amount: Vector, total: Vector, how: Dealing) -> Vector:
    """Offer an amount to a queue; returns what it does not take."""
    if round_.context.settings.precise:
        taken = least(_wanted(queue, how), amount)
        add_to(queue.ideal, taken)
        return minus(amount, taken)
    calculator, none = round_.context.calculator, round_.context.none()
    room = most(minus(queue.maximum, queue.ideal), none)
    wanted = minus(plus(queue.used, queue.pending if how.with_held else queue.pending_now), queue.ideal)
    accepted = least(room, calculator.smaller(total, amount, wanted))
    if not how.balance and not queue.children:
        beyond = minus(calculator.larger(total, queue.used, queue.guaranteed), queue.ideal)
        beyond = calculator.larger(total, beyond, none)
        accepted = calculator.smaller(total, accepted, beyond)
    accepted = least(most(accepted, none), amount)
    left = minus(amount, accepted)
    add_to(queue.ideal, accepted)
    return left


__all__ = ["Dealing", "compute", "take_from"]
