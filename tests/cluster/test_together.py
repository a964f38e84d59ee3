"""Sets that are placed together with the solver, and delayed alternatives, on a real API server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from cluster.client import fake_node
from cluster.control_plane import ControlPlane
from cluster.treadle_process import Cluster, Treadle, eventually, pod

Json = dict[str, Any]
ROOT = Path(__file__).resolve().parents[2]
GROUP = "/apis/treadle.dev/v1alpha1"
ZONE = "topology.kubernetes.io/zone"
PATHS = {
    "Scheduler": f"{GROUP}/schedulers",
    "Application": f"{GROUP}/namespaces/default/applications",
    "Job": "/apis/batch/v1/namespaces/default/jobs",
    "Pod": "/api/v1/namespaces/default/pods",
    "Node": "/api/v1/nodes",
}


def create(plane: ControlPlane, *objects: Json) -> None:
    for one in objects:
        status, answer = plane.api("POST", PATHS[one["kind"]], one)
        assert status == 201, answer


def node(name: str, zone: str, **labels: str) -> Json:
    return {"apiVersion": "v1", "kind": "Node", **fake_node(name, "8", "32Gi", labels={ZONE: zone, **labels})}


def ours(kind: str, name: str, **spec: Any) -> Json:
    metadata = {"name": name} if kind == "Scheduler" else {"name": name, "namespace": "default"}
    return {"apiVersion": "treadle.dev/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec}


def by_kind(cluster: Cluster) -> dict[str, set[str]]:
    """The zones in which pods are, by the beginning of their names."""
    zones = {
        one["metadata"]["name"]: one["metadata"]["labels"][ZONE] for one in cluster.plane.api("GET", PATHS["Node"])[1]["items"]
    }
    found: dict[str, set[str]] = {}
    for one in cluster.bound():
        found.setdefault(one["metadata"]["name"].split("-")[0], set()).add(zones[one["spec"]["nodeName"]])
    return found


def told(plane: ControlPlane, name: str) -> str:
    conditions = plane.api("GET", f"{PATHS['Pod']}/{name}")[1]["status"].get("conditions", [])
    return next((one.get("message", "") for one in conditions if one["type"] == "PodScheduled"), "")


def test_the_example_of_a_set_finds_a_place_for_all_with_the_solver(
    fresh_control_plane: Callable[..., ControlPlane], tmp_path: Path
) -> None:
    plane = fresh_control_plane()
    plane.apply_crds()
    cluster = Cluster(plane)
    plane.start_controller_manager()
    create(plane, *yaml.safe_load_all((ROOT / "examples" / "placed-together.yaml").read_text()))
    eventually(lambda: len(cluster.all_pods()) == 4, 60, "the pods of both jobs")
    create(plane, node("a", "z0", disk="ssd"), node("b", "z1", disk="ssd"))
    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        cluster.wait_bound(4)
        zones = by_kind(cluster)
        assert zones["loader"].isdisjoint(zones["query"])
        assert len(zones["loader"]) == len(zones["query"]) == 1
        assert treadle.metric('treadle_sets_placed_together_total{solver="Better"}') == 1
        eventually(
            lambda: cluster.condition("schedulers", "treadle", "Ready").get("reason") == "InForce", 30, "nothing is missing"
        )
        assert cluster.condition("schedulers", "treadle", "NotActedOn").get("status") == "False"


def test_a_time_limit_that_is_not_allowed_is_refused_with_what_is(fresh_cluster: Callable[..., Cluster]) -> None:
    plane = fresh_cluster(1, "8", "32Gi").plane
    for wrong in ("1ms", "5s", "1m", "0s", "half"):
        status, answer = plane.api("POST", PATHS["Scheduler"], ours("Scheduler", "x", placeTogether={"timeLimit": wrong}))
        assert status == 422, wrong
        assert "must be from 10ms to 2s in whole milliseconds, such as 500ms" in answer["message"]
    for right in ("10ms", "500ms", "1999ms", "2000ms", "2s"):
        name = f"x{right}"
        assert plane.api("POST", PATHS["Scheduler"], ours("Scheduler", name, placeTogether={"timeLimit": right}))[0] == 201, right


def test_a_set_that_the_walk_places_only_in_part_says_why_and_follows_when_the_solver_is_asked_for(
    fresh_cluster: Callable[..., Cluster], tmp_path: Path
) -> None:
    """Two that each demand the other: YARN's walk cannot begin with either."""
    cluster = fresh_cluster(2, "8", "32Gi")
    plane = cluster.plane
    create(plane, ours("Application", "pair", placeTogether="Serial"))
    with Treadle(plane.scheduler_kubeconfig(), tmp_path):
        for name, other in (("one", "two"), ("two", "one")):
            found = pod(name, application="pair", cpu="100m", memory="64Mi")
            found["metadata"]["annotations"] = {
                "treadle.dev/allocation-tags": name,
                "treadle.dev/placement-constraints": f"in,node,{other}",
            }
            create(plane, {"apiVersion": "v1", "kind": "Pod", **found})
        eventually(lambda: "COULD_NOT_PLACE_ON_NODE" in told(plane, "one"), 30, "the walk's answer")
        create(plane, ours("Scheduler", "treadle", placeTogether={"solver": "HiGHS"}))
        create(plane, node("new", "z0"))
        cluster.wait_bound(2)
        assert len({one["spec"]["nodeName"] for one in cluster.bound()}) == 1


def test_alternatives_come_into_force_when_their_time_has_come(fresh_cluster: Callable[..., Cluster], tmp_path: Path) -> None:
    cluster = fresh_cluster(1, "8", "32Gi")
    plane = cluster.plane
    status, answer = plane.api(
        "POST", PATHS["Application"], ours("Application", "wrong", placementConstraints=["delayed-or(in,node,a)"])
    )
    assert status == 422
    assert "delayed-or(TIME" in answer["message"]
    create(plane, ours("Application", "patient", placementConstraints=["delayed-or(8s,disk=ssd:1m,disk!=ssd)"]))
    with Treadle(plane.scheduler_kubeconfig(), tmp_path).wait_ready():
        create(plane, {"apiVersion": "v1", "kind": "Pod", **pod("p", application="patient", cpu="100m", memory="64Mi")})
        eventually(lambda: "more disk!=ssd will do as well" in told(plane, "p"), 30, "it says what it waits for")
        cluster.wait_bound(1)
