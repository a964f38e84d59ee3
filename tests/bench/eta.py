"""How good forecasts are, on the trace: what was told beside what then happened, and beside what two simple estimators would have said.

``TREADLE_TRACE=FOLDER python tests/bench/run.py eta``. The last month of the trace is folded into two days and comes to as many nodes as its work fills on average, so that queues build up and go
again. Every two hours from the twelfth on a forecast is made, with arrivals and without. Nothing of run times is declared. The simple ones: as long as the last 20 pods of the queue waited, in the median; and all work ahead,
by the mean run time of its queue, shared by all nodes.
"""

from __future__ import annotations

import csv
import os
import random
from collections import deque
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

from core.builders import a_node, a_pod
from core.clusters import Cluster
from treadle.core.effects import Bind
from treadle.core.events import NodeSeen, PodGone, PodSeen
from treadle.core.model import Settings
from treadle.forecast.arrivals import Arrived
from treadle.forecast.calibration import Calibration
from treadle.forecast.durations import Ended
from treadle.forecast.forward import Bounds, foreseen
from treadle.forecast.ranges import forecast

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.builders import Scenario
    from treadle.core.model import PodSpec
    from treadle.forecast.ranges import Range

HOUR = 3_600.0
FOLD = 48 * HOUR
BEGIN = 2_831 * HOUR
"""Where the busy month of the trace begins."""
LOAD = 1.0
"""The work that comes, as a part of what the nodes can do meanwhile."""
FIRST, EVERY = 12 * HOUR, 2 * HOUR
AFTER = 24 * HOUR
"""For how long pods go on to come after the last forecast: those of the beginning again."""
GPU = "gpu-milli"
SHARES = {"ls": "60%", "be": "30%", "burstable": "10%"}


@dataclass(frozen=True, slots=True)
class Job:
    pod: PodSpec
    comes: float
    runs: float


@dataclass(slots=True)
class Wait:
    """What was told of an application that waited, and what simple estimators said; seconds from then."""

    uid: str
    at: float
    start: Range | None
    end: Range | None
    recent: float | None
    ahead: float
    start_said: Range | None
    end_said: Range | None
    """The ranges of the futures, before they were stretched."""


@dataclass(slots=True)
class Played:
    waits: list[Wait] = field(default_factory=list)
    starts: dict[str, float] = field(default_factory=dict)
    ends: dict[str, float] = field(default_factory=dict)


