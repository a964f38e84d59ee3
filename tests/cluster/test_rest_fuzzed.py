"""Whatever the OpenAPI document allows, and what it does not, is answered as it says, and never by a failure (schemathesis)."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cluster.client import ApiClient
from cluster.control_plane import ControlPlane
from cluster.treadle_process import Cluster, Treadle, eventually
from treadle.history.runs import SUCCEEDED, Run, Step
from treadle.history.store import Store

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance,unsupported_method,ignored_auth"
STREAM = "/api/v1/stream"
"""It has no end that could be checked."""
SECONDS = 480
OF_TIMELINE = "^/ws/v2"
PARTS = {"admin": ("--exclude-path-regex", OF_TIMELINE), "second": ("--include-path-regex", OF_TIMELINE)}
"""What each of two users asks, both at once: one user alone may send 20 requests a second."""


@pytest.mark.slow
def test_every_answer_is_one_that_is_declared_and_none_is_a_failure(
    fresh_control_plane: Callable[..., ControlPlane], tmp_path: Path
) -> None:
    plane = fresh_control_plane(users={"second": ["system:masters"]})
    plane.apply_crds()
    plane.create_nodes(2, "4", "16Gi")
    cluster = Cluster(plane)
    plan = {"kind": "Queue", "metadata": {"name": "root.default"}, "spec": {"reservations": {"policy": "NoOverCommit"}}}
    cluster.queues({"apiVersion": "treadle.dev/v1alpha1", **plan})
    url = f"sqlite:///{tmp_path / 'history.db'}"
    store, began = Store(url), 1_900_000_000.0
    store.write(
        [
            Run(
                "default/nightly", "root.default", "ann", began, began, began, began + 20, 2, 2, 0, 0, SUCCEEDED,
                [Step(began, {"cpu": 2000, "memory": 1 << 30}, 1, (0, 0, 0))],
            )
        ],
        [], [], began,
    )  # fmt: skip
    store.close()
    plane.create_namespace("treadle-system")
    arguments = (
        "--namespace=treadle-system", "--publish-administrators=treadle-administrators", "--rest", "--page",
        "--queue-changes=treadle-queue-changes", "--history", url,
    )  # fmt: skip
    with Treadle(plane.scheduler_kubeconfig("treadle-system"), tmp_path, *arguments, anonymous_metrics=False) as treadle:
        eventually(lambda: treadle.get("/readyz")[0] == 200, 60, "ready")
        client = ApiClient(f"http://127.0.0.1:{treadle.port}", token=cluster.plane.token)
        listed = "/ws/v1/cluster/reservation/list?namespace=default"
        eventually(lambda: client.request("GET", listed)[0] == 200, 30, "what the queue has is known")
        submit = client.request("GET", "/openapi/v3")[1]["paths"]["/ws/v1/cluster/reservation/submit"]["post"]
        example = submit["requestBody"]["content"]["application/json"]["example"]
        status, answer = client.request("POST", "/ws/v1/cluster/reservation/submit?namespace=default", example)
        assert status == 202, answer
        client.close()
        asking = [
            subprocess.Popen(
                [
                    str(Path(sys.executable).with_name("schemathesis")), "run", f"http://127.0.0.1:{treadle.port}/openapi/v3", *part,
                    "--header", f"Authorization: Bearer {plane.tokens[user]}", "--checks", CHECKS, "--max-examples", "10", "--phases",
                    "examples,coverage,fuzzing", "--rate-limit", "18/s", "--seed", "1", "--generation-database", "none",
                    "--request-timeout", "30", "--no-color", "--exclude-path", STREAM,
                ],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path,
            )
            for user, part in PARTS.items()
        ]  # fmt: skip
        ends = time.monotonic() + SECONDS
        try:
            for one in asking:
                told, errors = one.communicate(timeout=max(1.0, ends - time.monotonic()))
                assert one.returncode == 0, told[-15000:] + errors[-2000:]
        finally:
            for one in asking:
                one.kill()
        assert treadle.get("/healthz") == (200, "ok\n")
        assert "Traceback" not in treadle.log.read_text()
