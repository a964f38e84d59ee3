"""HTTP to the API server: pools, answers that are errors, no answer at all, and credentials that have expired."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from kube.access import answering, connected, refuse, served, until
from kube.manifests import pod
from treadle.fakeapi import FakeApi
from treadle.kube.auth import Access
from treadle.kube.errors import ApiError, CredentialsError, Unreachable
from treadle.kube.transport import MERGE, POOLS, STRATEGIC, Client, Response

PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture
async def api() -> AsyncIterator[FakeApi]:
    async with served() as server:
        yield server


async def test_an_answer_has_its_status_and_its_body(api: FakeApi) -> None:
    async with connected(api) as client:
        made = await client.request("POST", PODS, pod("a"))
        got = await client.request("GET", f"{PODS}/a")

    assert (made.status, got.status) == (201, 200)
    assert got.json() == made.json() == api.get("pods", "a")


async def test_a_patch_goes_with_its_content_type(api: FakeApi) -> None:
    api.create("pods", pod("a"))
    body = {"status": {"conditions": [{"type": "PodScheduled", "status": "False"}]}}
    async with connected(api) as client:
        for _ in range(2):
            answer = await client.request("PATCH", f"{PODS}/a/status", body, content_type=STRATEGIC)

    assert answer.status == 200
    assert [one["type"] for one in api.get("pods", "a")["status"]["conditions"]] == ["PodScheduled"]


async def test_a_refusal_is_an_answer_and_carries_the_servers_words(api: FakeApi) -> None:
    async with connected(api) as client:
        answer = await client.request("GET", f"{PODS}/nobody")
    error = answer.error()

    assert (error.status, error.reason, error.message) == (404, "NotFound", 'pods "nobody" not found')
    assert str(error) == '404 NotFound: pods "nobody" not found'


@pytest.mark.parametrize("body", [b"<html>bad gateway</html>", b"", b"[]", b'"text"'])
def test_a_refusal_by_something_else_than_an_api_server_is_shown_as_it_is(body: bytes) -> None:
    assert Response(502, body).error().message == body.decode()


def test_an_answer_that_is_no_json_is_an_error_with_its_beginning() -> None:
    with pytest.raises(ApiError, match="is not JSON: '<html>"):
        Response(200, b"<html>log in here</html>").json()


@pytest.mark.parametrize(("text", "expected"), [("7", 7.0), ("Wed, 21 Oct 2026 07:28:00 GMT", None)])
async def test_a_retry_after_in_seconds_is_understood(text: str, expected: float | None, api: FakeApi) -> None:
    api.before = refuse(lambda *_: True, 429, retry_after=text)  # type: ignore[arg-type]
    async with connected(api) as client:
        assert (await client.request("GET", PODS)).retry_after == expected


async def test_a_server_that_is_not_there_is_unreachable(api: FakeApi) -> None:
    await api.stop()
    async with connected(api) as client:
        with pytest.raises(Unreachable, match=f"GET {PODS}: "):
            await client.request("GET", PODS)
        assert client.requests == {("read", "GET", 0): 1}


async def test_a_server_that_does_not_answer_in_time_is_unreachable(api: FakeApi) -> None:
    async def hang(_method: str, _path: str) -> None:
        await asyncio.Event().wait()

    api.before = hang
    async with connected(api, timeout=0.05) as client:
        with pytest.raises(Unreachable, match="TimeoutError"):
            await client.request("GET", PODS)


async def test_a_connection_that_is_cut_is_unreachable() -> None:
    async def cut(request: web.BaseRequest) -> web.Response:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    async with answering(cut) as url, Client(Access(url)) as client:
        with pytest.raises(Unreachable):
            await client.request("POST", PODS, {})


async def test_requests_are_counted_by_pool_method_and_status(api: FakeApi) -> None:
    api.create("pods", pod("a"))
    async with connected(api) as client:
        for _ in range(3):
            await client.request("GET", PODS)
        await client.request("PATCH", f"{PODS}/nobody/status", {}, pool="status")
        assert client.requests == {("read", "GET", 200): 3, ("status", "PATCH", 404): 1}


async def test_a_full_pool_holds_up_no_other(api: FakeApi) -> None:
    gate, stuck = asyncio.Event(), []

    async def hold(method: str, _path: str) -> None:
        if method == "PATCH":
            stuck.append(1)
            await gate.wait()

    api.create("pods", pod("a"))
    api.before = hold
    async with connected(api) as client:
        patches = [
            asyncio.create_task(client.request("PATCH", f"{PODS}/a/status", {}, pool="status", content_type=MERGE))
            for _ in range(POOLS["status"] + 9)
        ]
        await until(lambda: len(stuck) == POOLS["status"])
        for pool in ("read", "bind", "watch"):
            assert (await client.request("GET", f"{PODS}/a", pool=pool)).status == 200
        assert len(stuck) == POOLS["status"]
        gate.set()
        assert {answer.status for answer in await asyncio.gather(*patches)} == {200}


# -- credentials


class Guarded(FakeApi):
    """Lets in who knows the present token."""

    token = "new"

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.headers.get("Authorization") != f"Bearer {self.token}":
            return web.json_response(
                {"kind": "Status", "reason": "Unauthorized", "message": "Unauthorized", "code": 401}, status=401
            )
        return await super()._handle(request)


class Wallet:
    """Credentials that start out expired."""

    def __init__(self, fresh: str = "new") -> None:
        self.token, self.fresh, self.renewals = "old", fresh, 0
        self.threads: set[str] = set()

    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    def renew(self) -> None:
        self.renewals += 1
        self.threads.add(threading.current_thread().name)
        if not self.fresh:
            raise CredentialsError("the plugin is on fire")
        self.token = self.fresh


@pytest.fixture
async def guarded() -> AsyncIterator[Guarded]:
    server = Guarded()
    await server.start()
    yield server
    await server.stop()


def client_of(api: FakeApi, wallet: Wallet) -> Client:
    return Client(Access(api.url, headers=wallet.headers, renew=wallet.renew))


async def test_expired_credentials_are_renewed_once_and_the_request_is_sent_again(guarded: Guarded) -> None:
    wallet = Wallet()
    async with client_of(guarded, wallet) as client:
        assert (await client.request("GET", PODS)).status == 200
        assert (await client.request("GET", PODS)).status == 200

    assert wallet.renewals == 1
    assert "MainThread" not in wallet.threads


async def test_many_refused_at_once_share_one_renewal(guarded: Guarded) -> None:
    wallet = Wallet()
    async with client_of(guarded, wallet) as client:
        answers = await asyncio.gather(*(client.request("POST", PODS, pod(f"p{number}"), pool="bind") for number in range(40)))

    assert {answer.status for answer in answers} == {201}
    assert wallet.renewals == 1


async def test_credentials_that_are_refused_when_fresh_are_not_fetched_for_ever(guarded: Guarded) -> None:
    wallet = Wallet(fresh="wrong as well")
    async with client_of(guarded, wallet) as client:
        assert (await client.request("GET", PODS)).status == 401

    assert wallet.renewals == 1


async def test_credentials_that_cannot_be_renewed_leave_the_refusal_and_say_why(
    guarded: Guarded, caplog: pytest.LogCaptureFixture
) -> None:
    wallet = Wallet(fresh="")
    async with client_of(guarded, wallet) as client:
        assert (await client.request("GET", PODS)).status == 401
        wallet.fresh = "new"
        assert (await client.request("GET", PODS)).status == 200

    assert "the plugin is on fire" in caplog.text


async def test_credentials_that_expire_again_are_renewed_again(guarded: Guarded) -> None:
    wallet = Wallet()
    async with client_of(guarded, wallet) as client:
        await client.request("GET", PODS)
        guarded.token = wallet.fresh = "newer"
        assert (await client.request("GET", PODS)).status == 200

    assert wallet.renewals == 2
