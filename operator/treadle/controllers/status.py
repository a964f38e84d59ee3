"""What an object's status should say now, and the smallest patch that makes it so.

One writer, one patch an object: the conditions and the numbers go together, computed from the ledger and the core's state.
"""

from collections.abc import Iterable, Mapping
from itertools import islice, takewhile
from types import MappingProxyType
from typing import Any

from treadle.api import conditions as c
from treadle.api.application import MAX_AHEAD, MAX_AHEAD_NAME, MAX_USER, Application
from treadle.api.common import MAX_AMOUNTS, MAX_MESSAGE, cut
from treadle.api.labels import OVER_ALLOCATION
from treadle.api.queue import DYNAMIC_LIMIT, MAX_PARTITIONS, MAX_WORDS
from treadle.controllers import eta, removals, reservations, suspicious
from treadle.controllers.in_words import NONE, amounts, part
from treadle.controllers.ledger import Entry
from treadle.core.units.resources import format_amount
from treadle.core.views.figures import Amounts, ApplicationFigures, PartitionFigures, QueueFigures
from treadle.core.views.view import View

MOST_NODES = 3
"""Nodes of which is said what cannot be understood."""
MOST_PART = 1e6
"""The largest part of a guarantee that is written out."""


def status_of(
    entry: Entry,
    core: View,
    serving: str,
    now: str,
    set_aside: str = "",
    failing: str = "",
    forecast: dict[str, Any] | None = None,
    ending: Mapping[str, Any] = MappingProxyType({}),
) -> dict[str, Any]:
    """Return the whole status of an object at ``now`` (RFC 3339); conditions keep their times from the one before.

    ``set_aside`` says why the scheduler cannot act on it, for an error in its code or in a policy installed with it; empty if it
    can. ``failing`` says what the process that serves cannot do beside scheduling; the Scheduler that is served says so.
    ``forecast`` is what an Application's status says of when it starts and ends, ``ending`` what became of its pods: how many ``succeeded`` and ``failed``, and the ``phase`` if it is over.

    Shares and demands are read as the core last computed them.
    """
    status: dict[str, Any] = {"observedGeneration": entry.generation}
    ready, reason, message = (False, c.INTERNAL_ERROR, set_aside) if set_aside else _ready(entry, core, serving, failing)
    match entry.kind:
        case "Queue":
            status.update(queue_status(core.queue(entry.name), core))
        case "Application":
            status.update(application_status(core.application(f"{entry.namespace}/{entry.name}"), core))
            status["eta"] = forecast
            status["phase"] = ending.get("phase") or status["phase"]
            status["pods"] |= {name: ending[name] for name in ("succeeded", "failed") if ending.get(name)}
        case "Reservation":
            status.update(reservations.status_of(core.reservation(f"{entry.namespace}/{entry.name}")))
        case "Scheduler":
            status["schedulerNames"] = core.names if entry.name == serving else [entry.name]
            status["discipline"] = core.discipline if entry.name == serving else None
            status["nodes"] = core.counts().nodes if entry.name == serving else None
            status["queues"] = len(core.paths()) if entry.name == serving else None
            status[removals.FIELD] = removals.written(core.removals()) if entry.name == serving else None
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
    found += suspicious.condition_of(entry, core, serving, previous)
    if entry.kind == "Application":
        found += _moved(entry, core, previous)
        deadline = entry.model.spec.deadline if isinstance(entry.model, Application) else None
        found += eta.at_risk(deadline, forecast, previous, entry.generation)
    merged: list[dict[str, Any]] = list(previous)
    for one in found:
        merged = c.merge_condition(merged, one, now)
    status["conditions"] = merged
    return status


def _ready(entry: Entry, core: View, serving: str, failing: str) -> tuple[bool, str, str]:
    if entry.problems:
        kept = entry.model is not None
        words = "; ".join(entry.problems) + ("; the last good version stays in force" if kept else "")
        return False, c.LAST_GOOD_IN_FORCE if kept else c.INVALID, words
    if entry.kind == "Queue":
        problem = core.problem(entry.name)
        if problem is not None:
            return False, c.LAST_GOOD_IN_FORCE if problem.kept else problem.reason, problem.message
        if raised := core.remark(entry.name):
            return False, c.MAXIMUM_RAISED, raised
        return True, c.IN_FORCE, "; ".join(core.draining_below(entry.name))
    if entry.kind == "Scheduler":
        if entry.taken:
            words = ", ".join(f"{alias} is served by Scheduler {owner}" for alias, owner in sorted(entry.taken.items()))
            return False, c.NAME_TAKEN, f"spec.aliases: {words}; the other names are served"
        if entry.name != serving:
            return False, c.NOT_SERVED, f"this scheduler serves {serving}; run one with --name {entry.name} for this object"
        if core.discipline_problem:
            return False, c.DISCIPLINE_REFUSED, core.discipline_problem
        if unplaceable := core.placement_problem:
            return False, c.RULE_PLACES_NOBODY, f"spec.capacity: {unplaceable}; what it matches goes by its fallback"
        if missing := core.solver_problem:
            return (
                False,
                c.SOLVER_MISSING,
                f"spec.placeTogether.solver: {missing}; sets are placed by the walk over the nodes alone",
            )
        if unknown := core.usage_problem:
            words = f"spec.opportunistic.usage.source: it cannot be had what nodes use: {unknown}; opportunistic pods are placed only where that was told lately"
            return False, c.USAGE_UNKNOWN, words
        why = core.provisioning_problem
        unasked = f"spec.gangs.provisioning: no nodes are asked for: {why}" if why else ""
        blind = _blind(core)
        return True, c.IN_FORCE, "; ".join(filter(None, (unasked, blind, _of_nodes(core), core.solver_failures, failing)))
    if entry.kind == "Reservation":
        reservation = core.reservation(f"{entry.namespace}/{entry.name}")
        if reservation is None or reservation.reason:
            return (
                False,
                c.NOT_DECIDED if reservation is None else reservation.reason,
                "" if reservation is None else reservation.words,
            )
        return True, c.PROMISED, ""
    application = core.application(f"{entry.namespace}/{entry.name}")
    if application is not None and application.obstacle is not None:
        return False, application.obstacle.reason, application.obstacle.message
    return True, c.IN_FORCE, core.too_large(f"{entry.namespace}/{entry.name}")


