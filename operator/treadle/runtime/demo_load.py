"""What is submitted to the demo's cluster: generated for the classic organisation, replayed for the trace.

Times are seconds of the demo: real ones times its speed. The sequence of what is submitted to a queue is a function of the seed.
"""

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Protocol

from treadle.api.labels import APPLICATION, QUEUE, SCHEDULER_NAME
from treadle.core.units.resources import amount
from treadle.fakeapi.objects import Objects
from treadle.fakeapi.ticker import RUN_SECONDS
from treadle.runtime import demo_examples as examples
from treadle.runtime.demo_examples import EXAMPLE, Json, Templates, requests
from treadle.runtime.demo_operators import (
    EXECUTOR_CPU,
    EXECUTOR_MEMORY,
    EXECUTOR_SECONDS,
    EXECUTORS,
    Pods,
    finished,
)

CLASSIC_NODES, NODE_CPU, NODE_MEMORY = 12, 16, "64Gi"
ROUND = 130.0
"""Seconds of one round of the classic demo; in its second half production rests and development borrows up to its maximum."""
TRACE_ROUND = 60.0
TRACE_SLOWER = 60.0
TRACE_SHORTEST, TRACE_LONGEST = 4.0, 120.0
TRACE_BACKLOG = 1000
"""No further arrivals while so many pods wait, so that a demo left alone does not grow for ever."""

_WORDS = ("billing", "clicks", "churn", "ranking", "ledger", "fraud", "search", "basket", "audit", "maps", "crawl", "backtest")


class Load(Protocol):
    """Something that submits; ``step`` is called again and again."""

    def step(self, pods: Pods, now: float) -> None:
        """Submit what is due."""


@dataclass(slots=True)
class Stream:
    """What keeps one queue busy: submits while the cpu (milli) of its unfinished work is below ``target`` of the moment.

    ``make`` submits one piece of work of the given number and returns its last pod's or its Job's (kind, name) and its cpu.
    """

    queue: str
    target: Callable[[float], float]
    make: Callable[["random.Random", str, int], tuple[str, str, int]]
    choice: random.Random
    live: dict[tuple[str, str], int] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=lambda: count(1))


class ClassicLoad:
    """Keeps ``root.prod``, ``root.dev.eng`` and ``root.dev.science`` over-full, with a rest for production now and then."""

    def __init__(self, api: Objects, templates: Templates, seed: int) -> None:
        self._api, self._templates, self._seed = api, templates, seed
        total = CLASSIC_NODES * NODE_CPU * 1000
        self._streams = [
            self._stream("root.prod", lambda now: 0 if 55 <= now % ROUND < 95 else 0.65 * total, self._spark),
            self._stream("root.dev.eng", lambda _: 0.75 * total, self._spark),
            self._stream("root.dev.science", lambda _: 0.75 * total, self._jobs),
            self._stream("root.default", lambda _: 2000, self._single),
        ]
        self._impossible()

    def _stream(
        self, queue: str, target: Callable[[float], float], make: Callable[[random.Random, str, int], tuple[str, str, int]]
    ) -> Stream:
        return Stream(queue, target, make, random.Random(f"{self._seed}/{queue}"))  # noqa: S311 - a demo, not a secret

    def step(self, pods: Pods, now: float) -> None:
        """Submit until every queue has as much unfinished work as it should."""
        jobs = {job["metadata"]["name"]: job for job in self._api.list("jobs")}
        for stream in self._streams:
            for kind, name in [key for key in stream.live if self._over(key, pods, jobs)]:
                del stream.live[kind, name]
            left = stream.target(now) - sum(stream.live.values())
            while left > 0:
                kind, name, cpu = stream.make(stream.choice, stream.queue, next(stream.numbers))
                stream.live[kind, name] = cpu
                left -= cpu

    @staticmethod
    def _over(key: tuple[str, str], pods: Pods, jobs: Mapping[str, Json]) -> bool:
        if key[0] == "pods":
            return finished(pods.get(("default", key[1])))
        return key[1] not in jobs or bool((jobs[key[1]].get("status") or {}).get("completionTime"))

    def _spark(self, choice: random.Random, queue: str, number: int) -> tuple[str, str, int]:
        """An Application object and its driver; the executors are left to the Spark operator."""
        word = f"{choice.choice(_WORDS)}-{queue.rpartition('.')[2]}-{number}"
        executors, seconds = choice.randint(3, 9), choice.randint(8, 20)
        cpu, memory = choice.choice(((2, "4Gi"), (2, "4Gi"), (2, "12Gi"), (1, "8Gi"), (4, "8Gi")))
        application = self._templates.application()
        application["metadata"] |= {"name": word, "labels": {EXAMPLE: "classic"}}
        application["spec"] |= {"queue": queue, "priority": 0}
        self._api.create("applications.treadle.dev", application)
        driver = self._templates.driver()
        driver["metadata"] = {
            "name": f"{word}-driver",
            "labels": driver["metadata"]["labels"]
            | {APPLICATION: word, QUEUE: queue, "spark-app-selector": f"spark-{word}", EXAMPLE: "classic"},
            "annotations": {
                EXECUTORS: str(executors),
                EXECUTOR_SECONDS: str(seconds),
                EXECUTOR_CPU: str(cpu),
                EXECUTOR_MEMORY: memory,
            },
        }
        self._api.create("pods", driver)
        return "pods", f"{word}-driver", cpu * 1000 * executors + amount("cpu", requests(driver["spec"])["cpu"])

    def _jobs(self, choice: random.Random, queue: str, number: int) -> tuple[str, str, int]:
        """A Job whose pods are one application."""
        job = self._templates.job()
        word = f"{choice.choice(_WORDS)}-{number}"
        completions, parallelism = choice.randint(12, 30), choice.randint(6, 12)
        job["metadata"] = {"name": word, "labels": {EXAMPLE: "classic"}}
        job["spec"] |= {"completions": completions, "parallelism": parallelism}
        template = job["spec"]["template"]
        template["metadata"]["labels"][QUEUE] = queue
        template["metadata"]["annotations"] = {RUN_SECONDS: str(choice.randint(5, 14))}
        asked = requests(template["spec"])
        asked["cpu"], asked["memory"] = choice.choice((("1", "2Gi"), ("1", "1Gi"), ("2", "6Gi")))
        self._api.create("jobs", job)
        return "jobs", word, amount("cpu", asked["cpu"]) * parallelism

    def _single(self, choice: random.Random, _: str, number: int) -> tuple[str, str, int]:
        """A single pod that names no queue."""
        name = f"hello-{number}"
        pod = self._templates.pod()
        pod["metadata"] = {
            "name": name,
            "labels": {EXAMPLE: "classic"},
            "annotations": {RUN_SECONDS: str(choice.randint(6, 12))},
        }
        requests(pod["spec"])["cpu"] = "500m"
        self._api.create("pods", pod)
        return "pods", name, 500

    def _impossible(self) -> None:
        """Two pods that no node can take, since why a pod waits is worth seeing."""
        for name, cpu, selector in (("too-big", "24", {}), ("needs-ssd", "1", {"disk": "ssd"})):
            pod = self._templates.pod()
            pod["metadata"] = {"name": name, "labels": {QUEUE: "root.dev.eng", EXAMPLE: "classic"}}
            pod["spec"] |= {"nodeSelector": selector} if selector else {}
            requests(pod["spec"])["cpu"] = cpu
            self._api.create("pods", pod)


