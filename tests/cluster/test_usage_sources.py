"""From where it is known what nodes use, on a real API server: kubelets by its proxy, a Prometheus, and node agents."""

from __future__ import annotations

import json
import socket
import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cluster.client import eventually
from cluster.control_plane import ControlPlane
from cluster.idle_pods import PODS, events, idle, on_nodes, told
from cluster.treadle_process import Cluster, Treadle, pod, queue
from usage.pages import Pages, Query

SCHEDULERS = "/apis/treadle.dev/v1alpha1/schedulers"
CERTIFICATES = Path(__file__).resolve().parents[1] / "kube" / "certificates"
GIB = 1 << 30


class Use:
    """What a node, and pods of it by name, use at present; counters grow with real time."""

    def __init__(self) -> None:
        self.node = 1.0, GIB
        self.pods: dict[str, tuple[float, int]] = {}
        self._totals: dict[str, float] = {}
        self._at = time.time()

    def counters(self) -> dict[str, tuple[float, int]]:
        """Seconds of processor time so far and bytes, by the name of a pod; of the node by none."""
        now = time.time()
        everybody = {"": self.node, **self.pods}
        for name, (cpu, _) in everybody.items():
            self._totals[name] = self._totals.get(name, 1000.0) + cpu * (now - self._at)
        self._at = now
        return {name: (self._totals[name], memory) for name, (_, memory) in everybody.items()}


def settings(**usage: Any) -> dict[str, Any]:
    limits = {"allocationPercent": 50, "preemptionPercent": 80}
    return {
        "usage": {"maxAge": "8s", "interval": "1s", **usage},
        "thresholds": {"cpu": {**limits, "borneSamples": 1}, "memory": limits},
    }


def prepared(fresh_cluster: Callable[..., Cluster], spec: dict[str, Any]) -> tuple[Cluster, str]:
    """A cluster with one node that is requested whole, an opportunistic pod that waits, and a Scheduler."""
    cluster = fresh_cluster(1, "8", "32Gi")
    plane = cluster.plane
    cluster.queues(queue("root.batch"), queue("root.prod"))
    node = plane.api("GET", "/api/v1/nodes")[1]["items"][0]["metadata"]["name"]
    body = {"apiVersion": "treadle.dev/v1alpha1", "kind": "Scheduler", "metadata": {"name": "treadle"}}
    status, answer = plane.api("POST", SCHEDULERS, {**body, "spec": {"opportunistic": spec}})
    assert status == 201, answer
    cluster.pods([pod("whole", "root.prod", "prod", cpu="8", memory="32Gi"), idle("scan")])
    return cluster, node


def ready(cluster: Cluster) -> tuple[str, str]:
    found = cluster.condition("schedulers", "treadle", "Ready")
    return found.get("reason", ""), found.get("message", "")


def plays(cluster: Cluster, use: Use) -> None:
    """Whatever the source: the pod runs beside the other, nothing more than half of the node is given, and it goes when too much is used."""
    plane = cluster.plane
    eventually(lambda: on_nodes(cluster) == {"whole", "scan"}, 90, f"it runs beside the other; {ready(cluster)}")
    use.node = 3.5, GIB
    cluster.pods([idle("more", cpu="3")])
    eventually(lambda: told(plane, "more")[0] == "NoIdleRoom", 60, "half of the node is all that may be used")
    use.node = 7.5, GIB
    eventually(lambda: on_nodes(cluster) == {"whole"}, 60, "it has to go")
    (event,) = eventually(lambda: events(plane, "Preempted"), 30, "the event")
    assert event["regarding"]["name"] == "scan"
    assert "of its 8 cpu, more than 80%" in event["note"]


@pytest.fixture
def kubelet() -> Any:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATES / "server.pem", CERTIFICATES / "server-key.pem")
    pages = Pages(address())
    pages.server.socket = context.wrap_socket(pages.server.socket, server_side=True, do_handshake_on_connect=False)
    with pages:
        yield pages


def exposition(use: Use) -> bytes:
    at = int(time.time() * 1000)
    lines = []
    for name, (cpu, memory) in use.counters().items():
        kind, labels = ("pod", f'{{namespace="default",pod="{name}"}}') if name else ("node", "")
        lines += [
            f"{kind}_cpu_usage_seconds_total{labels} {cpu} {at}",
            f"{kind}_memory_working_set_bytes{labels} {memory} {at}",
        ]
    return ("\n".join(lines) + "\n").encode()


