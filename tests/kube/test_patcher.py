"""Status writes: the newest state of each object, few at a time, sent again when the server had no ear for them."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from typing import Any

import pytest

from kube.access import task_of
from kube.stub import Answer, Request, StubClient, ok, refused, unreachable
from treadle.kube.errors import Withheld
from treadle.kube.patcher import Patcher, Write, line_of, resource_of
from treadle.kube.transport import Response

pytestmark = pytest.mark.looptime


class Writing:
    def __init__(self, answer: Callable[[Request], Answer] = lambda _: ok(), latency: float = 0.1, **options: Any) -> None:
        self.client = StubClient(answer, latency)
        self.patcher = Patcher(self.client, clock=asyncio.get_running_loop().time, **options)  # type: ignore[arg-type]
        self.codes: list[int] = []

    def write(self, key: str, body: Any = None, **fields: Any) -> None:
        self.patcher.submit(key, Write(f"/{key}", body if body is not None else {}, done=self.codes.append, **fields))

    async def all_written(self, seconds: float = 100) -> bool:
        async with task_of(self.patcher.run()):
            return await self.patcher.drain(seconds)

    def sent(self) -> list[tuple[str, Any]]:
        return [(request.path, request.body) for request in self.client.requests]


async def test_a_write_is_a_patch_on_a_connection_of_its_own_kind() -> None:
    at = Writing()
    at.write("a", {"status": {}})
    assert await at.all_written()

    (request,) = at.client.requests
    assert (request.method, request.path, request.body, request.pool) == ("PATCH", "/a", {"status": {}}, "status")
    assert (at.patcher.sent, at.codes) == (1, [200])


async def test_a_later_write_replaces_one_that_has_not_been_sent() -> None:
    at = Writing()
    for number in range(5):
        at.write("a", {"n": number})
    at.write("b", {})
    assert await at.all_written()

    assert at.sent() == [("/a", {"n": 4}), ("/b", {})]


async def test_a_write_that_has_become_pointless_is_not_sent() -> None:
    at = Writing()
    at.write("a")
    at.patcher.discard("a")
    at.patcher.discard("never seen")
    assert await at.all_written(1)

    assert at.sent() == []


async def test_only_so_many_are_under_way() -> None:
    at = Writing(at_once=3)
    for number in range(20):
        at.write(str(number))
    assert await at.all_written()

    assert (at.client.most_open, at.patcher.sent, at.patcher.waiting) == (3, 20, 0)


@pytest.mark.parametrize(
    "answer", [refused(429), refused(500), refused(503), refused(401), unreachable()], ids=["429", "500", "503", "401", "none"]
)
async def test_a_write_without_a_hearing_is_sent_again_after_a_pause(answer: Answer) -> None:
    answers = iter([answer])
    at = Writing(lambda _: next(answers, ok()), latency=0.0)
    at.write("a", {"n": 1})
    assert await at.all_written()

    assert [request.at for request in at.client.requests] == [0.0, 1.0]
    assert at.codes == [200]


async def test_the_pause_is_as_long_as_the_server_asks_and_half_a_minute_at_the_most() -> None:
    answers = iter([refused(429, retry_after=9.0), refused(429, retry_after=86400.0)])
    at = Writing(lambda _: next(answers, ok()), latency=0.0)
    at.write("a")
    assert await at.all_written()

    assert [request.at for request in at.client.requests] == [0.0, 9.0, 39.0]


async def test_a_newer_write_is_not_overwritten_by_one_that_is_sent_again() -> None:
    def answer(request: Request) -> Answer:
        if request.body == {"n": 1}:
            at.write("a", {"n": 2})
            return refused(503)
        return ok()

    at = Writing(answer, latency=0.0)
    at.write("a", {"n": 1})
    assert await at.all_written()

    assert at.sent() == [("/a", {"n": 1}), ("/a", {"n": 2})]


@pytest.mark.parametrize(("code", "loud"), [(404, False), (409, False), (400, True), (422, True)])
async def test_a_refusal_is_dropped_and_told_and_loud_only_where_somebody_must_act(
    code: int, loud: bool, caplog: pytest.LogCaptureFixture
) -> None:
    at = Writing(lambda _: refused(code, "because"))
    at.write("a")
    assert await at.all_written()

    assert (at.patcher.dropped, at.patcher.sent, at.codes) == (1, 0, [code])
    assert ("because" in caplog.text) is loud


async def test_a_drain_during_an_outage_gives_up_and_says_so() -> None:
    at = Writing(lambda _: unreachable())
    at.write("a")

    assert not await at.all_written(5)


async def test_a_defect_in_one_write_does_not_end_the_others(caplog: pytest.LogCaptureFixture) -> None:
    def done(_: int) -> None:
        raise RuntimeError("a defect")

    at = Writing(at_once=1)
    at.patcher.submit("a", Write("/a", {}, done=done))
    at.write("b")
    assert await at.all_written()

    assert at.sent() == [("/a", {}), ("/b", {})]
    assert "a defect" in caplog.text


async def test_what_may_not_be_written_any_more_is_forgotten_and_not_tried_again() -> None:
    at = Writing(lambda _: Withheld("no right"))
    at.write("a")
    assert await at.all_written()
    assert (len(at.client.requests), at.codes) == (1, [])


async def test_one_who_stands_down_forgets_what_has_not_been_sent() -> None:
    at = Writing()
    for name in "abc":
        at.write(name)
    at.patcher.withdraw()
    assert await at.all_written()
    assert at.sent() == []


async def test_rights_that_are_taken_for_a_while_delay_a_write_and_hold_up_no_other() -> None:
    answers = iter([refused(403)] * 3)
    at = Writing(lambda request: next(answers, ok()) if request.path == "/a" else ok())
    async with task_of(at.patcher.run()):
        at.write("a")
        at.write("b")
        await asyncio.sleep(60)
    assert [(request.path, round(request.at)) for request in at.client.requests] == [
        ("/a", 0),
        ("/b", 0),
        ("/a", 2),
        ("/a", 6),
        ("/a", 14),
    ]
    assert at.codes == [200, 200]


async def test_a_500_about_some_objects_holds_up_no_others() -> None:
    """A webhook for one namespace that is down answers so for every pod there."""
    at = Writing(lambda request: refused(500, "failed calling webhook") if request.path.startswith("/bad") else ok())
    for number in range(40):
        at.write(f"bad-{number}")
        at.write(f"good-{number}")
    async with task_of(at.patcher.run()):
        await asyncio.sleep(3)
        assert sorted(path for path, _ in at.sent() if path.startswith("/good")) == sorted(f"/good-{n}" for n in range(40))
        at.write("late")
        await asyncio.sleep(0.5)
        assert ("/late", {}) in at.sent()


class Hanging(StubClient):
    """Takes half a minute for what is about one namespace."""

    async def request(self, method: str, path: str, body: Any = None, *, pool: str = "read", **_: Any) -> Response:
        self.latency = 30.0 if "/hangs/" in path else 0.1
        return await super().request(method, path, body, pool=pool)


async def test_a_namespace_whose_writes_hang_never_has_all_workers_and_soon_only_one() -> None:
    client = Hanging(lambda _: ok())
    patcher = Patcher(client, clock=asyncio.get_running_loop().time)  # type: ignore[arg-type]
    told: list[str] = []

    def write(namespace: str, number: int) -> None:
        path = f"/api/v1/namespaces/{namespace}/pods/p{number}/status"
        patcher.submit(path, Write(path, {}, done=lambda _: told.append(namespace)))

    for number in range(20):
        write("hangs", number)
    for number in range(50):
        write("fine", number)
    async with task_of(patcher.run()):
        await asyncio.sleep(8.0)
        assert told == ["fine"] * 50
        await asyncio.sleep(30.0)
        for number in range(50, 80):
            write("fine", number)
        await asyncio.sleep(2.0)
        assert told.count("fine") == 80
        at_once = [request for request in client.requests if "/hangs/" in request.path and request.at > 29.0]
        assert len(at_once) == 1
        client.__class__ = StubClient  # it answers again
        client.latency = 0.1
        assert await patcher.drain(60)
    assert told.count("hangs") == 20


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("/api/v1/namespaces/a/pods/p/status", "pods/status a"),
        ("/apis/events.k8s.io/v1/namespaces/b/events", "events b"),
        ("/apis/treadle.dev/v1alpha1/queues/root.a/status", "queues/status"),
        ("/apis/treadle.dev/v1alpha1/namespaces/c/applications/x/status?force=true", "applications/status c"),
    ],
)
def test_writes_stand_in_lines_by_resource_and_namespace(path: str, line: str) -> None:
    assert line_of(path) == line


async def test_a_write_that_meets_a_500_again_and_again_is_sent_ever_less_often_and_never_given_up() -> None:
    at = Writing(lambda request: refused(500) if request.at < 3000 else ok(), latency=0.0)
    at.write("a")
    async with task_of(at.patcher.run()):
        await asyncio.sleep(4000)
    times = [round(request.at) for request in at.client.requests]
    assert times[:10] == [0, 1, 3, 7, 15, 31, 63, 127, 255, 511]
    assert {later - earlier for earlier, later in itertools.pairwise(times[9:])} == {300}
    assert at.codes == [200]


async def test_an_event_that_meets_a_500_again_and_again_is_given_up() -> None:
    at = Writing(lambda _: refused(500), latency=0.0)
    at.patcher.submit("event/a", Write("/events", {}, "application/json", "POST", done=at.codes.append))
    async with task_of(at.patcher.run()):
        await asyncio.sleep(4000)
    assert [round(request.at) for request in at.client.requests] == [0, 1, 3, 7, 15, 31, 63]
    assert (at.codes, at.patcher.waiting, at.patcher.dropped) == ([500], 0, 1)


@pytest.mark.parametrize("code", [403, 429, 500, 503])
@pytest.mark.parametrize("after", [0.05, 0.5])
async def test_a_write_that_becomes_pointless_is_not_sent_again_whether_it_is_under_way_or_waits(code: int, after: float) -> None:
    """The condition of a waiting pod must not be written when the pod is bound."""
    at = Writing(lambda _: refused(code))
    async with task_of(at.patcher.run()):
        at.write("a")
        await asyncio.sleep(after)
        at.patcher.discard("a")
        await asyncio.sleep(600)
    assert (at.sent(), at.patcher.waiting) == ([("/a", {})], 0)


async def test_a_newer_write_is_not_under_way_together_with_the_one_before() -> None:
    at = Writing(latency=1.0)
    async with task_of(at.patcher.run()):
        at.write("a", {"n": 1})
        await asyncio.sleep(0.5)
        at.write("a", {"n": 2})
        await asyncio.sleep(5)
    assert [(request.at, request.body) for request in at.client.requests] == [(0.0, {"n": 1}), (1.0, {"n": 2})]


async def test_a_newer_write_takes_the_place_of_one_that_was_refused_and_waits() -> None:
    at = Writing(lambda request: refused(403) if request.body == {"n": 1} else ok())
    async with task_of(at.patcher.run()):
        at.write("a", {"n": 1})
        await asyncio.sleep(1)
        at.write("a", {"n": 2})
        await asyncio.sleep(600)
    assert at.sent() == [("/a", {"n": 1}), ("/a", {"n": 2})]


async def test_an_event_for_want_of_a_right_is_given_up_when_that_does_not_come_back() -> None:
    at = Writing(lambda _: refused(403))
    at.patcher.submit("event/a", Write("/events", {}, "application/json", "POST", done=at.codes.append))
    async with task_of(at.patcher.run()):
        await asyncio.sleep(600)
    assert (len(at.client.requests), at.codes, at.patcher.dropped) == (7, [403], 1)


async def test_a_status_is_written_when_a_right_comes_back_however_late() -> None:
    at = Writing(lambda request: refused(403) if request.at < 3000 else ok(), latency=0.0)
    at.write("a", {"n": 1})
    async with task_of(at.patcher.run()):
        await asyncio.sleep(4000)
    times = [round(request.at) for request in at.client.requests]
    assert times[:8] == [0, 2, 6, 14, 30, 62, 126, 254]
    assert {later - earlier for earlier, later in itertools.pairwise(times[8:])} == {300}
    assert at.codes == [200]


async def test_a_write_that_met_a_namesake_of_its_pod_is_dropped_quietly(caplog: pytest.LogCaptureFixture) -> None:
    at = Writing(lambda _: refused(422, 'Pod "a" is invalid: metadata.uid: Invalid value: "x": field is immutable'))
    at.write("a")
    assert await at.all_written()
    assert (at.codes, caplog.text) == ([422], "")


async def test_writes_that_are_refused_for_want_of_a_right_are_told_of_now_and_then(caplog: pytest.LogCaptureFixture) -> None:
    at = Writing(lambda _: refused(403, 'cannot patch resource "pods/status"'))
    for number in range(5):
        at.write(f"api/v1/namespaces/ns/pods/p{number}/status")
    async with task_of(at.patcher.run()):
        await asyncio.sleep(1)
        assert [record.getMessage() for record in caplog.records] == [
            'PATCH pods/status is refused, and tried again: cannot patch resource "pods/status"'
        ]


async def test_a_namespace_that_ends_is_no_want_of_a_right(caplog: pytest.LogCaptureFixture) -> None:
    at = Writing(lambda _: refused(403, "unable to create new content in namespace ns because it is being terminated"))
    at.write("apis/events.k8s.io/v1/namespaces/ns/events", method="POST")
    async with task_of(at.patcher.run()):
        await asyncio.sleep(1)
    assert caplog.records == []


@pytest.mark.parametrize(
    ("path", "resource"),
    [
        ("/api/v1/namespaces/ns/pods/p/status", "pods/status"),
        ("/apis/treadle.dev/v1alpha1/queues/root.a/status", "queues/status"),
        ("/apis/events.k8s.io/v1/namespaces/ns/events", "events"),
        ("/api/v1/namespaces/ns", "namespaces"),
    ],
)
async def test_a_refusal_names_the_resource_and_no_object(path: str, resource: str) -> None:
    assert resource_of(path) == resource
