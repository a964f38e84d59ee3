"""An embedded API server that knows tokens and rights, the REST in front of it, and a client of that; decisions are made where the REST waits for them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import msgspec
from aiohttp import web

from treadle.controllers.ledger import Ledger
from treadle.fakeapi import FakeApi
from treadle.kube.auth import Access
from treadle.kube.reviews import KEPT, Reviews
from treadle.kube.transport import Client
from treadle.rest.asking import Asker
from treadle.rest.objects import Objects
from treadle.rest.reservations import BASE, routes
from treadle.rest.serving import Door
from treadle.web.server import serve

Json = dict[str, Any]
MIB = 1 << 20
NOW = 1_900_000_000
"""The time of the REST, in seconds since the epoch."""
SECOND, HOUR = 1000, 3_600_000
ROBOT = "system:serviceaccount:etl:robot"


class ReviewingApi(FakeApi):
    """Answers reviews: who a token is from is in ``tokens``, (user, verb, namespace) that are allowed in ``rights``, without a namespace for objects of the cluster."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.tokens: dict[str, Json] = {
            "robot": {"username": ROBOT, "groups": ["system:serviceaccounts", "CN=a,OU=b"], "uid": "7", "extra": {"k": ["v"]}},
            "alice": {"username": "alice", "groups": ["data"]},
        }
        self.rights = {(user, verb, "etl") for user in (ROBOT, "alice") for verb in ("create", "update", "delete", "list")}
        self.named_rights: set[tuple[str, str, str]] = set()
        """(user, verb, name) of what is of no namespace."""
        self.core_rights: set[tuple[str, str, str, str]] = set()
        """(user, verb, resource, namespace) of what is Kubernetes' own."""
        self.reviews: list[Json] = []
        self.audiences: list[str] = []

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if not request.path.endswith("reviews"):
            return await super()._handle(request)
        body = msgspec.json.decode(await request.read())
        self.reviews.append(body)
        spec = body["spec"]
        if body["kind"] == "TokenReview":
            user = self.tokens.get(spec["token"])
            status: Json = {"authenticated": True, "user": user, "audiences": self.audiences} if user else {"error": "unknown"}
        else:
            asked = spec["resourceAttributes"]
            user, verb, namespace, name = spec["user"], asked["verb"], asked.get("namespace", ""), asked.get("name", "")
            if asked.get("group", "") == "":
                allowed = (user, verb, asked["resource"], namespace) in self.core_rights
            else:
                assert asked["group"] == "treadle.dev"
                allowed = (user, verb, namespace) in self.rights or (user, verb, name) in self.named_rights
            status = {"allowed": allowed, "reason": "by a test"}
        return web.json_response({**body, "status": status}, status=201)


def queue(path: str = "root.plan", version: int = 1, memory: str = "10Gi", cpu: str = "10", **status: Any) -> Json:
    """A queue that takes reservations, and its status."""
    share = {"steadyFairShare": {"memory": memory, "cpu": cpu, "pods": "100"}, "observedGeneration": 1}
    metadata = {"name": path, "uid": path, "generation": 1, "resourceVersion": str(version)}
    body = {"apiVersion": "treadle.dev/v1alpha1", "kind": "Queue", "metadata": metadata}
    return {**body, "spec": {"reservations": {}}, "status": {**share, **status}}


@asynccontextmanager
async def reviewing() -> AsyncIterator[ReviewingApi]:
    """Such an API server that runs, with the namespace of the users that it knows."""
    server = ReviewingApi(bookmark_seconds=0.05)
    await server.start()
    server.create("namespaces", {"metadata": {"name": "etl"}})
    try:
        yield server
    finally:
        await server.stop()


