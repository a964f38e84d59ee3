"""The webhook: reviews in, patches out, over TLS that follows its certificate."""

from __future__ import annotations

import asyncio
import base64
import datetime as dt
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from admission.opportunistic_pods import CASES, Case, demand_of, patched, pod, resources_of
from admission.stamps import request
from kube.stub import Request, StubClient, ok, refused
from treadle.admission.certificates import RENEWED_AFTER, VALID_FOR
from treadle.admission.review import review
from treadle.admission.stamping import stamp
from treadle.runtime.admission import KNOWN_BEFORE, Webhook, WebhookOptions, webhook

NAMES = frozenset({"treadle"})
OPTIONS = WebhookOptions("127.0.0.1", 0, ("hook.svc", "127.0.0.1"), "hooks")


def asked(body: Any) -> bytes:
    return json.dumps(
        {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "u1", "object": body}}
    ).encode()


def operations_of(answer: dict[str, Any]) -> list[dict[str, Any]]:
    response = answer["response"]
    assert (response["uid"], response["allowed"]) == ("u1", True)
    if "patch" not in response:
        return []
    assert response["patchType"] == "JSONPatch"
    found: list[dict[str, Any]] = json.loads(base64.b64decode(response["patch"]))
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.sentence)
def test_a_review_is_answered_as_the_table_says(case: Case) -> None:
    before = pod("a", case.spec, case.metadata)
    after = patched(before, operations_of(review(asked(before), NAMES)))
    assert resources_of(after) == case.containers
    assert demand_of(after) == (case.demand if case.demand is not None else demand_of(before))


@pytest.mark.parametrize(
    "odd",
    [
        None,
        [],
        "pod",
        {
            "metadata": {"labels": {"treadle.dev/execution-type": "opportunistic"}},
            "spec": {"schedulerName": "treadle", "containers": [7]},
        },
    ],
)
def test_what_is_no_pod_is_let_through_as_it_is_and_its_owner_is_warned(odd: Any) -> None:
    answer = review(asked(odd), NAMES)
    assert operations_of(answer) == []
    assert "counts by its requests" in answer["response"]["warnings"][0]


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"request":{}}', b'{"request":null}'])
def test_what_is_no_review_is_refused(body: bytes) -> None:
    with pytest.raises(ValueError, match="not an AdmissionReview"):
        review(body, NAMES)


class Clock:
    def __init__(self) -> None:
        self.now = dt.datetime.now(dt.UTC)

    def __call__(self) -> dt.datetime:
        return self.now


class Configuration:
    """A MutatingWebhookConfiguration behind a client, which may refuse."""

    def __init__(self) -> None:
        self.bundle = ""
        self.refuses = ""
        self.client = StubClient(self.answer)

    def answer(self, request: Request) -> Any:
        if self.refuses:
            return refused(403, self.refuses)
        if request.method == "PATCH":
            self.bundle = request.body[1]["value"]
        return ok(200, {"metadata": {"resourceVersion": "1"}, "webhooks": [{"clientConfig": {"caBundle": self.bundle}}]})

    def trusting(self) -> ssl.SSLContext:
        return trusting(self.bundle)


def trusting(bundle: str) -> ssl.SSLContext:
    return ssl.create_default_context(cadata=base64.b64decode(bundle).decode())


class Several:
    """Configurations by their names, behind one client."""

    def __init__(self, *names: str) -> None:
        self.by_name = {name: Configuration() for name in names}
        self.client = StubClient(lambda request: self.by_name[request.path.rpartition("/")[2]].answer(request))


@asynccontextmanager
async def hooked(
    configuration: Configuration | Several, clock: Clock, options: WebhookOptions = OPTIONS
) -> AsyncIterator[Webhook]:
    async with webhook(configuration.client, options, lambda: NAMES, clock) as found:  # type: ignore[arg-type]
        yield found
    for _ in range(5):  # aborted transports close their sockets in the next turns of the loop
        await asyncio.sleep(0)


async def post(url: str, body: bytes, trusted: ssl.SSLContext, path: str = "/opportunistic") -> tuple[int, bytes]:
    async with aiohttp.ClientSession() as session, session.post(f"{url}{path}", data=body, ssl=trusted) as answer:
        found = answer.status, await answer.read()
        if answer.connection is not None and answer.connection.transport is not None:
            answer.connection.transport.abort()
        return found


async def test_the_port_answers_whoever_trusts_the_bundle() -> None:
    configuration = Configuration()
    async with hooked(configuration, Clock()) as hook:
        assert hook.problem == "the caBundle has not been written yet"
        assert await hook.look() is True
        assert hook.problem == ""
        body = pod("a", CASES[0].spec, {"annotations": {"large": "x" * 1_000_000}})
        status, content = await post(hook.url, asked(body), configuration.trusting())
        assert status == 200
        assert demand_of(patched(body, operations_of(json.loads(content)))) == CASES[0].demand
        assert (await post(hook.url, b"nonsense", configuration.trusting()))[0] == 400


