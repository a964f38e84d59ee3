"""Binds of which no answer says what became of them: the pod is asked, and fenced where the bind may still arrive."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from aiohttp import web

from kube.access import refuse, served, until
from kube.binding import NODE, binding
from treadle.core.events import BindDone, PodGone
from treadle.fakeapi import ApiError, FakeApi
from treadle.kube.doubts import Asked


@pytest.fixture
async def api() -> AsyncIterator[FakeApi]:
    async with served() as server:
        yield server


class Mistaken(FakeApi):
    """Carries binds out and answers something else; a GET is cut to ``cut`` bytes as often as ``cuts`` says. ``late`` binds are kept back."""

    code = 504
    cuts = 0
    late: list[dict[str, Any]] | None = None

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path.endswith("/binding"):
            if self.late is not None:
                self.late.append(msgspec.json.decode(await request.read()))
            else:
                await super()._handle(request)
            return web.json_response({"reason": "Timeout", "message": "took too long"}, status=self.code)
        if request.method == "GET" and self.cuts and "/pods/" in request.path:
            self.cuts -= 1
            return web.Response(body=b'{"kind":"Pod","metadata":{"name":"a","ui', content_type="application/json")
        return await super()._handle(request)


@pytest.fixture
async def mistaken() -> AsyncIterator[Mistaken]:
    server = Mistaken()
    await server.start()
    yield server
    await server.stop()


@pytest.mark.parametrize("code", [429, 500, 502, 503, 504])
async def test_a_bind_that_was_carried_out_and_answered_with_an_error_holds(mistaken: Mistaken, code: int) -> None:
    mistaken.code = code
    async with binding(mistaken) as at:
        placement = at.waiting_pod()
        assert await at.bind(placement) == [BindDone(placement.uid)]


async def test_a_look_at_the_pod_whose_answer_is_cut_short_says_nothing_and_is_made_again(mistaken: Mistaken) -> None:
    mistaken.cuts = 2
    async with binding(mistaken) as at:
        placement = at.waiting_pod()
        assert await at.bind(placement) == [BindDone(placement.uid)]
    assert mistaken.cuts == 0


async def test_a_bind_that_arrives_after_it_was_given_up_does_not_take_place(mistaken: Mistaken) -> None:
    mistaken.late = []
    async with binding(mistaken) as at:
        placement = at.waiting_pod()
        failed, seen = await at.bind(placement)
        assert (failed.kind, at.binder.doubts.fenced) == ("transient", 1)
        with pytest.raises(ApiError, match="Precondition failed: ResourceVersion"):
            mistaken.bind("a", mistaken.late[0])
        (condition,) = mistaken.get("pods", "a")["status"]["conditions"]
        assert (condition["reason"], f"node {NODE}" in condition["message"]) == ("BindUnanswered", True)
        assert seen.pod.version == mistaken.get("pods", "a")["metadata"]["resourceVersion"]


async def test_a_pod_that_was_written_to_since_the_bind_left_needs_no_fence(mistaken: Mistaken) -> None:
    mistaken.late = []
    async with binding(mistaken) as at:
        placement = at.waiting_pod()
        found = mistaken.get("pods", "a")
        mistaken.update("pods", {**found, "metadata": {**found["metadata"], "labels": {"new": "yes"}}})
        failed, _ = await at.bind(placement)
        assert (failed.kind, at.binder.doubts.fenced) == ("transient", 0)
        with pytest.raises(ApiError, match="Precondition failed: ResourceVersion"):
            mistaken.bind("a", mistaken.late[0])


async def test_a_pod_that_changed_since_it_was_read_is_not_bound_as_it_was(api: FakeApi) -> None:
    async with binding(api) as at:
        placement = at.waiting_pod()
        found = api.get("pods", "a")
        api.update("pods", {**found, "metadata": {**found["metadata"], "labels": {"new": "yes"}}})
        failed, seen = await at.bind(placement)
        assert (failed.kind, seen.known) == ("refused", True)
        assert await at.bind(placement._replace(version=seen.pod.version)) == [failed, seen, BindDone(placement.uid)]


async def test_a_404_that_does_not_come_from_the_api_says_nothing_of_the_pod(api: FakeApi) -> None:
    pages = iter(["no such upstream"] * 2)

    async def before(method: str, _: str) -> None:
        if method == "GET" and (page := next(pages, "")):
            raise ApiError(404, "", page)

    async with binding(api) as at:
        placement = at.waiting_pod()
        api.bind("a", {"metadata": {"name": "a"}, "target": {"kind": "Node", "name": NODE}})
        api.before = before
        assert await at.bind(placement) == [BindDone(placement.uid)]
    assert next(pages, None) is None


async def test_the_pods_of_a_predecessors_binds_are_fenced_or_found_where_they_are(api: FakeApi) -> None:
    async with binding(api) as at:
        waiting, bound, gone = (at.waiting_pod(name) for name in ("waiting", "bound", "gone"))
        api.bind("bound", {"metadata": {"name": "bound"}, "target": {"kind": "Node", "name": NODE}})
        api.delete("pods", "gone")
        await at.binder.settle([Asked(one.uid, one.namespace, one.name) for one in (waiting, bound, gone)])

    outcomes = {getattr(one, "uid", "") or one.pod.uid: one for one in at.outcomes}
    assert outcomes[gone.uid] == PodGone(gone.uid)
    assert (outcomes[bound.uid].pod.node, outcomes[waiting.uid].pod.node) == (NODE, "")
    assert outcomes[waiting.uid].pod.version != waiting.version
    assert at.binder.doubts.fenced == 1


async def test_a_right_that_is_missing_for_asking_is_named_until_it_is_given(
    mistaken: Mistaken, caplog: pytest.LogCaptureFixture
) -> None:
    words = 'User "limited" cannot get resource "pods"'
    mistaken.before = refuse(lambda method, _: method == "GET", 403, "Forbidden", words)
    async with binding(mistaken) as at:
        placement = at.waiting_pod()
        at.binder.submit(placement)
        await until(lambda: at.binder.doubts.problem)
        assert at.binder.doubts.problem == f"default/a, whose bind is in doubt, cannot be read: 403 Forbidden: {words}"
        assert (at.outcomes, caplog.text.count(words)) == ([], 1)
        mistaken.before = None
        await until(lambda: at.outcomes)
        assert (at.outcomes, at.binder.doubts.problem) == ([BindDone(placement.uid)], "")


async def test_a_fence_that_fails_again_and_again_is_told_of_once(mistaken: Mistaken, caplog: pytest.LogCaptureFixture) -> None:
    mistaken.late = []
    mistaken.before = refuse(lambda method, _: method == "PATCH", 500, "InternalError", "a webhook is down", times=4)
    async with binding(mistaken) as at:
        at.binder.submit(at.waiting_pod())
        await until(lambda: at.outcomes)
        assert [type(one).__name__ for one in at.outcomes] == ["BindFailed", "PodSeen"]
        assert (at.binder.doubts.problem, caplog.text.count("a webhook is down")) == ("", 1)
