"""What pods only prefer, on a real API server: the fields as it stores them decide where pods go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cluster.client import fake_node
from cluster.control_plane import ControlPlane
from cluster.treadle_process import Cluster, Treadle, eventually, pod

Json = dict[str, Any]
PODS = "/api/v1/namespaces/default/pods"
WISH = "preferredDuringSchedulingIgnoredDuringExecution"
HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"


def labelled(name: str, app: str, **spec: Any) -> Json:
    found = pod(name, application=app, cpu="100m", memory="64Mi", **spec)
    found["metadata"]["labels"]["app"] = app
    return found


def create(plane: ControlPlane, *pods: Json) -> None:
    for one in pods:
        status, answer = plane.api("POST", PODS, one)
        assert status == 201, answer


def node_of(plane: ControlPlane, name: str) -> str:
    return plane.api("GET", f"{PODS}/{name}")[1]["spec"].get("nodeName", "")


def test_pods_spread_like_and_avoid_where_they_may_and_still_all_start(
    fresh_control_plane: Callable[..., ControlPlane], tmp_path: Path
) -> None:
    plane = fresh_control_plane()
    plane.apply_crds()
    cluster = Cluster(plane)
    for number in range(6):
        name = f"node-{number}"
        node = fake_node(name, "8", "32Gi", labels={HOST: name, ZONE: f"z{number % 3}"})
        if number == 0:
            node["spec"] = {**node.get("spec", {}), "taints": [{"key": "slow", "effect": "PreferNoSchedule"}]}
        status, answer = plane.api("POST", "/api/v1/nodes", node)
        assert status == 201, answer
    selector = {"labelSelector": {"matchLabels": {"app": "web"}}}
    spread = [{"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "ScheduleAnyway", **selector}]
    with Treadle(plane.scheduler_kubeconfig(), tmp_path):
        create(plane, *(labelled(f"web-{number}", "web", topologySpreadConstraints=spread) for number in range(9)))
        cluster.wait_bound(9)
        zones = Counter(int(node_of(plane, f"web-{number}").removeprefix("node-")) % 3 for number in range(9))
        assert zones == {0: 3, 1: 3, 2: 3}
        assert "node-0" not in {node_of(plane, f"web-{number}") for number in range(9)}
        near = {"podAffinity": {WISH: [{"weight": 100, "podAffinityTerm": {"topologyKey": HOST, **selector}}]}}
        apart = {"podAntiAffinity": {WISH: [{"weight": 100, "podAffinityTerm": {"topologyKey": HOST, **selector}}]}}
        create(plane, labelled("fond", "fond", affinity=near), labelled("shy", "shy", affinity=apart))
        webs = {node_of(plane, f"web-{number}") for number in range(9)}
        eventually(lambda: node_of(plane, "fond") in webs, what="a pod goes to those that it likes")
        eventually(lambda: node_of(plane, "shy") not in {"", *webs}, what="and away from those that it does not")


def test_weights_of_the_scheduler_object_count(fresh_control_plane: Callable[..., ControlPlane], tmp_path: Path) -> None:
    plane = fresh_control_plane()
    plane.apply_crds()
    images = [{"names": ["registry.example/app:1"], "sizeBytes": 900 << 20}]
    for name in ("node-0", "node-1"):
        node = fake_node(name, "8", "32Gi")
        if name == "node-1":
            node["status"]["images"] = images
        assert plane.api("POST", "/api/v1/nodes", node)[0] == 201
    scheduler = {
        "apiVersion": "treadle.dev/v1alpha1",
        "kind": "Scheduler",
        "metadata": {"name": "treadle"},
        "spec": {"nodes": {"weights": {"imageLocality": 5}}},
    }
    status, answer = plane.api("POST", "/apis/treadle.dev/v1alpha1/schedulers", scheduler)
    assert status == 201, answer
    with Treadle(plane.scheduler_kubeconfig(), tmp_path):
        one = labelled("a", "a")
        one["spec"]["containers"][0]["image"] = "registry.example/app:1"
        create(plane, one)
        eventually(lambda: node_of(plane, "a") == "node-1", what="the pod goes where its image is")
