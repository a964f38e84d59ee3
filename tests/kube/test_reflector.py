"""List and watch under everything that an API server does to its watchers: nothing is lost, doubled or forgotten."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from kube.access import answering, connected, refuse, served, task_of, until
from kube.manifests import Json, pod
from treadle.fakeapi import ApiError, FakeApi
from treadle.kube import reflector as module
from treadle.kube import wire
from treadle.kube.auth import Access
from treadle.kube.reflector import Reflector
from treadle.kube.transport import Client

PODS = "/api/v1/pods"


class Seen:
    """What a sink was told, and the state that follows from it."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []
        self.state: dict[str, str] = {}
        self.versions: dict[str, str] = {}

    def __call__(self, changes: list[tuple[Any, Any]]) -> None:
        for change, found in changes:
            meta = found.metadata
            self.told.append((change, meta.name))
            if change == "DELETED":
                self.state.pop(meta.uid, None)
            else:
                self.state[meta.uid] = meta.name
                self.versions[meta.name] = meta.resource_version

    @property
    def names(self) -> list[str]:
        return sorted(self.state.values())


class Watched:
    """A reflector of pods, what it told, and the server that it watches."""

    def __init__(self, api: FakeApi, client: Client, **options: Any) -> None:
        self.api, self.seen = api, Seen()
        self.reflector: Reflector[wire.Pod] = Reflector(client, PODS, wire.Pod, self.seen, **options)

    async def shows(self, *names: str) -> None:
        await until(lambda: self.seen.names == sorted(names), f"pods {names}, seen are {self.seen.names}")

    async def watching(self) -> None:
        """Wait until the server has the watch open, so that it can be cut."""
        await until(lambda: self.api.store.collections["pods"].wakers, "an open watch")


def create(api: FakeApi, *names: str) -> None:
    for name in names:
        api.create("pods", pod(name))


@asynccontextmanager
async def watching(api: FakeApi, **options: Any) -> AsyncIterator[Watched]:
    async with connected(api) as client:
        watched = Watched(api, client, **options)
        async with task_of(watched.reflector.run()):
            yield watched


@pytest.fixture
async def api() -> AsyncIterator[FakeApi]:
    async with served(bookmark_seconds=0.02) as server:
        yield server


@pytest.fixture(autouse=True)
def _brisk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FIRST_WAIT", 0.005)
    monkeypatch.setattr(module, "LONGEST_WAIT", 0.02)
    monkeypatch.setattr(module, "BREATH", 0.0)


def count_requests(api: FakeApi, counts: list[str]) -> None:
    async def before(_method: str, path: str) -> None:
        counts.append(path)

    api.before = before


# -- the ordinary course


async def test_a_streaming_list_yields_what_is_there_and_goes_on_as_a_watch(api: FakeApi) -> None:
    create(api, "a", "b")
    requests: list[str] = []
    count_requests(api, requests)
    async with watching(api) as watched:
        await watched.shows("a", "b")
        create(api, "c")
        api.delete("pods", "a")
        await watched.shows("b", "c")

    told = [change for change in watched.seen.told if change[0] != "MODIFIED"]
    assert told == [("ADDED", "a"), ("ADDED", "b"), ("ADDED", "c"), ("DELETED", "a")]
    assert requests == [PODS]


async def test_it_is_synced_only_when_the_list_is_complete(api: FakeApi) -> None:
    create(api, "a")
    gate = asyncio.Event()

    async def before(_method: str, _path: str) -> None:
        await gate.wait()

    api.before = before
    async with watching(api) as watched:
        await asyncio.sleep(0)
        assert not watched.reflector.synced.is_set()
        gate.set()
        await until(watched.reflector.synced.is_set)
        assert watched.seen.names == ["a"]


async def test_an_empty_list_is_complete_too(api: FakeApi) -> None:
    async with watching(api) as watched:
        await until(watched.reflector.synced.is_set)


async def test_a_selector_yields_a_deletion_for_a_pod_that_finishes(api: FakeApi) -> None:
    create(api, "a")
    async with watching(api, params={"fieldSelector": "status.phase!=Succeeded,status.phase!=Failed"}) as watched:
        await watched.shows("a")
        api.patch("pods", "a", {"status": {"phase": "Succeeded"}}, subresource="status")
        await watched.shows()


# -- servers without streaming lists


