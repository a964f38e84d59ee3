"""What a service makes of the execution types that pods name, and what the next one makes of what it wrote."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator

import pytest

from kube.access import served, until
from kube.manifests import container, pod
from runtime.services import add_nodes, add_pods, bound, treadle
from treadle.core.events import RemovedLately
from treadle.core.model.opportunistic import Removal
from treadle.fakeapi import FakeApi


@pytest.fixture
async def api() -> AsyncIterator[FakeApi]:
    async with served(bookmark_seconds=0.05) as server:
        yield server


async def test_a_pod_that_says_opportunistic_and_requests_something_is_guaranteed_for_the_next_scheduler_as_well(
    api: FakeApi,
) -> None:
    add_nodes(api)
    labels = {"treadle.dev/application": "app", "treadle.dev/execution-type": "opportunistic"}
    meta = {"labels": labels, "annotations": {"treadle.dev/demand": "main cpu=1 memory=1Gi"}}
    async with treadle(api):
        api.create("pods", pod("a", container(cpu="1", memory="1Gi"), metadata=meta))
        await bound(api, "a")
    assert api.get("pods", "a")["metadata"]["annotations"]["treadle.dev/bound-as"] == "guaranteed"

    async with treadle(api) as service:
        add_pods(api, "b")
        await bound(api, "b")
        assert service.core.state.opportunistic.turning.asking == {}
        assert service.core.state.tree.queues["root.default"].usage[1] == 2000

    uid = api.get("pods", "a")["metadata"]["uid"]
    api.patch("pods", "a", {"metadata": {"annotations": {"treadle.dev/bound-as": None}}})
    async with treadle(api) as service:
        await until(lambda: uid in service.core.state.opportunistic.turning.asking, "its owner asks")


async def test_an_opportunistic_pod_that_does_not_say_so_any_more_stays_one_for_the_next_scheduler_as_well(api: FakeApi) -> None:
    add_nodes(api)
    labels = {"treadle.dev/application": "app", "treadle.dev/execution-type": "opportunistic"}
    meta = {"labels": labels, "annotations": {"treadle.dev/demand": "main cpu=1 memory=1Gi"}}
    async with treadle(api):
        api.create("pods", pod("a", container(cpu="0", memory="0"), metadata=meta))
        await bound(api, "a")
    found = api.get("pods", "a")["metadata"]
    assert found["annotations"]["treadle.dev/bound-as"] == "opportunistic"

    odd = {"labels": {"treadle.dev/execution-type": "guaranteed"}, "annotations": {"treadle.dev/demand": "main cpu=two"}}
    api.patch("pods", "a", {"metadata": odd})
    async with treadle(api) as service:
        await until(lambda: found["uid"] in service.core.state.opportunistic.of, "it counts as what it is")
        assert "cpu=two" in service.core.state.opportunistic.turning.unheeded[found["uid"]]


async def test_which_nodes_opportunistic_pods_had_to_leave_is_known_to_the_next_scheduler(api: FakeApi) -> None:
    api.create("schedulers", {"metadata": {"name": "treadle"}, "spec": {}})
    kept = Removal("ns/app", "n0", float(int(time.time()) + 500), 3)
    async with treadle(api) as service:
        service.engine.put(RemovedLately((kept,)))
        await until(lambda: "removals" in api.get("schedulers", "treadle").get("status", {}), "it is written")
    async with treadle(api) as service:
        await until(lambda: bool(service.core.view.removals()), "it is read")
        (found,) = service.core.view.removals()
        assert (found.application, found.node, found.times) == ("ns/app", "n0", 3)
        assert abs(found.until - kept.until) < 1.5
        assert service.core.state.opportunistic.back_off.nodes("ns/app", service.core.view.now) == ["n0"]
