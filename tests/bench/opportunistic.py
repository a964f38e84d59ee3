"""What opportunistic pods cost guaranteed ones, on a real API server: the rate of their binds, and the processor that sampling takes.

1,000 nodes are sampled through ``metrics.k8s.io`` every 10 seconds, and 20,000 opportunistic pods run on them; compared is the same cluster without such pods, where room
goes by requests. Rates are from the first bind to the last. Sampling is the processor time of the process at rest, when all is bound, less that of the other cluster.
"""

import re
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from bench.cluster import PYTHON, cpu_of, plane_port, prepared, scraped, watched
from cluster.control_plane import ControlPlane
from cluster.idle_pods import idle
from cluster.node_metrics import NodeMetrics
from treadle.core import Core
from treadle.core.effects import Bind
from treadle.core.events import BindDone, NodeSampled, NodeSeen, PodSeen, QueueSeen, SchedulerSeen
from treadle.core.model import NodeSpec, PodSpec, QueueSpec, SchedulerSpec
from treadle.core.model.opportunistic import METRICS, NodePolicy, OpportunisticSettings, Threshold

NODES, IDLE, PODS_PLACED = 1_000, 20_000, 10_000
ROUNDS = 4
REST = 40.0
"""Seconds at rest in which the processor time is taken: four samples of each node."""
SCHEDULER = "/apis/treadle.dev/v1alpha1/schedulers/treadle"
MERGE = "application/merge-patch+json"
PODS = "/api/v1/namespaces/default/pods"
SERIES = 'treadle_opportunistic_pods{state="running"}'


def settings() -> dict[str, Any]:
    """Thresholds that nothing is above."""
    limits = {"allocationPercent": 65, "preemptionPercent": 85}
    return {"spec": {"opportunistic": {"usage": {"source": "Metrics"}, "thresholds": {"cpu": limits, "memory": limits}}}}


def filled(plane: ControlPlane, metrics: NodeMetrics) -> None:
    """Let opportunistic pods run on all nodes, which use a third of what they have."""
    assert plane.api("PATCH", SCHEDULER, settings(), content_type=MERGE)[0] == 200
    nodes = [f"node-{number:05d}" for number in range(NODES)]
    pods = []
    for number in range(IDLE):
        one = idle(f"idle-{number}", f"root.q{number % 5}", cpu="500m", memory="1Gi")
        one["metadata"]["labels"]["treadle.dev/application"] = f"idle-{number % 100}"
        one["spec"]["nodeName"] = nodes[number % NODES]
        pods.append(one)
    plane.create_many(PODS, pods)
    for node in nodes:
        metrics.uses(node, cpu=10.0, memory=40 << 30)


def run(*, with_idle: bool) -> dict[str, Any]:
    """Bind the guaranteed pods, then be at rest for a while."""
    with ExitStack() as ends:
        plane = ends.enter_context(prepared("treadle"))
        if with_idle:
            filled(plane, ends.enter_context(NodeMetrics(plane)))
        port = plane_port()
        page = f"http://127.0.0.1:{port}/metrics"
        command = [PYTHON, "-m", "treadle", "run", "--kubeconfig", str(plane.kubeconfig), "--listen", f"127.0.0.1:{port}"]
        command += ["--probes-listen", "", "--anonymous-metrics"]
        started = time.perf_counter()
        process = ends.enter_context(subprocess.Popen([*command, "--log-level", "warning"]))
        ends.callback(process.terminate)
        found = watched(process.pid, scraped(page, r'^treadle_binds_total\{result="bound"\} (\S+)'), started)
        time.sleep(10)  # the events of the last pods
        before = cpu_of(process.pid)
        time.sleep(REST)
        found["at_rest"] = (cpu_of(process.pid) - before) / REST
        found["idle"] = scraped(page, f"^{re.escape(SERIES)} (\\S+)")()
        print(found, file=sys.stderr, flush=True)
        return found


