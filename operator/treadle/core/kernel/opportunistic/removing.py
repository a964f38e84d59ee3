"""Opportunistic pods are asked to go where guaranteed pods take their room, or where a node is used too much.

Where room goes by usage, a type with thresholds is not given back for requests: pods that request it and use it show in the next samples.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from treadle.core.effects import Evict
from treadle.core.kernel.opportunistic.given import asked_on
from treadle.core.kernel.opportunistic.known import TYPES
from treadle.core.kernel.opportunistic.measured import used_by
from treadle.core.kernel.opportunistic.memory import Given
from treadle.core.kernel.opportunistic.placing import held_by_queue, shares
from treadle.core.kernel.opportunistic.usage import policy_of, size_of
from treadle.core.kernel.pods.states import PodState
from treadle.core.model.opportunistic import NEWEST, SOME, WHOLE
from treadle.core.rules.opportunistic.thresholds import part
from treadle.core.rules.opportunistic.victims import Candidate, Costs, cheapest_first, newest_first, take
from treadle.core.units.amounts import beyond, plus
from treadle.core.units.resources import in_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from treadle.core.kernel.opportunistic.known import Sampled
    from treadle.core.kernel.state import State
    from treadle.core.model.opportunistic import PressureThreshold
    from treadle.core.rules.opportunistic.pressure import Waiting
    from treadle.core.rules.opportunistic.thresholds import OverAllocation
    from treadle.core.units.resources import Vector

PATIENCE = 15.0
"""Seconds for which a disruption budget is asked again: then a pod is deleted where the room is another's, and stays where its node is used too much."""
FOR_REQUESTS, FOR_USAGE, FOR_PRESSURE = "Requests", "Usage", "Pressure"
"""Why pods have to go: guaranteed pods request what they were given, their node is used too much, or tasks wait there for too long."""
AGAIN = 60.0
"""Seconds after which a pod that is still there is asked again."""


@dataclass(frozen=True, slots=True)
class Lack:
    """What a node lacks, why, and who may go for it; ``words`` are for the owners of those.

    ``frees`` is what the end of a pod that stays gives back: what it was measured to use, else that part of what it says that the node uses of all that is asked for there.
    """

    reason: str
    staying: dict[str, Given]
    lacking: Vector
    words: str
    frees: Mapping[str, Vector] = field(default_factory=dict)
    most: int | None = None
    """How many go at the most; None: as many as are needed."""
    crossed: float | None = None
    """Since when the node is used too much."""
    owed: bool = False
    """Whether the room is another's, so that budgets give way in the end."""
    at_once: bool = False
    """Whether budgets are not asked at all."""


def remove(state: State) -> list[Evict]:
    """Ask as many opportunistic pods to go as nodes lack room for, or are used too much."""
    kept = state.opportunistic
    if not kept.on:
        kept.usage.fresh.clear()
        return []
    if kept.going or kept.spared:
        kept.forget_the_gone(state.now)
    found = _used_too_much(state) if kept.usage.of else []
    found += _requested(state)
    if not found:
        return []
    costs = _costs(state, [sum(column) for column in zip(*(one.lacking for one in found), strict=True)])
    return [effect for one in found for effect in _of_row(state, one, costs)]


def _requested(state: State) -> list[Lack]:
    """Return the nodes that lack what pods request, of types that are not given by usage.

    A node that lacked nothing is looked at again when anything has changed there; one that did with every pass, since those that were asked to go may stay.
    """
    kept, nodes = state.opportunistic, state.nodes
    by_usage = state.scheduler.opportunistic.by_usage
    version, since, short = nodes.version, kept.compared, kept.short
    kept.compared, kept.short = nodes.clock, set()
    found = []
    for row in [row for row in kept.on_row if version[row] > since or row in short]:
        given, free = kept.on_row[row], nodes.free[row]
        if (given[0] <= free[0] and given[1] <= free[1]) or nodes.specs[row] is None:
            continue
        not_given_back = policy_of(state, row).thresholds if by_usage else ()
        if all(
            have <= left or position in not_given_back for position, (have, left) in enumerate(zip(given, free, strict=False))
        ):
            continue
        kept.short.add(row)
        staying, stay = _staying(state, row, spared=False)
        lacking = [max(0, have - max(left, 0)) for have, left in zip(stay, free, strict=False)]
        for position in not_given_back:
            lacking[position] = 0
        if any(lacking) and staying:
            words = f"guaranteed pods request what it was given on node {nodes.names[row]}"
            found.append(Lack(FOR_REQUESTS, staying, lacking, words, owed=True))
    return found


