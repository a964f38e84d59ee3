"""Two whole copies of Treadle, of which the one that stands by passes on what the other one answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from multidict import CIMultiDict

from kube.access import until
from rest.reviewing import ReviewingApi, reviewing
from runtime.services import add_queue, options, treadle
from treadle.kube.auth import Access
from treadle.rest.forwarding import MARK
from treadle.runtime.forwarding import served_at
from treadle.runtime.service import Service, running

ELECTED = {"leader_elect": True, "listen": "127.0.0.1:0", "rest": True, "page": True, "advertise": "127.0.0.1"}


@pytest.fixture
async def api() -> AsyncIterator[ReviewingApi]:
    async with reviewing() as server:
        server.rights.add(("alice", "view", ""))
        add_queue(server, "root.etl")
        yield server


@asynccontextmanager
async def pair(api: ReviewingApi, **more: Any) -> AsyncIterator[tuple[Service, Service]]:
    """The one that leads and the one that stands by; ``more`` are options of the first."""
    async with treadle(api, identity="one", **{**ELECTED, **more}) as one:
        await until(lambda: one.lease is not None and one.lease.held)
        async with running(Access(api.url), options(identity="two", **ELECTED)) as two:
            await until(lambda: two.synced and two.lease is not None and two.lease.holder == "one")
            await until(lambda: "root.etl" in one.core.view.paths())
            yield one, two


async def ask(
    service: Service, path: str, token: str = "alice", method: str = "GET", **headers: str
) -> tuple[int, Any, CIMultiDict[str]]:
    sent = {"Authorization": f"Bearer {token}", **headers}
    async with aiohttp.ClientSession(headers=sent) as session, session.request(method, service.doors.url + path) as answer:
        return answer.status, await answer.json(content_type=None) if answer.status != 304 else None, answer.headers.copy()


async def test_a_copy_that_stands_by_gives_the_leaders_answers_and_says_so(api: ReviewingApi) -> None:
    async with pair(api) as (one, two):
        status, said, headers = await ask(two, "/api/v1/queues")
        assert (status, headers["Via"]) == (200, "1.1 two")
        assert [queue["name"] for queue in said["queues"]] == ["root", "root.etl"]
        own = await ask(one, "/api/v1/queues")
        assert (own[0], own[1], own[2]["ETag"], "Via" in own[2]) == (200, said, headers["ETag"], False)
        assert (await ask(two, "/api/v1/queues", **{"If-None-Match": headers["ETag"]}))[0] == 304
        status, said, headers = await ask(two, "/api/v1/queues", "nobody")
        assert (status, said["status"], headers["WWW-Authenticate"]) == (401, 401, "Bearer")
        status, said, _ = await ask(two, "/ws/v1/cluster/scheduler")
        assert (status, list(said)) == (200, ["scheduler"])


async def test_what_a_copy_says_of_itself_is_its_own(api: ReviewingApi) -> None:
    async with pair(api) as (one, two):
        for service, state in ((one, "ACTIVE"), (two, "STANDBY")):
            _, said, headers = await ask(service, "/ws/v1/cluster/info")
            assert (said["clusterInfo"]["haState"], "Via" in headers) == (state, False)
        _, said, _ = await ask(two, "/status")
        assert (said["leader"], "forwarding" in said) == ("standby, one leads", False)


async def test_one_that_was_passed_on_already_is_told_who_leads(api: ReviewingApi) -> None:
    async with pair(api) as (_, two):
        status, said, headers = await ask(two, "/api/v1/queues", **{MARK: "three"})
        assert (status, headers["Retry-After"], "Via" in headers) == (503, "1", False)
        assert said["detail"] == "this copy stands by and decides nothing; one leads: ask again, or that one"


async def test_a_leader_that_does_not_say_where_it_serves_is_named(api: ReviewingApi) -> None:
    async with pair(api, advertise="") as (_, two):
        status, said, _ = await ask(two, "/api/v1/queues")
        assert (status, "one leads" in said["detail"]) == (503, True)


async def test_a_leader_that_cannot_be_reached_is_named_and_the_state_says_why(api: ReviewingApi) -> None:
    async with pair(api) as (one, two):
        await one.doors.close()
        status, said, _ = await ask(two, "/api/v1/queues")
        assert (status, "one leads" in said["detail"]) == (503, True)
        _, said, _ = await ask(two, "/status")
        assert said["forwarding"].startswith("the copy that leads, at 127.0.0.1:")


async def test_the_users_of_all_copies_have_one_limit(api: ReviewingApi) -> None:
    async with pair(api) as (one, two):
        gate = one.doors.gates["service"]
        gate._users._rate = 0.001
        while not gate.user_asks("alice"):
            pass
        status, said, headers = await ask(two, "/api/v1/queues")
        assert (status, said["detail"]) == (429, "User alice sends too many requests")
        assert int(headers["Retry-After"]) > 0


@pytest.mark.parametrize(
    ("address", "url", "found"),
    [
        ("10.0.0.3", "https://127.0.0.1:8080", "10.0.0.3:8080"),
        ("fd00::3", "https://[::1]:8080", "[fd00::3]:8080"),
        ("", "https://127.0.0.1:8080", ""),
        ("10.0.0.3", "", ""),
    ],
)
def test_an_address_is_told_with_the_port_that_is_listened_on(address: str, url: str, found: str) -> None:
    assert served_at(address, url) == found
