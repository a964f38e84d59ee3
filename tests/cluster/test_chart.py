"""The chart on a real API server: everything it renders is accepted, and a release can be installed, upgraded and removed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from chart.binaries import program
from cluster.client import eventually

CHART = Path(__file__).resolve().parents[2] / "charts" / "treadle"
SPACE = "treadle-system"
GROUP = "/apis/treadle.dev/v1alpha1"


@pytest.fixture
def cluster(fresh_control_plane):
    """A control plane of its own: the release's objects and the CRDs are the cluster's, and Helm wants to be their owner."""
    plane = fresh_control_plane()
    plane.create_namespace(SPACE)
    return plane


def run(cluster, name, *arguments, folder, stdin=None):
    # Helm keeps caches and plugins in its home: not in the home of whoever runs the tests.
    environment = {
        **os.environ,
        "HOME": str(folder),
        "HELM_CACHE_HOME": str(folder),
        "HELM_CONFIG_HOME": str(folder),
        "HELM_DATA_HOME": str(folder),
    }
    command = [str(program(name)), "--kubeconfig", str(cluster.kubeconfig), "--namespace", SPACE, *arguments]
    answer = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False, timeout=180, env=environment)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return answer


def test_everything_rendered_passes_a_server_side_dry_run(cluster, tmp_path):
    cluster.apply_crds()
    sets = "--set=networkPolicy.restrictEgress=true,scheduler.create=true,crds.install=false,agent.enabled=true,agent.alone.enabled=true,agent.alone.cpuPercent=85,opportunistic.webhook.enabled=true,identity.webhook.enabled=true,ingress.enabled=true,ingress.host=treadle.example"
    clients = '--set-json=networkPolicy.clients=[{"namespaceSelector": {"matchLabels": {"name": "monitoring"}}}, {"ipBlock": {"cidr": "10.0.0.0/8"}}]'
    rendered = run(
        cluster,
        "helm",
        "template",
        "treadle",
        str(CHART),
        sets,
        clients,
        "--api-versions=treadle.dev/v1alpha1/Scheduler",
        folder=tmp_path,
    )
    arguments = ("apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-")
    said = run(cluster, "kubectl", *arguments, folder=tmp_path, stdin=rendered.stdout).stdout
    assert "deployment.apps/treadle serverside-applied" in said
    assert "scheduler.treadle.dev/treadle serverside-applied" in said
    assert "daemonset.apps/treadle-agent serverside-applied" in said
    assert "ingress.networking.k8s.io/treadle serverside-applied" in said
    for name in ("treadle", "treadle-agent", "treadle-test"):
        assert f"networkpolicy.networking.k8s.io/{name} serverside-applied" in said
    for name in ("opportunistic", "identity"):
        assert f"mutatingwebhookconfiguration.admissionregistration.k8s.io/treadle-{name} serverside-applied" in said


def lists_made(cluster):
    """Make the lists of administrators as a scheduler that leads does: without them nobody makes a queue."""
    where = f"{GROUP}/namespaces/{SPACE}/administratorlists"
    made = {"apiVersion": "treadle.dev/v1alpha1", "kind": "AdministratorList", "metadata": {"name": "treadle-administrators"}}
    eventually(lambda: cluster.api("POST", where, made)[0] in {201, 409}, 30, "the lists")


def test_a_release_is_installed_upgraded_and_removed_and_leaves_our_objects(cluster, tmp_path):
    run(cluster, "helm", "install", "treadle", str(CHART), folder=tmp_path)
    assert cluster.api("GET", f"/apis/apps/v1/namespaces/{SPACE}/deployments/treadle")[0] == 200
    queue = {"apiVersion": "treadle.dev/v1alpha1", "kind": "Queue", "metadata": {"name": "root.kept"}}
    run(cluster, "kubectl", "wait", "--for=condition=Established", "crd", "--all", "--timeout=60s", folder=tmp_path)
    lists_made(cluster)
    eventually(lambda: cluster.api("POST", f"{GROUP}/queues", queue)[0] == 201, 60, "queues can be made")
    told, merge = f"/api/v1/namespaces/{SPACE}/configmaps/treadle-ca", "application/merge-patch+json"
    assert cluster.api("PATCH", told, {"data": {"ca.crt": "ours"}}, content_type=merge)[0] == 200

    run(
        cluster,
        "helm",
        "upgrade",
        "treadle",
        str(CHART),
        "--set=scheduler.create=true,scheduler.spec.nodes.scoring=Spread",
        folder=tmp_path,
    )
    assert cluster.api("GET", f"{GROUP}/schedulers/treadle")[1]["spec"]["nodes"] == {"scoring": "Spread"}
    assert cluster.api("GET", told)[1]["data"] == {"ca.crt": "ours"}, "what copies have told stays"

    run(cluster, "helm", "uninstall", "treadle", folder=tmp_path)
    assert cluster.api("GET", f"/apis/apps/v1/namespaces/{SPACE}/deployments/treadle")[0] == 404
    assert cluster.api("GET", f"{GROUP}/queues/root.kept")[0] == 200


def test_an_upgrade_leaves_the_certificates_of_the_webhook_that_fails_closed(cluster, tmp_path):
    on = "--set=identity.webhook.enabled=true"
    run(cluster, "helm", "install", "treadle", str(CHART), on, folder=tmp_path)
    where = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/treadle-identity"
    patch = [{"op": "add", "path": f"/webhooks/{number}/clientConfig/caBundle", "value": "b3Vycw=="} for number in range(3)]
    assert cluster.api("PATCH", where, patch, content_type="application/json-patch+json")[0] == 200
    run(cluster, "helm", "upgrade", "treadle", str(CHART), on, "--set=identity.webhook.timeoutSeconds=7", folder=tmp_path)
    hooks = cluster.api("GET", where)[1]["webhooks"]
    assert [(hook["timeoutSeconds"], hook["clientConfig"].get("caBundle")) for hook in hooks] == [(7, "b3Vycw==")] * 3
    run(cluster, "helm", "uninstall", "treadle", folder=tmp_path)
    assert cluster.api("GET", where)[0] == 404


def test_the_service_account_may_do_what_it_needs_and_nothing_else(cluster, tmp_path):
    run(cluster, "helm", "install", "treadle", str(CHART), folder=tmp_path)

    def may(verb, group, resource, subresource="", namespace="elsewhere"):
        attributes = {"verb": verb, "group": group, "resource": resource, "subresource": subresource, "namespace": namespace}
        user = f"system:serviceaccount:{SPACE}:treadle"
        body = {"spec": {"user": user, "groups": ["system:serviceaccounts"], "resourceAttributes": attributes}}
        return cluster.api("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", body)[1]["status"]["allowed"]

    assert may("create", "", "pods", "binding")
    assert may("patch", "", "pods", "status")
    assert may("watch", "treadle.dev", "queues")
    assert may("patch", "treadle.dev", "queues", "status")
    assert may("create", "events.k8s.io", "events")
    assert may("update", "coordination.k8s.io", "leases", namespace=SPACE)
    assert not may("update", "coordination.k8s.io", "leases")
    assert not may("get", "", "secrets")
    assert may("create", "", "pods", "eviction")
    assert not may("delete", "", "pods"), "a feature of its own, which is asked for"
    run(cluster, "helm", "upgrade", "treadle", str(CHART), "--set=rbac.features.deletions=true", folder=tmp_path)
    assert may("delete", "", "pods"), "victims whose budget is in the way, and applications whose lifetime is over"
    assert not may("delete", "", "nodes")
    assert not may("patch", "", "pods")
    assert not may("update", "treadle.dev", "queues")


def test_the_rights_of_the_chart_are_enough_to_schedule(cluster, tmp_path):
    """The scheduler runs as the chart's service account, with the chart's arguments, and binds a pod of a queue."""
    run(cluster, "helm", "install", "treadle", str(CHART), folder=tmp_path)
    cluster.apply_crds(CHART / "files" / "crds")
    cluster.create_nodes(1)
    queue = {"apiVersion": "treadle.dev/v1alpha1", "kind": "Queue", "metadata": {"name": "root.dev"}}
    queue["spec"] = {"submitAcl": {"namespaces": ["default"]}}
    lists_made(cluster)
    eventually(lambda: cluster.api("POST", f"{GROUP}/queues", queue)[0] == 201, 60, "queues can be made")
    arguments = cluster.api("GET", f"/apis/apps/v1/namespaces/{SPACE}/deployments/treadle")[1]
    arguments = arguments["spec"]["template"]["spec"]["containers"][0]["args"]
    command = [
        str(Path(sys.executable).with_name("treadle")),
        *arguments,
        "--kubeconfig",
        str(as_service_account(cluster, tmp_path)),
    ]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "--namespace", SPACE, "--listen", "127.0.0.1:0", "--probes-listen", "127.0.0.1:0"], stdout=log, stderr=log
        )
    try:
        pod = {
            "metadata": {"name": "first", "labels": {"treadle.dev/queue": "root.dev"}},
            "spec": {"schedulerName": "treadle", "containers": [{"name": "c", "image": "none"}]},
        }
        assert cluster.api("POST", "/api/v1/namespaces/default/pods", pod)[0] == 201
        where = "/api/v1/namespaces/default/pods/first"
        eventually(lambda: cluster.api("GET", where)[1]["spec"].get("nodeName"), timeout=60, what="the pod's bind")
        ready = lambda: ready_of(cluster.api("GET", f"{GROUP}/queues/root.dev")[1])  # noqa: E731
        eventually(ready, timeout=60, what="the queue's condition Ready")
        events = "/apis/events.k8s.io/v1/namespaces/default/events"
        eventually(lambda: cluster.api("GET", events)[1]["items"], timeout=60, what="an event about it")
        common = {"apiVersion": "treadle.dev/v1alpha1", "kind": "Queue", "metadata": {"name": "root.default"}}
        eventually(lambda: cluster.api("POST", f"{GROUP}/queues", common)[0] == 201, 60, "queues can be made")
        with ThreadPoolExecutor(1) as pool:
            tested = pool.submit(run, cluster, "helm", "test", "treadle", "--timeout=120s", folder=tmp_path)
            own = f"/api/v1/namespaces/{SPACE}/pods/treadle-test"
            eventually(
                lambda: cluster.api("GET", own)[1].get("spec", {}).get("nodeName"), timeout=60, what="the bind of Helm's test"
            )
            ended = {"status": {"phase": "Succeeded"}}  # as a kubelet would tell
            assert cluster.api("PATCH", f"{own}/status", ended, content_type="application/merge-patch+json")[0] == 200
            assert "Succeeded" in tested.result().stdout
    finally:
        process.terminate()
        process.wait(60)
    assert "forbidden" not in (tmp_path / "log").read_text().lower()


def ready_of(queue):
    return [
        entry for entry in queue.get("status", {}).get("conditions", ()) if entry["type"] == "Ready" and entry["status"] == "True"
    ]


def as_service_account(cluster, folder):
    """A kubeconfig with a token of the chart's service account."""
    path = f"/api/v1/namespaces/{SPACE}/serviceaccounts/treadle/token"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    status, answer = cluster.api("POST", path, body)
    assert status == 201, answer
    config = json.loads(cluster.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": answer["status"]["token"]}
    made = folder / "kubeconfig"
    made.write_text(json.dumps(config))
    return made
