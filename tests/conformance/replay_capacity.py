"""Plays a case against the capacity driver and records what it decides, in the form of Hadoop's answers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from conformance.java_orders import node_hash, string_hash, table_order
from conformance.loading import hadoop_types, types_of, vector
from treadle.convert.capacity_file import CapacityFile, CapacityFileError, read
from treadle.convert.errors import MappingError
from treadle.convert.mapping import overrides, read_rules
from treadle.core.capacity.auto.creation import CreationRefused
from treadle.core.capacity.auto.names import TreeNames
from treadle.core.capacity.masters import limit_of_leaf, limit_of_user
from treadle.core.capacity.queue import CapacityQueue
from treadle.core.capacity.validation import Refused
from treadle.core.errors import InvalidSpec
from treadle.core.fair.amounts import f32
from treadle.core.offers.capacity.driver import CapacityDriver, MoveDenied
from treadle.core.offers.capacity.member import Member
from treadle.core.offers.capacity.world import CapacityOrders
from treadle.core.offers.effects import Accepted, Cause, Effect, Ended, HoldTaken, Marked, Moved, Placed, Rejected
from treadle.core.offers.nodes import Container, NodeManager
from treadle.core.offers.requests import ANY, Ask, Key
from treadle.core.resources import UNBOUNDED
from treadle.core.tree.mapping import InvalidMapping, Mapper, MappingRejected, Submission
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
        "preempt",
        "finish",
        "kill",
        "release",
        "blacklist",
        "move_app",
        "remove_app",
        "check_access",
        "reinit",
        "manage_queues",
        "expire_queues",
    ]
)
Events = list[dict[str, Any]]


def built(case: Mapping[str, Any]) -> bool:
    """Whether a case is of a kind that this driver plays."""
    if case.get("scheduler") != "capacity" or case.get("kind") not in {"shares", "trace"} or "plan" in case:
        return False
    return all(step["op"] in STEPS for step in case.get("steps", []))


class RestoreFailed(Exception):
    """The last configuration cannot be put in force again; the exception of Hadoop."""


class CapacityReplay:
    def __init__(self, case: dict[str, Any]) -> None:
        self.case = case
        self.types = types_of(case)
        self.now = 1_000_000
        self.ids: dict[str, str] = {}
        self.names: dict[str, str] = {}
        self.containers: dict[str, Container] = {}
        self.held: dict[str, tuple[Any, ...]] = {}
        self.hashes = {
            event["c"]: event["h"]
            for step in [*case["expect"].get("steps", []), {"events": case["expect"].get("allocations", [])}]
            for event in step.get("events", [])
            if event["ev"] == "alloc"
        }
        self.events: Events = []
        self.sorted_rounds = False
        self.partitions = {one["name"]: one.get("exclusive", True) for one in case.get("labels", [])}
        loaded = self._load(case["conf"])
        self.sorted_rounds = loaded.settings.preemption.by_priority
        groups = {user: tuple(groups) for user, groups in (case.get("groups") or {}).items()}
        orders = CapacityOrders(
            self._nodes, self._queues, lambda paths: table_order(paths, string_hash), self._containers, self._ends, list
        )
        self.driver = CapacityDriver(
            loaded.queues,
            loaded.settings,
            types=self.types,
            now=self.now,
            groups=groups,
            orders=orders,
            as_hadoop=True,
            undeclared=loaded.undeclared,
        )
        self.conf = case["conf"]
        self.mapper = self._mapper(self.conf)
        self.known = set(self.driver.world.tree.queues())
        self.started = False

    def _mapper(self, conf: Mapping[str, str]) -> Mapper | None:
        rules = read_rules(conf)
        return Mapper(rules, TreeNames(self.driver.world.tree), override=overrides(conf)) if rules else None

    def _load(self, conf: Mapping[str, str]) -> CapacityFile:
        return read(conf, self.case.get("resource_types", []), self.partitions)

    def _nodes(self, nodes: Sequence[NodeManager]) -> list[NodeManager]:
        return table_order(nodes, lambda node: node_hash(node.name))

    def _containers(self, node: NodeManager) -> list[Container]:
        return table_order(node.containers, lambda one: self.hashes.get(self.name(one), 0), peak=node.peak)

    def _ends(self, member: Member) -> list[Container]:
        hashed = lambda one: self.hashes.get(self.name(one), 0)  # noqa: E731
        return table_order(member.containers, hashed, peak=member.peak, concurrent=True)

    def _queues(self, queues: Sequence[CapacityQueue]) -> list[CapacityQueue]:
        return table_order(queues, lambda queue: string_hash(queue.path))

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
        submit, self.events = self.events, []
        for _ in range(case.get("heartbeats", 0)):
            for name in list(self.driver.world.nodes):
                self.step({"op": "node_update", "id": name})
        answer = {"submit": submit, "allocations": self.events, "end": self.dump()}
        return {key: value for key, value in answer.items() if value}

    def step(self, step: dict[str, Any]) -> None:
        try:
            getattr(self, "_" + step["op"])(step)
        except MoveDenied:
            self.events.append({"ev": "error", "class": "YarnException/AccessControlException"})
        except MoveRefused:
            self.events.append({"ev": "error", "class": "YarnException"})
        except Refused as error:
            classes = ["IOException", *([error.hadoop] if error.hadoop != "IOException" else [])]
            self.events.append({"ev": "error", "class": "/".join(classes)})
        except CapacityFileError as error:
            within = "IOException/" if step["op"] == "reinit" else ""
            self.events.append({"ev": "error", "class": f"{within}{error.hadoop}"})
        except RestoreFailed as error:
            self.events.append({"ev": "error", "class": str(error)})
        except InvalidMapping:
            self.events.append({"ev": "error", "class": "IOException/YarnException"})
        except CreationRefused as error:
            self.events.append({"ev": "error", "class": error.hadoop})
        except InvalidSpec as error:
            self.events.append({"ev": "error", "class": type(error).__name__})
        self._see_holds()
        self._see_queues()

    def _add_node(self, step: dict[str, Any]) -> None:
        rack, total = step.get("rack", "/default-rack"), vector(step["res"], self.types)
        self.record(self.driver.add_node(step["id"], rack, total, self.now, partition=step.get("label", "")))

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
        user, queue, placed = step.get("user", "u"), step.get("queue", "default"), False
        if self.mapper is not None:
            groups = self.driver.groups.get(user)
            try:
                found = self.mapper.place(Submission(user, groups, step.get("app_name", name), queue, False))
                queue, placed = found or queue, found is not None
            except MappingRejected:
                self.events.append({"ev": "rejected", "app": name, "by": "placement", "class": "YarnException"})
                return
        if managed:
            master = self.driver.normal(vector(step["am"], self.types) if "am" in step else self.driver.world.context.least)
        self.record(
            self.driver.add_application(
                identity,
                user,
                queue,
                self.now,
                managed=managed,
                master=master,
                master_partition=step.get("am_label", ""),
                priority=step.get("priority", 0),
                placed=placed,
            )
        )
        if "am" in step and step.get("am_ask", True):
            assert master is not None
            self.driver.ask(identity, Key(0), [Ask(ANY, master, 1, partition=step.get("am_label", ""))], self.now)

    def _ask(self, step: dict[str, Any]) -> None:
        demand = vector(step["res"], self.types)
        key = Key(step.get("priority", 1), step.get("alloc_id", -1))
        requests = step.get("requests", [{"name": ANY, "count": step.get("count", 1)}])
        label = step.get("label", "")
        asks = [Ask(each["name"], demand, each["count"], each.get("relax", True), label) for each in requests]
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
            for name in list(self.driver.world.nodes):
                self._node_update({"id": name})
                self._see_holds()

    def _tick(self, step: dict[str, Any]) -> None:
        self.now += step["ms"]
        self.record(self.driver.tick(self.now))

    def _preempt(self, step: dict[str, Any]) -> None:
        del step
        before = len(self.events)
        self.record(self.driver.preempt(self.now))
        if self.sorted_rounds:
            kinds = ["mark_container_for_preemption", "mark_container_for_killable", "kill_reserved_container", "done"]
            self.events[before:] = sorted(
                self.events[before:], key=lambda event: (kinds.index(event["ev"]), event.get("c", "") + event.get("app", ""))
            )

    def _finish(self, step: dict[str, Any]) -> None:
        self._end(step, Cause.FINISHED)

    def _kill(self, step: dict[str, Any]) -> None:
        container = self.pick(step)
        if container is not None:
            self.record(self.driver.kill(container, self.now))

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
        if self.ids[step["app"]] in self.driver.world.members:
            self.record(self.driver.remove_application(self.ids[step["app"]], self.now))

    def _check_access(self, step: dict[str, Any]) -> None:
        user, queue = step["user"], step["queue"]
        submit, admin = self.driver.may(user, queue), self.driver.may(user, queue, administer=True)
        self.events.append({"ev": "access", "submit": submit, "admin": admin})

    def _reinit(self, step: dict[str, Any]) -> None:
        if "conf" in step:
            self._take_over(step["conf"])
            try:
                self.mapper = self._mapper(step["conf"])
            except InvalidMapping:
                self._restore()
                raise
            self.conf = step["conf"]

    def _take_over(self, conf: Mapping[str, str]) -> None:
        loaded = self._load(conf)
        self.record(self.driver.load(loaded.queues, loaded.settings, self.now, undeclared=loaded.undeclared))

    def _restore(self) -> None:
        """Put the last configuration in force again; if that fails, Hadoop names no other reason."""
        try:
            self._take_over(self.conf)
        except Refused as error:
            raise RestoreFailed(error.hadoop) from error

    def _manage_queues(self, step: dict[str, Any]) -> None:
        del step
        self.record(self.driver.manage(self.now))

    def _expire_queues(self, step: dict[str, Any]) -> None:
        """A round of the policy, which has one more when it starts."""
        if not self.started:
            self.started = True
            self.record(self.driver.expire(self.now, start=True))
            if step.get("init_only"):
                return
        self.record(self.driver.expire(self.now))
        self.events.append({"ev": "marked", "queues": sorted(self.driver.removal.marked)})

    def pick(self, step: dict[str, Any]) -> Container | None:
        if "container" in step:
            return self.containers.get(step["container"])
        member = self.driver.world.members.get(self.ids[step["app"]])
        live = sorted(member.containers, key=lambda one: one.ordinal) if member is not None else []
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
                return {"ev": "rejected", "app": self.names[application], "by": by}
            case Placed(container):
                event = {"ev": "alloc", "c": self.name(container), "node": container.node.name}
                event |= {"res": self.resources(container.demand), "prio": container.key.priority}
                return {**event, "am": True} if container.master else event
            case Ended(container, cause):
                return {"ev": "done", "c": self.name(container), "exit": EXITS[cause]}
            case Marked(container, due) if container.ordinal == 0:
                event = {
                    "ev": "mark_container_for_" + ("killable" if due else "preemption"),
                    "app": self.names[container.owner.name],
                }
                return {**event, "node": container.node.name}
            case Marked(container, due):
                return {"ev": "mark_container_for_" + ("killable" if due else "preemption"), "c": self.name(container)}
            case HoldTaken(application, node):
                return {"ev": "kill_reserved_container", "app": self.names[application], "node": node}
            case Moved(application, queue):
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

    def _see_queues(self) -> None:
        before, self.known = self.known, set(self.driver.world.tree.queues())
        for kind, paths in (("queues_added", self.known - before), ("queues_removed", before - self.known)):
            if paths and self.case.get("watch_queues"):
                self.events.append({"ev": kind, "queues": sorted(paths)})

    # ---- the state

    def resources(self, amounts: Sequence[int]) -> list[int]:
        shown = [LONG if value >= UNBOUNDED else value for value in amounts]
        return [shown[0], shown[1], *shown[3:]][: len(hadoop_types(self.case))]

    def dump(self) -> dict[str, Any]:
        world = self.driver.world
        queues = world.tree.queues()
        return {
            "cluster": self.resources(world.context.total),
            "queues": {path: self._queue(queues[path]) for path in sorted(queues)},
            "apps": {self.names[name]: self._app(member) for name, member in world.members.items()},
            "nodes": {
                node.name: {"free": self.resources(node.free), "used": self.resources(node.used)} for node in world.nodes.values()
            },
        }

    def _all_partitions(self) -> list[str]:
        return sorted({"", *self.partitions})

    def _queue(self, queue: CapacityQueue) -> dict[str, Any]:
        shown: dict[str, Any] = {"leaf": not queue.parental, "state": queue.state, "type": queue.kind}
        if queue.dynamic:
            shown["dynamic"] = True
        if self.case.get("watch_queues") and (queue.entitled or queue.entitlements is not None):
            shown["class"] = "AutoCreatedLeafQueue" if queue.entitled else "ManagedParentQueue"
        if not queue.parental:
            shown |= {
                "active": len(queue.active),
                "pending": len(queue.pending),
                "nonrunnable": len(queue.waiting),
                "max_apps": queue.max_applications,
                "max_apps_user": queue.max_applications_of_user,
                "mulp": queue.user_limit,
                "ulf": queue.user_limit_factor,
                "max_alloc": self.resources(queue.max_allocation),
            }
        shown["partitions"] = {partition: self._partition(queue, partition) for partition in self._all_partitions()}
        return shown

    def _partition(self, queue: CapacityQueue, partition: str) -> dict[str, Any]:
        share, amounts = queue.share(partition), queue.usage.of(partition)
        shown: dict[str, Any] = {
            "cap": share.capacity,
            "max_cap": share.maximum_capacity,
            "abs_cap": share.absolute,
            "abs_max_cap": share.absolute_maximum,
            "used_cap": share.used_capacity,
            "abs_used_cap": share.absolute_used,
            "weight": share.weight,
            "norm_weight": share.normalized_weight,
            "eff_min": self.resources(share.minimum),
            "eff_max": self.resources(share.maximum),
            "used": self.resources(amounts.used),
            "pending": self.resources(amounts.pending),
            "reserved": self.resources(amounts.reserved),
        }
        if not queue.parental:
            shown |= {
                "am_used": self.resources(amounts.masters),
                "am_percent": share.master_share,
                "am_limit": self.resources(limit_of_leaf(queue, partition)),
                "users": {name: self._user(queue, partition, name) for name in sorted(queue.users.users)},
            }
        return shown

    def _user(self, queue: CapacityQueue, partition: str, name: str) -> dict[str, Any]:
        user = queue.users.users[name]
        amounts = user.usage.of(partition)
        return {
            "used": self.resources(amounts.used),
            "am_used": self.resources(amounts.masters),
            "active_apps": user.active,
            "pending_apps": user.pending,
            "limit_active": self.resources(queue.users.limit(name, partition)),
            "limit_all": self.resources(queue.users.limit(name, partition, of_active=False)),
            "am_limit": self.resources(limit_of_user(queue, partition, name)),
        }

    def _app(self, member: Member) -> dict[str, Any]:
        requests = member.requests
        return {
            "queue": member.leaf.path,
            "used": self.resources(member.usage.of("").used),
            "reserved": self.resources(member.usage.of("").reserved),
            "containers": len(member.containers),
            "outstanding": sum(requests.count(key, ANY) for key in requests.keys),
            "headroom": self.resources(self.driver.headroom(member.name)),
            "active": member in member.leaf.active,
            "partitions": {
                partition: {
                    "used": self.resources(member.usage.of(partition).used),
                    "pending": self.resources(member.usage.of(partition).pending),
                }
                for partition in self._all_partitions()
            },
        }


def answer(case: dict[str, Any]) -> dict[str, Any]:
    """What the capacity driver answers to a case."""
    try:
        replay = CapacityReplay(case)
    except (CapacityFileError, MappingError, Refused) as error:
        return {"init_error": f"YarnException/{error.hadoop}"}
    return replay.run()


def comparable(found: dict[str, Any]) -> dict[str, Any]:
    """An answer without what follows the order of hash tables alone: hash codes, and the orders of marks and of ends at one moment."""
    answer = dict(found)
    for name in ("submit", "allocations"):
        if name in answer:
            answer[name] = _ordered(answer[name])
    if "steps" in answer:
        answer["steps"] = [{**step, "events": _ordered(step["events"])} if "events" in step else step for step in answer["steps"]]
    result: dict[str, Any] = _narrow(answer)
    return result


def _ordered(events: Events) -> Events:
    result: Events = []
    run: Events = []
    for event in [*({key: value for key, value in event.items() if key != "h"} for event in events), {}]:
        kind = str(event.get("ev", ""))
        if run and (kind != run[0]["ev"] and not (kind.startswith("mark_") and str(run[0]["ev"]).startswith("mark_"))):
            result += sorted(run, key=lambda one: (str(one["ev"]), str(one.get("c", one))))
            run = []
        if kind == "done" or kind.startswith("mark_"):
            run.append(event)
        elif event:
            result.append(event)
    return result


def _narrow(found: Any) -> Any:
    """Floats of Hadoop are in single precision, and JSON writes them shorter."""
    if isinstance(found, dict):
        return {key: _narrow(value) for key, value in found.items()}
    if isinstance(found, list):
        return [_narrow(one) for one in found]
    if found == "NaN" or (isinstance(found, float) and math.isnan(found)):
        return "NaN"
    if found in {"Infinity", "-Infinity"}:
        return float(found.replace("Infinity", "inf"))
    return f32(found) if isinstance(found, float) else found