def refuse_streaming(code: int) -> Callable[[web.BaseRequest], None]:
    def check(request: web.BaseRequest) -> None:
        if "sendInitialEvents" in request.query:
            raise ApiError(
                code, "Invalid", "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"
            )

    return check


class Choosy(FakeApi):
    """An API server whose answer to a watch or a list depends on its parameters."""

    def __init__(self, check: Callable[[web.BaseRequest], None], **options: Any) -> None:
        super().__init__(**options)
        self.check = check
        self.lists: list[dict[str, str]] = []

    async def _answer(self, request: web.BaseRequest, target: Any) -> web.StreamResponse:
        if request.method == "GET" and "watch" not in request.query:
            self.lists.append(dict(request.query))
        self.check(request)
        return await super()._answer(request, target)


@asynccontextmanager
async def choosy(check: Callable[[web.BaseRequest], None]) -> AsyncIterator[Choosy]:
    api = Choosy(check, bookmark_seconds=0.02)
    await api.start()
    try:
        yield api
    finally:
        await api.stop()


@pytest.mark.parametrize("code", [400, 422])
async def test_a_server_without_streaming_lists_is_listed_by_pages_and_watched(code: int) -> None:
    async with choosy(refuse_streaming(code)) as api:
        create(api, "a", "b")
        async with watching(api) as watched:
            await watched.shows("a", "b")
            create(api, "c")
            await watched.shows("a", "b", "c")
        assert [query.get("limit") for query in api.lists] == ["500"]


async def test_a_long_list_comes_in_pages_and_is_complete() -> None:
    names = [f"p{number:04}" for number in range(1201)]
    async with choosy(refuse_streaming(400)) as api:
        create(api, *names)
        async with watching(api) as watched:
            await until(watched.reflector.synced.is_set)
            assert watched.seen.told == [("ADDED", name) for name in names]
        assert ["continue" in query for query in api.lists] == [False, True, True]


async def test_what_changes_between_two_pages_is_told_by_the_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAGE", 2)

    def check(request: web.BaseRequest) -> None:
        refuse_streaming(400)(request)
        if "continue" in request.query and len(api.lists) == 2:
            api.delete("pods", "a")
            create(api, "aa")

    async with choosy(check) as api:
        create(api, "a", "b", "c", "d")
        async with watching(api) as watched:
            await watched.shows("aa", "b", "c", "d")


async def test_pages_that_expire_are_listed_from_the_start_and_what_went_meanwhile_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "PAGE", 1)

    def check(request: web.BaseRequest) -> None:
        refuse_streaming(400)(request)
        if "continue" in request.query and len(api.lists) == 2:
            api.delete("pods", "a")
            api.store.collections["pods"].forget()

    async with choosy(check) as api:
        create(api, "a", "b", "c")
        async with watching(api) as watched:
            await watched.shows("b", "c")
            await until(watched.reflector.synced.is_set)
        assert ("DELETED", "a") in watched.seen.told


# -- cuts


async def test_a_cut_watch_resumes_with_nothing_lost_or_doubled(api: FakeApi) -> None:
    async with watching(api) as watched:
        await until(watched.reflector.synced.is_set)
        for number in range(20):
            await watched.watching()
            before = set(api.store.collections["pods"].wakers)
            create(api, f"before-{number:02}")
            api.cut_watches()
            create(api, f"after-{number:02}")
            await until(lambda before=before: not before & api.store.collections["pods"].wakers)
        await until(lambda: len(watched.seen.state) == 40)
        await until(lambda: watched.reflector.reopened > 20, "the watch after the last cut")

    names = [name for _, name in watched.seen.told]
    assert len(names) == len(set(names)) == 40
    assert watched.reflector.relists == 0


