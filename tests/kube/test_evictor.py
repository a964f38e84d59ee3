"""Victims are asked through the Eviction API; a budget is asked again for as long as there is patience, and never passed unasked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from kube.access import task_of
from kube.stub import Answer, Request, StubClient, ok, refused, unreachable
from treadle.core.effects import Evict, Expire
from treadle.core.events import EvictFailed, PodGone
from treadle.kube.evictor import Evictor
from treadle.kube.transport import Response

pytestmark = pytest.mark.looptime

BUDGET = "The disruption budget pdb needs 2 healthy pods and has 2 currently"


def blocked(retry_after: float | None = None) -> Response:
    details = {"causes": [{"reason": "DisruptionBudget", "message": BUDGET}]}
    return Response(429, msgspec.json.encode({"message": "Cannot evict pod", "details": details}), retry_after)


class Evicting:
    def __init__(self, answer: Callable[[Request], Answer], **options: Any) -> None:
        self.client = StubClient(answer, 0.01)
        self.events: list[EvictFailed | PodGone] = []
        self.told: list[str] = []
        self.evictor = Evictor(
            self.client,  # type: ignore[arg-type]
            self.events.append,
            told=lambda victim: self.told.append(victim.name),
            clock=asyncio.get_running_loop().time,
            **options,
        )

    async def evict(self, *names: str, patience: float = 15.0, delete: bool = False, seconds: float = 60.0) -> None:
        for name in names or ("a",):
            self.evictor.submit(Evict(f"uid-{name}", "ns", name, "root.hog", "somebody is owed it", patience, delete, 1))
        async with task_of(self.evictor.run()):
            await asyncio.sleep(seconds)

    def asked(self) -> list[str]:
        return [f"{request.method} {request.path}" for request in self.client.requests]


async def test_a_victim_is_asked_through_the_eviction_api_by_its_uid() -> None:
    at = Evicting(lambda _: ok(201))
    await at.evict()
    (request,) = at.client.requests
    assert (request.method, request.path, request.pool) == ("POST", "/api/v1/namespaces/ns/pods/a/eviction", "evict")
    assert request.body["deleteOptions"] == {"preconditions": {"uid": "uid-a"}}
    assert (at.evictor.evicted, at.told, at.events) == (1, ["a"], [])
    assert at.evictor.gone_from == {"root.hog": 1}


async def test_a_budget_is_asked_again_until_it_lets_the_pod_go() -> None:
    answers = iter([blocked(), blocked(), ok(201)])
    at = Evicting(lambda _: next(answers))
    await at.evict()
    assert len(at.client.requests) == 3
    assert (at.evictor.evicted, at.events) == (1, [])


async def test_a_pod_that_no_budget_lets_go_stays_and_the_budget_is_quoted() -> None:
    at = Evicting(lambda _: blocked())
    await at.evict(patience=15.0)
    assert at.events == [EvictFailed("uid-a", BUDGET)]
    assert at.client.requests[-1].at <= 15.0
    assert {request.method for request in at.client.requests} == {"POST"}
    assert (at.evictor.stayed, at.told) == (1, [])
    assert not at.evictor.gone_from, "it is not counted as preempted"


async def test_past_the_deadline_a_pod_is_deleted_if_the_policy_says_so() -> None:
    at = Evicting(lambda request: ok() if request.method == "DELETE" else blocked())
    await at.evict(delete=True)
    assert at.client.requests[-1].body == {"preconditions": {"uid": "uid-a"}}
    assert at.client.requests[-1].method == "DELETE"
    assert at.client.requests[-1].at > 8.0, "not before its budget had the time to let it go"
    assert (at.evictor.deleted, at.told, at.events) == (1, ["a"], [])


@pytest.mark.parametrize("status", [404, 409])
async def test_a_pod_that_is_gone_or_has_a_namesake_is_reported_gone(status: int) -> None:
    at = Evicting(lambda _: refused(status))
    await at.evict()
    assert at.events == [PodGone("uid-a")]


async def test_a_refusal_for_good_is_reported_at_once() -> None:
    at = Evicting(lambda _: refused(403, "pods/eviction is forbidden"))
    await at.evict()
    assert at.events == [EvictFailed("uid-a", "403 pods/eviction is forbidden")]
    assert len(at.client.requests) == 1


async def test_without_an_answer_it_is_tried_again() -> None:
    answers: list[Answer] = [unreachable(), refused(503), ok(201)]
    at = Evicting(lambda _: answers.pop(0))
    await at.evict()
    assert (at.evictor.evicted, at.events) == (1, [])


async def test_two_budgets_on_one_pod_are_an_obstacle_and_not_a_defect() -> None:
    at = Evicting(lambda _: refused(500, "This pod has more than one PodDisruptionBudget"))
    await at.evict()
    assert at.events == [EvictFailed("uid-a", "This pod has more than one PodDisruptionBudget")]


async def test_a_server_that_names_a_time_is_asked_then() -> None:
    answers = iter([blocked(retry_after=4.0), ok(201)])
    at = Evicting(lambda _: next(answers))
    await at.evict()
    assert at.client.requests[1].at == pytest.approx(4.0, abs=0.1)


async def test_nobody_is_asked_any_more_once_nobody_needs_the_room() -> None:
    needed = {"uid-a"}
    at = Evicting(lambda _: needed.clear() or blocked(), wanted=lambda uid: uid in needed)
    await at.evict()
    assert len(at.client.requests) == 1
    assert at.events == []


async def test_one_blocked_victim_holds_up_nobody_and_few_are_in_flight() -> None:
    at = Evicting(lambda request: blocked() if "/a/" in request.path else ok(201))
    await at.evict("a", *(f"b{number}" for number in range(30)), seconds=3.0)
    assert at.evictor.evicted == 30
    assert at.client.most_open <= 16


async def test_a_pod_whose_time_is_over_is_deleted_whatever_budgets_say() -> None:
    over: list[str] = []
    at = Evicting(
        lambda request: ok(200) if request.method == "DELETE" else blocked(),
        wanted=lambda _: False,
        over=lambda pod: over.append(pod.name),
    )
    at.evictor.submit(Expire("uid-a", "ns", "a", "root.hog", 1))
    await at.evict(seconds=1.0)
    (request,) = at.client.requests
    assert (request.method, request.path) == ("DELETE", "/api/v1/namespaces/ns/pods/a")
    assert request.body == {"preconditions": {"uid": "uid-a"}}
    assert (at.evictor.expired, at.events, at.told, over) == (1, [], [], ["a"])


async def test_one_that_is_gone_already_is_reported_and_one_that_cannot_be_deleted_is_left_to_the_core() -> None:
    answers = {"a": refused(404), "b": refused(403), "c": unreachable()}
    at = Evicting(lambda request: answers[request.path[-1]], wanted=lambda _: False)
    for name in answers:
        at.evictor.submit(Expire(f"uid-{name}", "ns", name, "root.hog", 1))
    await at.evict(seconds=1.0)
    assert at.events == [PodGone("uid-a")]
    assert at.evictor.expired == 0


async def test_one_who_stands_down_asks_nobody_any_more_and_says_that_they_stay() -> None:
    at = Evicting(lambda _: blocked())
    for name in ("a", "b"):
        at.evictor.submit(Evict(f"uid-{name}", "ns", name, "root.hog", "somebody is owed it", 60.0, False, 1))
    async with task_of(at.evictor.run()):
        await asyncio.sleep(1)
        asked = len(at.client.requests)
        at.evictor.submit(Evict("uid-c", "ns", "c", "root.hog", "somebody is owed it", 60.0, False, 1))
        at.evictor.withdraw()
        await asyncio.sleep(60)
        assert len(at.client.requests) == asked
        assert {event.uid for event in at.events} == {"uid-a", "uid-b", "uid-c"}
        at.evictor.submit(Evict("uid-d", "ns", "d", "root.hog", "somebody is owed it", 5.0, False, 1))
        await asyncio.sleep(10)
        assert len(at.client.requests) > asked, "it evicts again when it leads again"


async def test_evictions_that_are_refused_for_want_of_a_right_are_told_of_once(caplog: pytest.LogCaptureFixture) -> None:
    at = Evicting(lambda _: refused(403, 'cannot create resource "pods/eviction"'))
    await at.evict("a", "b", "c", seconds=5)
    assert [type(event) for event in at.events] == [EvictFailed] * 3
    warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert warnings == ['pods may not be evicted: 403 cannot create resource "pods/eviction"']


NO_EVICTION = refused(403, 'pods "a" is forbidden: User "treadle" cannot create resource "pods/eviction" in API group ""')
NO_DELETION = refused(403, 'pods "a" is forbidden: User "treadle" cannot delete resource "pods" in API group ""')


async def test_rights_that_are_missing_are_known_until_they_are_there() -> None:
    answers = [NO_EVICTION, ok(201)]
    at = Evicting(lambda _: answers.pop(0))
    assert at.evictor.problem == ""
    await at.evict("a")
    assert at.evictor.problem.startswith("pods may not be evicted: 403 ")
    await at.evict("b")
    assert at.evictor.problem == ""


async def test_a_right_to_delete_that_is_missing_is_known_from_victims_and_from_lifetimes() -> None:
    answers = {"DELETE": NO_DELETION, "POST": blocked()}
    at = Evicting(lambda request: answers[request.method])
    await at.evict(delete=True)
    assert at.evictor.problem.startswith("pods may not be deleted: 403 ")

    answers["DELETE"] = ok(200)
    await at.evict(delete=True)
    assert at.evictor.problem == ""

    answers["DELETE"] = NO_DELETION
    at.evictor.submit(Expire("uid-a", "ns", "a", "app", 1))
    async with task_of(at.evictor.run()):
        await asyncio.sleep(1.0)
    assert at.evictor.problem.startswith("pods may not be deleted: 403 ")


async def test_a_pod_that_a_webhook_keeps_says_nothing_of_our_rights() -> None:
    at = Evicting(lambda _: refused(403, 'admission webhook "keep" denied the request: not this one'))
    await at.evict()
    assert at.evictor.problem == ""
