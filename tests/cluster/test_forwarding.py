"""Two real copies of `treadle run` with TLS on a real API server: whatever the one that stands by is asked, the one that leads answers."""

from __future__ import annotations

import http.client
import json
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from cluster.accounts import account, installed, token
from cluster.control_plane import ControlPlane
from cluster.treadle_process import Cluster, Treadle, eventually, queue
from treadle.page.stream import PATH as STREAM
from treadle.rest.forwarding import MARK
from web.certificates import made

QUEUES, CHANGES = "/api/v1/queues", "/api/v1/queue-changes"
SERVICE = "treadle.treadle-system.svc"
NAMESPACE = "treadle-system"
Answer = tuple[int, Any, dict[str, str]]


class Copy:
    """A copy, and a client of its port that trusts it by what clients are told."""

    def __init__(self, treadle: Treadle, trusting: Callable[[], ssl.SSLContext], bearer: str) -> None:
        self.treadle, self.trusting, self.bearer = treadle, trusting, bearer

    @contextmanager
    def asking(self, method: str, path: str, body: Any = None, **headers: str) -> Iterator[http.client.HTTPResponse]:
        connection = _ByName("127.0.0.1", self.treadle.port, timeout=30, context=self.trusting())
        try:
            sent = {"Authorization": f"Bearer {self.bearer}", "Content-Type": "application/json", **headers}
            connection.request(method, path, json.dumps(body) if body is not None else None, sent)
            yield connection.getresponse()
        finally:
            connection.close()

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        with self.asking(method, path, body, **headers) as answer:
            text = answer.read()
            told = {name.lower(): value for name, value in answer.getheaders()}
            return answer.status, json.loads(text) if text else None, told

    def queues(self) -> list[str]:
        status, said, _ = self.ask("GET", QUEUES)
        return [one["name"] for one in said["queues"]] if status == 200 else []


class _ByName(http.client.HTTPSConnection):
    """Connects to an address and expects the certificate of the service."""

    def connect(self) -> None:
        http.client.HTTPConnection.connect(self)
        self.sock = self._context.wrap_socket(self.sock, server_hostname=SERVICE)  # type: ignore[attr-defined]


