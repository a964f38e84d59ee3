"""A client without sockets, for tests in virtual time: answers are scripted, or come straight from the embedded server's objects."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec

from treadle.fakeapi import ApiError, FakeApi
from treadle.kube.errors import Unreachable
from treadle.kube.transport import Response

Answer = Response | Exception


class Request(NamedTuple):
    method: str
    path: str
    body: Any
    pool: str
    at: float


def ok(status: int = 200, body: Any = None) -> Response:
    return Response(status, msgspec.json.encode(body or {}))


def refused(status: int, message: str = "no", retry_after: float | None = None) -> Response:
    return Response(status, msgspec.json.encode({"reason": "Why", "message": message}), retry_after)


class StubClient:
    """Answers by a function of the request, after ``latency`` seconds of the loop's time."""

    def __init__(self, answer: Callable[[Request], Answer], latency: float = 0.0) -> None:
        self.answer, self.latency = answer, latency
        self.requests: list[Request] = []
        self.open = self.most_open = 0

    async def request(self, method: str, path: str, body: Any = None, *, pool: str = "read", **_: Any) -> Response:
        data = msgspec.json.decode(body) if isinstance(body, bytes) else body
        request = Request(method, path, data, pool, asyncio.get_running_loop().time())
        self.requests.append(request)
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        try:
            await asyncio.sleep(self.latency)
            answer = self.answer(request)
        finally:
            self.open -= 1
        if isinstance(answer, Exception):
            raise answer
        return answer


def in_process(api: FakeApi) -> Callable[[Request], Answer]:
    """Answers of an embedded API server that has no socket: leases only."""

    def answer(request: Request) -> Answer:
        *_, namespace, kind, name = [*request.path.split("/"), ""] if request.path.endswith("leases") else request.path.split("/")
        try:
            match request.method:
                case "GET":
                    return ok(200, api.get(f"{kind}.coordination.k8s.io", name, namespace))
                case "POST":
                    return ok(201, api.create(f"{kind}.coordination.k8s.io", request.body, namespace))
                case _:
                    return ok(200, api.update(f"{kind}.coordination.k8s.io", request.body))
        except ApiError as error:
            return refused(error.code, error.message)

    return answer


def unreachable(_: Mapping[str, Any] | Request | None = None) -> Unreachable:
    return Unreachable("no answer")
