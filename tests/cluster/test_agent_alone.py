"""The agent acts alone on a real API server, with the rights that the chart gives it."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from agent.cgroup_tree import Tree
from chart.binaries import program
from cluster.client import eventually
from cluster.control_plane import ControlPlane
from cluster.idle_pods import PODS, events, idle
from cluster.treadle_process import pod
from treadle.agent.command import Agent, AgentOptions

CHART = Path(__file__).resolve().parents[2] / "charts" / "treadle"
SPACE, ACCOUNT = "treadle-system", "treadle-agent"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
GIB = 1 << 30


def give_rights(plane: ControlPlane, folder: Path) -> Path:
    """Make the agent's account with what the chart binds to it, and return the folder that a kubelet would give its pod."""
    command = [str(program("helm")), "template", "treadle", str(CHART), "--namespace", SPACE]
    command += [
        "--set=agent.enabled=true,agent.alone.enabled=true,agent.alone.memoryPercent=80",
        "--show-only=templates/agent.yaml",
    ]
    rendered = subprocess.run(command, check=True, capture_output=True, text=True, env={"HOME": str(folder)}).stdout
    paths = {
        "ServiceAccount": f"/api/v1/namespaces/{SPACE}/serviceaccounts",
        "ClusterRole": f"{RBAC}/clusterroles",
        "ClusterRoleBinding": f"{RBAC}/clusterrolebindings",
    }
    plane.create_namespace(SPACE)
    for one in yaml.safe_load_all(rendered):
        if one["kind"] in paths:
            status, answer = plane.api("POST", paths[one["kind"]], one)
            assert status == 201, answer
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    status, answer = plane.api("POST", f"{paths['ServiceAccount']}/{ACCOUNT}/token", request)
    assert status == 201, answer
    credentials = folder / "credentials"
    credentials.mkdir()
    (credentials / "token").write_text(answer["status"]["token"])
    (credentials / "ca.crt").write_bytes(plane.ca.read_bytes())
    return credentials


def placed(plane: ControlPlane, body: dict[str, Any], node: str) -> str:
    body["spec"]["nodeName"] = node
    status, answer = plane.api("POST", PODS, body)
    assert status == 201, answer
    time.sleep(1.1)  # the API tells when pods were made in whole seconds
    return str(answer["metadata"]["uid"])


def names(plane: ControlPlane) -> set[str]:
    return {one["metadata"]["name"] for one in plane.api("GET", PODS)[1]["items"] if not one["metadata"].get("deletionTimestamp")}


def test_the_newest_opportunistic_pod_of_its_node_goes_while_no_scheduler_asks(
    fresh_control_plane: Callable[..., ControlPlane], tmp_path: Path
) -> None:
    plane = fresh_control_plane()
    here, other = plane.create_nodes(2, "8", "10Gi")
    plane.start_controller_manager()
    plane.start_kwok()
    eventually(lambda: plane.api("GET", "/api/v1/namespaces/default/serviceaccounts")[0] == 200, 30, "accounts")
    credentials = give_rights(plane, tmp_path)
    tree = Tree(tmp_path / "cgroup")
    tree.all(memory=5 * GIB)
    says_so = idle("says-so")
    says_so["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "1", "memory": "1Gi"}
    pods = [(idle("older"), here), (idle("newer"), here), (says_so, here), (pod("guaranteed"), here), (idle("elsewhere"), other)]
    for body, node in pods:
        uid = placed(plane, body, node)
        if node == here:
            tree.pod(uid, "burstable", memory=2 * GIB)
    limits = "memory=80,after=10,borne=1"
    options = AgentOptions(
        cgroups=str(tree.mount),
        node=here,
        alone=limits,
        server=plane.url.removeprefix("https://"),
        credentials=str(credentials),
    )
    now = [1000.0]
    agent = Agent(options, clock=lambda: now[0])
    acting = agent.acting
    assert acting is not None

    def seconds(count: int, asked_by: str = "") -> None:
        """Let the agent take a sample a second, and do what it begins."""
        for _ in range(count):
            now[0] += 1
            if asked_by:
                agent.answer("/sample", asked_by)
            agent.turn()
            acting.settle()

    def metric(name: str) -> float:
        lines = agent.answer("/metrics")[2].splitlines()
        return float(next(line for line in lines if line.startswith(f"{name} ")).split()[1])

    tree.all(memory=9 * GIB)
    seconds(30, asked_by="treadle/treadle")  # a scheduler asks it: nobody goes, though too much is used
    assert metric("treadle_agent_alone") == 0
    assert len(names(plane)) == 5

    seconds(10)
    assert metric("treadle_agent_alone") == 0
    seconds(5)
    assert metric("treadle_agent_alone") == 1
    assert metric("treadle_agent_evicted_total") == 1
    eventually(lambda: "newer" not in names(plane), 30, "the newest goes")
    (event,) = eventually(lambda: events(plane, "Preempted"), 10, "its owner is told")
    assert event["regarding"]["name"] == "newer"
    assert event["note"].startswith("opportunistic: no scheduler has asked for ")
    assert f"pods of node {here} use {9 * GIB} of its {10 * GIB} bytes of memory, more than 80%" in event["note"]

    tree.all(memory=7 * GIB)
    seconds(60)
    assert names(plane) == {"older", "says-so", "guaranteed", "elsewhere"}
    assert metric("treadle_agent_evicted_total") == 1
