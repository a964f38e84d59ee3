"""Pods and nodes one by one, told to whoever may see them; answers that name their version."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from core.builders import Scenario, a_node
from rest.telling import Told, listed, telling
from treadle.core.events import BindDone, NodeSeen, PodSeen
from treadle.core.model import Settings, Taint
from treadle.rest.state import NODES, PODS

EPOCH = 1_900_000_000.0


def busy() -> Scenario:
    """Two nodes, one of them cordoned; etl has two of three pods on the other, web's needs more than that has, another scheduler has a core."""
    s = Scenario(Settings(epoch=EPOCH)).node("n", cpu=3)
    s.tell(NodeSeen(a_node("c", cpu=8, unschedulable=True, taints=(Taint("k", "v", "NoExecute"),), labels={"zone": "a"})))
    s.queue("root", submit=listed(), administer=listed("boss"))
    s.queue("root.data", view=listed("ann"), submit=listed("*")).queue("root.data.etl")
    s.queue("root.web", view=listed(namespaces=("shop",)), submit=listed("*"))
    s.wait(10).pod("foreign", scheduler="other", node="n", application="")
    s.pods(3, "e", "root.data.etl", application="etl").pod("w", "root.web", application="web", user="wim", cpu=4)
    s.wait(5)
    for bind in s.plan():
        s.tell(BindDone(bind.uid))
    s.core.refresh_shares(s.now)
    return s


@pytest.fixture
async def told() -> AsyncIterator[Told]:
    async with telling(busy()) as one:
        yield one


async def pods(told: Told, who: str, **query: str) -> list[str]:
    return [one["name"] for one in await told.list(who, PODS, "pods", **query)]


async def test_pods_are_seen_by_their_queues_or_by_the_right_to_list_them_in_their_namespace(told: Told) -> None:
    assert await pods(told, "ann") == ["e-0", "e-1", "e-2"]
    assert await pods(told, "boss") == ["e-0", "e-1", "e-2", "w"]
    assert await pods(told, "eve") == await pods(told, "eve", namespace="ns") == []
    told.api.rights.add(("shop", "list", "ns"))
    assert await pods(told, "shop", namespace="ns") == ["w"], "the right to list applications shows no pods"
    told.api.core_rights.add(("bob", "list", "pods", "ns"))
    assert await pods(told, "bob") == []
    assert await pods(told, "bob", namespace="ns") == ["e-0", "e-1", "e-2", "w"]
    assert (await told.refusal("eve", PODS, queue="root.web"))[0] == 403


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ({"queue": "root.data"}, ["e-0", "e-1", "e-2"]),
        ({"queue": "root.web", "state": "Waiting"}, ["w"]),
        ({"application": "ns/etl"}, ["e-0", "e-1", "e-2"]),
        ({"application": "other/etl"}, []),
        ({"application": "ns/etl", "namespace": "other"}, []),
        ({"node": "n"}, ["e-0", "e-1"]),
        ({"node": "c"}, []),
        ({"node": "gone"}, []),
        ({"state": "Placed"}, ["e-0", "e-1"]),
        ({"state": "Waiting", "namespace": "ns"}, ["e-2", "w"]),
        ({"namespace": "n"}, []),
    ],
)
async def test_pods_are_told_of_one_queue_application_namespace_node_or_state(
    told: Told, query: dict[str, str], names: list[str]
) -> None:
    assert await pods(told, "boss", **query) == names


async def test_a_pod_says_where_it_is_since_when_and_why_it_waits(told: Told) -> None:
    found = {one["name"]: one for one in await told.list("boss", PODS, "pods")}
    placed, waits = found["e-0"], found["w"]
    assert (placed["state"], placed["node"], placed["reason"]) == ("Placed", "n", "Placed")
    assert (placed["since"], waits["since"]) == ("2030-03-17T17:46:55Z", "2030-03-17T17:46:50Z")
    assert (placed["application"], placed["queue"], placed["priority"]) == ("ns/etl", "root.data.etl", 0)
    assert placed["requests"]["cpu"] == "1"
    assert (waits["state"], waits["reason"], "node" in waits, waits["user"]) == ("Waiting", "Unschedulable", False, "wim")
    assert "1 Insufficient cpu" in waits["message"]


