"""Two replicas under churn and a random fault every second, judged by the API server's watch history alone.

By hand: ``make soak``; ``TREADLE_SOAK_SECONDS`` (1800) says for how long, ``TREADLE_SOAK_SEED`` (1) with which faults.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from cluster.client import fake_node
from cluster.control_plane import ControlPlane
from cluster.faulty_proxy import FaultyProxy, cut, hung, mistaken, refused
from cluster.history import History
from cluster.treadle_process import Cluster, Treadle, eventually, pod, queue

WEIGHTS = {"root.a": 1, "root.b": 2, "root.c": 3, "root.d": 4}
NODES, SMALL, LARGE = 10, "8", "12"
MOST_PODS = 300
CLUSTER_ADMIN = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRoleBinding",
    "metadata": {"name": "treadle-soak"},
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
    "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "treadle"}],
}
BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
TREADLE = "/apis/treadle.dev/v1alpha1"
MERGE = "application/merge-patch+json"


class Soak:
    """A cluster, two replicas behind proxies, and everything that can go wrong."""

    def __init__(self, plane: ControlPlane, folder: Path, stack: ExitStack, seed: int) -> None:
        self.plane, self.random, self.cluster = plane, random.Random(seed), Cluster(plane)
        self.proxies = [stack.enter_context(FaultyProxy(plane, folder, f"proxy-{number}", "treadle")) for number in range(2)]
        arguments = ("--leader-elect", "--namespace", "default")
        self.replicas = [stack.enter_context(Treadle(proxy.kubeconfig, folder, *arguments)) for proxy in self.proxies]
        self.faults: Counter[str] = Counter()
        self.memory: list[tuple[float, int, int]] = []
        """When, the pid and the resident KiB of the second replica, which is never killed."""
        self.number = 0
        self.later: list[tuple[float, Callable[[], Any]]] = []
        """What is put right again, and when."""
        self.lasting: dict[str, float] = {}
        self._releases: list[threading.Event] = []

    # -- the cluster, through a client that forgives outages

    def api(self, method: str, path: str, body: Any = None, **options: Any) -> tuple[int, Any]:
        try:
            return self.plane.api(method, path, body, **options)
        except Exception:  # noqa: BLE001 - the server is down just now
            return 0, {}

    def churn(self) -> None:
        """Make some pods, end some, remove some and make some of the same name again."""
        status, found = self.api("GET", "/api/v1/pods")
        if status != 200:
            return
        pods = found["items"]
        alive = [one for one in pods if one["status"].get("phase") not in {"Succeeded", "Failed"}]
        for _ in range(min(self.random.randint(2, 14), MOST_PODS - len(alive))):
            self.number += 1
            name, path = f"p-{self.number}", self.random.choice(list(WEIGHTS))
            cpu = self.random.choice(["500m", "1", "2", "3"])
            body = pod(name, path, f"app-{self.number // 7}", cpu=cpu, memory="64Mi")
            body["metadata"]["namespace"] = space = self.random.choice(["default", "default", "soak"])
            self.api("POST", f"/api/v1/namespaces/{space}/pods", body)
        for one in self.random.sample(alive, min(len(alive), self.random.randint(0, 8))):
            meta = one["metadata"]
            where = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"
            if one["spec"].get("nodeName") and self.random.random() < 0.5:
                self.api("PATCH", f"{where}/status", {"status": {"phase": "Succeeded"}}, content_type=MERGE)
                continue
            self.api("DELETE", where, {"gracePeriodSeconds": 0})
            if self.random.random() < 0.5:
                same = {key: meta[key] for key in ("name", "namespace", "labels")}
                spec = {"schedulerName": "treadle", "containers": one["spec"]["containers"]}
                for container in spec["containers"]:
                    container.pop("volumeMounts", None)
                self.api("POST", where.rpartition("/")[0], {"apiVersion": "v1", "kind": "Pod", "metadata": same, "spec": spec})
        for one in pods:
            if one not in alive and self.random.random() < 0.5:
                self.api("DELETE", f"/api/v1/namespaces/{one['metadata']['namespace']}/pods/{one['metadata']['name']}")

    def queues(self) -> None:
        for path, weight in WEIGHTS.items():
            body = queue(path, weight=str(weight))
            body["spec"]["capacity"] = {"guaranteed": f"{weight * 10}%"}
            if self.api("POST", f"{TREADLE}/queues", body)[0] == 409:
                self.api("PATCH", f"{TREADLE}/queues/{path}", body, content_type=MERGE)

    # -- faults; each returns for how long none of its kind follows

    def kill(self) -> float:
        replica = self.replicas[0]
        replica.kill()
        self.soon(self.random.uniform(0, 20), replica.start)
        return 25

    def stop_and_continue(self) -> float:
        which = self.random.randrange(2)
        process = self.replicas[which].process
        if process is None or process.poll() is not None:
            return 0
        process.send_signal(signal.SIGSTOP)
        self.soon(self.random.choice([0.5, 3, 12, 18, 25]), lambda: process.send_signal(signal.SIGCONT))
        return 30

    def restart_api_server(self) -> float:
        with contextlib.suppress(KeyError):
            self.plane.stop_apiserver()
            self.plane.start_apiserver()
        return 90

    def restart_etcd(self) -> float:
        with contextlib.suppress(KeyError):
            self.plane.processes.pop("etcd").stop()
            self.plane._start_etcd()
        return 150

    def hang_binds(self) -> float:
        release = threading.Event()
        self._releases.append(release)
        self.proxy().fault("POST", "/binding", hung(release), self.random.randint(1, 20))
        self.soon(self.random.choice([2, 10, 25]), release.set)
        return 5

    def mistake_binds(self) -> float:
        self.proxy().fault(
            "POST", "/binding", mistaken(self.random.choice([429, 500, 502, 503, 504])), self.random.randint(1, 20)
        )
        return 0

    def cut_answers(self) -> float:
        proxy = self.proxy()
        proxy.fault("POST", "/binding", mistaken(504), 4)
        proxy.fault("GET", "/pods/", cut(self.random.randint(1, 200)), 4)
        return 0

    def throttle(self) -> float:
        after = self.random.choice([1, 5, 25])
        self.proxy().fault("POST", "/binding", refused(429, after), self.random.randint(1, 4))
        return after

    def refuse_writes(self) -> float:
        self.proxy().fault("PATCH", "/status", refused(self.random.choice([401, 409, 500, 503])), self.random.randint(1, 10))
        return 0

    def rotate_token(self) -> float:
        proxy = self.proxy()
        for method in ("GET", "POST", "PATCH"):
            proxy.fault(method, "/", refused(401), 2)
        return 10

    def lose_lease(self) -> float:
        proxy, times = self.proxy(), self.random.randint(1, 12)
        proxy.fault("PUT", "/leases/", refused(503), times)
        return 30

    def take_rights(self) -> float:
        self.api("DELETE", f"{BINDINGS}/treadle-soak")
        self.soon(self.random.uniform(1, 10), lambda: self.api("POST", BINDINGS, CLUSTER_ADMIN))
        return 60

    def take_kinds(self) -> float:
        for plural in ("queues", "schedulers", "applications", "reservations"):
            self.api("DELETE", f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{plural}.treadle.dev")
        self.soon(self.random.uniform(5, 15), self.give_kinds)
        return 300

    def give_kinds(self) -> None:
        with contextlib.suppress(Exception):
            self.plane.apply_crds()
            self.queues()
            return
        self.soon(3, self.give_kinds)

    def resize_node(self) -> float:
        size = self.random.choice(["2", SMALL, LARGE])
        body = {"status": {kind: {"cpu": size} for kind in ("capacity", "allocatable")}}
        self.api("PATCH", f"/api/v1/nodes/{self.node()}/status", body, content_type=MERGE)
        return 0

    def recreate_node(self) -> float:
        name = self.node()
        self.api("DELETE", f"/api/v1/nodes/{name}")
        body = fake_node(name, SMALL, "64Gi")
        self.soon(self.random.choice([0, 0, 5, 40]), lambda: self.api("POST", "/api/v1/nodes", body))
        return 0

    def cordon(self) -> float:
        name = self.node()
        self.api("PATCH", f"/api/v1/nodes/{name}", {"spec": {"unschedulable": True}}, content_type=MERGE)
        again = {"spec": {"unschedulable": None}}
        self.soon(self.random.uniform(1, 20), lambda: self.api("PATCH", f"/api/v1/nodes/{name}", again, content_type=MERGE))
        return 0

    def remove_namespace(self) -> float:
        self.api("DELETE", "/api/v1/namespaces/soak")
        self.soon(8, lambda: self.api("POST", "/api/v1/namespaces", {"metadata": {"name": "soak"}}))
        return 30

    def edit_queue(self) -> float:
        path = self.random.choice(list(WEIGHTS))
        fair: dict[str, Any] = {"weight": str(self.random.choice([1, 5, "0.5"]))}
        fair["maxResources"] = self.random.choice([None, {"cpu": "20"}, {"cpu": "50%"}])
        self.api("PATCH", f"{TREADLE}/queues/{path}", {"spec": {"fair": fair}}, content_type=MERGE)
        return 0

    def switch_discipline(self) -> float:
        body = {
            "apiVersion": "treadle.dev/v1alpha1",
            "kind": "Scheduler",
            "metadata": {"name": "treadle"},
            "spec": {"discipline": self.random.choice(["Fair", "Capacity"])},
        }
        if self.api("POST", f"{TREADLE}/schedulers", body)[0] == 409:
            self.api("PATCH", f"{TREADLE}/schedulers/treadle", body, content_type=MERGE)
        return 5

    # -- how it goes on

    def proxy(self) -> FaultyProxy:
        proxy = self.random.choice(self.proxies)
        proxy.rules = [rule for rule in proxy.rules if rule[3] > 0]
        return proxy

    def node(self) -> str:
        return f"node-{self.random.randrange(NODES):05}"

    def soon(self, seconds: float, what: Callable[[], Any]) -> None:
        self.later.append((time.monotonic() + seconds, what))

    def put_right(self, *, all_of_it: bool = False) -> None:
        now = time.monotonic()
        due = [what for at, what in self.later if all_of_it or at <= now]
        self.later = [] if all_of_it else [(at, what) for at, what in self.later if at > now]
        for what in due:
            with contextlib.suppress(ProcessLookupError):
                what()

    def one_fault(self) -> None:
        kinds: list[Callable[[], float]] = [
            self.kill, self.stop_and_continue, self.restart_api_server, self.restart_etcd, self.hang_binds, self.mistake_binds,
            self.cut_answers, self.throttle, self.refuse_writes, self.rotate_token, self.lose_lease, self.take_rights, self.take_kinds,
            self.resize_node, self.recreate_node, self.cordon, self.remove_namespace, self.edit_queue, self.switch_discipline,
        ]  # fmt: skip
        now = time.monotonic()
        ready = [kind for kind in kinds if self.lasting.get(kind.__name__, 0) <= now]
        kind = self.random.choice(ready)
        pause = kind()
        self.lasting[kind.__name__] = now + pause
        self.faults[kind.__name__] += 1

    def sample(self, began: float) -> None:
        process = self.replicas[1].process
        assert process is not None
        text = Path(f"/proc/{process.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+)", text)
        if found:
            self.memory.append((time.monotonic() - began, process.pid, int(found[1])))

    def calm(self) -> None:
        """End all faults and make the cluster as it was at the beginning, empty."""
        for proxy in self.proxies:
            proxy.rules.clear()
        for release in self._releases:
            release.set()
        while self.later:
            self.put_right(all_of_it=True)
        self.plane.apply_crds()
        self.queues()
        scheduler = {"spec": {"discipline": "Fair"}}
        self.api("PATCH", f"{TREADLE}/schedulers/treadle", scheduler, content_type=MERGE)
        for path, weight in WEIGHTS.items():
            fair = {"weight": str(weight), "maxResources": None}
            self.api("PATCH", f"{TREADLE}/queues/{path}", {"spec": {"fair": fair}}, content_type=MERGE)
        for number in range(NODES):
            name = f"node-{number:05}"
            self.api("POST", "/api/v1/nodes", fake_node(name, SMALL, "64Gi"))
            size = {"status": {kind: {"cpu": SMALL} for kind in ("capacity", "allocatable")}}
            self.api("PATCH", f"/api/v1/nodes/{name}/status", size, content_type=MERGE)
            self.api("PATCH", f"/api/v1/nodes/{name}", {"spec": {"unschedulable": None}}, content_type=MERGE)
        for replica in self.replicas:
            if replica.process is None or replica.process.poll() is not None:
                replica.start()
            replica.wait_ready()


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_nothing_is_lost_doubled_or_overfilled_whatever_fails(
    fresh_control_plane: Callable[..., ControlPlane], tmp_path: Path
) -> None:
    seconds, seed = float(os.environ.get("TREADLE_SOAK_SECONDS", "1800")), int(os.environ.get("TREADLE_SOAK_SEED", "1"))
    plane = fresh_control_plane(users={"treadle": []})
    plane.apply_crds()
    plane.start_controller_manager("namespace-controller")
    plane.api("POST", BINDINGS, CLUSTER_ADMIN)
    plane.create_namespace("soak")
    plane.create_nodes(NODES, SMALL, "64Gi")
    with ExitStack() as stack:
        history = stack.enter_context(History(plane))
        soak = Soak(plane, tmp_path, stack, seed)
        soak.queues()
        soak.replicas[1].wait_ready()
        began = time.monotonic()
        tick = began
        while time.monotonic() < began + seconds:
            tick += 1
            soak.put_right()
            soak.churn()
            soak.one_fault()
            soak.sample(began)
            for replica in soak.replicas[1:]:
                assert replica.process is not None
                assert replica.process.poll() is None, replica.log.read_text()[-3000:]
            time.sleep(max(0.0, tick - time.monotonic()))
        soak.calm()
        report(soak, history)
        settle(soak, history)
        report(soak, history)
    assert history.wrong == []
    check_memory(soak)


def report(soak: Soak, history: History) -> None:
    errors = sum(replica.log.read_text(errors="replace").count("Traceback") for replica in soak.replicas)
    sizes = [kib // 1024 for _, _, kib in soak.memory[:: max(1, len(soak.memory) // 30)]]
    words = {
        "faults": dict(soak.faults), "pods": soak.number, "binds": history.binds, "wrong": history.wrong[:10], "tracebacks": errors, "MiB": sizes,
    }  # fmt: skip
    print(json.dumps(words))


def settle(soak: Soak, history: History) -> None:
    """Nothing that waited is lost, and shares come back to the weights within a pod."""
    cluster = soak.cluster
    for number in range(40):
        soak.plane.api("POST", "/api/v1/nodes", fake_node(f"more-{number}", "32", "256Gi"))
    eventually(lambda: not history.waiting(), 180, "nothing waits when there is room")
    for one in cluster.all_pods():
        meta = one["metadata"]
        cluster.plane.api("DELETE", f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}", {"gracePeriodSeconds": 0})
    eventually(lambda: not cluster.all_pods(), 60, "no pod is left")
    names = [f"more-{number}" for number in range(40)] + [f"node-{number:05}" for number in range(NODES)]
    for name in names:
        soak.plane.api("DELETE", f"/api/v1/nodes/{name}")
    leader = eventually(
        lambda: next((r for r in soak.replicas if (r.ready() or {}).get("leader") == "leader"), None), 60, "a leader"
    )
    eventually(lambda: "treadle_nodes 0.0" in leader.get("/metrics")[1], 60, "no node is known")
    for path in WEIGHTS:
        cluster.pods([pod(f"{path.replace('.', '-')}-{number}", path, path[5:], cpu="1", memory="64Mi") for number in range(60)])
    eventually(lambda: leader.metric('treadle_pods{state="waiting"}') == 60 * len(WEIGHTS), 60, "all of them wait")
    for name in names[40:]:
        soak.plane.api("POST", "/api/v1/nodes", fake_node(name, SMALL, "64Gi"))
    room = NODES * int(SMALL)
    eventually(lambda: len(history.bound()) == room, 120, "every core is given")
    had = Counter(one["metadata"]["labels"]["treadle.dev/queue"] for one in history.bound())
    for path, weight in WEIGHTS.items():
        assert abs(had[path] - room * weight / sum(WEIGHTS.values())) <= 1, had


def check_memory(soak: Soak) -> None:
    """After the first five minutes memory does not rise."""
    end = soak.memory[-1][0]
    if end < 900:
        return
    early = [kib for at, _, kib in soak.memory if 300 <= at < 600]
    late = [kib for at, _, kib in soak.memory if at >= end - 300]
    assert sum(late) / len(late) <= 1.1 * sum(early) / len(early)
