"""The chart with its default values on a real node: its copies are ready by the kubelet's probes, place what is asked for, and leave nothing in the way.

The tests share a node, and are in the order of a release's life.
"""

from __future__ import annotations

import time
from pathlib import Path

from cluster.client import eventually
from node_tier import cgroups, tenant
from node_tier.release import MERGE, NAME, SPACE, Release

MIB = 1 << 20
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
WAITING = 500


def test_copies_run_as_nobody_with_no_rights_on_a_root_that_nobody_writes(release: Release) -> None:
    for pod in release.pods():
        assert pod["status"]["containerStatuses"][0]["restartCount"] == 0
        all_of_it = cgroups.processes(release.node.cgroup, pod["metadata"]["uid"])
        ours = [one for one in all_of_it if b"/opt/treadle" in Path(f"/proc/{one}/cmdline").read_bytes()]
        assert ours
        for process in ours:
            said = dict(
                line.split(":\t", 1) for line in Path(f"/proc/{process}/status").read_text().splitlines() if ":\t" in line
            )
            assert set(said["Uid"].split()) == {"65532"}
            assert int(said["CapEff"], 16) == int(said["CapBnd"], 16) == 0
            assert said["NoNewPrivs"] == "1"
            assert said["Seccomp"] == "2"
            (root,) = (line for line in Path(f"/proc/{process}/mountinfo").read_text().splitlines() if line.split()[4] == "/")
            assert root.split()[5].split(",")[0] == "ro"
        assert "forbidden" not in release.log(pod["metadata"]["name"]).lower()


def test_a_job_of_a_namespace_runs_in_the_queue_that_its_annotation_names(release: Release) -> None:
    tenant.moved_in(release)
    tenant.made(release, tenant.job("count", 3))
    path = f"{tenant.JOBS}/count"
    eventually(lambda: release.plane.api("GET", path)[1]["status"].get("succeeded") == 3, 60, "the Job is complete")
    pods = release.plane.api("GET", tenant.PODS)[1]["items"]
    assert {one["metadata"]["annotations"]["treadle.dev/submitted-by"] for one in pods} == {"admin"}, "whoever made the Job"
    tenant.made(release, tenant.pod("large", "1500m"))
    why = eventually(lambda: tenant.waits(release, "large"), 30, "it waits")
    assert tenant.QUEUE in why["message"]
    assert release.plane.api("DELETE", f"{tenant.PODS}/large")[0] == 200


def test_helms_own_test_passes(release: Release) -> None:
    common = {"apiVersion": "treadle.dev/v1alpha1", "kind": "Queue", "metadata": {"name": "root.default"}}
    made = lambda: release.plane.api("POST", tenant.QUEUES, common)[0] == 201  # noqa: E731
    eventually(made, 60, "the queue of whoever has none of his own, such as the release's namespace")
    assert "Succeeded" in release.helm("test", NAME, "--timeout=90s")


def test_what_is_asked_for_is_what_a_copy_needs(release: Release) -> None:
    leader = eventually(release.leader, 30, "one leads")
    (pod,) = (one for one in release.pods() if one["metadata"]["name"] == leader)
    asked = pod["spec"]["containers"][0]["resources"]
    assert asked == {"requests": {"cpu": "200m", "memory": "256Mi"}, "limits": {"memory": "1Gi"}}
    group, uid = release.node.cgroup, pod["metadata"]["uid"]
    told_idle = release.used(leader)
    idle, before, since = cgroups.working_set(group, uid), cgroups.processor_seconds(group, uid), time.monotonic()
    tenant.moved_in(release)
    release.plane.create_many(tenant.PODS, (tenant.pod(f"waits-{number}", "1200m") for number in range(WAITING)))

    def all_told() -> bool:
        pods = release.plane.api("GET", tenant.PODS)[1]["items"]
        conditions = [{c["type"] for c in one["status"].get("conditions", [])} for one in pods]
        return sum("PodScheduled" in one for one in conditions) >= WAITING

    eventually(all_told, 120, "all are told why they wait", 1)
    used, cores = cgroups.working_set(group, uid), cgroups.processor_seconds(group, uid) - before
    told = release.used(leader, time.time())
    print(
        f"idle {idle / MIB:.0f} MiB, with {WAITING} waiting {used / MIB:.0f} MiB, "
        f"{cores:.1f} s of processor in {time.monotonic() - since:.0f} s; the kubelet says {told_idle.memory / MIB:.0f} MiB, "
        f"{told.memory / MIB:.0f} MiB and {told.processor - told_idle.processor:.1f} s in {told.at - told_idle.at:.0f} s"
    )
    assert idle < 256 * MIB, "what is requested"
    assert used < 256 * MIB, "what is requested"
    assert told.memory < 256 * MIB, "what is requested, as the kubelet sees it"
    assert told.processor - told_idle.processor < 0.2 * (told.at - told_idle.at), "what is requested of processor"
    assert release.plane.api("DELETE", tenant.PODS)[0] == 200


def test_when_the_release_goes_pods_run_on_nobody_is_hindered_and_the_next_takes_them_up(release: Release) -> None:
    tenant.moved_in(release)
    tenant.made(release, tenant.pod("stays", "600m"))
    eventually(lambda: tenant.runs(release, "stays"), 60, "it runs")
    release.helm("uninstall", NAME, "--wait")
    eventually(lambda: not release.pods(), 60, "the copies are gone")

    for kind in ("mutatingadmissionpolicies", "validatingadmissionpolicies", "mutatingwebhookconfigurations"):
        status, found = release.plane.api("GET", f"{ADMISSION}/{kind}")
        assert status == 200
        assert not [one["metadata"]["name"] for one in found["items"] if NAME in one["metadata"]["name"]]
    wider = {"spec": {"fair": {"maxResources": {"cpu": "1100m"}}}}
    edited = release.plane.api("PATCH", f"{tenant.QUEUES}/{tenant.QUEUE}", wider, content_type=MERGE)
    assert edited[0] == 200, edited
    tenant.made(release, tenant.pod("meanwhile", "600m"))
    assert tenant.runs(release, "stays")
    spare = {"apiVersion": "treadle.dev/v1alpha1", "kind": "Queue", "metadata": {"name": "root.spare"}}
    assert release.plane.api("POST", tenant.QUEUES, spare)[0] == 201
    assert release.plane.api("DELETE", f"{tenant.QUEUES}/root.spare")[0] == 200
    assert release.plane.api("GET", f"{tenant.QUEUES}/root.spare")[0] == 404, "nothing holds it"

    release.install()
    wider = {"spec": {"fair": {"maxResources": {"cpu": "1150m"}}}}
    edit = lambda: release.plane.api("PATCH", f"{tenant.QUEUES}/{tenant.QUEUE}", wider, content_type=MERGE)[0] == 200  # noqa: E731
    eventually(edit, 60, "queues can be edited under the policies of the new release")
    why = eventually(lambda: tenant.waits(release, "meanwhile"), 60, "what runs counts in its queue")
    assert tenant.QUEUE in why["message"]
    assert tenant.seen(release, "stays")["status"]["containerStatuses"][0]["restartCount"] == 0
    assert release.plane.api("DELETE", f"{tenant.PODS}/stays")[0] == 200
    eventually(lambda: tenant.runs(release, "meanwhile"), 60, "it takes the place")
    events = release.plane.api("GET", f"/api/v1/namespaces/{SPACE}/events")[1]["items"]
    assert not [one for one in events if one["reason"] == "BackOff"]
