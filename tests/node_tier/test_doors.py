"""The doors and the webhook of the chart on a real node: a pod asks the service by its name and over TLS, and the API server asks for stamps.

The tests share a node, and are in the order of a release's life.
"""

from __future__ import annotations

import re

import pytest

from cluster.accounts import RBAC, account, reads_metrics, token
from cluster.client import eventually
from cluster.stamping import as_user
from node_tier import tenant
from node_tier.asking import answers, trusts
from node_tier.release import CHART, IMAGE, MERGE, NAME, SPACE, Release
from treadle.api.identity import STAMPED_USER

HOST = f"{NAME}.{SPACE}.svc"
PORT, PROBES = 8080, 8081
RESERVATIONS = f"/ws/v1/cluster/reservation/list?namespace={tenant.SPACE}&queue=research"
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
KIM = ("kim", ["system:masters"])


@pytest.fixture(scope="module")
def tokens(service_release: Release) -> dict[str, str]:
    """Of a robot that may read metrics and its namespace's Reservations, and of a guest who may nothing."""
    plane = service_release.plane
    tenant.moved_in(service_release)
    takes = {"spec": {"reservations": {"policy": "NoOverCommit"}}}
    assert plane.api("PATCH", f"{tenant.QUEUES}/{tenant.QUEUE}", takes, content_type=MERGE)[0] == 200
    for name in ("robot", "guest"):
        account(plane, tenant.SPACE, name)
    reads_metrics(plane, tenant.SPACE, "robot")
    viewer = {
        "metadata": {"name": "robot"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": f"{NAME}-view"},
        "subjects": [{"kind": "ServiceAccount", "name": "robot", "namespace": tenant.SPACE}],
    }
    assert plane.api("POST", f"{RBAC}/namespaces/{tenant.SPACE}/rolebindings", viewer)[0] == 201
    found = {name: token(plane, tenant.SPACE, name) for name in ("robot", "guest")}
    return {**found, "foreign": token(plane, tenant.SPACE, "robot", "somebody-else"), "wrong": "not.a.token", "none": ""}


def certificates(release: Release) -> frozenset[str]:
    """What the copies have told of their certificates."""
    data = release.plane.api("GET", f"/api/v1/namespaces/{SPACE}/configmaps/{NAME}-ca")[1].get("data") or {}
    return frozenset(re.findall(r"-----BEGIN.*?-----END CERTIFICATE-----", data.get("ca.crt", ""), re.DOTALL))


def trusted(release: Release, earlier: frozenset[str] = frozenset()) -> None:
    """Have pods trust the certificates, when all copies have told theirs beside those of earlier ones."""
    copies = len(release.pods())
    found = eventually(lambda: len(told := certificates(release) - earlier) >= copies and told, 30, "the certificates are told")
    trusts(release, "\n".join(sorted(found)))


def test_the_service_tells_metrics_to_those_who_may_over_tls_by_its_name(
    service_release: Release, tokens: dict[str, str]
) -> None:
    release = service_release
    trusted(release)
    (address,) = {release.plane.api("GET", f"/api/v1/namespaces/{SPACE}/services/{NAME}")[1]["spec"]["clusterIP"]}
    copies = [one["status"]["podIP"] for one in release.pods()]
    asked = {
        **{who: (HOST, PORT, "/metrics", tokens[who]) for who in tokens},
        "another path": (HOST, PORT, "/status", tokens["robot"]),
        "another name": (address, PORT, "/metrics", tokens["robot"]),
        "no probes by the service": (HOST, PROBES, "/readyz", ""),
        "no REST by default": (HOST, PORT, RESERVATIONS, tokens["robot"]),
        **{one: (one, PROBES, "/readyz", "") for one in copies},
    }
    said = dict(zip(asked, answers(release, "asks-for-metrics", list(asked.values())), strict=True))
    for stranger in ("none", "wrong", "foreign"):
        assert said[stranger][0] == 401, (stranger, said[stranger])
    assert said["guest"][0] == 403, said["guest"]
    assert said["robot"][0] == 200, said["robot"]
    assert "treadle_" in said["robot"][1]
    assert said["another path"][0] == 403, "it may read metrics only"
    assert said["another name"][0] == 0, "the certificate is for the name of the service"
    assert "certificate verify failed" in said["another name"][1], said["another name"]
    assert said["no probes by the service"][0] == 0, said["no probes by the service"]
    assert said["no REST by default"][0] == 404, said["no REST by default"]
    assert len(copies) == 2
    for one in copies:
        assert said[one] == (200, '{"ready":true}')


def test_the_rest_is_asked_by_the_service_and_the_webhook_stamps_through_its_own(
    service_release: Release, tokens: dict[str, str]
) -> None:
    release, plane = service_release, service_release.plane
    earlier = certificates(release)
    release.helm("upgrade", NAME, str(CHART), IMAGE, "--set=rest.enabled=true,identity.webhook.enabled=true")
    release.wait_ready()
    eventually(lambda: len(release.pods()) == 2, 60, "the copies before them are gone")
    for kind in ("mutatingadmissionpolicies", "mutatingadmissionpolicybindings"):
        names = [one["metadata"]["name"] for one in plane.api("GET", f"{ADMISSION}/{kind}")[1]["items"]]
        assert f"{NAME}-identity" not in "".join(names), "nobody stamps but the webhook"

    def made(name: str) -> tuple[int, dict[str, object]]:
        body = tenant.pod(name, "10m")
        body["metadata"]["annotations"] = {STAMPED_USER: "somebody-else"}
        return as_user(plane, *KIM, "POST", tenant.PODS, body)

    status, answer = eventually(lambda: (said := made("stamped"))[0] == 201 and said, 60, "the webhook is reached")
    assert answer["metadata"]["annotations"][STAMPED_USER] == "kim"
    eventually(lambda: tenant.runs(release, "stamped"), 60, "it runs")

    trusted(release, earlier)
    who = ("none", "wrong", "guest", "robot")
    said = answers(release, "asks-for-reservations", [(HOST, PORT, RESERVATIONS, tokens[one]) for one in who])
    assert [one for one, _ in said] == [401, 401, 403, 200], said

    scale = f"/apis/apps/v1/namespaces/{SPACE}/deployments/{NAME}/scale"
    assert plane.api("PATCH", scale, {"spec": {"replicas": 0}}, content_type=MERGE)[0] == 200
    eventually(lambda: not release.pods(), 60, "no copy is there")
    status, answer = eventually(lambda: (said := made("refused"))[0] != 201 and said, 30, "nobody stamps")
    assert (status, "stamp-identity.treadle.dev" in answer["message"]) == (500, True), answer
    assert plane.api("PATCH", scale, {"spec": {"replicas": 2}}, content_type=MERGE)[0] == 200
    status, answer = eventually(lambda: (said := made("again"))[0] == 201 and said, 60, "the next copies stamp")
    assert answer["metadata"]["annotations"][STAMPED_USER] == "kim"
