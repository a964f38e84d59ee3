"""What a port bears: connections, requests, sizes and times; and what every answer says beside its matter."""

from __future__ import annotations

import asyncio
import ssl
import time

import aiohttp
import pytest
from aiohttp import web

from kube.access import until
from treadle.admission.certificates import load
from treadle.runtime.tls import context
from treadle.web import gate
from treadle.web.gate import Buckets, Gate, Limits, peer_of
from web.certificates import made, trusting
from web.doors import Doors, doors

GET = b"GET /open HTTP/1.1\r\nHost: x\r\n"


def test_a_bucket_bears_a_burst_and_then_its_rate() -> None:
    now = [0.0]
    buckets = Buckets(2.0, 3, lambda: now[0])
    assert [buckets.take("a") for _ in range(4)] == [0, 0, 0, 1]
    assert buckets.take("b") == 0, "everybody has one of their own"
    now[0] = 0.5
    assert [buckets.take("a") for _ in range(2)] == [0, 1]
    now[0] = 100.0
    assert [buckets.take("a") for _ in range(4)] == [0, 0, 0, 1], "it is never more than full"
    assert Buckets(0.1, 0, lambda: 0.0).take("a") == 10


def test_so_many_are_known_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "MOST_KNOWN", 2)
    buckets = Buckets(1.0, 1, lambda: 0.0)
    assert [buckets.take(who) for who in "abca"] == [0, 0, 0, 0], "a was forgotten when c came"
    assert buckets.take("c") == 1


def test_connections_are_counted_for_each_address_and_in_all() -> None:
    limits = Limits(connections=3, connections_of_one=2)
    inside = Gate(limits, lambda: 0.0)
    assert [inside.enter("a"), inside.enter("a"), inside.enter("a"), inside.enter("b"), inside.enter("c")] == [
        True, True, False, True, False,
    ]  # fmt: skip
    assert inside.full
    inside.leave("a")
    assert (inside.full, inside.enter("c")) == (False, True)
    assert inside.turned_away == {"connections": 2}


