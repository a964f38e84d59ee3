"""Rules between pods on a real API server, with kube-scheduler placing its own pods beside ours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cluster.client import fake_node
from cluster.control_plane import ControlPlane
from cluster.treadle_process import Cluster, Treadle, eventually, pod

Json = dict[str, Any]
RULE = "requiredDuringSchedulingIgnoredDuringExecution"
HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"


def labelled(name: str, app: str, **spec: Any) -> Json:
    found = pod(name, application=app, cpu="100m", memory="64Mi", **spec)
    found["metadata"]["labels"]["app"] = app
    return found


def selecting(app: str, **fields: Any) -> Json:
    return {"labelSelector": {"matchLabels": {"app": app}}, **fields}


def alone(app: str, **fields: Any) -> Json:
    return {"affinity": {"podAntiAffinity": {RULE: [selecting(app, topologyKey=HOST, **fields)]}}}


def evenly(app: str, topology: str = ZONE) -> Json:
    return {"topologySpreadConstraints": [selecting(app, topologyKey=topology, maxSkew=1, whenUnsatisfiable="DoNotSchedule")]}


def nodes_of(cluster: Cluster, app: str) -> Counter[str]:
    """On which nodes the pods of an application are, and how many."""
    return Counter(one["spec"]["nodeName"] for one in cluster.bound() if one["metadata"]["labels"].get("app") == app)


def create(plane: ControlPlane, *pods: Json) -> None:
    for one in pods:
        status, answer = plane.api("POST", f"/api/v1/namespaces/{one['metadata']['namespace']}/pods", one)
        assert status == 201, answer


def theirs(found: Json, namespace: str = "default") -> Json:
    """A pod for kube-scheduler."""
    found["spec"]["schedulerName"] = "default-scheduler"
    found["metadata"]["namespace"] = namespace
    return found


def told(plane: ControlPlane, name: str) -> str:
    conditions = plane.api("GET", f"/api/v1/namespaces/default/pods/{name}")[1]["status"].get("conditions", [])
    return next((one.get("message", "") for one in conditions if one["type"] == "PodScheduled"), "")


def test_pods_of_two_schedulers_keep_to_each_others_rules(
    fresh_control_plane: Callable[..., ControlPlane], tmp_path: Path
) -> None:
    plane = fresh_control_plane()
    plane.apply_crds()
    cluster = Cluster(plane)
    for number in range(6):
        name = f"node-{number}"
        plane.api("POST", "/api/v1/nodes", fake_node(name, "8", "32Gi", labels={HOST: name, ZONE: f"z{number % 3}"}))
    plane.api("POST", "/api/v1/namespaces", {"metadata": {"name": "blue", "labels": {"team": "x"}}})
    plane.start_kube_scheduler()
    lonely = theirs(labelled("lonely", "lonely", **alone("web", namespaces=["default"])), "blue")
    create(plane, lonely, theirs(labelled("cache", "cache"), "blue"))
    cluster.wait_bound(2)
    taken, by_cache = next(iter(nodes_of(cluster, "lonely"))), next(iter(nodes_of(cluster, "cache")))

    with Treadle(plane.scheduler_kubeconfig(), tmp_path):
        near = {"podAffinity": {RULE: [selecting("cache", topologyKey=ZONE, namespaceSelector={"matchLabels": {"team": "x"}})]}}
        create(plane, *(labelled(f"web-{number}", "web", **evenly("web")) for number in range(9)))
        create(plane, *(labelled(f"db-{number}", "db", **alone("db")) for number in range(7)))
        create(plane, *(labelled(f"near-{number}", "near", affinity=near) for number in range(3)))
        cluster.wait_bound(2 + 9 + 6 + 3)
        web, db = nodes_of(cluster, "web"), nodes_of(cluster, "db")
        zones = Counter[str]()
        for node, count in web.items():
            zones[f"z{int(node[-1]) % 3}"] += count
        assert zones == {"z0": 3, "z1": 3, "z2": 3}
        assert taken not in web, "a pod of kube-scheduler there avoids these"
        assert sorted(db.values()) == [1] * 6
        assert {int(node[-1]) % 3 for node in nodes_of(cluster, "near")} == {int(by_cache[-1]) % 3}

        waiting = next(one["metadata"]["name"] for one in cluster.all_pods() if not one["spec"].get("nodeName"))
        words = "0/6 nodes are available: 6 node(s) didn't match pod anti-affinity rules."
        eventually(lambda: told(plane, waiting).startswith(words), 30, "the pod that waits is told why")

        # kube-scheduler counts ours as well: there is no host left without a pod of that kind
        create(plane, theirs(labelled("theirs", "db", **alone("db"))))
        eventually(lambda: "didn't match pod anti-affinity rules" in told(plane, "theirs"), 30, "kube-scheduler sees ours")
        gone = next(one["metadata"]["name"] for one in cluster.bound() if one["metadata"]["labels"].get("app") == "db")
        plane.api("DELETE", "/api/v1/namespaces/default/pods/theirs", {"gracePeriodSeconds": 0})
        plane.api("DELETE", f"/api/v1/namespaces/default/pods/{gone}", {"gracePeriodSeconds": 0})
        eventually(
            lambda: cluster.plane.api("GET", f"/api/v1/namespaces/default/pods/{waiting}")[1]["spec"].get("nodeName"), 30, "room"
        )
        assert sorted(nodes_of(cluster, "db").values()) == [1] * 6

        # a namespace that gets other labels is chosen no longer
        plane.api(
            "PATCH",
            "/api/v1/namespaces/blue",
            {"metadata": {"labels": {"team": "y"}}},
            content_type="application/merge-patch+json",
        )
        create(plane, labelled("late", "late", affinity=near))
        eventually(lambda: "didn't match pod affinity rules" in told(plane, "late"), 30, "no namespace is chosen")


def test_the_placement_constraints_of_an_application_hold_for_its_pods(
    fresh_cluster: Callable[..., Cluster], tmp_path: Path
) -> None:
    cluster = fresh_cluster(3, "8", "32Gi")
    plane = cluster.plane
    path = "/apis/treadle.dev/v1alpha1/namespaces/default/applications"

    def application(name: str, text: str) -> Json:
        spec = {"placementConstraints": [text]}
        return {
            "apiVersion": "treadle.dev/v1alpha1",
            "kind": "Application",
            "metadata": {"name": name, "namespace": "default"},
            "spec": spec,
        }

    status, answer = plane.api("POST", path, application("wrong", "beside,node,server"))
    assert status == 422
    assert "spec.placementConstraints[0]: Invalid value" in answer["message"]
    assert "must be a placement constraint: in,SCOPE,TAG" in answer["message"]
    status, answer = plane.api("POST", path, application("servers", "notin,node,server"))
    assert status == 201, answer
    with Treadle(plane.scheduler_kubeconfig(), tmp_path):
        for number in range(4):
            one = labelled(f"server-{number}", "servers")
            one["metadata"]["annotations"] = {"treadle.dev/allocation-tags": "server"}
            create(plane, one)
        near = labelled("client", "clients")
        near["metadata"]["annotations"] = {"treadle.dev/placement-constraints": "and(in,node,all/server:in,rack,all/server)"}
        create(plane, near)
        cluster.wait_bound(4)
        assert sorted(nodes_of(cluster, "servers").values()) == [1, 1, 1]
        waiting = next(one["metadata"]["name"] for one in cluster.all_pods() if not one["spec"].get("nodeName"))
        words = "0/3 nodes are available: 3 node(s) didn't satisfy placement constraints."
        eventually(lambda: told(plane, waiting).startswith(words), 30, "the one that waits is told why")


def test_pods_of_an_application_are_placed_together(fresh_cluster: Callable[..., Cluster], tmp_path: Path) -> None:
    """One keeps away from those that come after it: by itself it would have been content with a node on which one of them lands later."""
    cluster = fresh_cluster(3, "8", "32Gi")
    plane = cluster.plane
    found = {
        "apiVersion": "treadle.dev/v1alpha1",
        "kind": "Application",
        "metadata": {"name": "mixed", "namespace": "default"},
        "spec": {"placeTogether": "Backwards"},
    }
    path = "/apis/treadle.dev/v1alpha1/namespaces/default/applications"
    status, answer = plane.api("POST", path, found)
    assert status == 422
    assert 'supported values: "Serial", "PopularTags"' in answer["message"]
    found["spec"] = {"placeTogether": "Serial"}
    status, answer = plane.api("POST", path, found)
    assert status == 201, answer
    kinds = [("shy", "notin,node,loud")] + [("loud", "notin,node,loud")] * 3
    for number, (tag, constraint) in enumerate(kinds):
        one = labelled(f"pod-{number}", "mixed")
        one["metadata"]["annotations"] = {"treadle.dev/allocation-tags": tag, "treadle.dev/placement-constraints": constraint}
        create(plane, one)
    with Treadle(plane.scheduler_kubeconfig(), tmp_path):
        cluster.wait_bound(3)
        left = eventually(
            lambda: [
                name
                for number in range(4)
                if "COULD_NOT_PLACE_ON_NODE" in told(plane, name := f"pod-{number}")
                and "constraint notin,node,loud" in told(plane, name)
            ]
        )
    assert len(left) == 1
    assert len(nodes_of(cluster, "mixed")) == 3
