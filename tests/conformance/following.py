"""Cases of a plan's follower: which queues are below the plan's queue, what each has of it, and where applications go.

What Hadoop calls the plan is an input, as the case tells it: under its CapacityScheduler that is the full path, so it makes a default queue of an odd name beside the
configured one. Guarantees and fair shares of the queues are the schedulers', which other suites play; here they are those of the plan's own queue alone.
"""

from __future__ import annotations

import re
from typing import Any

from treadle.core.model.reservations import ReservationDefinition
from treadle.core.rules.capacity.calculators import MemoryOnly
from treadle.core.rules.reservations.errors import PlanningError
from treadle.core.rules.reservations.following import (
    Child,
    Create,
    Decision,
    Entitle,
    FollowSettings,
    Kill,
    Move,
    NotActive,
    Remove,
    child_for,
    default_of,
    follow,
)
from treadle.core.rules.reservations.over_time import OverTime
from treadle.core.rules.reservations.plan import Plan, PlanSettings, Reservation
from treadle.core.rules.reservations.sharing import NoOvercommit
from treadle.core.units.amounts import scaled

START = 1_000_000
KINDS = {"accepted", "rejected", "kill_app", "queues_added", "queues_removed", "plan", "plan_state"}
SHOWN = {"cap", "max_cap", "abs_cap", "apps", "weight"}
STEPS = {
    "add_node",
    "update_node",
    "remove_node",
    "tick",
    "add_app",
    "remove_app",
    "ask",
    "node_update",
    "reserve_fixed",
    "unreserve",
    "sync",
}


def built(case: dict[str, Any]) -> bool:
    return case.get("kind") == "trace" and "plan" in case and {step["op"] for step in case["steps"]} <= STEPS


def comparable(found: dict[str, Any]) -> dict[str, Any]:
    """The events of the plan and of where applications go. Shares are rounded: Hadoop adds them in single precision."""
    steps = []
    for step in found["steps"]:
        events = [cleaned(event) for event in step.get("events", ()) if event["ev"] in KINDS]
        if events:
            steps.append({"i": step["i"], "events": events})
    return {"steps": steps}


def cleaned(event: dict[str, Any]) -> dict[str, Any]:
    if event["ev"] != "plan_state":
        return event
    queues = {
        name: {key: round(value, 5) for key, value in queue.items() if key in SHOWN} for name, queue in event["queues"].items()
    }
    return event | {"queues": queues}


def answer(case: dict[str, Any]) -> dict[str, Any]:
    played = Followed(case)
    return {"steps": [{"i": number, "events": played.play(step)} for number, step in enumerate(case["steps"])]}


class Queue:
    """A queue below the plan's: its share, its maximum, and its applications."""

    def __init__(self) -> None:
        self.share, self.most = 0.0, 1.0
        self.applications: list[str] = []


