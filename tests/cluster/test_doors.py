"""The doors of ``treadle run`` on a real API server: who gets in, over TLS, with it away, and under those who want to do harm."""

from __future__ import annotations

import datetime as dt
import http.client
import json
import socket
import ssl
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import pytest

from cluster.accounts import account, installed, minted, reads_metrics, token
from cluster.control_plane import ControlPlane
from cluster.treadle_process import Cluster, Treadle, eventually, pod
from treadle.admission.certificates import Certificate, make

METRICS, STATUS, ETA = "/metrics", "/status", "/eta"
REST = "/ws/v1/cluster/reservation/list?namespace=etl&queue=default"
DOCUMENT = "/openapi/v3"
GUARDED = [METRICS, STATUS, ETA, REST, DOCUMENT]


@pytest.fixture
def plane(fresh_cluster: Callable[..., Cluster]) -> ControlPlane:
    cluster = fresh_cluster(2, "4", "16Gi")
    for namespace, names in (("treadle-system", ("treadle",)), ("etl", ("robot", "guest"))):
        cluster.plane.create_namespace(namespace)
        for name in names:
            account(cluster.plane, namespace, name)
    return cluster.plane


@pytest.fixture
def kubeconfig(plane: ControlPlane, tmp_path: Path) -> Path:
    """That of the chart's service account; the robot may read metrics, and what else is told."""
    found = installed(plane, tmp_path)
    reads_metrics(plane, "etl", "robot")
    rules = [{"nonResourceURLs": [STATUS, ETA], "verbs": ["get"]}]
    named = {"metadata": {"name": "state-reader"}, "rules": rules}
    assert plane.api("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", named)[0] == 201
    reads_metrics(plane, "etl", "robot", "state-reader")
    return found


def answered(
    port: int, path: str, bearer: str = "", tls: ssl.SSLContext | None = None, source: str = "127.0.0.1"
) -> tuple[int, str, dict[str, str]]:
    """One request on a connection of its own, from an address."""
    kind = http.client.HTTPConnection if tls is None else http.client.HTTPSConnection
    options = {"source_address": (source, 0)} | ({} if tls is None else {"context": tls})
    connection = kind("127.0.0.1", port, timeout=30, **options)  # type: ignore[arg-type]
    try:
        connection.request("GET", path, headers={"Authorization": f"Bearer {bearer}"} if bearer else {})
        answer = connection.getresponse()
        return answer.status, answer.read().decode(), dict(answer.headers)
    finally:
        connection.close()


def test_each_door_asks_who_comes_and_what_they_may(plane: ControlPlane, kubeconfig: Path, tmp_path: Path) -> None:
    valid, guest = token(plane, "etl", "robot"), token(plane, "etl", "guest")
    foreign = token(plane, "etl", "robot", "somebody-else")
    ended, lasting = minted(plane, valid, -3600), minted(plane, valid, 3600)
    with Treadle(kubeconfig, tmp_path, "--rest", "--eta", anonymous_metrics=False) as treadle:
        eventually(lambda: treadle.get("/readyz")[0] == 200, 60, "ready")
        for path in GUARDED:
            for stranger in ("", "not.a.token", foreign, ended):
                status, _, headers = answered(treadle.port, path, stranger)
                assert (status, headers["WWW-Authenticate"]) == (401, "Bearer"), (path, stranger)
        for path in (METRICS, STATUS, ETA, REST):
            assert answered(treadle.port, path, guest)[0] == 403, path
        assert answered(treadle.port, DOCUMENT, guest)[0] == 200, "it is told to anybody who is known"
        for path in (METRICS, STATUS, ETA, DOCUMENT):
            assert answered(treadle.port, path, valid)[0] == 200, path
        assert answered(treadle.port, METRICS, lasting)[0] == 200, "the one that has ended differs by its time alone"
        assert "treadle_nodes 2.0" in answered(treadle.port, METRICS, valid)[1]
        assert {treadle.get(path) for path in ("/healthz", "/livez")} == {(200, "ok\n")}
        assert treadle.get("/readyz") == (200, '{"ready":true}')
        for path in ("/metrics", "/status", "/", "/eta"):
            assert answered(treadle.probes_port, path, valid)[0] == 404, (
                "probes have a port of their own, and nothing else is there"
            )
            assert answered(treadle.port, "/healthz", valid)[0] == 404
        log = treadle.log.read_text()
    for secret in (valid, guest, foreign, ended):
        assert secret not in log
        assert secret.rpartition(".")[2] not in log


