"""A client for tests of API behaviour: one namespace of a server, the embedded one or a real one, and its watches."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator

import aiohttp

JSON, MERGE, STRATEGIC = (f"application/{kind}-patch+json" for kind in ("json", "merge", "strategic-merge"))


class Watch:
    """The events of one watch, one after the other, each within a deadline."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.response = response

    async def next(self) -> dict:
        async with asyncio.timeout(30):
            line = await self.response.content.readline()
        assert line, "the watch ended"
        return json.loads(line)

    async def take(self, count: int) -> list[tuple[str, str]]:
        events = [await self.next() for _ in range(count)]
        return [(event["type"], event["object"]["metadata"]["name"]) for event in events]

    async def ended(self) -> bool:
        async with asyncio.timeout(30):
            return await self.response.content.readline() == b""


class Server:
    """A server under test and a namespace of its own in it."""

    def __init__(self, session: aiohttp.ClientSession, url: str, namespace: str) -> None:
        self.session, self.url, self.namespace = session, url, namespace
        self.pods = f"/api/v1/namespaces/{namespace}/pods"

    async def call(
        self, method: str, path: str, body: object = None, kind: str = "application/json", **params: str
    ) -> tuple[int, dict]:
        data = None if body is None else json.dumps(body)
        async with self.session.request(
            method, self.url + path, data=data, params=params, headers={"Content-Type": kind}
        ) as answer:
            return answer.status, await answer.json() if answer.content_type == "application/json" else {}

    async def ok(self, method: str, path: str, body: object = None, kind: str = "application/json", **params: str) -> dict:
        status, answer = await self.call(method, path, body, kind, **params)
        assert status < 300, answer
        return answer

    async def pod(self, name: str, *, labels: dict | None = None, annotations: dict | None = None, **spec: object) -> dict:
        body = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "labels": labels or {}, "annotations": annotations or {}},
            "spec": {"containers": [{"name": "main", "image": "none"}], **spec},
        }
        return await self.ok("POST", self.pods, body)

    async def bind(self, name: str, node: str = "somewhere", **metadata: object) -> tuple[int, dict]:
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name, **metadata}, "target": target}
        return await self.call("POST", f"{self.pods}/{name}/binding", body)

    async def get(self, name: str) -> dict:
        return await self.ok("GET", f"{self.pods}/{name}")

    async def set_status(self, path: str, status: dict) -> dict:
        return await self.ok("PATCH", f"{path}/status", {"status": status}, MERGE)

    async def version(self) -> str:
        return (await self.ok("GET", self.pods))["metadata"]["resourceVersion"]

    @contextlib.asynccontextmanager
    async def watch(self, path: str = "", **params: str) -> AsyncIterator[Watch]:
        params = {"watch": "1", "timeoutSeconds": "60"} | params
        async with self.session.get(self.url + (path or self.pods), params=params) as response:
            assert response.status == 200, await response.text()
            yield Watch(response)
            if response.connection is not None and response.connection.transport is not None:
                response.connection.transport.abort()  # a farewell over TLS would outlive the loop of the test


async def evict(server: Server, name: str, **options: object) -> tuple[int, dict]:
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}, "deleteOptions": options}
    return await server.call("POST", f"{server.pods}/{name}/eviction", body)


async def running(server: Server, name: str, labels: dict) -> None:
    await server.pod(name, labels=labels)
    await server.bind(name)
    await server.set_status(f"{server.pods}/{name}", {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]})


async def budget(server: Server, allowed: int, observed: int = 1) -> str:
    path = f"/apis/policy/v1/namespaces/{server.namespace}/poddisruptionbudgets"
    await server.ok(
        "POST", path, {"metadata": {"name": "pdb"}, "spec": {"minAvailable": 2, "selector": {"matchLabels": {"app": "x"}}}}
    )
    numbers = {"disruptionsAllowed": allowed, "currentHealthy": 2 + allowed, "desiredHealthy": 2, "expectedPods": 2 + allowed}
    await server.set_status(f"{path}/pdb", {**numbers, "observedGeneration": observed})
    return f"{path}/pdb"
