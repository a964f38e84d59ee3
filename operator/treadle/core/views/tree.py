"""The queue tree for people who look at a page: shares, usage, demand, applications, and why pods wait."""

from __future__ import annotations

from collections import defaultdict, deque
from typing import TYPE_CHECKING, Any

from treadle.core.kernel.cycle import NO_NODE
from treadle.core.kernel.pods.states import PodState
from treadle.core.kernel.tree.partitions import used_everywhere
from treadle.core.units.resources import UNBOUNDED
from treadle.core.views.explain import explain

if TYPE_CHECKING:
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Ask, Queue


def tree_of(state: State, waiting: int) -> dict[str, Any]:
    """Return the queue tree for people: shares, usage, demand, applications, and why pods wait (see ``_waiting``)."""
    quantities = state.types.quantities
    queues: dict[str, Any] = {}
    for queue in state.tree.root.walk():
        below = [application for one in queue.walk() for application in one.applications.values()]
        pending = [0] * state.types.width
        for application in below:
            for position, value in enumerate(application.pending_demand(state.types.width)):
                pending[position] += value
        running = sum(application.allocated > 0 for application in below)
        queues[queue.path] = {
            "fair_share": quantities(queue.fair_share),
            "steady_fair_share": quantities(queue.steady_share),
            "guaranteed": quantities(queue.minimum or []),
            "maximum": quantities(value if value < UNBOUNDED else 0 for value in queue.maximum),
            "used": quantities(used_everywhere(queue)),
            "pending": quantities(pending),
            "resources": _amounts(queue, pending, state),
            "applications": {"running": running, "pending": len(below) - running},
            "running_pods": sum(application.allocated for application in below),
            "waiting_pods": sum(application.pending for application in below),
            "weight": queue.spec.weight,
            "policy": queue.policy.name,
            "state": queue.state,
            "leaf": queue.leaf,
            "dynamic": queue.dynamic,
            "used_fraction": _fraction(queue.usage, state.cluster.total),
            "fair_fraction": _fraction(queue.fair_share, state.cluster.total),
            "steady_fraction": _fraction(queue.steady_share, state.cluster.total),
        }
    return {
        "discipline": state.discipline.name,
        "cluster": {
            "total": quantities(state.cluster.total),
            "resources": state.types.named(state.cluster.total),
            "nodes": state.nodes.known(),
        },
        "pods": {"waiting": state.waiting, "assumed": state.assumed, "bound": state.bound, "decisions": state.decisions},
        "queues": queues,
        "waiting": _waiting(state, waiting),
    }


def _amounts(queue: Queue, pending: list[int], state: State) -> dict[str, dict[str, int | None]]:
    """Return what the queue has of each resource that the cluster has, as numbers: cpu in milli-units, others in base units."""
    amounts: dict[str, dict[str, int | None]] = {}
    for position, name in enumerate(state.types.names):
        if not state.cluster.total[position]:
            continue
        maximum = queue.maximum[position]
        amounts[name] = {
            "used": queue.usage[position],
            "fair_share": queue.fair_share[position],
            "steady_fair_share": queue.steady_share[position],
            "guaranteed": (queue.minimum or [0] * (position + 1))[position],
            "maximum": maximum if maximum < UNBOUNDED else None,
            "pending": pending[position],
        }
    return amounts


def _fraction(vector: list[int], total: list[int]) -> float:
    """Return the dominant fraction: of the resource that most is had of."""
    return max(
        (value / most for position, (value, most) in enumerate(zip(vector, total, strict=False)) if most > 0 and position != 2),
        default=0.0,
    )


def _waiting(state: State, most: int) -> list[dict[str, Any]]:
    """Explain why pods wait: one entry for each queue, reason and message, with how many pods and applications it is true of.

    At most ``most`` asks are explained, one for each shape that has no node and for each limit. Queues take turns, so that a
    queue with a thousand asks does not hide the one ask of another. ``pod``, ``application`` and ``ahead`` are those of the
    first.
    """
    by_queue: defaultdict[str, defaultdict[object, list[Ask]]] = defaultdict(lambda: defaultdict(list))
    for application in state.applications.values():
        queue = application.queue.path if application.queue is not None else ""
        for ask in application.every_ask():
            if _waits(ask):
                by_queue[queue][_blocker(ask)].append(ask)
    turns = deque(iter(alike.values()) for _, alike in sorted(by_queue.items()))
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    explained = 0
    while turns and explained < most:
        groups = turns.popleft()
        asks = next(groups, None)
        if asks is None:
            continue
        turns.append(groups)
        explained += 1
        explanation = explain(state, asks[0].pods.first.spec.uid)
        if explanation is None:
            continue
        entry = found.setdefault(
            (explanation.queue, explanation.reason, explanation.message),
            {
                "pod": explanation.pod,
                "pods": 0,
                "application": explanation.application,
                "applications": 0,
                "queue": explanation.queue,
                "reason": explanation.reason,
                "message": explanation.message,
                "ahead": explanation.ahead,
            },
        )
        entry["pods"] += sum(len(ask.pods) for ask in asks)
        entry["applications"] += len({ask.application.id for ask in asks})
    return list(found.values())


def _waits(ask: Ask) -> bool:
    return bool(ask.pods) and ask.pods.first.state is PodState.WAITING


def _blocker(ask: Ask) -> object:
    """What asks of one queue must have in common to wait for the same reason."""
    if ask.wait is None:
        return None
    return ask.wait.reason, ask.shape if ask.wait.reason == NO_NODE else (ask.wait.blocker, ask.wait.message)
