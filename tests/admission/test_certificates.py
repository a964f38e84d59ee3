"""Certificates of our own, and the bundle of several copies."""

from __future__ import annotations

import asyncio
import base64
import datetime as dt
import json
import ssl
from typing import Any

import pytest

from kube.stub import Request, StubClient, ok, refused
from treadle.admission.bundle import MOST, publish, with_ours
from treadle.admission.certificates import VALID_FOR, Certificate, load, make
from treadle.kube.errors import ApiError

NOW = dt.datetime(2026, 11, 25, 12, tzinfo=dt.UTC)
NAME = "treadle-opportunistic"


def certificate(age: dt.timedelta = dt.timedelta()) -> Certificate:
    return make(("hook.treadle-system.svc",), NOW - age)


def bundle_of(configuration: dict[str, Any], index: int = 0) -> list[str]:
    text = base64.b64decode(configuration["webhooks"][index]["clientConfig"].get("caBundle", "")).decode()
    return [f"{one}-----END CERTIFICATE-----" for one in text.split("-----END CERTIFICATE-----\n") if one]


def pem(one: Certificate) -> str:
    return one.pem.decode().strip()


async def handshake(trusted: bytes, host: str, serving: ssl.SSLContext) -> None:
    """Connect as the API server does: by a name, trusting a bundle."""
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=serving)
    async with server:
        context = ssl.create_default_context(cadata=trusted.decode())
        port = server.sockets[0].getsockname()[1]
        _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname=host)
        writer.close()


async def test_whoever_trusts_the_bundle_trusts_each_copy_by_its_name_and_by_no_other() -> None:
    now = dt.datetime.now(dt.UTC)
    first, second = make(("hook.svc", "127.0.0.1"), now), make(("hook.svc",), now)
    bundle = with_ours(with_ours(b"", first, now), second, now)
    for one in (first, second):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        load(context, one)
        await handshake(bundle, "hook.svc", context)
    with pytest.raises(ssl.SSLCertVerificationError, match="mismatch"):
        await handshake(bundle, "other.svc", context)
    with pytest.raises(ssl.SSLCertVerificationError):
        await handshake(first.pem, "hook.svc", context)


def test_a_bundle_keeps_what_is_valid_and_drops_what_has_ended_or_is_no_certificate() -> None:
    old, other, ours = certificate(VALID_FOR), certificate(), certificate()
    rubbish = b"-----BEGIN CERTIFICATE-----\nbm90aGluZw==\n-----END CERTIFICATE-----\n"
    found = with_ours(old.pem + b"text\n" + rubbish + other.pem, ours, NOW)
    assert found == other.pem + ours.pem
    assert with_ours(found, ours, NOW) == found


def test_a_copy_that_restarts_again_and_again_does_not_fill_the_bundle() -> None:
    bundle = b""
    for minutes in range(MOST + 5):
        bundle = with_ours(bundle, make(("h",), NOW + dt.timedelta(minutes=minutes)), NOW)
    assert bundle.count(b"BEGIN CERTIFICATE") == MOST


class Server:
    """One MutatingWebhookConfiguration behind a scripted client; ``meanwhile`` happens before the next write."""

    def __init__(self, *webhooks: dict[str, Any]) -> None:
        self.object: dict[str, Any] = {"metadata": {"name": NAME, "resourceVersion": "1"}, "webhooks": list(webhooks)}
        self.writes = 0
        self.meanwhile: list[Any] = []
        self.client = StubClient(self.answer)

    def answer(self, request: Request) -> Any:
        if request.method == "GET":
            return ok(200, self.object)
        if self.meanwhile:
            self.meanwhile.pop()()
        test, *operations = request.body
        assert (test["op"], test["path"]) == ("test", "/metadata/resourceVersion")
        if test["value"] != self.object["metadata"]["resourceVersion"]:
            return refused(422, "the test failed")
        for operation in operations:
            _, _, index, _, key = operation["path"].split("/")
            self.object["webhooks"][int(index)]["clientConfig"][key] = operation["value"]
        self.wrote()
        return ok(200, self.object)

    def wrote(self) -> None:
        self.writes += 1
        self.object["metadata"]["resourceVersion"] = str(self.writes + 1)


def hook(bundle: bytes = b"") -> dict[str, Any]:
    return {"clientConfig": {"caBundle": base64.b64encode(bundle).decode()} if bundle else {}}


async def test_our_certificate_is_put_into_every_webhook_once() -> None:
    server, ours, other = Server(hook(), hook(certificate().pem)), certificate(), certificate()
    server.object["webhooks"][1] = hook(other.pem)
    assert await publish(server.client, NAME, ours, NOW) is True
    assert bundle_of(server.object) == [pem(ours)]
    assert bundle_of(server.object, 1) == [pem(other), pem(ours)]
    assert await publish(server.client, NAME, ours, NOW) is False
    assert server.writes == 1


async def test_of_two_copies_that_write_at_once_neither_is_lost() -> None:
    server, ours, other = Server(hook()), certificate(), certificate()

    def written_by_the_other() -> None:
        server.object["webhooks"][0] = hook(other.pem)
        server.wrote()

    server.meanwhile = [written_by_the_other]
    assert await publish(server.client, NAME, ours, NOW) is True
    assert sorted(bundle_of(server.object)) == sorted([pem(other), pem(ours)])


async def test_a_configuration_that_is_not_there_or_may_not_be_written_is_said() -> None:
    client = StubClient(lambda _: refused(403, "may not get it"))
    with pytest.raises(ApiError, match="may not get it"):
        await publish(client, NAME, certificate(), NOW)


async def test_one_that_others_write_all_the_time_is_given_up_for_now() -> None:
    client = StubClient(lambda request: ok(200, Server(hook()).object) if request.method == "GET" else refused(409, "conflict"))
    with pytest.raises(ApiError, match="was written by others"):
        await publish(client, NAME, certificate(), NOW)
    assert json.dumps([request.method for request in client.requests]) == json.dumps(["GET", "PATCH"] * 5)
