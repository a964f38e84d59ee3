"""Spark's own spark-submit, in client mode, on a real API server: its executors are placed as far as their queue goes, each with a volume of its own.

kwok says that executors run; none of them ever speaks to the driver, so the application waits for them until it is ended.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from cluster.client import fake_node
from cluster.control_plane import DEFAULT_CONTROLLERS, ControlPlane
from cluster.treadle_process import Cluster, Treadle, eventually, queue
from cluster.volume_objects import CLAIMS, HOST, SELECTED, STORAGE, Provisioner, create, storage_class, told

SPARK = Path(os.environ.get("TREADLE_SPARK", "")).resolve()
"""Where PyPI's pyspark has been unpacked."""
pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(not (SPARK / "pyspark").is_dir(), reason="TREADLE_SPARK names no folder with pyspark; use make spark"),
    pytest.mark.skipif(shutil.which("java") is None, reason="spark-submit needs Java"),
]
Json = dict[str, Any]
PODS = "/api/v1/namespaces/default/pods"
CONTROLLERS = f"{DEFAULT_CONTROLLERS},persistentvolume-binder-controller"
JOB = (
    "from pyspark.sql import SparkSession\nprint(SparkSession.builder.getOrCreate().sparkContext.parallelize(range(8)).count())\n"
)
VOLUME = "spark.kubernetes.executor.volumes.persistentVolumeClaim.data"


@pytest.fixture
def cluster(fresh_control_plane: Callable[..., ControlPlane]) -> Cluster:
    plane = fresh_control_plane()
    plane.apply_crds()
    plane.start_controller_manager(CONTROLLERS)
    plane.start_kwok()
    for number in range(3):
        plane.api("POST", "/api/v1/nodes", fake_node(f"node-{number}", "4", "16Gi", labels={HOST: f"node-{number}"}))
    create(plane, f"{STORAGE}/storageclasses", storage_class("made"))
    found = Cluster(plane)
    found.queues(queue("root.spark", maxResources={"cpu": "3"}))
    return found


@contextmanager
def submitted(plane: ControlPlane, folder: Path) -> Iterator[None]:
    """An application of four executors that was submitted, until it is ended."""
    job = folder / "job.py"
    job.write_text(JOB)
    options = {
        "spark.app.name": "count",
        "spark.executor.instances": "4",
        "spark.executor.cores": "1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.kubernetes.namespace": "default",
        "spark.kubernetes.container.image": "spark",
        "spark.kubernetes.scheduler.name": "treadle",
        "spark.kubernetes.executor.podNamePrefix": "count",
        "spark.kubernetes.executor.label.treadle.dev/queue": "root.spark",
        f"{VOLUME}.options.claimName": "OnDemand",
        f"{VOLUME}.options.storageClass": "made",
        f"{VOLUME}.options.sizeLimit": "1Gi",
        f"{VOLUME}.mount.path": "/data",
        f"{VOLUME}.mount.readOnly": "false",
    }
    arguments = [part for name, value in options.items() for part in ("--conf", f"{name}={value}")]
    command = [str(SPARK / "pyspark/bin/spark-submit"), "--master", f"k8s://{plane.url}", "--deploy-mode", "client"]
    environment = {
        **os.environ,
        "KUBECONFIG": str(plane.kubeconfig),
        "SPARK_HOME": str(SPARK / "pyspark"),
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(SPARK),
    }
    with (
        (folder / "spark.log").open("w") as log,
        subprocess.Popen([*command, *arguments, str(job)], stdout=log, stderr=log, env=environment) as process,
    ):
        try:
            yield
        finally:
            process.terminate()
            process.wait(60)


def executors(plane: ControlPlane) -> dict[str, str]:
    """The executors and their nodes, which are empty while they wait."""
    found = plane.api("GET", PODS)[1]["items"]
    return {one["metadata"]["name"]: one["spec"].get("nodeName", "") for one in found if "-exec-" in one["metadata"]["name"]}


def test_three_executors_with_volumes_run_and_the_fourth_waits_for_its_queue(cluster: Cluster, tmp_path: Path) -> None:
    plane, provisioner = cluster.plane, Provisioner(cluster.plane)
    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle, provisioner.running(), submitted(plane, tmp_path):
        treadle.wait_ready()
        log = tmp_path / "spark.log"
        eventually(lambda: len(executors(plane)) == 4, 120, f"four executors; the log is {log}")
        eventually(lambda: sum(map(bool, executors(plane).values())) == 3, 60, "three are placed")
        waiting = next(name for name, node in executors(plane).items() if not node)
        eventually(lambda: told(plane, waiting)[0] == "QueueMaximum", 30, "the fourth waits for its queue")
        assert "maxResources" in told(plane, waiting)[1]

        claims = {one["metadata"]["name"]: one for one in plane.api("GET", CLAIMS)[1]["items"]}
        assert len(claims) == 4
        for name, node in executors(plane).items():
            pod = plane.api("GET", f"{PODS}/{name}")[1]
            mine = next(
                volume["persistentVolumeClaim"]["claimName"]
                for volume in pod["spec"]["volumes"]
                if "persistentVolumeClaim" in volume
            )
            assert claims[mine]["metadata"].get("annotations", {}).get(SELECTED, "") == node
        # all executors are one application, by the label that Spark gives them
        chosen = {plane.api("GET", f"{PODS}/{name}")[1]["metadata"]["labels"]["spark-app-selector"] for name in claims_of(plane)}
        assert len(chosen) == 1

        wider = {"spec": {"fair": {"maxResources": {"cpu": "4"}}}}
        answer = plane.api(
            "PATCH", "/apis/treadle.dev/v1alpha1/queues/root.spark", wider, content_type="application/merge-patch+json"
        )
        assert answer[0] == 200
        eventually(lambda: all(executors(plane).values()), 60, "the fourth is placed when its queue may have more")


def claims_of(plane: ControlPlane) -> list[str]:
    """The names of the executors."""
    return list(executors(plane))