@pytest.mark.parametrize(
    ("address", "peer"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("fd00:1:2:3:4:5:6:7", "fd00:1:2:3::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
    ],
)
def test_whoever_has_an_address_of_ipv6_has_its_network(address: str, peer: str) -> None:
    assert peer_of(address) == peer


async def test_an_address_has_so_many_connections_and_gets_another_when_one_ends() -> None:
    async with doors(Limits(connections_of_one=4)) as door:
        held = [await door.connect() for _ in range(4)]
        reader, writer = await door.connect()
        async with asyncio.timeout(Limits().arriving / 2):
            assert await reader.read() == b"", "it is hung up on before it says anything"
        writer.close()
        held[0][1].close()

        async def answered() -> bool:
            return (await door.said(GET + b"Connection: close\r\n\r\n")).startswith(b"HTTP/1.1 200")

        async with asyncio.timeout(10):
            while not await answered():
                pass
        for _, writer in held:
            writer.close()


async def test_a_full_port_takes_the_next_when_somebody_leaves() -> None:
    async with doors(Limits(connections=2)) as door:
        held = [await door.connect() for _ in range(2)]
        for _, writer in held:
            writer.write(GET + b"\r\n")
        for reader, _ in held:
            assert (await reader.readline()).startswith(b"HTTP/1.1 200")
        waiting = asyncio.create_task(door.said(GET + b"Connection: close\r\n\r\n"))
        done, _ = await asyncio.wait([waiting], timeout=0.2)
        assert not done
        for _, writer in held:
            writer.close()
        assert (await waiting).startswith(b"HTTP/1.1 200")


async def test_who_asks_too_often_is_told_when_to_come_again_and_hung_up_on() -> None:
    async with doors(Limits(requests=0.5, requests_burst=3)) as door, aiohttp.ClientSession() as session:
        for expected in (200, 200, 200, 429):
            async with session.get(f"{door.url}/open") as answer:
                assert answer.status == expected
        assert (answer.headers["Retry-After"], answer.headers["Connection"]) == ("2", "close")


@pytest.mark.parametrize("part", [b"", b"GET /op", GET, GET + b"X-Slow: 1\r\n"])
async def test_a_request_that_does_not_arrive_in_time_is_hung_up_on(part: bytes) -> None:
    async with doors(Limits(arriving=0.2)) as door:
        began = time.monotonic()
        assert await door.said(part) == b""
        assert time.monotonic() - began < 10


async def test_a_head_that_comes_drop_by_drop_is_hung_up_on() -> None:
    async with doors(Limits(arriving=0.3)) as door:
        reader, writer = await door.connect()
        ended = asyncio.create_task(reader.read())
        writer.write(GET)
        while not ended.done():
            writer.write(b"X: 1\r\n")
            await asyncio.wait([ended], timeout=0.02)
        assert isinstance(ended.exception(), ConnectionError) or ended.result() == b""
        writer.close()


async def test_a_body_that_does_not_arrive_in_time_is_told_so() -> None:
    async with doors(Limits(arriving=0.2)) as door:
        said = await door.said(b"POST /open HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n123")
        assert said.startswith(b"HTTP/1.1 408")


@pytest.mark.parametrize(
    "head",
    [
        b"Content-Length: 100000000000\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n800\r\n" + b"x" * 2048 + b"\r\n",
    ],
)
async def test_a_body_that_is_too_large_is_refused_before_it_is_read(head: bytes) -> None:
    async with doors(Limits(body=1024)) as door:
        assert (await door.said(b"POST /open HTTP/1.1\r\nHost: x\r\n" + head)).startswith(b"HTTP/1.1 413")


@pytest.mark.parametrize("lines", [b"X: " + b"a" * 9000 + b"\r\n", b"X: a\r\n" * 100])
async def test_a_head_that_is_too_large_is_refused(lines: bytes) -> None:
    async with doors() as door:
        said = await door.said(GET + lines + b"\r\n")
        assert said.split(b" ")[1] == b"400"
        assert b"Server: treadle\r\n" in said


async def test_who_does_not_take_an_answer_is_hung_up_on() -> None:
    ended = asyncio.Event()

    async def large(request: web.Request) -> web.Response:
        assert request.transport is not None
        request.protocol._task_handler.add_done_callback(lambda _: ended.set())  # type: ignore[union-attr]
        return web.Response(body=b"x" * (64 << 20))

    async with doors(Limits(leaving=0.3), None, web.get("/large", large)) as door:
        _, writer = await door.connect()
        writer.write(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
        await until(ended.is_set, "it is hung up on")
        writer.transport.abort()


async def header_of(door: Doors, path: str, method: str = "GET") -> tuple[int, dict[str, str]]:
    status, _, headers = await door.get(path, method=method)
    return status, dict(headers)


async def test_unknown_paths_and_methods_are_told_as_such_and_head_is_known() -> None:
    async with doors() as door:
        assert (await header_of(door, "/nothing"))[0] == 404
        status, headers = await header_of(door, "/open", "POST")
        assert (status, headers["Allow"]) == (405, "GET,HEAD")
        status, text, headers = await door.get("/open", method="HEAD")
        assert (status, text, headers["Content-Length"]) == (200, "", "10")


@pytest.mark.parametrize("path", ["/open", "/nothing", "/metrics"])
async def test_every_answer_tells_browsers_to_be_careful_and_nobody_a_version(path: str) -> None:
    async with doors() as door:
        _, headers = await header_of(door, path)
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Content-Security-Policy"] == "default-src 'none'; frame-ancestors 'none'"
        assert headers["Cache-Control"] == "no-store"
        assert headers["Server"] == "treadle"
        assert "Strict-Transport-Security" not in headers


async def test_tls_is_1_2_at_least_and_says_that_it_stays() -> None:
    tls = context()
    certificate = made()
    load(tls, certificate)
    async with doors(None, tls) as door:
        connector = aiohttp.TCPConnector(ssl=trusting(certificate.pem))
        async with aiohttp.ClientSession(connector=connector) as session, session.get(f"{door.url}/open") as answer:
            assert answer.headers["Strict-Transport-Security"] == "max-age=31536000"
    assert tls.minimum_version is ssl.TLSVersion.TLSv1_2


async def test_a_client_that_does_not_shake_hands_is_hung_up_on_and_leaves_its_place() -> None:
    tls = context()
    certificate = made()
    load(tls, certificate)
    async with doors(Limits(handshake=0.2, connections=1), tls) as door:
        assert await door.said(b"") == b""
        connector = aiohttp.TCPConnector(ssl=trusting(certificate.pem))
        async with aiohttp.ClientSession(connector=connector) as session, session.get(f"{door.url}/open") as answer:
            assert answer.status == 200
