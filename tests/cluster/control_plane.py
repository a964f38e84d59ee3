"""A real Kubernetes control plane on loopback: etcd, kube-apiserver and, on request, its friends.

The versions are pinned by the Go module beside this file. The binaries are built once into a cache outside the checkout and keyed
by those versions, so a second checkout finds them ready. Every process dies with the process that started it, however that ends.

As a program: ``control_plane.py build`` builds what is missing, ``control_plane.py build-if-possible`` says so and goes on where
there is no Go toolchain (unless TREADLE_CLUSTER_TESTS=required), ``control_plane.py ready`` tells by its exit status whether all
is there.
"""

from __future__ import annotations

import atexit
import base64
import contextlib
import http.client
import json
import os
import random
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

if not __package__:  # run as a program
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from cluster.client import ApiClient, Json, RefusedError, eventually, fake_node, ssl_context
from cluster.go_module import GoMissingError, GoModule, kubernetes_flags

__all__ = [
    "ApiClient",
    "ControlPlane",
    "ControlPlaneError",
    "ControlPlaneMissingError",
    "RefusedError",
    "eventually",
    "fake_node",
    "ssl_context",
]

REPOSITORY = Path(__file__).resolve().parents[2]
TOOLS = Path(__file__).resolve().parent / "tools"
STAGES = Path(__file__).resolve().parent / "stages.yaml"
PACKAGES = {
    "etcd": "go.etcd.io/etcd/server/v3",
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
    "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
    "kube-scheduler": "k8s.io/kubernetes/cmd/kube-scheduler",
    "kwok": "sigs.k8s.io/kwok/cmd/kwok",
}
NO_GO = "cluster tier skipped: no Go toolchain to build the control plane with"
DEFAULT_CONTROLLERS = (
    "namespace-controller,garbage-collector-controller,job-controller,cronjob-controller,pod-garbage-collector-controller,"
    "deployment-controller,replicaset-controller,statefulset-controller,daemonset-controller,disruption-controller,"
    "resourcequota-controller,serviceaccount-controller,ttl-after-finished-controller"
)
# prctl(PR_SET_PDEATHSIG, SIGKILL), then become the program. A wrapper and not preexec_fn, which is unsafe where there are
# threads.
BECOME = "import ctypes,os,sys;ctypes.CDLL(None).prctl(1,9);os.getppid()==int(sys.argv[1]) or sys.exit(1);os.execv(sys.argv[2],sys.argv[2:])"


class ControlPlaneError(Exception):
    """A process did not start or an answer was not what the helper can work with; carries the end of the logs."""


# ---- binaries
# -----------------------------------------------------------------------------------------------------------------------

ControlPlaneMissingError = GoMissingError
MODULE = GoModule(
    folder=TOOLS,
    packages=PACKAGES,
    kind="control-plane",
    named=("k8s.io/kubernetes", "go.etcd.io/etcd/server/v3", "sigs.k8s.io/kwok"),
    missing_go=NO_GO,
)
MODULE = replace(MODULE, flags=kubernetes_flags(MODULE.version("k8s.io/kubernetes")))
METRICS_SERVER = GoModule(  # a module of its own, as its dependencies are not the control plane's
    folder=TOOLS / "metrics_server",
    packages={"metrics-server": "sigs.k8s.io/metrics-server/cmd/metrics-server"},
    kind="metrics-server",
    named=("sigs.k8s.io/metrics-server",),
    missing_go=NO_GO,
)
PROMETHEUS = GoModule(
    folder=TOOLS / "prometheus",
    packages={
        "prometheus": "github.com/prometheus/prometheus/cmd/prometheus",
        "promtool": "github.com/prometheus/prometheus/cmd/promtool",
    },
    kind="prometheus",
    named=("github.com/prometheus/prometheus",),
    tags="remove_all_sd",  # what it finds its targets by in clouds is half of it
    missing_go=NO_GO,
)


