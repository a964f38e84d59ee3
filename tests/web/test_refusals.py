"""What a port refuses is counted by its cause, and who is inside too."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest
from aiohttp import web

from kube.access import until
from treadle.admission.certificates import load
from treadle.runtime.tls import context
from treadle.web.gate import Gate, Limits
from web.certificates import made, trusting
from web.doors import Doors, doors

GET = b"GET /open HTTP/1.1\r\nHost: x\r\n"


@asynccontextmanager
async def counted(
    tls: ssl.SSLContext | None = None, limits: Limits | None = None, *more: web.RouteDef
) -> AsyncIterator[tuple[Doors, Gate]]:
    gate = Gate(limits or Limits())
    async with doors(gate, tls, *more) as door:
        yield door, gate


async def test_who_is_not_known_and_who_has_no_right_are_counted_apart() -> None:
    async with counted() as (door, gate):
        assert [(await door.get(token=one))[0] for one in ("", "stolen", "stranger", "scraper")] == [401, 401, 403, 200]
    assert +gate.turned_away == {"unauthorized": 2, "forbidden": 1}


async def test_while_nobody_can_be_asked_it_is_counted() -> None:
    async with counted() as (door, gate):
        await door.judge.stop()
        assert (await door.get(token="scraper"))[0] == 503
    assert +gate.turned_away == {"unavailable": 1}


@pytest.mark.parametrize(
    ("limits", "said", "cause"),
    [
        (Limits(), b"\x00\x01\x02\r\n\r\n", "malformed"),
        (Limits(body=3), GET + b"Content-Length: 4\r\n\r\nfour", "large"),
        (Limits(arriving=0.1), GET + b"Content-Length: 4\r\n\r\n", "slow"),
        (Limits(requests_burst=0), GET + b"\r\n", "requests"),
        (Limits(connecting_burst=0), GET + b"\r\n", "connecting"),
        (Limits(connections_of_one=0), GET + b"\r\n", "connections"),
    ],
)
async def test_what_is_too_much_is_counted_by_its_cause(limits: Limits, said: bytes, cause: str) -> None:
    async with counted(limits=limits) as (door, gate):
        await door.said(said)
    assert +gate.turned_away == {cause: 1}


async def test_a_handshake_that_fails_is_counted_and_one_that_is_made_is_not() -> None:
    tls, certificate = context(), made("127.0.0.1")
    load(tls, certificate)
    async with counted(tls) as (door, gate), aiohttp.ClientSession() as session:
        async with session.get(f"{door.url}/open", ssl=trusting(certificate.pem)) as answer:
            assert answer.status == 200
        assert +gate.turned_away == {}
        with pytest.raises(aiohttp.ClientError):
            await session.get(f"{door.url}/open")
        await until(lambda: gate.turned_away["handshake"] == 1, "the handshake that the client broke off")


async def test_who_is_connected_is_counted_until_they_leave() -> None:
    async with counted() as (door, gate):
        reader, writer = await door.connect()
        writer.write(GET + b"\r\n")
        assert (await reader.readline()).startswith(b"HTTP/1.1 200")
        assert gate.inside == 1
        writer.close()
        await until(lambda: gate.inside == 0, "the end of the connection")


async def test_an_answer_that_is_not_taken_in_time_is_counted() -> None:
    async def large(_: web.Request) -> web.Response:
        return web.Response(body=b"x" * (64 << 20))

    async with counted(None, Limits(leaving=0.2), web.get("/large", large)) as (door, gate):
        _, writer = await door.connect()
        writer.write(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
        await until(lambda: gate.turned_away["slow"] == 1, "it is hung up on")
        writer.transport.abort()


@pytest.mark.parametrize(("status", "cause"), [(401, "unauthorized"), (403, "forbidden")])
async def test_who_is_refused_in_the_words_of_a_handler_is_counted_too(status: int, cause: str) -> None:
    async def worded(_: web.Request) -> web.Response:
        return web.json_response({"RemoteException": {}}, status=status)

    async with counted(None, None, web.get("/worded", worded)) as (door, gate):
        assert (await door.get("/worded"))[0] == status
    assert +gate.turned_away == {cause: 1}


@pytest.mark.parametrize("status", [200, 400, 404, 409, 500, 503])
async def test_what_a_handler_answers_about_what_was_asked_is_no_refusal(status: int) -> None:
    async def worded(_: web.Request) -> web.Response:
        return web.json_response({}, status=status)

    async with counted(None, None, web.get("/worded", worded)) as (door, gate):
        assert (await door.get("/worded"))[0] == status
    assert +gate.turned_away == {}
