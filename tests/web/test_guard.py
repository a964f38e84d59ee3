"""Who gets in: those whose token the API server knows and who may get the path. While it cannot be asked, nobody."""

from __future__ import annotations

import asyncio
import logging

import pytest

from treadle.kube.auth import Access
from treadle.kube.reviews import KEPT, MOST_KEPT, Reviews, User
from treadle.kube.transport import Client
from treadle.web.gate import Limits
from treadle.web.guard import guarded
from treadle.web.server import answering, serve
from web.doors import doors

SECRET = "a-token-that-nobody-may-see"


async def test_metrics_need_a_token_that_is_known_and_the_right_to_them() -> None:
    async with doors() as door:
        status, text, headers = await door.get()
        assert (status, text, headers["WWW-Authenticate"]) == (401, "401: a token of the API server is needed\n", "Bearer")
        assert door.judge.asked == [], "nobody is asked about no token"
        assert (await door.get(token="stolen"))[0] == 401
        assert (await door.get(token="scraper", scheme="Basic"))[0] == 401
        assert (await door.get(token="stranger"))[:2] == (403, "403: User eve may not get /metrics\n")
        status, text, headers = await door.get(token="scraper")
        assert (status, text, headers["Cache-Control"]) == (200, '{"told":1}', "no-store")
        assert (await door.get("/open"))[0] == 200


async def test_while_the_api_server_cannot_be_asked_nobody_gets_in_and_all_are_told_to_come_again() -> None:
    async with doors() as door:
        assert (await door.get(token="scraper"))[0] == 200
        await door.judge.stop()
        assert (await door.get(token="scraper"))[0] == 200, "who was known a moment ago"
        door.clock += KEPT
        status, _, headers = await door.get(token="scraper")
        assert (status, headers["Retry-After"]) == (503, "5")
        assert (await door.get())[0] == 401


async def test_many_who_come_while_it_cannot_be_asked_fill_no_log(caplog: pytest.LogCaptureFixture) -> None:
    async with doors() as door:
        await door.judge.stop()
        assert {(await door.get(token=f"t{number}"))[0] for number in range(20)} == {503}
    assert sum("nobody can be asked" in line for line in caplog.messages) == 1


async def test_what_can_be_no_token_is_nobodys() -> None:
    async with doors() as door:
        assert (await door.get(token="\u00e9"))[0] == 401
        assert door.judge.asked == []


async def test_answers_are_kept_for_a_while_and_no_longer() -> None:
    async with doors() as door:
        for _ in range(3):
            assert (await door.get(token="scraper"))[0] == 200
            assert (await door.get(token="stranger"))[0] == 403
            assert (await door.get(token="stolen"))[0] == 401
        assert len(door.judge.asked) == 5
        door.judge.may.clear()
        del door.judge.users["stranger"]
        door.clock += KEPT - 0.001
        assert ((await door.get(token="scraper"))[0], (await door.get(token="stranger"))[0]) == (200, 403)
        door.clock += 0.001
        assert ((await door.get(token="scraper"))[0], (await door.get(token="stranger"))[0]) == (403, 401)


async def test_so_many_answers_are_kept_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MOST_KEPT == 1024
    monkeypatch.setattr("treadle.kube.reviews.MOST_KEPT", 3)
    async with doors() as door:
        for token in ("scraper", "1", "2", "3"):
            await door.get(token=token)
        before = len(door.judge.asked)
        await door.get(token="3")
        assert len(door.judge.asked) == before
        await door.get(token="scraper")
        assert [one["kind"] for one in door.judge.asked[before:]] == ["TokenReview"], "the first that was told is forgotten first"


async def test_many_who_bring_the_same_token_at_once_are_asked_about_once_and_who_leaves_hinders_nobody() -> None:
    async with doors() as door, Client(Access(door.judge.url)) as client:
        reviews = Reviews(client)
        asked = [asyncio.create_task(reviews.who("scraper")) for _ in range(20)]
        await asyncio.sleep(0)
        asked[0].cancel()
        found = await asyncio.gather(*asked, return_exceptions=True)
        assert isinstance(found[0], asyncio.CancelledError)
        assert found[1:] == [User("prometheus")] * 19
        assert len(door.judge.asked) == 1


async def test_no_token_stands_in_the_log_whatever_becomes_of_it(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with doors() as door:
        await door.get(token=SECRET)
        await door.said(f"GET /metrics HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {SECRET}\x01\r\n\r\n".encode())
        await door.said(f"Bearer {SECRET} nonsense\r\n\r\n".encode())
        await door.judge.stop()
        door.clock += KEPT
        await door.get(token=SECRET)
    assert "is not answered, since nobody can be asked who may" in caplog.text
    assert SECRET not in caplog.text


async def test_a_user_who_asks_too_often_is_told_when_to_come_again_and_others_are_answered() -> None:
    limits = Limits(user_requests=0.25, user_requests_burst=2)
    async with doors(limits) as door:
        assert [(await door.get(token="scraper"))[0] for _ in range(3)] == [200, 200, 429]
        status, _, headers = await door.get(token="scraper")
        assert (status, headers["Retry-After"]) == (429, "4")
        assert (await door.get(token="stranger"))[0] == 403


async def test_a_route_for_all_who_are_known_asks_for_no_right() -> None:
    async with doors() as door, Client(Access(door.judge.url)) as client:
        routes = [guarded(answering("/known", lambda: {"told": 3}), Reviews(client), right=False)]
        async with serve("127.0.0.1", 0, routes) as door.url:
            assert [(await door.get("/known", token=one))[0] for one in ("", "stolen", "stranger")] == [401, 401, 200]
            assert (await door.get("/known", token="stranger", method="HEAD"))[0] == 200
    assert {one["kind"] for one in door.judge.asked} == {"TokenReview"}
