"""Plays the steps of a case against an offer driver and records what it decides, in the form of Hadoop's answers.

What both disciplines have in common; the replays add how their driver is made, applications are added, and state is shown.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from conformance.kinds import miscounted, rounded
from conformance.live import Live
from conformance.loading import hadoop_types, types_of, vector
from offers.applicant import Applicant
from offers.effects import Accepted, Cause, Effect, Ended, Moved, Placed, Rejected
from offers.nodes import Container, NodeManager
from offers.requests import ANY, Ask, Key
from treadle.core.errors import InvalidSpec
from treadle.core.model import ApplicationSpec
from treadle.core.units.resources import UNBOUNDED

LONG = (1 << 63) - 1
EXITS = {Cause.FINISHED: 0, Cause.ABORTED: -100, Cause.PREEMPTED: -102, Cause.STOPPED: -106}
STEPS = frozenset(
    [
        "add_node",
        "remove_node",
        "update_node",
        "add_app",
        "ask",
        "node_update",
        "node_update_all",
        "tick",
        "preempt",
        "finish",
        "kill",
        "release",
        "blacklist",
        "move_app",
        "remove_app",
        "check_access",
        "reinit",
    ]
)
Events = list[dict[str, Any]]


def playable(case: dict[str, Any], scheduler: str, steps: frozenset[str]) -> bool:
    """Whether a case is one of a scheduler and has no other steps."""
    if case.get("scheduler") != scheduler or case.get("kind") not in {"shares", "trace"} or "plan" in case:
        return False
    return all(step["op"] in steps for step in case.get("steps", []))


class Player(ABC):
    """One case being played. Steps are methods called by their name."""

    errors: ClassVar[tuple[type[Exception], ...]] = (InvalidSpec,)
    driver: Any

    def __init__(self, case: dict[str, Any], *, live: bool = False) -> None:
        self.case = case
        self.types = types_of(case)
        self.now = 1_000_000
        self.ids: dict[str, str] = {}  # a case's name of an application to its id in Hadoop
        self.names: dict[str, str] = {}
        self.asked: dict[str, str] = {}
        self.containers: dict[str, Container] = {}
        self.hashes = {
            event["c"]: event["h"]
            for step in [*case["expect"].get("steps", []), {"events": case["expect"].get("allocations", [])}]
            for event in step.get("events", [])
            if event["ev"] == "alloc"
        }
        self.held: dict[str, tuple[Any, ...]] = {}
        self.events: Events = []
        self.live = Live(self.types) if live else None
        self.seen, self.was_held, self.submitted = 0, False, ""

    def hash_of(self, container: Container) -> int:
        """Return the hash code of a container's id, which Hadoop's answer tells."""
        found: int = self.hashes.get(self.name(container), 0)
        return found

    # ---- what a discipline adds

    @abstractmethod
    def error_class(self, error: Exception, step: dict[str, Any]) -> str:
        """Return the exceptions of Hadoop for one of ours."""

    @abstractmethod
    def dump(self) -> dict[str, Any]:
        """Return the whole state."""

    @abstractmethod
    def containers_of(self, application: str) -> list[Container]:
        """Return the containers of an application, in the order of their allocation."""

    @abstractmethod
    def define(self, live: Live) -> None:
        """Tell the core that serves of definitions and nodes."""

    @abstractmethod
    def spec_of(self, application: Applicant) -> ApplicationSpec:
        """Return what an application said, and where it is to be."""

    @abstractmethod
    def follow(self, live: Live) -> None:
        """Tell the core that serves how the driver's world is now."""

    @abstractmethod
    def applications(self) -> Mapping[str, Applicant]:
        """Return the driver's applications by their ids."""

    def before(self, node: NodeManager) -> None:
        """Let the core that serves decide first."""
        if self.live is not None:
            self.live.now = self.now
            self.follow(self.live)
            self.live.miscounted = miscounted(self.applications())
            self.live.rounded = rounded(self.live.core, self.applications())
            self.live.choose(node)
        self.seen, self.was_held = len(self.driver.world.effects), node.hold is not None

    def after(self, node: NodeManager) -> None:
        """Compare what the driver decided."""
        if self.live is not None:
            placed = [one.container for one in self.driver.world.effects[self.seen :] if isinstance(one, Placed)]
            self.live.settle(placed[0] if placed else None, node, self.applications(), held=self.was_held)

    @abstractmethod
    def figures(self, live: Live) -> dict[str, tuple[Any, Any]]:
        """Return what the core and the driver say of the queues that both have, by what it is."""

    def compare(self) -> None:
        """Compare what both say of the queues."""
        if self.live is not None:
            self.live.now = self.now
            self.follow(self.live)
            self.live.core.plan(self.now / 1000, 0)
            self.live.core.check()
            for what, (ours, theirs) in self.figures(self.live).items():
                alike = ours == theirs or (ours != ours and theirs != theirs)  # noqa: PLR0124 - both are no number
                self.live.figures["alike" if alike else "different"] += 1
                if not alike:
                    self.live.different.append(f"{what}: ours {ours}, the driver's {theirs}")

    def refresh(self) -> None:
        """Let shares be computed anew, where that takes a step of its own."""
        return

    # ---- steps

    def run(self) -> dict[str, Any]:
        """Play the case and return the answer."""
        if self.case["kind"] == "shares":
            return self._shares()
        steps: list[dict[str, Any]] = []
        for number, step in enumerate(self.case["steps"]):
            self.events = []
            self.step(step)
            if self.events:
                steps.append({"i": number, "events": self.events})
            if step.get("dump"):
                steps.append({"i": number, "state": self.dump()})
                self.compare()
        self.compare()
        return {"steps": steps, "end": self.dump()}

    def _shares(self) -> dict[str, Any]:
        case = self.case
        for node in case.get("nodes", []):
            self.step({**node, "op": "add_node"})
        self.events = []
        for app in case.get("apps", []):
            self.step({**{key: value for key, value in app.items() if key != "asks"}, "op": "add_app"})
            for ask in app.get("asks", []):
                self.step({**ask, "op": "ask", "app": app["id"]})
        self.refresh()
        submit, self.events = self.events, []
        for _ in range(case.get("heartbeats", 0)):
            for name in list(self.driver.world.nodes):
                self.step({"op": "node_update", "id": name})
        self.refresh()
        self.compare()
        answer = {"submit": submit, "allocations": self.events, "end": self.dump()}
        return {key: value for key, value in answer.items() if value}

    def step(self, step: dict[str, Any]) -> None:
        """Play one step."""
        try:
            getattr(self, "_" + step["op"])(step)
        except self.errors as error:
            self.events.append({"ev": "error", "class": self.error_class(error, step)})
        self._see_holds()

    def enter(self, step: dict[str, Any]) -> str:
        """Give an application its id."""
        name = step["id"]
        identity = self.ids[name] = f"application_1_{len(self.ids) + 1:04d}"
        self.names[identity] = name
        self.asked[identity] = step.get("queue", "default")
        if self.live is not None:
            self.live.now = self.now
            self.follow(self.live)
            self.submitted = self.live.submit(self.said(identity, step.get("user", "u")))
        return identity

    def asked_path(self, identity: str) -> str:
        """Return what an application asks for, as the core has it."""
        asked = self.asked[identity]
        return self.path(asked) if "." in asked else asked.lower()

    def path(self, path: str) -> str:
        """Return a queue's path as the core has it: names in Kubernetes are in lower case."""
        return path.lower()

    def judge(self, application: str, queue: str) -> None:
        """Compare where both have put an application; an empty path is no queue."""
        if self.live is not None:
            alike = self.submitted == (self.path(queue) if queue else "")
            self.live.submissions["alike" if alike else "different"] += 1
            if not alike:
                self.live.different.append(f"{application}: ours {self.submitted or 'no queue'}, Hadoop's {queue or 'no queue'}")

    def said(self, identity: str, user: str, priority: int = 0) -> ApplicationSpec:
        """Return what an application said when it came, or where it was moved to since."""
        groups = tuple((self.case.get("groups") or {}).get(user, ()))
        return ApplicationSpec(f"ns/{identity}", self.asked_path(identity), priority, user, groups)

    def _remove_node(self, step: dict[str, Any]) -> None:
        self.record(self.driver.remove_node(step["id"], self.now))

    def _update_node(self, step: dict[str, Any]) -> None:
        self.record(self.driver.resize_node(step["id"], vector(step["res"], self.types), self.now))

    def _ask(self, step: dict[str, Any]) -> None:
        demand = vector(step["res"], self.types)
        key = Key(step.get("priority", 1), step.get("alloc_id", -1))
        requests = step.get("requests", [{"name": ANY, "count": step.get("count", 1)}])
        label = step.get("label", "")
        asks = [Ask(each["name"], demand, each["count"], each.get("relax", True), label) for each in requests]
        self.record(self.driver.ask(self.ids[step["app"]], key, asks, self.now))

    def ask_for_master(self, identity: str, step: dict[str, Any], master: Sequence[int] | None) -> None:
        """Ask for the container of a master, unless the case does that itself."""
        if "am" in step and step.get("am_ask", True):
            assert master is not None
            self.driver.ask(identity, Key(0), [Ask(ANY, list(master), 1, partition=step.get("am_label", ""))], self.now)

    def _blacklist(self, step: dict[str, Any]) -> None:
        self.record(self.driver.avoid(self.ids[step["app"]], step.get("add", []), step.get("remove", []), self.now))

    def _node_update(self, step: dict[str, Any]) -> None:
        node = self.driver.world.nodes.get(step["id"])
        if node is None:
            return
        for done in step.get("finished", []):
            container = self.pick(done)
            if container is not None and not container.ended and container.node is node:
                node.reported.append(container)
        self.record(self.driver.offer(node.name, self.now))

    def _node_update_all(self, step: dict[str, Any]) -> None:
        for _ in range(step.get("rounds", 1)):
            for name in list(self.driver.world.nodes):
                self._node_update({"id": name})
                self._see_holds()

    def _tick(self, step: dict[str, Any]) -> None:
        self.now += step["ms"]
        self.record(self.driver.tick(self.now))

    def _finish(self, step: dict[str, Any]) -> None:
        self.end(step, Cause.FINISHED)

    def _release(self, step: dict[str, Any]) -> None:
        self.end(step, Cause.ABORTED)

    def end(self, step: dict[str, Any], cause: Cause) -> None:
        """End the container that a step names."""
        container = self.pick(step)
        if container is not None:
            self.record(self.driver.end(container, cause, self.now))

    def _move_app(self, step: dict[str, Any]) -> None:
        checked = step.get("validate", True)
        self.record(self.driver.move(self.ids[step["app"]], step["queue"], self.now, checked_before=checked))

    def _check_access(self, step: dict[str, Any]) -> None:
        user, queue = step["user"], step["queue"]
        submit, admin = self.driver.may(user, queue), self.driver.may(user, queue, administer=True)
        self.events.append({"ev": "access", "submit": submit, "admin": admin})

    def pick(self, step: dict[str, Any]) -> Container | None:
        """Return the container that a step names, or that it picks by number."""
        if "container" in step:
            return self.containers.get(step["container"])
        live = self.containers_of(self.ids[step["app"]])
        return live[step.get("pick", 0) % len(live)] if live else None

    # ---- what was decided

    def name(self, container: Container) -> str:
        """Return how the case calls a container."""
        return f"{self.names[container.owner.name]}#{container.ordinal}"

    def record(self, effects: Sequence[Effect]) -> None:
        """Note what was decided."""
        for effect in effects:
            self.events.append(self.event(effect))
            if isinstance(effect, Placed):
                self.containers[self.name(effect.container)] = effect.container
                if self.case.get("launch"):
                    self.driver.launch(effect.container)

    def event(self, effect: Effect) -> dict[str, Any]:
        """Return an effect as Hadoop's answers tell it."""
        match effect:
            case Accepted(application, queue):
                self.judge(application, queue)
                return {"ev": "accepted", "app": self.names[application], "queue": queue}
            case Rejected(application, by):
                self.judge(application, "")
                event = {"ev": "rejected", "app": self.names[application], "by": by}
                return {**event, "class": "YarnException"} if by == "placement" else event
            case Placed(container):
                placed: dict[str, Any] = {"ev": "alloc", "c": self.name(container), "node": container.node.name}
                placed |= {"res": self.resources(container.demand), "prio": container.key.priority}
                return {**placed, "am": True} if container.master else placed
            case Ended(container, cause):
                return {"ev": "done", "c": self.name(container), "exit": EXITS[cause]}
            case Moved(application, queue):
                self.asked[application] = queue
                if self.live is not None:
                    self.live.moved.add(application)
                return {"ev": "moved", "app": self.names[application], "queue": queue}
        raise AssertionError(effect)

    def _see_holds(self) -> None:
        now = {
            node.name: (node.hold.owner.name, node.hold.key.priority, tuple(node.hold.demand))
            for node in self.driver.world.nodes.values()
            if node.hold is not None
        }
        before, self.held = self.held, now
        for node in sorted(before):
            if before[node] != now.get(node):
                self.events.append({"ev": "unreserve", "app": self.names[before[node][0]], "node": node})
        for node in sorted(now):
            if now[node] != before.get(node):
                application, priority, demand = now[node]
                event = {"ev": "reserve", "app": self.names[application], "node": node}
                self.events.append({**event, "res": self.resources(demand), "prio": priority})

    # ---- the state

    def resources(self, amounts: Sequence[int]) -> list[int]:
        """Return amounts in Hadoop's order, which knows no pods."""
        shown = [LONG if value >= UNBOUNDED else value for value in amounts]
        return [shown[0], shown[1], *shown[3:]][: len(hadoop_types(self.case))]

    def nodes(self) -> dict[str, Any]:
        """Return the state of the nodes."""
        nodes = self.driver.world.nodes.values()
        return {node.name: {"free": self.resources(node.free), "used": self.resources(node.used)} for node in nodes}