def test_tokens_of_the_rest_may_have_an_audience_of_their_own_and_those_of_metrics_that_of_the_api_server(
    plane: ControlPlane, kubeconfig: Path, tmp_path: Path
) -> None:
    own, usual = token(plane, "etl", "robot", "treadle"), token(plane, "etl", "robot")
    with Treadle(kubeconfig, tmp_path, "--rest", "--rest-audience=treadle", anonymous_metrics=False) as treadle:
        eventually(lambda: treadle.get("/readyz")[0] == 200, 60, "ready")
        assert answered(treadle.port, REST, usual)[0] == 401
        assert answered(treadle.port, REST, own)[0] == 403, "who it is, is known; the robot has no right to reservations here"
        assert answered(treadle.port, METRICS, usual)[0] == 200
        assert answered(treadle.port, METRICS, own)[0] == 401


def test_while_the_api_server_is_away_nobody_gets_in_and_the_probes_answer(
    plane: ControlPlane, kubeconfig: Path, tmp_path: Path
) -> None:
    valid = token(plane, "etl", "robot")
    with Treadle(kubeconfig, tmp_path, "--rest", anonymous_metrics=False) as treadle:
        eventually(lambda: treadle.get("/readyz")[0] == 200, 60, "ready")
        plane.stop_apiserver()
        for path in (METRICS, STATUS, REST):
            status, _, headers = answered(treadle.port, path, valid)
            assert (status, headers["Retry-After"]) == (503, "5")
        assert answered(treadle.port, METRICS)[0] == 401
        assert treadle.get("/healthz")[0] == 200
        plane.start_apiserver()
        eventually(lambda: answered(treadle.port, METRICS, valid)[0] == 200, 60, "let in again")


def trusting(pem: str) -> ssl.SSLContext:
    found = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    found.load_verify_locations(cadata=pem)
    return found


def written(folder: Path) -> tuple[Certificate, list[str]]:
    """Write a certificate and its key into files, and return it and the options that name them."""
    certificate = make(("127.0.0.1",), dt.datetime.now(dt.UTC), "treadle")
    paths = folder / "tls.crt", folder / "tls.key"
    for path, text in zip(paths, (certificate.pem, certificate.key), strict=True):
        path.write_bytes(text)
    return certificate, [f"--tls-cert-file={paths[0]}", f"--tls-private-key-file={paths[1]}"]


def test_a_certificate_is_replaced_while_connections_go_on(plane: ControlPlane, kubeconfig: Path, tmp_path: Path) -> None:
    valid = token(plane, "etl", "robot")
    first, options = written(tmp_path)
    with Treadle(kubeconfig, tmp_path, *options, anonymous_metrics=False) as treadle:
        eventually(lambda: treadle.get("/readyz")[0] == 200, 60, "ready")
        kept = http.client.HTTPSConnection("127.0.0.1", treadle.port, timeout=30, context=trusting(first.pem.decode()))

        def asked() -> int:
            kept.request("GET", METRICS, headers={"Authorization": f"Bearer {valid}"})
            answer = kept.getresponse()
            answer.read()
            return answer.status

        assert asked() == 200
        socket_of_the_first = kept.sock
        second, _ = written(tmp_path)

        def served() -> bool:
            assert asked() == 200, "the connection goes on"
            try:
                return answered(treadle.port, METRICS, valid, trusting(second.pem.decode()))[0] == 200
            except ssl.SSLCertVerificationError:
                return False

        eventually(served, 30, "the second certificate served", 0.5)
        assert kept.sock is socket_of_the_first
        kept.close()
        with pytest.raises(ssl.SSLCertVerificationError):
            answered(treadle.port, METRICS, valid, trusting(first.pem.decode()))
        with pytest.raises((http.client.HTTPException, ConnectionError)):
            answered(treadle.port, METRICS, valid)
        assert valid not in treadle.log.read_text()


def test_copies_tell_their_own_certificates_where_their_clients_can_know_them(
    plane: ControlPlane, kubeconfig: Path, tmp_path: Path
) -> None:
    valid, told = token(plane, "etl", "robot"), "/api/v1/namespaces/treadle-system/configmaps/treadle-ca"
    options = ("--tls-self-signed", "--tls-host=127.0.0.1", "--tls-config-map=treadle-ca", "--namespace=treadle-system")
    with ExitStack() as stack:
        copies = [
            stack.enter_context(Treadle(kubeconfig, tmp_path, "--leader-elect", *options, anonymous_metrics=False))
            for _ in range(2)
        ]

        def bundle() -> str:
            found: str = (plane.api("GET", told)[1].get("data") or {}).get("ca.crt", "")
            return found

        eventually(lambda: bundle().count("BEGIN CERTIFICATE") == 2, 60, "both certificates")
        for copy in copies:
            status, _, headers = answered(copy.port, METRICS, valid, trusting(bundle()))
            assert (status, headers["Strict-Transport-Security"]) == (200, "max-age=31536000")


