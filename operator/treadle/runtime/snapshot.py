"""The numbers of one moment for Prometheus: plain data, made between two passes."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from treadle.metrics.exporter import QueueSample, Samples, UserSample
from treadle.metrics.histogram import Histogram, doubling

if TYPE_CHECKING:
    from collections.abc import Mapping

    from treadle.core import Core
    from treadle.core.views.opportunistic import Times
    from treadle.history.keeper import Keeper
    from treadle.kube.binder import Binder
    from treadle.kube.evictor import Evictor
    from treadle.kube.lease import Lease
    from treadle.kube.patcher import Patcher
    from treadle.kube.recorder import Recorder
    from treadle.kube.transport import Client
    from treadle.runtime.admission import Webhook
    from treadle.runtime.doors import Doors
    from treadle.runtime.engine import Engine
    from treadle.runtime.forecaster import Forecaster
    from treadle.runtime.from_history import FromHistory
    from treadle.runtime.garbage import Garbage
    from treadle.runtime.provisioning import Provisioner
    from treadle.runtime.sources import Sources
    from treadle.runtime.tls import Files, SelfSigned
    from treadle.runtime.usage import UsageSource


class Named(Protocol):
    """Options, of which the name of the Scheduler is told."""

    @property
    def name(self) -> str:
        """The schedulerName that pods ask for."""
        ...


class Parts(Protocol):
    """The parts of a running service that have numbers."""

    core: Core
    binder: Binder
    engine: Engine
    evictor: Evictor
    client: Client
    doors: Doors
    webhook: Webhook | None
    certificate: Files | SelfSigned | None
    usage: UsageSource
    garbage: Garbage
    sources: Sources
    lease: Lease | None
    patcher: Patcher
    recorder: Recorder
    provisioner: Provisioner
    keeper: Keeper | None
    from_history: FromHistory | None
    forecaster: Forecaster | None

    @property
    def options(self) -> Named:
        """How it was started."""
        ...


def metrics_of(service: Parts) -> Samples:
    """Return the numbers of the moment for Prometheus."""
    binder, engine = service.binder, service.engine
    engine.refresh_shares()
    view = service.core.view
    queues = [
        QueueSample(
            queue.path,
            queue.used,
            queue.pending,
            queue.fair_share,
            queue.here.guaranteed,
            {name: value for name, value in queue.here.maximum.items() if value},
            queue.running,
            queue.accepted,
            queue.waiting_pods,
            {
                name: {"used": part.used, "pending": part.pending, "guaranteed": part.guaranteed}
                for name, part in queue.partitions.items()
            },
        )
        for queue in view.queues()
    ]
    counts, idle = view.counts(), view.opportunistic()
    measures, now = engine.measures, time.monotonic()
    measures.look()
    waiting = measures.waiting
    searches, victims = view.preemptions
    certificates = {"service": service.certificate, "webhook": service.webhook}
    gates = dict(service.doors.gates)
    if service.webhook is not None:
        gates["webhook"] = service.webhook.gate
    return Samples(
        queues=queues,
        profile=service.options.name,
        waits={name: one.times() for name, one in measures.by_queue.items()},
        reasons=waiting.reasons,
        waited=dict(measures.waited),
        users={
            name: UserSample(user.used, {"waiting": user.waiting, "placed": user.placed}) for name, user in waiting.users.items()
        },
        pending={name: getattr(waiting, name) for name in ("active", "backoff", "unschedulable", "gated")},
        attempts={"scheduled": binder.bound, "unschedulable": view.parked, "error": binder.failed},
        pass_times=measures.passes.times(),
        bind_times=measures.binds.times(),
        plan_times=measures.plans.times(),
        attempt_times=measures.scheduled.times(),
        entered_times=measures.entered.times(),
        searches=searches,
        victims=_victims(victims),
        silent={name: now - one.alive_at for name, one in service.sources.all.items() if one.alive_at >= 0},
        pods={"waiting": counts.waiting, "assumed": counts.assumed, "bound": counts.bound},
        nodes=counts.nodes,
        decisions=counts.decisions,
        binds={"bound": binder.bound, "failed": binder.failed, "unknown": binder.unknown},
        bind_seconds=binder.seconds,
        evictions={name: getattr(service.evictor, name) for name in ("evicted", "deleted", "stayed")},
        holds=counts.holds,
        backfilled={"placed": counts.backfilled, "evicted": counts.backfilled_evicted},
        lagging={"reprovisioned": counts.reprovisioned, "no_room": counts.without_room},
        from_history={} if service.from_history is None else service.from_history.made,
        preempted=dict(service.evictor.gone_from),
        refused=view.refused,
        misnamed=view.misnamed,
        sets=view.sets,
        provisioning=dict(service.provisioner.counts),
        binds_in_flight=binder.in_flight,
        bind_limit=binder.limit,
        passes=engine.passes,
        busy_seconds=engine.busy_seconds,
        backlog=engine.backlog,
        core_errors={"event": 0, "pass": 0, "shares": 0, **engine.care.errors},
        set_aside=len(engine.care.set_aside),
        opportunistic_pods={
            "waiting": idle.waiting,
            "queued": idle.queued,
            "running": idle.running,
            "leaving": idle.leaving,
        },
        queue_limit=idle.queue_limit,
        shed=idle.shed,
        opportunistic_room=idle.given,
        opportunistic_removed=idle.removed,
        predictions={
            name: {resource: getattr(one, field) for resource, one in idle.predictions.items()}
            for name, field in (
                ("predictions", "made"),
                ("predictions_below", "below"),
                ("prediction_shortfall", "lacking"),
                ("prediction_waste", "wasted"),
            )
        },
        **({} if service.keeper is None else _history(service.keeper)),
        **({} if service.forecaster is None else _forecasts(service.forecaster)),
        fenced=binder.doubts.fenced,
        withheld=service.client.withheld,
        opportunistic_times={"asking": idle.until_asked, "removal": idle.until_gone, "overuse": idle.until_below},
        reservations=view.reservation_phases(),
        plans={(one.path, one.partition): {"has": one.has, "promised": one.promised} for one in view.plans()},
        host=urlsplit(service.client.access.server).netloc.rpartition("@")[2],
        answer_times={method: one.times() for method, one in measures.answers.items()},
        connections={door: gate.inside for door, gate in gates.items()},
        turned_away={(door, cause): count for door, gate in gates.items() for cause, count in gate.turned_away.items() if count},
        certificates_end={door: one.ends_at.timestamp() for door, one in certificates.items() if one and one.ends_at},
        certificate_problems={door: int(bool(one.problem)) for door, one in certificates.items() if one},
        requests=dict(Counter(service.client.requests) + Counter(service.usage.requests)),
        longest_collection=service.garbage.longest,
        watches={name: (reflector.relists, reflector.reopened) for name, reflector in service.sources.all.items()},
        leader=service.lease is None or service.lease.held,
        status_writes=service.patcher.sent,
        events_written=service.recorder.written,
    )


def _victims(victims: Mapping[int, int]) -> Times:
    """Return how many victims there were at a time: the bounds are those of kube-scheduler."""
    found = Histogram(doubling(1, 7))
    for count, times in victims.items():
        found.add(count, times)
    return found.times()


def _history(keeper: Keeper) -> dict[str, Any]:
    return {
        "history": {"written": keeper.written, "dropped": keeper.dropped},
        "history_waiting": keeper.waiting,
        "history_failures": keeper.failures,
    }


def _forecasts(forecaster: Forecaster) -> dict[str, Any]:
    return {
        "forecasts": {result: forecaster.counts[result] for result in ("made", "failed")},
        "eta_outcomes": {
            (what, inside): forecaster.outcomes[what, inside] for what in ("start", "end") for inside in (True, False)
        },
        "eta_stretch": {
            (what, side): getattr(one.stretch, side)
            for what, one in forecaster.calibrations.items()
            for side in ("early", "late")
        },
        "forecast_slice": forecaster.longest_slice,
    }