async def test_the_events_of_a_burst_are_read_together_and_all_of_them_in_order(
    api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BREATH", 0.05)
    batches: list[int] = []
    async with watching(api) as watched:
        await until(watched.reflector.synced.is_set)
        await watched.watching()
        emit = watched.reflector._sink
        watched.reflector._sink = lambda changes: (batches.append(len(changes)), emit(changes))[1]
        names = [f"pod-{number:02}" for number in range(40)]
        for name in names:
            create(api, name)
            await asyncio.sleep(0.001)
        await watched.shows(*names)

    assert [name for _, name in watched.seen.told] == names
    assert len(batches) < 40


class Cutting(Choosy):
    """Ends the first watches after so many lines, before the bookmark that would make them complete."""

    def __init__(self, lines: int, times: int, **options: Any) -> None:
        super().__init__(lambda _request: None, **options)
        self.lines, self.times = lines, times
        self.on_cut: Callable[[], None] = lambda: None

    async def _watch(self, request: web.BaseRequest, resource: Any, test: Any) -> web.StreamResponse:
        if not self.times or "sendInitialEvents" not in request.query:
            return await super()._watch(request, resource, test)
        self.times -= 1
        response = web.StreamResponse()
        await response.prepare(request)
        for found in self.list("pods")[: self.lines]:
            entry = self.entry("pods", found["metadata"]["name"], found["metadata"]["namespace"])
            await response.write(b'{"type":"ADDED","object":' + entry.raw + b"}\n")
        await response.write_eof()
        self.on_cut()
        return response


async def test_a_list_cut_before_its_bookmark_starts_over_and_forgets_what_went_meanwhile() -> None:
    api = Cutting(lines=2, times=1, bookmark_seconds=0.02)
    api.on_cut = lambda: api.delete("pods", "a")
    await api.start()
    create(api, "a", "b", "c")
    async with watching(api) as watched:
        await watched.shows("b", "c")
        await until(watched.reflector.synced.is_set)
    await api.stop()

    assert watched.seen.told[-1] == ("DELETED", "a")


async def test_a_list_that_is_always_cut_is_never_taken_for_complete() -> None:
    api = Cutting(lines=1, times=5, bookmark_seconds=0.02)
    await api.start()
    create(api, "a", "b")
    async with watching(api) as watched:
        await until(lambda: api.times < 2)
        assert not watched.reflector.synced.is_set()
        assert "ended before its bookmark" in watched.reflector.problem
        await watched.shows("a", "b")
        await until(lambda: not watched.reflector.problem)
    await api.stop()


async def test_an_expired_version_is_a_list_whose_difference_is_told(api: FakeApi) -> None:
    create(api, "gone", "kept", "changed")
    async with watching(api) as watched:
        await watched.shows("gone", "kept", "changed")
        await watched.watching()
        api.before = refuse(lambda _method, path: path == PODS, 503)
        api.cut_watches()
        await until(lambda: watched.reflector.problem)
        api.delete("pods", "gone")
        api.patch("pods", "changed", {"metadata": {"labels": {"new": "yes"}}})
        create(api, "new")
        api.store.collections["pods"].forget()
        api.before = None
        await watched.shows("changed", "kept", "new")

        assert watched.reflector.relists == 1
        assert ("DELETED", "gone") in watched.seen.told
        assert watched.seen.versions["changed"] == api.get("pods", "changed")["metadata"]["resourceVersion"]


async def test_a_pod_that_was_replaced_during_an_absence_is_told_as_an_end_and_a_beginning(api: FakeApi) -> None:
    create(api, "a")
    old = api.get("pods", "a")["metadata"]["uid"]
    async with watching(api) as watched:
        await watched.shows("a")
        api.before = refuse(lambda _method, path: path == PODS, 503)
        api.cut_watches()
        await until(lambda: watched.reflector.problem)
        api.delete("pods", "a")
        create(api, "a")
        api.store.collections["pods"].forget()
        api.before = None
        await until(lambda: watched.seen.state and old not in watched.seen.state)

        assert watched.seen.told == [("ADDED", "a"), ("ADDED", "a"), ("DELETED", "a")]


# -- what a real server sends that the embedded one does not: scripted line by line


class Script:
    """An HTTP server that answers each request for pods with the next of a list of bodies."""

    def __init__(self, *answers: list[Json] | int | str) -> None:
        self.answers = list(answers)
        self.requests: list[dict[str, str]] = []
        self.released = asyncio.Event()

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        self.requests.append(dict(request.query))
        answer = self.answers.pop(0) if self.answers else []
        if isinstance(answer, int):
            return web.json_response(
                {"kind": "Status", "code": answer, "reason": "Refused", "message": f"no: {answer}"}, status=answer
            )
        response = web.StreamResponse()
        await response.prepare(request)
        lines = [answer] if isinstance(answer, str) else [module.msgspec.json.encode(line).decode() + "\n" for line in answer]
        await response.write("".join(lines).encode())
        if not self.answers:
            await self.released.wait()
        await response.write_eof()
        return response


@asynccontextmanager
async def scripted(*answers: list[Json] | int | str, **options: Any) -> AsyncIterator[tuple[Script, Reflector[wire.Pod], Seen]]:
    script, seen = Script(*answers), Seen()
    async with answering(script.handle) as url, Client(Access(url)) as client:
        reflector = Reflector(client, PODS, wire.Pod, seen, **options)
        async with task_of(reflector.run()):
            yield script, reflector, seen
        script.released.set()


def event(kind: str, name: str, version: int, **fields: Any) -> Json:
    return {"type": kind, "object": {"metadata": {"name": name, "uid": f"uid-{name}", "resourceVersion": str(version)}, **fields}}


def bookmark(version: int, *, end: bool = False) -> Json:
    notes = {"annotations": {"k8s.io/initial-events-end": "true"}} if end else {}
    return {
        "type": "BOOKMARK",
        "object": {"metadata": {"resourceVersion": str(version), **notes}, "spec": {"containers": None}, "status": {}},
    }


def error(code: int) -> Json:
    return {
        "type": "ERROR",
        "object": {"kind": "Status", "metadata": {}, "status": "Failure", "reason": "Why", "message": "words", "code": code},
    }


LISTED = [event("ADDED", "a", 5), bookmark(9, end=True)]


async def test_a_watch_resumes_from_the_last_bookmark() -> None:
    async with scripted(LISTED, [bookmark(20)], [event("MODIFIED", "a", 25)], []) as (script, _, seen):
        await until(lambda: len(script.requests) == 4)
        assert [query.get("resourceVersion") for query in script.requests] == [None, "9", "20", "25"]
        assert seen.told == [("ADDED", "a"), ("MODIFIED", "a")]


async def test_an_expired_watch_inside_an_answer_of_200_is_a_list() -> None:
    async with scripted(LISTED, [error(410)], [event("ADDED", "b", 30), bookmark(31, end=True)], []) as (_, reflector, seen):
        await until(lambda: seen.names == ["b"])
        assert reflector.relists == 1


async def test_what_came_before_an_error_in_the_same_chunk_is_told() -> None:
    changes = [event("ADDED", "b", 11), event("DELETED", "a", 12), error(500)]
    async with scripted(LISTED, changes, []) as (script, _, seen):
        await until(lambda: len(script.requests) == 3)
        assert script.requests[2]["resourceVersion"] == "12"
        assert seen.names == ["b"]


async def test_another_error_is_noted_and_the_watch_resumes_from_its_version() -> None:
    async with scripted(LISTED, [error(500)], 503, [event("ADDED", "b", 11)], []) as (script, reflector, seen):
        await until(lambda: seen.names == ["a", "b"])
        assert [query.get("resourceVersion") for query in script.requests[1:4]] == ["9", "9", "9"]
        assert reflector.relists == 0


async def test_a_403_right_after_a_servers_start_is_tried_again() -> None:
    async with scripted(403, 403, LISTED, []) as (_, reflector, seen):
        await until(lambda: seen.names == ["a"])
        assert not reflector.problem


async def test_the_words_of_a_refusal_are_the_problem() -> None:
    async with scripted(403, *[403] * 1000) as (_, reflector, _seen):
        await until(lambda: reflector.problem == "403 Refused: no: 403")
        assert not reflector.missing


async def test_a_resource_that_the_server_does_not_know_is_missing_until_it_does() -> None:
    async with scripted(404, 404, 404, LISTED, []) as (_, reflector, seen):
        await until(lambda: reflector.missing)
        await until(lambda: seen.names == ["a"])
        assert not reflector.missing


async def test_an_unreadable_object_is_skipped_with_a_warning_and_the_rest_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    odd = event("ADDED", "odd", 6, spec={"containers": "none at all"})
    async with scripted([odd, *LISTED], [event("MODIFIED", "odd", 12, spec=[]), event("ADDED", "b", 13)], []) as (
        script,
        _,
        seen,
    ):
        await until(lambda: seen.names == ["a", "b"])
        await until(lambda: len(script.requests) == 3)
        assert script.requests[2]["resourceVersion"] == "13"
    assert caplog.text.count("/odd cannot be read and is skipped") == 2


async def test_what_was_known_of_an_object_stays_when_it_becomes_unreadable() -> None:
    odd = event("ADDED", "a", 40, spec={"containers": 3})
    async with scripted(LISTED, [error(410)], [odd, bookmark(41, end=True)], [event("ADDED", "b", 42)], []) as (_, _, seen):
        await until(lambda: seen.names == ["a", "b"])
        assert ("DELETED", "a") not in seen.told


async def test_an_unreadable_object_in_a_page_is_skipped() -> None:
    items = [{"metadata": {"name": name, "uid": name}, **fields} for name, fields in (("a", {}), ("odd", {"spec": 5}), ("b", {}))]
    page = module.msgspec.json.encode({"metadata": {"resourceVersion": "7"}, "items": items}).decode()
    async with scripted(400, page, []) as (_, reflector, seen):
        await until(reflector.synced.is_set)
        assert seen.names == ["a", "b"]


async def test_the_deletion_of_an_unreadable_object_is_told() -> None:
    async with scripted(LISTED, [event("DELETED", "a", 12, spec={"containers": 3})], []) as (_, _, seen):
        await until(lambda: ("DELETED", "a") in seen.told)


async def test_a_line_that_is_no_json_ends_the_watch_and_not_the_reflector() -> None:
    async with scripted(LISTED, '{"type":"ADD\n', [event("ADDED", "b", 11)], []) as (_, _, seen):
        await until(lambda: seen.names == ["a", "b"])


async def test_a_last_line_without_its_end_is_left_for_the_next_watch() -> None:
    async with scripted(LISTED, '{"type":"ADDED","object":{"meta', [event("ADDED", "b", 11)], []) as (_, _, seen):
        await until(lambda: seen.names == ["a", "b"])


async def test_a_watch_silent_for_too_long_is_not_trusted_and_listed_again() -> None:
    """The last scripted answer stays open and says nothing, as a server does that was restored from an older backup."""
    async with scripted(LISTED, [], silence=0.05) as (script, reflector, seen):
        await until(lambda: reflector.relists > 0)
        script.answers = [[event("ADDED", "b", 3), bookmark(4, end=True)], []]
        script.released.set()
        await until(lambda: seen.names == ["b"])


async def test_a_streaming_list_that_goes_silent_is_listed_again_as_well() -> None:
    async with scripted([*LISTED, *[]], silence=0.05) as (script, reflector, _):
        await until(lambda: reflector.relists > 0)
        assert "sendInitialEvents" in (await until(lambda: script.requests[1:]))[0]


async def test_watches_that_end_at_once_and_bring_nothing_are_not_reopened_in_a_tight_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits: list[float] = []
    real = asyncio.sleep

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        await real(0)

    async with scripted(LISTED, *[[]] * 30) as (script, _, _seen):
        monkeypatch.setattr(module.asyncio, "sleep", sleep)
        async with asyncio.timeout(20):
            while len(script.requests) < 20:
                await real(0.002)
        monkeypatch.undo()
    assert module.LONGEST_WAIT in waits or max(waits) >= 0.02


# -- outages


async def test_a_server_that_goes_away_and_comes_back_is_watched_on(api: FakeApi) -> None:
    create(api, "a", "b")
    port = int(api.url.rpartition(":")[2])
    async with watching(api) as watched:
        await watched.shows("a", "b")
        await api.stop()
        await until(lambda: watched.reflector.problem)
        api.delete("pods", "a")
        create(api, "c")
        api.store.collections["pods"].forget()
        await api.start(port=port)
        await watched.shows("b", "c")
        await until(lambda: not watched.reflector.problem)


async def test_a_reopened_watch_is_alive_before_it_brings_anything(api: FakeApi) -> None:
    async with watching(api) as watched:
        await until(watched.reflector.synced.is_set)
        await watched.watching()
        api.before = refuse(lambda _method, path: path == PODS, 500)
        api.cut_watches()
        await until(lambda: watched.reflector.problem)
        alive = watched.reflector.alive_at
        api.before = None
        await until(lambda: not watched.reflector.problem)
        assert watched.reflector.alive_at > alive


async def test_refused_credentials_are_renewed_and_the_watch_goes_on(api: FakeApi) -> None:
    renewed: list[int] = []
    create(api, "a")
    api.before = refuse(lambda _method, path: path == PODS and not renewed, 401)
    async with Client(Access(api.url, renew=lambda: renewed.append(1))) as client:
        seen = Seen()
        async with task_of(Reflector(client, PODS, wire.Pod, seen).run()):
            await until(lambda: seen.names == ["a"])
    assert renewed == [1]
