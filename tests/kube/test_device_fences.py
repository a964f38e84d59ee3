"""A claim that a former leader was giving devices is written to, so that what comes late for it is refused."""

from __future__ import annotations

import asyncio
import copy
from datetime import UTC, datetime

import pytest

from kube.claim_server import Server
from treadle.kube.device_fences import FENCED, DeviceFences
from treadle.kube.doubts import Asked

pytestmark = pytest.mark.looptime
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def fences(server: Server) -> DeviceFences:
    return DeviceFences(server, lambda: NOW)  # type: ignore[arg-type]


def asked(name: str, uid: str = "") -> Asked:
    return Asked(uid or f"uid-{name}", "ns", name)


async def test_a_write_that_was_sent_before_is_refused_after_the_fence() -> None:
    server = Server()
    stray = copy.deepcopy(server.have("c"))["metadata"]["resourceVersion"]
    at = fences(server)
    newest = await at.settle([asked("c")])
    late = await server.request(
        "PATCH", "/namespaces/ns/resourceclaims/c/status", {"metadata": {"resourceVersion": stray}, "status": {"allocation": {}}}
    )
    assert (late.status, at.fenced) == (409, 1)
    assert newest == int(server.claims["c"]["metadata"]["resourceVersion"])
    assert server.claims["c"]["metadata"]["annotations"] == {FENCED: NOW.isoformat()}


async def test_the_newest_version_of_all_is_returned_so_that_what_was_taken_before_is_waited_for() -> None:
    server = Server()
    for name in "abc":
        server.have(name)
    newest = await fences(server).settle(asked(name) for name in "abc")
    assert newest == max(int(one["metadata"]["resourceVersion"]) for one in server.claims.values())


async def test_without_claims_nothing_is_asked() -> None:
    server = Server()
    assert (await fences(server).settle([]), server.log) == (0, [])


async def test_a_claim_that_is_gone_or_another_of_its_name_needs_no_fence() -> None:
    server = Server()
    server.have("c")
    at = fences(server)
    assert await at.settle([asked("c", "uid-of-before"), asked("gone")]) == 0
    assert at.fenced == 0


@pytest.mark.parametrize("faults", [["lost"], ["unheard", "lost"], [503, 429], [409]])
async def test_a_fence_is_tried_until_it_is_known_to_stand(faults: list[str | int]) -> None:
    server = Server()
    server.have("c")
    server.faults = list(faults)
    async with asyncio.timeout(60):
        assert await fences(server).settle([asked("c")]) > 0
    assert FENCED in server.claims["c"]["metadata"]["annotations"]


async def test_a_claim_that_may_not_be_written_to_stops_nobody(caplog: pytest.LogCaptureFixture) -> None:
    server = Server()
    server.have("c")
    server.faults = [403]
    assert await fences(server).settle([asked("c")]) == 0
    assert "resourceclaim ns/c cannot be fenced, and is left as it is" in caplog.text