def _blind(core: View) -> str:
    """Say of how many nodes it is not known what they use and why, empty where nothing is missing."""
    lost, missing = core.nodes_unknown(), core.usage_missing
    words = f"of {lost} nodes it is not known what they use, so they take no opportunistic pods" if lost else ""
    return f"spec.opportunistic.usage: {': '.join(filter(None, (words, missing)))}" if lost or missing else ""


def _of_nodes(core: View) -> str:
    """Say what nodes say that is not acted on, empty for nothing."""
    found = sorted(core.node_problems.items())
    more = f", and {len(found) - MOST_NODES} more" if len(found) > MOST_NODES else ""
    said = "; ".join(f"node {name}: {problem}" for name, problem in found[:MOST_NODES]) + more
    unheeded = core.thresholds_unheeded()
    words = (
        ""
        if not unheeded
        else (
            f"{len(unheeded)} nodes ({', '.join(unheeded[:MOST_NODES])}{', …' if len(unheeded) > MOST_NODES else ''}) have thresholds of usage in "
            f"{OVER_ALLOCATION}, which count for a spec.opportunistic.usage.source other than Requests"
        )
    )
    return "; ".join(filter(None, (said, words)))


def _moved(entry: Entry, core: View, previous: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the condition of a move that was refused, or that such a refusal is over."""
    why = core.move_refused(f"{entry.namespace}/{entry.name}")
    if why:
        return [c.condition(c.MOVED, status=False, reason=c.MOVE_REFUSED, message=why, generation=entry.generation)]
    if any(one.get("type") == c.MOVED for one in previous):
        return [c.condition(c.MOVED, status=True, reason=c.AS_ASKED, generation=entry.generation)]
    return []


def queue_status(queue: QueueFigures | None, core: View) -> dict[str, Any]:
    """Return what a Queue's status says of its figures."""
    if queue is None:
        return {"opportunistic": None}
    given = core.opportunistic_of(queue.path)
    told: dict[str, Any] = {
        "state": queue.state,
        "fairShare": _quantities(queue.fair_share) if queue.shows_shares else None,
        "steadyFairShare": _quantities(queue.steady_share) if queue.shows_shares else None,
        "guaranteed": _quantities(queue.here.guaranteed),
        "maximum": _quantities(queue.here.maximum) or None,
        "usedCapacity": None if queue.used_capacity is None else percentage(queue.used_capacity),
        "used": _quantities(queue.used),
        "pending": _quantities(queue.pending),
        "partitions": {name: _partition(part) for name, part in islice(queue.partitions.items(), MAX_PARTITIONS)} or None,
        "reserved": None if queue.held is None else _quantities(queue.held),
        "applications": {"running": queue.running, "pending": queue.accepted},
        "dynamicQueues": queue.dynamic_below[:DYNAMIC_LIMIT] or None,
        "opportunistic": None if given is None else _quantities(given),
    }
    share = told["fairShare"] or told["guaranteed"]
    of_share = part(told["used"], share)
    words = {"share": amounts(share), "used": amounts(told["used"]), "pending": amounts(told["pending"])}
    told["inWords"] = {name: cut(text, MAX_WORDS) for name, text in words.items()} | {
        "ofShare": NONE if of_share is None else f"{min(of_share, MOST_PART):.0%}"
    }
    return told


def percentage(part: float) -> str:
    """Return a part as people read it; of a guarantee of next to nothing it may be as large as there are numbers."""
    return f"{part:.1%}" if part < MOST_PART else f"over {MOST_PART:.0%}"


def _partition(part: PartitionFigures) -> dict[str, Any]:
    return {
        "guaranteed": _quantities(part.guaranteed),
        "maximum": _quantities(part.maximum) or None,
        "used": _quantities(part.used),
        "pending": _quantities(part.pending),
    }


def application_status(application: ApplicationFigures | None, core: View) -> dict[str, Any]:
    """Return what an Application's status says of its figures."""
    if application is None:
        return {"phase": "Accepted", "pods": {"running": 0, "pending": 0}}
    status: dict[str, Any] = {
        "phase": application.phase,
        "user": cut(application.user, MAX_USER) or None,
        "pods": {"running": application.bound_pods, "pending": application.waiting_pods},
        "used": _quantities(application.used),
        "pending": _quantities(application.pending),
        "headroom": None if application.headroom is None else _quantities(application.headroom),
        "waiting": None,
    }
    if application.queue:
        status["queue"] = application.queue
    if application.waiting is not None:
        reason, message = application.waiting
        ahead = takewhile(lambda other: other != application.id, core.order_of(application.queue)) if application.queue else ()
        status["waiting"] = {
            "reason": reason,
            "message": cut(message, MAX_MESSAGE),
            "ahead": [cut(other, MAX_AHEAD_NAME) for other in islice(ahead, MAX_AHEAD)],
        }
    return status


def _quantities(amounts: Amounts) -> dict[str, str]:
    """Return amounts as quantities: of all types if that is allowed, else of those that came first."""
    return {name: format_amount(name, value) for name, value in islice(amounts.items(), MAX_AMOUNTS)}


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
