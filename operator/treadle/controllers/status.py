"""What an object's status should say now, and the smallest patch that makes it so.

One writer, one patch an object: the conditions and the numbers go together, computed from the ledger and the core's state.
"""

from collections.abc import Iterable, Mapping
from itertools import islice, takewhile
from typing import Any

from treadle.api import conditions as c
from treadle.api.application import MAX_AHEAD, MAX_AHEAD_NAME, MAX_USER
from treadle.api.common import MAX_AMOUNTS, MAX_MESSAGE, cut
from treadle.api.queue import DYNAMIC_LIMIT, MAX_PARTITIONS
from treadle.controllers.ledger import Entry
from treadle.core.kernel.pods.states import PodState
from treadle.core.kernel.preemption.holds import kept_below
from treadle.core.kernel.state import State
from treadle.core.kernel.tree.members import Application, Queue
from treadle.core.kernel.tree.order import waiting_order
from treadle.core.kernel.tree.partitions import pending_everywhere, used_everywhere
from treadle.core.units.resources import UNBOUNDED, Vector, format_amount
from treadle.core.views.explain import waiting

Orders = dict[str, list[Application]]
"""Who waits in each leaf, in order, by path: filled as statuses are computed, so that a queue is sorted once for all of them."""


def status_of(
    entry: Entry, state: State, serving: str, now: str, orders: Orders | None = None, set_aside: str = ""
) -> dict[str, Any]:
    """Return the whole status of an object at ``now`` (RFC 3339); conditions keep their times from the one before.

    ``set_aside`` says why the scheduler cannot act on it, for an error in its code or in a policy installed with it; empty if it can.

    Shares and demands are read as the core last computed them.
    """
    status: dict[str, Any] = {"observedGeneration": entry.generation}
    ready, reason, message = (False, c.INTERNAL_ERROR, set_aside) if set_aside else _ready(entry, state, serving)
    match entry.kind:
        case "Queue":
            status.update(_queue(state.tree.queues.get(entry.name), state))
        case "Application":
            status.update(
                _application(state.applications.get(f"{entry.namespace}/{entry.name}"), state, {} if orders is None else orders)
            )
        case "Scheduler":
            status["schedulerNames"] = sorted(state.scheduler.names) if entry.name == serving else [entry.name]
            status["discipline"] = state.discipline.name if entry.name == serving else None
    previous = entry.status.get("conditions") or []
    found = [
        c.condition(c.READY, ready, reason, message, entry.generation),
        c.condition(
            c.NOT_ACTED_ON,
            bool(entry.not_acted_on),
            c.FIELDS_NOT_ACTED_ON if entry.not_acted_on else c.ALL_ACTED_ON,
            "accepted but not acted on yet: " + ", ".join(entry.not_acted_on) if entry.not_acted_on else "",
            entry.generation,
        ),
    ]
    if entry.kind == "Application":
        found += _moved(entry, state, previous)
    merged: list[dict[str, Any]] = list(previous)
    for one in found:
        merged = c.merge_condition(merged, one, now)
    status["conditions"] = merged
    return status


def _ready(entry: Entry, state: State, serving: str) -> tuple[bool, str, str]:
    if entry.problems:
        kept = entry.model is not None
        words = "; ".join(entry.problems) + ("; the last good version stays in force" if kept else "")
        return False, c.LAST_GOOD_IN_FORCE if kept else c.INVALID, words
    if entry.kind == "Queue":
        problem = state.tree.problems.get(entry.name)
        if problem is not None:
            return False, c.LAST_GOOD_IN_FORCE if problem.kept else problem.reason, problem.message
        queue = state.tree.queues.get(entry.name)
        if queue is not None and (raised := state.discipline.words.remark(queue)):
            return False, c.MAXIMUM_RAISED, raised
        draining = [
            p.message
            for path, p in state.tree.problems.items()
            if p.reason == "Draining" and path.rpartition(".")[0] == entry.name
        ]
        return True, c.IN_FORCE, "; ".join(draining)
    if entry.kind == "Scheduler":
        if entry.taken:
            words = ", ".join(f"{alias} is served by Scheduler {owner}" for alias, owner in sorted(entry.taken.items()))
            return False, c.NAME_TAKEN, f"spec.aliases: {words}; the other names are served"
        if entry.name != serving:
            return False, c.NOT_SERVED, f"this scheduler serves {serving}; run one with --name {entry.name} for this object"
        if state.discipline_problem:
            return False, c.DISCIPLINE_REFUSED, state.discipline_problem
        if unplaceable := state.discipline.placement.problem():
            return False, c.RULE_PLACES_NOBODY, f"spec.capacity: {unplaceable}; what it matches goes by its fallback"
        return True, c.IN_FORCE, ""
    if entry.kind == "Reservation":
        return False, c.NOT_PLANNED, "reservations are accepted and kept; no placement is planned for them yet"
    application = state.applications.get(f"{entry.namespace}/{entry.name}")
    why = application.ended or application.wait if application is not None else None
    if why is not None:
        return False, why.reason, why.message
    return True, c.IN_FORCE, ""