class Rest:
    """The REST that is served, and what it wrote. ``decide`` writes a status whenever the REST waits."""

    def __init__(self, api: ReviewingApi) -> None:
        self.api, self.url, self.token = api, "", "robot"
        self.unready = ""
        self.door: Door
        self.ledger = Ledger("treadle", lambda _: None)
        self.ledger.seen("Queue", queue())
        self.decide: Callable[[Rest], None] = Rest.accept
        self.clock = 0.0

    def forget(self) -> None:
        """Let the time go by for which answers of the API server are kept."""
        self.clock += KEPT

    async def turn(self, seconds: float) -> None:
        """Let the scheduler have its turn."""
        self.clock += seconds
        self.decide(self)

    def stored(self) -> list[Json]:
        """The reservations of all namespaces."""
        return self.api.list("reservations")

    def accept(self) -> None:
        """Promise all that is undecided what it asks for, from its arrival on."""
        for one in self.stored():
            spec, generation = one["spec"], one["metadata"]["generation"]
            promise = {
                "generation": generation,
                "time": "2030-03-17T17:00:00Z",
                "queue": spec["queue"],
                "user": one["metadata"]["annotations"]["treadle.dev/user"],
                "arrival": spec["arrival"],
                "deadline": spec["deadline"],
                **({"period": spec["recurrence"]} if "recurrence" in spec else {}),
            }
            step = {"start": spec["arrival"], "end": spec["deadline"], "demand": spec["expression"]["requests"][0]["demand"]}
            self._say(
                one, "True", "Promised", "", phase="Accepted", plannedGeneration=generation, accepted=promise, allocations=[step]
            )

    def refuse(self) -> None:
        """Refuse all that is undecided; what was promised before stands."""
        for one in self.stored():
            status = {key: value for key, value in (one.get("status") or {}).items() if key != "conditions"}
            if status.get("plannedGeneration") != one["metadata"]["generation"]:
                self._say(
                    one,
                    "False",
                    "NoRoom",
                    "there is none",
                    **{**status, "phase": "Rejected", "plannedGeneration": one["metadata"]["generation"]},
                )

    def _say(self, one: Json, ready: str, reason: str, message: str, **status: Any) -> None:
        condition = {
            "type": "Ready",
            "status": ready,
            "reason": reason,
            "message": message,
            "lastTransitionTime": "2030-03-17T17:00:00Z",
            "observedGeneration": one["metadata"]["generation"],
        }
        self.api.update("reservations", {**one, "status": {**status, "conditions": [condition]}}, "status")

    async def ask(self, method: str, path: str, body: Any = None, **options: Any) -> tuple[int, Any, Any]:
        """Send a request with the token; return the status, the JSON and the headers."""
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        headers |= options.pop("headers", {})
        data = body if isinstance(body, bytes | None) else msgspec.json.encode(body)
        if data is not None:
            headers.setdefault("Content-Type", "application/json")
        async with (
            aiohttp.ClientSession() as session,
            session.request(method, f"{self.url}{BASE}{path}", data=data, headers=headers) as answer,
        ):
            text = await answer.read()
            return answer.status, msgspec.json.decode(text) if text else None, answer.headers

    async def refusal(self, method: str, path: str, body: Any = None, **options: Any) -> tuple[int, str]:
        """Send a request that is refused; return the status and the message."""
        status, said, _ = await self.ask(method, path, body, **options)
        assert set(said) == {"RemoteException"}, said
        told = said["RemoteException"]
        assert told["exception"] == told["javaClassName"].rpartition(".")[2]
        return status, told["message"]


@asynccontextmanager
async def resting(audience: str = "") -> AsyncIterator[Rest]:
    """The REST, served in front of an embedded API server."""
    api = ReviewingApi()
    rest = Rest(api)
    await api.start()
    try:
        api.create("namespaces", {"metadata": {"name": "etl"}})
        async with Client(Access(api.url)) as client:
            door = rest.door = Door(Asker(Reviews(client, lambda: rest.clock), audience), lambda: rest.unready)
            objects = Objects(client, rest.turn, lambda: rest.clock)
            async with serve("127.0.0.1", 0, routes(door, objects, rest.ledger.entries, lambda: float(NOW))) as rest.url:
                yield rest
    finally:
        await api.stop()


def definition(**changes: Any) -> Json:
    """Four containers of a GiB and a core for an hour, within the four hours that begin in an hour."""
    request = {"capability": {"memory": 1024, "vCores": 1}, "num-containers": 4, "min-concurrency": 2, "duration": HOUR}
    return {
        "arrival": NOW * SECOND + HOUR,
        "deadline": NOW * SECOND + 5 * HOUR,
        "reservation-name": "nightly report",
        "priority": 3,
        "recurrence-expression": "86400000",
        "reservation-requests": {"reservation-request-interpreter": 1, "reservation-request": [request]},
        **changes,
    }


ID, NAME = "reservation_1900000000000_0007", "reservation-1900000000000-0007"


def submission(**changes: Any) -> Json:
    """A definition for the queue root.plan."""
    return {"queue": "root.plan", "reservation-id": ID, "reservation-definition": definition(), **changes}
