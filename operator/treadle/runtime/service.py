"""Treadle as a service: everything wired together, from the first connection to a clean end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from treadle.api.application import Application
from treadle.api.identity import Source
from treadle.controllers.eta import unmade
from treadle.controllers.ledger import Ledger
from treadle.controllers.operator import Operator
from treadle.core import Core
from treadle.core.model import DefaultAccess, Settings
from treadle.kube.auth import Access
from treadle.kube.binder import Binder
from treadle.kube.claims import ClaimBinder
from treadle.kube.device_claims import DeviceBinder
from treadle.kube.device_fences import DeviceFences
from treadle.kube.doubts import Asked
from treadle.kube.errors import KubeError
from treadle.kube.evictor import Evictor
from treadle.kube.lease import Lease
from treadle.kube.patcher import Patcher
from treadle.kube.recorder import Recorder
from treadle.kube.resizer import Resizer
from treadle.kube.reviews import Reviews
from treadle.kube.transport import Client
from treadle.rest.asking import Asker
from treadle.rest.departed import Departed
from treadle.rest.document import PATH as DOCUMENT
from treadle.rest.objects import Objects
from treadle.rest.preemptions import Preemptions
from treadle.rest.serving import Door
from treadle.rest.state import Sources as ToldFrom
from treadle.runtime.administrators import Administrators
from treadle.runtime.admission import Webhook, WebhookOptions, webhook
from treadle.runtime.doors import Doors, Told, routes_of
from treadle.runtime.endings import Endings
from treadle.runtime.engine import Engine, both
from treadle.runtime.forecaster import Forecaster, past_of
from treadle.runtime.forwarding import forwarder_of, served_at
from treadle.runtime.garbage import Garbage
from treadle.runtime.group_statuses import GroupStatuses
from treadle.runtime.provisioning import Provisioner
from treadle.runtime.queue_changes import QueueChanges
from treadle.runtime.rest import means_of
from treadle.runtime.served import Seen, Served
from treadle.runtime.snapshot import metrics_of
from treadle.runtime.solver import Highs
from treadle.runtime.sources import Sources, keep_listing, list_kinds, wait_for_kinds
from treadle.runtime.statuses import Statuses
from treadle.runtime.tls import Files, SelfSigned, TlsOptions, certificate_of
from treadle.runtime.usage import UsageSource
from treadle.runtime.waiting import WaitingReports
from treadle.usage.credentials import Credentials
from treadle.web.guard import guarded
from treadle.web.server import answering

if TYPE_CHECKING:
    from treadle.controllers.ledger import Entry
    from treadle.core.effects import Evict
    from treadle.history.keeper import Keeper
    from treadle.rest.forwarding import Forwarder
    from treadle.runtime.from_history import FromHistory

log = logging.getLogger(__name__)

BLIND = (
    "spec.backfill: how long pods ran that have ended is not known, since no forecasts are made by this scheduler (treadle run --eta): only what pods "
    "declare counts, and when they are ended at the latest"
)
NO_HISTORY = "spec.reservations.fromHistory of queues: no reservations are made from the history, since none is kept (treadle run --history)"
HANDED_OVER = 0.5
"""The part of the quiet that is waited for after a predecessor that had nothing under way: what it bound may still be on its way to our watch, and nothing else."""
MOST_SETTLING = 15.0
"""Seconds for which binds of a predecessor are waited for at the most."""
CATCHING_UP, LONGEST_CATCHING_UP = 0.02, 30.0
"""Seconds between two looks at whether the watch of claims has come as far as a new leader has read them, and after which it decides without."""
BLIND_AFTER = 5.0
"""Seconds without a byte from the watch of nodes or pods, while it cannot be had, after which nothing is decided."""
STALE_AFTER = 200.0
"""Seconds without a byte from a watch (bookmarks come every minute) after which we are not ready."""
STUCK_AFTER = 600.0
"""Seconds without a byte from a watch, while the API server answers other requests, after which we are not healthy."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to run.

    ``name`` is the Scheduler that is served and the schedulerName of pods; ``listen`` is where all but the probes is served, as
    ``host:port``, empty for nowhere.

    ``settle`` is how long, in seconds, nothing may be heard of a predecessor's binds before the first decision.
    """

    name: str = "treadle"
    listen: str = ""
    probes: str = ""
    """Where the probes are served, as ``host:port``; empty for nowhere."""
    anonymous_metrics: bool = False
    """Whether metrics and the state are told to anybody."""
    leader_elect: bool = False
    advertise: str = ""
    """The IP address at which other copies reach the port of ``listen``, empty where they do not."""
    namespace: str = ""
    identity: str = ""
    controllers: bool = True
    status_every: float = 2.0
    settle: float = 1.0
    grace: float = 15.0
    binds_in_flight: int = 64
    settings: Settings | None = None
    validate: bool = False
    history: str = ""
    """The URL of the store in which the history is kept; empty for none."""
    history_days: float = 90.0
    eta: bool = False
    """Whether it is forecast when what waits will start."""
    webhook: WebhookOptions | None = None
    tls: TlsOptions | None = None
    """With which certificate the port of ``listen`` is served; None for none, in the clear."""
    prometheus: Credentials | None = None
    rest: bool = False
    page: bool = False
    """Whether YARN's REST, and the page, are served on the port of ``listen``."""
    users: Source = Source.NAMESPACE
    """What says whose an object is."""
    default_access: DefaultAccess = DefaultAccess.OPEN
    """Whom queues let in while the root has no access lists."""
    administrators: str = ""
    """The AdministratorList in which it is published who may administer queues, of the namespace of the lease; empty for none."""
    queue_changes: str = ""
    """The ConfigMap with the log of changes of queues by REST, of the namespace of the lease; empty where there are none."""
    rest_audience: str = ""
    """Whom the tokens of its users have to be for; the API server where it is empty."""


