"""Samples as metrics.k8s.io tells them: read exactly, or passed over."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from treadle.core.views.opportunistic import Wanted
from treadle.kube.transport import Response
from treadle.usage.metrics_api import MetricsApi, read, read_pods, trouble, window_of
from treadle.usage.source import NodeUse, PodUse
from usage.api import Api


def listed(*items: Any) -> bytes:
    return json.dumps({"kind": "NodeMetricsList", "apiVersion": "metrics.k8s.io/v1beta1", "items": items}).encode()


def one(name: str = "n", cpu: str = "137458931n", memory: str = "2097152Ki", **fields: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "creationTimestamp": "2026-01-01T00:00:15Z", "labels": {}},
        "timestamp": "1970-01-01T00:01:00Z",
        "window": "15.021s",
        "usage": {"cpu": cpu, "memory": memory},
        **fields,
    }


def test_a_sample_is_read_with_its_time_and_window() -> None:
    assert list(read(listed(one()))) == [NodeUse("n", (("cpu", 138), ("memory", 2 << 30)), 60.0, 15.021)]


@pytest.mark.parametrize(
    "bad",
    [
        one(cpu="much"),
        one(timestamp="yesterday"),
        one(timestamp=None),
        one(timestamp="1970-01-01T00:01:00"),
        one(usage={}),
        one(usage={"gpu": "1"}),
        one(usage=None),
        one(metadata={"name": ""}),
        one(metadata=7),
        7,
        None,
    ],
)
def test_what_cannot_be_read_of_a_node_is_passed_over(bad: Any) -> None:
    assert [found.node for found in read(listed(one("a"), bad, one("b")))] == ["a", "b"]


def test_one_that_has_less_than_nothing_has_nothing() -> None:
    assert next(iter(read(listed(one(cpu="-1"))))).usage[0] == ("cpu", 0)


def of_pod(name: str, *containers: Any, namespace: str = "ns", **fields: Any) -> dict[str, Any]:
    used = [{"name": str(at), "usage": one} for at, one in enumerate(containers)]
    meta = {"name": name, "namespace": namespace}
    return {"metadata": meta, "timestamp": "1970-01-01T00:01:00Z", "window": "15s", "containers": used, **fields}


def test_a_pod_uses_what_its_containers_do_and_others_than_those_wanted_are_passed_over() -> None:
    half, bad = {"cpu": "500m", "memory": "1Mi"}, {"cpu": "much"}
    body = listed(
        of_pod("p", half, half), of_pod("q", half, namespace="other"), of_pod("r", half, bad), of_pod("s"), of_pod("t", half)
    )
    wanted = {("ns", name): f"uid-{name}" for name in "pqrs"}
    assert list(read_pods(body, wanted)) == [PodUse("uid-p", (("cpu", 1000), ("memory", 2 << 20)), 60.0, 15.0)]


@pytest.mark.parametrize("wanted", [Wanted(("n",)), Wanted(("n",), {("ns", "p"): "uid-p"})])
async def test_pods_are_listed_only_where_some_are_wanted(wanted: Wanted) -> None:
    api = Api()
    api.answers["/apis/metrics.k8s.io/v1beta1/nodes"] = Response(200, listed(one()))
    found = await MetricsApi(api).look(wanted)  # type: ignore[arg-type]
    assert len(found.nodes) == 1
    assert len(api.asked) == 1 + bool(wanted.pods)
    why = "the API server does not serve metrics.k8s.io/v1beta1 (metrics-server does): 404 not found"
    assert found.partly == (why if wanted.pods else ""), "nodes are known all the same"


@pytest.mark.parametrize("body", [b"", b"[]", b'{"items": 7}', b"<html>"])
def test_what_is_no_list_is_said_to_be_none(body: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        list(read(body))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("15s", 15.0), ("1m0.5s", 60.5), ("1h", 3600.0), ("9h", 3600.0), ("500ms", 0.5), ("", 0.0), ("soon", 0.0), ("5", 0.0)],
)
def test_windows_are_durations_as_go_writes_them(text: str, seconds: float) -> None:
    assert window_of(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (404, "does not serve metrics.k8s.io/v1beta1"),
        (403, "the right to list nodes of metrics.k8s.io is missing"),
        (503, "metrics.k8s.io does not answer: 503 down"),
    ],
)
def test_an_answer_without_samples_is_told_with_what_is_missing(status: int, words: str) -> None:
    assert words in trouble(Response(status, b'{"message": "down"}'))
    assert trouble(Response(200, b"{}")) == ""
