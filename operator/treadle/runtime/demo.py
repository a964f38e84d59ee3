"""The demo: an embedded API server, pretended nodes and kubelets, work that never ends, and the real Treadle scheduling it over HTTP.

Only the cluster is pretended. The service is the one that ``treadle run`` starts, and ``kubectl`` may be used on the same server.
"""

import asyncio
import errno
import logging
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from treadle.api.labels import SCHEDULER_NAME
from treadle.fakeapi import FakeApi, Ticker
from treadle.fakeapi.store import Event
from treadle.kube.auth import Access
from treadle.page import files
from treadle.page.admitting import Anybody, everybody
from treadle.page.board import Sources
from treadle.page.stream import Stream
from treadle.rest import manifest, what_if
from treadle.rest.serving import Door
from treadle.rest.state import Sources as ToldFrom
from treadle.rest.state import pod_routes
from treadle.runtime import demo_examples as examples
from treadle.runtime.demo_examples import Json, Templates
from treadle.runtime.demo_load import CLASSIC_NODES, NODE_CPU, NODE_MEMORY, ClassicLoad, Load, TraceLoad
from treadle.runtime.demo_operators import FINISHED, Collector, JobController, SparkOperator, serve_jobs
from treadle.runtime.doors import Told, open_routes
from treadle.runtime.rest import means_of
from treadle.runtime.served import Seen
from treadle.runtime.service import Options, Service, running
from treadle.runtime.snapshot import metrics_of
from treadle.web.local import local
from treadle.web.server import answering, probe_routes, serve

log = logging.getLogger(__name__)

Example = Literal["classic", "trace"]
CLEAR_AFTER = 15.0
"""Seconds of the demo after which what has finished is cleared away."""
STEP = 0.2
"""Real seconds between two looks of the pretended operators and the load."""


class DemoFailed(Exception):
    """The demo cannot start or go on; the text says what to do."""


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """What to show. ``port`` None means no page, 0 any free port; ``speed`` divides all times; ``keep`` clears nothing away."""

    example: Example = "classic"
    port: int | None = 8088
    speed: float = 1.0
    seed: int = 1
    keep: bool = False


class Counts:
    """Counts the pods that ask for Treadle, from the log of the embedded API server: ``bound`` are all that ever were."""

    def __init__(self) -> None:
        self.created = self.bound = self.finished = self.waiting = 0
        self.phases: Counter[str] = Counter()

    def see(self, event: Event) -> None:
        """Take one write of a pod in."""
        if event.last.obj["spec"].get("schedulerName") != SCHEDULER_NAME:
            return
        old, new = (_stage(entry.obj) if entry is not None else "" for entry in (event.old, event.new))
        self.created += event.old is None
        self.waiting += (new == "waiting") - (old == "waiting")
        self.bound += new in {"bound", *FINISHED} and old in {"", "waiting"} and bool(event.last.obj["spec"].get("nodeName"))
        self.finished += new in FINISHED and old not in FINISHED
        if new in FINISHED and old not in FINISHED:
            self.phases[new] += 1

    def all(self) -> dict[str, int]:
        """The four numbers."""
        return {"created": self.created, "bound": self.bound, "finished": self.finished, "waiting": self.waiting}


def _stage(pod: Json) -> str:
    phase = str(pod["status"].get("phase"))
    if phase in FINISHED:
        return phase
    if pod["spec"].get("nodeName"):
        return "bound"
    return "leaving" if pod["metadata"].get("deletionTimestamp") else "waiting"


