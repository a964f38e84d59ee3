"""The webhook as a part of a running Treadle: it is served whether or not it is trusted yet, and the latter is said."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator

import pytest

from kube.access import served
from runtime.services import get_json, treadle
from treadle.fakeapi import FakeApi
from treadle.runtime.admission import WebhookOptions
from treadle.runtime.doors import CannotListen


@pytest.fixture
async def api() -> AsyncIterator[FakeApi]:
    async with served(bookmark_seconds=0.05) as server:
        yield server


def hook(port: int = 0, stamps: str = "") -> WebhookOptions:
    return WebhookOptions("127.0.0.1", port, ("127.0.0.1",), "missing", stamps)


async def test_a_configuration_that_is_not_there_is_said_and_hinders_nothing(api: FakeApi) -> None:
    async with treadle(api, listen="127.0.0.1:0", webhook=hook()) as service:
        assert service.webhook is not None
        assert service.webhook.url.startswith("https://127.0.0.1:")
        await service.webhook.look()
        status, details = await get_json(service, "/status")
        assert (status, details["ready"]) == (200, True)
        assert details["webhook"].startswith("MutatingWebhookConfiguration missing: 404")


async def test_a_copy_that_could_not_stamp_is_not_ready_and_goes_on_scheduling(api: FakeApi) -> None:
    async with treadle(api, listen="127.0.0.1:0", webhook=hook(stamps="stamps")) as service:
        assert service.webhook is not None
        await service.webhook.look()
        status, details = await get_json(service, "/status")
        assert (status, details["ready"], details["synced"]) == (200, False, True)
        assert "MutatingWebhookConfiguration stamps: 404" in service.unready()["webhook"]
        assert service.healthy() == "", "a restart would not help"
        service.webhook.trusted = True
        assert service.unready() == {}


async def test_a_port_in_use_is_named(api: FakeApi) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(CannotListen, match=f"cannot serve the webhook on 127.0.0.1:{port}: "):
            async with treadle(api, webhook=hook(port)):
                await asyncio.sleep(0)
