"""The agent acts alone on a real API server, with the rights that the chart gives it."""

from __future__ import annotations

import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from agent.cgroup_tree import Tree
from chart.binaries import program
from cluster.client import eventually
from cluster.control_plane import ControlPlane, free_port
from cluster.idle_pods import PODS, events, idle
from cluster.treadle_process import pod

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
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "treadle",
        "agent",
        f"--listen=127.0.0.1:{port}",
        f"--cgroups={tree.mount}",
        f"--node={here}",
    ]
    command += [
        "--alone=memory=80,after=10,borne=1",
        f"--server={plane.url.removeprefix('https://')}",
        f"--credentials={credentials}",
    ]
    log = tmp_path / "agent.log"

    def metric(name: str) -> float:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
            found = {words[0]: words[1] for line in answer.read().decode().splitlines() if len(words := line.split()) == 2}
        return float(found[name])

    with log.open("wb") as file, subprocess.Popen(command, stderr=file, stdout=file) as process:
        try:
            eventually(lambda: "samples are taken" in log.read_text(), 30, "it runs")
            tree.all(memory=9 * GIB)
            for _ in range(14):  # a scheduler asks it: nobody goes, though too much is used
                asked = urllib.request.Request(f"http://127.0.0.1:{port}/sample", headers={"User-Agent": "treadle/treadle"})
                urllib.request.urlopen(asked, timeout=5).close()
                time.sleep(1)
            assert metric("treadle_agent_alone") == 0
            assert len(names(plane)) == 5

            eventually(lambda: "newer" not in names(plane), 30, f"the newest goes; {log.read_text()}")
            assert metric("treadle_agent_alone") == 1
            eventually(lambda: metric("treadle_agent_evicted_total") == 1, 10, "it is counted")
            (event,) = eventually(lambda: events(plane, "Preempted"), 10, "its owner is told")
            assert event["regarding"]["name"] == "newer"
            assert event["note"].startswith("opportunistic: no scheduler has asked for ")
            assert f"pods of node {here} use {9 * GIB} of its {10 * GIB} bytes of memory, more than 80%" in event["note"]

            tree.all(memory=7 * GIB)
            time.sleep(3)
            assert names(plane) == {"older", "says-so", "guaranteed", "elsewhere"}
            status = Path(f"/proc/{process.pid}/status").read_text()
            peak = int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 1024
            assert peak < 24, f"{peak:.1f} MiB"
        finally:
            process.kill()