def core_seconds(*, with_idle: bool) -> float:
    """Return the processor time in which the core alone places the guaranteed pods, a sample of each node every 1,000 of them: a rate of 100 a second."""
    core, size = Core(), {"cpu": 32_000, "memory": 128 << 30, "pods": 110}
    policy = NodePolicy((("cpu", Threshold(650, 850)), ("memory", Threshold(650, 850))))
    chosen = OpportunisticSettings(source=METRICS, policy=policy) if with_idle else OpportunisticSettings()
    core.handle(SchedulerSeen(SchedulerSpec(opportunistic=chosen)), 0.0)
    for number in range(5):
        core.handle(QueueSeen(QueueSpec(f"root.q{number}")), 0.0)
    for number in range(NODES):
        core.handle(NodeSeen(NodeSpec(f"node-{number}", size)), 0.0)
    given = (("cpu", 500), ("memory", 1 << 30))
    for number in range(IDLE if with_idle else 0):
        here = {"node": f"node-{number % NODES}", "opportunistic": given, "demand": (("pods", 1),)}
        core.handle(PodSeen(_spec(f"idle-{number}", f"idle-{number % 100}", number % 5, **here)), 0.0)
    core.plan(1.0, 1)
    for number in range(PODS_PLACED):
        demand = (("cpu", 1000), ("memory", 2 << 30), ("pods", 1))
        core.handle(PodSeen(_spec(f"pod-{number}", f"app-{number % 25}", number % 5, demand=demand)), 1.0)
    placed, now, before = 0, 1.0, time.process_time()
    while placed < PODS_PLACED:
        if with_idle and placed % 1000 == 0:
            for number in range(NODES):
                core.handle(NodeSampled(f"node-{number}", (("cpu", 10_000), ("memory", 40 << 30)), now, 10.0), now)
        found = [effect for effect in core.plan(now, 100) if isinstance(effect, Bind)]
        placed += len(found)
        now += 1.0
        for bind in found:
            core.handle(BindDone(bind.uid), now)
            core.handle(PodSeen(replace(core.state.pods[bind.uid].spec, node=bind.node)), now)
    return time.process_time() - before


def _spec(uid: str, application: str, queue: int, **fields: Any) -> PodSpec:
    return PodSpec(
        uid=uid,
        namespace="default",
        name=uid,
        scheduler="treadle",
        application=f"default/{application}",
        queue=f"root.q{queue}",
        **fields,
    )


def measure() -> dict[str, Any]:
    """Both clusters in turned order, since the speed of a shared machine drifts."""
    found: dict[bool, list[dict[str, Any]]] = {False: [], True: []}
    for with_idle in (False, True, True, False) * (ROUNDS // 2):
        found[with_idle].append(run(with_idle=with_idle))
    return report(found[False], found[True])


def report(without: list[dict[str, Any]], beside: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the figures of both, and their ratios."""

    def mean(rounds: list[dict[str, Any]], name: str) -> float:
        return sum(one[name] for one in rounds) / len(rounds)

    return {
        "benchmark": "opportunistic",
        "nodes": NODES,
        "opportunistic_pods": round(min(one["idle"] for one in beside)),
        "bound": min(one["bound"] for one in (*without, *beside)),
        "without_per_s": [round(one["per_s"]) for one in without],
        "beside_per_s": [round(one["per_s"]) for one in beside],
        "ratio": round(mean(beside, "per_s") / mean(without, "per_s"), 3),
        "without_cpu_ms_a_bind": [round(one["cpu_ms_a_bind"], 3) for one in without],
        "beside_cpu_ms_a_bind": [round(one["cpu_ms_a_bind"], 3) for one in beside],
        "cpu_ratio": round(mean(beside, "cpu_ms_a_bind") / mean(without, "cpu_ms_a_bind"), 3),
        "core_cpu_ratio": round(
            min(core_seconds(with_idle=True) for _ in range(3)) / min(core_seconds(with_idle=False) for _ in range(3)), 3
        ),
        "sampling_percent_of_a_core": round(100 * (mean(beside, "at_rest") - mean(without, "at_rest")), 1),
        "at_rest_percent_of_a_core": round(100 * mean(beside, "at_rest"), 1),
    }