class Service:
    """A running Treadle. Use ``running`` to make, start and end one."""

    def __init__(self, access: Access, options: Options) -> None:
        self.options = options
        self.access = access
        self.client = Client(access, user_agent=f"treadle/{options.name}")
        settings = replace(
            options.settings or Settings(),
            epoch=time.time() - time.monotonic(),
            solver=Highs(),
            default_access=options.default_access,
        )
        self.core = Core(settings, validate=options.validate)
        self.patcher = Patcher(self.client)
        identity = options.identity or f"{socket.gethostname()}-{os.getpid()}"
        self.lease: Lease | None = None
        if options.leader_elect:
            lease = Lease(self.client, options.namespace or access.namespace, f"treadle-{options.name}", identity)
            self.lease, self.client.right = lease, lease.right
        announce = None if self.lease is None else self.lease.record
        self.binder = Binder(self.client, self._put, most=options.binds_in_flight, announce=announce, users=options.users)
        self.recorder = Recorder(self.patcher, identity)
        self.preempted = Preemptions(lambda: self.core.view)
        self.evictor = Evictor(
            self.client, self._put, wanted=self._is_victim, told=self._was_preempted, over=self.recorder.expired
        )
        self.claims = ClaimBinder(self.client, self._put)
        self.devices = DeviceBinder(self.client, self._put, announce=None if self.lease is None else self.lease.record_claims)
        self.device_fences = DeviceFences(self.client)
        reports = WaitingReports(self.patcher)
        self.engine = Engine(
            self.core, self.binder, self.evictor, reports, self.recorder, self.claims, self.devices, self._may_plan
        )
        self.engine.provisioner = self.provisioner = Provisioner(self.client, options.name, lambda: self.core.view, self._put)
        self.departed = Departed(lambda: self.core.view)
        self.engine.leaving = self.departed.note
        self.engine.resizer = self.resizer = Resizer(self.client, self._put)
        self._asking = Client(access, user_agent=f"treadle/{options.name}")
        self.client.took = self._asking.took = self.engine.measures.answered
        self._serving = Client(access, user_agent=f"treadle/{options.name}")
        """Has connections of its own, so that nobody who decides waits for what is asked at the doors."""
        self.usage = UsageSource(self._asking, lambda: self.core.view, self._put, access.namespace, options.prometheus)
        self.group_statuses = GroupStatuses(lambda: self.core.view, self.patcher)
        self.sources = Sources(self.client, self._put, self.group_statuses, options.users)
        self.ledger = Ledger(options.name, self._put, options.users)
        self.endings = Endings(
            lambda: self.core.view,
            self.group_statuses.ends_known,
            lambda identity: ("Application", *identity.split("/", 1)) in self.ledger.entries,
            self.group_statuses.ends_matter.set,
        )
        self.sources.pod_groups.take = self.endings.take
        self.administrators: Administrators | None = None
        if options.administrators:
            where = options.namespace or access.namespace
            self.administrators = Administrators(self.client, where, options.administrators, lambda: self.core.view)
        self.queue_changes: QueueChanges | None = None
        if options.queue_changes:
            where = options.namespace or access.namespace
            self.queue_changes = QueueChanges(self._serving, access, options.name, where, options.queue_changes)
        self.statuses = Statuses(
            self.core,
            self.ledger,
            self.patcher,
            options.status_every,
            self.engine.care.why_set_aside,
            self.engine.refresh_shares,
            self._failing,
            self._forecast_of,
            self.endings.status,
        )
        self.engine.decided = self.statuses.write_reservation
        self.operator: Operator | None = None
        self.garbage = Garbage()
        self.keeper = self._keeper(options) if options.history else None
        if self.keeper is not None:
            self.engine.history, self.sources.pod_groups.ended = self.keeper.note, self.keeper.ended
            self.recorder.heard = self.keeper.hear
        self.forecaster: Forecaster | None = None
        if options.eta:
            self.forecaster = Forecaster(
                self.core.telling,
                lambda: self.core.view,
                settings,
                self.answers,
                past=past_of(options.history, options.history_days) if options.history else None,
                put=self._put,
            )
            self.engine.history = both(self.engine.history, self.forecaster.note)
        self.from_history = self._from_history(options)
        self.waiting_for = "starting"
        self.doors = Doors()
        self.certificate: Files | SelfSigned | None = None
        self.webhook: Webhook | None = None
        self.forwarder: Forwarder | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._beginning: asyncio.Task[Any] | None = None
        self._listed = False
        self._list_now = asyncio.Event()
        self._succeeding: asyncio.Task[None] | None = None
        """Sees to the binds that a predecessor may have under way; None while we do not lead."""
        self._deciding = False
        self._quiet_since = 0.0
        self._failed: BaseException | None = None

    def _keeper(self, options: Options) -> Keeper:
        from treadle.history.keeper import Keeper  # with its library, where a history is kept only
        from treadle.history.store import Store

        return Keeper(Store(options.history), lambda: self.core.view, options.history_days)

    def _from_history(self, options: Options) -> FromHistory | None:
        """Return who makes reservations from the history; None where none is kept."""
        if not options.history:
            return None
        from treadle.runtime.from_history import FromHistory  # with the library of the history

        return FromHistory(options.history, self.ledger.entries, Objects(self.client), Highs())

    def _failing(self) -> str:
        """Return what this process cannot do beside scheduling; empty if it can all that is asked for."""
        blind = self.core.view.backfills_by_estimates and self.forecaster is None
        asked = self.from_history is None and any(entry.from_history is not None for entry in self.ledger.entries.values())
        others = (one.trouble for one in (self.keeper, self.from_history) if one is not None)
        changes = self.queue_changes.problem if self.queue_changes is not None else ""
        mine = (BLIND if blind else "", NO_HISTORY if asked else "", self.evictor.problem, changes)
        return "; ".join(filter(None, (*mine, *others)))

    def _forecast_of(self, entry: Entry) -> dict[str, Any] | None:
        if self.forecaster is not None:
            return self.forecaster.status(f"{entry.namespace}/{entry.name}", entry.status.get("eta"))
        return unmade(entry.model.spec) if isinstance(entry.model, Application) else None

    def _is_victim(self, uid: str) -> bool:
        return self.core.view.is_victim(uid)

    def _was_preempted(self, victim: Evict) -> None:
        self.recorder.preempted(victim)
        self.preempted.note(victim)

    def _put(self, event: Any) -> None:
        self.engine.put(event)

    @property
    def synced(self) -> bool:
        """Whether every first list is complete and handled."""
        return self._listed and self.sources.synced

    def _settled(self) -> bool:
        """Whether all that was listed is handled, and what a predecessor had in flight has landed: a while of quiet after either.

        Deciding between two slices of the first list would fill nodes whose pods have not been counted. And a scheduler that was
        killed may have sent binds that the API server takes after our list. The wait is made once each time that we begin to
        decide.
        """
        if self._deciding:
            return True
        if self.engine.backlog:
            self._quiet_since = 0.0
            return False
        now = time.monotonic()
        self._quiet_since = self._quiet_since or now
        last = max(self._quiet_since, self.core.view.adopted_at)
        settle = self.options.settle * (HANDED_OVER if self.lease is not None and self.lease.handed_over else 1.0)
        self._deciding = now >= min(last + settle, self._quiet_since + MOST_SETTLING)
        return self._deciding

    def _leads(self) -> bool:
        """Whether nobody else may decide, and no bind of a predecessor can take place any more."""
        if self.lease is None:
            return True
        return self.lease.held and self._succeeding is not None and self._succeeding.done()

    def _blind(self) -> bool:
        """Whether nodes or pods have not been seen for a while: what is known may be long out of date, and nodes are overfilled by it."""
        now = time.monotonic()
        return any(watch.problem and now > watch.alive_at + BLIND_AFTER for watch in (self.sources.nodes, self.sources.pods))

    def _may_plan(self) -> bool:
        blind = self._blind()
        if self._deciding and not blind and self._leads():
            return True
        if blind or not self.synced or not self._leads():
            self._deciding, self._quiet_since = False, 0.0
            return False
        return self._settled()

    def healthy(self) -> str:
        """Return why we should be restarted, or an empty text: a task has ended, or the engine has not turned for a while."""
        if self._failed is not None:
            return f"a task ended: {self._failed!r}"
        trouble = self.engine.trouble()
        if trouble:
            return trouble
        if self.operator is not None and not self.operator.alive:
            return "the controllers ended"
        now = time.monotonic()
        for name, reflector in self.sources.all.items():
            if reflector.alive_at >= 0 and now > reflector.alive_at + STUCK_AFTER and now < self.client.answered_at + STALE_AFTER:
                return f"the watch of {name} has said nothing for {now - reflector.alive_at:.0f} s, though the API server answers"
        return ""

    def unready(self) -> dict[str, Any]:
        """Return why we cannot schedule, by cause; nothing if we can."""
        now = time.monotonic()
        needed = self.sources.needed
        silent = {name for name, one in needed.items() if not now - one.alive_at < STALE_AFTER}
        why = {
            "waitingFor": self.waiting_for or ("" if self.synced else "the first lists"),
            "watches": {name: one.problem or "silent" for name, one in needed.items() if one.problem or name in silent},
            "controllers": "" if self.operator is None else self.operator.problem(),
            "lease": "" if self.lease is None or self.lease.held else self.lease.problem,
            "binds": self.binder.doubts.problem,
            "webhook": "" if self.webhook is None or self.webhook.trusted else self.webhook.problem,
        }
        found = {cause: said for cause, said in why.items() if said}
        return {} if self.synced and set(found) <= {"waitingFor"} else found

    def state(self) -> dict[str, Any]:
        """Return whether we can schedule and why not, who leads, the state of every watch, and what is wrong beside."""
        now, unready = time.monotonic(), self.unready()
        watches = {
            name: {
                "synced": reflector.synced.is_set(),
                "secondsSinceWord": None if reflector.alive_at < 0 else round(now - reflector.alive_at, 1),
                **({"problem": reflector.problem} if reflector.problem else {}),
            }
            for name, reflector in self.sources.all.items()
        }
        return {
            **unready,
            "ready": not unready,
            "synced": self.synced,
            "watchesAlive": "watches" not in unready,
            "leader": f"standby, {self._standing_by()} leads" if self._standing_by() else "leader",
            "watches": watches,
            "waitingFor": self.waiting_for,
            **({"administrators": self.administrators.problem} if self.administrators and self.administrators.problem else {}),
            **({"queueChanges": self.queue_changes.problem} if self.queue_changes and self.queue_changes.problem else {}),
            **({"certificate": self.certificate.problem} if self.certificate is not None and self.certificate.problem else {}),
            **({"webhook": self.webhook.problem} if self.webhook is not None and self.webhook.problem else {}),
            **({"forwarding": self.forwarder.problem} if self.forwarder is not None and self.forwarder.problem else {}),
        }

    def answers(self) -> bool:
        """Whether what the core knows may be looked ahead from."""
        return self._may_plan() and not self.engine.care.hurt

    async def start(self) -> None:
        """Start every part; returns when the ports are open. Scheduling begins when everything is synced."""
        self._spawn(self.engine.run(), "engine")
        self._spawn(self.engine.measures.run(), "measures")
        self._spawn(self.binder.run(), "binder")
        self._spawn(self.evictor.run(), "evictor")
        self._spawn(self.claims.run(), "claims")
        self._spawn(self.resizer.run(), "resizer")
        self._spawn(self.devices.run(), "devices")
        self._spawn(self.patcher.run(), "patcher")
        await self._open()
        if self.options.webhook is not None:
            names = webhook(self.client, self.options.webhook, lambda: frozenset(self.core.view.names))
            self.webhook = await self.doors.enter(
                names, f"the webhook on {self.options.webhook.host}:{self.options.webhook.port}"
            )
            self._spawn(self.webhook.keep_trusted(), "webhook")
        self._beginning = self._spawn(self._begin(), "begin")

    async def _begin(self) -> None:
        for name, reflector in self.sources.all.items():
            self._spawn(reflector.run(), f"watch-{name}")
        self._spawn(self.sources.keep_telling(), "storage")
        self._spawn(self.sources.pod_groups.run(), "pod-groups")
        self._spawn(self.provisioner.run(self._may_plan), "provisioning")
        self._spawn(self.usage.run(), "usage")
        await wait_for_kinds(self.client, self._note)
        while True:
            try:
                await list_kinds(self.client, self.ledger)
                break
            except KubeError as error:
                self._note(f"listing our kinds: {error}")
                await asyncio.sleep(1.0)
        self._note("the first lists of pods and nodes")
        self._listed = True
        if self.options.controllers:
            loop = asyncio.get_running_loop()
            self.operator = Operator(
                self.access,
                lambda *args: _threadsafe(loop, self._delivered, *args),
                lambda: _threadsafe(loop, self._list_now.set),
            )
            self.operator.start()
        if self.lease is not None:
            self._spawn(self.lease.run(self._led), "lease")
        self._spawn(keep_listing(self.client, self.ledger, self._list_now), "lists")
        self._spawn(self.statuses.run(self._may_plan), "statuses")
        self._spawn(self.group_statuses.run(self._may_plan), "group-statuses")
        if self.administrators is not None:
            self._spawn(self.administrators.run(self._may_plan), "administrators")
        if self.queue_changes is not None:
            self._spawn(self.queue_changes.run(self._may_plan), "queue-changes")
        for reflector in self.sources.needed.values():
            await reflector.synced.wait()
        self._note("")
        counts = self.core.view.counts()
        log.info("synced: %d nodes, %d pods, %d objects of ours", counts.nodes, counts.pods, len(self.ledger.entries))
        self._spawn(self.garbage.run(), "garbage")
        if self.keeper is not None:
            self._spawn(self.keeper.run(self._may_plan), "history")
        if self.from_history is not None:
            self._spawn(self.from_history.run(self._may_plan), "from-history")
        if self.forecaster is not None:
            self._spawn(self.forecaster.run(), "forecasts")

    def _note(self, what: str) -> None:
        self.waiting_for = what

    def _delivered(self, kind: str, change: str | None, body: Mapping[str, Any]) -> None:
        if change == "DELETED":
            meta = body.get("metadata") or {}
            self.ledger.gone(kind, str(meta.get("namespace") or ""), str(meta.get("name") or ""), str(meta.get("uid") or ""))
        else:
            self.ledger.seen(kind, body)

    def _led(self, leading: bool) -> None:
        log.info("leader election: %s", "this instance leads" if leading else "this instance stands by")
        self.endings.led()
        if self._succeeding is not None:
            self._succeeding.cancel()
            self._succeeding = None
        if leading and self.lease is not None:
            self._succeeding = self._spawn(self._succeed(self.lease.inherited, self.lease.inherited_claims), "succeed")
        elif not leading:
            self.client.cut()
            self.patcher.withdraw()
            self.engine.stand_down()

    async def _succeed(self, inherited: list[Asked], claims: list[Asked]) -> None:
        """Keep out every bind that a predecessor announced and all devices that it was giving, when all pods are known; nothing is decided before."""
        for reflector in self.sources.needed.values():
            await reflector.synced.wait()
        async with asyncio.TaskGroup() as group:
            group.create_task(self.binder.settle(inherited))
            group.create_task(self._settle_claims(claims))
        if inherited:
            log.info("of %d binds that a predecessor announced none can take place any more", len(inherited))

    async def _settle_claims(self, claims: list[Asked]) -> None:
        """Fence the claims that a predecessor was giving devices, and wait until the watch has told what they have got.

        A watch that could not list claims yet needs no waiting: its first list comes after the fences.
        """
        version, watch = await self.device_fences.settle(claims), self.sources.devices["resourceclaims"]
        deadline = time.monotonic() + LONGEST_CATCHING_UP
        while version and not watch.reached(version) and (watch.synced.is_set() or not watch.problem):
            if time.monotonic() > deadline:
                log.warning("resourceclaims are not known as they are after the last leader's writes: %s", watch.problem)
                return
            await asyncio.sleep(CATCHING_UP)

    async def _open(self) -> None:
        forecasts = None if self.forecaster is None else self.forecaster.everything
        told = Told(self.healthy, self.unready, self.state, lambda: metrics_of(self), forecasts)
        if self.options.probes:
            await self.doors.open_probes(self.options.probes, told)
        if not self.options.listen:
            return
        reviews = Reviews(self._serving)
        routes = routes_of(told, reviews, anonymous=self.options.anonymous_metrics)
        unready = lambda: "" if self._listed else self.waiting_for  # noqa: E731 - read at each request
        door = Door(Asker(reviews, self.options.rest_audience), unready)
        told_from = ToldFrom(lambda: self.core.view, self._standing_by, self._foreseen)
        seen = Seen(told_from, self.preempted, self.departed, self.ledger, self.options.history)
        if self.options.tls is not None:
            self.certificate = certificate_of(
                self._serving, replace(self.options.tls, namespace=self.options.namespace or self.access.namespace)
            )
            self._spawn(self.certificate.keep(), "certificate")
        self.forwarder = forwarder_of(self.lease, self.certificate)
        served = Served(self.options, unready, seen, self.queue_changes, self.forwarder)
        means = means_of(self.access, self.options.name, self.ledger, self.core, self.answers)
        routes += served.routes(door, self._serving, means)
        described = served.described()
        routes.append(guarded(answering(DOCUMENT, lambda: described), reviews, right=False))
        await self.doors.open(self.options.listen, routes, None if self.certificate is None else self.certificate.context)
        if self.lease is not None:
            self.lease.serves = served_at(self.options.advertise, self.doors.url)

    def _standing_by(self) -> str:
        return "" if self.lease is None or self.lease.held else self.lease.holder or "nobody"

    def _foreseen(self, identity: str) -> dict[str, Any] | None:
        return None if self.forecaster is None else self.forecaster.status(identity, None)

    def _spawn(self, coroutine: Any, name: str) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(coroutine, name=name)
        task.add_done_callback(self._ended)
        self._tasks.add(task)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._failed = task.exception()
            log.error("task %s ended", task.get_name(), exc_info=self._failed)

    async def stop(self) -> None:
        """End cleanly: decide nothing more, let what is in flight arrive, write what is owed, give up the lease."""
        self.engine.stopping = True
        if self._beginning is not None:  # or it would start parts that nobody ends
            self._beginning.cancel()
            await asyncio.wait([self._beginning])
        if not await self.binder.drain(self.options.grace):
            log.warning("binds were still in flight after %.0f s; their outcome is in the API", self.options.grace)
        self.engine.finish()
        self.recorder.flush(now=True)
        await self.patcher.drain(2.0)
        if self.operator is not None:
            await asyncio.to_thread(self.operator.stop)
        if self.lease is not None:
            await self.lease.release(settled=self.binder.settled and self.devices.announcing.settled)
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self.keeper is not None:
            await self.keeper.close()
        await self.doors.close()
        if self.forwarder is not None:
            await self.forwarder.close()
        await self.client.close()
        await self._asking.close()
        await self._serving.close()


def _threadsafe(loop: asyncio.AbstractEventLoop, call: Any, *args: Any) -> None:
    with contextlib.suppress(RuntimeError):  # the loop is closed: we are ending
        loop.call_soon_threadsafe(call, *args)


@asynccontextmanager
async def running(access: Access, options: Options) -> AsyncIterator[Service]:
    """Run Treadle for the time of a ``with`` block."""
    service = Service(access, options)
    try:
        await service.start()
        yield service
    finally:
        await service.stop()
