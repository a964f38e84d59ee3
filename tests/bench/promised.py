"""What reservations bring, on the trace: deadlines kept, how full the cluster is, and how long best effort waits; without reservations, with them, and with a part of the cluster kept for production.

``TREADLE_TRACE=FOLDER python tests/bench/run.py promised``. The last month of the trace is folded into two days as in ``eta``, on so many of its nodes that the work asks for ``LOAD`` of what they can do. Pods of the class BE are best effort, one by one. Of the
others those that ask for the same and come within the same half hour are a job, which comes with the first of them; half of the jobs, drawn, are production, and the rest is best effort too. The trace has no deadlines: that of a job of production is drawn, a multiple of its longest run time from
when it comes.
Where there are reservations each job asks for one when it comes, of its pods' run times and a tenth more. One that is refused runs beside best effort, below the same queue. Who is preempted begins anew.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections import Counter, deque
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from math import ceil
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from bench.eta import GPU, HOUR, Job, jobs, nodes
from core.clusters import QUICK, Cluster
from treadle.core.effects import Bind, Evict
from treadle.core.events import ApplicationSeen, PodGone, PodSeen, QueueSeen, ReservationSeen
from treadle.core.model import ApplicationSpec, QueueSpec
from treadle.core.model.capacity import Capacity, CapacityQueueSpec, Kind, PartitionShare, Portion
from treadle.core.model.reservations import NO_OVERCOMMIT, Asked, PlanSpec, ReservationSpec

if TYPE_CHECKING:
    from core.builders import Scenario

LOAD = 1.1
"""The work that comes, as a part of what the nodes can do meanwhile."""
SEED = 1
PART = 0.5
"""Of the jobs that are not best effort in the trace so many are production."""
SLACK = (1.5, 4.0)
"""A deadline is between so many times the longest run time away."""
LEAST_SLACK = 600.0
"""Seconds that there are at least beside the longest run time."""
TOGETHER = 1_800.0
TICK = 60.0
"""Seconds between two passes at least."""
LONGER, ROUND = 1.1, 300.0
"""What is reserved: so many times the run time, in whole multiples of so many seconds."""
SHARE = 45.0
"""Percent of the cluster that production is guaranteed, and that can be promised."""
FROM, UNTIL, STOP = 6 * HOUR, 36 * HOUR, 48 * HOUR
"""Between when jobs are counted that come, and use; and when it is over at the latest."""
PRODUCTION, BEST = "root.production", "root.best"
WAYS = ("plain", "reservations", "peak", "partition")
"""No reservations; with them; what production would use at its peak is guaranteed to it, and others may use what of it is idle; they may not."""


@dataclass(slots=True)
class Work:
    """A job of production with its pods, or a best-effort pod."""

    name: str
    comes: float
    pods: list[Job]
    deadline: float = 0.0
    production: bool = True
    accepted: bool = False
    ended: float = 0.0
    left: int = 0


@dataclass(slots=True)
class Counts:
    killed: Counter[str] = field(default_factory=Counter)
    lost: float = 0.0
    """Hours of runs that were cut off, of the largest part of the cluster that they had."""
    used: dict[str, float] = field(default_factory=dict)
    passes: int = 0


def works(all_jobs: list[Job]) -> list[Work]:
    """Return jobs and best-effort pods in the order in which they come."""
    rng, groups, found = random.Random(SEED), dict[tuple[str, int, str], Work](), list[Work]()
    for job in all_jobs:
        if job.pod.queue == "root.BE":
            found.append(Work(job.pod.name, job.comes, [job], production=False, left=1))
            continue
        kind = job.pod.name.split("-")[1]
        key = kind, int(job.comes // TOGETHER), job.pod.queue
        if key not in groups:
            groups[key] = Work(f"job-{kind}-{key[1]}-{job.pod.queue[5:].lower()}", job.comes, [])
            found.append(groups[key])
        groups[key].pods.append(job)
    for one in groups.values():
        one.production = rng.random() < PART
        longest = max(job.runs for job in one.pods)
        one.left = len(one.pods)
        one.deadline = one.comes + max(longest * rng.uniform(*SLACK), longest + LEAST_SLACK)
    return found


def scenario(way: str, peak: float) -> Scenario:
    """Return an empty cluster with the queues of a way to do it."""
    it = Cluster().capacity(preemption=replace(QUICK, interval=TICK))
    share = peak if way in {"peak", "partition"} else SHARE
    plan = PlanSpec(policy=NO_OVERCOMMIT) if way == "reservations" else None
    for path, percent in ((PRODUCTION, share), (BEST, 100.0 - share)):
        has = Capacity(Portion(Kind.PERCENT, percent))
        part = PartitionShare(has, has) if way == "partition" else PartitionShare(has)
        spec = CapacityQueueSpec(path, partitions={"": part}, user_limit_factor=-1.0)
        it.tell(QueueSeen(QueueSpec(path, capacity=spec, plan=plan if path == PRODUCTION else None)))
    return it


class Play:
    """The cluster lives through the trace."""

    def __init__(self, way: str, folder: Path) -> None:
        all_jobs = jobs(folder)
        machines = nodes(folder, [replace(job, runs=job.runs / LOAD) for job in all_jobs])
        self.has: Counter[str] = Counter()
        for node in machines:
            self.has.update(node.node.allocatable)
        self.work = works(all_jobs)
        self.nodes, self.way = len(machines), way
        self.peak, self.mean = self._production()
        self.core = scenario(way, self.peak).core
        self.core.validate = False
        for node in machines:
            self.core.handle(node, 0.0)
        self.by_uid: dict[str, tuple[Work, Job]] = {}
        self.running: dict[str, float] = {}
        self.ending: list[tuple[float, str]] = []
        self.counts = Counts(used=dict.fromkeys(self.has, 0.0))
        self.began: dict[str, float] = {}
        """How long best-effort pods waited until they began for the last time."""
        self.never = self.times = 0

    def _production(self) -> tuple[float, float]:
        """Return what production would use at its peak and on average if all of it began when it came, in percent of the type of which that is most."""
        peak = mean = 0.0
        for name in ("cpu", "memory", GPU):
            changes = sorted(
                change
                for one in self.work
                if one.production
                for job in one.pods
                for amount in [dict(job.pod.demand).get(name, 0)]
                for change in ((one.comes, amount), (one.comes + job.runs, -amount))
            )
            level, last, area, high = 0, 0.0, 0.0, 0
            for at, change in changes:
                if FROM <= at <= UNTIL:
                    area, high = area + level * (at - max(last, FROM)), max(high, level)
                level, last = level + change, at
            peak, mean = max(peak, 100 * high / self.has[name]), max(mean, 100 * area / (UNTIL - FROM) / self.has[name])
        return round(min(peak, 95.0), 1), round(mean, 1)

    def live(self) -> None:
        """Go on until all that is counted has ended or its deadline is over, and best effort has begun, until ``STOP`` at the latest."""
        coming = deque(self.work)
        open_ = {one.name: one for one in self.work if FROM <= one.comes < UNTIL}
        now = 0.0
        while open_ and (coming or self.ending) and now < STOP:
            for at, uid in self._due(now):
                one = self._ends(at, uid)
                if not one.left:
                    open_.pop(one.name, None)
            if now >= UNTIL:
                open_ = {name: one for name, one in open_.items() if not one.production or one.deadline > now}
            while coming and coming[0].comes <= now:
                self._comes(coming.popleft(), now)
            self._pass(now)
            following = [coming[0].comes] if coming else []
            following += [self.ending[0][0]] if self.ending else []
            timer = self.core.next_timer()
            following += [timer] if timer is not None else []
            then = max(now + TICK, ceil(min(following) / TICK) * TICK)
            now = then
        for one, job in self.by_uid.values():
            if not one.production and job.pod.name not in self.began and FROM <= one.comes < UNTIL:
                self.never += 1
                self.began[job.pod.name] = now - one.comes

    def _due(self, now: float) -> list[tuple[float, str]]:
        found = []
        while self.ending and self.ending[0][0] <= now:
            at, uid = heappop(self.ending)
            if uid in self.running:
                found.append((at, uid))
        return found

    def _comes(self, one: Work, now: float) -> None:
        if one.production and self.way == "reservations":
            one.accepted = self._reserve(one, now)
        queue = PRODUCTION if one.production else BEST
        application = f"ns/{one.name}"
        named = f"ns/{one.name}" if one.accepted else ""
        self.core.handle(ApplicationSeen(ApplicationSpec(application, queue, reservation=named, uid=one.name)), now)
        for job in one.pods:
            self._tell(one, job, job.pod.name, now)

    def _tell(self, one: Work, job: Job, uid: str, now: float) -> None:
        self.by_uid[uid] = one, job
        pod = replace(
            job.pod,
            uid=uid,
            name=uid,
            application=f"ns/{one.name}",
            queue=PRODUCTION if one.production else BEST,
            created=one.comes + 1.0,
        )
        self.core.handle(PodSeen(pod), now)

    def _reserve(self, one: Work, now: float) -> bool:
        """Ask for a reservation of a job, and return whether it is accepted."""
        wanted: Counter[tuple[int, tuple[tuple[str, int], ...]]] = Counter()
        for job in one.pods:
            demand = tuple((name, amount) for name, amount in job.pod.demand if name != "pods")
            wanted[round(ceil(job.runs * LONGER / ROUND) * ROUND * 1000), demand] += 1
        asked = tuple(Asked(demand, count, 1, duration) for (duration, demand), count in sorted(wanted.items(), reverse=True))
        spec = ReservationSpec(
            f"ns/{one.name}",
            1,
            PRODUCTION,
            round(now * 1000),
            round(one.deadline * 1000),
            asked,
            user=one.name,
            uid=one.name,
            created=round(now * 1000),
        )
        self.core.handle(ReservationSeen(spec), now)
        for _ in range(100):
            figures = self.core.view.reservation(spec.id)
            assert figures is not None
            if figures.decided is not None:
                return figures.decided.accepted
            self._pass(now)
        raise AssertionError(f"{spec.id}: {figures.reason} {figures.words}")

    def _pass(self, now: float) -> None:
        self.counts.passes += 1
        for effect in self.core.plan(now):
            if isinstance(effect, Bind):
                one, job = self.by_uid[effect.uid]
                self.running[effect.uid] = now
                heappush(self.ending, (now + job.runs, effect.uid))
                pod = self.core.state.pods[effect.uid].spec
                self.core.handle(PodSeen(replace(pod, node=effect.node, held_in=effect.queue, started=now)), now)
                if not one.production and FROM <= one.comes < UNTIL:
                    self.began[job.pod.name] = now - one.comes
            elif isinstance(effect, Evict):
                self._killed(effect.uid, now)

    def _killed(self, uid: str, now: float) -> None:
        """A pod has to go; its controller makes another one."""
        one, job = self.by_uid.pop(uid)
        since = self.running.pop(uid)
        self._use(job, since, now)
        self.counts.killed["production" if one.production else "best"] += 1
        part = max(amount / self.has[name] for name, amount in job.pod.demand if name != "pods")
        self.counts.lost += part * (now - since) / HOUR
        self.began.pop(job.pod.name, None)
        self.core.handle(PodGone(uid), now)
        self.times += 1
        self._tell(one, job, f"{job.pod.name}-{self.times}", now)

    def _ends(self, at: float, uid: str) -> Work:
        one, job = self.by_uid.pop(uid)
        self._use(job, self.running.pop(uid), at)
        one.left -= 1
        one.ended = max(one.ended, at)
        self.core.handle(PodGone(uid), at)
        return one

    def _use(self, job: Job, since: float, until: float) -> None:
        seconds = min(until, UNTIL) - max(since, FROM)
        if seconds > 0:
            for name, amount in job.pod.demand:
                self.counts.used[name] += amount * seconds

    def told(self) -> dict[str, Any]:
        """Return what came of it."""
        for uid, since in self.running.items():
            self._use(self.by_uid[uid][1], since, UNTIL)
        mine = [one for one in self.work if one.production and FROM <= one.comes < UNTIL]
        counted = [one for one in mine if not one.left or one.deadline <= STOP]
        waits = sorted(self.began.values())
        found: dict[str, Any] = {
            "jobs": len(counted),
            "jobs_not_over": len(mine) - len(counted),
            "kept": _kept(counted),
            "kept_of_work": _kept(counted, by_work=True),
            "production_percent": self.peak if self.way in {"peak", "partition"} else SHARE,
        }
        if self.way == "reservations":
            accepted = [one for one in counted if one.accepted]
            found["accepted"] = round(len(accepted) / len(counted), 4)
            found["accepted_of_work"] = round(sum(map(_work, accepted)) / sum(map(_work, counted)), 4)
            found["kept_of_accepted"] = _kept(accepted)
            found["kept_of_refused"] = _kept([one for one in counted if not one.accepted])
        found["used"] = {
            name: round(self.counts.used[name] / self.has[name] / (UNTIL - FROM), 4) for name in ("cpu", "memory", GPU)
        }
        found["best_effort_wait_minutes"] = {
            "median": round(median(waits) / 60, 1),
            "p90": round(waits[int(0.9 * len(waits))] / 60, 1),
            "mean": round(sum(waits) / len(waits) / 60, 1),
            "never_began": self.never,
        }
        found["killed"] = dict(sorted(self.counts.killed.items()))
        found["lost_cluster_hours"] = round(self.counts.lost, 2)
        return found


def _work(one: Work) -> float:
    return sum(job.runs for job in one.pods)


def _kept(counted: list[Work], *, by_work: bool = False) -> float:
    """Return the part of jobs, or of their pod hours, that ended by their deadlines."""
    worth = [(_work(one) if by_work else 1.0, not one.left and one.ended <= one.deadline) for one in counted]
    return round(sum(value for value, kept in worth if kept) / max(sum(value for value, _ in worth), 1e-9), 4)


def measure() -> dict[str, Any]:
    """Play the trace in each way; null without a trace."""
    folder = os.environ.get("TREADLE_TRACE", "")
    found: dict[str, Any] = {"benchmark": "promised", "load": LOAD, "seed": SEED}
    if not folder:
        return {**found, "ways": None}
    found["ways"] = {}
    for way in WAYS:
        began, play = time.perf_counter(), Play(way, Path(folder))
        play.live()
        assert play.core.state.discipline.name == "Capacity", play.core.state.discipline_problem
        found |= {"nodes": play.nodes, "production_peak": play.peak, "production_mean": play.mean}
        found["ways"][way] = play.told()
        took = time.perf_counter() - began
        print(way, f"{took:.0f} s, {play.counts.passes} passes", found["ways"][way], file=sys.stderr, flush=True)
    return found
