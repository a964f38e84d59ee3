"""A binder on an embedded API server, for tests of what the server's answers mean."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from kube.access import connected, task_of
from kube.manifests import pod
from treadle.fakeapi import FakeApi
from treadle.kube.binder import Binder, Placement
from treadle.kube.transport import Client

NODE = "node-1"


class Binding:
    """A binder on an embedded API server and what it reported."""

    def __init__(self, api: FakeApi, client: Client) -> None:
        self.api = api
        self.outcomes: list[Any] = []
        self.binder = Binder(client, self.outcomes.append)

    def waiting_pod(self, name: str = "a", **fields: Any) -> Placement:
        meta = self.api.create("pods", pod(name, **fields))["metadata"]
        return Placement(meta["uid"], "default", name, NODE, "root.prod", "default/etl", meta["resourceVersion"])

    async def bind(self, *placements: Placement) -> list[Any]:
        for placement in placements:
            self.binder.submit(placement)
        assert await self.binder.drain(20)
        return self.outcomes


@asynccontextmanager
async def binding(api: FakeApi) -> AsyncIterator[Binding]:
    async with connected(api, timeout=5) as client:
        found = Binding(api, client)
        async with task_of(found.binder.run()):
            yield found
