"""List and watch of a server that speaks protobuf, and of one that does so until it does not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from kube.access import answering, task_of, until
from kube.forms import enveloped, frame, pod, refusal
from treadle.kube import reflector as module
from treadle.kube import wire
from treadle.kube.auth import Access
from treadle.kube.formats import PREFERRED, PROTOBUF
from treadle.kube.reflector import Reflector
from treadle.kube.transport import Client

PODS = "/api/v1/pods"
END = {"k8s.io/initial-events-end": "true"}
LINE = '{"type": "ADDED", "object": {"metadata": {"name": "%s", "uid": "uid-%s", "resourceVersion": "%d"}}}\n'


class Script:
    """Answers each watch with the next list of frames, or with JSON where it is a text; the last one is left open."""

    def __init__(self, *answers: list[bytes] | str | tuple[int, bytes]) -> None:
        self.answers = list(answers)
        self.accepted: list[str] = []
        self.released = asyncio.Event()

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        self.accepted.append(request.headers["Accept"])
        answer = self.answers.pop(0)
        if isinstance(answer, tuple):
            return web.Response(status=answer[0], body=answer[1], content_type=PROTOBUF)
        response = web.StreamResponse()
        response.content_type = "application/json" if isinstance(answer, str) else f"{PROTOBUF};stream=watch"
        await response.prepare(request)
        if isinstance(answer, str):
            await response.write(answer.encode())
        else:
            await response.write(b"".join(len(one).to_bytes(4) + one for one in answer))
        if not self.answers:
            await self.released.wait()
        return response


@asynccontextmanager
async def scripted(*answers: Any) -> AsyncIterator[tuple[Script, Reflector[wire.Pod], list[tuple[str, str]]]]:
    script, told = Script(*answers), list[tuple[str, str]]()

    def sink(changes: list[tuple[Any, wire.Pod]]) -> None:
        told.extend((change, found.metadata.name) for change, found in changes)

    async with answering(script.handle) as url, Client(Access(url)) as client:
        reflector = Reflector(client, PODS, wire.Pod, sink)
        async with task_of(reflector.run()):
            yield script, reflector, told
        script.released.set()


@pytest.fixture(autouse=True)
def _brisk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FIRST_WAIT", 0.005)


def bookmark(version: int, **annotations: str) -> bytes:
    return frame("BOOKMARK", pod("", version, **annotations))


async def test_a_list_and_what_follows_it_is_read_in_protobuf() -> None:
    frames = [frame("ADDED", pod("a", 1)), frame("ADDED", pod("b", 2)), bookmark(7, **END), frame("DELETED", pod("a", 8))]
    async with scripted(frames) as (script, reflector, told):
        await until(lambda: len(told) == 3)
        assert told == [("ADDED", "a"), ("ADDED", "b"), ("DELETED", "a")]
        assert reflector.synced.is_set()
        assert script.accepted == [PREFERRED]


async def test_a_watch_that_is_reopened_goes_on_from_the_version_of_the_last_frame() -> None:
    async with scripted([bookmark(7, **END), frame("ADDED", pod("a", 9))], [frame("MODIFIED", pod("a", 10))]) as (
        _,
        reflector,
        told,
    ):
        await until(lambda: told == [("ADDED", "a"), ("MODIFIED", "a")])
        assert (reflector.reopened, reflector.relists) == (2, 0)


async def test_a_version_that_is_too_old_leads_to_a_new_list() -> None:
    gone = frame("ERROR", refusal(410, "Expired", "too old resource version"))
    first = [frame("ADDED", pod("a", 1)), bookmark(7, **END), gone]
    async with scripted(first, [frame("ADDED", pod("b", 11)), bookmark(12, **END)]) as (_, reflector, told):
        await until(lambda: ("DELETED", "a") in told)
        assert told == [("ADDED", "a"), ("ADDED", "b"), ("DELETED", "a")]
        assert reflector.relists == 1


async def test_a_refusal_is_told_in_the_servers_words(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    async with scripted((403, refusal(403, "Forbidden", "you may not")), [bookmark(1, **END)]) as (_, reflector, _told):
        await until(reflector.synced.is_set)
    assert "you may not" in caplog.text


async def test_a_server_that_answers_in_json_all_the_same_is_read() -> None:
    async with scripted(LINE % ("a", "a", 1)) as (_, _reflector, told):
        await until(lambda: told == [("ADDED", "a")])


@pytest.mark.parametrize(
    "broken",
    [b"\xff", frame("MODIFIED", b"neither magic nor sense"), frame("MODIFIED", enveloped(b"\xff\xff"))],
    ids=["a frame", "an envelope", "an object"],
)
async def test_what_cannot_be_read_in_protobuf_is_read_in_json_from_then_on_and_nothing_is_lost(
    broken: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    first = [frame("ADDED", pod("a", 1)), bookmark(7, **END), frame("ADDED", pod("b", 8)), broken]
    async with scripted(first, LINE % ("c", "c", 9), LINE % ("d", "d", 10)) as (script, reflector, told):
        await until(lambda: len(told) == 4)
        assert told == [("ADDED", "a"), ("ADDED", "b"), ("ADDED", "c"), ("ADDED", "d")]
        assert script.accepted == [PREFERRED, "application/json", "application/json"]
        assert reflector.relists == 0
    assert "protobuf is not understood" in caplog.text
