"""Binds: what each answer means, how many are under way, and that no outcome stays unknown."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from itertools import pairwise
from typing import Any

import pytest
from aiohttp import web

from kube.access import refuse, served, task_of, until
from kube.binding import NODE, binding
from kube.stub import Answer, Request, StubClient, ok, refused, unreachable
from treadle.core.events import BindDone, BindFailed, PodGone, PodSeen
from treadle.fakeapi import ApiError, FakeApi
from treadle.kube.binder import ALLOCATED_APPLICATION, ALLOCATED_QUEUE, MOST_IN_DOUBT, Binder, Placement
from treadle.kube.transport import Response


@pytest.fixture
async def api() -> AsyncIterator[FakeApi]:
    async with served() as server:
        yield server


# -- what the server's answers mean


async def test_a_bind_that_the_server_takes_is_done(api: FakeApi) -> None:
    async with binding(api) as at:
        placement = at.waiting_pod()
        assert await at.bind(placement) == [BindDone(placement.uid)]

    assert api.get("pods", "a")["spec"]["nodeName"] == NODE
    assert (at.binder.bound, at.binder.failed, at.binder.in_flight) == (1, 0, 0)


async def test_what_was_decided_is_written_with_the_bind_beside_what_is_there(api: FakeApi) -> None:
    async with binding(api) as at:
        await at.bind(at.waiting_pod(metadata={"annotations": {"mine": "kept"}}))

    assert api.get("pods", "a")["metadata"]["annotations"] == {
        "mine": "kept",
        ALLOCATED_QUEUE: "root.prod",
        ALLOCATED_APPLICATION: "default/etl",
    }


async def test_without_a_queue_nothing_is_written_beside_the_bind(api: FakeApi) -> None:
    async with binding(api) as at:
        await at.bind(at.waiting_pod()._replace(queue=""))

    assert not api.get("pods", "a")["metadata"].get("annotations")


async def test_a_pod_that_is_bound_there_already_is_done(api: FakeApi) -> None:
    async with binding(api) as at:
        placement = at.waiting_pod()
        api.bind("a", {"metadata": {"name": "a"}, "target": {"kind": "Node", "name": NODE}})
        assert await at.bind(placement) == [BindDone(placement.uid)]


async def test_a_pod_that_was_bound_elsewhere_is_seen_where_it_is(api: FakeApi) -> None:
    async with binding(api) as at:
        placement = at.waiting_pod()
        api.bind("a", {"metadata": {"name": "a"}, "target": {"kind": "Node", "name": "elsewhere"}})
        (outcome,) = await at.bind(placement)

    assert isinstance(outcome, PodSeen)
    assert (outcome.pod.uid, outcome.pod.node) == (placement.uid, "elsewhere")


async def test_a_gated_pod_is_refused_and_seen_as_it_is(api: FakeApi) -> None:
    async with binding(api) as at:
        placement = at.waiting_pod(schedulingGates=[{"name": "hold"}])
        failed, seen = await at.bind(placement)

    assert (failed.kind, "schedulingGates" in failed.message) == ("refused", True)
    assert seen.pod.gated


async def test_a_pod_that_is_being_deleted_is_refused_and_seen_as_it_is(api: FakeApi) -> None:
    async with binding(api) as at:
        placement = at.waiting_pod(metadata={"finalizers": ["test/hold"]})
        api.delete("pods", "a")
        version = api.get("pods", "a")["metadata"]["resourceVersion"]
        failed, seen = await at.bind(placement._replace(version=version))

    assert (failed.kind, "is being deleted" in failed.message) == ("refused", True)
    assert seen.pod.deleting


async def test_a_pod_that_is_gone_is_gone(api: FakeApi) -> None:
    async with binding(api) as at:
        placement = at.waiting_pod()
        api.delete("pods", "a")
        assert await at.bind(placement) == [PodGone(placement.uid)]


async def test_a_successor_of_the_same_name_is_not_bound_in_its_place(api: FakeApi) -> None:
    async with binding(api) as at:
        placement = at.waiting_pod()
        api.delete("pods", "a")
        at.waiting_pod()
        assert await at.bind(placement) == [PodGone(placement.uid)]

    assert not api.get("pods", "a")["spec"].get("nodeName")


# -- questions about binds of which nothing was heard


@pytest.mark.parametrize(("where", "seen"), [(NODE, NODE), ("elsewhere", "elsewhere"), ("", "")])
async def test_a_question_is_answered_with_the_pod_as_it_is(api: FakeApi, where: str, seen: str) -> None:
    async with binding(api) as at:
        placement = at.waiting_pod()
        if where:
            api.bind("a", {"metadata": {"name": "a"}, "target": {"kind": "Node", "name": where}})
        at.binder.verify(placement)
        at.binder.verify(placement)
        await until(lambda: at.outcomes)
        (outcome,) = at.outcomes
    if seen:
        assert (outcome.pod.uid, outcome.pod.node, outcome.answer) == (placement.uid, seen, True)
    else:
        assert (outcome.uid, outcome.kind) == (placement.uid, "transient")
    assert at.binder.bound == 0


async def test_a_question_about_a_pod_that_has_gone_or_was_made_anew_says_so(api: FakeApi) -> None:
    async with binding(api) as at:
        placement = at.waiting_pod()
        api.delete("pods", "a")
        at.waiting_pod()
        at.binder.verify(placement)
        await until(lambda: at.outcomes)
    assert at.outcomes == [PodGone(placement.uid)]


async def test_a_bind_that_is_still_under_way_is_not_asked_about(api: FakeApi) -> None:
    async with binding(api) as at:
        placement = at.waiting_pod()
        at.binder.submit(placement)
        at.binder.verify(placement)
        assert await at.binder.drain(20)
        assert at.outcomes == [BindDone(placement.uid)]
        at.binder.verify(placement)
        await until(lambda: len(at.outcomes) == 2)
    assert at.outcomes[1].answer


@pytest.mark.parametrize("code", [400, 401, 403, 422])
async def test_another_refusal_may_pass_and_says_what_the_server_said(api: FakeApi, code: int) -> None:
    async with binding(api) as at:
        placement = at.waiting_pod()
        api.before = refuse(lambda method, _: method == "POST", code, message="not now")
        assert await at.bind(placement) == [BindFailed(placement.uid, "transient", f"{code} not now")]


@pytest.mark.parametrize("code", [408, 429, 500, 502, 503, 504])
async def test_an_answer_that_does_not_say_what_happened_is_settled_by_the_pod(api: FakeApi, code: int) -> None:
    async with binding(api) as at:
        placement = at.waiting_pod()
        api.before = refuse(lambda method, _: method == "POST", code, message="not now")
        failed, seen = await at.bind(placement)

    assert failed == BindFailed(placement.uid, "transient", f"{code} not now")
    assert (seen.pod.uid, seen.pod.node, seen.known) == (placement.uid, "", True)


async def test_a_webhook_that_cannot_be_asked_refuses_the_bind_and_throttles_no_other(api: FakeApi) -> None:
    """The API server refuses before it stores anything: the room is not kept, and the pod need not be read."""
    words = 'Internal error occurred: failed calling webhook "policy.example.com": connection refused'
    asked: list[str] = []

    async def before(method: str, _: str) -> None:
        asked.append(method)
        if method == "POST":
            raise ApiError(500, "InternalError", words)

    async with binding(api) as at:
        placements = [at.waiting_pod(f"p{number}") for number in range(20)]
        api.before = before
        limit = at.binder.limit
        outcomes = await at.bind(*placements)

    assert sorted(outcomes, key=lambda one: one.uid) == [
        BindFailed(uid, "transient", f"500 {words}") for uid in sorted(one.uid for one in placements)
    ]
    assert (set(asked), at.binder.limit) == ({"POST"}, limit)


async def test_many_binds_are_each_answered_once(api: FakeApi) -> None:
    async with binding(api) as at:
        placements = [at.waiting_pod(f"p{number}") for number in range(300)]
        outcomes = await at.bind(*placements)

    assert sorted(outcome.uid for outcome in outcomes) == sorted(placement.uid for placement in placements)
    assert {type(outcome) for outcome in outcomes} == {BindDone}
    assert at.binder.limit > 16


# -- no answer at all


class Cutting(FakeApi):
    """Cuts the connection of the first binds, before or after it has done what was asked."""

    cut = ""

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path.endswith("/binding") and self.cut:
            where, self.cut = self.cut, ""
            if where == "after":
                await super()._handle(request)
            assert request.transport is not None
            request.transport.abort()
        return await super()._handle(request)


@pytest.fixture
async def cutting() -> AsyncIterator[Cutting]:
    server = Cutting()
    await server.start()
    yield server
    await server.stop()


async def test_a_bind_whose_answer_was_lost_is_found_to_hold(cutting: Cutting) -> None:
    async with binding(cutting) as at:
        placement, cutting.cut = at.waiting_pod(), "after"
        assert await at.bind(placement) == [BindDone(placement.uid)]
        assert (at.binder.unknown, at.binder.bound) == (1, 1)


class Deaf(Cutting):
    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path.endswith("/binding") and self.cut:
            assert request.transport is not None
            request.transport.abort()
            return web.Response(status=500)
        return await super()._handle(request)


async def test_a_bind_that_never_arrived_may_be_tried_again() -> None:
    server = Deaf()
    await server.start()
    async with binding(server) as at:
        placement, server.cut = at.waiting_pod(), "before"
        failed, seen = await at.bind(placement)
        assert (failed.kind, failed.message) == ("transient", "no answer, and the pod is not bound")
        assert (seen.pod.uid, seen.pod.node) == (placement.uid, "")
    await server.stop()


async def test_an_outcome_that_cannot_be_asked_for_yet_stays_open_until_the_server_answers(cutting: Cutting) -> None:
    asked = []

    async def before(method: str, path: str) -> None:
        if method == "GET":
            asked.append(path)
            if len(asked) < 3:
                await refuse(lambda *_: True, 503)(method, path)

    async with binding(cutting) as at:
        placement, cutting.cut, cutting.before = at.waiting_pod(), "after", before
        at.binder.submit(placement)
        await until(lambda: asked)
        assert (at.outcomes, at.binder.settled) == ([], False)
        assert await at.binder.drain(20)
        assert at.outcomes == [BindDone(placement.uid)]


async def test_a_pod_that_has_become_unreadable_stays_in_doubt_and_stops_neither_the_binder_nor_the_others(api: FakeApi) -> None:
    async with binding(api) as at:
        odd, fine = at.waiting_pod("odd"), at.waiting_pod("fine")
        readable = api.get("pods", "odd")
        api.store.put(
            "pods",
            ("default", "odd"),
            {**api.get("pods", "odd"), "status": 5, "spec": {**api.get("pods", "odd")["spec"], "schedulingGates": [1]}},
        )
        at.binder.submit(odd)
        at.binder.submit(fine)
        await until(lambda: BindDone(fine.uid) in at.outcomes and not at.binder.in_flight)
        assert (len(at.outcomes), at.binder.settled) == (1, False)
        api.store.put("pods", ("default", "odd"), readable)
        assert await at.binder.drain(20)

    assert {getattr(one, "uid", "") for one in at.outcomes} >= {odd.uid, fine.uid}


# -- how many at once: in virtual time, without sockets


def not_bound(request: Request) -> Answer:
    """A pod that waits: the answer to a GET, and to the write that fences it."""
    name = request.path.removesuffix("/status").rpartition("/")[2]
    version = "2" if request.method == "PATCH" else "1"
    return ok(200, {"metadata": {"name": name, "namespace": "ns", "uid": f"u{name[1:]}", "resourceVersion": version}, "spec": {}})


def gone(_: Request) -> Answer:
    return Response(404, b'{"reason": "NotFound", "message": "no such pod"}')


def failures(at: Slow) -> set[str]:
    return {outcome.kind for outcome in at.outcomes if isinstance(outcome, BindFailed)}


class Slow:
    """A binder on a stub whose binds take ``latency`` seconds of the loop's time."""

    def __init__(
        self,
        answer: Callable[[Request], Answer] = lambda _: ok(201),
        latency: float = 0.1,
        asked: Callable[[Request], Answer] | None = None,
        **options: Any,
    ) -> None:
        self.outcomes: list[Any] = []
        asked = asked or not_bound
        self.client = StubClient(lambda request: answer(request) if request.method == "POST" else asked(request), latency)
        self.binder = Binder(self.client, self.outcomes.append, clock=asyncio.get_running_loop().time, **options)  # type: ignore[arg-type]

    def submit(self, count: int) -> None:
        for number in range(count):
            self.binder.submit(Placement(f"u{number}", "ns", f"p{number}", NODE))

    def binds(self) -> list[Request]:
        return [request for request in self.client.requests if request.method == "POST"]


