"""A certificate in files that is damaged, emptied, taken away or given the key of another one while clients ask, and a Prometheus whose token is wrong."""

from __future__ import annotations

import datetime as dt
import http.client
import re
import ssl
import subprocess
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Self

import pytest

from cluster.accounts import account, installed, reads_metrics, token
from cluster.control_plane import ControlPlane
from cluster.prometheus import Prometheus
from cluster.treadle_process import Cluster, Treadle, eventually
from treadle.admission.certificates import Certificate, make


@pytest.fixture
def plane(fresh_cluster: Callable[..., Cluster]) -> ControlPlane:
    cluster = fresh_cluster(1, "4", "16Gi")
    cluster.plane.create_namespace("treadle-system")
    account(cluster.plane, "treadle-system", "treadle")
    return cluster.plane


def trusting(*certificates: Certificate) -> ssl.SSLContext:
    found = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    found.load_verify_locations(cadata="".join(one.pem.decode() for one in certificates))
    return found


class Clients:
    """Ask again and again, each time on a new connection, and count what they get."""

    def __init__(self, port: int, trust: ssl.SSLContext) -> None:
        self._port, self._trust, self._end = port, trust, threading.Event()
        self.answers: Counter[str] = Counter()
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(2)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        for thread in self._threads:
            thread.join(30)

    def ask(self) -> tuple[int, str]:
        connection = http.client.HTTPSConnection("127.0.0.1", self._port, timeout=10, context=self._trust)
        try:
            connection.request("GET", "/metrics")
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def _run(self) -> None:
        while not self._end.wait(0.25):  # so many of one address are let in a second, and others ask as well
            try:
                self.answers[str(self.ask()[0])] += 1
            except (OSError, http.client.HTTPException) as error:
                self.answers[type(error).__name__] += 1


@pytest.mark.timeout(300)
def test_a_damaged_certificate_is_told_and_no_request_fails_until_a_good_one_is_served(
    plane: ControlPlane, tmp_path: Path
) -> None:
    now = dt.datetime.now(dt.UTC)
    first, second = (make(("127.0.0.1",), now, "treadle") for _ in range(2))
    public, private = tmp_path / "tls.crt", tmp_path / "tls.key"

    def write(certificate: bytes, key: bytes) -> None:
        public.write_bytes(certificate)
        private.write_bytes(key)

    write(first.pem, first.key)
    options = (f"--tls-cert-file={public}", f"--tls-private-key-file={private}")
    with Treadle(plane.scheduler_kubeconfig(), tmp_path, *options) as treadle:
        eventually(lambda: treadle.get("/readyz")[0] == 200, 60, "ready")
        with Clients(treadle.port, trusting(first, second)) as clients:

            def problem() -> bool:
                (found,) = re.findall(r'^treadle_certificate_problem{door="service"} (\S+)$', clients.ask()[1], re.MULTILINE)
                return float(found) == 1

            assert not problem()
            ends = re.findall(
                r'^treadle_certificate_expiry_timestamp_seconds{door="service"} (\S+)$', clients.ask()[1], re.MULTILINE
            )
            assert float(ends[0]) == int(first.ends_at.timestamp())
            for damage in (lambda: write(b"", b""), lambda: write(second.pem, first.key), private.unlink):
                damage()
                eventually(problem, 30, "the damage told", 0.5)
                write(first.pem, first.key)
                eventually(lambda: not problem(), 30, "all well again", 0.5)
            write(second.pem, second.key)
            alone = Clients(treadle.port, trusting(second))

            def served() -> bool:
                try:
                    return alone.ask()[0] == 200
                except ssl.SSLCertVerificationError:
                    return False

            eventually(served, 30, "the second certificate", 0.5)
            assert not problem()
        assert set(clients.answers) == {"200"}, clients.answers
        assert clients.answers["200"] > 100


def test_a_pair_that_does_not_belong_together_is_refused_at_the_start_by_its_name(plane: ControlPlane, tmp_path: Path) -> None:
    now = dt.datetime.now(dt.UTC)
    first, second = (make(("127.0.0.1",), now, "treadle") for _ in range(2))
    public, private = tmp_path / "tls.crt", tmp_path / "tls.key"
    for certificate, key in ((first.pem, second.key), (b"", b""), (b"nothing", first.key)):
        public.write_bytes(certificate)
        private.write_bytes(key)
        with Treadle(
            plane.scheduler_kubeconfig(), tmp_path, f"--tls-cert-file={public}", f"--tls-private-key-file={private}"
        ) as treadle:
            assert treadle.process is not None
            try:
                status = treadle.process.wait(60)
            except subprocess.TimeoutExpired:
                pytest.fail(f"it goes on: {treadle.log.read_text()[-2000:]}")
            said = treadle.log.read_text()
            assert status not in {0, None}
            assert f"the certificate {public} with the key {private} cannot be served" in said
            assert "Traceback" not in said


@pytest.mark.timeout(200)
def test_a_scrape_with_a_wrong_token_is_told_by_up_and_counted(plane: ControlPlane, tmp_path: Path) -> None:
    plane.create_namespace("monitoring")
    account(plane, "monitoring", "prometheus")
    kubeconfig = installed(plane, tmp_path)
    reads_metrics(plane, "monitoring", "prometheus")
    credentials = tmp_path / "token"
    credentials.write_text("wrong")
    with Treadle(kubeconfig, tmp_path, anonymous_metrics=False) as treadle:
        eventually(lambda: treadle.get("/readyz")[0] == 200, 60, "ready")
        with Prometheus(tmp_path, f"127.0.0.1:{treadle.port}", token=credentials) as prometheus:
            eventually(lambda: prometheus.answers("up == 0"), 60, "a scrape that is refused")
            credentials.write_text(token(plane, "monitoring", "prometheus"))
            eventually(lambda: prometheus.answers("up == 1"), 60, "a scrape with the token that is there now")
            refused = 'treadle_http_refused_total{door="service", reason="unauthorized"} > 0'
            assert prometheus.answers(refused)
            plane.stop_apiserver()
            eventually(lambda: prometheus.answers("up == 0"), 90, "while nobody can be asked nobody gets in")
            plane.start_apiserver()
            eventually(lambda: prometheus.answers("up == 1"), 90, "let in again")
            assert prometheus.answers('treadle_http_refused_total{door="service", reason="unavailable"} > 0')
