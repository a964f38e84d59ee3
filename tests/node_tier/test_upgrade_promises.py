"""What was promised before an upgrade from an earlier chart, on a real node: it is kept, to the second."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from cluster.client import PATIENCE, eventually
from node_tier import tenant
from node_tier.release import CHART, GROUP, IMAGE, NAME, Release

NIGHT = "night"
PLAN = f"root.{NIGHT}"
RESERVATIONS = f"{GROUP}/namespaces/{NIGHT}/reservations"


def made(release: Release, path: str, body: dict[str, Any]) -> None:
    # An API server needs up to half a minute to know the kind of a policy's parameters.
    eventually(lambda: release.plane.api("POST", path, body)[0] == 201, 60, f"{body['metadata']['name']} is made")


def reservation(name: str, start: datetime, cpu: str) -> dict[str, Any]:
    """Of one container for a minute that begins at a time: the window has no more room."""
    lasting = timedelta(seconds=60 * PATIENCE)
    request = {"demand": {"cpu": cpu}, "count": 1, "duration": f"{lasting.total_seconds():.0f}s"}
    return {
        "apiVersion": "treadle.dev/v1alpha1",
        "kind": "Reservation",
        "metadata": {"name": name},
        "spec": {
            "queue": PLAN,
            "arrival": f"{start:%Y-%m-%dT%H:%M:%SZ}",
            "deadline": f"{start + lasting:%Y-%m-%dT%H:%M:%SZ}",
            "expression": {"requests": [request]},
        },
    }


def said_of(release: Release, name: str) -> dict[str, Any]:
    found: dict[str, Any] = release.plane.api("GET", f"{RESERVATIONS}/{name}")[1].get("status", {})
    return found


def condition(pod: dict[str, Any]) -> dict[str, Any]:
    """Whether a pod is placed, and why not; empty while nothing is said."""
    return next((one for one in pod.get("status", {}).get("conditions", []) if one["type"] == "PodScheduled"), {})


def test_what_was_promised_before_an_upgrade_is_kept_after_it(release: Release) -> None:
    release.go_back()
    space = {"metadata": {"name": NIGHT, "annotations": {"treadle.dev/queue": PLAN}}}
    assert release.plane.api("POST", "/api/v1/namespaces", space)[0] == 201
    takes = {"reservations": {"policy": "NoOverCommit", "leadTime": "0s"}}
    kind = {"apiVersion": "treadle.dev/v1alpha1"}
    made(release, tenant.QUEUES, {**kind, "kind": "Queue", "metadata": {"name": PLAN}, "spec": takes})
    account = f"/api/v1/namespaces/{NIGHT}/serviceaccounts/default"
    eventually(lambda: release.plane.api("GET", account)[0] == 200, 30, "pods can be made")
    start = (datetime.now(UTC) + timedelta(seconds=75 * PATIENCE)).replace(microsecond=0)
    made(release, RESERVATIONS, reservation("nightly", start, "1200m"))
    eventually(lambda: said_of(release, "nightly").get("phase") == "Accepted", 30, "it is promised")
    promised = said_of(release, "nightly")
    application = {**kind, "kind": "Application", "metadata": {"name": "report"}, "spec": {"reservation": "nightly"}}
    made(release, f"{GROUP}/namespaces/{NIGHT}/applications", application)
    pods = f"/api/v1/namespaces/{NIGHT}/pods"
    pod = tenant.pod("report", "1")
    pod["metadata"]["labels"] = {"treadle.dev/application": "report"}
    made(release, pods, pod)
    seen = lambda: release.plane.api("GET", f"{pods}/report")[1]  # noqa: E731
    begins = f"reservation {NIGHT}/nightly begins at"
    eventually(lambda: begins in condition(seen()).get("message", ""), 30, "its pod waits for it")
    earlier = {one["metadata"]["name"] for one in release.pods()}

    release.helm("upgrade", NAME, str(CHART), IMAGE)
    eventually(lambda: not earlier & {one["metadata"]["name"] for one in release.pods()}, 120, "all copies are new")
    release.wait_ready()
    assert datetime.now(UTC) < start, "the upgrade took longer than the time until the reservation begins"
    kept = said_of(release, "nightly")
    assert [kept[one] for one in ("phase", "accepted", "allocations", "nextStart")] == [
        promised[one] for one in ("phase", "accepted", "allocations", "nextStart")
    ]
    assert condition(seen())["status"] == "False", "nothing of it is placed before its time"
    made(release, RESERVATIONS, reservation("second", start, "1200m"))
    eventually(lambda: said_of(release, "second").get("phase") == "Rejected", 30, "what was promised is in the way")

    eventually(lambda: condition(seen()).get("status") == "True", 120, "its pod is placed")
    placed = datetime.fromisoformat(condition(seen())["lastTransitionTime"])
    print(f"a pod of a reservation is placed {(placed - start).total_seconds():.0f} s after its time")
    assert start <= placed <= start + timedelta(seconds=10 * PATIENCE)
    assert seen()["metadata"]["annotations"]["treadle.dev/allocated-queue"].startswith(f"{PLAN}.nightly-")
    eventually(lambda: said_of(release, "nightly").get("phase") == "Active", 20, "its window has begun")
    eventually(lambda: seen()["status"].get("phase") == "Running", 60, "it runs")