virtual = pytest.mark.looptime


@virtual
async def test_the_number_in_flight_grows_while_all_goes_well_and_never_over_its_most() -> None:
    at = Slow(most=24)
    async with task_of(at.binder.run()):
        at.submit(500)
        assert await at.binder.drain(60)

    assert (at.binder.limit, at.client.most_open, len(at.outcomes)) == (24, 24, 500)


@virtual
async def test_what_is_submitted_one_by_one_is_sent_at_once_though_the_limit_was_halved_while_all_waited() -> None:
    """Those beyond the limit wait as well, and had waited least."""
    at = Slow(most=16, least=1)
    async with task_of(at.binder.run()):
        at.submit(16)
        assert await at.binder.drain(60)
        at.binder.limit = 1.0
        for number in range(16, 20):
            at.binder.submit(Placement(f"u{number}", "ns", f"p{number}", NODE))
            await asyncio.sleep(0.5)
            assert len(at.outcomes) == number + 1


@virtual
async def test_it_starts_no_higher_than_its_most() -> None:
    at = Slow(most=3)
    async with task_of(at.binder.run()):
        at.submit(50)
        assert await at.binder.drain(60)

    assert at.client.most_open == 3
    assert len(at.outcomes) == 50


@virtual
async def test_slow_answers_halve_it_down_to_its_least() -> None:
    at = Slow(latency=2.0, patience=1.0, least=4)
    async with task_of(at.binder.run()):
        at.submit(200)
        assert await at.binder.drain(600)

    assert at.binder.limit == 4
    assert {type(outcome) for outcome in at.outcomes} == {BindDone}


