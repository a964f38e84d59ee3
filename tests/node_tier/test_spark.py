"""Spark in cluster mode on a real node: spark-submit makes a driver, the driver makes executors, and Treadle places them all until the job is done."""

from __future__ import annotations

import contextlib
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from cluster.accounts import account
from cluster.client import eventually
from node_tier import cgroups, spark, tenant
from node_tier.release import GROUP, Release

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(bool(spark.missing()), reason=spark.missing()),
    pytest.mark.timeout(900),
]
MIB = 1 << 20
ACCOUNT, DRIVER, NUMBERS, EXECUTORS = "spark", "count-driver", 300_000, 4
PORT = 7979
JOB = f"""\
import socket

from pyspark.sql import SparkSession

context = SparkSession.builder.getOrCreate().sparkContext
with socket.create_server(("", {PORT})) as waited_for:
    waited_for.accept()
numbers = context.parallelize(range({NUMBERS}), 24)
print("multiples of seven:", numbers.filter(lambda one: one % 7 == 0).count(), flush=True)
"""
"""It counts when somebody connects to the driver's pod: until then the executors are there to be looked at."""
OPTIONS = {
    "spark.app.name": "count",
    "spark.kubernetes.namespace": tenant.SPACE,
    "spark.kubernetes.authenticate.driver.serviceAccountName": ACCOUNT,
    "spark.kubernetes.container.image.pullPolicy": "Never",
    "spark.kubernetes.scheduler.name": "treadle",
    "spark.kubernetes.driver.pod.name": DRIVER,
    "spark.kubernetes.executor.podNamePrefix": "count",
    "spark.kubernetes.driver.request.cores": "200m",
    "spark.kubernetes.executor.request.cores": "250m",
    "spark.driver.memory": "512m",
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
    "spark.executor.instances": str(EXECUTORS),
    "spark.scheduler.minRegisteredResourcesRatio": "0.5",
    **{
        f"spark.kubernetes.{role}.label.treadle.dev/{name}": value
        for role in ("driver", "executor")
        for name, value in (("queue", tenant.QUEUE), ("application", "count"))
    },
}


RIGHTS = "/apis/rbac.authorization.k8s.io/v1/namespaces"
APPLICATIONS = f"{GROUP}/namespaces/{tenant.SPACE}/applications"