async def test_a_certificate_is_renewed_in_time_and_served_once_it_is_trusted() -> None:
    configuration, clock = Configuration(), Clock()
    async with hooked(configuration, clock) as hook:
        assert await hook.look()
        before = configuration.bundle
        clock.now += RENEWED_AFTER + dt.timedelta(minutes=1)
        configuration.refuses = "not now"
        assert await hook.look() is False
        assert "hooks" in hook.problem
        assert "not now" in hook.problem
        review_ = asked(pod("a", CASES[0].spec))
        assert (await post(hook.url, review_, configuration.trusting()))[0] == 200, "the old one is still served and trusted"
        configuration.refuses = ""
        assert await hook.look() is True
        assert hook.problem == ""
        both = base64.b64decode(configuration.bundle)
        assert both.startswith(base64.b64decode(before))
        assert both.count(b"BEGIN CERTIFICATE") == 2
        assert VALID_FOR > RENEWED_AFTER


async def test_a_bundle_that_was_emptied_is_filled_again() -> None:
    configuration = Configuration()
    async with hooked(configuration, Clock()) as hook:
        await hook.look()
        configuration.bundle = ""
        assert await hook.look() is True
        assert (await post(hook.url, asked(pod("a", CASES[0].spec)), configuration.trusting()))[0] == 200


BOTH = WebhookOptions("127.0.0.1", 0, ("127.0.0.1",), "hooks", "stamps")


async def test_stamps_have_a_path_of_their_own_and_what_cannot_be_stamped_is_refused_there() -> None:
    configuration = Configuration()
    async with hooked(configuration, Clock()) as hook:
        await hook.look()
        asked_for = request("", "pods", {})
        body = json.dumps({"request": asked_for}).encode()
        status, content = await post(hook.url, body, configuration.trusting(), "/stamp-identity")
        answer = json.loads(content)["response"]
        assert (status, answer["allowed"]) == (200, True)
        assert json.loads(base64.b64decode(answer["patch"])) == stamp(asked_for)
        wrong = json.dumps({"request": {**asked_for, "operation": "UPDATE"}}).encode()
        status, content = await post(hook.url, wrong, configuration.trusting(), "/stamp-identity")
        assert (status, json.loads(content)["response"]["allowed"]) == (200, False)


async def test_a_copy_is_trusted_when_it_is_in_the_bundle_for_stamps_and_stays_so() -> None:
    both, clock = Several("hooks", "stamps"), Clock()
    async with hooked(both, clock, BOTH) as hook:
        assert hook.trusted is False
        both.by_name["stamps"].refuses = "may not get it"
        assert await hook.look() is False
        assert (hook.trusted, "MutatingWebhookConfiguration stamps" in hook.problem) == (False, True)
        assert both.by_name["hooks"].bundle, "the other one has it"
        both.by_name["hooks"].refuses, both.by_name["stamps"].refuses = "gone", ""
        assert await hook.look() is False
        assert (hook.trusted, "MutatingWebhookConfiguration hooks" in hook.problem) == (True, True)
        assert both.by_name["stamps"].bundle == both.by_name["hooks"].bundle
        both.by_name["stamps"].refuses = "cannot be reached"
        await hook.look()
        assert hook.trusted, "the API server has the certificate still"
    async with hooked(Configuration(), Clock()) as hook:
        assert hook.trusted, "nothing has to be stamped"
    async with hooked(only := Several("stamps"), Clock(), WebhookOptions("127.0.0.1", 0, ("127.0.0.1",), "", "stamps")) as hook:
        assert await hook.look() is True
        assert only.by_name["stamps"].bundle


async def test_a_fresh_certificate_is_served_when_api_servers_have_had_time_to_see_it() -> None:
    both, clock = Several("hooks", "stamps"), Clock()
    clock.now -= RENEWED_AFTER  # so that what is fresh is valid by the clock of this machine, which clients go by
    review_ = asked(pod("a", CASES[0].spec))

    async def accepted(bundle: str) -> bool:
        try:
            return (await post(hook.url, review_, trusting(bundle)))[0] == 200
        except aiohttp.ClientConnectorCertificateError:
            return False

    async with hooked(both, clock, BOTH) as hook:
        assert await hook.look()
        old = both.by_name["stamps"].bundle
        clock.now += RENEWED_AFTER
        both.by_name["stamps"].refuses = "not now"
        assert await hook.look() is False
        clock.now += 2 * KNOWN_BEFORE
        assert await hook.look() is False
        assert await accepted(old), "it is not in every bundle yet"
        both.by_name["stamps"].refuses = ""
        assert await hook.look() is True
        for one in both.by_name.values():
            assert base64.b64decode(one.bundle).count(b"BEGIN CERTIFICATE") == 2, (
                "one fresh certificate was made, not one each time"
            )
        clock.now += KNOWN_BEFORE - dt.timedelta(seconds=1)
        assert await hook.look() is True
        assert await accepted(old)
        clock.now += dt.timedelta(seconds=1)
        assert await hook.look() is True
        assert not await accepted(old)
        assert await accepted(both.by_name["stamps"].bundle)