@pytest.fixture
def crowd() -> Iterator[Callable[..., None]]:
    """Keeps connections open that say so much and no more, and begins anew where they are hung up on."""
    ending, threads = threading.Event(), []

    def hold(port: int, many: int, said: bytes) -> None:
        def press() -> None:
            held: list[socket.socket] = []
            while not ending.is_set():
                try:
                    one = socket.create_connection(("127.0.0.1", port), timeout=1)
                    one.sendall(said)
                    held.append(one)
                except OSError:
                    ending.wait(0.01)
                if len(held) >= many:
                    held.pop(0).close()
            for one in held:
                one.close()

        threads.append(threading.Thread(target=press, daemon=True))
        threads[-1].start()

    yield hold
    ending.set()
    for thread in threads:
        thread.join(30)


def bound(cluster: Cluster, name: str) -> float:
    """Make a hundred pods, and return in how many seconds they were bound."""
    there, began = len(cluster.bound()), time.monotonic()
    cluster.pods([pod(f"{name}-{number}", cpu="10m", memory="16Mi") for number in range(100)])
    cluster.wait_bound(there + 100, 60)
    return time.monotonic() - began


def test_a_crowd_that_wants_to_do_harm_starves_neither_the_probes_nor_pods(
    plane: ControlPlane, kubeconfig: Path, tmp_path: Path, crowd: Callable[..., None]
) -> None:
    cluster = Cluster(plane)
    certificate, options = written(tmp_path)
    with Treadle(kubeconfig, tmp_path, "--rest", *options, anonymous_metrics=False) as treadle:
        eventually(lambda: treadle.get("/readyz")[0] == 200, 60, "ready")
        quiet = bound(cluster, "quiet")
        crowd(treadle.port, 300, b"")  # no handshake
        crowd(treadle.port, 300, b"\x16\x03\x01")  # the beginning of one
        trust, strangers = trusting(certificate.pem.decode()), count()
        slow, slowest, statuses = threading.Event(), [0.0], Counter()

        def guess() -> None:
            while not slow.is_set():
                try:
                    statuses[answered(treadle.port, METRICS, f"guess-{next(strangers)}", trust, "127.0.0.2")[0]] += 1
                except (OSError, http.client.HTTPException):
                    statuses[0] += 1

        def probe() -> None:
            while not slow.is_set():
                began = time.monotonic()
                if treadle.get("/healthz")[0] != 200:
                    slowest[0] = float("inf")
                slowest[0] = max(slowest[0], time.monotonic() - began)
                slow.wait(0.1)

        threads = [threading.Thread(target=one) for one in (probe, guess, guess)]
        for thread in threads:
            thread.start()
        try:
            crowded = bound(cluster, "crowded")
        finally:
            slow.set()
            for thread in threads:
                thread.join(60)
        found = {"quiet": quiet, "crowded": crowded, "slowest_probe": slowest[0], "guesses": dict(statuses)}
        print(json.dumps(found))
        assert set(statuses) <= {0, 401, 429}
        assert statuses[401], "others than the crowd are still answered"
        assert slowest[0] < 5, "a kubelet waits five seconds"
    assert "Traceback" not in treadle.log.read_text()


def test_a_body_without_end_is_refused_and_a_slow_one_given_up(plane: ControlPlane, kubeconfig: Path, tmp_path: Path) -> None:
    valid = token(plane, "etl", "robot")
    head = f"POST /ws/v1/cluster/reservation/submit HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {valid}\r\nContent-Type: application/json\r\n"
    with Treadle(kubeconfig, tmp_path, "--rest") as treadle:
        eventually(lambda: treadle.get("/readyz")[0] == 200, 60, "ready")

        def said(text: bytes) -> bytes:
            with socket.create_connection(("127.0.0.1", treadle.port), timeout=60) as one:
                one.sendall(text)
                found = b""
                while part := one.recv(4096):
                    found += part
                return found

        assert said(head.encode() + b"Content-Length: 10000000000\r\n\r\n").startswith(b"HTTP/1.1 413 ")
        assert said(head.encode() + b"Content-Length: 10\r\n\r\n{").startswith(b"HTTP/1.1 408 ")
        assert said(head.encode()) == b""
