"""``treadle queues``, ``apps`` and ``explain`` tell a stranger with a kubeconfig what a real API server has of queues, applications and pods."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cluster.treadle_process import Cluster, Treadle, eventually, pod, queue

GROUP = "/apis/treadle.dev/v1alpha1"
PODS = "/api/v1/namespaces/default/pods"


class World:
    def __init__(self, cluster: Cluster) -> None:
        self.cluster, self.plane = cluster, cluster.plane

    def run(self, *arguments: str, code: int = 0) -> str:
        """What ``treadle`` prints; on the standard error where it ends with another status than 0."""
        command = [str(Path(sys.executable).with_name("treadle")), *arguments, "--kubeconfig", str(self.plane.kubeconfig)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stderr if code else done.stdout

    def line(self, text: str, *words: str) -> str:
        """The only line that has all the words."""
        found = [line for line in text.splitlines() if all(word in line for word in words)]
        assert len(found) == 1, text
        return found[0]


@pytest.fixture
def world(fresh_cluster: Callable[..., Cluster], tmp_path: Path) -> Iterator[World]:
    cluster = fresh_cluster(2, "2", "8Gi")
    plane = cluster.plane
    for body in (
        {"apiVersion": "treadle.dev/v1alpha1", "kind": "Scheduler", "metadata": {"name": "treadle"}, "spec": {}},
        {"apiVersion": "treadle.dev/v1alpha1", "kind": "Application", "metadata": {"name": "nightly"}, "spec": {}},
    ):
        where = f"{GROUP}/schedulers" if body["kind"] == "Scheduler" else f"{GROUP}/namespaces/default/applications"
        assert plane.api("POST", where, body)[0] == 201
    cluster.queues(
        queue("root.etl", weight=3), queue("root.etl.night", maxResources={"cpu": "2", "memory": "4Gi"}), queue("root.web")
    )
    for name in ("n-0", "n-1", "n-2"):
        assert plane.api("POST", PODS, pod(name, "root.etl.night", "nightly", cpu="1", memory="1Gi"))[0] == 201
    lonely = pod("lonely", "root.web", "", cpu="64", memory="1Gi")
    lonely["metadata"].setdefault("labels", {})["treadle.dev/rol"] = "master"
    assert plane.api("POST", PODS, lonely)[0] == 201
    theirs = pod("theirs", "", "", cpu="1", memory="1Gi")
    theirs["spec"]["schedulerName"] = "default-scheduler"
    assert plane.api("POST", PODS, theirs)[0] == 201
    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()

        def told() -> bool:
            status = cluster.get("applications", "nightly", "default").get("status") or {}
            used = (cluster.get("queues", "root.etl").get("status") or {}).get("used") or {}
            return bool(status.get("waiting")) and used.get("cpu") == "2"

        eventually(told, 30, "statuses are written")
        yield World(cluster)


def test_a_stranger_sees_the_tree_the_applications_and_why_a_pod_waits(world: World) -> None:
    tree = world.run("queues")
    print(tree)
    assert tree.splitlines()[0].split()[:2] == ["QUEUE", "STATE"]
    assert "cpu 2, memory 2Gi" in world.line(tree, "└─ night")
    assert world.line(tree, "└─ night").split()[-3:] == ["1", "0", "True"]
    assert "██" in world.line(tree, "├─ etl")
    assert world.run("queues", "root.etl").splitlines()[1].startswith("root.etl ")
    assert [one["metadata"]["name"] for one in json.loads(world.run("queues", "root.etl", "--output", "json"))] == [
        "root.etl",
        "root.etl.night",
    ]
    assert "there is no queue root.prd; the queues are root.etl, " in world.run("queues", "root.prd", code=1)

    applications = world.run("apps")
    print(applications)
    assert world.line(applications, "default/nightly").split()[1:7] == ["root.etl.night", "default", "Running", "2", "1", "0"]
    assert world.run("apps", "root.web") == "no applications\n"
    assert "default/nightly" in world.run("apps", "root.etl", "--waiting", "--namespace", "default")
    assert "name: nightly" in world.run("apps", "--output", "yaml")

    waits = next(
        name for name in ("n-0", "n-1", "n-2") if not world.plane.api("GET", f"{PODS}/{name}")[1]["spec"].get("nodeName")
    )
    said = world.run("explain", "pod", f"default/{waits}")
    print(said)
    assert said.splitlines()[0].startswith(f"pod default/{waits} waits for ")
    assert said.splitlines()[0].endswith(": QueueMaximum")
    assert "ahead of it in the queue: nobody" in said
    assert world.line(said, "queue root.etl.night:").endswith("at most cpu 2, memory 4Gi")
    assert "events, the last one last:" in said

    said = world.run("explain", "pod", "default/lonely")
    print(said)
    assert said.splitlines()[0].endswith(": Unschedulable")
    assert "its place in line is not told here" in said
    assert world.line(said, "LabelUnknown", "treadle.dev/rol (did you mean treadle.dev/role?)")
    runs = next(name for name in ("n-0", "n-1", "n-2") if name != waits)
    assert world.line(world.run("explain", "pod", f"default/{runs}"), f"pod default/{runs} is on node")
    assert "is for scheduler default-scheduler, and those of Treadle are treadle" in world.run("explain", "pod", "default/theirs")

    said = world.run("explain", "app", "default/nightly")
    print(said)
    assert said.splitlines()[0] == "application default/nightly of default is Running: 2 run, 1 wait"
    said = world.run("explain", "queue", "root.etl")
    print(said)
    assert said.splitlines()[0] == "queue root.etl is in force as written"
    assert "  default/nightly: QueueMaximum" in said

    # As kubectl runs a plugin: a program on the path whose name begins with kubectl-.
    plugin = Path(sys.executable).with_name("kubectl-treadle")
    command = [str(plugin), "queues", "root.web", "--kubeconfig", str(world.plane.kubeconfig)]
    assert "root.web" in subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout

    assert "not found" in world.run("explain", "pod", "default/nobody", code=1)
    assert "not found" in world.run("explain", "pod", "nobody", code=1), "it is looked for in the namespace of the context"
    assert "'a/b/c' is not NAMESPACE/NAME" in world.run("explain", "pod", "a/b/c", code=1)
    assert "'a/b' is not the path of a queue" in world.run("explain", "queue", "a/b", code=1)


def test_what_has_no_object_is_explained_by_its_pods_and_a_slip_by_what_was_probably_meant(world: World) -> None:
    assert world.plane.api("POST", PODS, pod("typo", "root.wbe", "loose", cpu="1"))[0] == 201
    mine = pod("etl-7", "root.web", "", cpu="64")
    mine["metadata"]["ownerReferences"] = [
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "name": "etl",
            "uid": "5b1c2f7e-0000-4000-8000-000000000001",
            "controller": True,
        }
    ]
    assert world.plane.api("POST", PODS, mine)[0] == 201
    eventually(lambda: "QueueNotFound" in world.run("explain", "pod", "typo"), what="why it waits is written")
    eventually(lambda: "Unschedulable" in world.run("explain", "pod", "etl-7"), what="why the job's waits is written")

    said = world.run("explain", "app", "loose")
    assert world.line(said, "application default/loose has no object (kind Application): of its pods 0 are on nodes, 1 wait")
    assert world.line(said, "pod typo: QueueNotFound")
    said = world.run("explain", "app", "default/job/etl")
    assert world.line(said, "pod etl-7: Unschedulable")
    assert world.line(said, "queue root.web: uses")
    assert "there is no application default/nosuch" in world.run("explain", "app", "nosuch", code=1)

    assert world.line(world.run("explain", "queue", "root"), "queue root has no object, so it has no limits of its own")
    assert "there is no queue root.wbe; did you mean root.web?" in world.run("explain", "queue", "root.wbe", code=1)
    assert world.run("eta", "nightly") == world.run("eta", "default/nightly")


FILE = """
apiVersion: treadle.dev/v1alpha1
kind: Queue
metadata: {name: root.etl}
spec: {fair: {weight: "5"}}
---
apiVersion: treadle.dev/v1alpha1
kind: Queue
metadata: {name: root.new}
---
apiVersion: treadle.dev/v1alpha1
kind: Queue
metadata: {name: root.web}
spec: {fair: {weight: "1"}}
---
apiVersion: treadle.dev/v1alpha1
kind: Application
metadata: {name: nightly}
spec: {queue: root.etl.night, priority: 3}
---
apiVersion: treadle.dev/v1alpha1
kind: Application
metadata: {name: other, namespace: default}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
"""
BAD = """
apiVersion: treadle.dev/v1alpha1
kind: Queue
metadata: {name: root.a.b}
---
apiVersion: treadle.dev/v1alpha1
kind: Queue
metadata: {name: root.x}
spec: {fair: {weigth: "5"}}
---
apiVersion: treadle.dev/v1alpha1
kind: Queue
metadata: {name: root.y}
spec: {maxRunningApplications: -1}
---
apiVersion: treadle.dev/v1alpha1
kind: Application
metadata: {name: nightly, namespace: nowhere}
---
- a list
"""


def test_a_file_is_judged_against_the_live_tree_and_nothing_is_changed(world: World, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text(FILE)
    bad.write_text(BAD)
    before = world.plane.api("GET", f"{GROUP}/queues")[1]["items"]
    said = world.run("validate", str(good))
    print(said)
    assert said.splitlines() == [
        "ConfigMap c: is not of treadle.dev/v1alpha1, and not looked at",
        "Queue root.etl: would be changed in spec.fair.weight",
        "Queue root.new: would be made",
        "Queue root.web: stays as it is",
        "Application default/nightly: would be applied",
        "Application default/other: would be made",
    ]
    command = [str(Path(sys.executable).with_name("treadle")), "validate", str(bad), "--kubeconfig", str(world.plane.kubeconfig)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    print(done.stdout)
    assert (done.returncode, done.stderr) == (1, "treadle: 5 refused\n")
    for words in (
        ("together: REFUSED: root.a.b: ", "root.a"),
        ("Queue root.x: REFUSED: spec.fair.weigth: unknown field, did you mean weight?",),
        ("Queue root.y: REFUSED: ", "maxRunningApplications"),
        ("Application nowhere/nightly: REFUSED: ", "nowhere"),
        ("bad.yaml, document 5: REFUSED: is no object",),
    ):
        assert world.line(done.stdout, *words)
    assert [(one["metadata"]["name"], one["spec"]) for one in world.plane.api("GET", f"{GROUP}/queues")[1]["items"]] == [
        (one["metadata"]["name"], one["spec"]) for one in before
    ]