def address() -> str:
    """An address of this machine that is not its loopback, to which the API server forwards nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # nothing is sent
        except OSError:
            pytest.skip("this machine has no address but its loopback")
        return str(probe.getsockname()[0])


def registered(plane: ControlPlane, node: str, port: int) -> None:
    """Let the API server find a kubelet at a port of this machine."""
    status = {
        "addresses": [{"type": kind, "address": address()} for kind in ("Hostname", "InternalIP")],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
    }
    code, answer = plane.api(
        "PATCH", f"/api/v1/nodes/{node}/status", {"status": status}, content_type="application/strategic-merge-patch+json"
    )
    assert code == 200, answer


def test_what_kubelets_tell_decides(fresh_cluster: Callable[..., Cluster], tmp_path: Path, kubelet: Pages) -> None:
    cluster, node = prepared(fresh_cluster, settings(source="Kubelets"))
    use = Use()
    kubelet.answers["/metrics/resource"] = lambda _: (503, b"starting")
    registered(cluster.plane, node, kubelet.port)
    with Treadle(cluster.plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        eventually(lambda: ready(cluster)[0] == "UsageUnknown", 60, "a kubelet that does not tell is told of")
        assert f"1 of 1 kubelets do not tell what is used: {node}: 503" in ready(cluster)[1]
        kubelet.answers["/metrics/resource"] = lambda _: (200, exposition(use))
        plays(cluster, use)


def test_what_a_prometheus_tells_decides(fresh_cluster: Callable[..., Cluster], tmp_path: Path) -> None:
    use = Use()
    with Pages() as pages:
        said = {"url": pages.url, "cpuQuery": "nonsense(", "memoryQuery": "memory", "window": "1s"}
        cluster, node = prepared(fresh_cluster, settings(source="Prometheus", prometheus=said))

        def answer(query: Query) -> tuple[int, bytes]:
            if query["query"] == "nonsense(":
                return 400, b'{"status":"error","errorType":"bad_data","error":"parse error"}'
            value = str(use.node[query["query"] == "memory"])
            series = [{"metric": {"node": node}, "value": [time.time(), value]}]
            return 200, json.dumps({"status": "success", "data": {"resultType": "vector", "result": series}}).encode()

        pages.answers["/api/v1/query"] = answer
        with Treadle(cluster.plane.scheduler_kubeconfig(), tmp_path) as treadle:
            treadle.wait_ready()
            eventually(lambda: ready(cluster)[0] == "UsageUnknown", 60, "the query is told to be wrong")
            assert "spec.opportunistic.usage.prometheus.cpuQuery: 400 parse error" in ready(cluster)[1]
            patch = {"spec": {"opportunistic": {"usage": {"prometheus": {"cpuQuery": "cpu"}}}}}
            code, _ = cluster.plane.api("PATCH", f"{SCHEDULERS}/treadle", patch, content_type="application/merge-patch+json")
            assert code == 200
            plays(cluster, use)


def test_what_node_agents_tell_of_nodes_pods_and_pressure_decides(fresh_cluster: Callable[..., Cluster], tmp_path: Path) -> None:
    use, waits = Use(), {"memory": 20.0}
    with Pages() as pages:
        labels = {"app": "agent"}
        spec = settings(source="Agent", agent={"namespace": "default", "matchLabels": labels, "port": pages.port})
        spec["pressure"] = {"memory": {"allocationPercent": 10, "preemptionPercent": 30}}
        cluster, node = prepared(fresh_cluster, spec)
        plane = cluster.plane

        def sample(_: Query) -> tuple[int, bytes]:
            cpu, memory = use.node
            uids = {one["metadata"]["name"]: one["metadata"]["uid"] for one in cluster.all_pods()}
            pods = {uids[name]: [int(cores * 1000), used] for name, (cores, used) in use.pods.items() if name in uids}
            pressure = {name: [percent, 0, 0, 0] for name, percent in waits.items()}
            said = {"node": node, "at": time.time(), "seconds": 1.0, "cpu": int(cpu * 1000), "memory": memory}
            return 200, json.dumps({**said, "pods": pods, "pressure": pressure}).encode()

        pages.answers["/sample"] = sample
        with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
            treadle.wait_ready()
            eventually(lambda: ready(cluster)[0] == "UsageUnknown", 60, "there is no agent yet")
            assert "no pod with the labels app=agent runs in namespace default" in ready(cluster)[1]
            runs_an_agent(plane, node, labels)
            eventually(lambda: ready(cluster)[0] == "InForce", 60, "the agent tells")
            eventually(lambda: told(plane, "scan")[0] == "NoIdleRoom", 60, "tasks wait for memory, so nothing is placed")
            waits["memory"] = 5.0
            others = {"agent", "whole"}
            eventually(lambda: on_nodes(cluster) == {*others, "scan"}, 90, f"it runs beside the other; {ready(cluster)}")
            cluster.pods([idle("busy", cpu="1")])
            eventually(lambda: on_nodes(cluster) == {*others, "scan", "busy"}, 90, "so does another one")

            use.pods = {"scan": (0.0, 1 << 20), "busy": (3.0, GIB)}
            use.node = 7.5, 2 * GIB
            eventually(lambda: on_nodes(cluster) == {*others, "scan"}, 60, "the one goes that uses it")
            (event,) = eventually(lambda: events(plane, "Preempted"), 30, "the event")
            assert event["regarding"]["name"] == "busy"
            assert "uses 7500m of its 8 cpu, more than 80%" in event["note"]
            use.node = 1.0, GIB
            assert plane.api("DELETE", f"{PODS}/busy", {"gracePeriodSeconds": 0})[0] == 200, "no kubelet ends it"

            waits["memory"] = 45.0
            eventually(lambda: on_nodes(cluster) == others, 60, "tasks wait for too long")
            found = eventually(lambda: [one for one in events(plane, "Preempted") if "waited" in one["note"]], 30, "the event")
            assert "some tasks waited for memory for 45% of ten seconds, more than 30%" in found[0]["note"]
            assert treadle.metric('treadle_opportunistic_pods_removed_total{reason="Pressure"}') == 1
            assert treadle.metric("treadle_opportunistic_removal_seconds_count") == 1


def runs_an_agent(plane: ControlPlane, node: str, labels: dict[str, str]) -> None:
    body = pod("agent", cpu="0", memory="0")
    body["metadata"]["labels"] = labels
    body["spec"] |= {"nodeName": node, "schedulerName": "somebody"}
    code, answer = plane.api("POST", PODS, body)
    assert code == 201, answer
    status = {"phase": "Running", "podIP": "127.0.0.1", "podIPs": [{"ip": "127.0.0.1"}]}
    code, answer = plane.api(
        "PATCH", f"{PODS}/agent/status", {"status": status}, content_type="application/strategic-merge-patch+json"
    )
    assert code == 200, answer
