"""kopf in a thread of its own: what it sees is handed on, and it ends when it is told to."""

from __future__ import annotations

import asyncio
import getpass
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from kube.access import refuse, served, until
from runtime.services import controllers_watch
from treadle.api.crds import crd
from treadle.api.objects import KINDS
from treadle.controllers import operator as module
from treadle.controllers.operator import Operator
from treadle.fakeapi import FakeApi
from treadle.kube.auth import Access
from treadle.kube.errors import CredentialsError

QUEUES, APPLICATIONS = "queues", "applications"


class Delivered:
    """What was delivered, by kopf's thread; lists are appended to by one thread and read by another."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str | None, dict[str, Any]]] = []

    def __call__(self, kind: str, change: str | None, body: Any) -> None:
        self.events.append((kind, change, dict(body)))

    def names(self, kind: str, *changes: str | None) -> list[str]:
        return [body["metadata"]["name"] for found, change, body in self.events if found == kind and change in changes]


@asynccontextmanager
async def operating(access: Access) -> AsyncIterator[tuple[Operator, Delivered]]:
    delivered = Delivered()
    operator = Operator(access, delivered)
    operator.start()
    try:
        yield operator, delivered
    finally:
        await asyncio.to_thread(operator.stop)
        assert not operator.alive


@pytest.fixture
async def api() -> AsyncIterator[FakeApi]:
    async with served() as server:
        yield server


async def test_what_is_there_and_what_changes_is_delivered(api: FakeApi) -> None:
    api.create(QUEUES, {"metadata": {"name": "root.a"}, "spec": {}})
    async with operating(Access(api.url)) as (_, delivered):
        await until(lambda: delivered.names("Queue", None, "ADDED") == ["root.a"])
        await controllers_watch(api)  # what is made before that may be delivered as listed
        api.create(APPLICATIONS, {"metadata": {"name": "nightly", "namespace": "default"}, "spec": {}})
        await until(lambda: delivered.names("Application", "ADDED") == ["nightly"])
        api.patch(QUEUES, "root.a", {"spec": {"state": "Stopped"}})
        await until(lambda: delivered.names("Queue", "MODIFIED") == ["root.a"])
        api.delete(QUEUES, "root.a")
        await until(lambda: delivered.names("Queue", "DELETED") == ["root.a"])


async def test_a_user_that_has_no_name_watches_as_well(api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    def nameless() -> str:
        raise KeyError("getpwuid(): uid not found: 65532")

    monkeypatch.setattr(getpass, "getuser", nameless)
    await test_what_is_there_and_what_changes_is_delivered(api)


async def test_nothing_is_written_to_an_object_that_was_only_seen(api: FakeApi) -> None:
    before = api.create(QUEUES, {"metadata": {"name": "root.a"}, "spec": {}})
    async with operating(Access(api.url)) as (_, delivered):
        await until(lambda: delivered.names("Queue", None, "ADDED"))
        api.create(QUEUES, {"metadata": {"name": "root.b"}, "spec": {}})
        await until(lambda: "root.b" in delivered.names("Queue", "ADDED"))

    assert api.get(QUEUES, "root.a") == before
    assert "finalizers" not in api.get(QUEUES, "root.b")["metadata"]


async def test_it_ends_when_told_even_before_it_has_seen_the_server() -> None:
    api = FakeApi()
    url = await api.start()
    await api.stop()
    async with operating(Access(url)) as (operator, _):
        assert operator.alive


async def test_stopping_one_that_was_never_started_is_nothing(api: FakeApi) -> None:
    Operator(Access(api.url), Delivered()).stop()


class Guarded(FakeApi):
    token = "new"

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.headers.get("Authorization") != f"Bearer {self.token}":
            return web.json_response(
                {"kind": "Status", "code": 401, "reason": "Unauthorized", "message": "Unauthorized"}, status=401
            )
        return await super()._handle(request)


async def test_refused_credentials_are_renewed_until_they_are_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RELOGIN_PAUSE", 0.01)
    tokens = iter(["wrong as well", "", "new"])
    held = ["old"]

    def renew() -> None:
        token = next(tokens, "new")
        if not token:
            raise CredentialsError("the plugin is on fire")
        held[0] = token

    api = Guarded()
    await api.start()
    api.create(QUEUES, {"metadata": {"name": "root.a"}, "spec": {}})
    access = Access(api.url, headers=lambda: {"Authorization": f"Bearer {held[0]}"}, renew=renew)
    async with operating(access) as (operator, delivered):
        await until(lambda: delivered.names("Queue", None, "ADDED"))
        assert operator.alive
    await api.stop()


# -- watches that end


def a_queue(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {}}


async def test_a_watch_that_is_told_that_its_kind_is_unknown_is_begun_again(api: FakeApi) -> None:
    threads = set(threading.enumerate())
    async with operating(Access(api.url)) as (operator, delivered):
        await until(lambda: not operator.problem())
        api.before = refuse(lambda _, path: path.endswith("/queues"), 404, "NotFound", "no such kind")
        api.cut_watches()
        await until(operator.problem)
        api.before = None
        await until(lambda: not operator.problem())
        api.create(QUEUES, a_queue("root.a"))
        await until(lambda: "root.a" in delivered.names("Queue", None, "ADDED"))
        api.delete(QUEUES, "root.a")
        await until(lambda: delivered.names("Queue", "DELETED") == ["root.a"])
        assert [one.name for one in threading.enumerate()].count("controllers") == 1
    assert {one.name for one in set(threading.enumerate()) - threads} <= {"asyncio_0"}  # the pool of this test's own loop


async def test_why_a_watch_has_ended_is_said_until_it_is_back(api: FakeApi) -> None:
    async with operating(Access(api.url)) as (operator, _):
        await until(lambda: not operator.problem())
        api.before = refuse(lambda _, path: path.endswith("/queues"), 404, "NotFound", "no such kind")
        api.cut_watches()
        await until(lambda: "no such kind" in operator.problem())
        api.before = None
        await until(lambda: not operator.problem())


async def test_what_came_while_a_watch_had_ended_is_delivered_by_the_next(api: FakeApi) -> None:
    async with operating(Access(api.url)) as (operator, delivered):
        await until(lambda: not operator.problem())
        api.before = refuse(lambda _, path: path.endswith("/queues"), 404)
        api.cut_watches()
        await until(operator.problem)
        api.create(QUEUES, a_queue("root.a"))
        api.before = None
        await until(lambda: "root.a" in delivered.names("Queue", None, "ADDED"))


async def test_kinds_that_the_server_does_not_know_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ASK_EVERY", 0.05)
    all_of_them = [crd(kind) for kind in KINDS]
    async with served(crds=all_of_them[:2]) as api, operating(Access(api.url)) as (operator, delivered):
        await until(lambda: "are not installed" in operator.problem())
        for definition in all_of_them[2:]:
            api.create("customresourcedefinitions", definition)
        await until(lambda: not operator.problem())
        api.create(QUEUES, a_queue("root.a"))
        await until(lambda: delivered.names("Queue", None, "ADDED"))


async def test_it_ends_when_told_while_it_waits_for_its_kinds() -> None:
    async with served(crds=[]) as api, operating(Access(api.url)) as (operator, _):
        await until(lambda: "schedulers" in operator.problem())
        assert operator.alive


async def test_after_its_end_it_says_that_nothing_is_watched(api: FakeApi) -> None:
    async with operating(Access(api.url)) as (operator, _):
        await until(lambda: not operator.problem())
    assert operator.problem() == "the controllers are not running"