def _moved(entry: Entry, state: State, previous: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the condition of a move that was refused, or that such a refusal is over."""
    application = state.applications.get(f"{entry.namespace}/{entry.name}")
    why = state.refused.get(application, "") if application is not None else ""
    if why:
        return [c.condition(c.MOVED, status=False, reason=c.MOVE_REFUSED, message=why, generation=entry.generation)]
    if any(one.get("type") == c.MOVED for one in previous):
        return [c.condition(c.MOVED, status=True, reason=c.AS_ASKED, generation=entry.generation)]
    return []


def _queue(queue: Queue | None, state: State) -> dict[str, Any]:
    if queue is None:
        return {}
    words = state.discipline.words
    used_capacity = words.used_capacity(queue)
    return {
        "state": queue.state,
        "fairShare": _amounts(state, queue.fair_share) if words.fair_shares else None,
        "steadyFairShare": _amounts(state, queue.steady_share) if words.fair_shares else None,
        "guaranteed": _amounts(state, queue.minimum or []),
        "maximum": _limits(state, queue),
        "usedCapacity": None if used_capacity is None else f"{used_capacity:.1%}",
        "used": _amounts(state, used_everywhere(queue)),
        "pending": _amounts(state, pending_everywhere(queue)),
        "partitions": {name: _partition(state, part) for name, part in sorted(queue.parts.items())[:MAX_PARTITIONS]} or None,
        "reserved": _amounts(state, kept_below(state, queue)) if state.preemption.holds else None,
        "applications": {"running": queue.running, "pending": queue.accepted},
        "dynamicQueues": _dynamic(queue) or None,
    }


def _partition(state: State, part: Queue) -> dict[str, Any]:
    return {
        "guaranteed": _amounts(state, part.minimum or []),
        "maximum": _limits(state, part),
        "used": _amounts(state, part.usage),
        "pending": _amounts(state, part.pending),
    }


def _limits(state: State, queue: Queue) -> dict[str, str] | None:
    """Return the maximum of the types that have one."""
    named = {name: most for name, most in zip(state.types.names, queue.maximum, strict=False) if most < UNBOUNDED}
    return {name: format_amount(name, most) for name, most in islice(named.items(), MAX_AMOUNTS)} or None


def _dynamic(queue: Queue) -> list[str]:
    """Return the first queues that placement rules made below a queue, without those that are below another one's object."""
    found = [child for child in queue.children.values() if child.dynamic]
    for one in found:
        found.extend(child for child in one.children.values() if child.dynamic)
    return sorted(one.path for one in found)[:DYNAMIC_LIMIT]


def _application(application: Application | None, state: State, orders: Orders) -> dict[str, Any]:
    if application is None:
        return {"phase": "Accepted", "pods": {"running": 0, "pending": 0}}
    room = state.discipline.words.room(application)
    bound = sum(record.state is PodState.BOUND for record in application.pods.values())
    status: dict[str, Any] = {
        "phase": _phase(application),
        "user": cut(application.user, MAX_USER) or None,
        "pods": {"running": bound, "pending": application.pending},
        "used": _amounts(state, used_everywhere(application)),
        "pending": _amounts(state, application.pending_demand(len(state.types))),
        "headroom": None if room is None else _amounts(state, room),
        "waiting": None,
    }
    if application.queue is not None:
        status["queue"] = application.queue.path
    ask = next(iter(sorted(application.every_ask())), None)
    if ask is not None:
        reason, message = waiting(state, ask)
        status["waiting"] = {
            "reason": reason,
            "message": cut(message, MAX_MESSAGE),
            "ahead": _ahead(application, orders),
        }
    return status


def _phase(application: Application) -> str:
    if application.ended is not None:
        return "Killed"
    return "Running" if application.allocated else "Accepted" if application.queue is not None else "Submitted"


def _ahead(application: Application, orders: Orders) -> list[str]:
    queue = application.queue
    if queue is None:
        return []
    order = orders.get(queue.path)
    if order is None:
        order = orders[queue.path] = waiting_order(queue)
    return [
        cut(other.id, MAX_AHEAD_NAME) for other in islice(takewhile(lambda other: other is not application, order), MAX_AHEAD)
    ]


def _amounts(state: State, vector: Vector) -> dict[str, str]:
    """Return amounts as quantities: of all types if that is allowed, else of those that came first."""
    found = state.types.quantities(vector)
    return found if len(found) <= MAX_AMOUNTS else dict(islice(found.items(), MAX_AMOUNTS))


def merge_patch(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON merge patch from ``old`` to ``new``; what ``new`` does not have becomes null. Empty when they agree."""
    patch: dict[str, Any] = {key: None for key, value in old.items() if key not in new and value is not None}
    for key, value in new.items():
        before = old.get(key)
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            inner = merge_patch(before, value)
            if inner:
                patch[key] = inner
        elif value != before and not (value is None and key not in old):
            patch[key] = value
    return patch