class Followed:
    """The plan's queue, half of a cluster, and what the follower makes of it."""

    def __init__(self, case: dict[str, Any]) -> None:
        given = case["plan"]
        self.fair = case["scheduler"] == "fair"
        self.watched = case.get("watch_queues", False)
        self.name = told(case)
        self.now = START
        self.nodes: dict[str, list[int]] = {}
        calculator = MemoryOnly(2, (0, 1))
        settings = PlanSettings(given["step"], [1 << 40, 1 << 40], calculator, NoOvercommit())
        self.plan = Plan(given["capacity"], settings)
        self.move = given.get("move_on_expiry", True)
        self.queues: dict[str, Queue] = {}
        if not self.fair or self.name == "root.plan":
            self.queues[default_of("plan")] = Queue()
            self.queues[default_of("plan")].share = 1.0
        self.gangs: set[str] = set()
        self.announced = False

    def play(self, step: dict[str, Any]) -> list[dict[str, Any]]:
        events: list[dict[str, Any]] = []
        if step["op"] in {"reserve_fixed", "sync", "unreserve"} and not self.announced:
            self.announced = True
            events.append({"ev": "plan", "name": self.name})
        do = getattr(self, "_" + step["op"], None)
        return events + (do(step) if do is not None else [])

    # -- the cluster

    def _add_node(self, step: dict[str, Any]) -> list[dict[str, Any]]:
        self.nodes[step["id"]] = step["res"]
        return []

    _update_node = _add_node

    def _remove_node(self, step: dict[str, Any]) -> list[dict[str, Any]]:
        del self.nodes[step["id"]]
        return []

    def _tick(self, step: dict[str, Any]) -> list[dict[str, Any]]:
        self.now += step["ms"]
        return []

    # -- applications

    def _add_app(self, step: dict[str, Any]) -> list[dict[str, Any]]:
        wanted = queue_of(step["reservation"]) if "reservation" in step else None
        try:
            name = child_for(self.local(), self.children(), wanted)
        except NotActive:
            return [{"ev": "rejected", "app": step["id"], "by": "scheduler"}]
        self.queues[name].applications.append(step["id"])
        return [{"ev": "accepted", "app": step["id"], "queue": self.path(name)}]

    def _remove_app(self, step: dict[str, Any]) -> list[dict[str, Any]]:
        for queue in self.queues.values():
            if step["app"] in queue.applications:
                queue.applications.remove(step["app"])
        return []

    # -- the plan

    def _reserve_fixed(self, step: dict[str, Any]) -> list[dict[str, Any]]:
        intervals = step["intervals"]
        definition = ReservationDefinition(intervals[0][0], max(one[1] for one in intervals))
        name = queue_of(step["id"])
        if step.get("gang"):
            self.gangs.add(name)
        try:
            self.plan.add(Reservation(name, step["id"], "u", definition, OverTime(2, intervals)), self.now)
        except PlanningError:
            return [{"ev": "error", "class": "PlanningException"}]
        return []

    def _unreserve(self, step: dict[str, Any]) -> list[dict[str, Any]]:
        self.plan.delete(queue_of(step["id"]))
        return []

    def _sync(self, step: dict[str, Any]) -> list[dict[str, Any]]:
        has = self.has()
        if not self.fair:
            self.plan.capacity = tuple(has)
        before = set(self.queues)
        settings = FollowSettings(self.move, capped=frozenset(self.gangs))
        events: list[dict[str, Any]] = []
        for decision in follow(
            self.plan, self.local(), has, self.children(), self.now, settings, replanning=step.get("replan", True)
        ).decisions:
            events += self.carry_out(decision)
        if self.watched:
            for kind, names in (("added", set(self.queues) - before), ("removed", before - set(self.queues))):
                if names:
                    events.append({"ev": f"queues_{kind}", "queues": sorted(map(self.path, names))})
        return [*events, self.state()]

    def carry_out(self, decision: Decision) -> list[dict[str, Any]]:
        match decision:
            case Create(name):
                self.queues[name] = Queue()
            case Entitle(name, share, most):
                queue = self.queues[name]
                others = sum(one.share for one in self.queues.values()) - queue.share
                if self.fair or (share >= 0 and others + share <= 1.0001):
                    queue.share, queue.most = share, most
            case Move(application, name, to):
                self.queues[name].applications.remove(application)
                self.queues[to].applications.append(application)
            case Kill(application, _):
                return [{"ev": "kill_app", "app": application}]
            case Remove(name):
                del self.queues[name]
        return []

    # -- what is seen

    def local(self) -> str:
        """The plan's name as the follower is told it; the fair one takes what is behind the last dot."""
        return self.name.rpartition(".")[2] if self.fair else self.name

    def has(self) -> list[int]:
        return scaled([sum(column) for column in zip(*self.nodes.values(), strict=True)], 0.5)

    def children(self) -> dict[str, Child]:
        return {name: Child(tuple(one.applications), scaled(self.has(), one.share)) for name, one in self.queues.items()}

    def path(self, name: str) -> str:
        return f"root.plan.{name}"

    def state(self) -> dict[str, Any]:
        queues = {}
        for name, one in sorted(self.queues.items()):
            shares = {"weight": one.share} if self.fair else {"cap": one.share, "max_cap": one.most, "abs_cap": one.share / 2}
            queues[self.path(name)] = shares | {"apps": len(one.applications)}
        reservations = sorted(one.number for one in self.plan.reservations.values())
        return {"ev": "plan_state", "capacity": list(self.plan.capacity), "reservations": reservations, "queues": queues}


def queue_of(reservation: int) -> str:
    return f"reservation_1_{reservation:04}"


def told(case: dict[str, Any]) -> str:
    """The name under which Hadoop's scheduler lists the plan's queue."""
    events = (event for step in case["expect"]["steps"] for event in step.get("events", ()))
    name = next(event["name"] for event in events if event["ev"] == "plan")
    assert re.fullmatch(r"(root\.)?plan", name)
    return str(name)