def _used_too_much(state: State) -> list[Lack]:
    """Return the nodes that are used too much by a sample that has come since it was last looked."""
    kept, nodes = state.opportunistic, state.nodes
    found = []
    for name in kept.usage.fresh:
        row, one = nodes.row.get(name), kept.usage.of.get(name)
        if row is None or one is None or one.usage.sample is None or nodes.specs[row] is None:
            continue
        policy, size, measured = policy_of(state, row), size_of(state, row), one.usage.measured(state.now, TYPES)
        excess = one.overload.look(policy, size, measured, one.usage.sample.at)
        if not any(excess) and not policy.pressure:
            continue
        emergency = _emergency(state, policy, size, measured)
        staying, _ = _staying(state, row, spared=emergency)
        frees = _frees(state, row, measured, one.usage.sample.since)
        leaving = [uid for uid in frees if uid in kept.going or kept.of[uid].record.spec.deleting]
        going = [sum(frees[uid][position] for uid in leaving) for position in range(TYPES)]
        lacking = [max(over - soon, 0) for over, soon in zip(excess, going, strict=False)]
        if any(lacking) and staying:
            words = _in_words(state, name, policy, size, measured, lacking)
            found.append(Lack(FOR_USAGE, staying, lacking, words, frees, crossed=one.crossed, at_once=emergency))
        elif policy.pressure:
            short = _short(one, policy, one.usage.sample.at, going=any(uid in kept.going for uid in frees))
            if short is not None and staying:
                found += _pressed(state, name, one.waiting, short, staying, frees)
    kept.usage.fresh.clear()
    return found


def _short(one: Sampled, policy: OverAllocation, at: float, *, going: bool) -> PressureThreshold | None:
    """Return for which pressure a pod has to go by the newest that is known; what a node told itself counts once."""
    told = at if one.waited is None else one.waited
    if told <= one.strained:
        if going:
            one.strain.wait(at)
        return None
    one.strained = told
    return one.strain.look(policy.pressure, one.waiting, told, going=going)


def _pressed(
    state: State, node: str, waiting: Waiting, found: PressureThreshold, staying: dict[str, Given], frees: Mapping[str, Vector]
) -> list[Lack]:
    """Return that one pod has to go: one that frees much of what tasks of the node wait for, for the work that is lost. Nobody, if none uses any of that."""
    position = state.types.index[found.resource]
    lacking = [0] * TYPES
    lacking[position] = sum(frees[uid][position] for uid in staying)
    waited = waiting[found.resource, found.kind] / (WHOLE / 100)
    who = "some tasks" if found.kind == SOME else "all tasks"
    words = f"on node {node} {who} waited for {found.resource} for {waited:g}% of ten seconds, more than {found.preemption / (WHOLE / 100):g}%"
    return [Lack(FOR_PRESSURE, staying, lacking, words, frees, 1)] if any(lacking) else []


def _parts_used(state: State, row: int, measured: list[int | None]) -> tuple[float, ...]:
    """Return what part of all that is asked for on a node is used: of a pod that was not measured it is taken to be that part of what it says."""
    asked = asked_on(state, row)
    return tuple(1.0 if used is None or used >= all_ else max(used, 1) / all_ for used, all_ in zip(measured, asked, strict=True))


def _frees(state: State, row: int, measured: list[int | None], since: float) -> dict[str, Vector]:
    """Return what the end of each opportunistic pod of a node gives back."""
    parts = _parts_used(state, row, measured)
    found = {}
    for uid, one in state.opportunistic.on.get(row, {}).items():
        amounts = found[uid] = _of_parts(one.demand, parts)
        for position, value in used_by(state, row, uid, since).items():
            amounts[position] = value
    return found


def _of_parts(amounts: Vector, parts: tuple[float, ...]) -> Vector:
    return [int(amount * part) for amount, part in zip(amounts, parts, strict=True)]


