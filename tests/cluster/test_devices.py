"""Pods with claims for devices on a real API server, with the controller that makes claims from templates and frees them. Slices are written by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from cluster.client import fake_node
from cluster.control_plane import DEFAULT_CONTROLLERS, ControlPlane
from cluster.device_objects import (
    CLAIMS,
    DEVICES,
    DRIVER,
    PODS,
    PROTECTION,
    TEMPLATES,
    Json,
    claim,
    create,
    device_class,
    devices_of,
    get,
    gpu,
    holders,
    node_of,
    request,
    slice_of,
    told,
    with_claims,
)
from cluster.treadle_process import Cluster, Treadle, eventually, pod, queue

ROOT = Path(__file__).resolve().parents[2]
CONTROLLERS = f"{DEFAULT_CONTROLLERS},resourceclaim-controller"


def finish(plane: ControlPlane, name: str) -> None:
    patch = {"status": {"phase": "Succeeded"}}
    status, answer = plane.api("PATCH", f"{PODS}/{name}/status", patch, content_type="application/merge-patch+json")
    assert status == 200, answer


@pytest.fixture
def cluster(fresh_control_plane: Callable[..., ControlPlane]) -> Cluster:
    plane = fresh_control_plane()
    plane.apply_crds()
    plane.start_controller_manager(CONTROLLERS)
    for number in range(3):
        name = f"node-{number}"
        plane.api("POST", "/api/v1/nodes", fake_node(name, "8", "32Gi", labels={"kubernetes.io/hostname": name}))
    large = f'device.driver == "{DRIVER}" && device.capacity["{DRIVER}"].memory.compareTo(quantity("80Gi")) >= 0'
    create(
        plane,
        f"{DEVICES}/deviceclasses",
        device_class("gpu", f'device.driver == "{DRIVER}"'),
        device_class("large", large),
    )
    create(
        plane,
        f"{DEVICES}/resourceslices",
        slice_of("node-1", gpu("gpu-0"), gpu("gpu-1"), gpu("gpu-2", "h100", "80Gi")),
    )
    return Cluster(plane)


def test_a_claim_has_its_devices_before_its_pod_is_bound(cluster: Cluster, tmp_path: Path) -> None:
    plane = cluster.plane
    config = [{"opaque": {"driver": DRIVER, "parameters": {"mode": "shared"}}}]
    create(
        plane,
        CLAIMS,
        claim(
            "two",
            request(count=2, selectors=[{"cel": {"expression": f'device.attributes["{DRIVER}"].model == "a100"'}}]),
            config=config,
        ),
    )
    create(plane, CLAIMS, claim("big", request(of="large")))
    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        create(plane, PODS, with_claims("pod-two", "two"), with_claims("pod-big", "big"))
        cluster.wait_bound(2, 30)
        two, big = get(plane, f"{CLAIMS}/two"), get(plane, f"{CLAIMS}/big")
        assert devices_of(two) == ["node-1/gpu-0", "node-1/gpu-1"]
        assert devices_of(big) == ["node-1/gpu-2"]
        assert holders(two) == ["pod-two"]
        assert two["status"]["reservedFor"][0]["uid"] == get(plane, f"{PODS}/pod-two")["metadata"]["uid"]
        assert PROTECTION in two["metadata"]["finalizers"]
        allocation = two["status"]["allocation"]
        assert allocation["nodeSelector"]["nodeSelectorTerms"][0]["matchFields"][0]["values"] == ["node-1"]
        assert allocation["devices"]["config"] == [{"source": "FromClaim", **config[0]}]
        # the claim was written before the pod
        for name in ("two", "big"):
            written = int(get(plane, f"{CLAIMS}/{name}")["metadata"]["resourceVersion"])
            assert written < int(get(plane, f"{PODS}/pod-{name}")["metadata"]["resourceVersion"])

        # one more finds none left, and says so; the class that is not there is named
        create(
            plane,
            CLAIMS,
            claim("late", request()),
            claim("odd", request(of="ghost")),
            claim("broken", request(selectors=[{"cel": {"expression": f'device.attributes["{DRIVER}"].nosuch == 1'}}])),
        )
        create(plane, PODS, with_claims("pod-late", "late"), with_claims("pod-odd", "odd"), with_claims("pod-lost", "nowhere"))
        words = "0/3 nodes are available: 3 cannot allocate all claims."
        eventually(lambda: told(plane, "pod-late") == ("Unschedulable", words), 30, "no device is left")
        missing = ("DevicesNotReady", "request gpus: device class ghost does not exist")
        eventually(lambda: told(plane, "pod-odd") == missing, 30, "the class is missing")
        lost = ("DevicesNotReady", 'could not find ResourceClaim "default/nowhere"')
        eventually(lambda: told(plane, "pod-lost") == lost, 30, "the claim is missing")
        # a slice brings it
        create(plane, f"{DEVICES}/resourceslices", slice_of("node-2", gpu("gpu-0")))
        eventually(lambda: node_of(plane, "pod-late") == "node-2", 30, "a device has come")
        create(plane, PODS, with_claims("pod-broken", "broken"))
        eventually(
            lambda: "nosuch" in told(plane, "pod-broken")[1] or told(plane, "pod-broken")[0] == "Unschedulable",
            30,
            "the expression",
        )


def test_a_claim_is_shared_and_freed_and_two_pods_compete_for_one_device(cluster: Cluster, tmp_path: Path) -> None:
    plane = cluster.plane
    create(plane, CLAIMS, claim("shared", request(count=3)))
    template = {"metadata": {"name": "one", "namespace": "default"}, "spec": {"spec": claim("", request())["spec"]}}
    create(plane, TEMPLATES, template)
    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        create(plane, PODS, *(with_claims(f"sharer-{number}", "shared") for number in range(5)))
        cluster.wait_bound(5, 30)
        assert holders(get(plane, f"{CLAIMS}/shared")) == [f"sharer-{number}" for number in range(5)]
        assert {one["spec"]["nodeName"] for one in cluster.bound()} == {"node-1"}

        create(plane, PODS, *(with_claims(f"single-{number}", template="one") for number in range(2)))
        words = "0/3 nodes are available: 3 cannot allocate all claims."
        for number in range(2):
            eventually(lambda number=number: told(plane, f"single-{number}") == ("Unschedulable", words), 30, "all are taken")
        create(plane, f"{DEVICES}/resourceslices", slice_of("node-0", gpu("gpu-0")))
        first = eventually(
            lambda: [name for name in ("single-0", "single-1") if node_of(plane, name) == "node-0"], 30, "one goes"
        )
        assert len(first) == 1
        other = "single-1" if first == ["single-0"] else "single-0"
        assert not node_of(plane, other)
        finish(plane, first[0])
        eventually(lambda: node_of(plane, other) == "node-0", 60, "the other follows when the first has ended")


def test_a_restart_in_the_middle_loses_nothing(cluster: Cluster, tmp_path: Path) -> None:
    plane = cluster.plane
    create(
        plane,
        f"{DEVICES}/resourceslices",
        *(slice_of(f"node-{number}", *(gpu(f"gpu-{at}") for at in range(24 if number == 0 else 4))) for number in (0, 2)),
    )
    create(plane, CLAIMS, *(claim(f"claim-{number}", request()) for number in range(16)))
    # a claim that got devices before the crash, and is reserved for nobody, on a node that its pod cannot go to
    create(plane, CLAIMS, claim("stray", request()))
    stray = get(plane, f"{CLAIMS}/stray")
    result = {"request": "gpus", "driver": DRIVER, "pool": "node-1", "device": "gpu-0"}
    only = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-1"]}]}]
    stray["status"] = {"allocation": {"devices": {"results": [result]}, "nodeSelector": {"nodeSelectorTerms": only}}}
    status, answer = plane.api("PUT", f"{CLAIMS}/stray/status", stray)
    assert status == 200, answer
    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        create(plane, PODS, *(with_claims(f"pod-{number}", f"claim-{number}") for number in range(16)))
        eventually(
            lambda: any(devices_of(one) for one in get(plane, CLAIMS)["items"] if one["metadata"]["name"] != "stray"),
            30,
            "it has begun",
        )
        treadle.kill()
    with Treadle(plane.scheduler_kubeconfig(), tmp_path):
        cluster.wait_bound(16, 60)
        elsewhere = {"nodeSelector": {"kubernetes.io/hostname": "node-0"}}
        create(plane, PODS, with_claims("pod-stray", "stray", **elsewhere))
        eventually(lambda: node_of(plane, "pod-stray") == "node-0", 60, "the devices are given back, and others taken")
    held = [one for found in get(plane, CLAIMS)["items"] for one in devices_of(found)]
    assert len(held) == len(set(held)) == 17
    for one in cluster.bound():
        name = one["spec"]["resourceClaims"][0]["resourceClaimName"]
        found = get(plane, f"{CLAIMS}/{name}")
        assert holders(found) == [one["metadata"]["name"]]
        assert devices_of(found)[0].startswith(one["spec"]["nodeName"])


def test_the_example_has_its_devices(cluster: Cluster, tmp_path: Path) -> None:
    plane = cluster.plane
    status, answer = plane.api("DELETE", f"{DEVICES}/deviceclasses/gpu")  # the example brings its own
    assert status == 200, answer
    create(plane, f"{DEVICES}/resourceslices", slice_of("node-0", gpu("gpu-0"), gpu("gpu-1")))
    paths = {
        "DeviceClass": f"{DEVICES}/deviceclasses",
        "ResourceClaim": CLAIMS,
        "ResourceClaimTemplate": TEMPLATES,
        "Pod": PODS,
        "Job": "/apis/batch/v1/namespaces/default/jobs",
    }
    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        for one in yaml.safe_load_all((ROOT / "examples" / "devices.yaml").read_text()):
            create(plane, paths[one["kind"]], one)
        cluster.wait_bound(4, 60)
    held = [one for found in get(plane, CLAIMS)["items"] for one in devices_of(found)]
    assert len(held) == len(set(held)) == 5


def test_an_extended_resource_that_a_class_serves_is_satisfied_by_a_claim_made_for_the_pod(
    cluster: Cluster, tmp_path: Path
) -> None:
    plane = cluster.plane
    create(
        plane,
        f"{DEVICES}/deviceclasses",
        device_class("served", f'device.driver == "{DRIVER}"', extendedResourceName="example.com/gpu"),
    )

    def asking(name: str, resource: str, count: str) -> Json:
        made = pod(name, application="app", cpu="100m", memory="64Mi")
        resources = made["spec"]["containers"][0]["resources"]
        for part in ("requests", "limits"):
            resources.setdefault(part, {})[resource] = count
        return made

    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        create(plane, PODS, asking("two", "example.com/gpu", "2"), asking("one", "deviceclass.resource.kubernetes.io/large", "1"))
        cluster.wait_bound(2, 30)
        claims = {one["metadata"]["ownerReferences"][0]["name"]: one for one in get(plane, CLAIMS)["items"]}
        assert sorted(devices_of(claims["two"])) == ["node-1/gpu-0", "node-1/gpu-1"]
        assert devices_of(claims["one"]) == ["node-1/gpu-2"]
        for name, found in claims.items():
            status = get(plane, f"{PODS}/{name}")["status"]["extendedResourceClaimStatus"]
            assert status["resourceClaimName"] == found["metadata"]["name"]
            assert status["requestMappings"][0]["requestName"] == found["spec"]["devices"]["requests"][0]["name"]
            assert holders(found) == [name]
        # there are no more, and a pod is never bound without
        create(plane, PODS, asking("late", "example.com/gpu", "1"))
        words = "0/3 nodes are available: 3 cannot allocate all claims."
        eventually(lambda: told(plane, "late") == ("Unschedulable", words), 30, "no device is left")
        plane.api("DELETE", f"{PODS}/two", {"gracePeriodSeconds": 0})
        eventually(lambda: node_of(plane, "late") == "node-1", 60, "devices are free again")


def test_devices_of_claims_count_against_the_maximum_of_a_queue(cluster: Cluster, tmp_path: Path) -> None:
    plane = cluster.plane
    create(plane, f"{DEVICES}/resourceslices", slice_of("node-0", *(gpu(f"gpu-{at}") for at in range(8))))
    template = {"metadata": {"name": "two", "namespace": "default"}, "spec": {"spec": claim("", request(count=2))["spec"]}}
    create(plane, TEMPLATES, template)
    counted = {"deviceClasses": {"gpu": "nvidia.com/gpu"}}
    scheduler = {"apiVersion": "treadle.dev/v1alpha1", "kind": "Scheduler", "metadata": {"name": "treadle"}, "spec": counted}
    create(plane, "/apis/treadle.dev/v1alpha1/schedulers", scheduler)
    cluster.queues(queue("root.gpus", maxResources={"nvidia.com/gpu": "4"}))

    def asking(name: str) -> Json:
        made = with_claims(name, template="two")
        made["metadata"]["labels"]["treadle.dev/queue"] = "root.gpus"
        return made

    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        for number in range(3):
            create(plane, PODS, asking(f"pod-{number}"))
            if number < 2:
                cluster.wait_bound(number + 1, 30)
        words = "queue root.gpus is at its maximum (maxResources): nvidia.com/gpu 4 used of 4, 2 wanted, 2 missing"
        eventually(lambda: told(plane, "pod-2") == ("QueueMaximum", words), 30, "the queue is at its maximum")
        status = eventually(
            lambda: (
                found
                if (found := cluster.get("queues", "root.gpus").get("status", {})).get("used", {}).get("nvidia.com/gpu") == "4"
                else None
            ),
            30,
            "the status of the queue says what it uses",
        )
        assert status["used"]["nvidia.com/gpu"] == "4"
        finish(plane, "pod-0")
        eventually(lambda: node_of(plane, "pod-2"), 60, "the third starts when one is done")
    held = [one for found in get(plane, CLAIMS)["items"] for one in devices_of(found)]
    assert len(held) == len(set(held)) == 4


@pytest.mark.parametrize(
    ("classes", "words"),
    [
        ({"gpu": "cpu"}, "must be the name of an extended resource"),
        ({"gpu": "profile.treadle.dev/large"}, "must be the name of an extended resource"),
        ({"GPU": "nvidia.com/gpu"}, "names must be those of DeviceClasses"),
    ],
)
def test_the_server_refuses_what_classes_cannot_count_as(cluster: Cluster, classes: dict[str, str], words: str) -> None:
    body = {
        "apiVersion": "treadle.dev/v1alpha1",
        "kind": "Scheduler",
        "metadata": {"name": "treadle"},
        "spec": {"deviceClasses": classes},
    }
    status, answer = cluster.plane.api("POST", "/apis/treadle.dev/v1alpha1/schedulers", body)
    assert status == 422
    assert words in answer["message"]
