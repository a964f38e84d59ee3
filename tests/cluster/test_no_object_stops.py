"""Objects that the API server accepts stop nothing: what was done to real schedulers that stopped, with another queue's pod as the witness."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cluster.treadle_process import Cluster, Treadle, capacity_queue, eventually, pod, queue

TREADLE = "/apis/treadle.dev/v1alpha1"
MERGE = "application/merge-patch+json"


@pytest.fixture
def cluster(fresh_cluster: Callable[..., Cluster]) -> Cluster:
    return fresh_cluster(3, "8", "32Gi")


class Witness:
    """Shows that pods of a queue that has nothing to do with it are placed, and that nothing was raised."""

    def __init__(self, cluster: Cluster, treadle: Treadle, path: str) -> None:
        self.cluster, self.treadle, self.path, self.number = cluster, treadle, path, 0

    def is_served(self) -> None:
        self.number += 1
        name = f"witness-{self.number}"
        self.cluster.pods([pod(name, self.path, "witness", cpu="100m", memory="16Mi")])

        def bound() -> bool:
            found = self.cluster.plane.api("GET", f"/api/v1/namespaces/default/pods/{name}")[1]
            return bool(found["spec"].get("nodeName"))

        eventually(bound, 30, f"{name} bound; the log ends {self.treadle.log.read_text()[-2000:]}")
        assert "Traceback" not in self.treadle.log.read_text()
        assert self.treadle.get("/healthz")[0] == 200
        assert self.treadle.metric("treadle_objects_set_aside") == 0


def scheduler(cluster: Cluster, **spec: Any) -> None:
    body = {"apiVersion": "treadle.dev/v1alpha1", "kind": "Scheduler", "metadata": {"name": "treadle"}, "spec": spec}
    status, answer = cluster.plane.api("POST", f"{TREADLE}/schedulers", body)
    if status == 409:
        status, answer = cluster.plane.api("PATCH", f"{TREADLE}/schedulers/treadle", {"spec": spec}, content_type=MERGE)
    assert status in {200, 201}, answer


def in_force(cluster: Cluster, name: str) -> bool:
    return cluster.condition("schedulers", name, "Ready").get("status") == "True"


def test_a_leaf_in_use_that_is_to_make_queues_under_the_capacity_discipline(cluster: Cluster, tmp_path: Path) -> None:
    maker = capacity_queue("root.made", "50%", autoCreation={"enabled": True})
    cluster.queues(maker, capacity_queue("root.other", "50%"))
    scheduler(cluster, discipline="Fair")
    with Treadle(cluster.plane.scheduler_kubeconfig(), tmp_path) as treadle:
        witness = Witness(cluster, treadle.wait_ready(), "root.other")
        cluster.pods([pod("user-0", "root.made", "user", cpu="1")])
        cluster.wait_bound(1)
        scheduler(cluster, discipline="Capacity")
        eventually(lambda: cluster.get("schedulers", "treadle").get("status", {}).get("discipline"), 30)
        cluster.pods([pod("user-1", "root.made", "user", cpu="1"), pod("user-2", "root.made", "another", cpu="1")])
        for _ in range(3):
            witness.is_served()


def test_the_queue_of_a_waiting_master_goes_while_a_pod_brings_a_new_resource(cluster: Cluster, tmp_path: Path) -> None:
    cluster.queues(queue("root.default", maxAMShare="0.1"), queue("root.other"))
    with Treadle(cluster.plane.scheduler_kubeconfig(), tmp_path) as treadle:
        witness = Witness(cluster, treadle.wait_ready(), "root.other")
        masters = [pod(f"master-{number}", "root.default", f"spark-{number}", cpu="2", memory="1Gi") for number in range(6)]
        for master in masters:
            master["metadata"]["labels"]["spark-role"] = "driver"
        cluster.pods(masters)
        eventually(lambda: treadle.metric('treadle_pods{state="waiting"}') > 0, 30, "a master that waits")
        strange = pod("strange", "root.other", "strange")
        amounts = strange["spec"]["containers"][0]["resources"]
        amounts["requests"]["example.com/new"] = "1"
        amounts["limits"] = {"example.com/new": "1"}
        assert cluster.plane.api("DELETE", f"{TREADLE}/queues/root.default")[0] == 200
        cluster.pods([strange])
        for _ in range(3):
            witness.is_served()


def test_a_weight_in_a_maximum_is_refused_when_it_is_applied(cluster: Cluster) -> None:
    body = capacity_queue("root.odd", "50%", "[memory=16Gi,cpu=80w]")
    status, answer = cluster.plane.api("POST", f"{TREADLE}/queues", body)
    assert status == 422
    assert "spec.capacity.maximum" in answer["message"]


def test_the_user_of_an_application_may_have_a_long_name(cluster: Cluster, tmp_path: Path) -> None:
    cluster.queues(queue("root.other"), queue("root.etl"))
    application = {
        "apiVersion": "treadle.dev/v1alpha1",
        "kind": "Application",
        "metadata": {"name": "long"},
        "spec": {"queue": "root.etl"},
    }
    assert cluster.plane.api("POST", f"{TREADLE}/namespaces/default/applications", application)[0] == 201
    one = pod("long-0", "root.etl", "long")
    one["metadata"]["annotations"] = {"treadle.dev/user": "ü" * 400}
    with Treadle(cluster.plane.scheduler_kubeconfig(), tmp_path, "--user-source=claims") as treadle:
        witness = Witness(cluster, treadle.wait_ready(), "root.other")
        cluster.pods([one])
        cluster.wait_bound(1)
        eventually(
            lambda: cluster.get("applications", "long", "default").get("status", {}).get("phase") == "Running",
            30,
            "its status is written",
        )
        witness.is_served()
        assert "422" not in treadle.log.read_text()
