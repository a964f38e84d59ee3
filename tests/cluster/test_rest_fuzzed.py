"""Whatever the OpenAPI document allows, and what it does not, is answered as it says, and never by a failure (schemathesis)."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cluster.client import ApiClient
from cluster.treadle_process import Cluster, Treadle, eventually
from treadle.history.runs import SUCCEEDED, Run, Step
from treadle.history.store import Store

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance,unsupported_method,ignored_auth"
SECONDS = 480


@pytest.mark.slow
def test_every_answer_is_one_that_is_declared_and_none_is_a_failure(
    fresh_cluster: Callable[..., Cluster], tmp_path: Path
) -> None:
    cluster = fresh_cluster(2, "4", "16Gi")
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
    arguments = ("--rest", "--page", "--queue-changes", "changes", "--history", url)
    with Treadle(cluster.plane.kubeconfig, tmp_path, *arguments, anonymous_metrics=False) as treadle:
        eventually(lambda: treadle.get("/readyz")[0] == 200, 60, "ready")
        client = ApiClient(f"http://127.0.0.1:{treadle.port}", token=cluster.plane.token)
        listed = "/ws/v1/cluster/reservation/list?namespace=default"
        eventually(lambda: client.request("GET", listed)[0] == 200, 30, "what the queue has is known")
        submit = client.request("GET", "/openapi/v3")[1]["paths"]["/ws/v1/cluster/reservation/submit"]["post"]
        example = submit["requestBody"]["content"]["application/json"]["example"]
        status, answer = client.request("POST", "/ws/v1/cluster/reservation/submit?namespace=default", example)
        assert status == 202, answer
        client.close()
        # A stream has no end that could be checked.
        command = [
            str(Path(sys.executable).with_name("schemathesis")), "run", f"http://127.0.0.1:{treadle.port}/openapi/v3",
            "--header", f"Authorization: Bearer {cluster.plane.token}", "--checks", CHECKS, "--max-examples", "10", "--phases",
            "examples,coverage,fuzzing", "--rate-limit", "18/s", "--seed", "1", "--generation-database", "none", "--request-timeout", "30",
            "--no-color", "--exclude-path", "/api/v1/stream",
        ]  # fmt: skip
        began = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS, cwd=tmp_path)
        assert done.returncode == 0, done.stdout[-15000:] + done.stderr[-2000:]
        assert treadle.get("/healthz") == (200, "ok\n")
        assert "Traceback" not in treadle.log.read_text()
