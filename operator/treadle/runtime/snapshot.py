"""What readers are shown of the core at one moment: plain data, made between two passes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.core.pods import PodState
from treadle.metrics.exporter import QueueSample, Samples

if TYPE_CHECKING:
    from treadle.core import Core
    from treadle.runtime.service import Service


def metrics_of(service: Service) -> Samples:
    """Return the numbers of the moment for Prometheus."""
    core, binder, engine = service.core, service.binder, service.engine
    state = core.state
    core.refresh_shares()
    named = state.types.named
    queues = []
    for queue in state.tree.queues.values():
        below = [application for one in queue.walk() for application in one.applications.values()]
        pending = [sum(values) for values in zip(*(a.pending_demand(len(state.types)) for a in below if a.asks), strict=True)]
        running = sum(application.allocated > 0 for application in below)
        limits = {name: value for name, value in named(queue.maximum).items() if value < 1 << 60}
        queues.append(
            QueueSample(
                queue.path,
                named(queue.usage),
                named(pending),
                named(queue.fair_share),
                named(queue.minimum or []),
                limits,
                running,
                len(below) - running,
                sum(application.pending for application in below),
            )
        )
    return Samples(
        queues=queues,
        pods={"waiting": state.waiting, "assumed": state.assumed, "bound": state.bound},
        nodes=state.nodes.known(),
        decisions=state.decisions,
        binds={"bound": binder.bound, "failed": binder.failed, "unknown": binder.unknown},
        bind_seconds=binder.seconds,
        binds_in_flight=binder.in_flight,
        bind_limit=binder.limit,
        passes=engine.passes,
        busy_seconds=engine.busy_seconds,
        backlog=engine.backlog,
        requests=dict(service.client.requests),
        watches={name: (reflector.relists, reflector.reopened) for name, reflector in service.sources.all.items()},
        leader=service.lease is None or service.lease.held,
        status_writes=service.patcher.sent,
        events_written=service.recorder.written,
    )


def tree_of(core: Core, waiting: int = 50) -> dict[str, Any]:
    """Return the queue tree for people: shares, usage, demand, applications, and why up to ``waiting`` pods wait."""
    state = core.state
    core.refresh_shares()
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
            "used": quantities(queue.usage),
            "pending": quantities(pending),
            "applications": {"running": running, "pending": len(below) - running},
            "waiting_pods": sum(application.pending for application in below),
            "weight": queue.weight,
            "policy": queue.policy.name,
            "state": queue.state,
            "leaf": queue.leaf,
            "used_fraction": _fraction(queue.usage, state.cluster.total),
            "fair_fraction": _fraction(queue.fair_share, state.cluster.total),
            "steady_fraction": _fraction(queue.steady_share, state.cluster.total),
        }
    return {
        "cluster": {"total": quantities(state.cluster.total), "nodes": state.nodes.known()},
        "pods": {"waiting": state.waiting, "assumed": state.assumed, "bound": state.bound, "decisions": state.decisions},
        "queues": queues,
        "waiting": _waiting(core, waiting),
    }


def _fraction(vector: list[int], total: list[int]) -> float:
    """Return the dominant fraction: of the resource that most is had of."""
    return max(
        (value / most for position, (value, most) in enumerate(zip(vector, total, strict=False)) if most > 0 and position != 2),
        default=0.0,
    )


def _waiting(core: Core, most: int) -> list[dict[str, Any]]:
    """Explain one pod of each ask, at most ``most``; the others of an ask wait for the same reason."""
    found: list[dict[str, Any]] = []
    for application in core.state.applications.values():
        for ask in application.asks.values():
            record = next(iter(ask.pods.values()), None)
            if record is None or record.state is not PodState.WAITING:
                continue
            explanation = core.explain(record.spec.uid)
            if explanation is not None:
                found.append(
                    {
                        "pod": explanation.pod,
                        "pods": len(ask.pods),
                        "application": explanation.application,
                        "queue": explanation.queue,
                        "reason": explanation.reason,
                        "message": explanation.message,
                        "ahead": explanation.ahead,
                    }
                )
            if len(found) >= most:
                return found
    return found
