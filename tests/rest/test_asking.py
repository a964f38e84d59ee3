"""Who may ask: the API server says whose a token is and what they may do."""

from __future__ import annotations

import asyncio

import aiohttp
import pytest

from kube.access import until
from rest.reviewing import ROBOT, Rest, resting, submission
from treadle.fakeapi import ApiError
from treadle.rest.reservations import BASE
from treadle.rest.serving import MOST_UNDER_WAY
from treadle.web.gate import Limits

UNKNOWN = (401, "Unable to obtain user name, user not authenticated")
EACH = [
    ("POST", "/new-reservation"),
    ("POST", "/submit"),
    ("POST", "/update"),
    ("POST", "/delete"),
    ("GET", "/list?queue=root.plan"),
]


@pytest.mark.parametrize(("method", "path"), EACH)
async def test_nobody_asks_without_a_token_or_with_one_that_is_not_known(rest: Rest, method: str, path: str) -> None:
    for token in ("", "stolen"):
        rest.token = token
        assert await rest.refusal(method, path) == UNKNOWN
    rest.token = ""
    _, _, headers = await rest.ask(method, path)
    assert headers["WWW-Authenticate"] == "Bearer"
    assert {review["kind"] for review in rest.api.reviews} == {"TokenReview"}


async def test_other_schemes_are_no_tokens(rest: Rest) -> None:
    rest.token = ""
    assert await rest.refusal("GET", "/list", headers={"Authorization": "Basic cm9ib3Q="}) == UNKNOWN
    assert rest.api.reviews == []


@pytest.mark.parametrize(
    ("method", "path", "verb"),
    [(*one, verb) for one, verb in zip(EACH, ("create", "create", "update", "delete", "list"), strict=True)],
)
async def test_each_request_needs_the_right_to_the_same_with_reservations_in_the_namespace(
    rest: Rest, method: str, path: str, verb: str
) -> None:
    rest.api.rights.remove((ROBOT, verb, "etl"))
    message = f"User {ROBOT} may not {verb} reservations.treadle.dev in namespace etl: by a test"
    assert await rest.refusal(method, path, None if method == "GET" else submission()) == (403, message)
    token, access = rest.api.reviews
    assert token["spec"] == {"token": "robot"}
    assert access["spec"] == {
        "user": ROBOT,
        "groups": ["system:serviceaccounts", "CN=a,OU=b"],
        "uid": "7",
        "extra": {"k": ["v"]},
        "resourceAttributes": {"group": "treadle.dev", "resource": "reservations", "verb": verb, "namespace": "etl"},
    }
    assert rest.stored() == []


async def test_the_namespace_is_the_one_that_is_named_or_the_service_accounts_own(rest: Rest) -> None:
    rest.api.create("namespaces", {"metadata": {"name": "ml"}})
    status, message = await rest.refusal("POST", "/submit?namespace=ml", submission())
    assert (status, message) == (403, f"User {ROBOT} may not create reservations.treadle.dev in namespace ml: by a test")
    rest.api.rights.add((ROBOT, "create", "ml"))
    rest.forget()
    assert (await rest.ask("POST", "/submit?namespace=ml", submission()))[0] == 202
    assert [one["metadata"]["namespace"] for one in rest.stored()] == ["ml"]
    rest.token = "alice"
    expected = "namespace: none is named, and alice is no service account; say which by ?namespace=NAME"
    assert await rest.refusal("POST", "/submit", submission()) == (400, expected)
    assert (await rest.ask("POST", "/submit?namespace=etl", submission()))[0] == 202


async def test_a_namespace_that_is_not_there_is_not_found(rest: Rest) -> None:
    rest.api.rights.add((ROBOT, "create", "gone"))
    assert await rest.refusal("POST", "/submit?namespace=gone", submission()) == (404, 'namespaces "gone" not found')


async def test_a_token_for_somebody_else_is_none_where_an_audience_is_wanted() -> None:
    async with resting("treadle") as rest:
        assert await rest.refusal("POST", "/new-reservation") == UNKNOWN
        assert rest.api.reviews[0]["spec"] == {"token": "robot", "audiences": ["treadle"]}
        rest.api.audiences = ["treadle"]
        rest.forget()
        assert (await rest.ask("POST", "/new-reservation"))[0] == 200


