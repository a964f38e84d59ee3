"""Two replicas that are killed, stopped and cut off at random while pods come and end, judged by watches of pods, nodes and the lease.

By hand: ``make replicas``; ``TREADLE_REPLICAS_SECONDS`` (600) says for how long, ``TREADLE_REPLICAS_SEED`` (1) with which
faults, ``TREADLE_REPLICAS_PODS`` (5000) how many pods come in that time, ``TREADLE_REPLICAS_DISCIPLINE`` (Fair) under which discipline.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from cluster.faulty_proxy import FaultyProxy, Forward, hung, mistaken, refused
from cluster.pair import BINDING, LEASE, Pair
from cluster.terms import Terms, judge
from cluster.treadle_process import Cluster, capacity_queue, eventually, overfull_nodes, pod, queue

WEIGHTS = {"root.a": 1, "root.b": 2, "root.c": 3, "root.d": 4}
SPACES = ("default", "team-1", "team-2", "team-3")
CPUS, MEMORIES = ("250m", "500m", "1", "2"), ("64Mi", "256Mi", "1Gi", "3Gi")
LIVES, ENDLESS = (12, 60), 50
"""Seconds for which a pod runs, and one in how many never ends."""
NODES = 200
PAUSES = (5.0, 10.0)
"""Seconds between two faults."""
LENGTHS = (0.6, 3.0, 6.0, 9.0, 15.0, 21.0, 30.0)
"""Seconds that a fault lasts: less and more than the 11 of the lease. Who is killed is started again after a third of it."""
SENDING = 1.5
"""Seconds for which whose binds are held up still announces and sends some."""
CALM = 300.0
"""Seconds after the last fault in which every pod is bound."""


class Chaos:
    """Faults of a seeded plan for two instances, and what puts them right again."""

    def __init__(self, pair: Pair, seed: int) -> None:
        self.pair, self.random = pair, random.Random(seed)
        self.faults: Counter[str] = Counter()
        self._later: list[tuple[float, str, Callable[[], Any]]] = []
        """When what is put right, and how."""
        self._kinds: list[tuple[str, Callable[[int], Callable[[], Any]]]] = [
            ("kill", self._kill), ("stop", self._stop), ("refuse", self._refuse), ("hang", self._hang), ("lose answers", self._lose),
            ("strand binds", self._strand),
        ]  # fmt: skip

    def one_fault(self) -> None:
        """Do the next fault of the plan, to both instances in one of six cases; one that lasts is not begun again meanwhile."""
        name, begin = self.random.choice(self._kinds)
        which = self.random.choice([(0,), (1,)] * 5 + [(0, 1)] * 2)
        part = "process" if name in {"kill", "stop"} else "network"
        seconds = self.random.choice(LENGTHS)
        for instance in which:
            key = f"{part} {instance}"
            if all(key != busy for _, busy, _ in self._later):
                self.faults[name] += 1
                end = begin(instance)
                self._later.append((time.monotonic() + (seconds if name != "kill" else seconds / 3), key, end))

    def ended(self) -> list[int]:
        """Return the instances that do not run although nobody killed them."""
        killed = {key for _, key, _ in self._later}
        processes = [treadle.process for treadle in self.pair.treadles]
        return [
            which
            for which, process in enumerate(processes)
            if process is not None and process.poll() is not None and f"process {which}" not in killed
        ]

    def put_right(self, *, all_of_it: bool = False) -> None:
        now = time.monotonic()
        due = [end for at, _, end in self._later if all_of_it or at <= now]
        self._later = [] if all_of_it else [one for one in self._later if one[0] > now]
        for end in due:
            end()

    def _kill(self, which: int) -> Callable[[], Any]:
        self.pair.treadles[which].kill()
        return lambda: self.pair.start(which)

    def _stop(self, which: int) -> Callable[[], Any]:
        self.pair.signal(which, signal.SIGSTOP)
        return lambda: self.pair.signal(which, signal.SIGCONT)

    def _refuse(self, which: int) -> Callable[[], Any]:
        proxy = self.pair.proxies[which]
        proxy.everything = refused(503)
        proxy.flowing.clear()
        return lambda: self._connect(proxy)

    def _hang(self, which: int) -> Callable[[], Any]:
        """What is sent meanwhile arrives at the end, whether or not its sender still lives or leads."""
        proxy, release = self.pair.proxies[which], threading.Event()
        proxy.everything = hung(release)
        proxy.flowing.clear()
        return lambda: (self._connect(proxy), release.set())

    def _lose(self, which: int) -> Callable[[], Any]:
        """What is sent is carried out, and no answer, or that of a gateway, comes back."""
        proxy = self.pair.proxies[which]
        proxy.everything = mistaken(self.random.choice([0, 504]))
        return lambda: self._connect(proxy)

    def _strand(self, which: int) -> Callable[[], Any]:
        """Binds are held up until the end, and soon the lease cannot be renewed: another leads before they arrive, where it lasts."""
        proxy, release, since = self.pair.proxies[which], threading.Event(), time.monotonic() + SENDING
        hold, refuse = hung(release), refused(503)

        async def held(request: web.Request, forward: Forward) -> web.Response | None:
            return None if release.is_set() else await hold(request, forward)

        async def lost(request: web.Request, forward: Forward) -> web.Response | None:
            return None if release.is_set() or time.monotonic() < since else await refuse(request, forward)

        proxy.fault("POST", BINDING, held)
        proxy.fault("PUT", LEASE, lost)
        proxy.fault("GET", LEASE, lost)
        return release.set

    @staticmethod
    def _connect(proxy: FaultyProxy) -> None:
        proxy.everything = None
        proxy.flowing.set()


def stream(seed: int, count: int) -> Iterator[dict[str, Any]]:
    """Pods of different shapes, users, queues and lives."""
    chance = random.Random(seed)
    for number in range(count):
        one = pod(f"p-{number}", chance.choice(list(WEIGHTS)), f"app-{number // 7}", chance.choice(CPUS), chance.choice(MEMORIES))
        one["metadata"]["namespace"] = chance.choice(SPACES)
        if number % ENDLESS:
            life = f"{chance.randint(*LIVES)}s"
            one["metadata"]["annotations"] = {"pod-complete.stage.kwok.x-k8s.io/delay": life}
        yield one


def taken(pair: Pair) -> dict[str, list[str]]:
    """Whose binds the server answered with 201, by the pod as ``namespace/name``."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for proxy in pair.proxies:
        for (method, path, status), sender in zip(list(proxy.seen), list(proxy.senders), strict=False):
            if method == "POST" and path.endswith(BINDING) and status == 201:
                parts = path.split("/")
                found[f"{parts[4]}/{parts[6]}"].append(sender)
    return found


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_two_replicas_that_fail_at_random_bind_each_pod_once_and_in_their_term(
    fresh_cluster: Callable[..., Cluster], tmp_path: Path
) -> None:
    seconds, seed = float(os.environ.get("TREADLE_REPLICAS_SECONDS", "600")), int(os.environ.get("TREADLE_REPLICAS_SEED", "1"))
    count = int(os.environ.get("TREADLE_REPLICAS_PODS", "5000"))
    cluster = fresh_cluster(NODES, "2500m", "4Gi")
    plane = cluster.plane
    plane.start_kwok()
    for space in SPACES:
        plane.create_namespace(space)
    discipline = os.environ.get("TREADLE_REPLICAS_DISCIPLINE", "Fair")
    scheduler = {"apiVersion": "treadle.dev/v1alpha1", "kind": "Scheduler", "metadata": {"name": "treadle"}}
    assert plane.api("POST", "/apis/treadle.dev/v1alpha1/schedulers", {**scheduler, "spec": {"discipline": discipline}})[0] == 201
    if discipline == "Capacity":
        cluster.queues(*(capacity_queue(path, f"{weight * 10}%", "100%") for path, weight in WEIGHTS.items()))
    else:
        cluster.queues(*(queue(path, weight=str(weight)) for path, weight in WEIGHTS.items()))
    with ExitStack() as stack:
        terms = stack.enter_context(Terms(plane))
        pair = stack.enter_context(Pair(cluster, lambda name: stack.enter_context(FaultyProxy(plane, tmp_path, name)), tmp_path))
        chaos = Chaos(pair, seed)
        stack.callback(chaos.put_right, all_of_it=True)  # what hangs would keep the proxies from ending
        began = time.monotonic()
        pods, made, fault_at = stream(seed, count), 0, began + 1
        while (now := time.monotonic()) < began + seconds or made < count:
            chaos.put_right()
            if now >= fault_at and now < began + seconds:
                chaos.one_fault()
                fault_at = now + chaos.random.uniform(*PAUSES)
            due = min(count, int(count * (now - began) / seconds) + 1)
            while made < due:
                one = next(pods)
                status, answer = plane.api("POST", f"/api/v1/namespaces/{one['metadata']['namespace']}/pods", one)
                assert status == 201, answer
                made += 1
            assert (terms.wrong, chaos.ended()) == ([], [])
            time.sleep(0.1)
        chaos.put_right(all_of_it=True)
        calm = time.monotonic()
        with contextlib.ExitStack() as reporting:
            reporting.callback(lambda: report(pair, chaos, terms, made, time.monotonic() - calm))
            eventually(lambda: terms.binds >= count, CALM, "every pod is bound once the faults are over")
    verdict = judge(terms.told, terms.bound_pods, taken(pair))
    there = plane.api("GET", "/api/v1/nodes")[1]["items"]
    assert (terms.wrong, verdict.wrong, terms.gone, overfull_nodes(terms.bound(), there)) == ([], [], [], [])
    assert (terms.binds, len(cluster.all_pods()), len(cluster.bound())) == (count, count, count)
    assert terms.lists == {"nodes": 1, "pods": 1, "leases": 1}, "nothing was missed"
    assert terms.takeovers


def report(pair: Pair, chaos: Chaos, terms: Terms, pods: int, calm: float) -> None:
    """Print what happened as a line of JSON."""
    verdict = judge(terms.told, terms.bound_pods, taken(pair))
    binds = Counter(
        status
        for proxy in pair.proxies
        for method, path, status in list(proxy.seen)
        if method == "POST" and path.endswith(BINDING)
    )
    words = {
        "discipline": pair.cluster.get("schedulers", "treadle")["status"].get("discipline"), "pods": pods, "binds": terms.binds, "answers to binds": binds, "faults": dict(chaos.faults), "takeovers": terms.takeovers,
        "longest gap": round(terms.longest_gap, 1), "late": verdict.late, "wrong": [*terms.wrong, *verdict.wrong][:10],
        "deleted": len(terms.gone), "seconds to the last bind": round(calm, 1), "lists": terms.lists,
        "tracebacks": sum(one.log.read_text(errors="replace").count("Traceback") for one in pair.treadles),
    }  # fmt: skip
    print(json.dumps(words))