async def test_pods_are_told_in_pages_over_applications(told: Told) -> None:
    seen, after = [], ""
    for _ in range(4):
        _, said = await told.ask("boss", PODS, limit="1", **({"continue": after} if after else {}))
        seen.append([one["name"] for one in said["pods"]])
        after = said["continue"]
        if not after:
            break
    assert seen == [["e-0"], ["e-1"], ["e-2"], ["w"]]


async def test_nodes_are_told_to_who_may_list_them_or_view_all_queues(told: Told) -> None:
    assert await told.refusal("boss", NODES) == (403, "User boss may neither list nodes nor view all queues")
    told.api.core_rights.add(("ann", "list", "nodes", ""))
    told.api.rights.add(("eve", "view", ""))
    for who in ("ann", "eve"):
        assert [one["name"] for one in await told.list(who, NODES, "nodes")] == ["c", "n"]


async def test_a_node_says_what_it_has_who_has_it_and_whether_pods_may_go_there(told: Told) -> None:
    told.api.core_rights.add(("ann", "list", "nodes", ""))
    cordoned, node = await told.list("ann", NODES, "nodes")
    assert (cordoned["state"], cordoned["labels"], cordoned["partition"]) == ("Cordoned", {"zone": "a"}, "")
    assert cordoned["taints"] == [{"key": "k", "value": "v", "effect": "NoExecute"}]
    assert cordoned["used"] == {}
    assert (node["state"], node["allocatable"]["cpu"], node["used"]["cpu"]) == ("Schedulable", "3", "3")
    assert (node["used"]["pods"], node["free"]["pods"], node["usedByOthers"]["cpu"]) == ("3", "107", "1")
    assert "cpu" not in node["free"]
    assert [one["name"] for one in await told.list("ann", NODES, "nodes", state="Cordoned")] == ["c"]
    assert await told.list("ann", NODES, "nodes", partition="gpu") == []
    _, said = await told.ask("ann", NODES, limit="1")
    assert ([one["name"] for one in said["nodes"]], said["continue"]) == (["c"], "c")
    _, said = await told.ask("ann", NODES, **{"limit": "1", "continue": "c"})
    assert ([one["name"] for one in said["nodes"]], said["continue"]) == (["n"], "")


@pytest.mark.parametrize(
    ("path", "query", "words"),
    [
        (PODS, {"state": "waiting"}, "state: 'waiting' is not known; allowed are Waiting, Placed"),
        (PODS, {"application": "etl"}, "application: 'etl' is not NAMESPACE/NAME"),
        (PODS, {"podd": "x"}, "podd: unknown parameter; allowed are queue, namespace, application, node, state, limit, continue"),
        (NODES, {"state": "x"}, "state: 'x' is not known; allowed are Schedulable, Cordoned, NotReady, HeldOff"),
    ],
)
async def test_what_makes_no_sense_is_refused_as_problem_details(
    told: Told, path: str, query: dict[str, str], words: str
) -> None:
    assert await told.refusal("boss", path, **query) == (400, words)
    assert told.last == {"title": "Bad Request", "status": 400, "detail": words, "instance": path}
    assert told.headers["Content-Type"] == "application/problem+json"


async def test_an_answer_that_the_client_has_is_not_sent_again(told: Told) -> None:
    async def status(version: str) -> tuple[int, str, bytes]:
        headers = {"Authorization": "Bearer boss", "If-None-Match": version}
        async with aiohttp.ClientSession() as session, session.get(told.url + PODS, headers=headers) as answer:
            return answer.status, answer.headers["ETag"], await answer.read()

    code, tag, body = await status('"other"')
    assert code == 200
    assert body
    for known in (tag, f"W/{tag}", f'"x", {tag}', "*"):
        assert await status(known) == (304, tag, b"")
    told.scenario.tell(PodSeen(told.scenario.core.state.pods["w"].spec, known=False)).gone("w")
    changed: Any = await status(tag)
    assert changed[0] == 200
    assert changed[1] != tag