class Demo:
    """A running demo; ``url`` is the page's (empty without one), ``kubeconfig`` a file for kubectl."""

    def __init__(self, options: DemoOptions) -> None:
        self.options = options
        self.api = FakeApi()
        self.counts = Counts()
        self.url = ""
        self.kubeconfig = Path()
        self.service: Service
        self.failed: BaseException | None = None
        self._begun = time.monotonic()

    def populate(self) -> None:
        """Create the nodes and the queues of the example, and listen to what happens to pods."""
        serve_jobs(self.api)
        trace = self.options.example == "trace"
        made = examples.trace_nodes() if trace else [_classic_node(number) for number in range(1, 1 + CLASSIC_NODES)]
        for node in made:
            self.api.create("nodes", node)
        for name in ("scheduler.yaml", "trace/queues.yaml") if trace else ("classic.yaml",):
            for kind, document in examples.kinds_of_ours(name):
                self.api.create(kind, document)
        self.api.store.collections["pods"].listeners.append(self.counts.see)

    async def live(self) -> None:
        """Let operators work and load arrive until cancelled; ``failed`` says why it ended by itself."""
        options, templates = self.options, Templates()
        spark, jobs = SparkOperator(self.api, templates), JobController(self.api)
        collector = Collector(self.api, CLEAR_AFTER, keep=options.keep)
        load: Load = (
            TraceLoad(self.api, templates) if options.example == "trace" else ClassicLoad(self.api, templates, options.seed)
        )
        entries = self.api.store.collections["pods"].entries
        try:
            while True:
                now = (time.monotonic() - self._begun) * options.speed
                pods = {key: entry.obj for key, entry in entries.items()}
                collector.step(pods, now)
                spark.step(pods)
                jobs.step(pods)
                load.step(pods, now)
                await asyncio.sleep(STEP / max(1.0, min(options.speed, 4.0)))
        except Exception as error:
            log.exception("the demo's cluster stopped")
            self.failed = error

    def tree(self) -> dict[str, Any]:
        """What there is as one object: the queue tree, why pods wait, and the demo's own numbers."""
        shown = self._shown(waiting=50)
        shown["pods"] |= self.counts.all() | {"failed": self.counts.phases["Failed"]}
        return {
            "at": round(time.monotonic() - self._begun, 3),
            "binds": {"bound": self.service.binder.bound, "in_flight": self.service.binder.in_flight},
            **shown,
        }

    def more(self) -> dict[str, Any]:
        """What the page says of the demo beside what it says of every cluster."""
        return {
            "title": f"treadle demo, {self.options.example}",
            "demo": self.counts.all() | {"failed": self.counts.phases["Failed"]},
        }

    def summary(self) -> dict[str, Any]:
        """The line that a demo ends with."""
        shown = self._shown(waiting=0)
        kept = ("fair_share", "used", "pending")
        queues = {path: {name: queue[name] for name in kept} for path, queue in shown["queues"].items()}
        return {"pods": self.counts.all(), "nodes": shown["cluster"]["nodes"], "queues": queues}

    def _shown(self, waiting: int) -> dict[str, Any]:
        self.service.engine.refresh_shares()
        return self.service.core.view.tree(waiting)

    def problem(self) -> str:
        """Why the demo cannot go on, or an empty text."""
        return f"the pretended cluster stopped: {self.failed!r}" if self.failed is not None else self.service.healthy()


def _classic_node(number: int) -> Json:
    zone = {"topology.kubernetes.io/zone": "abc"[number % 3]}
    return examples.node(f"node-{number:02}", str(NODE_CPU), NODE_MEMORY, labels=zone)


@asynccontextmanager
async def demonstrating(options: DemoOptions) -> AsyncIterator[Demo]:
    """Run the demo for the time of a ``with`` block. Raises ``DemoFailed`` if the page's port cannot be had."""
    async with AsyncExitStack() as stack:
        demo = Demo(options)
        folder = Path(tempfile.mkdtemp(prefix="treadle-demo-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        demo.populate()
        stack.push_async_callback(demo.api.stop)
        await demo.api.start()
        demo.kubeconfig = demo.api.write_kubeconfig(folder / "kubeconfig")
        service = demo.service = await stack.enter_async_context(
            running(Access(demo.api.url), Options(listen="", status_every=1.0))
        )
        if options.port is not None:
            demo.url = await stack.enter_async_context(_page(demo, service, options.port))
        async with _tasks(demo.live(), Ticker(demo.api, speed=options.speed).run()):
            yield demo


@asynccontextmanager
async def _page(demo: Demo, service: Service, port: int) -> AsyncIterator[str]:
    told = Told(service.healthy, service.unready, service.state, lambda: metrics_of(service))
    sources = ToldFrom(lambda: service.core.view, str, lambda _: None)
    shown = Sources(lambda: service.core.view, service.engine.refresh_shares, more=demo.more, offers=frozenset({"whatif"}))
    means = means_of(service.access, SCHEDULER_NAME, service.ledger, service.core, service.answers)
    seen, door = Seen(sources, service.preempted, service.departed, service.ledger), Door(Anybody(), str)
    routes = [
        *probe_routes(told.healthy, told.unready),
        *open_routes(told),
        *files.routes(),
        *Stream(shown, everybody).routes(),
        *pod_routes(door, seen.told),
        *seen.routes(door),
        *what_if.routes(door, seen.told, means),
        *manifest.routes(door, means.judging.client_of),
        answering("/api/tree", demo.tree),
    ]  # of loopback, and pretended
    pages = serve("127.0.0.1", port, [local(route) for route in routes])
    try:
        url = await pages.__aenter__()
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        raise DemoFailed(f"--port: {port} is in use by another program; give another one, or 0 for any that is free") from None
    try:
        yield url
    finally:
        await pages.__aexit__(None, None, None)


@asynccontextmanager
async def _tasks(*coroutines: Any) -> AsyncIterator[None]:
    tasks = [asyncio.ensure_future(coroutine) for coroutine in coroutines]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def words(summary: Mapping[str, Any]) -> str:
    """The summary for people."""
    pods = summary["pods"]
    lines = [f"{pods['created']} pods created, {pods['bound']} bound, {pods['finished']} finished, {pods['waiting']} waiting"]
    lines.extend(
        f"  {path:<20} uses cpu {queue['used'].get('cpu', '0'):>7}  of its fair share {queue['fair_share'].get('cpu', '0'):>7}"
        f"  and waits for {queue['pending'].get('cpu', '0'):>7}"
        for path, queue in summary["queues"].items()
    )
    return "\n".join(lines)
