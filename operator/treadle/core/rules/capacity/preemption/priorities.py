"""Victims for holds of queues with priority (Hadoop's ``QueuePriorityContainerCandidateSelector``).

A queue takes from any of lower priority, even if that is below its guarantee, as long as it lacks some of its own guarantee and
its hold is old enough.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cmp_to_key
from typing import Any

from treadle.core.rules.capacity.context import DEFAULT
from treadle.core.rules.capacity.preemption.snapshot import Round, TempQueue
from treadle.core.units.amounts import add_to, minus, plus, take_from
from treadle.core.units.resources import Vector

Edges = set[tuple[str, str]]


def by_priorities(round_: Round, move: Callable[[Any, Any], bool] | None) -> None:
    """Choose victims for held nodes whose queues have priority; ``move`` moves a hold to a better node if that is allowed."""
    edges = edges_of(round_)
    if not edges:
        return
    settings = round_.context.settings.preemption
    above = {one for one, _ in edges}
    holds = [node.hold for node in round_.nodes if node.hold is not None and node.hold.owner.leaf.path in above]
    touched: set[str] = set()
    promised: dict[tuple[str, str], Vector] = {}
    for hold in sorted(holds, key=_demanding_first(edges)):
        node, path = hold.node, hold.owner.leaf.path
        if round_.now - hold.since < settings.by_priority_delay:
            continue
        satisfied = _satisfied(round_, path, node.partition, promised)
        victims = None if satisfied else _victims(round_, edges, hold.demand, path, node, touched, empty_only=False)
        if victims is not None:
            touched.add(node.name)
            add_to(promised.setdefault((path, node.partition), round_.context.none()), hold.demand)
            for container in victims:
                round_.choose(container)
                take_from(round_.budget, container.demand)
        elif not satisfied and settings.by_priority_moves and move is not None:
            _move(round_, edges, hold, touched, move)


def edges_of(round_: Round) -> Edges:
    """Return the pairs of leaves of which the first has priority over the second, where their paths part."""
    edges: Edges = set()
    for one in round_.leaves:
        for other in round_.leaves:
            if one >= other:
                continue
            mine, theirs = _path(round_.queue(one, DEFAULT)), _path(round_.queue(other, DEFAULT))
            at = next(number for number, pair in enumerate(zip(mine, theirs, strict=False)) if pair[0] is not pair[1])
            if mine[at].priority < theirs[at].priority:
                edges.add((other, one))
            elif mine[at].priority > theirs[at].priority:
                edges.add((one, other))
    return edges


def _path(queue: TempQueue) -> list[TempQueue]:
    found: list[TempQueue] = []
    at: TempQueue | None = queue
    while at is not None:
        found.insert(0, at)
        at = at.parent
    return found


def _demanding_first(edges: Edges) -> Callable[[Any], Any]:
    def compare(one: Any, other: Any) -> int:
        mine, theirs = one.owner.leaf.path, other.owner.leaf.path
        if (mine, theirs) in edges:
            return -1
        if (theirs, mine) in edges:
            return 1
        return int(one.since > other.since) - int(one.since < other.since)

    return cmp_to_key(compare)


def _satisfied(round_: Round, path: str, partition: str, promised: dict[tuple[str, str], Vector]) -> bool:
    queue = round_.queue(path, partition)
    has = plus(minus(queue.used, queue.reserved), promised.get((path, partition), round_.context.none()))
    return round_.context.calculator.compare(round_.context.total, has, queue.guaranteed) >= 0


def _victims(
    round_: Round, edges: Edges, demand: Sequence[int], path: str, node: Any, touched: set[str], *, empty_only: bool
) -> list[Any] | None:
    """Return containers that make room for a demand on a node; ``None`` if they cannot."""
    calculator, none, total = round_.context.calculator, round_.context.none(), round_.context.total
    if node.name in touched or (empty_only and node.hold is not None):
        return None
    lacking = minus(demand, minus(node.total, node.used))
    running = sorted(node.order(node), key=_demanding_first(edges))
    for container in running:
        if round_.is_chosen(container):
            lacking = minus(lacking, container.demand)
    found: list[Any] = []
    if calculator.fits(lacking, none):
        return found
    budget = list(round_.budget)
    for container in running:
        if round_.is_chosen(container) or (path, container.owner.leaf.path) not in edges or container.master:
            continue
        if calculator.compare(total, budget, container.demand) >= 0:
            budget = minus(budget, container.demand)
            lacking = minus(lacking, container.demand)
            found.append(container)
        if calculator.fits(lacking, none):
            return found
    return None


def _move(round_: Round, edges: Edges, hold: Any, touched: set[str], move: Callable[[Any, Any], bool]) -> None:
    for node in round_.nodes:
        if not hold.owner.requests.relaxed(hold.key, "*") or hold.partition != node.partition:
            continue
        found = _victims(round_, edges, hold.demand, hold.owner.leaf.path, node, touched, empty_only=True)
        if found is not None and move(hold, node):
            touched.add(node.name)