def _in_words(state: State, node: str, policy: OverAllocation, size: Vector, measured: list[int | None], lacking: Vector) -> str:
    parts = []
    for position, lack in enumerate(lacking):
        if lack:
            name, most = state.types.names[position], policy.thresholds[position].preemption
            uses = in_words(name, measured[position] or 0)
            parts.append(f"{uses} of its {in_words(name, size[position])} {name}, more than {most / (WHOLE / 100):g}%")
    return f"node {node} uses {' and '.join(parts)}"


def _emergency(state: State, policy: OverAllocation, size: Vector, measured: list[int | None]) -> bool:
    """Whether a node uses so much of a type with thresholds that budgets are not respected."""
    limit = state.scheduler.opportunistic.emergency
    if limit is None:
        return False
    pairs = ((measured[position], part(limit, size[position])) for position in policy.thresholds)
    return any(used is not None and used > most for used, most in pairs)


def _staying(state: State, row: int, *, spared: bool) -> tuple[dict[str, Given], Vector]:
    """Return the opportunistic pods of a node that may be asked to go, those among them that budgets let not go lately where ``spared``, and what all have that were not asked."""
    kept = state.opportunistic
    staying: dict[str, Given] = {}
    stay = [0] * TYPES
    for uid, one in kept.on.get(row, {}).items():
        if uid not in kept.going and not one.record.spec.deleting:
            stay = plus(stay, one.demand)
            if one.record.state is PodState.BOUND and (spared or uid not in kept.spared):
                staying[uid] = one
    return staying, stay


def has_gone(state: State, uid: str) -> None:
    """Take note that a pod is gone: it is measured how long that took, if it was asked to go for what its node uses."""
    usage = state.opportunistic.usage
    crossed = usage.crossed.pop(uid, None)
    if crossed is not None:
        usage.until_gone.add(state.now - crossed)


def stays(state: State, uid: str) -> None:
    """Take note that a pod that was asked to go stays: its disruption budget does not let it go."""
    state.opportunistic.usage.crossed.pop(uid, None)
    state.opportunistic.stays(uid, state.now + AGAIN)


def next_removal(state: State) -> float | None:
    """Return when somebody who was asked to go is asked again, None if nobody was."""
    kept = state.opportunistic
    return min((*kept.going.values(), *kept.spared.values()), default=None)


def _of_row(state: State, lack: Lack, costs: Costs) -> list[Evict]:
    settings, kept = state.scheduler.opportunistic, state.opportunistic
    lacking = lack.lacking
    staying = {uid: one for uid, one in lack.staying.items() if uid not in kept.going}
    candidates = [
        Candidate(
            uid, _queue(state, one), one.demand, lack.frees.get(uid, one.demand), one.since, one.since, settings.minimum_run
        )
        for uid, one in staying.items()
    ]
    order = newest_first(candidates) if settings.order == NEWEST else cheapest_first(candidates, lacking, costs)
    effects = []
    for victim in take(order, lacking, lambda one: one.freed).victims[: lack.most]:
        record = staying[victim.name].record
        spec = record.spec
        kept.going[spec.uid] = state.now + AGAIN
        kept.removed[lack.reason] += 1
        if lack.crossed is not None:
            kept.usage.until_asked.add(state.now - lack.crossed)
            kept.usage.crossed.setdefault(spec.uid, lack.crossed)
        node = state.nodes.names[record.node]
        kept.back_off.remember(spec.application, node, state.now)
        why = f"opportunistic: {lack.words}"
        state.record(spec.uid, "gives way", node)
        patience = 0.0 if lack.at_once else PATIENCE
        delete = lack.owed or lack.at_once
        effects.append(Evict(spec.uid, spec.namespace, spec.name, victim.queue, why, patience, delete, state.cause))
    return effects


def _costs(state: State, lacking: Vector) -> Costs:
    """Return what the order by cost goes by: queues are due their parts of what is left when nothing is lacking any more."""
    held = held_by_queue(state)
    total = [0] * TYPES
    for amounts in held.values():
        total = plus(total, amounts)
    have = [max(1, value) for value in state.cluster.total[:TYPES]]
    return Costs(state.now, held, shares(state, beyond(total, lacking), held), have)


def _queue(state: State, one: Given) -> str:
    application = state.applications.get(one.application)
    return application.queue.path if application is not None and application.queue is not None else ""