@pytest.fixture
def plane(fresh_cluster: Callable[..., Cluster]) -> ControlPlane:
    cluster = fresh_cluster(1, "2", "16Gi")
    for namespace, name in ((NAMESPACE, "treadle"), ("etl", "lead")):
        cluster.plane.create_namespace(namespace)
        account(cluster.plane, namespace, name)
    cluster.queues(queue("root.etl"))
    binding = {
        "metadata": {"name": "lead-administers"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": "lead", "namespace": "etl"}],
    }
    assert cluster.plane.api("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding)[0] == 201
    return cluster.plane


@contextmanager
def copies(
    plane: ControlPlane, kubeconfig: Path, folder: Path, tls: tuple[str, ...], ca: Callable[[], bytes]
) -> Iterator[tuple[Copy, Copy]]:
    """The one that leads and the one that stands by."""
    arguments = (
        "--leader-elect", f"--namespace={NAMESPACE}", "--rest", "--page", "--queue-changes=treadle-queue-changes",
        "--publish-administrators=treadle-administrators", "--advertise-address=127.0.0.1", *tls,
    )  # fmt: skip
    bearer = token(plane, "etl", "lead")

    def trusting() -> ssl.SSLContext:
        return ssl.create_default_context(cadata=ca().decode())

    made_ = [Copy(Treadle(kubeconfig, folder, *arguments), trusting, bearer) for _ in range(2)]
    try:
        for number, one in enumerate(made_):
            one.treadle.start()
            eventually(lambda one=one: one.treadle.get("/readyz")[0] == 200, 60, "ready")
            if not number:
                eventually(lambda: plane.api("GET", LEASE)[1].get("spec", {}).get("holderIdentity"), 60, "the first leads")
        yield made_[0], made_[1]
    finally:
        for one in made_:
            one.treadle.__exit__()


LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/treadle-treadle"
SELF_SIGNED = ("--tls-self-signed", f"--tls-host={SERVICE}", "--tls-host=localhost", "--tls-config-map=treadle-ca")


def drained(stream: http.client.HTTPResponse) -> None:
    """Read to the end."""
    while stream.read1(65536):
        pass


def bundle(plane: ControlPlane) -> bytes:
    _, found = plane.api("GET", f"/api/v1/namespaces/{NAMESPACE}/configmaps/treadle-ca")
    return (found.get("data") or {}).get("ca.crt", "").encode()


def test_whatever_is_asked_of_a_copy_that_stands_by_is_answered_by_the_leader_and_goes_on_with_the_next_one(
    plane: ControlPlane, tmp_path: Path
) -> None:
    """By certificates that the copies make themselves, with exactly the rights of the chart."""
    kubeconfig = installed(plane, tmp_path, "rest.queueChanges=true", "page.enabled=true")
    with copies(plane, kubeconfig, tmp_path, SELF_SIGNED, lambda: bundle(plane)) as (leads, stands_by):
        eventually(lambda: bundle(plane).count(b"BEGIN") == 2, 60, "both certificates are told")
        holder = plane.api("GET", LEASE)[1]["spec"]["holderIdentity"]
        eventually(lambda: "root.etl" in stands_by.queues(), 30, "a read")
        status, _, headers = stands_by.ask("GET", QUEUES)
        assert (status, headers["via"].startswith("1.1 "), holder in headers["via"]) == (200, True, False)
        assert "via" not in leads.ask("GET", QUEUES)[2]
        assert stands_by.ask("GET", QUEUES, **{"If-None-Match": headers["etag"]})[0] == 304

        stranger = {"Authorization": "Bearer not.a.token"}
        status, said, told = stands_by.ask("GET", QUEUES, **stranger)
        assert (status, said["title"], told["www-authenticate"], "via" in told) == (401, "Unauthorized", "Bearer", True)
        assert stands_by.ask("GET", QUEUES, **{MARK: "1"})[0] == 503, "it was passed on once already"

        _, _, seen = stands_by.ask("GET", CHANGES)
        wanted = {"apply": [queue("root.made")], "message": "by a copy that stands by"}
        assert stands_by.ask("POST", CHANGES, wanted, **{"If-Match": '"000000000000000000000000"'})[0] == 412
        status, said, told = stands_by.ask("POST", CHANGES, wanted, **{"If-Match": seen["etag"]})
        assert (status, said.get("version"), "via" in told) == (200, 1, True), said
        eventually(lambda: "root.made" in stands_by.queues(), 30, "what was changed is there")

        command = [
            str(Path(sys.executable).with_name("treadle")),
            "explain",
            "queue",
            "root.made",
            "--server",
            f"https://localhost:{stands_by.treadle.port}",
        ]
        (tmp_path / "ca.crt").write_bytes(bundle(plane))
        done = subprocess.run(
            [*command, "--kubeconfig", str(plane.kubeconfig), "--certificate-authority", str(tmp_path / "ca.crt")],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert (done.returncode, done.stderr) == (0, ""), "the scheduler was asked, and told"
        assert "root.made" in done.stdout

        with stands_by.asking("GET", f"{STREAM}?topics=queues") as stream:
            assert (stream.status, stream.readline()) == (200, b"event: full\n")
            leads.treadle.kill()
            with pytest.raises((http.client.IncompleteRead, ConnectionError)):
                drained(stream)
        status, said, told = stands_by.ask("GET", QUEUES)
        assert (status, told.get("retry-after"), holder in said["detail"]) == (503, "1", True) or status == 200
        eventually(lambda: "root.made" in stands_by.queues(), 60, "it leads, and answers by itself")
        assert "via" not in stands_by.ask("GET", QUEUES)[2]
        log = stands_by.treadle.log.read_text()
        assert stands_by.bearer not in log


def test_copies_with_a_certificate_in_files_trust_each_other_by_it_and_nobody_else_who_says_that_he_leads(
    plane: ControlPlane, tmp_path: Path
) -> None:
    certificate = made(SERVICE)
    paths = tmp_path / "tls.crt", tmp_path / "tls.key"
    paths[0].write_bytes(certificate.pem)
    paths[1].write_bytes(certificate.key)
    kubeconfig = installed(plane, tmp_path, "rest.queueChanges=true", "page.enabled=true")
    files = (f"--tls-cert-file={paths[0]}", f"--tls-private-key-file={paths[1]}")
    with copies(plane, kubeconfig, tmp_path, files, lambda: certificate.pem) as (leads, stands_by):
        eventually(lambda: "root.etl" in stands_by.queues(), 30, "a read")
        assert "via" in stands_by.ask("GET", QUEUES)[2]
        taken: list[bytes] = []
        with impostor(made(SERVICE), taken) as port:
            lease = plane.api("GET", LEASE)[1]
            lease["spec"].update(holderIdentity="impostor", leaseDurationSeconds=3600)
            lease["metadata"]["annotations"] = {"treadle.dev/serving": f"impostor 127.0.0.1:{port}"}

            def written() -> bool:
                lease["metadata"]["resourceVersion"] = plane.api("GET", LEASE)[1]["metadata"]["resourceVersion"]
                return plane.api("PUT", LEASE, lease)[0] == 200

            eventually(written, 30, "somebody who may write the Lease says that he leads")
            eventually(lambda: "impostor leads" in str(stands_by.ask("GET", QUEUES)[1]), 30, "he is named")
            eventually(lambda: "impostor leads" in str(leads.ask("GET", QUEUES)[1]), 30, "and by the other one")
        assert b"Bearer" not in b"".join(taken), "and gets no token"


@contextmanager
def impostor(certificate: Any, taken: list[bytes]) -> Iterator[int]:
    """Serve with a certificate of one's own, and keep what comes."""
    import socket
    import threading

    from treadle.admission.certificates import load
    from treadle.runtime.tls import context

    load(tls := context(), certificate)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                try:
                    with tls.wrap_socket(connection, server_side=True) as secure:
                        taken.append(secure.recv(65536))
                except OSError as error:
                    taken.append(repr(error).encode())

        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
    thread.join()
