"""The agent on a real node: what it reads of the cgroups that a kubelet makes, or what it says where it cannot read them."""

from __future__ import annotations

import json
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cluster.client import eventually
from cluster.control_plane import Process, free_port
from node_tier import cgroups
from node_tier.pods import guaranteed, running
from node_tier.real_node import NAME, RealNode


def page(port: int, path: str) -> tuple[int, dict[str, Any]] | None:
    """What the agent answers; None while it does not."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)
    except OSError:
        return None


def test_it_tells_what_pods_use_where_the_kubelet_has_cgroup_v2_and_says_so_where_it_has_not(
    real_node: Callable[..., RealNode],
) -> None:
    node = real_node()
    busy = guaranteed("busy", "100m", "64Mi", "-mebibytes=32", "-cores=1")
    busy["spec"] |= {"nodeName": NAME, "schedulerName": "nobody"}
    assert node.plane.api("POST", "/api/v1/namespaces/default/pods", busy)[0] == 201
    uid = running(node, "busy")["metadata"]["uid"]
    port = free_port()
    options = [f"--listen=127.0.0.1:{port}", f"--pods={node.cgroup}/kubepods", f"--node={NAME}"]
    agent = Process("agent", [sys.executable, "-m", "treadle", "agent", *options], node.folder / "agent.log")
    try:
        if cgroups.version() == 1:
            status, said = eventually(lambda: page(port, "/sample"), 30, "it answers")
            assert status == 503
            assert "/sys/fs/cgroup is not a cgroup v2 hierarchy: it has no cgroup.controllers" in said["problem"]
            assert "of cgroup v1, which the agent does not read" in said["problem"]
            return

        def told() -> dict[str, Any]:
            status, said = page(port, "/sample") or (0, {})
            return said if status == 200 and (said["pods"].get(uid) or [None])[0] else {}

        sample = eventually(told, 30, "it tells of the pod")
        cpu, memory = sample["pods"][uid]
        assert cpu > 100
        assert memory > 32 << 20
        assert sample["memory"] >= memory
        told_of = {"cpu", "memory", "io"} if Path("/proc/pressure/cpu").exists() else set()
        assert set(sample["pressure"]) == told_of
    finally:
        agent.stop()
