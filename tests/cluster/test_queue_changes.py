"""Changes of several queues by REST on a real API server: with the rights of whoever asks, under the chart's policy, and all or nothing also when the process dies."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster.client import ApiClient, eventually
from cluster.control_plane import ControlPlane
from cluster.policies import RBAC, install
from cluster.treadle_process import Treadle

QUEUES, SCHEDULERS = "/apis/treadle.dev/v1alpha1/queues", "/apis/treadle.dev/v1alpha1/schedulers"
ADMINISTRATORS = "/apis/treadle.dev/v1alpha1/namespaces/treadle-system/administratorlists/treadle-administrators"
LOG = "/api/v1/namespaces/treadle-system/configmaps/treadle-queue-changes"
CONF, CHANGES = "/ws/v1/cluster/scheduler-conf", "/api/v1/queue-changes"
ARGUMENTS = (
    "--namespace=treadle-system",
    "--publish-administrators=treadle-administrators",
    "--default-access=namespace",
    "--rest",
    "--queue-changes=treadle-queue-changes",
)
ROLES = {"lead": "treadle-team-admin", "boss": "treadle-queue-admin", "reader": "treadle-view", "nobody": ""}
SHARES = {"root.team": "60%", "root.team.a": "50%", "root.team.b": "50%", "root.prod": "40%"}


def queue(path: str, guaranteed: str, **spec: Any) -> dict[str, Any]:
    block = {"capacity": {"guaranteed": guaranteed}, **spec}
    return {"apiVersion": "treadle.dev/v1alpha1", "kind": "Queue", "metadata": {"name": path}, "spec": block}


def shares(plane: ControlPlane) -> dict[str, str]:
    return {one["metadata"]["name"]: one["spec"]["capacity"]["guaranteed"] for one in plane.api("GET", QUEUES)[1]["items"]}


def in_force(plane: ControlPlane) -> dict[str, str]:
    """What is said of the present version of each queue by whoever schedules."""
    found = {}
    for one in plane.api("GET", QUEUES)[1]["items"]:
        ready = [each for each in (one.get("status") or {}).get("conditions", []) if each["type"] == "Ready"]
        present = ready and ready[0].get("observedGeneration") == one["metadata"]["generation"]
        found[one["metadata"]["name"]] = ready[0]["status"] if present else ""
    return found


def capacities(**paths: str) -> dict[str, Any]:
    entries = [
        {"queue-name": f"root.{path.replace('_', '.')}", "params": {"entry": {"key": "capacity", "value": value}}}
        for path, value in paths.items()
    ]
    return {"update-queue": entries}


class World:
    """A control plane with the chart's policy, accounts by name, and a scheduler that serves changes."""

    def __init__(self, plane: ControlPlane, folder: Path) -> None:
        self.plane, self.folder = plane, folder
        self.tokens: dict[str, str] = {}
        self.treadle = Treadle(plane.scheduler_kubeconfig("treadle-system"), folder, *ARGUMENTS)

    def account(self, name: str, role: str) -> None:
        accounts = "/api/v1/namespaces/team/serviceaccounts"
        assert self.plane.api("POST", accounts, {"metadata": {"name": name}})[0] == 201
        self.tokens[name] = self.plane.api("POST", f"{accounts}/{name}/token", {"spec": {}})[1]["status"]["token"]
        if role:
            body = {
                "metadata": {"name": f"{name}-{role}"},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
                "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "team"}],
            }
            assert self.plane.api("POST", f"{RBAC}/clusterrolebindings", body)[0] == 201

    def ask(self, whose: str, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        client = ApiClient(f"http://127.0.0.1:{self.treadle.port}")
        try:
            return client.request(method, path, body, token=self.tokens[whose])
        finally:
            client.close()

    def restart(self) -> None:
        self.treadle = Treadle(self.plane.scheduler_kubeconfig("treadle-system"), self.folder, *ARGUMENTS).start()
        self.treadle.wait_ready()


@pytest.fixture
def world(control_plane_binaries: None, tmp_path: Path) -> Iterator[World]:  # noqa: ARG001
    with ControlPlane() as plane:
        plane.apply_crds()
        plane.create_nodes(2, "8", "64Gi")
        for name in ("treadle-system", "team"):
            plane.create_namespace(name)
        install(plane, "administration", "rbac-users")
        found = World(plane, tmp_path)
        for name, role in ROLES.items():
            found.account(name, role)
        probe = queue("root.probe", "0%")
        refused = lambda: plane.api("POST", QUEUES, probe, {"dryRun": "All"}, token=found.tokens["lead"])  # noqa: E731
        eventually(lambda: "may not write queue" in str(refused()[1].get("message")), 60, "the policy in force")
        body = {
            "apiVersion": "treadle.dev/v1alpha1",
            "kind": "Scheduler",
            "metadata": {"name": "treadle"},
            "spec": {"discipline": "Capacity"},
        }
        assert plane.api("POST", SCHEDULERS, body)[0] == 201
        for path, share in SHARES.items():
            more = {"administerAcl": {"serviceAccounts": ["team/lead"]}} if path == "root.team" else {}
            eventually(lambda: plane.api("POST", QUEUES, queue(path, share, **more))[0] == 201, what=path)  # noqa: B023
        with found.treadle:
            found.treadle.wait_ready()
            eventually(lambda: "root.team" in (plane.api("GET", ADMINISTRATORS)[1].get("data") or {}), 20, "the lists published")
            try:
                yield found
            finally:
                found.treadle.__exit__()


def test_changes_are_made_with_the_rights_of_whoever_asks(world: World) -> None:
    plane = world.plane
    status, said = world.ask("lead", "PUT", CONF, capacities(team_a="30", team_b="70"))
    assert status == 200, said
    assert shares(plane) == {**SHARES, "root.team.a": "30%", "root.team.b": "70%"}
    eventually(lambda: set(in_force(plane).values()) == {"True"}, 20, "all queues are in force")

    # One queue of another team, or the team's own, and nothing at all is written.
    for other in (capacities(team_a="50", team_b="50", team="40", prod="60"), capacities(team="40", prod="60")):
        status, said = world.ask("lead", "PUT", CONF, other)
        assert (status, "may not write queue root." in str(said)) == (403, True), said
    body = {
        "apply": [queue("root.team.a", "50%"), queue("root.team.b", "40%"), queue("root.team.c", "10%"), queue("root.x", "0%")]
    }
    assert world.ask("lead", "POST", CHANGES, body)[0] == 403
    everywhere = {"global-updates": {"entry": {"key": "yarn.scheduler.capacity.maximum-applications", "value": "5"}}}
    assert world.ask("lead", "PUT", CONF, everywhere)[0] == 403
    assert shares(plane) == {**SHARES, "root.team.a": "30%", "root.team.b": "70%"}

    # Whoever may see queues sees the configuration and the log; whoever may not sees neither.
    assert world.ask("reader", "GET", CONF)[0] == 200
    assert world.ask("reader", "GET", CHANGES)[1]["changes"][0]["user"] == "system:serviceaccount:team:lead"
    assert world.ask("reader", "PUT", CONF, capacities(team_a="50", team_b="50"))[0] == 403
    for method, path, sent in (
        ("GET", CONF, None),
        ("GET", f"{CONF}/version", None),
        ("GET", CHANGES, None),
        ("GET", f"{CHANGES}/1", None),
    ):
        assert world.ask("nobody", method, path, sent)[0] == 403, path
    assert world.ask("nobody", "POST", f"{CHANGES}/1/undo", None)[0] == 403

    # The API server's rules hold, and the scheduler's.
    bad = {"apply": [queue("root.team.a", "30%", maxRunningApplications=-1)]}
    status, said = world.ask("lead", "POST", CHANGES, bad)
    assert (status, "maxRunningApplications" in said["detail"]) == (400, True), said
    status, said = world.ask("lead", "PUT", CONF, capacities(team_a="31"))
    assert (status, "sum" in said["RemoteException"]["message"]) == (400, True), said

    status, said = world.ask("boss", "PUT", CONF, {**capacities(team="40", prod="60"), **everywhere})
    assert status == 200, said
    assert plane.api("GET", f"{SCHEDULERS}/treadle")[1]["spec"]["capacity"]["maximumApplications"] == 5
    assert world.ask("lead", "POST", f"{CHANGES}/2/undo")[0] == 403
    status, said = world.ask("boss", "POST", f"{CHANGES}/2/undo")
    assert (status, said.get("version")) == (200, 3), said
    assert world.ask("lead", "POST", f"{CHANGES}/1/undo")[0] == 200
    assert shares(plane) == SHARES
    assert "maximumApplications" not in plane.api("GET", f"{SCHEDULERS}/treadle")[1]["spec"].get("capacity", {})
    assert world.ask("boss", "GET", f"{CONF}/version") == (200, {"versionID": 4})


def test_a_change_whose_process_is_killed_in_the_middle_is_taken_back(world: World) -> None:
    plane, several = world.plane, 400
    body = {
        "apply": [
            queue("root.prod", "30%"),
            queue("root.many", "10%"),
            *(queue(f"root.many.q{n}", "0%") for n in range(several - 1)),
            queue("root.many.last", "100%"),
        ]
    }
    answers: list[Any] = []

    def send() -> None:
        try:
            answers.append(world.ask("boss", "POST", CHANGES, body))
        except Exception as error:  # noqa: BLE001 - the connection ends with the process
            answers.append(error)

    sending = threading.Thread(target=send)
    sending.start()
    eventually(lambda: len(shares(plane)) > len(SHARES) + 20, 60, "the change has begun")
    world.treadle.kill()
    sending.join(30)
    left = len(shares(plane)) - len(SHARES)
    assert 20 < left <= several, (left, answers)
    world.restart()
    status, said = world.ask("boss", "PUT", CONF, capacities(team_a="30", team_b="70"))
    assert (status, "is under way" in said["RemoteException"]["message"]) == (503, True), said
    eventually(lambda: shares(plane) == SHARES, 120, "what was half done is taken back")
    eventually(lambda: "underway" not in (plane.api("GET", LOG)[1].get("binaryData") or {}), 20, "nothing is under way")
    assert world.ask("boss", "PUT", CONF, capacities(team_a="30", team_b="70"))[0] == 200


def test_a_change_of_many_queues_is_made_in_seconds(world: World) -> None:
    plane, several = world.plane, 200
    body = {
        "apply": [
            queue("root.prod", "30%"),
            queue("root.many", "10%"),
            *(queue(f"root.many.q{n}", "0.5%") for n in range(several)),
        ]
    }
    began = time.monotonic()
    status, said = world.ask("boss", "POST", CHANGES, body)
    took = time.monotonic() - began
    assert status == 200, said
    print(f"a change of {several + 2} queues took {took:.1f} s")
    assert took < 60
    eventually(lambda: set(in_force(plane).values()) == {"True"}, 30, "all queues are in force")
    status, said = world.ask("boss", "POST", f"{CHANGES}/1/undo")
    assert status == 200, said
    assert shares(plane) == SHARES