async def test_who_is_not_ready_answers_nobody(rest: Rest) -> None:
    rest.unready = "the first lists of pods and nodes"
    status, message = await rest.refusal("POST", "/submit", submission())
    assert (status, message) == (503, "nothing can be decided yet: the first lists of pods and nodes")
    assert rest.stored() == []


async def test_rights_that_treadle_itself_lacks_are_named(rest: Rest) -> None:
    async def refuse(method: str, path: str) -> None:
        if method == "POST" and path.endswith("/reservations"):
            raise ApiError(403, "Forbidden", 'cannot create resource "reservations"')

    rest.api.before = refuse
    expected = 'the API server does not let Treadle do this: cannot create resource "reservations"'
    assert await rest.refusal("POST", "/submit", submission()) == (503, expected)


async def test_an_api_server_that_does_not_answer_is_told_as_such(rest: Rest) -> None:
    await rest.api.stop()
    status, message = await rest.refusal("POST", "/submit", submission())
    assert (status, message[:43]) == (503, "the API server does not serve this now: POS")


async def test_what_the_api_servers_rules_refuse_is_told(rest: Rest) -> None:
    async def refuse(method: str, path: str) -> None:
        if method == "POST" and path.endswith("/reservations"):
            raise ApiError(422, "Invalid", "spec.queue: not today")

    rest.api.before = refuse
    assert await rest.refusal("POST", "/submit", submission()) == (400, "spec.queue: not today")


async def test_no_more_requests_are_under_way_than_are_bounded(rest: Rest) -> None:
    gate = asyncio.Event()

    async def wait(method: str, path: str) -> None:
        if method == "GET" and path.endswith("/reservations"):
            await gate.wait()

    rest.api.before = wait
    waiting = [asyncio.create_task(rest.ask("GET", "/list?queue=root.plan")) for _ in range(MOST_UNDER_WAY)]
    await until(lambda: rest.door._under_way == MOST_UNDER_WAY, "all under way")
    status, message = await rest.refusal("GET", "/list?queue=root.plan")
    assert (status, message) == (503, f"{MOST_UNDER_WAY} requests are under way, and no more are answered at once")
    gate.set()
    assert {status for status, _, _ in await asyncio.gather(*waiting)} == {200}


async def test_a_right_that_is_withdrawn_counts_no_longer_than_answers_are_kept(rest: Rest) -> None:
    assert (await rest.ask("POST", "/new-reservation"))[0] == 200
    rest.api.rights.remove((ROBOT, "create", "etl"))
    assert (await rest.ask("POST", "/new-reservation"))[0] == 200
    assert [review["kind"] for review in rest.api.reviews] == ["TokenReview", "SubjectAccessReview"]
    rest.forget()
    assert (await rest.refusal("POST", "/new-reservation"))[0] == 403


async def test_a_token_that_is_withdrawn_counts_no_longer_than_answers_are_kept(rest: Rest) -> None:
    assert (await rest.ask("POST", "/new-reservation"))[0] == 200
    del rest.api.tokens["robot"]
    rest.forget()
    assert await rest.refusal("POST", "/new-reservation") == UNKNOWN


async def test_the_api_server_is_asked_once_for_many_who_ask_the_same_at_once(rest: Rest) -> None:
    answers = await asyncio.gather(*(rest.ask("POST", "/new-reservation") for _ in range(20)))
    assert {status for status, _, _ in answers} == {200}
    assert len(rest.api.reviews) == 2


async def test_a_user_that_asks_too_often_is_told_when_to_come_again(rest: Rest) -> None:
    headers = {"Authorization": "Bearer robot"}
    async with aiohttp.ClientSession(headers=headers) as session:
        for _ in range(Limits().user_requests_burst + 20):
            async with session.post(f"{rest.url}{BASE}/new-reservation") as answer:
                status, text = answer.status, await answer.text()
            if status != 200:
                break
    assert (status, answer.headers["Retry-After"]) == (429, "1")
    assert f"User {ROBOT} sends too many requests" in text
    rest.token = "alice"
    assert (await rest.ask("POST", "/new-reservation?namespace=etl"))[0] == 200, "others are answered"
