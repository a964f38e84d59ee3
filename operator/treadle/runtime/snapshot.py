"""What readers are shown of the core at one moment: plain data, made between two passes."""

from __future__ import annotations

import time
from collections import defaultdict, deque
from typing import TYPE_CHECKING, Any

from treadle.core.kernel.cycle import NO_NODE
from treadle.core.kernel.pods.states import PodState
from treadle.core.kernel.tree.partitions import pending_everywhere, used_everywhere
from treadle.metrics.exporter import QueueSample, Samples

if TYPE_CHECKING:
    from treadle.core import Core
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Ask, Queue
    from treadle.runtime.service import Service


def metrics_of(service: Service) -> Samples:
    """Return the numbers of the moment for Prometheus."""
    core, binder, engine = service.core, service.binder, service.engine
    state = core.state
    core.refresh_shares(time.monotonic())
    named = state.types.named
    queues = []
    for queue in state.tree.queues.values():
        limits = {name: value for name, value in named(queue.maximum).items() if value < 1 << 60}
        queues.append(
            QueueSample(
                queue.path,
                named(used_everywhere(queue)),
                named(pending_everywhere(queue)),
                named(queue.fair_share),
                named(queue.minimum or []),
                limits,
                queue.running,
                queue.accepted,
                queue.waiting_pods,
                {
                    name: {"used": named(part.usage), "pending": named(part.pending), "guaranteed": named(part.minimum or [])}
                    for name, part in queue.parts.items()
                },
            )
        )
    return Samples(
        queues=queues,
        pods={"waiting": state.waiting, "assumed": state.assumed, "bound": state.bound},
        nodes=state.nodes.known(),
        decisions=state.decisions,
        binds={"bound": binder.bound, "failed": binder.failed, "unknown": binder.unknown},
        bind_seconds=binder.seconds,
        evictions={name: getattr(service.evictor, name) for name in ("evicted", "deleted", "stayed")},
        holds=len(state.preemption.holds),
        preempted=dict(service.evictor.gone_from),
        binds_in_flight=binder.in_flight,
        bind_limit=binder.limit,
        passes=engine.passes,
        busy_seconds=engine.busy_seconds,
        backlog=engine.backlog,
        core_errors=dict(engine.care.errors),
        set_aside=len(engine.care.set_aside),
        fenced=binder.doubts.fenced,
        withheld=service.client.withheld,
        requests=dict(service.client.requests),
        longest_collection=service.garbage.longest,
        watches={name: (reflector.relists, reflector.reopened) for name, reflector in service.sources.all.items()},
        leader=service.lease is None or service.lease.held,
        status_writes=service.patcher.sent,
        events_written=service.recorder.written,
    )


def tree_of(core: Core, waiting: int = 50) -> dict[str, Any]:
    """Return the queue tree for people: shares, usage, demand, applications, and why pods wait (see ``_waiting``)."""
    state = core.state
    core.refresh_shares(time.monotonic())
    quantities = state.types.quantities
    queues: dict[str, Any] = {}
    for queue in state.tree.root.walk():
        below = [application for one in queue.walk() for application in one.applications.values()]
        pending = [0] * len(state.types)
        for application in below:
            for position, value in enumerate(application.pending_demand(len(state.types))):
                pending[position] += value
        running = sum(application.allocated > 0 for application in below)
        queues[queue.path] = {
            "fair_share": quantities(queue.fair_share),
            "steady_fair_share": quantities(queue.steady_share),
            "guaranteed": quantities(queue.minimum or []),
            "maximum": quantities(value if value < 1 << 60 else 0 for value in queue.maximum),
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
        "waiting": _waiting(core, waiting),
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
            "maximum": maximum if maximum < 1 << 60 else None,
            "pending": pending[position],
        }
    return amounts


def _fraction(vector: list[int], total: list[int]) -> float:
    """Return the dominant fraction: of the resource that most is had of."""
    return max(
        (value / most for position, (value, most) in enumerate(zip(vector, total, strict=False)) if most > 0 and position != 2),
        default=0.0,
    )


def _waiting(core: Core, most: int) -> list[dict[str, Any]]:
    """Explain why pods wait: one entry for each queue, reason and message, with how many pods and applications it is true of.

    At most ``most`` asks are explained, one for each shape that has no node and for each limit. Queues take turns, so that a queue
    with a thousand asks does not hide the one ask of another. ``pod``, ``application`` and ``ahead`` are those of the first.
    """
    by_queue: defaultdict[str, defaultdict[object, list[Ask]]] = defaultdict(lambda: defaultdict(list))
    for application in core.state.applications.values():
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
        explanation = core.explain(asks[0].pods.first.spec.uid)
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
