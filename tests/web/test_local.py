"""Ports of this machine alone: what a page of elsewhere has a browser ask is refused."""

from __future__ import annotations

import aiohttp
import pytest
from aiohttp import web

from treadle.fakeapi import FakeApi
from treadle.listening import stranger
from treadle.web.local import local
from treadle.web.server import serve


@pytest.mark.parametrize(
    ("host", "origin", "refused"),
    [
        ("127.0.0.1:8088", "", ""),
        ("localhost:8088", "http://localhost:8088", ""),
        ("[::1]:8088", "http://[::1]:8088", ""),
        ("LOCALHOST", "", ""),
        ("evil.example:8088", "", "Host: 'evil.example:8088' is not this machine"),
        ("127.0.0.1.evil.example", "", "Host: "),
        ("10.0.0.1:8088", "", "Host: "),
        ("", "", "Host: "),
        ("[::1:8088", "", "Host: "),
        ("127.0.0.1:8088", "http://evil.example", "Origin: 'http://evil.example' is another one"),
        ("127.0.0.1:8088", "http://localhost:8088", "Origin: "),
        ("127.0.0.1:8088", "http://127.0.0.1:3000", "Origin: "),
        ("127.0.0.1:8088", "null", "Origin: "),
    ],
)
def test_what_was_not_meant_for_this_machine_is_told(host: str, origin: str, refused: str) -> None:
    said = stranger(host, origin)
    assert said.startswith(refused) if refused else said == ""


async def status(url: str, **headers: str) -> int:
    async with aiohttp.ClientSession() as session, session.get(url, headers=headers) as answer:
        return answer.status


async def hello(_: web.Request) -> web.Response:
    return web.Response(text="hello")


async def test_the_page_and_the_embedded_api_server_refuse_it() -> None:
    api = FakeApi()
    await api.start()
    try:
        async with serve("127.0.0.1", 0, [local(web.get("/", hello))]) as page:
            for url in (page, f"{api.url}/api/v1/pods"):
                assert await status(url) == 200
                assert await status(url, Host="evil.example") == 403
                assert await status(url, Origin="http://evil.example") == 403
    finally:
        await api.stop()


async def test_what_is_posted_from_elsewhere_is_refused_as_well() -> None:
    async with serve("127.0.0.1", 0, [local(web.post("/", hello))]) as page, aiohttp.ClientSession() as session:
        for headers, found in (({}, 200), ({"Host": "evil.example"}, 403), ({"Origin": "http://evil.example"}, 403)):
            async with session.post(page, headers=headers) as answer:
                assert answer.status == found
