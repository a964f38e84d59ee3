"""Our CRDs on a real API server: what it accepts, what it refuses, and in which words."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
import yaml

from chart.binaries import program
from treadle.api.objects import InvalidObject, parse

ROOT = Path(__file__).resolve().parents[2]
GROUP = "/apis/treadle.dev/v1alpha1"
MERGE = "application/merge-patch+json"
NAME = 'a queue is named by its path: "root" or "root.…", not "prod.etl"'


@pytest.fixture(scope="module")
def cluster(control_plane):
    """The session's control plane with `kubectl apply -f crds/` done to it."""
    kubectl(control_plane, "apply", "-f", str(ROOT / "crds"))
    kubectl(control_plane, "wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
    control_plane.create_namespace("crds")
    return control_plane


def kubectl(cluster, *arguments, stdin=None, check=True):
    command = [str(program("kubectl")), "--kubeconfig", str(cluster.kubeconfig), *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, check=check, timeout=120)


def obj(kind, name, spec):
    return {"apiVersion": "treadle.dev/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def path_of(kind):
    plural = {"Queue": "queues", "Scheduler": "schedulers"}.get(kind)
    return f"{GROUP}/{plural}" if plural else f"{GROUP}/namespaces/crds/{kind.lower()}s"


def create(cluster, kind, name, spec, **params):
    return cluster.api("POST", path_of(kind), obj(kind, name, spec), {"dryRun": "All", "fieldValidation": "Strict", **params})


def reservation(**changes):
    request = {"demand": {"cpu": "4"}, "count": 20, "concurrency": 10, "duration": "1h", **changes.pop("request", {})}
    spec = {"queue": "root.prod", "arrival": "2026-12-01T01:00:00Z", "deadline": "2026-12-01T05:00:00Z"}
    return {**spec, "expression": {"requests": [request]}, **changes}


BOTH = "must be a quantity such as 500m, 4 or 16Gi, or a percentage such as 60%"
REFUSED = [
    ("a queue outside the root", "Queue", "prod.etl", {}, NAME),
    ("a path too long", "Queue", "root." + "x" * 59, {}, "a queue path may have at most 63 characters (pods name it in a label)"),
    ("a path of nine levels", "Queue", "root.a.b.c.d.e.f.g.h", {}, "a queue path may have at most 8 levels"),
    ("a stopped root", "Queue", "root", {"state": "Stopped"}, "spec.state: Invalid value: the root queue cannot be stopped"),
    (
        "a negative weight",
        "Queue",
        "root.x",
        {"fair": {"weight": "-1"}},
        'spec.fair.weight: Invalid value: "-1": must not be negative',
    ),
    ("a weight in words", "Queue", "root.x", {"fair": {"weight": "much"}}, "must be a decimal number such as 1 or 2.5"),
    (
        "an unknown policy",
        "Queue",
        "root.x",
        {"fair": {"schedulingPolicy": "lottery"}},
        'spec.fair.schedulingPolicy: Invalid value: "lottery": must be fifo, fair, drf, or the name of an installed policy',
    ),
    (
        "a percentage over 100",
        "Queue",
        "root.x",
        {"fair": {"maxResources": {"cpu": "120%"}}},
        "a percentage must not be over 100%",
    ),
    ("a bad quantity", "Queue", "root.x", {"fair": {"maxResources": {"cpu": "ten"}}}, BOTH),
    ("a negative quantity", "Queue", "root.x", {"fair": {"maxResources": {"cpu": -1}}}, "must not be negative"),
    ("a malformed percentage", "Queue", "root.x", {"fair": {"maxResources": {"cpu": "1..%"}}}, BOTH),
    (
        "a percentage where none is allowed",
        "Queue",
        "root.x",
        {"fair": {"maxContainerAllocation": {"cpu": "5%"}}},
        "must be a quantity such as",
    ),
    ("a share over one", "Queue", "root.x", {"fair": {"maxAMShare": "1.5"}}, "must be between 0 and 1, or -1"),
    ("a guarantee over 100", "Queue", "root.x", {"capacity": {"guaranteed": "120%"}}, "a percentage must not be over 100%"),
    (
        "a guarantee in words",
        "Queue",
        "root.x",
        {"capacity": {"guaranteed": "half"}},
        'must be a percentage ("60%"), a weight ("3w")',
    ),
    (
        "a template in words",
        "Queue",
        "root.x",
        {"capacity": {"autoCreation": {"leafTemplate": {"guaranteed": "half"}}}},
        'must be a percentage ("60%"), a weight ("3w")',
    ),
    (
        "a mapping rule for all groups",
        "Scheduler",
        "s",
        {"capacity": {"mappingRules": [{"type": "group", "matches": "*", "policy": "user"}]}},
        "'*' cannot stand for groups; name one",
    ),
    (
        "a default queue without its value",
        "Scheduler",
        "s",
        {"capacity": {"mappingRules": [{"type": "user", "matches": "*", "policy": "setDefaultQueue"}]}},
        "is required with the policy setDefaultQueue",
    ),
    (
        "both forms of mapping rules",
        "Scheduler",
        "s",
        {"capacity": {"mappingRules": [], "queueMappings": "u:ann:eng"}},
        "mappingRules and queueMappings cannot both be set",
    ),
    (
        "a malformed old mapping",
        "Scheduler",
        "s",
        {"capacity": {"queueMappings": "u:ann:eng,x"}},
        "must be a list, parted by commas, of u:USER:QUEUE and g:GROUP:QUEUE",
    ),
    ("an unknown field", "Queue", "root.x", {"fair": {"weigt": "1"}}, 'strict decoding error: unknown field "spec.fair.weigt"'),
    (
        "too many resources",
        "Queue",
        "root.x",
        {"fair": {"maxResources": {f"r{number}": 1 for number in range(17)}}},
        "must have at most 16 items",
    ),
    (
        "a queue that is no path",
        "Application",
        "a",
        {"queue": "prod"},
        'must be a queue\'s path: "root" or "root.…" in lower case',
    ),
    ("a long name of an application", "Application", "a" * 64, {}, "the name of an application may have at most 63 characters"),
    (
        "thresholds in the wrong order",
        "Scheduler",
        "t",
        {
            "opportunistic": {
                "usage": {"source": "Metrics"},
                "thresholds": {"cpu": {"allocationPercent": 80, "preemptionPercent": 70}},
            }
        },
        "must be at least allocationPercent",
    ),
    (
        "thresholds of usage that nobody knows",
        "Scheduler",
        "t",
        {"opportunistic": {"thresholds": {"cpu": {"allocationPercent": 70, "preemptionPercent": 80}}}},
        "is for a usage.source other than Requests",
    ),
    (
        "settings of nodes with a label that is none",
        "Scheduler",
        "t",
        {"opportunistic": {"usage": {"source": "Metrics"}, "nodes": [{"matchLabels": {"a b": "c"}}]}},
        "must be a label's key",
    ),
    ("two gangs of one name", "Application", "a", {"gangs": [{"name": "w", "minMember": 1}] * 2}, "Duplicate value"),
    ("half a gang", "Reservation", "r", reservation(request={"count": 15}), "count must be a multiple of concurrency"),
    (
        "a smallest gang that is larger than the gang",
        "Reservation",
        "r",
        reservation(request={"minimumConcurrency": 99}),
        "minimumConcurrency must not be over concurrency",
    ),
    ("a reservation that no application can name", "Reservation", "r.s", reservation(), "must be a lower-case name of letters"),
    ("a root that takes reservations", "Queue", "root", {"reservations": {}}, "the root takes no reservations"),
    ("a path without room for queues", "Queue", "root.a" + "b" * 26, {"reservations": {}}, "at most 54 characters together"),
    ("an arrival too late", "Reservation", "r", reservation(arrival="2026-12-02T00:00:00Z"), "arrival must be before deadline"),
    (
        "a duration in days",
        "Reservation",
        "r",
        reservation(request={"duration": "1d"}),
        "must be a duration such as 30s, 15m, 1h30m or 500ms",
    ),
    ("an unknown discipline", "Scheduler", "t", {"discipline": "Lottery"}, 'supported values: "Fair", "Capacity"'),
    ("an alias that is no name", "Scheduler", "t", {"aliases": ["Foo"]}, "must be a scheduler's name"),
    (
        "a label that is no key",
        "Scheduler",
        "t",
        {"nodes": {"partitionLabel": "a/b/c"}},
        "must be a label's key such as treadle.dev/partition",
    ),
]


@pytest.mark.parametrize(("kind", "name", "spec", "words"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_a_mistake_is_refused_with_a_written_message(cluster, kind, name, spec, words):
    status, answer = create(cluster, kind, name, spec)
    assert status in {400, 422}, answer
    assert words in answer["message"]
    with pytest.raises(InvalidObject):  # our own reading of the object agrees
        parse(kind, obj(kind, name, spec))


ACCEPTED = [
    ("Queue", "root.x", {}),
    ("Queue", "root.a.b.c.d.e.f.g", {}),
    ("Queue", "root." + "x" * 58, {}),
    ("Queue", "root.x", {"fair": {"weight": 40, "minResources": {"cpu": 10, "memory": "5%"}, "maxResources": {"cpu": "10000m", "memory": "5Gi"}}}),
    ("Queue", "root.x", {"fair": {"weight": "0", "maxResources": {"nvidia.com/gpu": "100%"}, "maxAMShare": "-1"}}),
    ("Queue", "root.x", {"capacity": {"guaranteed": "3w", "maximum": "[memory=40Gi,cpu=50%]", "partitions": {"gpu": {"guaranteed": "100%"}}}}),
    ("Application", "a", {"queue": "root.prod.etl", "priority": -5, "gangs": [{"name": "w", "minMember": 8, "demand": {"cpu": "4"}}]}),
    ("Scheduler", "t", {"opportunistic": {"usage": {"source": "Metrics", "maxAge": "60s"}, "thresholds": {"memory": {"allocationPercent": 70, "preemptionPercent": 80}}}}),
    ("Scheduler", "t", {"opportunistic": {"usage": {"source": "Metrics"}, "nodes": [{"matchLabels": {"acme.org/pool": "batch"}, "maximumPercent": 0}]}}),
    ("Reservation", "r", reservation(recurrence="0 1 * * *", timeZone="Europe/Berlin")),
    ("Scheduler", "t", {"aliases": ["yunikorn"], "discipline": "Capacity", "placementRules": [{"rule": "user", "parent": {"rule": "primaryGroup"}}]}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "name", "spec"), ACCEPTED)
def test_a_right_object_is_accepted(cluster, kind, name, spec):
    status, answer = create(cluster, kind, name, spec)
    assert status == 201, answer
    assert parse(kind, answer).metadata.name == name


def test_an_object_without_a_spec_gets_the_defaults(cluster):
    body = {"apiVersion": "treadle.dev/v1alpha1", "kind": "Queue", "metadata": {"name": "root.bare"}}
    status, answer = cluster.api("POST", f"{GROUP}/queues", body, {"dryRun": "All"})
    assert status == 201, answer
    assert answer["spec"] == {"state": "Running", "fair": {"weight": "1", "schedulingPolicy": "drf"}}


def test_kubectl_shows_the_written_message(cluster):
    answer = kubectl(cluster, "apply", "-f", "-", stdin=json.dumps(obj("Queue", "prod.etl", {})), check=False)
    assert answer.returncode == 1
    assert NAME in answer.stderr


def test_status_and_spec_are_written_apart_and_both_stay_writable(cluster):
    path = f"{GROUP}/queues/root.status-test"
    cluster.api("POST", f"{GROUP}/queues", obj("Queue", "root.status-test", {"fair": {"weight": "2"}}))
    try:
        condition = {
            "type": "Ready",
            "status": "True",
            "reason": "InForce",
            "message": "",
            "lastTransitionTime": "2026-12-01T01:00:00Z",
        }
        wanted = {
            "state": "Running",
            "observedGeneration": 1,
            "used": {"cpu": "1500m", "nvidia.com/gpu": 2},
            "conditions": [condition],
        }
        status, answer = cluster.api(
            "PATCH", f"{path}/status", {"status": wanted, "spec": {"state": "Stopped"}}, content_type=MERGE
        )
        assert (status, answer["status"], answer["spec"]["state"]) == (200, wanted, "Running")
        assert answer["metadata"]["generation"] == 1
        status, answer = cluster.api(
            "PATCH", path, {"spec": {"state": "Stopped"}, "status": {"state": "Stopped"}}, content_type=MERGE
        )
        assert (status, answer["spec"]["state"], answer["status"]) == (200, "Stopped", wanted)
        assert answer["metadata"]["generation"] == 2
        status, answer = cluster.api("PATCH", path, {"spec": {"fair": {"weight": "-2"}}}, content_type=MERGE)
        assert status == 422
        listed = cluster.api("GET", f"{GROUP}/queues", params={"fieldSelector": "spec.state=Stopped"})[1]["items"]
        assert [item["metadata"]["name"] for item in listed] == ["root.status-test"]
    finally:
        cluster.api("DELETE", path)


def test_the_root_may_be_changed_but_never_stopped(cluster):
    path = f"{GROUP}/queues/root"
    cluster.api("POST", f"{GROUP}/queues", obj("Queue", "root", {}))
    try:
        assert cluster.api("PATCH", path, {"spec": {"fair": {"schedulingPolicy": "fair"}}}, content_type=MERGE)[0] == 200
        status, answer = cluster.api("PATCH", path, {"spec": {"state": "Stopped"}}, content_type=MERGE)
        assert status == 422
        assert "the root queue cannot be stopped" in answer["message"]
    finally:
        cluster.api("DELETE", path)


def test_an_object_older_than_a_rule_can_still_be_reported_on_and_removed(cluster):
    """Without its rules the CRD lets a bad name in; with them back the object must not be stuck."""
    path = f"{GROUP}/queues/prod.old"
    crd = yaml.safe_load((ROOT / "crds" / "treadle.dev_queues.yaml").read_text())
    rules = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"].pop("x-kubernetes-validations")
    where = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/queues.treadle.dev"
    at = "/spec/versions/0/schema/openAPIV3Schema/x-kubernetes-validations"
    json_patch = "application/json-patch+json"
    assert cluster.api("PATCH", where, [{"op": "remove", "path": at}], content_type=json_patch)[0] == 200
    try:
        eventually_created(cluster, "prod.old")
    finally:
        assert cluster.api("PATCH", where, [{"op": "add", "path": at, "value": rules}], content_type=json_patch)[0] == 200
    eventually_refused(cluster)
    finalizers = {"metadata": {"finalizers": ["treadle.dev/release"]}}
    assert cluster.api("PATCH", path, finalizers, content_type=MERGE)[0] == 200
    assert cluster.api("PATCH", f"{path}/status", {"status": {"state": "Running"}}, content_type=MERGE)[0] == 200
    assert cluster.api("DELETE", path)[0] == 200
    assert cluster.api("PATCH", path, {"metadata": {"finalizers": None}}, content_type=MERGE)[0] == 200
    assert cluster.api("GET", path)[0] == 404


def eventually_created(cluster, name):
    from cluster.client import eventually

    eventually(lambda: cluster.api("POST", f"{GROUP}/queues", obj("Queue", name, {}))[0] == 201, what="the schema without rules")


def eventually_refused(cluster):
    from cluster.client import eventually

    eventually(lambda: create(cluster, "Queue", "prod.new", {})[0] == 422, what="the schema with its rules")


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.yaml")), ids=lambda path: path.name)
def test_every_example_is_applied(cluster, path):
    arguments = ("--server-side", "--namespace=crds", "--validate=strict", "-f", str(path))
    kubectl(cluster, "apply", *arguments)
    kubectl(cluster, "delete", "--namespace=crds", "--wait=false", "--grace-period=0", "-f", str(path))


def test_kubectl_lists_our_kinds_by_category_and_short_name(cluster):
    kubectl(cluster, "create", "-f", "-", stdin=json.dumps(obj("Queue", "root.listed", {"fair": {"weight": "40"}})))
    try:
        assert "queue.treadle.dev/root.listed" in kubectl(cluster, "get", "treadle", "-A").stdout
        header, row = kubectl(cluster, "get", "tq", "root.listed").stdout.splitlines()
        assert header.split()[:3] == ["NAME", "STATE", "SHARE"]
        assert row.split()[0] == "root.listed"
        wide = kubectl(cluster, "get", "tq", "root.listed", "-o", "wide").stdout.splitlines()
        assert "WEIGHT" in wide[0].split()
        assert "40" in wide[1].split()
    finally:
        kubectl(cluster, "delete", "tq", "root.listed")


@pytest.mark.parametrize("kind", ["schedulers", "queues", "applications", "reservations"])
def test_kubectl_explains_every_kind(cluster, kind):
    assert "DESCRIPTION" in kubectl(cluster, "explain", f"{kind}.spec").stdout