@virtual
async def test_an_answer_that_came_while_a_pass_was_made_is_not_slow() -> None:
    at = Slow(latency=2.0, patience=1.0)
    async with task_of(at.binder.run()):
        at.submit(16)
        await asyncio.sleep(1.0)
        at.binder.away += 1.5
        assert await at.binder.drain(600)

    assert at.binder.limit >= 16


@virtual
async def test_a_full_server_halves_it_once_for_a_burst_of_refusals() -> None:
    at = Slow(lambda _: refused(429))
    async with task_of(at.binder.run()):
        at.submit(16)
        assert await at.binder.drain(60)

    assert at.binder.limit == 8
    assert failures(at) == {"transient"}


@virtual
async def test_nothing_is_sent_for_as_long_as_the_server_asks() -> None:
    answers = iter([refused(429, retry_after=1.5)])
    at = Slow(lambda _: next(answers, ok(201)), latency=0.0)
    async with task_of(at.binder.run()):
        at.submit(1)
        assert await at.binder.drain(60)
        at.submit(5)
        assert await at.binder.drain(60)

    assert [request.at for request in at.binds()] == [0.0, *[1.5] * 5]


@virtual
async def test_where_the_server_asks_for_long_what_waits_is_given_back_to_be_decided_again_when_it_may_be_sent() -> None:
    answers = iter([refused(429, retry_after=7.0)])
    at = Slow(lambda _: next(answers, ok(201)), latency=0.1, most=2)
    async with task_of(at.binder.run()):
        at.submit(5)
        assert await at.binder.drain(60)
        assert [type(outcome).__name__ for outcome in at.outcomes].count("BindFailed") == 4
        words = {outcome.message for outcome in at.outcomes if isinstance(outcome, BindFailed)}
        assert words == {"not sent: the API server asks for 7 s of quiet", "429 no"}
        assert at.binder.room() == 0
        at.submit(1)
        assert await at.binder.drain(60)
        assert len(at.binds()) == 2, "nor is it sent what is decided meanwhile"
        await asyncio.sleep(7.0)
        assert at.binder.room() > 0
        at.submit(3)
        assert await at.binder.drain(60)

    assert len(at.binds()) == 5


