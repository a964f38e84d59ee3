"""Opportunistic pods on a real kubelet: what the kernel holds them to, and who goes when their room is wanted or used."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from cluster.client import eventually
from cluster.idle_pods import PODS, events, on_nodes
from cluster.metrics_server import MetricsServer
from cluster.treadle_process import Cluster, Treadle, queue
from node_tier import cgroups
from node_tier.pods import container, get, guaranteed, holds, idle_pod, phase, real, relabelled, running
from node_tier.real_node import KUBELET_PORT, NAME, RealNode
from treadle.core.units.resources import amount

MIB, GIB = 1 << 20, 1 << 30
SCHEDULERS = "/apis/treadle.dev/v1alpha1/schedulers"


def prepared(node: RealNode) -> Cluster:
    node.plane.apply_crds()
    cluster = Cluster(node.plane)
    cluster.queues(queue("root.batch"), queue("root.prod"))
    return cluster


def allocatable(node: RealNode, name: str) -> int:
    said: str = node.seen()["status"]["allocatable"][name]
    if name == "cpu":
        return int(said[:-1]) if said.endswith("m") else int(said) * 1000
    return int(said.removesuffix("Ki")) * 1024 if said.endswith("Ki") else int(said)


def test_a_pod_is_promoted_and_demoted_in_place_and_the_kernel_holds_it_to_it(
    real_node: Callable[..., RealNode], tmp_path: Path
) -> None:
    node = real_node()
    prepared(node)
    with Treadle(node.plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        node.plane.api("POST", PODS, idle_pod("scan", cpu="500m", memory="64Mi"))
        running(node, "scan")
        before = container(node, "scan")
        asks_nothing = holds(node, "scan", lambda held: held["quota"] == 500 and held["memory"] == 64 * MIB)
        assert cgroups.version() == 2 or asks_nothing["cpu"] == cgroups.shares_of(0)

        relabelled(node, "scan", "guaranteed")
        promoted = holds(node, "scan", lambda held: held["cpu"] > asks_nothing["cpu"])
        assert cgroups.version() == 2 or promoted["cpu"] == cgroups.shares_of(499), "what it asks for, less one thousandth"
        assert promoted["quota"] == 500
        assert promoted["memory"] == 64 * MIB
        in_force = {"cpu": "499m", "memory": "64Mi"}
        eventually(
            lambda: container(node, "scan")["resources"]["requests"] == in_force, 30, "the kubelet says that it is in force"
        )
        assert events(node.plane, "Promoted"), "its owner is told"

        relabelled(node, "scan", "opportunistic")
        holds(node, "scan", lambda held: held["cpu"] == asks_nothing["cpu"])
        nothing = {"cpu": "0", "memory": "1Ki"}
        eventually(lambda: container(node, "scan")["resources"]["requests"] == nothing, 30, "nothing is kept for it any more")

        after = container(node, "scan")
        assert after["restartCount"] == 0
        assert after["containerID"] == before["containerID"], "it is the same container"
        conditions = {one["type"] for one in get(node, "scan")["status"]["conditions"]}
        assert not {"PodResizePending", "PodResizeInProgress"} & conditions


def test_a_guaranteed_pod_takes_the_room_of_an_opportunistic_one_and_runs(
    real_node: Callable[..., RealNode], tmp_path: Path
) -> None:
    node = real_node()
    cluster = prepared(node)
    cores = allocatable(node, "cpu")
    with Treadle(node.plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        node.plane.api("POST", PODS, idle_pod("scan", f"{cores}m", "64Mi", "-cores=1"))
        running(node, "scan")
        node.plane.api("POST", PODS, guaranteed("serves", cpu=f"{cores}m"))
        running(node, "serves")
        eventually(lambda: on_nodes(cluster) == {"serves"}, 60, "the other has gone")
        (event,) = events(node.plane, "Preempted")
        assert event["regarding"]["name"] == "scan"
        assert "guaranteed pods request what it was given" in event["note"]
        assert container(node, "serves")["restartCount"] == 0


def test_a_pod_that_the_kubelet_refuses_is_told_and_its_node_is_looked_at_again(
    real_node: Callable[..., RealNode], tmp_path: Path
) -> None:
    node = real_node()
    cluster = prepared(node)
    cores = allocatable(node, "cpu")
    # A pod of the kubelet's own of which no API tells, since its namespace is not there: it holds half of the node.
    hidden = real(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "hidden", "namespace": "nowhere"},
            "spec": {"containers": [{"name": "c"}]},
        }
    )
    hidden["spec"]["containers"][0]["resources"] = {"requests": {"cpu": f"{cores // 2}m"}}
    unfinished = node.folder / "hidden.json"
    unfinished.write_text(json.dumps(hidden))
    unfinished.rename(node.manifests / "hidden.json")
    eventually(lambda: list(node.pod_cgroups()), 30, "it runs")
    with Treadle(node.plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        node.plane.api("POST", PODS, guaranteed("first", cpu=f"{cores * 3 // 4}m"))
        eventually(lambda: phase(node, "first") == "Failed", 60, "the kubelet refuses it")
        assert get(node, "first")["status"]["reason"] == "OutOfcpu"
        (event,) = eventually(lambda: events(node.plane, "RefusedByKubelet"), 30, "its owner is told")
        assert f"The kubelet of node {NAME} did not take the pod (OutOfcpu)" in event["note"]
        assert "Pods like it are not placed there for 5 s, or until the node changes" in event["note"]
        assert treadle.metric('treadle_pods_refused_total{reason="OutOfcpu"}') == 1
        used = 'treadle_queue_resource{kind="used",queue="root.prod",resource="cpu"}'
        eventually(lambda: treadle.metric(used) == 0, 30, "what has failed counts no more")

        (node.manifests / "hidden.json").unlink()
        eventually(lambda: not list(node.pod_cgroups()), 60, "the room is there")
        node.plane.api("POST", PODS, guaranteed("second", cpu=f"{cores * 3 // 4}m"))
        running(node, "second")
        assert on_nodes(cluster) >= {"second"}


def used_of(metrics: MetricsServer, since: float = 0.0) -> int:
    """Bytes that the node uses, as metrics-server has it by a sample after a time of day: of the whole machine, whoever uses them."""

    def told() -> bool:
        sample = metrics.samples().get(NAME)
        return sample is not None and datetime.fromisoformat(sample["timestamp"]).timestamp() > since

    eventually(told, 60, "metrics-server has a sample", 0.5)
    return amount(
        "memory", metrics.samples()[NAME]["usage"]["memory"]
    )  # in whichever unit is shortest: Ki mostly, Mi now and then


def filled(node: RealNode, cluster: Cluster, name: str, mebibytes: int) -> None:
    """Wait until a pod holds what it was told to hold, or has had to leave: others use the machine as well.

    A virtual machine whose memory was never used takes half a minute for two GiB, and seconds of processor.
    """
    uid = running(node, name)["metadata"]["uid"]

    def there() -> bool:
        return cgroups.resident(node.cgroup, uid) >= mebibytes * MIB or name not in on_nodes(cluster)

    eventually(there, 300, f"{name} holds {mebibytes} MiB")


def test_a_node_that_is_really_used_too_much_frees_itself_before_the_kubelet_evicts(
    real_node: Callable[..., RealNode], tmp_path: Path
) -> None:
    node = real_node()
    cluster = prepared(node)
    metrics = MetricsServer(node.plane, f"--kubelet-port={KUBELET_PORT}", "--kubelet-insecure-tls")
    with metrics, Treadle(node.plane.scheduler_kubeconfig(), tmp_path) as treadle:
        before, whole = used_of(metrics), allocatable(node, "memory")
        most = int((before + 5.5 * GIB) * 100 / whole)
        settings = {
            "usage": {"source": "Metrics"},
            "thresholds": {"memory": {"allocationPercent": most - 1, "preemptionPercent": most}},
            "preemption": {"order": "Newest"},
        }
        body = {"apiVersion": "treadle.dev/v1alpha1", "kind": "Scheduler", "metadata": {"name": "treadle"}}
        assert node.plane.api("POST", SCHEDULERS, {**body, "spec": {"opportunistic": settings}})[0] == 201
        treadle.wait_ready()
        for name in ("older", "newer"):
            node.plane.api("POST", PODS, idle_pod(name, "500m", "2300Mi", "-mebibytes=2048"))
            filled(node, cluster, name, 2048)
        # They request little and use much, as whoever is requested too small: a GiB more than there should be used. Others use the machine
        # as well, and may give back in between, so that another is needed. None is added before a sample has all of the last.
        hogs = 0
        while "newer" in on_nodes(cluster) and hogs < 4:
            used = used_of(metrics, since=time.time() + 1)
            more = (most * whole // 100 + GIB - used) // MIB
            if more > 0 and "newer" in on_nodes(cluster):
                hogs += 1
                node.plane.api("POST", PODS, guaranteed(f"hog-{hogs}", "100m", "64Mi", f"-mebibytes={more}"))
                filled(node, cluster, f"hog-{hogs}", more)
        eventually(lambda: "newer" not in on_nodes(cluster), 60, "the newest leaves")
        assert "older" in on_nodes(cluster), "and no more than are needed"
        (event,) = eventually(lambda: events(node.plane, "Preempted"), 30, "its owner is told")
        assert event["regarding"]["name"] == "newer"
        assert f"opportunistic: node {NAME} uses " in event["note"]
        assert f"memory, more than {most}%" in event["note"]
        assert not events(node.plane, "Evicted"), "the kubelet has evicted nobody"
        assert node.condition("MemoryPressure") == "False"
        for name in ("older", "hog-1"):
            assert container(node, name)["restartCount"] == 0
