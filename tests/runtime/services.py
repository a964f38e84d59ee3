"""A whole Treadle in this process, on an embedded API server, and the questions that tests ask of both."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from kube.access import until
from kube.manifests import Json, node, pod
from treadle.api.objects import PLURALS
from treadle.core.model import Settings
from treadle.fakeapi import FakeApi
from treadle.kube.auth import Access
from treadle.runtime.service import Options, Service, running

PROBES = {"/healthz", "/livez", "/readyz"}
QUICK = Settings(report_after=0.02, report_again=0.05, refresh_after=0.05, retry_first=0.02, retry_most=0.1, update_interval=0.02)
"""The times of the core, short enough for a test on the real clock."""


def options(**changes: Any) -> Options:
    """Options of a test; where a port is listened on, probes have one too, and metrics are told to anybody."""
    ports = {"probes": "127.0.0.1:0", "anonymous_metrics": True} if changes.get("listen") else {}
    return Options(
        **{"listen": "", "status_every": 0.02, "settings": QUICK, "validate": True, "controllers": False, **ports, **changes}
    )


@asynccontextmanager
async def treadle(api: FakeApi, **changes: Any) -> AsyncIterator[Service]:
    """A running service without kopf, unless ``controllers=True``; it is synced when the block begins."""
    async with running(Access(api.url), options(**changes)) as service:
        await until(lambda: service.synced, "synced")
        yield service


async def controllers_watch(api: FakeApi) -> None:
    """Wait until kopf has its watches open; it takes seconds to end one that has only begun."""
    await until(
        lambda: all(api.store.collections[f"{plural}.treadle.dev"].wakers for plural in PLURALS.values()), "kopf's watches"
    )


def add_nodes(api: FakeApi, count: int = 1, **size: str) -> None:
    for number in range(count):
        api.create("nodes", node(f"n{number}", **size))


def add_pods(api: FakeApi, *names: str, queue: str = "", application: str = "app", **fields: Any) -> None:
    labels = {"treadle.dev/application": application, **({"treadle.dev/queue": queue} if queue else {})}
    for name in names:
        api.create("pods", pod(name, metadata={"labels": labels}, **fields))


def add_queue(api: FakeApi, name: str, **spec: Any) -> None:
    api.create("queues", {"metadata": {"name": name}, "spec": spec})


def node_of(api: FakeApi, name: str) -> str:
    return api.get("pods", name)["spec"].get("nodeName", "")


async def bound(api: FakeApi, *names: str) -> None:
    await until(lambda: all(node_of(api, name) for name in names), f"{names} bound")


def condition(obj: Json, kind: str) -> Json:
    return next((one for one in obj.get("status", {}).get("conditions") or () if one["type"] == kind), {})


async def waits(api: FakeApi, name: str, reason: str) -> str:
    """Wait for a pod's condition with this reason and return its message."""
    await until(lambda: condition(api.get("pods", name), "PodScheduled").get("reason") == reason, f"{name} {reason}")
    found = condition(api.get("pods", name), "PodScheduled")
    assert found["status"] == "False"
    return str(found["message"])


async def get(service: Service, path: str) -> tuple[int, str]:
    door = service.doors.probes_url if path in PROBES else service.doors.url
    async with aiohttp.ClientSession() as session, session.get(door + path) as answer:
        return answer.status, await answer.text()


async def get_json(service: Service, path: str) -> tuple[int, Json]:
    status, text = await get(service, path)
    return status, json.loads(text)