@virtual
async def test_a_server_that_asks_for_an_hour_gets_half_a_minute() -> None:
    answers = iter([refused(503, retry_after=3600.0)])
    at = Slow(lambda _: next(answers, ok(201)), latency=0.0)
    async with task_of(at.binder.run()):
        at.submit(1)
        assert await at.binder.drain(60)
        await asyncio.sleep(27.0)
        assert at.binder.room() == 0
        await asyncio.sleep(3.0)
        at.submit(1)
        assert await at.binder.drain(60)

    assert at.binds()[1].at >= 30.0


@virtual
async def test_it_recovers_after_a_bad_while() -> None:
    answers = iter([refused(500)] * 16)
    at = Slow(lambda _: next(answers, ok(201)))
    async with task_of(at.binder.run()):
        at.submit(16)
        assert await at.binder.drain(60)
        low = at.binder.limit
        at.submit(400)
        assert await at.binder.drain(60)

    assert low == 8
    assert at.binder.limit > 16


@virtual
async def test_there_is_room_for_twice_the_limit_and_never_less_than_none() -> None:
    at = Slow()
    assert at.binder.room() == 32
    at.submit(10)
    assert at.binder.room() == 22
    at.submit(100)
    assert at.binder.room() == 0


@virtual
async def test_nothing_is_decided_while_too_many_binds_are_in_doubt() -> None:
    """All that may be under way is named in one annotation of the Lease, which the API server takes up to 256 KiB."""
    at = Slow()
    at.binder._in_doubt = dict.fromkeys(map(str, range(MOST_IN_DOUBT - 1)))
    assert at.binder.room() > 0
    at.binder._in_doubt["one more"] = None
    assert at.binder.room() == 0
    longest = len(f'"{"n" * 63}/{"p" * 253}/{"u" * 36}",')
    assert (MOST_IN_DOUBT + 4 * 64) * longest < 256 * 1024