def may_run_jobs(release: Release) -> None:
    """Make the driver's account, with the rights that Spark's documentation asks for."""
    account(release.plane, tenant.SPACE, ACCOUNT)
    kinds = ["pods", "services", "configmaps", "persistentvolumeclaims"]
    role = {"metadata": {"name": ACCOUNT}, "rules": [{"apiGroups": [""], "resources": kinds, "verbs": ["*"]}]}
    bound = {
        "metadata": {"name": ACCOUNT},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": ACCOUNT},
        "subjects": [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": tenant.SPACE}],
    }
    for kind, body in (("roles", role), ("rolebindings", bound)):
        assert release.plane.api("POST", f"{RIGHTS}/{tenant.SPACE}/{kind}", body)[0] == 201


def status_of(release: Release, path: str) -> dict[str, Any]:
    found: dict[str, Any] = release.plane.api("GET", path)[1].get("status", {})
    return found


def pods_of(application: dict[str, Any]) -> tuple[int, int]:
    """How many run and how many wait, as an Application's status says."""
    said = application.get("pods", {})
    return said.get("running", 0), said.get("pending", 0)


def executors(release: Release) -> dict[str, dict[str, Any]]:
    found = release.plane.api("GET", tenant.PODS)[1]["items"]
    return {one["metadata"]["name"]: one for one in found if one["metadata"]["labels"].get("spark-role") == "executor"}


def begin(release: Release) -> None:
    """Have the job count, when enough executors have come to its driver."""

    def heard() -> bool:
        address = tenant.seen(release, DRIVER)["status"]["podIP"]
        with contextlib.suppress(ConnectionRefusedError), socket.create_connection((address, PORT), timeout=10):
            return True
        return False

    eventually(heard, 120, f"the driver waits for us; {release.log(DRIVER)}", 0.5)


def counted(release: Release) -> None:
    """Look at the job while its executors are there, as far as the queue lets them."""
    found = lambda: status_of(release, f"{APPLICATIONS}/count")  # noqa: E731
    eventually(lambda: pods_of(found()) == (4, 1), 120, f"the driver and three of four run; {release.log(DRIVER)}", 0.5)
    assert found()["queue"] == tenant.QUEUE
    assert found()["user"] == "admin", "whoever submitted it"
    assert found()["used"]["cpu"] == "950m"
    assert status_of(release, f"{tenant.QUEUES}/{tenant.QUEUE}")["used"]["cpu"] == "950m"
    there = executors(release)
    assert len(there) == EXECUTORS
    for one in there.values():
        assert one["spec"]["schedulerName"] == "treadle"
        assert one["metadata"]["annotations"]["treadle.dev/submitted-by"] == f"system:serviceaccount:{tenant.SPACE}:{ACCOUNT}"
    placed = [one for one in there.values() if "nodeName" in one["spec"]]
    assert len(placed) == EXECUTORS - 1
    for one in placed:
        said = one["metadata"]["annotations"]
        assert said["treadle.dev/allocated-queue"] == tenant.QUEUE
        assert said["treadle.dev/allocated-application"] == f"{tenant.SPACE}/count"
    (late,) = there.keys() - {one["metadata"]["name"] for one in placed}
    why = eventually(lambda: tenant.waits(release, late), 30, "it is told why it waits")
    assert why["reason"] == "QueueMaximum", why
    assert tenant.QUEUE in why["message"]


def test_a_job_runs_in_its_queue_to_its_end(service_release: Release, tmp_path: Path) -> None:
    release = service_release
    spark.imported(release.node, JOB)
    tenant.moved_in(release)
    may_run_jobs(release)
    application = {"apiVersion": "treadle.dev/v1alpha1", "kind": "Application", "metadata": {"name": "count"}, "spec": {}}
    assert release.plane.api("POST", APPLICATIONS, application)[0] == 201
    leader = eventually(release.leader, 30, "one leads")
    uid = next(one["metadata"]["uid"] for one in release.pods() if one["metadata"]["name"] == leader)
    group = release.node.cgroup
    before, processor, since = cgroups.working_set(group, uid), cgroups.processor_seconds(group, uid), time.monotonic()

    log = tmp_path / "submit.log"
    with spark.submit(release.node, log, OPTIONS) as submitted:
        try:
            counted(release)
            busy = cgroups.working_set(group, uid)
            begin(release)
            eventually(lambda: submitted.poll() is not None, 180, f"the job ends; the log is {log}", 0.5)
        finally:
            submitted.terminate()
    assert submitted.returncode == 0, log.read_text()
    assert tenant.seen(release, DRIVER)["status"]["phase"] == "Succeeded"
    assert f"multiples of seven: {len(range(0, NUMBERS, 7))}" in release.log(DRIVER)
    eventually(lambda: not executors(release), 60, "the executors have gone")
    eventually(lambda: pods_of(status_of(release, f"{APPLICATIONS}/count")) == (0, 0), 30, "nothing of it is there any more")
    eventually(lambda: not status_of(release, f"{tenant.QUEUES}/{tenant.QUEUE}")["used"], 30, "its queue is free")
    print(
        f"the container that leads: {before / MIB:.0f} MiB before, {busy / MIB:.0f} MiB while executors ran, "
        f"{cgroups.processor_seconds(group, uid) - processor:.1f} s of processor in {time.monotonic() - since:.0f} s"
    )
    for one in release.pods():
        assert one["status"]["containerStatuses"][0]["restartCount"] == 0
        assert "Traceback" not in release.log(one["metadata"]["name"])