def jobs(folder: Path) -> list[Job]:
    """The pods of the trace, each an application, called after what it asks for."""
    found = []
    kinds: dict[tuple[str, ...], str] = {}
    with (folder / "openb_pod_list_default.csv").open() as file:
        for row in csv.DictReader(file):
            comes = float(row["creation_time"]) - BEGIN
            if comes < 0 or not row["scheduled_time"]:
                continue
            queue = row["qos"].lower() if row["qos"].lower() in SHARES else "ls"
            kind = kinds.setdefault(
                (row["cpu_milli"], row["memory_mib"], row["num_gpu"], row["gpu_milli"]),
                "kind-" + chr(97 + len(kinds) % 26) + chr(97 + len(kinds) // 26 % 26) + chr(97 + len(kinds) // 676),
            )
            runs = min(24 * HOUR, max(1.0, float(row["deletion_time"]) - float(row["scheduled_time"])))
            demand = (
                ("cpu", int(row["cpu_milli"])),
                ("memory", int(row["memory_mib"]) << 20),
                ("pods", 1),
                *(((GPU, int(row["num_gpu"]) * int(row["gpu_milli"])),) if row["num_gpu"] != "0" else ()),
            )
            name = f"{kind}-{len(found)}"
            found.append(
                Job(
                    replace(a_pod(name, f"root.{queue}", name), demand=demand, created=comes % FOLD + 1.0),
                    comes % FOLD,
                    runs,
                )
            )
    again = [
        Job(
            replace(job.pod, uid=name, name=name, application=f"ns/{name}", created=job.pod.created + FOLD),
            job.comes + FOLD,
            job.runs,
        )
        for job in found
        if job.comes < AFTER
        for name in (f"{job.pod.name}-again-2",)
    ]
    return sorted([*found, *again], key=lambda job: job.comes)


def nodes(folder: Path, work: list[Job]) -> list[NodeSeen]:
    """As many nodes of the trace, in a drawn order, as the work fills to ``LOAD``."""
    with (folder / "openb_node_list_all_node.csv").open() as file:
        rows = list(csv.DictReader(file))
    random.Random(1).shuffle(rows)
    wanted: dict[str, float] = {}
    for job in work:
        for name, amount in job.pod.demand:
            wanted[name] = wanted.get(name, 0.0) + amount * job.runs / (FOLD + AFTER) / LOAD
    wanted.pop("pods")
    taken: list[NodeSeen] = []
    for row in rows:
        if all(amount <= 0 for amount in wanted.values()):
            break
        had = {"cpu": int(row["cpu_milli"]), "memory": int(row["memory_mib"]) << 20, GPU: int(row["gpu"]) * 1000}
        wanted = {name: amount - had.get(name, 0) for name, amount in wanted.items()}
        taken.append(NodeSeen(replace(a_node(row["sn"]), allocatable={**had, "pods": 110})))
    return taken


def fair() -> Scenario:
    scenario = Cluster()
    for name, share in SHARES.items():
        scenario.queue(f"root.{name}", weight=float(share[:-1]))
    return scenario


def capacity() -> Scenario:
    scenario = Cluster().capacity()
    for name, share in SHARES.items():
        scenario.share(f"root.{name}", share, user_limit_factor=-1)
    return scenario


class Play:
    """The cluster lives through the trace."""

    def __init__(self, scenario: Scenario, folder: Path, foreseeing: bool) -> None:
        self.core = scenario.core
        self.foreseeing = foreseeing
        """Whether what may arrive is foreseen."""
        self.core.validate = False
        self.work = jobs(folder)
        machines = nodes(folder, self.work)
        for node in machines:
            self.core.handle(node, 0.0)
        self.nodes = len(machines)
        self.has: dict[str, float] = {}
        for node in machines:
            for name, amount in node.node.allocatable.items():
                self.has[name] = self.has.get(name, 0.0) + amount
        self.by_uid = {job.pod.uid: job for job in self.work}
        self.done = Played()
        self.waiting: dict[str, Job] = {}
        self.running: dict[str, float] = {}
        self.ending: list[tuple[float, str]] = []
        self.ended = Ended()
        self.arrived = Arrived(0.0)
        self.calibrations = {"start": Calibration(), "end": Calibration()}
        self.said: dict[tuple[str, str], tuple[float, Range]] = {}
        """What the futures said first of a pod's start and end."""
        self.waited = {queue: deque[float](maxlen=20) for queue in SHARES}
        self.ran = {queue: deque[float](maxlen=200) for queue in SHARES}

    def live(self, look: Callable[[float], None]) -> Played:
        """Go on until everything has run, and look at each time at which a forecast is due."""
        coming = deque(self.work)
        due = FIRST
        while coming or self.waiting or self.ending:
            now = min([coming[0].comes] if coming else [], default=1e18)
            now = min(now, self.ending[0][0] if self.ending else 1e18, due if due < FOLD else 1e18)
            if now >= 1e18:
                break  # what is left fits nowhere
            while self.ending and self.ending[0][0] <= now:
                self._ends(*heappop(self.ending))
            while coming and coming[0].comes <= now:
                job = coming.popleft()
                self.waiting[job.pod.uid] = job
                self.core.handle(PodSeen(job.pod), now)
                self.arrived.note(job.pod)
            self._starts(now)
            if now >= due:
                look(now)
                due += EVERY
        return self.done

    def _starts(self, now: float) -> None:
        for bind in [one for one in self.core.plan(now) if isinstance(one, Bind)]:
            job = self.waiting.pop(bind.uid)
            queue = job.pod.queue.removeprefix("root.")
            self.done.starts[bind.uid] = self.running[bind.uid] = now
            self._judge("start", bind.uid, now)
            self.waited[queue].append(now - job.comes)
            heappush(self.ending, (now + job.runs, bind.uid))
            self.core.handle(PodSeen(replace(job.pod, node=bind.node, held_in=bind.queue, started=now)), now)

    def _ends(self, at: float, uid: str) -> None:
        job = self.by_uid[uid]
        del self.running[uid]
        self.done.ends[uid] = at
        self._judge("end", uid, at)
        self.ended.note(job.pod.application, job.pod.queue, job.runs, 0.0, at)
        self.ran[job.pod.queue.removeprefix("root.")].append(job.runs)
        self.core.handle(PodGone(uid), at)

    def _judge(self, what: str, uid: str, now: float) -> None:
        if (said := self.said.pop((what, uid), None)) is not None:
            self.calibrations[what].note(*said, now)

    def look(self, now: float) -> None:
        """Forecast, and let the simple ones say what they would."""
        if not self.waiting:
            return
        self.arrived.forget(now)
        found = forecast(
            list(foreseen(self.core.facts())),
            Settings(),
            now,
            self.ended,
            Bounds(),
            arrived=self.arrived if self.foreseeing else None,
        )
        ahead = self._under_way(now)
        for uid, job in sorted(self.waiting.items(), key=lambda item: item[1].comes):
            told = found.applications.get(job.pod.application)
            queue = job.pod.queue.removeprefix("root.")
            recent = max(0.0, job.comes + median(self.waited[queue]) - now) if self.waited[queue] else None
            first, last = (None, None) if told is None else (told.first, told.end)
            for what, said in (("start", first), ("end", last)):
                if said is not None:
                    self.said.setdefault((what, uid), (now, said))
            starts, ends = self.calibrations["start"].told(now, first), self.calibrations["end"].told(now, last)
            self.done.waits.append(Wait(uid, now, starts, ends, recent, ahead, first, last))
            ahead += self._share(job.pod) * (fmean(self.ran[queue]) if self.ran[queue] else 0.0)

    def _under_way(self, now: float) -> float:
        total = 0.0
        for uid, since in self.running.items():
            pod = self.by_uid[uid].pod
            mean = fmean(self.ran[pod.queue.removeprefix("root.")] or [0.0])
            total += self._share(pod) * max(0.0, mean - (now - since))
        return total

    def _share(self, pod: PodSpec) -> float:
        return max(amount / self.has[name] for name, amount in pod.demand if name != "pods")


def compared(played: Played, waits: list[Wait]) -> dict[str, Any]:
    """Errors in minutes and the share inside the 80% range."""
    errors: dict[str, list[float]] = {"forecast": [], "recent_waits": [], "work_ahead": []}
    inside: dict[str, list[str]] = {"start": [], "start_as_futures_say": [], "end": [], "end_as_futures_say": []}
    for wait in waits:
        started = played.starts.get(wait.uid)
        if started is None or wait.start is None:
            continue
        middle = wait.start.median
        errors["forecast"].append(abs(started - middle) if middle is not None else 24 * HOUR)
        if wait.recent is not None:
            errors["recent_waits"].append(abs(started - wait.at - wait.recent))
        errors["work_ahead"].append(abs(started - wait.at - wait.ahead))
        assert wait.start_said is not None
        inside["start"].append(_where(wait.start, started, wait.at))
        inside["start_as_futures_say"].append(_where(wait.start_said, started, wait.at))
        if wait.end is not None and wait.end_said is not None and wait.uid in played.ends:
            inside["end"].append(_where(wait.end, played.ends[wait.uid], wait.at))
            inside["end_as_futures_say"].append(_where(wait.end_said, played.ends[wait.uid], wait.at))
    found: dict[str, Any] = {"forecasts": len(waits)}
    for name, values in errors.items():
        values.sort()
        found[name] = {"median": round(median(values) / 60, 2), "p90": round(values[int(0.9 * len(values))] / 60, 1)}
    for name, places in inside.items():
        found[name] = {where: round(places.count(where) / len(places), 3) for where in ("before", "inside", "after")}
    return found


def _where(told: Range, at: float, when: float) -> str:
    slack = max(5.0, 0.02 * (at - when))
    if told.earliest is None or at < told.earliest - slack:
        return "before"
    return "inside" if told.latest is None or at <= told.latest + slack else "after"


def measure() -> dict[str, Any]:
    """Play the trace under both disciplines, with arrivals foreseen and without."""
    folder = Path(os.environ["TREADLE_TRACE"])
    found: dict[str, Any] = {"benchmark": "eta", "load": LOAD}
    for name, scenario in (("Fair", fair), ("Capacity", capacity)):
        for way, foreseeing in (("with_arrivals", True), ("without_arrivals", False)):
            play = Play(scenario(), folder, foreseeing)
            played = play.live(play.look)
            assert play.core.state.discipline.name == name, play.core.state.discipline_problem
            first = list({wait.uid: wait for wait in reversed(played.waits)}.values())
            found |= {"nodes": play.nodes, "pods": len(play.work)}
            found[f"{name}_{way}"] = {"first": compared(played, first), "all": compared(played, played.waits)}
    return found