@virtual
async def test_withdrawn_placements_are_never_sent_and_those_under_way_are_finished() -> None:
    at = Slow()
    async with task_of(at.binder.run()):
        at.submit(40)
        await asyncio.sleep(0.05)
        taken = at.binder.withdraw()
        assert len(taken) == 24
        assert await at.binder.drain(60)
        await asyncio.sleep(10)

    assert len(at.binds()) == len(at.outcomes) == 16
    assert not {placement.uid for placement in taken} & {outcome.uid for outcome in at.outcomes}


@virtual
async def test_some_placements_are_withdrawn_and_the_others_are_sent_in_their_order() -> None:
    at = Slow()
    async with task_of(at.binder.run()):
        at.submit(40)
        await asyncio.sleep(0.05)
        waiting = [placement.uid for placement in at.binder._waiting]
        taken = at.binder.withdraw(set(waiting[::2]) | {"unknown"})
        assert [placement.uid for placement in taken] == waiting[::2]
        assert await at.binder.drain(60)

    assert len(at.binds()) == 40 - len(taken)
    assert not {placement.uid for placement in taken} & {outcome.uid for outcome in at.outcomes}


@virtual
async def test_withdrawing_everything_from_an_idle_binder_leaves_nothing_to_wait_for() -> None:
    at = Slow()
    at.submit(3)
    assert len(at.binder.withdraw()) == 3
    assert await at.binder.drain(0.1)


@virtual
async def test_a_drain_that_takes_too_long_says_so() -> None:
    at = Slow(latency=100.0)
    async with task_of(at.binder.run()):
        at.submit(1)
        assert not await at.binder.drain(5)


@virtual
async def test_binds_and_questions_use_different_connections() -> None:
    at = Slow(lambda _: unreachable(), asked=gone)
    async with task_of(at.binder.run()):
        at.submit(1)
        assert await at.binder.drain(60)

    assert [(request.method, request.pool) for request in at.client.requests] == [("POST", "bind"), ("GET", "read")]
    assert at.outcomes == [PodGone("u0")]


@virtual
async def test_the_question_is_repeated_with_longer_and_longer_waits() -> None:
    answers = iter([unreachable()] * 8)
    at = Slow(lambda _: unreachable(), latency=0.0, asked=lambda request: next(answers, None) or gone(request))
    async with task_of(at.binder.run()):
        at.submit(1)
        assert await at.binder.drain(600)

    times = [request.at for request in at.client.requests if request.method == "GET"]
    waits = [round(later - earlier, 3) for earlier, later in pairwise(times)]
    assert waits == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]


@virtual
async def test_a_defect_of_ours_costs_one_bind_and_not_the_binder(caplog: pytest.LogCaptureFixture) -> None:
    answers = iter([RuntimeError("a defect")])
    at = Slow(lambda _: next(answers, ok(201)), asked=gone)
    async with task_of(at.binder.run()):
        at.submit(2)
        assert await at.binder.drain(60)

    assert sorted(type(outcome).__name__ for outcome in at.outcomes) == ["BindDone", "PodGone"]
    assert "a defect" in caplog.text
