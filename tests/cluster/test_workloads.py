"""The pods of Spark, Flink, KubeRay, JobSet, the MPI operator and Argo, run to completion on a real API server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from cluster.client import fake_node
from cluster.control_plane import ControlPlane
from cluster.pod_group_kinds import CRDS, PLUGINS, VOLCANO, definition
from cluster.treadle_process import Cluster, Treadle, eventually, queue, requested
from treadle.api.labels import role_of
from workloads.runs import ALIASES, RUNS, Run, manifests

Json = dict[str, Any]
ZONE = "topology.kubernetes.io/zone"
ENDS = {"metadata": {"annotations": {"pod-complete.stage.kwok.x-k8s.io/delay": "1ms"}, "finalizers": None}}
"""What lets a pod end: the time that kwok waits, and no finalizer, as the controllers take theirs away."""
MERGE = "application/merge-patch+json"
BY_NAME = {run.namespace: run for run in RUNS}


@pytest.fixture(scope="module")
def running(control_plane_binaries: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Cluster, Treadle]]:  # noqa: ARG001
    """A control plane with kwok and the PodGroups of Volcano and of the scheduler-plugins, and Treadle under all names of schedulers."""
    with ControlPlane() as plane:
        plane.apply_crds()
        for version in (VOLCANO, PLUGINS):
            assert plane.api("POST", CRDS, definition(version))[0] == 201
        for version in (VOLCANO, PLUGINS):
            eventually(lambda version=version: plane.api("GET", f"/apis/{version}/podgroups")[0] == 200, 30, "the kind is served")
        plane.start_kwok()
        scheduler = {
            "apiVersion": "treadle.dev/v1alpha1",
            "kind": "Scheduler",
            "metadata": {"name": "treadle"},
            "spec": {"aliases": ALIASES},
        }
        assert plane.api("POST", "/apis/treadle.dev/v1alpha1/schedulers", scheduler)[0] == 201
        found = Cluster(plane)
        found.queues(*(queue(name) for name in sorted({run.queue for run in RUNS})))
        with Treadle(plane.scheduler_kubeconfig(), tmp_path_factory.mktemp("treadle")) as treadle:
            treadle.wait_ready()
            yield found, treadle


class Workload:
    """The pods of one run, on nodes that only they are on."""

    def __init__(self, cluster: Cluster, treadle: Treadle, run: Run) -> None:
        self.plane, self.treadle, self.run = cluster.plane, treadle, run
        self.path = f"/api/v1/namespaces/{run.namespace}/pods"
        self.nodes: list[str] = []

    def node(self, name: str, pods: int = 110, zone: str = "") -> None:
        name = f"{self.run.namespace}-{name}"
        made = fake_node(name, "16", "64Gi", pods, {ZONE: zone} if zone else None)
        assert self.plane.api("POST", "/api/v1/nodes", made)[0] == 201
        self.nodes.append(name)

    def create(self, *objects: Json) -> None:
        for one in objects:
            version, namespace = one["apiVersion"], one["metadata"]["namespace"]
            path = self.path if version == "v1" else f"/apis/{version}/namespaces/{namespace}/podgroups"
            status, answer = self.plane.api("POST", path, one)
            assert status == 201, answer["message"]

    def pods(self) -> list[Json]:
        return self.plane.api("GET", self.path)[1]["items"]

    def bound(self) -> list[Json]:
        return [one for one in self.pods() if one["spec"].get("nodeName")]

    def wait_running(self, count: int) -> list[Json]:
        def running() -> list[Json] | None:
            found = [one for one in self.bound() if one["status"]["phase"] == "Running"]
            return found if len(found) == count else None

        return eventually(running, 30, f"{count} pods run")

    def waiting(self) -> list[str]:
        """The messages of the pods that are told why they wait."""
        return [
            condition["message"]
            for one in self.pods()
            for condition in one["status"].get("conditions", [])
            if condition["type"] == "PodScheduled" and condition["status"] == "False"
        ]

    def used(self) -> float:
        """The cores that are used in the queue."""
        return self.treadle.metric(f'treadle_queue_resource{{kind="used",queue="{self.run.queue}",resource="cpu"}}')

    def end(self) -> None:
        """Let the pods end, or delete those of a service."""
        for one in self.pods():
            name = one["metadata"]["name"]
            if self.run.service:
                assert self.plane.api("DELETE", f"{self.path}/{name}", {"gracePeriodSeconds": 0})[0] == 200
            else:
                assert self.plane.api("PATCH", f"{self.path}/{name}", ENDS, content_type=MERGE)[0] == 200

    def ended(self) -> bool:
        return all(one["status"]["phase"] == "Succeeded" for one in self.pods()) and (not self.run.service or not self.pods())


@pytest.fixture
def workload(running: tuple[Cluster, Treadle], request: pytest.FixtureRequest) -> Iterator[Workload]:
    found = Workload(*running, request.param)
    found.plane.create_namespace(found.run.namespace)
    yield found
    for one in found.pods():
        found.plane.api("PATCH", f"{found.path}/{one['metadata']['name']}", ENDS, content_type=MERGE)
        found.plane.api("DELETE", f"{found.path}/{one['metadata']['name']}", {"gracePeriodSeconds": 0})
    for node in found.nodes:
        found.plane.api("DELETE", f"/api/v1/nodes/{node}")


def runs_to_its_end(workload: Workload, count: int) -> None:
    """All pods run in the queue and the application that they belong to, then they end, and their queue holds nothing."""
    run = workload.run
    pods = workload.wait_running(count)
    for one in pods:
        notes = one["metadata"]["annotations"]
        assert notes["treadle.dev/allocated-queue"] == run.queue
        assert notes["treadle.dev/allocated-application"] == f"{run.namespace}/{run.application}"
    eventually(lambda: workload.used() == requested(pods) / 1000, 20, "the queue holds what its pods ask for")
    workload.end()
    eventually(workload.ended, 30, "all pods have ended")
    eventually(lambda: workload.used() == 0, 20, "the queue holds nothing")


@pytest.mark.parametrize(
    "workload", [run for run in RUNS if run.namespace != "jobset-exclusive"], ids=lambda run: run.namespace, indirect=True
)
def test_the_pods_of_a_workload_run_to_their_end_with_their_master_first_and_their_gangs_whole(workload: Workload) -> None:
    run, pods = workload.run, manifests(workload.run, "Pod")
    if run.whole:
        workload.node("small", pods=1)
    workload.create(*manifests(run, "PodGroup"), *pods)
    eventually(lambda: len(workload.waiting()) == len(pods), 30, "all pods are told why they wait")
    if run.whole:
        starts = f"starts with {len(pods)} pods: 0 are placed"
        assert all(starts in words for words in workload.waiting()), workload.waiting()
        assert workload.bound() == []
    else:
        workload.node("small", pods=1)
        [first] = workload.wait_running(1)
        if run.masters:
            assert role_of(first["metadata"]["labels"], first["metadata"]["annotations"]) == "master"
    workload.node("large")
    runs_to_its_end(workload, len(pods))


@pytest.mark.parametrize("workload", [BY_NAME["jobset-exclusive"]], ids=lambda run: run.namespace, indirect=True)
def test_each_job_of_a_jobset_gets_a_zone_for_itself(workload: Workload) -> None:
    pods = manifests(workload.run, "Pod")
    index = "batch.kubernetes.io/job-completion-index"
    leaders = [one for one in pods if one["metadata"]["labels"][index] == "0"]
    for zone in ("a", "b"):
        workload.node(zone, zone=zone)
    workload.create(*leaders)
    zones = {
        one["metadata"]["labels"]["job-name"]: one["spec"]["nodeName"].rpartition("-")[2]
        for one in workload.wait_running(len(leaders))
    }
    assert set(zones.values()) == {"a", "b"}
    for one in pods:
        if one not in leaders:  # as JobSet's webhook lets it be made
            one["spec"]["nodeSelector"] = {ZONE: zones[one["metadata"]["labels"]["job-name"]]}
            workload.create(one)
    for one in workload.wait_running(len(pods)):
        assert one["spec"]["nodeName"].rpartition("-")[2] == zones[one["metadata"]["labels"]["job-name"]]
    runs_to_its_end(workload, len(pods))
