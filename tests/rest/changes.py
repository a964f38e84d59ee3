"""The REST of changes of queues in front of an embedded API server, which refuses what a test says, and a client of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import msgspec
from aiohttp import web

from rest.reviewing import NOW, Json, ReviewingApi
from treadle.changes.documents import document_of
from treadle.changes.log import Log
from treadle.kube.auth import Access
from treadle.kube.reviews import Reviews
from treadle.kube.transport import Client
from treadle.rest import configuration, queue_changes
from treadle.rest.asking import Asker
from treadle.rest.changing import Changing
from treadle.rest.serving import Door
from treadle.web.server import serve

CONF, CHANGES = configuration.BASE, queue_changes.BASE
SHARES = {"root.dev": "60%", "root.prod": "40%"}


def scheduler(discipline: str = "Capacity", **capacity: Any) -> Json:
    spec = {"discipline": discipline, **({"capacity": capacity} if capacity else {})}
    return {"apiVersion": "treadle.dev/v1alpha1", "kind": "Scheduler", "metadata": {"name": "treadle"}, "spec": spec}


def queue(path: str, guaranteed: str = "", **spec: Any) -> Json:
    block = {"capacity": {"guaranteed": guaranteed}} if guaranteed else {}
    return {"apiVersion": "treadle.dev/v1alpha1", "kind": "Queue", "metadata": {"name": path}, "spec": {**block, **spec}}


class GuardedApi(ReviewingApi):
    """Keeps (method, kind's plural, the last of the path, whether it is a dry run) of writes, whose token each came with, and refuses what ``refusals`` says by (method, name, dry)."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[tuple[str, str, str, bool]] = []
        self.tokens_seen: set[str] = set()
        self.takes: Callable[[str], None] = lambda _: None
        """Called with the method of each request for our kinds that is no dry run."""
        self.refusals: dict[tuple[str, str, bool], tuple[int, str]] = {}

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        name, dry = request.path.rpartition("/")[2], "dryRun" in request.query
        if "/treadle.dev/" in request.path:
            self.tokens_seen.add(request.headers.get("Authorization", ""))
        if request.method != "GET" and "/treadle.dev/" in request.path:
            self.writes.append((request.method, request.path.split("/")[4], name, dry))
        if "/treadle.dev/" in request.path and not dry:
            self.takes(request.method)
        refused = self.refusals.get((request.method, name, dry))
        if refused is not None:
            status, message = refused
            return web.json_response({"kind": "Status", "reason": "Forbidden", "message": message}, status=status)
        return await super()._handle(request)


class Changes:
    """The REST, and what is in the API server."""

    def __init__(self, api: GuardedApi, log: Log, client: Client) -> None:
        self.api, self.log, self.client, self.url, self.token = api, log, client, "", "alice"
        self.now = float(NOW)

    def queues(self) -> dict[str, Json]:
        """What is written of each queue, without defaults."""
        return {one["metadata"]["name"]: document_of("Queue", one)["spec"] for one in self.api.list("queues")}

    async def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any, Any]:
        """Send a request; return the status, the JSON or the text, and the headers."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        sent |= {"Authorization": f"Bearer {self.token}"}
        data = body if isinstance(body, bytes | None) else msgspec.json.encode(body)
        if data is not None:
            sent.setdefault("Content-Type", "application/json")
        async with (
            aiohttp.ClientSession() as session,
            session.request(method, self.url + path, data=data, headers=sent) as answer,
        ):
            text = await answer.read()
            return (
                answer.status,
                msgspec.json.decode(text) if answer.content_type.endswith("json") else text.decode(),
                answer.headers,
            )

    async def refusal(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, str]:
        """Send a request that is refused, in YARN's shape or in ours by its path; return the status and the message."""
        status, said, answered = await self.ask(method, path, body, **headers)
        if not path.startswith("/api/"):
            return status, said["RemoteException"]["message"]
        assert answered["Content-Type"] == "application/problem+json"
        assert (said["status"], set(said)) == (status, {"title", "status", "detail", "instance"})
        return status, said["detail"]

    async def properties(self) -> dict[str, str]:
        status, said, _ = await self.ask("GET", CONF)
        assert status == 200, said
        return {one["name"].removeprefix("yarn.scheduler.capacity."): one["value"] for one in said["property"]}


@asynccontextmanager
async def changing() -> AsyncIterator[Changes]:
    """The REST, served in front of an API server with a Scheduler of the discipline Capacity and two queues."""
    api = GuardedApi()
    await api.start()
    try:
        api.create("namespaces", {"metadata": {"name": "treadle-system"}})
        api.create("schedulers", scheduler())
        for path, share in SHARES.items():
            api.create("queues", queue(path, share))
        async with Client(Access(api.url)) as client:
            rest = Changes(api, Log(client, "treadle-system", "changes", lambda: rest.now, lambda: rest.now), client)

            def client_of(token: str) -> Client:
                return Client(Access(api.url, headers=lambda: {"Authorization": f"Bearer {token}"}))

            made = Changing(client_of, rest.log, "treadle", lambda: rest.now)
            door = Door(Asker(Reviews(client)), lambda: "")
            routes = [*configuration.routes(door, made), *queue_changes.routes(door, made)]
            async with serve("127.0.0.1", 0, routes) as rest.url:
                yield rest
    finally:
        await api.stop()


def params(named: Mapping[str, str | None]) -> Json:
    """Properties as Hadoop's client writes them."""
    return {"entry": [{"key": name, "value": value} for name, value in named.items()]}


def update(path: str, **named: str | None) -> Json:
    """A queue with properties; two underscores stand for a hyphen."""
    return {"queue-name": path, "params": params({name.replace("__", "-"): value for name, value in named.items()})}
