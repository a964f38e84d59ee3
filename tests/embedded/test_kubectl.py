"""A normal kubectl against the embedded API server."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from chart.binaries import program
from cluster.client import fake_node
from treadle.fakeapi import FakeApi, Ticker

Kubectl = Callable[..., Awaitable[str]]

MANIFEST = """
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec:
  schedulerName: treadle
  containers: [{name: main, image: none, resources: {requests: {cpu: "1"}}}]
---
apiVersion: treadle.dev/v1alpha1
kind: Queue
metadata: {name: root.dev}
spec: {fair: {weight: "2"}}
"""


@pytest.fixture
async def api() -> AsyncIterator[FakeApi]:
    api = FakeApi()
    api.create("nodes", fake_node("n1", "4", "8Gi"))
    await api.start()
    yield api
    await api.stop()


@pytest.fixture
def kubectl(api: FakeApi, tmp_path: Path) -> Kubectl:
    config = api.write_kubeconfig(tmp_path / "kubeconfig")
    environment = {**os.environ, "KUBECONFIG": str(config), "HOME": str(tmp_path)}

    async def run(*arguments: str, stdin: str = "", code: int = 0) -> str:
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            program("kubectl"), *arguments, stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.STDOUT, env=environment
        )
        out, _ = await process.communicate(stdin.encode())
        assert process.returncode == code, out.decode()
        return out.decode()

    return run


async def test_apply_creates_then_finds_nothing_to_do_then_changes(api: FakeApi, kubectl: Kubectl) -> None:
    assert await kubectl("apply", "-f", "-", stdin=MANIFEST) == "pod/web created\nqueue.treadle.dev/root.dev created\n"
    assert await kubectl("apply", "-f", "-", stdin=MANIFEST) == "pod/web unchanged\nqueue.treadle.dev/root.dev unchanged\n"
    changed = MANIFEST.replace('weight: "2"', 'weight: "3"').replace("{app: web}", "{app: other}")
    assert await kubectl("apply", "-f", "-", stdin=changed) == "pod/web configured\nqueue.treadle.dev/root.dev configured\n"
    assert api.get("pods", "web")["metadata"]["labels"] == {"app": "other"}
    assert api.get("queues", "root.dev")["spec"]["fair"]["weight"] == "3"


async def test_apply_on_the_server_creates_and_merges(api: FakeApi, kubectl: Kubectl) -> None:
    await kubectl("apply", "--server-side", "-f", "-", stdin=MANIFEST)
    await kubectl("apply", "--server-side", "-f", "-", stdin=MANIFEST.replace('weight: "2"', 'weight: "3"'))
    assert api.get("queues", "root.dev")["spec"]["fair"] == {"weight": "3", "schedulingPolicy": "drf"}


async def test_a_bad_queue_is_refused_with_the_field(kubectl: Kubectl) -> None:
    out = await kubectl("apply", "-f", "-", stdin=MANIFEST.replace('weight: "2"', 'weights: "2"'), code=1)
    assert "spec.fair.weights: unknown field, did you mean weight?" in out


async def test_get_prints_the_columns_that_help(api: FakeApi, kubectl: Kubectl) -> None:
    await kubectl("apply", "-f", "-", stdin=MANIFEST)
    header, row = (line.split() for line in (await kubectl("get", "pods", "-o", "wide")).splitlines())
    assert (header, row[:-1]) == (
        ["NAME", "READY", "STATUS", "NODE", "SCHEDULER", "AGE"],
        ["web", "0/1", "Pending", "<none>", "treadle"],
    )
    assert "n1     Ready" in await kubectl("get", "nodes")
    assert "root.dev" in await kubectl("get", "treadle")
    assert await kubectl("get", "queue", "root.dev", "-o", "jsonpath={.spec.fair.weight}") == "2"
    api.bind("web", {"target": {"kind": "Node", "name": "n1"}})
    Ticker(api, start_seconds=0).step(api.clock() + 1)
    assert "1/1     Running" in await kubectl("get", "pod", "web")


async def test_get_with_watch_prints_changes(api: FakeApi, kubectl: Kubectl) -> None:
    await kubectl("apply", "-f", "-", stdin=MANIFEST)
    watching = asyncio.create_task(kubectl("get", "pods", "-w", "-o", "name"))
    async with asyncio.timeout(20):
        while not api.store.collections["pods"].wakers:  # noqa: ASYNC110 - kubectl says nothing when its watch is open
            await asyncio.sleep(0.01)
    api.bind("web", {"target": {"kind": "Node", "name": "n1"}})
    api.cut_watches()
    assert await watching == "pod/web\npod/web\n"


async def test_describe_shows_pods_nodes_queues_and_their_events(api: FakeApi, kubectl: Kubectl) -> None:
    await kubectl("apply", "-f", "-", stdin=MANIFEST)
    api.bind("web", {"target": {"kind": "Node", "name": "n1"}})
    pod = api.get("pods", "web")
    event = {
        "metadata": {"name": "web.1"},
        "regarding": {"kind": "Pod", "name": "web", "namespace": "default", "uid": pod["metadata"]["uid"]},
        "note": "bound to n1",
        "reason": "Scheduled",
        "type": "Normal",
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "treadle",
        "action": "Binding",
    }
    api.create("events.events.k8s.io", event)
    assert "bound to n1" in await kubectl("describe", "pod", "web")
    node = await kubectl("describe", "node", "n1")
    assert "default                     web" in node
    assert "1 (25%)" in node
    assert "Scheduling Policy:  drf" in await kubectl("describe", "queue", "root.dev")


async def test_label_annotate_create_cordon_and_delete(api: FakeApi, kubectl: Kubectl) -> None:
    await kubectl("create", "-f", "-", stdin=MANIFEST)
    await kubectl("label", "pod", "web", "tier=1")
    await kubectl("annotate", "queue", "root.dev", "note=x")
    await kubectl("cordon", "n1")
    assert api.get("pods", "web")["metadata"]["labels"] == {"app": "web", "tier": "1"}
    assert api.get("queues", "root.dev")["metadata"]["annotations"]["note"] == "x"
    assert api.get("nodes", "n1")["spec"]["unschedulable"] is True
    await kubectl("delete", "-f", "-", stdin=MANIFEST)
    assert (api.list("pods"), api.list("queues")) == ([], [])
    assert "Error from server (NotFound)" in await kubectl("get", "pod", "web", code=1)


async def test_explain_knows_our_kinds(kubectl: Kubectl) -> None:
    assert "weight" in await kubectl("explain", "queue.spec.fair")


async def test_what_people_make_without_a_manifest_is_made(api: FakeApi, kubectl: Kubectl) -> None:
    assert await kubectl("create", "ns", "team") == "namespace/team created\n"
    assert await kubectl("create", "sa", "robot", "-n", "team") == "serviceaccount/robot created\n"
    assert (
        await kubectl("create", "configmap", "words", "--from-literal=a=b", "--from-literal=empty=")
        == "configmap/words created\n"
    )
    assert await kubectl("create", "priorityclass", "high", "--value=1000") == "priorityclass.scheduling.k8s.io/high created\n"
    assert api.get("namespaces", "team")["status"] == {"phase": "Active"}
    assert api.get("serviceaccounts", "robot", "team")["metadata"]["namespace"] == "team"
    assert api.get("configmaps", "words")["data"] == {"a": "b", "empty": ""}
    assert api.get("priorityclasses", "high")["value"] == 1000
    said = await kubectl("create", "service", "clusterip", "s", "--tcp=80", code=1)
    assert "Namespace, ServiceAccount, ConfigMap, PriorityClass are read in binary form and all else as JSON" in said
    assert "of kind 'Service'; use a manifest" in said


async def test_the_events_of_an_object_are_asked_for_by_its_name(api: FakeApi, kubectl: Kubectl) -> None:
    await kubectl("apply", "-f", "-", stdin=MANIFEST)
    for name in ("web", "other"):
        about = {"apiVersion": "v1", "kind": "Pod", "namespace": "default", "name": name}
        api.create("events", {"metadata": {"name": f"{name}.1", "namespace": "default"}, "involvedObject": about, "reason": "Told",
                              "message": f"about {name}", "type": "Normal"})  # fmt: skip
    said = await kubectl("events", "--for", "pod/web")
    assert "about web" in said
    assert "about other" not in said


@pytest.mark.parametrize(
    ("amounts", "words"),
    [
        ('{requests: {cpu: "-1"}}', 'spec.containers[0].resources.requests[cpu]: Invalid value: "-1": must be greater than or equal to 0'),
        ("{limits: {memory: -2Gi}}", 'spec.containers[0].resources.limits[memory]: Invalid value: "-2Gi": must be greater than or equal to 0'),
        ("{requests: {cpu: 2}, limits: {cpu: 1}}", 'spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1'),
        ("{requests: {cpu: much}}", 'spec.containers[0].resources.requests[cpu]: Invalid value: "much": quantities must match'),
    ],
)  # fmt: skip
async def test_amounts_that_cannot_be_are_refused_as_by_a_real_server(kubectl: Kubectl, amounts: str, words: str) -> None:
    wrong = MANIFEST.replace('{requests: {cpu: "1"}}', amounts)
    assert words in await kubectl("create", "-f", "-", stdin=wrong, code=1)
