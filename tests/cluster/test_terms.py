"""The judges of a history and of its terms find what must not happen, and nothing else."""

from __future__ import annotations

import pytest

from cluster.client import Json, fake_node
from cluster.control_plane import ControlPlane
from cluster.history import History
from cluster.terms import Bound, Told, judge
from cluster.treadle_process import pod

POD, OTHER = "default/p/1", "default/q/2"
FIRST = Told(10, "a", frozenset({POD}))
SUCCEEDED = Told(20, "b", frozenset({POD}))
DECIDED = Told(30, "b", frozenset({POD, OTHER}))


@pytest.mark.parametrize(
    ("binds", "senders", "late", "wrong"),
    [
        pytest.param([Bound(15, POD)], {"default/p": ["a"]}, 0, [], id="by the leader, announced"),
        pytest.param([Bound(25, POD)], {"default/p": ["a"]}, 1, [], id="by the former leader, before the other decided"),
        pytest.param([Bound(35, POD)], {"default/p": ["a"]}, 1, ["too late"], id="by the former leader, after the other decided"),
        pytest.param([Bound(35, OTHER)], {"default/q": ["b"]}, 0, [], id="by the successor"),
        pytest.param([Bound(15, OTHER)], {"default/q": ["a"]}, 0, ["not announced"], id="by the leader, not announced"),
        pytest.param([Bound(5, POD)], {"default/p": ["a"]}, 0, ["not announced"], id="before anybody led"),
        pytest.param([Bound(15, POD)], {}, 0, ["not once"], id="by nobody who is known"),
        pytest.param([Bound(15, POD)], {"default/p": ["a", "b"]}, 0, ["not once"], id="by two requests"),
        pytest.param([Bound(15, POD), Bound(16, POD)], {"default/p": ["a"]}, 0, ["not once"], id="twice"),
    ],
)
def test_each_bind_is_held_against_the_lease(
    binds: list[Bound], senders: dict[str, list[str]], late: int, wrong: list[str]
) -> None:
    verdict = judge([FIRST, SUCCEEDED, DECIDED], binds, senders)
    assert (verdict.late, [one.partition(":")[0] for one in verdict.wrong]) == (late, wrong)


def test_a_renewal_is_no_decision() -> None:
    verdict = judge([FIRST, SUCCEEDED, Told(22, "b", frozenset({POD}))], [Bound(25, POD)], {"default/p": ["a"]})
    assert (verdict.late, verdict.wrong) == (1, [])


def on(name: str, node: str, cpu: str = "1", memory: str = "1Gi") -> Json:
    body = pod(name, cpu=cpu, memory=memory, nodeName=node)
    return {**body, "metadata": {**body["metadata"], "uid": name}, "status": {}}


@pytest.mark.parametrize(
    ("pods", "wrong"),
    [
        pytest.param([on("p", "n"), on("q", "n")], [], id="they fit"),
        pytest.param([on("p", "n"), on("q", "n", cpu="1500m")], ["overfilled"], id="too much cpu"),
        pytest.param([on("p", "n"), on("q", "n", memory="1025Mi")], ["overfilled"], id="too much memory"),
        pytest.param([on(name, "n", cpu="10m", memory="8Mi") for name in "pqrs"], ["overfilled"], id="too many pods"),
        pytest.param([on("p", "n"), on("p", "m")], ["double"], id="from one node to another"),
        pytest.param([on("p", "n"), {**on("p", "n"), "status": {"phase": "Succeeded"}}, on("q", "n", "2", "2Gi")], [], id="one has ended"),
    ],
)  # fmt: skip
def test_each_bind_is_held_against_the_node(pods: list[Json], wrong: list[str]) -> None:
    history = History(ControlPlane())
    for name in ("n", "m"):
        history.tell("/api/v1/nodes", "ADDED", fake_node(name, "2", "2Gi", pods=3))
    for one in pods:
        history.tell("/api/v1/pods", "MODIFIED", one)
    assert [one.partition(":")[0] for one in history.wrong] == wrong
