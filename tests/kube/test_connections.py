"""Requests over kept connections: what is kept, what is sent again, and what an answer may look like."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from kube.access import until
from kube.loops import on_either_loop
from kube.scripted import OK, REQUEST, scripted
from treadle.kube.auth import Access
from treadle.kube.connections import Address, Answer, ConnectionEnded, Connections
from treadle.kube.errors import Unreachable
from treadle.kube.transport import Client


@on_either_loop
async def test_a_connection_is_kept_and_used_again() -> None:
    async with scripted([OK]) as server:
        answers = [await server.send() for _ in range(3)]

    assert answers == [Answer(200, b"ok", "")] * 3
    assert len(server.connections) == 1


@pytest.mark.parametrize(
    "pieces",
    [
        [OK],
        [bytes([byte]) for byte in OK],
        [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n", b"1\r\nk\r\n0\r\n\r\n"],
        [b"HTTP/1.1 100 Continue\r\n\r\n", OK],
        [b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + OK],
        [b"HTTP/1.1 200 OK\r\n\r\nok", None],
        [b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\no", b"k", None],
        [b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", None],
    ],
    ids=["at once", "byte by byte", "in chunks", "continue", "hints", "until the end", "until the announced end", "HTTP/1.0"],
)
@on_either_loop
async def test_an_answer_may_come_in_any_form(pieces: list[bytes | asyncio.Event | None]) -> None:
    async with scripted(pieces) as server:
        assert [await server.send() for _ in range(2)] == [Answer(200, b"ok", "")] * 2


@on_either_loop
async def test_an_answer_without_a_body_is_complete_with_its_headers() -> None:
    async with scripted([b"HTTP/1.1 204 No Content\r\n\r\n"]) as server:
        assert [(await server.send()).status for _ in range(2)] == [204, 204]
    assert len(server.connections) == 1


@on_either_loop
async def test_what_one_answer_said_is_not_carried_over_to_the_next() -> None:
    full = b"HTTP/1.1 429 Too Many Requests\r\nretry-after: 7\r\nContent-Length: 4\r\n\r\nfull"
    async with scripted([full], [OK]) as server:
        assert [await server.send() for _ in range(2)] == [Answer(429, b"full", "7"), Answer(200, b"ok", "")]


@on_either_loop
async def test_a_connection_that_the_server_wants_to_end_is_not_used_again() -> None:
    async with scripted([OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")]) as server:
        for _ in range(2):
            assert (await server.send()).body == b"ok"
    assert len(server.connections) == 2


@on_either_loop
async def test_where_a_kept_connection_ended_as_it_was_used_a_read_is_sent_again() -> None:
    async with scripted([OK], [None], [OK]) as server:
        await server.send()
        assert (await server.send()).body == b"ok"
    assert (len(server.connections), len(server.requests)) == (2, 3)


@on_either_loop
async def test_a_write_that_may_have_been_done_is_not_sent_again() -> None:
    async with scripted([OK], [None], [OK]) as server:
        await server.send("POST")
        with pytest.raises(ConnectionEnded, match="the server ended the connection"):
            await server.send("POST")
        assert len(server.requests) == 2
        assert (await server.send("POST")).body == b"ok"


@on_either_loop
async def test_a_server_that_ends_every_connection_is_not_asked_for_ever() -> None:
    async with scripted([None]) as server:
        with pytest.raises(ConnectionEnded):
            await server.send()
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "cut",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Le",
    ],
    ids=["measured", "in chunks", "in its headers"],
)
@on_either_loop
async def test_an_answer_that_is_cut_is_no_answer_and_the_request_is_not_sent_again(cut: bytes) -> None:
    async with scripted([OK], [cut, None], [OK]) as server:
        await server.send()
        with pytest.raises(ConnectionEnded):
            await server.send()
    assert len(server.requests) == 2


@on_either_loop
async def test_what_is_not_http_is_no_answer() -> None:
    async with scripted([b"SSH-2.0-OpenSSH_9.9\r\n"]) as server:
        with pytest.raises(ConnectionEnded, match="not HTTP"):
            await server.send()


@on_either_loop
async def test_an_answer_to_a_request_that_gave_up_is_not_taken_for_the_next_ones() -> None:
    late = asyncio.Event()
    async with scripted([late, OK.replace(b"ok", b"NO")], [OK]) as server:
        with pytest.raises(TimeoutError):
            await server.send(seconds=0.05)
        late.set()
        assert (await server.send()).body == b"ok"
    assert len(server.connections) == 2


@on_either_loop
async def test_nor_is_the_answer_to_one_that_was_cancelled() -> None:
    late = asyncio.Event()
    async with scripted([late, OK.replace(b"ok", b"NO")], [OK]) as server:
        task = asyncio.create_task(server.send())
        await until(lambda: len(server.requests) == 1)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        late.set()
        assert (await server.send()).body == b"ok"
    assert len(server.connections) == 2


@on_either_loop
async def test_nor_is_a_second_answer_to_one_request() -> None:
    async with scripted([OK + OK.replace(b"ok", b"NO")], [OK]) as server:
        await server.send()
        assert (await server.send()).body == b"ok"


@on_either_loop
async def test_a_word_on_an_idle_connection_ends_it() -> None:
    async with scripted([OK]) as server:
        await server.send()
        server.connections[0].write(b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n")
        await until(lambda: server.ended == 1)
        assert (await server.send()).status == 200
    assert len(server.connections) == 2


@on_either_loop
async def test_no_more_connections_than_allowed_and_those_who_wait_come_in_their_order() -> None:
    gate = asyncio.Event()
    async with scripted([gate, OK], most=2) as server:
        order: list[int] = []

        async def ask(number: int) -> None:
            await server.send()
            order.append(number)

        tasks = []
        for number in range(8):
            tasks.append(asyncio.create_task(ask(number)))
            await asyncio.sleep(0)
        await until(lambda: len(server.requests) == 2)
        gate.set()
        await asyncio.gather(*tasks)
    assert len(server.connections) == 2
    assert [number // 2 for number in order] == [0, 0, 1, 1, 2, 2, 3, 3]


@on_either_loop
async def test_the_wait_for_a_connection_counts_and_leaves_no_hole() -> None:
    gate = asyncio.Event()
    async with scripted([gate, OK], most=1) as server:
        first = asyncio.create_task(server.send())
        await until(lambda: len(server.requests) == 1)
        with pytest.raises(TimeoutError):
            await server.send(seconds=0.05)
        gate.set()
        assert (await first).body == b"ok"
        assert (await server.send()).body == b"ok"


@on_either_loop
async def test_connections_that_ended_make_room_for_others() -> None:
    async with scripted([None], most=1) as server:
        for _ in range(5):
            with pytest.raises(ConnectionEnded):
                await server.send()


@on_either_loop
async def test_a_failed_attempt_to_connect_makes_room_for_others() -> None:
    async with scripted([OK]) as server:
        port = server.port
    gone = Connections(Address.of(f"http://127.0.0.1:{port}"), 1)
    for _ in range(3):
        with pytest.raises(OSError, match=r"Connect|connect"):
            await gone.request("GET", REQUEST, 20.0)


@on_either_loop
async def test_what_is_under_way_at_the_end_fails() -> None:
    late = asyncio.Event()
    async with scripted([late, OK]) as server:
        task = asyncio.create_task(server.send())
        await until(lambda: len(server.requests) == 1)
        await server.pool.close()
        with pytest.raises(ConnectionEnded):
            await task
        late.set()


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (lambda client: client.request("GET", "/api"), b"GET /proxy/api HTTP/1.1"),
        (
            lambda client: client.request("GET", "/api", params={"fieldSelector": "a!=b,c=d", "limit": "5"}),
            b"GET /proxy/api?fieldSelector=a%21%3Db%2Cc%3Dd&limit=5 HTTP/1.1",
        ),
    ],
)
@on_either_loop
async def test_a_server_may_be_behind_a_path_and_parameters_are_quoted(
    call: Callable[[Client], asyncio.Future[object]], line: bytes
) -> None:
    async with scripted([OK]) as server, Client(Access(f"http://127.0.0.1:{server.port}/proxy/")) as client:
        await call(client)
    lines = server.requests[0].split(b"\r\n")
    assert lines[0] == line
    assert f"Host: 127.0.0.1:{server.port}".encode() in lines


@pytest.mark.parametrize("path", ["/a b", "/a\r\nX: y", "/ä", "/a HTTP/1.1\r\nX: y\r\n\r\nGET /b"])
@on_either_loop
async def test_a_path_that_would_break_the_request_is_not_sent(path: str) -> None:
    async with scripted([OK]) as server, Client(Access(f"http://127.0.0.1:{server.port}")) as client:
        with pytest.raises(Unreachable, match="cannot be a path"):
            await client.request("GET", path)
    assert server.requests == []


@on_either_loop
async def test_a_token_with_a_line_break_is_neither_sent_nor_shown() -> None:
    headers = {"Authorization": "Bearer secret\r\nX: y"}
    async with scripted([OK]) as server, Client(Access(f"http://127.0.0.1:{server.port}", headers=lambda: headers)) as client:
        with pytest.raises(Unreachable, match="Authorization") as caught:
            await client.request("GET", "/")
    assert "secret" not in str(caught.value)
    assert server.requests == []


@on_either_loop
async def test_a_token_that_is_replaced_is_sent_from_then_on() -> None:
    headers = {"Authorization": "Bearer one"}
    async with scripted([OK]) as server, Client(Access(f"http://127.0.0.1:{server.port}", headers=lambda: headers)) as client:
        await client.request("GET", "/")
        headers["Authorization"] = "Bearer two"
        await client.request("GET", "/")
    assert [b"Bearer one" in request for request in server.requests] == [True, False]
    assert b"Authorization: Bearer two" in server.requests[1]


@pytest.mark.parametrize("server", ["http://127.0.0.1:port", "http://[::1", "127.0.0.1"])
@on_either_loop
async def test_a_server_that_cannot_be_an_address_is_unreachable(server: str) -> None:
    async with Client(Access(server)) as client:
        with pytest.raises(Unreachable):
            await client.request("GET", "/")