def cluster_tests_required() -> bool:
    """Whether a missing control plane must fail the run instead of skipping its tests."""
    return os.environ.get("TREADLE_CLUSTER_TESTS") == "required"


def missing_binaries() -> list[str]:
    """Names of the programs that the cache lacks."""
    return [name for module in (MODULE, METRICS_SERVER, PROMETHEUS) for name in module.missing()]


def build_binaries() -> Path:
    """Build the control plane where it is missing and return its folder. Raises ControlPlaneMissingError where there is no `go`."""
    return MODULE.build()


# ---- processes
# ----------------------------------------------------------------------------------------------------------------------


class Process:
    """One program, its log file, and its end."""

    def __init__(self, name: str, command: Sequence[str], log: Path) -> None:
        self.name, self.log = name, log
        wrapped = [sys.executable, "-I", "-S", "-c", BECOME, str(os.getpid()), *command]
        with log.open("ab") as out:
            # PDEATHSIG follows the thread that forked, so all forks are done by one thread that lives as long as we do.
            self._popen = (
                _forker()
                .submit(
                    subprocess.Popen,
                    wrapped,
                    stdout=out,
                    stderr=subprocess.STDOUT,
                    stdin=subprocess.DEVNULL,
                    start_new_session=True,
                )
                .result()
            )

    @property
    def pid(self) -> int:
        """Process id, also after the end."""
        return self._popen.pid

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return self._popen.poll() is None

    def stop(self, *, hard: bool = True, timeout: float = 70.0) -> None:
        """SIGKILL when `hard`, else SIGTERM; either way return only when it is gone."""
        if self.running:
            self._popen.send_signal(signal.SIGKILL if hard else signal.SIGTERM)
        try:
            self._popen.wait(timeout)
        except subprocess.TimeoutExpired:
            self._popen.kill()
            self._popen.wait()

    def tail(self, lines: int = 30) -> str:
        """The end of its log."""
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        return "\n".join(text.splitlines()[-lines:])


_FORKER: list[ThreadPoolExecutor] = []


def _forker() -> ThreadPoolExecutor:
    if not _FORKER:
        _FORKER.append(ThreadPoolExecutor(1, thread_name_prefix="control-plane"))
    return _FORKER[0]


