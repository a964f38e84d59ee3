"""A copy that stands by passes requests on, once, with what they need and no more, and gives back what the leader answers as it comes."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from treadle.admission.certificates import Certificate, load
from treadle.rest import forwarding
from treadle.rest.forwarding import MARK, Forwarder, Trust, Untrusted
from treadle.runtime.tls import context, trusting
from treadle.web.gate import Gate, Limits
from treadle.web.server import serve
from web.certificates import made

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
PATH = "/api/v1/queues"
TOKEN = {"Authorization": "Bearer ann"}
OWN = {"title": "Service Unavailable", "status": 503, "detail": "this copy stands by"}


async def standing_by(_: web.Request) -> web.StreamResponse:
    return web.json_response(OWN, status=503)


class Pair:
    """A leader that answers with ``says``, and a copy in front of it that stands by."""

    def __init__(self) -> None:
        self.says: Handler = self.echo
        self.asked: list[CIMultiDict[str]] = []
        self.address = self.url = ""
        self.trust = Trust()
        self.looked_up: list[bool] = []
        self.gate = Gate(Limits())
        self.forwarder = Forwarder("two", lambda: self.address, self.trusted)

    async def trusted(self, again: bool) -> Trust:
        self.looked_up.append(again)
        return self.trust

    async def leader(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(CIMultiDict(request.headers))
        return await self.says(request)

    async def echo(self, request: web.Request) -> web.StreamResponse:
        return web.json_response({"method": request.method, "path": request.raw_path, "body": await request.text()})

    @asynccontextmanager
    async def served(self, certificate: Certificate | None = None, host: str = "127.0.0.1") -> AsyncIterator[Pair]:
        tls = None
        if certificate is not None:
            load(tls := context(), certificate)
        routes = [web.get(f"{PATH}{{rest:.*}}", self.leader, allow_head=False), web.post(PATH, self.leader)]
        own = [web.get(f"{PATH}{{rest:.*}}", standing_by, allow_head=False), web.post(PATH, standing_by)]
        async with (
            serve(host, 0, routes, tls, self.gate) as leader,
            serve("127.0.0.1", 0, [self.forwarder.passing(route) for route in own]) as self.url,
        ):
            self.address = leader.rpartition("//")[2]
            yield self
        await self.forwarder.close()

    @asynccontextmanager
    async def asking(self, method: str = "GET", path: str = PATH, **more: Any) -> AsyncIterator[aiohttp.ClientResponse]:
        more = {"headers": TOKEN, **more}
        async with (
            aiohttp.ClientSession(auto_decompress=False) as session,
            session.request(method, URL(self.url + path, encoded=True), **more) as answer,
        ):
            yield answer

    async def ask(self, method: str = "GET", path: str = PATH, **more: Any) -> tuple[int, Any]:
        async with self.asking(method, path, **more) as answer:
            return answer.status, await answer.json(content_type=None)


@pytest.fixture
async def pair() -> AsyncIterator[Pair]:
    async with Pair().served() as one:
        yield one


async def test_a_request_is_passed_on_as_it_came_and_its_answer_says_by_whom(pair: Pair) -> None:
    path = f"{PATH}/root%2Fetl%20x?queue=root.etl%26a&limit=5"
    async with pair.asking(path=path) as answer:
        assert (answer.status, await answer.json()) == (200, {"method": "GET", "path": path, "body": ""})
        assert answer.headers["Via"] == "1.1 two"
    assert (await pair.ask("POST", data=b"{}"))[1]["body"] == "{}"
    assert pair.forwarder.problem == ""


async def test_a_leader_is_reached_by_ipv6() -> None:
    async with Pair().served(host="::1") as pair:
        assert pair.address.startswith("[::1]:")
        status, said = await pair.ask(path=f"{PATH}/root?limit=5")
        assert (status, said["path"], pair.forwarder.problem) == (200, f"{PATH}/root?limit=5", "")


async def test_what_is_read_of_a_head_goes_along_and_nothing_else(pair: Pair) -> None:
    read = {
        "Accept": "application/json",
        "Accept-Encoding": "gzip",
        "If-Match": '"a"',
        "If-None-Match": '"b"',
        "Host": "treadle.example",
    }
    others = {"Cookie": "a=b", "X-Forwarded-For": "10.9.9.9", "X-Remote-User": "root", "Forwarded": "for=x"}
    await pair.ask(headers={**TOKEN, **read, **others})
    (sent,) = pair.asked
    assert {name: sent[name] for name in (*TOKEN, *read)} == {**TOKEN, **read}, "with the host by which the client came"
    assert {name.lower() for name in others}.isdisjoint(name.lower() for name in sent)
    assert sent[MARK] == "two"


async def test_versions_problems_and_refused_tokens_are_the_leaders(pair: Pair) -> None:
    async def versioned(request: web.Request) -> web.StreamResponse:
        if request.headers.get("Authorization") != "Bearer ann":
            return web.json_response(
                {"detail": "who?"}, status=401, headers={"WWW-Authenticate": "Bearer"}, content_type="application/problem+json"
            )
        if request.headers.get("If-None-Match") == '"v1"':
            return web.Response(status=304, headers={"ETag": '"v1"'})
        if request.method == "POST" and request.headers.get("If-Match") != '"v1"':
            return web.json_response({"detail": "changed"}, status=412)
        return web.json_response(
            {}, headers={"ETag": '"v1"', "Location": "/there"}, status=201 if request.method == "POST" else 200
        )

    pair.says = versioned
    async with pair.asking() as answer:
        assert (answer.status, answer.headers["ETag"]) == (200, '"v1"')
    async with pair.asking(headers={**TOKEN, "If-None-Match": '"v1"'}) as answer:
        assert (answer.status, await answer.read(), answer.headers["ETag"]) == (304, b"", '"v1"')
    assert (await pair.ask("POST", headers={**TOKEN, "If-Match": '"v0"'}, data=b"{}"))[0] == 412
    async with pair.asking("POST", headers={**TOKEN, "If-Match": '"v1"'}, data=b"{}") as answer:
        assert (answer.status, answer.headers["Location"]) == (201, "/there")
    async with pair.asking(headers={"Authorization": "Bearer nobody"}) as answer:
        assert (answer.status, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
        assert answer.content_type == "application/problem+json"


async def test_a_packed_answer_is_passed_back_packed_and_a_redirect_is_not_followed(pair: Pair) -> None:
    packed = gzip.compress(b"{}" * 500)

    async def odd(request: web.Request) -> web.StreamResponse:
        if request.path.endswith("away"):
            return web.Response(status=307, headers={"Location": "http://127.0.0.1:9/"})
        return web.Response(body=packed, headers={"Content-Encoding": "gzip"})

    pair.says = odd
    async with pair.asking() as answer:
        assert (answer.headers["Content-Encoding"], await answer.read()) == ("gzip", packed)
    async with pair.asking(path=f"{PATH}/away", allow_redirects=False) as answer:
        assert (answer.status, answer.headers["Location"]) == (307, "http://127.0.0.1:9/")


async def test_what_was_passed_on_is_not_passed_on_again(pair: Pair) -> None:
    assert await pair.ask(headers={**TOKEN, MARK: "three"}) == (503, OWN)
    pair.address = pair.url.rpartition("//")[2]
    async with pair.asking() as answer:
        assert (answer.status, answer.headers["Via"]) == (503, "1.1 two"), "it asked itself, once"
    assert pair.asked == []


async def test_without_a_token_or_a_leader_nothing_is_passed_on(pair: Pair) -> None:
    for headers in ({}, {"Authorization": "Basic YW5uOmE="}, {"Authorization": "Bearer "}):
        assert await pair.ask(headers=headers) == (503, OWN)
    pair.address = ""
    assert await pair.ask() == (503, OWN)
    assert pair.asked == []


async def test_a_leader_that_cannot_be_reached_is_said_and_the_copy_answers_itself(pair: Pair) -> None:
    reached, pair.address = pair.address, "127.0.0.1:9"
    assert await pair.ask("POST", data=b"{}") == (503, OWN)
    assert pair.forwarder.problem.startswith("the copy that leads, at 127.0.0.1:9, cannot be asked: ")
    pair.address = reached
    assert (await pair.ask())[0] == 200
    assert pair.forwarder.problem == ""


@pytest.mark.parametrize(("method", "words"), [("GET", "answer"), ("POST", "answer; it may have been done all the same")])
async def test_where_no_answer_comes_it_is_said_whether_anything_may_have_been_done(
    pair: Pair, monkeypatch: pytest.MonkeyPatch, method: str, words: str
) -> None:
    async def never(_: web.Request) -> web.StreamResponse:
        await asyncio.Event().wait()
        raise AssertionError

    pair.says = never
    monkeypatch.setattr(forwarding, "ANSWERING", 0.05)
    async with pair.asking(method) as answer:
        assert (answer.status, answer.headers["Retry-After"], answer.content_type) == (503, "1", "application/problem+json")
        assert (await answer.json(content_type=None))["detail"] == f"the copy that leads did not {words}"
    assert len(pair.asked) == 1


async def test_a_change_is_sent_once_whatever_becomes_of_its_connection(pair: Pair) -> None:
    async def cut(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    assert (await pair.ask("POST", data=b"{}"))[0] == 200
    pair.says = cut
    assert (await pair.ask("POST", data=b"{}"))[0] == 503
    assert len(pair.asked) == 2


class Streaming:
    """A stream that says what it is given; None ends it, and an exception breaks it off."""

    def __init__(self) -> None:
        self.pieces: asyncio.Queue[bytes | Exception | None] = asyncio.Queue()
        self.left = asyncio.Event()

    async def __call__(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        try:
            while (piece := await self.pieces.get()) is not None:
                if isinstance(piece, Exception):
                    assert request.transport is not None
                    request.transport.abort()
                    break
                await response.write(piece)
        except ConnectionResetError:
            self.left.set()
        return response


async def test_a_stream_is_passed_back_piece_by_piece_to_its_end(pair: Pair) -> None:
    pair.says = stream = Streaming()
    async with pair.asking() as answer:
        for piece in (b"event: full\n\n", b"event: change\n\n"):
            stream.pieces.put_nowait(piece)
            assert await answer.content.readany() == piece
        stream.pieces.put_nowait(None)
        assert await answer.content.readany() == b""


@pytest.mark.parametrize("how", ["the leader is killed", "another one leads", "it says nothing"])
async def test_a_stream_breaks_off_with_its_leader(pair: Pair, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    monkeypatch.setattr(forwarding, "LOOKS", 0.02)
    pair.says = stream = Streaming()
    async with pair.asking() as answer:
        stream.pieces.put_nowait(b"event: full\n\n")
        assert await answer.content.readany() == b"event: full\n\n"
        if how == "the leader is killed":
            stream.pieces.put_nowait(ConnectionResetError())
        elif how == "another one leads":
            pair.address = "127.0.0.1:9"
        else:
            monkeypatch.setattr(forwarding, "SILENT", 0.1)
        with pytest.raises((aiohttp.ClientPayloadError, ConnectionResetError)):
            async with asyncio.timeout(10):  # long before it would be broken off for its silence
                await answer.content.read()
    stream.pieces.put_nowait(None)


async def test_the_leader_is_left_when_whoever_asked_leaves(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forwarding, "LOOKS", 0.02)
    pair.says = stream = Streaming()
    async with pair.asking() as answer:
        stream.pieces.put_nowait(b"event: full\n\n")
        await answer.content.readany()
    for _ in range(200):
        stream.pieces.put_nowait(b"event: change\n\n")
        if stream.left.is_set():
            break
        await asyncio.sleep(0.02)
    assert stream.left.is_set()
    stream.pieces.put_nowait(None)


class Silent:
    """Does not answer until it may."""

    def __init__(self) -> None:
        self.asked, self.may = asyncio.Event(), asyncio.Event()

    async def __call__(self, _: web.Request) -> web.StreamResponse:
        self.asked.set()
        await self.may.wait()
        return web.json_response({"done": True})


async def test_no_answer_is_waited_for_of_one_that_leads_no_more_but_of_a_change(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forwarding, "LOOKS", 0.02)
    for method in ("GET", "POST"):
        address, pair.says = pair.address, (silent := Silent())
        asking = asyncio.ensure_future(pair.ask(method))
        await silent.asked.wait()
        pair.address = "127.0.0.1:9"
        if method == "POST":
            await asyncio.wait({asking}, timeout=0.2)
            silent.may.set()
        async with asyncio.timeout(10):
            assert (await asking)[0] == (503 if method == "GET" else 200)
        silent.may.set()
        pair.address = address


async def test_who_leaves_before_an_answer_is_passed_on_for_no_longer(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forwarding, "LOOKS", 0.02)
    monkeypatch.setattr(forwarding, "MOST_OF_ONE", 1)
    pair.says = silent = Silent()
    asking = asyncio.ensure_future(pair.ask())
    await silent.asked.wait()
    asking.cancel()
    for _ in range(200):
        if not pair.forwarder._under_way:
            break
        await asyncio.sleep(0.02)
    pair.says = pair.echo
    assert (await pair.ask())[0] == 200
    silent.may.set()


async def test_no_more_are_passed_on_at_once_than_are_allowed(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forwarding, "MOST_OF_ONE", 2)
    pair.says = stream = Streaming()
    async with pair.asking(), pair.asking(), pair.asking() as third:
        assert (third.status, third.headers["Retry-After"]) == (503, "1")
        assert (await third.json(content_type=None))["detail"].startswith("48 requests are passed on")
        for _ in range(2):
            stream.pieces.put_nowait(None)
    pair.says = pair.echo
    assert (await pair.ask())[0] == 200


async def test_a_leader_is_trusted_by_its_certificate_alone_which_is_looked_up_anew_once() -> None:
    leads, other = made("treadle.ns.svc"), made("treadle.ns.svc")
    pair = Pair()
    async with pair.served(leads):
        pair.trust = Trust(trusting(other.pem), "treadle.ns.svc")
        assert await pair.ask("POST", data=b"{}") == (503, OWN)
        assert (pair.asked, pair.looked_up) == ([], [False, True])
        assert "certificate" in pair.forwarder.problem.lower()
        pair.trust = Trust(trusting(leads.pem), "elsewhere.ns.svc")
        assert await pair.ask() == (503, OWN)
        pair.trust = Trust(trusting(other.pem + leads.pem), "treadle.ns.svc")
        assert (await pair.ask())[0] == 200


async def test_where_nothing_is_known_to_trust_it_by_nothing_is_sent(pair: Pair) -> None:
    async def unknown(_again: bool) -> Trust:
        raise Untrusted("nothing is known")

    pair.forwarder._trust = unknown
    assert await pair.ask() == (503, OWN)
    assert pair.forwarder.problem.endswith("cannot be asked: nothing is known")
    assert pair.asked == []
