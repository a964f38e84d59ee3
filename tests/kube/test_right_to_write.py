"""What only a leader may write is sent while it has the right to, which is asked when the request leaves, and lives no longer."""

from __future__ import annotations

import asyncio

import pytest

from kube.access import until
from kube.loops import on_either_loop
from kube.scripted import OK, scripted
from treadle.kube.auth import Access
from treadle.kube.errors import Unreachable, Withheld
from treadle.kube.transport import POOLS, Client


@pytest.mark.parametrize("pool", ["bind", "evict", "status"])
@on_either_loop
async def test_without_the_right_nothing_is_sent(pool: str) -> None:
    async with scripted([OK]) as server, Client(Access(f"http://127.0.0.1:{server.port}")) as client:
        client.right = lambda: 0.0
        with pytest.raises(Withheld, match="does not lead any more"):
            await client.request("POST", "/x", {}, pool=pool)  # type: ignore[arg-type]
        assert (server.requests, client.withheld) == ([], 1)
        assert (await client.request("GET", "/x", pool="read")).status == 200


@on_either_loop
async def test_the_right_is_asked_when_a_connection_has_been_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(POOLS, "bind", 1)
    gate, rights = asyncio.Event(), iter([9.0, 0.0])
    async with scripted([gate, OK]) as server, Client(Access(f"http://127.0.0.1:{server.port}")) as client:
        client.right = lambda: next(rights)
        first = asyncio.ensure_future(client.request("POST", "/first", {}, pool="bind"))
        second = asyncio.ensure_future(client.request("POST", "/second", {}, pool="bind"))
        await until(lambda: server.requests)
        gate.set()
        assert (await first).status == 200
        with pytest.raises(Withheld):
            await second
    assert len(server.requests) == 1


@on_either_loop
async def test_a_request_lives_no_longer_than_the_right_to_it() -> None:
    gate = asyncio.Event()
    async with scripted([gate]) as server, Client(Access(f"http://127.0.0.1:{server.port}")) as client:
        client.right = lambda: 0.05
        with pytest.raises(Unreachable, match="Timeout"):
            await client.request("POST", "/x", {}, pool="bind")
        gate.set()
    assert len(server.requests) == 1


@on_either_loop
async def test_one_who_stands_down_cuts_what_is_under_way_and_goes_on_reading() -> None:
    gate = asyncio.Event()
    async with scripted([gate, OK], [OK]) as server, Client(Access(f"http://127.0.0.1:{server.port}")) as client:
        write = asyncio.ensure_future(client.request("POST", "/x", {}, pool="bind"))
        await until(lambda: server.requests)
        client.cut()
        with pytest.raises(Unreachable):
            await write
        gate.set()
        assert (await client.request("GET", "/x")).status == 200
        assert (await client.request("POST", "/x", {}, pool="bind")).status == 200