def free_port() -> int:
    """A loopback port that nothing listens on, below the range of outgoing connections, so that it stays free during an outage."""
    for _ in range(200):
        port = random.randint(20000, 32000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise ControlPlaneError("no free loopback port between 20000 and 32000")


def signing_key() -> str:
    """A fresh EC P-256 private key as PEM: SEC 1 needs only the number and the curve, so no library and no openssl is needed."""
    number = (secrets.randbits(255) | 1).to_bytes(
        32, "big"
    )  # under the order of the curve, which starts with ffffffff00000000ffff
    prime256v1 = bytes.fromhex("06082a8648ce3d030107")
    der = b"\x02\x01\x01" + b"\x04\x20" + number + b"\xa0" + bytes([len(prime256v1)]) + prime256v1
    text = base64.encodebytes(b"\x30" + bytes([len(der)]) + der).decode()
    return f"-----BEGIN EC PRIVATE KEY-----\n{text}-----END EC PRIVATE KEY-----\n"


SCHEDULER = "scheduler"
"""The user whose rights are those of the chart."""


class ControlPlane:
    """etcd and kube-apiserver on free loopback ports, in a temporary folder of their own.

    `users` maps further user names to their groups; `admin` is always there, in system:masters, and `scheduler`. Authorization is RBAC.
    `arguments` are added to the API server's, `port` is its own (a free one), and `without` are the admission plugins that it has not: no
    controller makes service accounts or untaints nodes here. Use it as a context manager, or call `start` and `stop`.
    """

    def __init__(
        self,
        users: Mapping[str, Sequence[str]] | None = None,
        arguments: Sequence[str] = (),
        port: int | None = None,
        without: str = "ServiceAccount,TaintNodesByCondition",
    ) -> None:
        self.users = {
            "admin": ["system:masters"],
            SCHEDULER: [],
            **{name: list(groups) for name, groups in (users or {}).items()},
        }
        self.tokens = {name: secrets.token_hex(16) for name in self.users}
        self.arguments = list(arguments)
        self.folder = Path()
        self.url = ""
        self.client = ApiClient("http://127.0.0.1:1")  # replaced by the first start
        self.processes: dict[str, Process] = {}
        self._ports: dict[str, int] = {} if port is None else {"apiserver": port}
        self._without = without
        self._given: set[str] = set()
        """Namespaces as if installed in which the scheduler's rights were given."""

    # -- life

    def start(self) -> Self:
        """Start both and return when the server is ready: about three seconds on an idle machine."""
        binaries = build_binaries()
        self._binary = {name: str(binaries / name) for name in PACKAGES}
        self.folder = Path(tempfile.mkdtemp(prefix="treadle-control-plane-"))
        atexit.register(self.stop)
        (self.folder / "sa.key").write_text(signing_key())
        rows = (f'{self.tokens[name]},{name},{name},"{",".join(groups)}"\n' for name, groups in self.users.items())
        (self.folder / "tokens.csv").write_text("".join(rows))
        try:
            self._start_etcd()
            self.start_apiserver()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """End everything at once and remove the folder; harmless when called again."""
        self.client.close()
        for process in reversed(list(self.processes.values())):
            process.stop()
        self.processes.clear()
        atexit.unregister(self.stop)
        if self.folder != Path():
            shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start_apiserver(self) -> None:
        """Start the API server, on the port of its first start, and wait until it is ready."""
        port = self._ports.setdefault("apiserver", free_port())
        key = str(self.folder / "sa.key")
        self._spawn(
            "kube-apiserver",
            f"--etcd-servers=http://127.0.0.1:{self._ports['etcd']}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            f"--secure-port={port}",
            f"--cert-dir={self.folder / 'pki'}",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--allow-privileged=true",
            "--endpoint-reconciler-type=none",
            "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
            f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}",
            "--authorization-mode=RBAC",
            f"--token-auth-file={self.folder / 'tokens.csv'}",
            f"--disable-admission-plugins={self._without}",
            *self.arguments,
        )
        self.url = f"https://127.0.0.1:{port}"
        self._await(
            "kube-apiserver",
            lambda: self.ca.exists() and self._ready(ApiClient(self.url, ca=self.ca, token=self.token, timeout=5)),
        )
        self.client.close()
        self.client = ApiClient(self.url, ca=self.ca, token=self.token)
        self.kubeconfig = self.kubeconfig_for("admin")
        eventually(lambda: self.api("GET", "/api/v1/namespaces/default")[0] == 200, what="namespace default")

    def stop_apiserver(self, *, hard: bool = True) -> None:
        """End the API server only. A soft end (SIGTERM) takes up to a minute while watches are open."""
        self.processes.pop("kube-apiserver").stop(hard=hard)

    def start_controller_manager(self, controllers: str = DEFAULT_CONTROLLERS, *arguments: str) -> Process:
        """Start kube-controller-manager with `controllers` (comma-separated names) and return at once."""
        return self._spawn(
            "kube-controller-manager",
            f"--kubeconfig={self.kubeconfig}",
            "--leader-elect=false",
            "--bind-address=127.0.0.1",
            f"--secure-port={free_port()}",
            "--use-service-account-credentials=false",
            f"--service-account-private-key-file={self.folder / 'sa.key'}",
            f"--root-ca-file={self.ca}",
            "--kube-api-qps=1000",
            "--kube-api-burst=2000",
            f"--controllers={controllers}",
            *arguments,
        )

    def start_kube_scheduler(self, extras: Mapping[str, Any] | None = None, *, qps: int = 10000, burst: int = 10000) -> Process:
        """Start kube-scheduler; `extras` are laid over its KubeSchedulerConfiguration (extenders, profiles, ...)."""
        config = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "clientConnection": {"kubeconfig": str(self.kubeconfig), "qps": qps, "burst": burst},
            "leaderElection": {"leaderElect": False},
            **(extras or {}),
        }
        path = self.folder / "scheduler.yaml"
        path.write_text(json.dumps(config))
        return self._spawn(
            "kube-scheduler",
            f"--config={path}",
            "--bind-address=127.0.0.1",
            f"--secure-port={free_port()}",
            "--authorization-always-allow-paths=/healthz,/readyz,/livez,/metrics",
        )

    def start_kwok(self, stages: str | Path = STAGES, *arguments: str) -> Process:
        """Start kwok for the nodes annotated as fake. `stages` is a file or YAML text; the default is stages.yaml beside this file."""
        port = free_port()
        path = self.folder / "stages.yaml"
        path.write_text(stages.read_text() if isinstance(stages, Path) else stages)
        return self._spawn(
            "kwok",
            f"--kubeconfig={self.kubeconfig}",
            "--manage-all-nodes=false",
            "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
            "--node-ip=127.0.0.1",
            f"--node-port={port}",
            f"--server-address=127.0.0.1:{port}",
            "--cidr=10.64.0.0/12",
            f"--config={path}",
            *arguments,
        )

    # -- access

    @property
    def ca(self) -> Path:
        """The authority that signed the server's certificate."""
        return self.folder / "pki" / "apiserver.crt"

    @property
    def token(self) -> str:
        """Bearer token of admin."""
        return self.tokens["admin"]

    def scheduler_kubeconfig(self, namespace: str = "default") -> Path:
        """Path of a kubeconfig with exactly the rights that the chart gives, installed in a namespace."""
        from cluster.chart_rights import rights_for

        if namespace not in self._given:
            self._given.add(namespace)
            for path, body in rights_for(SCHEDULER, namespace):
                status, answer = self.api("POST", path, body)
                if status >= 300 and status != http.HTTPStatus.CONFLICT:
                    raise RefusedError(f"{body['metadata']['name']}: {status} {answer.get('message')}")
        return self.kubeconfig_for(SCHEDULER)

    def kubeconfig_for(self, user: str) -> Path:
        """Path of a kubeconfig that logs in as `user`, which must be one of `users`."""
        path = self.folder / f"{user}.kubeconfig"
        cluster = {"server": self.url, "certificate-authority": str(self.ca)}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": user,
            "clusters": [{"name": "loopback", "cluster": cluster}],
            "users": [{"name": user, "user": {"token": self.tokens[user]}}],
            "contexts": [{"name": user, "context": {"cluster": "loopback", "user": user, "namespace": "default"}}],
        }
        path.write_text(json.dumps(config))  # JSON is YAML
        path.chmod(0o600)
        return path

    def api(
        self,
        method: str,
        path: str,
        body: Any = None,
        params: Mapping[str, Any] | None = None,
        content_type: str = "application/json",
        token: str | None = None,
    ) -> tuple[int, Json]:
        """One request as admin, or as the holder of `token`: (status, decoded body)."""
        return self.client.request(method, path, body, params, content_type, token)

    def create_many(self, path: str, objects: Iterable[Json], workers: int = 8) -> list[Json]:
        """POST many objects at once; see ApiClient.create_many."""
        return self.client.create_many(path, objects, workers)

    def create_namespace(self, name: str) -> str:
        """Create it if it is not there, and return its name."""
        self.client.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        return name

    def create_nodes(
        self,
        count: int,
        cpu: str = "32",
        memory: str = "256Gi",
        pods: int = 110,
        labels: Mapping[str, str] | None = None,
        prefix: str = "node-",
        resources: Mapping[str, str] | None = None,
    ) -> list[str]:
        """Create `count` ready nodes without a kubelet; kwok would take them over. Returns their names."""
        names = [f"{prefix}{index:05d}" for index in range(count)]
        self.create_many("/api/v1/nodes", (fake_node(name, cpu, memory, pods, labels, resources) for name in names))
        return names

    def apply_crds(self, folder: Path = REPOSITORY / "crds") -> list[str]:
        """Create or replace every CRD in `folder` and wait until all are served. Returns their names."""
        import yaml

        base = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        documents = [doc for path in sorted(folder.glob("*.yaml")) for doc in yaml.safe_load_all(path.read_text()) if doc]
        for doc in documents:
            status, answer = self.api("POST", base, doc)
            if status == http.HTTPStatus.CONFLICT:
                _, present = self.api("GET", f"{base}/{doc['metadata']['name']}")
                doc["metadata"]["resourceVersion"] = present["metadata"]["resourceVersion"]
                status, answer = self.api("PUT", f"{base}/{doc['metadata']['name']}", doc)
            if status >= 300:
                raise RefusedError(f"{doc['metadata']['name']}: {status} {answer.get('message')}")
        for doc in documents:
            spec = doc["spec"]
            served = f"/apis/{spec['group']}/{spec['versions'][0]['name']}/{spec['names']['plural']}"
            # The list is 404 until the CRD is established, then 429 while its storage starts.
            eventually(lambda served=served: self.api("GET", served)[0] == 200, what=f"{served} being served")
        return [doc["metadata"]["name"] for doc in documents]

    def logs(self, lines: int = 15) -> Iterator[tuple[str, str]]:
        """(program, end of its log) of everything that was started and not stopped."""
        for name, process in self.processes.items():
            yield name, process.tail(lines)

    # -- inside

    def _start_etcd(self) -> None:
        client, peer = self._ports.setdefault("etcd", free_port()), free_port()
        self._spawn(
            "etcd",
            "--name=node0",
            f"--data-dir={self.folder / 'etcd'}",
            f"--listen-client-urls=http://127.0.0.1:{client}",
            f"--advertise-client-urls=http://127.0.0.1:{client}",
            f"--listen-peer-urls=http://127.0.0.1:{peer}",
            f"--initial-advertise-peer-urls=http://127.0.0.1:{peer}",
            f"--initial-cluster=node0=http://127.0.0.1:{peer}",
            "--unsafe-no-fsync",
            "--quota-backend-bytes=8589934592",
            "--auto-compaction-retention=1",
            "--log-level=warn",
        )
        self._await("etcd", lambda: self._ready(ApiClient(f"http://127.0.0.1:{client}", timeout=5), "/health"))

    def _spawn(self, name: str, *arguments: str) -> Process:
        key = name if name not in self.processes else f"{name}-{len(self.processes)}"
        process = Process(name, [self._binary[name], *arguments], self.folder / f"{key}.log")
        self.processes[key] = process
        return process

    def _await(self, name: str, ready: Callable[[], bool], timeout: float = 60.0) -> None:
        deadline = time.monotonic() + timeout
        process = self.processes[name]
        while True:
            with contextlib.suppress(OSError, http.client.HTTPException):
                if ready():
                    return
            if not process.running or time.monotonic() > deadline:
                state = "is not ready" if process.running else "ended"
                raise ControlPlaneError(f"{name} {state}; the end of its log:\n{process.tail()}")
            time.sleep(0.05)

    @staticmethod
    def _ready(client: ApiClient, path: str = "/readyz") -> bool:
        try:
            return client.request("GET", path)[0] == http.HTTPStatus.OK
        finally:
            client.close()


def main(arguments: Sequence[str]) -> int:
    """Entry point of the commands; returns the exit status."""
    if list(arguments) == ["ready"]:
        return int(bool(missing_binaries()))
    if list(arguments) not in (["build"], ["build-if-possible"]):
        print("usage: control_plane.py build | build-if-possible | ready", file=sys.stderr)
        return 2
    try:
        folder = build_binaries()
        METRICS_SERVER.build()
        PROMETHEUS.build()
    except ControlPlaneMissingError as missing:
        print(missing)
        return int(arguments[0] == "build" or cluster_tests_required())
    print(f"control plane ready in {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
