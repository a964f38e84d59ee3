"""The commands that ask the scheduler itself, those that read events and nodes, and the move of an application, on a real API server."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.control_plane import ControlPlane
from cluster.treadle_process import Cluster, Treadle, eventually, pod, queue
from treadle.history.runs import Run, Step
from treadle.history.said import Said
from treadle.history.store import Store

GROUP = "/apis/treadle.dev/v1alpha1"
PODS = "/api/v1/namespaces/default/pods"
APPLICATIONS = f"{GROUP}/namespaces/default/applications"


class World:
    def __init__(self, cluster: Cluster, url: str) -> None:
        self.cluster, self.plane, self.url = cluster, cluster.plane, url

    def run(self, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        command = [str(Path(sys.executable).with_name("treadle")), *arguments, "--kubeconfig", str(self.plane.kubeconfig)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == code, done.stdout + done.stderr
        return done

    def said(self, *arguments: str) -> str:
        return self.run(*arguments).stdout

    def line(self, text: str, *words: str) -> str:
        found = [line for line in text.splitlines() if all(word in line for word in words)]
        assert len(found) == 1, text
        return found[0]


def past(kept: str) -> None:
    """A run of default/nightly two days ago, and what was said of it."""
    began = time.time() - 2 * 86_400
    store = Store(kept)
    steps = [Step(began, {"cpu": 1000}, 1), Step(began + 600, {}, 0, (1, 0, 0))]
    run = Run("default/nightly", "root.etl", "ann", began - 90, began, began, began + 600, 2, 1, 0, 1, "Succeeded", steps)
    said = Said(began - 60, "Preempted", "Pod", "default", "n-9", "default/nightly", "root.etl", "Preempted: for queue root.web")
    store.write([run], [], [], time.time(), told=[said])
    store.close()


@pytest.fixture(scope="module")
def world(control_plane_binaries: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:  # noqa: ARG001
    with ControlPlane() as plane:
        plane.apply_crds()
        plane.create_nodes(2, "2", "8Gi")
        plane.start_controller_manager()
        cluster = Cluster(plane)
        rules = [{"rule": "specified", "create": True}, {"rule": "default", "queue": "root.web", "create": True}]
        scheduler = {
            "apiVersion": "treadle.dev/v1alpha1", "kind": "Scheduler", "metadata": {"name": "treadle"}, "spec": {"placementRules": rules},
        }  # fmt: skip
        assert plane.api("POST", f"{GROUP}/schedulers", scheduler)[0] == 201
        for name in ("nightly", "idle"):
            body = {"apiVersion": "treadle.dev/v1alpha1", "kind": "Application", "metadata": {"name": name}, "spec": {}}
            assert plane.api("POST", APPLICATIONS, body)[0] == 201
        cluster.queues(
            queue("root.etl", maxResources={"cpu": "1", "memory": "8Gi"}),
            queue("root.web"),
            queue("root.full", maxResources={"cpu": "0"}),
        )
        for name, where, application in (
            ("n-0", "root.etl", "nightly"),
            ("n-1", "root.etl", "nightly"),
            ("plain", "root.made", "plain"),
        ):
            assert plane.api("POST", PODS, pod(name, where, application, cpu="1", memory="1Gi"))[0] == 201
        folder = tmp_path_factory.mktemp("treadle")
        kept = f"sqlite:///{folder}/history.db"
        past(kept)
        with Treadle(plane.scheduler_kubeconfig(), folder, "--rest", "--history", kept) as treadle:
            port = treadle.wait_ready().port
            eventually(lambda: len(cluster.bound()) == 2, 30, "what has room is bound")
            listed = f"{GROUP}/queues"
            eventually(lambda: all(one.get("status") for one in plane.api("GET", listed)[1]["items"]), 30, "statuses are written")
            yield World(cluster, f"http://127.0.0.1:{port}")


def test_the_scheduler_tells_of_queues_and_applications_that_have_no_object(world: World) -> None:
    tree = world.said("queues", "--server", world.url)
    print(tree)
    assert world.line(tree, "─ made").split()[-1] == "rules"
    assert "cpu 1, memory 1Gi" in world.line(tree, "─ made"), "with its numbers"
    assert world.line(tree, "─ etl").split()[-1] == "True"
    applications = world.said("apps", "--server", world.url, "-o", "wide")
    print(applications)
    assert "root.made" in world.line(applications, "default/plain")
    assert "is at its maximum" in world.line(applications, "default/nightly")
    assert "default/plain" not in world.said("apps"), "objects do not know it"
    assert [
        one["metadata"]["name"] for one in json.loads(world.said("queues", "root.made", "--server", world.url, "-o", "json"))
    ] == ["root.made"]
    assert world.said("top", "--once", "--server", world.url).splitlines()[2:] == tree.splitlines()[1:]


def test_where_it_does_not_answer_objects_do_and_that_is_said(world: World) -> None:
    done = world.run("queues", "--server", "http://127.0.0.1:9")
    assert "what follows is what objects said last" in done.stderr
    assert world.line(done.stdout, "─ etl")
    assert "is no URL" in world.run("queues", "--server", "localhost", code=1).stderr


def test_nodes_are_told_by_the_scheduler_and_by_objects_alike(world: World) -> None:
    asked = json.loads(world.said("nodes", "--server", world.url, "-o", "json"))
    read = json.loads(world.said("nodes", "-o", "json"))
    print(world.said("nodes", "--server", world.url, "-o", "wide"))
    assert [(one["name"], one["state"], one["used"]) for one in asked] == [
        (one["name"], one["state"], one["used"]) for one in read
    ]
    assert sum(int(one["used"].get("cpu", "0")) for one in read) == 2
    assert world.said("nodes", "--server", world.url, "--partition", "gpu") == "no nodes\n"


def test_any_pod_is_explained_with_who_is_ahead_and_what_would_have_to_change(world: World) -> None:
    waits = next(name for name in ("n-0", "n-1") if not world.plane.api("GET", f"{PODS}/{name}")[1]["spec"].get("nodeName"))
    said = world.said("explain", "pod", f"default/{waits}", "--server", world.url)
    print(said)
    assert world.line(said, "what would have to change").endswith("queue root.etl lets go of 1 of cpu, or may have so much more")
    assert "ahead of it in the queue: no pods" in said
    said = world.said("explain", "queue", "root.etl", "--server", world.url)
    assert world.line(said, f"pod default/{waits} of default/nightly: QueueMaximum")


def test_a_pod_that_finds_no_node_is_told_which_comes_closest_and_what_is_in_the_way_there(world: World) -> None:
    assert world.plane.api("POST", PODS, pod("huge", "root.web", "huge", cpu="64", memory="1Gi"))[0] == 201

    def told() -> str:
        said = world.said("explain", "pod", "default/huge", "--server", world.url)
        return said if "the closest node: " in said else ""

    try:
        said = eventually(told, 30, "the closest node is told")
    finally:
        world.plane.api("DELETE", f"{PODS}/huge")
    assert world.line(said, "what would have to change", "none that admits it is large enough, even if it were empty")
    assert world.line(said, "the closest node: ").split()[-1] in {"node-00000", "node-00001"}


def test_what_is_explained_is_told_with_what_the_history_has_of_it(world: World) -> None:
    for kind, name in (("app", "default/nightly"), ("pod", "default/n-0"), ("queue", "root.etl")):
        said = world.said("explain", kind, name, "--server", world.url)
        print(said)
        line = world.line(said, "2d ago", "waited 90s, ran 10m, Succeeded (1 succeeded, 1 deleted)")
        assert ("default/nightly: " in line) == (kind == "queue")
        assert world.line(said, "2d ago Preempted: Preempted: for queue root.web")


def test_events_of_days_come_from_the_history(world: World) -> None:
    line = world.line(
        world.said("events", "--days", "3", "--reason", "Preempted", "--server", world.url), "Preempted", "pod default/n-9"
    )
    assert line.split()[0] == "2d"
    assert world.said("events", "default", "--about", "n-9", "--days", "1", "--server", world.url) == "no events\n"

    def waits() -> str:
        return world.said("events", "--days", "1", "--reason", "FailedScheduling", "--server", world.url)

    eventually(lambda: "queue root.etl is at its maximum" in waits(), 40, "what is said now is kept as well")
    assert "name the scheduler" in world.run("events", "--days", "1", code=2).stderr
    assert "--days: -1" in world.run("events", "--days=-1", "--server", world.url, code=2).stderr


def test_what_was_said_of_pods_is_listed(world: World) -> None:
    eventually(lambda: "FailedScheduling" in world.said("events"), 30, "an event is written")
    line = world.line(world.said("events", "default", "--reason", "FailedScheduling"), "pod default/n-")
    assert "queue root.etl is at its maximum" in line
    assert world.said("events", "--about", "nobody") == "no events\n"
    assert world.line(world.said("events", "--most", "1"), "pod default/")


def test_an_application_moves_or_it_is_said_why_not(world: World) -> None:
    assert world.said("move", "default/nightly", "root.web") == "default/nightly is in root.web\n"
    eventually(lambda: len(world.cluster.bound()) == 3, 30, "what waited has room there")
    assert "default/idle asks for root.etl; it has no pods" in world.said("move", "default/idle", "root.etl")
    assert "there is no Application default/plain" in world.run("move", "default/plain", "root.web", code=1).stderr
    refused = world.run("move", "default/nightly", "root.full", code=1).stderr
    print(refused)
    assert "default/nightly stays in root.web: " in refused
    assert "spec.queue" in world.run("move", "default/nightly", "Root.web", code=1).stderr
    assert "is not NAMESPACE/NAME" in world.run("move", "nightly", "root.web", code=1).stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_are_told_how_to_complete(shell: str) -> None:
    command = [str(Path(sys.executable).with_name("treadle")), "completion", shell]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for name in ("queues", "explain", "move", "--kubeconfig"):
        assert name.removeprefix("--") in said
