"""Pods with claims on a real API server, with the controller that binds claims and a small provisioner of the test's own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cluster.client import fake_node
from cluster.control_plane import DEFAULT_CONTROLLERS, ControlPlane
from cluster.treadle_process import Cluster, Treadle, eventually, pod
from cluster.volume_objects import (
    CLAIMS,
    DRIVER,
    HOST,
    SELECTED,
    STORAGE,
    VOLUMES,
    ZONE,
    Provisioner,
    claim,
    create,
    node_of,
    on_nodes,
    storage_class,
    told,
    volume,
    with_claims,
)

CONTROLLERS = f"{DEFAULT_CONTROLLERS},persistentvolume-binder-controller,ephemeral-volume-controller"


@pytest.fixture
def cluster(fresh_control_plane: Callable[..., ControlPlane]) -> Cluster:
    plane = fresh_control_plane()
    plane.apply_crds()
    plane.start_controller_manager(CONTROLLERS)
    for number in range(4):
        name = f"node-{number}"
        plane.api("POST", "/api/v1/nodes", fake_node(name, "8", "32Gi", labels={HOST: name, ZONE: f"z{number % 2}"}))
    create(
        plane,
        f"{STORAGE}/storageclasses",
        storage_class("made"),
        storage_class("zonal", allowedTopologies=[{"matchLabelExpressions": [{"key": ZONE, "values": ["z1"]}]}]),
        storage_class("local", "kubernetes.io/no-provisioner"),
        storage_class("at-once", binding="Immediate"),
    )
    return Cluster(plane)


def test_a_claim_that_waits_for_its_first_consumer_gets_its_volume_on_the_pods_node(cluster: Cluster, tmp_path: Path) -> None:
    plane, provisioner = cluster.plane, Provisioner(cluster.plane)
    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle, provisioner.running():
        treadle.wait_ready()
        create(plane, CLAIMS, *(claim(f"data-{number}", "made") for number in range(20)), claim("zonal", "zonal"))
        pods = [with_claims(f"pod-{number}", f"data-{number}") for number in range(20)]
        create(plane, "/api/v1/namespaces/default/pods", *pods, with_claims("zonal", "zonal"))
        cluster.wait_bound(21)
        assert node_of(plane, "zonal") in {"node-1", "node-3"}
        for one in plane.api("GET", CLAIMS)[1]["items"]:
            assert one["status"]["phase"] == "Bound"
            assert one["metadata"]["annotations"][SELECTED] == node_of(plane, one["metadata"]["name"].replace("data", "pod"))
        assert provisioner.made == 21

        # an ephemeral volume: its claim comes later, from the controller
        template = {"spec": claim("", "made")["spec"]}
        scratch = pod(
            "scratch",
            application="app",
            cpu="100m",
            memory="64Mi",
            volumes=[{"name": "s", "ephemeral": {"volumeClaimTemplate": template}}],
        )
        create(plane, "/api/v1/namespaces/default/pods", scratch)
        eventually(lambda: node_of(plane, "scratch"), 30, "the pod with an ephemeral volume is bound")

        # a volume that cannot be made is decided anew
        create(plane, CLAIMS, claim("hopeless", "made"))
        create(plane, "/api/v1/namespaces/default/pods", with_claims("hopeless", "hopeless"))
        eventually(lambda: node_of(plane, "hopeless"), 60, "the pod is bound when its volume was made after all")
        assert provisioner.given_back == {"hopeless"}


def test_volumes_that_are_there_are_given_to_claims_each_once(cluster: Cluster, tmp_path: Path) -> None:
    plane = cluster.plane
    create(plane, VOLUMES, *(volume(f"local-{number}", "local", on_nodes(HOST, f"node-{number % 3}")) for number in range(6)))
    create(plane, CLAIMS, *(claim(f"data-{number}", "local") for number in range(7)))
    with Treadle(plane.scheduler_kubeconfig(), tmp_path):
        create(plane, "/api/v1/namespaces/default/pods", *(with_claims(f"pod-{number}", f"data-{number}") for number in range(7)))
        cluster.wait_bound(6)
        waiting = next(one["metadata"]["name"] for one in cluster.all_pods() if not one["spec"].get("nodeName"))
        words = "0/4 nodes are available: 4 node(s) didn't find available persistent volumes to bind."
        eventually(lambda: told(plane, waiting) == ("Unschedulable", words), 30, "the one that waits is told why")
        for one in cluster.bound():
            name = one["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"]
            bound_to = plane.api("GET", f"{CLAIMS}/{name}")[1]["spec"]["volumeName"]
            assert one["spec"]["nodeName"] == f"node-{int(bound_to[-1]) % 3}"
        create(plane, VOLUMES, volume("late", "local", on_nodes(ZONE, "z1")))
        eventually(lambda: node_of(plane, waiting) in {"node-1", "node-3"}, 30, "another volume has come")


def test_pods_say_what_their_claims_wait_for_and_limits_hold(cluster: Cluster, tmp_path: Path) -> None:
    plane, provisioner = cluster.plane, Provisioner(cluster.plane)
    limited = {"drivers": [{"name": DRIVER, "nodeID": "x", "allocatable": {"count": 2}}]}
    create(plane, f"{STORAGE}/csinodes", *({"metadata": {"name": f"node-{number}"}, "spec": limited} for number in range(4)))
    with Treadle(plane.scheduler_kubeconfig(), tmp_path), provisioner.running():
        create(plane, CLAIMS, claim("never", "at-once"), claim("alone", "made", mode="ReadWriteOncePod"))
        lonely = [with_claims(f"lonely-{number}", "alone") for number in range(2)]
        create(plane, "/api/v1/namespaces/default/pods", with_claims("lost", "nowhere"), with_claims("never", "never"), *lonely)
        cluster.wait_bound(1)
        wanted = {
            "lost": ("VolumesNotReady", 'persistentvolumeclaim "nowhere" not found'),
            "never": ("VolumesNotReady", "pod has unbound immediate PersistentVolumeClaims"),
        }
        for name, words in wanted.items():
            eventually(lambda name=name, words=words: told(plane, name) == words, 30, f"{name} is told why")
        second = next(name for name in ("lonely-0", "lonely-1") if not node_of(plane, name))
        in_use = (
            "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
        )
        eventually(lambda: told(plane, second)[1].startswith(f"0/4 nodes are available: 4 {in_use}"), 30, "it is in use")

        # each node can have two volumes, and one of them has one already
        create(plane, CLAIMS, *(claim(f"data-{number}", "made") for number in range(8)))
        create(plane, "/api/v1/namespaces/default/pods", *(with_claims(f"pod-{number}", f"data-{number}") for number in range(8)))
        cluster.wait_bound(8)
        waiting = next(f"pod-{number}" for number in range(8) if not node_of(plane, f"pod-{number}"))
        full = "0/4 nodes are available: 4 node(s) exceed max volume count."
        eventually(lambda: told(plane, waiting) == ("Unschedulable", full), 30, "every node is full")
        plane.api(
            "DELETE",
            f"/api/v1/namespaces/default/pods/{'lonely-0' if second == 'lonely-1' else 'lonely-1'}",
            {"gracePeriodSeconds": 0},
        )
        cluster.wait_bound(8)
        create(plane, CLAIMS, claim("nowhere", "made"))
        eventually(lambda: told(plane, "lost")[1] != wanted["lost"][1], 30, "its claim has come")


def test_a_restart_while_claims_are_being_bound_loses_nothing(cluster: Cluster, tmp_path: Path) -> None:
    plane, provisioner = cluster.plane, Provisioner(cluster.plane)
    create(plane, CLAIMS, *(claim(f"data-{number}", "made") for number in range(10)))
    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        create(
            plane, "/api/v1/namespaces/default/pods", *(with_claims(f"pod-{number}", f"data-{number}") for number in range(10))
        )

        def selected() -> dict[str, str]:
            found = {
                one["metadata"]["name"]: one["metadata"].get("annotations", {}).get(SELECTED, "")
                for one in plane.api("GET", CLAIMS)[1]["items"]
            }
            return found if all(found.values()) else {}

        before = eventually(selected, 30, "all claims have a node")
        treadle.kill()
    with Treadle(plane.scheduler_kubeconfig(), tmp_path), provisioner.running():
        cluster.wait_bound(10)
    assert {f"data-{one['metadata']['name'][4:]}": one["spec"]["nodeName"] for one in cluster.bound()} == before


def test_the_pods_of_a_gang_start_together_though_their_volumes_are_made_one_by_one(cluster: Cluster, tmp_path: Path) -> None:
    plane, provisioner = cluster.plane, Provisioner(cluster.plane)
    labels = {"treadle.dev/gang": "workers", "treadle.dev/gang-min-member": "6"}
    pods = [with_claims(f"worker-{number}", f"data-{number}") for number in range(6)]
    for one in pods:
        one["metadata"]["labels"] |= labels
    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle, provisioner.running():
        treadle.wait_ready()
        create(plane, CLAIMS, *(claim(f"data-{number}", "made") for number in range(6)))
        create(plane, "/api/v1/namespaces/default/pods", *pods[:5])
        eventually(lambda: told(plane, "worker-0")[0] == "GangIncomplete", 30, "one is missing")
        assert provisioner.made == 0
        create(plane, "/api/v1/namespaces/default/pods", pods[5])
        cluster.wait_bound(6)
        for one in plane.api("GET", CLAIMS)[1]["items"]:
            assert one["metadata"]["annotations"][SELECTED] == node_of(plane, one["metadata"]["name"].replace("data", "worker"))
