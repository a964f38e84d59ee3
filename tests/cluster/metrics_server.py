"""The real metrics-server behind a real API server, and nodes of kwok whose kubelets' ``/metrics/resource`` say what annotations of pods say."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from cluster.client import eventually
from cluster.control_plane import METRICS_SERVER, STAGES, ControlPlane, Process, free_port

GROUP, VERSION = "metrics.k8s.io", "v1beta1"
SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
RESOLUTION = 10
"""Seconds between two samples, the shortest that metrics-server takes."""
PATH = "metrics.k8s.io/resource-metrics-path"
USAGE = """\
apiVersion: kwok.x-k8s.io/v1alpha1
kind: ClusterResourceUsage
metadata: {name: usage-from-annotation}
spec:
  usages:
  - usage:
      cpu: {expression: '"kwok.x-k8s.io/usage-cpu" in pod.metadata.annotations ? Quantity(pod.metadata.annotations["kwok.x-k8s.io/usage-cpu"]) : Quantity("1m")'}
      memory: {expression: '"kwok.x-k8s.io/usage-memory" in pod.metadata.annotations ? Quantity(pod.metadata.annotations["kwok.x-k8s.io/usage-memory"]) : Quantity("1Mi")'}
"""


def front_proxy(folder: Path) -> list[str]:
    """Make the certificate by which the API server shows aggregated servers that it speaks for a user. Returns the API server's arguments."""
    folder.mkdir(parents=True, exist_ok=True)
    authority, client = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    for file, subject, public, ca in (("ca", "front-proxy-ca", authority, True), ("client", "front-proxy-client", client, False)):
        now = dt.datetime.now(dt.UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)]))
            .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "front-proxy-ca")]))
            .public_key(public.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(hours=1))
            .not_valid_after(now + dt.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
            .sign(authority, hashes.SHA256())
        )
        (folder / f"{file}.crt").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (folder / "client.key").write_bytes(client.private_bytes(*form))
    return [
        f"--requestheader-client-ca-file={folder / 'ca.crt'}",
        "--requestheader-allowed-names=front-proxy-client",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-username-headers=X-Remote-User",
        f"--proxy-client-cert-file={folder / 'client.crt'}",
        f"--proxy-client-key-file={folder / 'client.key'}",
    ]


def metrics_of_kwok() -> str:
    """What kwok has to know to serve what metrics-server reads of a node's ``/metrics/resource``, with the stages of pods.

    These are the names of the kubelet's metrics; kwok's own example serves more of them, but lies in its sources alone, which are not there
    where kwok was built before.
    """
    labels = [{"name": "container", "value": "container.name"}]
    labels += [{"name": name, "value": f"pod.metadata.{field}"} for name, field in (("namespace", "namespace"), ("pod", "name"))]
    container = {"dimension": "container", "labels": labels}
    served: list[dict[str, Any]] = [
        {**container, "name": "container_start_time_seconds", "kind": "gauge", "value": "pod.SinceSecond()"},
        {
            **container,
            "name": "container_cpu_usage_seconds_total",
            "kind": "counter",
            "value": 'pod.CumulativeUsage("cpu", container.name)',
        },
        {
            **container,
            "name": "container_memory_working_set_bytes",
            "kind": "gauge",
            "value": 'pod.Usage("memory", container.name)',
        },
        {"dimension": "node", "name": "node_cpu_usage_seconds_total", "kind": "counter", "value": 'node.CumulativeUsage("cpu")'},
        {"dimension": "node", "name": "node_memory_working_set_bytes", "kind": "gauge", "value": 'node.Usage("memory")'},
    ]
    metric = {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Metric",
        "metadata": {"name": "metrics-resource"},
        "spec": {"path": "/metrics/nodes/{nodeName}/metrics/resource", "metrics": served},
    }
    return f"{STAGES.read_text()}\n---\n{USAGE}\n---\n{yaml.safe_dump(metric)}"


def node_of_kwok(name: str) -> dict[str, Any]:
    """What makes kwok the kubelet of a node for metrics-server, as a merge patch of metadata."""
    return {"metadata": {"annotations": {PATH: f"/metrics/nodes/{name}/metrics/resource"}}}


class MetricsServer:
    """Starts, ends and registers it. ``plane`` has to have the arguments of ``front_proxy``; ``arguments`` say how kubelets are reached."""

    def __init__(self, plane: ControlPlane, *arguments: str, command: Callable[[list[str]], list[str]] = lambda it: it) -> None:
        self._plane, self._arguments, self._command = plane, arguments, command
        self._port = free_port()
        self._process: Process | None = None

    def __enter__(self) -> Self:
        service = {
            "metadata": {"name": "metrics-server", "namespace": "default"},
            "spec": {"type": "ExternalName", "externalName": "localhost"},
        }
        status, answer = self._plane.api("POST", "/api/v1/namespaces/default/services", service)
        assert status in {201, 409}, answer
        spec = {
            "group": GROUP,
            "version": VERSION,
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
            "insecureSkipTLSVerify": True,
            "service": {"namespace": "default", "name": "metrics-server", "port": self._port},
        }
        body = {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": f"{VERSION}.{GROUP}"}}
        status, answer = self._plane.api("POST", SERVICES, {**body, "spec": spec})
        assert status == 201, answer
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start it. Its first sample of a node comes after two scrapes."""
        kubeconfig = str(self._plane.kubeconfig)
        command = [
            str(METRICS_SERVER.build() / "metrics-server"),
            f"--kubeconfig={kubeconfig}",
            f"--authentication-kubeconfig={kubeconfig}",
            f"--authorization-kubeconfig={kubeconfig}",
            "--bind-address=127.0.0.1",
            f"--secure-port={self._port}",
            f"--cert-dir={self._plane.folder / 'metrics-server'}",
            f"--metric-resolution={RESOLUTION}s",
            "--kubelet-request-timeout=5s",
            "--kubelet-preferred-address-types=InternalIP",
            *self._arguments,
        ]
        self._process = Process("metrics-server", self._command(command), self._plane.folder / "metrics-server.log")
        self._plane.processes["metrics-server"] = self._process

    def stop(self) -> None:
        """End it as a crash would; it stays registered."""
        if self._process is not None:
            self._process.stop()
            self._plane.processes.pop("metrics-server", None)

    def samples(self) -> dict[str, dict[str, Any]]:
        """What it says of nodes by now, by name; nothing while it does not answer."""
        status, answer = self._plane.api("GET", f"/apis/{GROUP}/{VERSION}/nodes")
        return {one["metadata"]["name"]: one for one in answer["items"]} if status == 200 else {}

    def wait_for(self, *nodes: str) -> None:
        """Wait until it has a sample of each of these nodes."""
        eventually(lambda: set(nodes) <= set(self.samples()), 60, "metrics-server has samples", 0.5)
