"""What node agents tell: each is asked at its pod's address, and tells of the node where its pod is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from treadle.core.model.opportunistic import AgentSettings
from treadle.core.views.opportunistic import Wanted
from treadle.kube.transport import Response
from treadle.usage import agents as module
from treadle.usage.agents import Agents
from treadle.usage.source import NodeUse, PodUse
from usage.api import Api
from usage.pages import Pages

PODS = "/api/v1/namespaces/ours/pods"
SAMPLE = {
    "node": "somebody else",
    "at": 1000.25,
    "seconds": 1.0,
    "cpu": 1834,
    "memory": 5 << 30,
    "pressure": {"cpu": [1.24, 0, 123, 0], "memory": [250, -1, 0, 0], "io": [1, 1, 0, 0]},
    "pods": {"u1": [250, 1 << 20], "u2": [None, 3], "u3": [7, None], "u4": [None, None]},
}


def pod(node: str, address: str, **meta: Any) -> dict[str, Any]:
    return {"metadata": {"name": f"agent-{node}", **meta}, "spec": {"nodeName": node}, "status": {"podIP": address}}


def listed(*pods: dict[str, Any]) -> Response:
    return Response(200, json.dumps({"kind": "PodList", "items": pods}).encode())


@pytest.fixture
def pages() -> Iterator[Pages]:
    with Pages() as found:
        yield found


def asking(pages: Pages, **fields: Any) -> tuple[Api, Agents]:
    api = Api()
    pages.answers["/sample"] = lambda _: (200, json.dumps(SAMPLE).encode())
    api.answers[PODS] = listed(pod("a", "127.0.0.1"))
    return api, Agents(api, AgentSettings(port=pages.port, **fields), "ours", 60.0)  # type: ignore[arg-type]


async def test_an_agent_tells_of_the_node_where_its_pod_is_and_of_the_pods_that_are_wanted(pages: Pages) -> None:
    api, agents = asking(pages)
    found = await agents.look(Wanted(("a",), {("ns", str(number)): f"u{number}" for number in (1, 2, 4, 9)}))
    assert found.nodes == [
        NodeUse("a", (("cpu", 1834), ("memory", 5 << 30)), 1000.25, 1.0, (("cpu", 12, 0), ("memory", 1000, 0)))
    ]
    assert sorted(found.pods, key=lambda one: one.uid) == [
        PodUse("u1", (("cpu", 250), ("memory", 1 << 20)), 1000.25, 1.0),
        PodUse("u2", (("memory", 3),), 1000.25, 1.0),
    ]
    assert (found.trouble, found.partly) == ("", "")
    ((_, params),) = api.asked
    assert params["labelSelector"] == "app.kubernetes.io/component=agent,app.kubernetes.io/name=treadle-agent"
    await agents.close()


async def test_the_settings_say_where_agents_are(pages: Pages) -> None:
    api, agents = asking(pages, namespace="theirs", labels=(("k", "v"),))
    found = await agents.look(Wanted(("a",)))
    assert api.asked == [("/api/v1/namespaces/theirs/pods", {"labelSelector": "k=v", "fieldSelector": "status.phase=Running"})]
    assert found.trouble == "the agents' pods cannot be listed: 404 not found"


async def test_without_agents_that_is_the_trouble(pages: Pages) -> None:
    api, agents = asking(pages)
    api.answers[PODS] = listed(pod("a", "127.0.0.1", deletionTimestamp="2026-01-01T00:00:00Z"), pod("b", ""))
    assert (await agents.look(Wanted(("a",)))).trouble == (
        "no pod with the labels app.kubernetes.io/component=agent, app.kubernetes.io/name=treadle-agent runs in namespace ours: "
        "the chart makes them with agent.enabled"
    )


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (503, b'{"node":"a","problem":"not a cgroup v2 hierarchy"}', "a: not a cgroup v2 hierarchy"),
        (200, b'{"at": "now"}', "a: 200, and the answer is no sample"),
        (200, b"<html>", "a: 200, and the answer is no sample"),
        (404, b"{}", "a: it answers 404"),
    ],
)
async def test_an_agent_that_has_no_sample_is_told(pages: Pages, status: int, body: bytes, words: str) -> None:
    _, agents = asking(pages)
    pages.answers["/sample"] = lambda _: (status, body)
    found = await agents.look(Wanted(("a", "b")))
    assert found.trouble.startswith(f"1 of 1 node agents do not tell what is used: {words}")
    await agents.close()


async def test_nodes_without_an_agent_are_counted_and_one_that_fails_is_missing_by_itself(pages: Pages) -> None:
    api, agents = asking(pages)
    api.answers[PODS] = listed(pod("a", "127.0.0.1"), pod("b", "127.0.0.2"))
    found = await agents.look(Wanted(("a", "b", "c")))
    assert [one.node for one in found.nodes] == ["a"]
    assert found.partly.startswith("1 of 3 nodes have no agent; 1 of 2 node agents do not tell what is used: b: GET /sample")
    await agents.close()


async def test_an_agent_that_moved_is_found_again(pages: Pages, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "AGAIN", -1.0)
    api, agents = asking(pages)
    api.answers[PODS] = listed(pod("a", "127.0.0.2"))
    assert (await agents.look(Wanted(("a",)))).nodes == ()
    api.answers[PODS] = listed(pod("a", "127.0.0.1"))
    assert [one.node for one in (await agents.look(Wanted(("a",)))).nodes] == ["a"]
    await agents.close()


async def test_a_sample_without_a_rate_yet_tells_of_memory_alone(pages: Pages) -> None:
    _, agents = asking(pages)
    pages.answers["/sample"] = lambda _: (200, b'{"at": 5, "seconds": 0, "cpu": null, "memory": 7}')
    assert (await agents.look(Wanted(("a",)))).nodes == [NodeUse("a", (("memory", 7),), 5.0, 0.0)]
    await agents.close()
