"""What only the embedded API server can be asked to do: forget, cut, fail, stop and come back, all at a test's word."""

from __future__ import annotations

import json

import aiohttp
import pytest

from treadle.fakeapi import ApiError, FakeApi


async def lines(session: aiohttp.ClientSession, url: str) -> list[dict]:
    async with session.get(url) as response:
        return [json.loads(line) async for line in response.content]


async def test_a_watch_older_than_the_ring_is_told_so() -> None:
    api = FakeApi(ring=3)
    version = api.store.version
    for index in range(4):
        api.create("configmaps", {"metadata": {"name": f"c{index}"}})
    url = f"{await api.start()}/api/v1/configmaps?watch=1&timeoutSeconds=1&resourceVersion="
    async with aiohttp.ClientSession() as session:
        (event,) = await lines(session, f"{url}{version}")
        assert (event["type"], event["object"]["code"]) == ("ERROR", 410)
        assert [event["object"]["metadata"]["name"] for event in await lines(session, f"{url}{version + 1}")] == [
            "c1",
            "c2",
            "c3",
        ]
        api.store.collections["configmaps"].forget()
        (event,) = await lines(session, f"{url}{version + 3}")
        assert (event["type"], event["object"]["code"]) == ("ERROR", 410)
    await api.stop()


async def test_cut_watches_end_cleanly() -> None:
    api = FakeApi()
    url = await api.start()
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{url}/api/v1/pods?watch=1&resourceVersion={api.store.version}") as response,
    ):
        api.cut_watches()
        assert await response.read() == b""
    await api.stop()


async def test_a_hook_may_refuse_any_request() -> None:
    api = FakeApi()

    async def refuse(method: str, path: str) -> None:
        if method == "POST":
            raise ApiError(429, "TooManyRequests", f"not now: {path}", retry_after=1)

    api.before = refuse
    url = await api.start()
    async with aiohttp.ClientSession() as session:
        async with session.post(f"{url}/api/v1/namespaces", data="{}") as response:
            assert (response.status, response.headers["Retry-After"]) == (429, "1")
        async with session.get(f"{url}/api/v1/namespaces") as response:
            assert response.status == 200
    await api.stop()


async def test_a_stopped_server_comes_back_on_its_port_with_what_it_holds() -> None:
    api = FakeApi()
    url = await api.start()
    api.create("configmaps", {"metadata": {"name": "a"}})
    await api.stop()
    async with aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.ClientConnectorError):
            await session.get(url)
        assert await api.start(port=int(url.rpartition(":")[2])) == url
        async with session.get(f"{url}/api/v1/namespaces/default/configmaps/a") as response:
            assert response.status == 200
    await api.stop()


@pytest.mark.parametrize(
    "body", ["[]", "{", '{"metadata": 1}', '{"metadata": {"name": 5}}', '{"metadata": {"name": "a"}, "spec": []}']
)
async def test_a_body_that_makes_no_sense_is_a_client_error(body: str) -> None:
    api = FakeApi()
    url = await api.start()
    async with aiohttp.ClientSession() as session, session.post(f"{url}/api/v1/namespaces/default/pods", data=body) as response:
        assert response.status in {400, 422}
    await api.stop()


def test_the_namespace_of_an_object_must_exist_and_takes_it_along_when_it_goes() -> None:
    api = FakeApi()
    with pytest.raises(ApiError, match='namespaces "team" not found'):
        api.create("configmaps", {"metadata": {"name": "a", "namespace": "team"}})
    api.create("namespaces", {"metadata": {"name": "team"}})
    api.create("configmaps", {"metadata": {"name": "a", "namespace": "team"}})
    api.delete("namespaces", "team")
    assert api.list("configmaps", "team") == []