class TraceLoad:
    """Replays the slice of the trace, again and again; how times are scaled is written in ``examples/trace/README.md``."""

    def __init__(self, api: Objects, templates: Templates) -> None:
        self._api, self._templates = api, templates
        rows = examples.trace_pods()
        self._first = int(rows[0]["creation_time"])
        self._span = max(1, int(rows[-1]["creation_time"]) - self._first)
        self._rows, self._next, self._begun, self._round = rows, 0, 0.0, 1

    def step(self, pods: Pods, now: float) -> None:
        """Submit the arrivals that are due, unless too many pods wait already."""
        waiting = sum(not pod["spec"].get("nodeName") and not finished(pod) for pod in pods.values())
        while self._due() <= now:
            if waiting >= TRACE_BACKLOG:
                self._begun += now - self._due() + 0.001  # the rest of the trace comes so much later
                return
            self._api.create("pods", self._pod(self._rows[self._next]))
            self._next += 1
            waiting += 1
            if self._next == len(self._rows):
                self._next, self._begun, self._round = 0, now, self._round + 1

    def _due(self) -> float:
        offset = int(self._rows[self._next]["creation_time"]) - self._first
        return self._begun + offset / self._span * TRACE_ROUND

    def _pod(self, row: Mapping[str, str]) -> Json:
        asked: dict[str, Any] = {"cpu": f"{row['cpu_milli']}m", "memory": f"{row['memory_mib']}Mi"}
        asked |= {examples.GPU: row["num_gpu"]} if row["num_gpu"] != "0" else {}
        lived = (int(row["deletion_time"]) - int(row["creation_time"])) / TRACE_SLOWER
        name = row["name"] if self._round == 1 else f"{row['name']}-{self._round}"
        pod = self._templates.pod()
        pod["metadata"] = {
            "name": name,
            "labels": {QUEUE: f"root.{row['qos'].lower()}", EXAMPLE: "trace"},
            "annotations": {RUN_SECONDS: f"{min(TRACE_LONGEST, max(TRACE_SHORTEST, lived)):.1f}"},
        }
        pod["spec"]["schedulerName"] = SCHEDULER_NAME
        pod["spec"]["containers"][0]["resources"] = {"requests": asked, "limits": {k: v for k, v in asked.items() if "/" in k}}
        if row["gpu_spec"]:
            models = sorted(set(row["gpu_spec"].split("|")))
            term = {"matchExpressions": [{"key": examples.GPU_MODEL, "operator": "In", "values": models}]}
            pod["spec"]["affinity"] = {
                "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
            }
        return pod
