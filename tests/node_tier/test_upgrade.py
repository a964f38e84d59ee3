"""An upgrade from an earlier chart on a real node: what runs runs on, what waits is placed afterwards, and our objects stay."""

from __future__ import annotations

import time

from cluster.client import eventually
from node_tier import tenant
from node_tier.release import CHART, GROUP, IMAGE, MERGE, NAME, Release

CHANGES = "/api/v1/queue-changes"


def test_running_and_waiting_pods_and_our_objects_survive_an_upgrade(release: Release) -> None:
    release.go_back()
    tenant.moved_in(release)
    application = {"apiVersion": "treadle.dev/v1alpha1", "kind": "Application", "metadata": {"name": "kept"}}
    path = f"{GROUP}/namespaces/{tenant.SPACE}/applications"
    status, answer = release.plane.api("POST", path, {**application, "spec": {"queue": tenant.QUEUE}})
    assert status == 201, answer
    tenant.made(release, tenant.pod("runs", "600m"))
    eventually(lambda: tenant.runs(release, "runs"), 60, "it runs")
    tenant.made(release, tenant.pod("waits", "600m"))
    eventually(lambda: tenant.waits(release, "waits"), 60, "it waits")

    release.helm("upgrade", NAME, str(CHART), IMAGE)
    begun = time.monotonic()
    wider = {"spec": {"fair": {"maxResources": {"cpu": "1300m"}}}}
    edit = lambda: release.plane.api("PATCH", f"{tenant.QUEUES}/{tenant.QUEUE}", wider, content_type=MERGE)[0] == 200  # noqa: E731
    eventually(edit, 60, "queues can be edited under the new policies")
    eventually(lambda: tenant.runs(release, "waits"), 120, "what waited is placed")
    release.wait_ready()
    print(f"all copies are new and ready {time.monotonic() - begun:.0f} s after the upgrade")
    began = time.monotonic()
    tenant.made(release, tenant.pod("after", "50m"))
    eventually(lambda: tenant.runs(release, "after"), 60, "new ones are placed by the new copies")
    print(f"a pod made then runs after {time.monotonic() - began:.1f} s")
    assert tenant.seen(release, "runs")["status"]["containerStatuses"][0]["restartCount"] == 0
    assert release.plane.api("GET", f"{path}/kept")[0] == 200
    crd = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/queues.treadle.dev"
    assert release.plane.api("GET", crd)[1]["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"


def test_the_log_of_changes_of_queues_stays_and_they_can_be_undone(release: Release) -> None:
    served = "--set=rest.enabled=true,rest.queueChanges=true"
    release.helm("upgrade", NAME, str(CHART), IMAGE, served)
    release.wait_ready()
    queue = {"kind": "Queue", "metadata": {"name": "root.changed"}, "spec": {"fair": {"weight": "3"}}}
    change = {"message": "a team is new", "apply": [queue]}
    status, answer = release.ask("POST", CHANGES, change)
    assert (status, answer["version"]) == (200, 1), answer
    logged = release.ask("GET", f"{CHANGES}/1")
    assert logged[1]["message"] == "a team is new"
    earlier = {one["metadata"]["name"] for one in release.pods()}

    release.helm("upgrade", NAME, str(CHART), IMAGE, f"{served},podAnnotations.example\\.com/again=yes")
    eventually(lambda: not earlier & {one["metadata"]["name"] for one in release.pods()}, 120, "all copies are new")
    release.wait_ready()
    assert release.ask("GET", f"{CHANGES}/1") == logged
    status, answer = release.ask("POST", f"{CHANGES}/1/undo")
    assert (status, answer["version"]) == (200, 2), answer
    eventually(lambda: release.plane.api("GET", f"{tenant.QUEUES}/root.changed")[0] == 404, 30, "the queue is no more")
