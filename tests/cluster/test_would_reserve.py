"""What would be decided on a reservation, asked by REST before it is made, is what then is decided, on a real API server."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cluster.accounts import account, token
from cluster.client import ApiClient
from cluster.treadle_process import Cluster, Treadle, eventually

RESERVATIONS = "/apis/treadle.dev/v1alpha1/namespaces/default/reservations"


def reservation(name: str, cpu: str, start: int = 1) -> dict[str, Any]:
    """Two hours, within three."""
    hour = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    times = [(hour + timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M:%SZ") for hours in (start + 1, start + 4)]
    request = {"demand": {"cpu": cpu}, "count": 1, "duration": "2h"}
    spec = {"queue": "root.plan", "arrival": times[0], "deadline": times[1], "expression": {"requests": [request]}}
    head = {"apiVersion": "treadle.dev/v1alpha1", "kind": "Reservation"}
    return {**head, "metadata": {"name": name, "namespace": "default"}, "spec": spec}


def test_what_would_be_decided_on_a_reservation_is_decided_when_it_is_made(
    fresh_cluster: Callable[..., Cluster], tmp_path: Path
) -> None:
    cluster = fresh_cluster(2, "4", "16Gi")
    plane = cluster.plane
    spec = {"reservations": {"policy": "NoOverCommit"}}
    cluster.queues({"apiVersion": "treadle.dev/v1alpha1", "kind": "Queue", "metadata": {"name": "root.plan"}, "spec": spec})
    plane.create_namespace("etl")
    account(plane, "etl", "guest")
    with Treadle(plane.scheduler_kubeconfig(), tmp_path, "--rest") as treadle:
        client = ApiClient(f"http://127.0.0.1:{treadle.wait_ready().port}", token=plane.token)

        def would(body: dict[str, Any]) -> Any:
            def answered() -> Any:
                code, said = client.request("POST", "/api/v1/whatif", {"reservation": body, "seconds": 0})
                return said if code != 503 else None

            return eventually(answered, 30, "an answer")["decided"]

        def made(body: dict[str, Any], phase: str) -> Any:
            assert plane.api("POST", RESERVATIONS, body)[0] == 201
            path = f"{RESERVATIONS}/{body['metadata']['name']}"
            status = lambda: plane.api("GET", path)[1].get("status") or {}  # noqa: E731 - as short as its name
            eventually(lambda: status().get("phase") == phase, 10, phase)
            return status()

        first, second = reservation("first", "6"), reservation("second", "6")
        told = would(first)
        assert (told["accepted"], told["queue"]) == (True, "root.plan")
        assert plane.api("GET", RESERVATIONS)[1]["items"] == [], "nothing is made of what is only asked"
        assert made(first, "Accepted")["allocations"] == told["allocations"]
        refused = would(second)
        assert (refused["accepted"], refused["reason"]) == (False, "NoRoom")
        status = made(second, "Rejected")
        assert status["alternatives"] == refused["alternatives"]
        (ready,) = (one for one in status["conditions"] if one["type"] == "Ready")
        assert (ready["reason"], ready["message"]) == (refused["reason"], refused["message"])
        later = {**second, "metadata": {**second["metadata"], "name": "third"}}
        deadline = next(one["deadline"] for one in refused["alternatives"] if "deadline" in one)
        assert would({**later, "spec": {**later["spec"], "deadline": deadline}})["accepted"], "what was said would do does"
        code, said = client.request(
            "POST", "/api/v1/whatif", {"reservation": first, "seconds": 0}, token=token(plane, "etl", "guest")
        )
        assert (code, "cannot create resource" in said["detail"]) == (403, True)
        client.close()
