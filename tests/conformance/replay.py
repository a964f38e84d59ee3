"""Plays a case of kind shares or trace against the offer driver and records what it decides, in the form of Hadoop's answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from conformance.java_orders import key_hash, node_hash, string_hash, table_order
from conformance.loading import Loaded, hadoop_types, load, types_of, vector
from treadle.convert.errors import AllocationError
from treadle.core.errors import InvalidSpec
from treadle.core.offers.attempt import Attempt
from treadle.core.offers.driver import AskRefused, OfferDriver
from treadle.core.offers.effects import Accepted, Cause, Effect, Ended, Moved, Placed, Rejected, Relieved
from treadle.core.offers.nodes import Container, NodeManager
from treadle.core.offers.requests import ANY, Ask, Key
from treadle.core.offers.tree import OfferQueue
from treadle.core.offers.walk import masters_of
from treadle.core.offers.world import Orders
from treadle.core.resources import UNBOUNDED
from treadle.core.tree.moves import MoveRefused

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
        "update",
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


def built(case: dict[str, Any]) -> bool:
    """Whether a case is of a kind that this driver plays."""
    if case.get("scheduler") != "fair" or case.get("kind") not in {"shares", "trace"} or case.get("labels") or "plan" in case:
        return False
    return all(step["op"] in STEPS for step in case.get("steps", []))


class Replay:
    def __init__(self, case: dict[str, Any]) -> None:
        self.case = case
        self.types = types_of(case)
        self.now = 1_000_000
        self.ids: dict[str, str] = {}  # a case's name of an application to its id in Hadoop
        self.names: dict[str, str] = {}
        self.containers: dict[str, Container] = {}
        self.hashes = {
            event["c"]: event["h"]
            for step in [*case["expect"].get("steps", []), {"events": case["expect"].get("allocations", [])}]
            for event in step.get("events", [])
            if event["ev"] == "alloc"
        }
        self.held: dict[str, tuple[Any, ...]] = {}
        self.most_nodes = 0
        self.events: Events = []
        loaded = self._load()
        self.driver = OfferDriver(
            loaded.queues,
            loaded.settings,
            loaded.rules,
            types=self.types,
            now=self.now,
            groups={user: tuple(groups) for user, groups in (case.get("groups") or {}).items()},
            orders=Orders(self._containers, self._nodes, self._keys, self._places),
        )

    def _load(self, allocations: str | None = None) -> Loaded:
        return load(self.case, allocations)

    # ---- orders of Hadoop's hash tables

    def _containers(self, node: NodeManager) -> list[Container]:
        walked = table_order(node.containers, lambda one: self.hashes.get(self.name(one), 0), peak=node.peak)
        return [one for one in reversed(walked) if not one.master] + [one for one in walked if one.master]

    def _nodes(self, nodes: Sequence[NodeManager]) -> list[NodeManager]:
        return table_order(nodes, lambda node: node_hash(node.name), peak=self.most_nodes)

    def _keys(self, keys: Sequence[Key]) -> list[Key]:
        return table_order(keys, lambda key: key_hash(*key), concurrent=True)

    def _places(self, asks: Sequence[Ask]) -> list[Ask]:
        return table_order(asks, lambda ask: string_hash(ask.place), concurrent=True)

    # ---- steps

    def run(self) -> dict[str, Any]:
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
        self.driver.update(self.now)
        submit, self.events = self.events, []
        for _ in range(case.get("heartbeats", 0)):
            for name in list(self.driver.world.nodes):
                self.step({"op": "node_update", "id": name})
        self.driver.update(self.now)
        answer = {"submit": submit, "allocations": self.events, "end": self.dump()}
        return {key: value for key, value in answer.items() if value}

    def step(self, step: dict[str, Any]) -> None:
        try:
            getattr(self, "_" + step["op"])(step)
        except MoveRefused:
            self.events.append({"ev": "error", "class": "YarnException"})
        except AskRefused:
            self.events.append({"ev": "error", "class": "SchedulerInvalidResoureRequestException"})
        except InvalidSpec:
            self.events.append({"ev": "error", "class": "InvalidQueueNameException"})
        self._see_holds()

    def _add_node(self, step: dict[str, Any]) -> None:
        rack = step.get("rack", "/default-rack")
        self.record(self.driver.add_node(step["id"], rack, vector(step["res"], self.types), self.now))
        self.most_nodes = max(self.most_nodes, len(self.driver.world.nodes))

    def _remove_node(self, step: dict[str, Any]) -> None:
        self.record(self.driver.remove_node(step["id"], self.now))

    def _update_node(self, step: dict[str, Any]) -> None:
        self.record(self.driver.resize_node(step["id"], vector(step["res"], self.types), self.now))

    def _add_app(self, step: dict[str, Any]) -> None:
        name = step["id"]
        identity = self.ids[name] = f"application_1_{len(self.ids) + 1:04d}"
        self.names[identity] = name
        managed = step.get("managed", "am" in step)
        master = None
        if managed:
            least = [self.driver.world.settings.least.get(one, 0) for one in self.types.names]
            master = self.driver.normal(vector(step["am"], self.types) if "am" in step else least)
        user, queue = step.get("user", "u"), step.get("queue", "default")
        self.record(self.driver.add_application(identity, user, queue, self.now, managed=managed, master=master))
        if "am" in step and step.get("am_ask", True):
            assert master is not None
            self.driver.ask(identity, Key(0), [Ask(ANY, master, 1)], self.now)

    def _ask(self, step: dict[str, Any]) -> None:
        demand = vector(step["res"], self.types)
        key = Key(step.get("priority", 1), step.get("alloc_id", -1))
        requests = step.get("requests", [{"name": ANY, "count": step.get("count", 1)}])
        asks = [Ask(each["name"], demand, each["count"], each.get("relax", True)) for each in requests]
        self.record(self.driver.ask(self.ids[step["app"]], key, asks, self.now))

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
            for name in self._as_added():
                self._node_update({"id": name})
                self._see_holds()

    def _as_added(self) -> list[str]:
        return list(self.driver.world.nodes)

    def _tick(self, step: dict[str, Any]) -> None:
        self.now += step["ms"]
        self.record(self.driver.tick(self.now))

    def _update(self, step: dict[str, Any]) -> None:
        del step
        self.record(self.driver.update(self.now))

    def _preempt(self, step: dict[str, Any]) -> None:
        """One pass of the harness: unlike Hadoop's thread it does not wait for the next one, so the last helped is still being helped."""
        del step
        driver = self.driver
        if not driver.world.settings.preemption:
            return
        while driver.preemption.starved:
            driver.preemption.help_next()
        driver.preemption.end_due()
        self.record(driver.tick(self.now))

    def _finish(self, step: dict[str, Any]) -> None:
        self._end(step, Cause.FINISHED)

    def _kill(self, step: dict[str, Any]) -> None:
        self._end(step, Cause.STOPPED)

    def _release(self, step: dict[str, Any]) -> None:
        self._end(step, Cause.ABORTED)

    def _end(self, step: dict[str, Any], cause: Cause) -> None:
        container = self.pick(step)
        if container is not None:
            self.record(self.driver.end(container, cause, self.now))

    def _move_app(self, step: dict[str, Any]) -> None:
        checked = step.get("validate", True)
        self.record(self.driver.move(self.ids[step["app"]], step["queue"], self.now, checked_before=checked))

    def _remove_app(self, step: dict[str, Any]) -> None:
        self.record(self.driver.remove_application(self.ids[step["app"]], self.now))

    def _check_access(self, step: dict[str, Any]) -> None:
        user, queue = step["user"], step["queue"]
        submit, admin = self.driver.may(user, queue), self.driver.may(user, queue, administer=True)
        self.events.append({"ev": "access", "submit": submit, "admin": admin})

    def _reinit(self, step: dict[str, Any]) -> None:
        if "allocations" not in step:
            return
        try:
            loaded = self._load(step["allocations"])
        except AllocationError:
            return  # the last good configuration stays in force
        self.record(self.driver.load(loaded.queues, loaded.settings, loaded.rules, self.now))

    def pick(self, step: dict[str, Any]) -> Container | None:
        if "container" in step:
            return self.containers.get(step["container"])
        attempt = self.driver.world.attempts.get(self.ids[step["app"]])
        live = list(attempt.containers) if attempt is not None else []
        return live[step.get("pick", 0) % len(live)] if live else None

    # ---- what was decided

    def name(self, container: Container) -> str:
        return f"{self.names[container.owner.name]}#{container.ordinal}"

    def record(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            self.events.append(self._event(effect))
            if isinstance(effect, Placed):
                self.containers[self.name(effect.container)] = effect.container
                if self.case.get("launch"):
                    self.driver.launch(effect.container)

    def _event(self, effect: Effect) -> dict[str, Any]:
        match effect:
            case Accepted(application, queue):
                return {"ev": "accepted", "app": self.names[application], "queue": queue}
            case Rejected(application, by):
                event = {"ev": "rejected", "app": self.names[application], "by": by}
                return {**event, "class": "YarnException"} if by == "placement" else event
            case Placed(container):
                event = {
                    "ev": "alloc",
                    "c": self.name(container),
                    "node": container.node.name,
                    "res": self.resources(container.demand),
                    "prio": container.key.priority,
                }
                return {**event, "am": True} if container.master else event
            case Ended(container, cause):
                return {"ev": "done", "c": self.name(container), "exit": EXITS[cause]}
            case Relieved(application, victims):
                return {"ev": "starved", "app": self.names[application], "victims": [self.name(one) for one in victims]}
            case Moved(application, queue):
                return {"ev": "moved", "app": self.names[application], "queue": queue}

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
        shown = [LONG if value >= UNBOUNDED else value for value in amounts]
        return [shown[0], shown[1], *shown[3:]][: len(hadoop_types(self.case))]

    def dump(self) -> dict[str, Any]:
        world = self.driver.world
        return {
            "cluster": self.resources(world.cluster.total),
            "queues": {path: self._queue(world.tree.queues[path]) for path in sorted(world.tree.queues)},
            "apps": {self.names[name]: self._app(attempt) for name, attempt in world.attempts.items()},
            "nodes": {
                node.name: {"free": self.resources(node.free), "used": self.resources(node.used)} for node in world.nodes.values()
            },
        }

    def _queue(self, queue: OfferQueue) -> dict[str, Any]:
        shown = {
            "leaf": not queue.parental,
            "policy": queue.policy.name,
            "weight": queue.weight,
            "dynamic": queue.dynamic,
            "min": self.resources(queue.minimum or [0] * len(self.types)),
            "max": self.resources(queue.maximum),
            "steady": self.resources(queue.steady_share),
            "fair": self.resources(queue.fair_share),
            "demand": self.resources(queue.demand),
            "used": self.resources(queue.usage),
            "runnable": queue.running_below,
        }
        if not queue.parental:
            shown |= {
                "waiting": len(queue.waiting),
                "am_used": self.resources(queue.master_usage),
                "max_am_share": queue.master_share,
                "am_limit": self.resources(masters_of(self.driver.world, queue)),
            }
        return shown

    def _app(self, attempt: Attempt) -> dict[str, Any]:
        requests = attempt.requests
        return {
            "queue": attempt.queue.path,
            "used": self.resources(attempt.usage),
            "reserved": self.resources(attempt.reserved()),
            "containers": len(attempt.containers),
            "outstanding": sum(requests.count(key, ANY) for key in requests.keys),
            "headroom": self.resources(self.driver.headroom(attempt.name)),
            "fair_share": self.resources(attempt.fair_share),
            "demand": self.resources(attempt.demand),
            "runnable": attempt.runnable,
        }


def answer(case: dict[str, Any]) -> dict[str, Any]:
    """What the driver answers to a case."""
    try:
        replay = Replay(case)
    except AllocationError as error:
        return {"init_error": f"IOException/{error.hadoop}"}
    return replay.run()


def comparable(found: dict[str, Any]) -> dict[str, Any]:
    """An answer without what follows the order of hash tables alone: hash codes, and the orders in which victims are listed and an application's containers end."""

    def events(found: Events) -> Events:
        cleaned = [
            {key: sorted(value) if key == "victims" else value for key, value in event.items() if key != "h"} for event in found
        ]
        result: Events = []
        run: Events = []
        for event in [*cleaned, {}]:
            if event.get("ev") == "done":
                run.append(event)
                continue
            result += sorted(run, key=lambda one: str(one["c"]))
            run = []
            if event:
                result.append(event)
        return result

    answer = dict(found)
    if "steps" in answer:
        answer["steps"] = [{**step, "events": events(step["events"])} if "events" in step else step for step in answer["steps"]]
    for name in ("submit", "allocations"):
        if name in answer:
            answer[name] = events(answer[name])
    return _narrow(answer)


def _narrow(found: Any) -> Any:
    """Floats of Hadoop are in single precision, and JSON writes them shorter."""
    if isinstance(found, dict):
        return {
            key: round(value, 5) if key in {"weight", "max_am_share"} and isinstance(value, float | int) else _narrow(value)
            for key, value in found.items()
        }
    if isinstance(found, list):
        return [_narrow(one) for one in found]
    return found


def differences(expected: Any, found: Any, path: str = "") -> list[str]:
    """The paths at which two answers differ, with both values."""
    if isinstance(expected, dict) and isinstance(found, dict):
        lines = []
        for key in [*expected, *(key for key in found if key not in expected)]:
            lines += differences(expected.get(key), found.get(key), f"{path}.{key}")
        return lines
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        return [line for at, pair in enumerate(zip(expected, found, strict=True)) for line in differences(*pair, f"{path}[{at}]")]
    if isinstance(expected, list) and isinstance(found, list) and expected and isinstance(expected[0], dict):
        at = next((at for at, pair in enumerate(zip(expected, found, strict=False)) if pair[0] != pair[1]), len(found))
        return [f"{path}[{at}]: Hadoop {expected[at : at + 2]!r}, ours {found[at : at + 2]!r}"]
    return [] if expected == found else [f"{path}: Hadoop {expected!r}, ours {found!r}"]


__all__ = ["answer", "built", "comparable", "differences"]
