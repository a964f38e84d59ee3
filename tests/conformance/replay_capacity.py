"""Plays a case against the capacity driver and records what it decides, in the form of Hadoop's answers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from conformance.java_orders import key_hash, node_hash, string_hash, table_order
from conformance.live import Live
from conformance.loading import vector
from conformance.playing import STEPS, Events, Player, playable
from core.builders import capacities_in, capacity_state
from offers.applicant import Applicant
from offers.capacity.driver import CapacityDriver, MoveDenied
from offers.capacity.member import Member
from offers.capacity.world import CapacityOrders
from offers.effects import Effect, HoldTaken, Marked
from offers.nodes import Container, NodeManager
from offers.requests import ANY
from treadle.convert.capacity_file import CapacityFile, CapacityFileError, read
from treadle.convert.errors import MappingError
from treadle.convert.mapping import overrides, read_rules
from treadle.core.errors import InvalidSpec
from treadle.core.model import CAPACITY, ApplicationSpec, QueueSpec, SchedulerSpec
from treadle.core.rules.capacity.am_share import limit_of_leaf, limit_of_user
from treadle.core.rules.capacity.auto.creation import CreationRefused
from treadle.core.rules.capacity.auto.names import TreeNames
from treadle.core.rules.capacity.queue import CapacityQueue
from treadle.core.rules.capacity.validation import Refused
from treadle.core.rules.moves import MoveRefused
from treadle.core.rules.placement.mapping import InvalidMapping, Mapper, MappingRejected, Submission
from treadle.core.units.amounts import f32
from treadle.core.units.resources import PODS


def built(case: dict[str, Any]) -> bool:
    """Whether a case is of a kind that this driver plays."""
    return playable(case, "capacity", STEPS | {"manage_queues", "expire_queues"})


NEVER = 1e300
"""Seconds between rounds that a case calls for itself."""


class RestoreFailed(Exception):
    """The last configuration cannot be put in force again; the exception of Hadoop."""


class CapacityReplay(Player):
    errors = (Refused, CapacityFileError, RestoreFailed, InvalidSpec)

    def __init__(self, case: dict[str, Any], *, live: bool = False) -> None:
        super().__init__(case, live=live)
        self.partitions = {one["name"]: one.get("exclusive", True) for one in case.get("labels", [])}
        loaded = self._load(case["conf"])
        self.sorted_rounds = loaded.settings.preemption.by_priority
        groups = {user: tuple(groups) for user, groups in (case.get("groups") or {}).items()}
        orders = CapacityOrders(
            self._nodes,
            self._queues,
            lambda paths: table_order(paths, string_hash),
            self._containers,
            self._ends,
            self._holds,
            list,
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
        self.driver.beside = self
        self.loaded = loaded
        if self.live is not None:
            self.live.tell_masters = False
        self.conf = case["conf"]
        self.mapper = self._mapper(self.conf)
        self.known = set(self.driver.world.tree.queues())
        self.started = False

    def applications(self) -> Mapping[str, Applicant]:
        return self.driver.world.members

    def define(self, live: Live) -> None:
        preemption = replace(self.loaded.settings.preemption, enabled=False)
        settings = replace(
            self.loaded.settings,
            preemption=preemption,
            reservable_nodes=0.0,
            node_delay=-1,
            rack_delay=0,
            management_interval=NEVER,
            removal_interval=NEVER,
        )
        rules = tuple(read_rules(self.conf)) if self.mapper is not None else ()
        scheduler = SchedulerSpec(
            discipline=CAPACITY,
            capacity=settings,
            mapping=rules,
            mapping_override=self.mapper is not None and overrides(self.conf),
        )
        live.stays = bool(self.case.get("watch_queues"))
        live.lazy, live.memory_only = settings.lazy_preemption, not settings.all_types
        live.define(
            scheduler,
            [
                QueueSpec(self.path(path), capacity=replace(spec, path=self.path(path)))
                for path, spec in self.loaded.queues.items()
            ],
        )
        live.see_nodes(self.driver.world.nodes.values())

    def spec_of(self, application: Applicant) -> ApplicationSpec:
        member = self.driver.world.members[application.name]
        return replace(self.said(member.name, member.user, member.priority), queue=self.path(member.leaf.path))

    def follow(self, live: Live) -> None:
        world = self.driver.world
        self.define(live)
        live.see(world.members.values(), self.spec_of, lambda member: member.runnable and member in member.leaf.active)
        live.keep({hold: member for member in world.members.values() for hold in member.all_holds()}, counted=True)

    def figures(self, live: Live) -> dict[str, tuple[Any, Any]]:
        state, found = live.core.state, dict[str, tuple[Any, Any]]()
        positions = [0] if live.memory_only else [at for at in range(len(self.types)) if at != PODS]
        for path, theirs in self.driver.world.tree.queues().items():
            queue = state.tree.queues.get(self.path(path))
            ours = capacities_in(state).of.get(self.path(path)) if capacities_in(state) is not None else None
            if queue is None or ours is None:
                continue
            for partition in self._all_partitions():
                mine, share = ours.share(partition), theirs.share(partition)
                part = queue if not partition else queue.parts.get(partition)
                amounts = {
                    "eff_min": (mine.minimum, share.minimum),
                    "eff_max": (mine.maximum, share.maximum),
                    "abs_cap": (mine.absolute, share.absolute),
                    "abs_max_cap": (mine.absolute_maximum, share.absolute_maximum),
                    "used": (part.usage if part is not None else [0] * len(self.types), theirs.usage.see(partition).used),
                }
                for what, (one, other) in amounts.items():
                    whole = isinstance(one, list)
                    pair = ([one[at] for at in positions], [other[at] for at in positions]) if whole else (one, other)
                    found[f"{path}@{partition} {what}"] = pair
        return found

    def _keeps_names(self) -> bool:
        """Whether rules go by the names of queues, so that they must stay what they are."""
        return bool(self.case.get("watch_queues")) or self.mapper is not None

    def asked_path(self, identity: str) -> str:
        known = None if self._keeps_names() else self.driver.world.tree.find(self.asked[identity])
        return self.path(known.path) if known is not None else super().asked_path(identity)

    def path(self, path: str) -> str:
        """Return a path for which names order siblings as Hadoop's file does, whose order breaks ties."""
        if self._keeps_names():
            return path.lower()
        names = path.split(".")
        result = names[:1]
        for at in range(1, len(names)):
            above = self.loaded.queues.get(".".join(names[:at]))
            children = above.children if above is not None else ()
            place = children.index(names[at]) if names[at] in children else 999
            result.append(f"q{place:03}-{names[at].lower()}")
        return ".".join(result)

    def _mapper(self, conf: Mapping[str, str]) -> Mapper | None:
        rules = read_rules(conf)
        return Mapper(rules, TreeNames(self.driver.world.tree), override=overrides(conf)) if rules else None

    def _load(self, conf: Mapping[str, str]) -> CapacityFile:
        return read(conf, self.case.get("resource_types", []), self.partitions)

    def _nodes(self, nodes: Sequence[NodeManager]) -> list[NodeManager]:
        return table_order(nodes, lambda node: node_hash(node.name))

    def _containers(self, node: NodeManager) -> list[Container]:
        return table_order(node.containers, self.hash_of, peak=node.peak)

    def _ends(self, member: Member) -> list[Container]:
        return table_order(member.containers, self.hash_of, peak=member.peak, concurrent=True)

    def _holds(self, member: Member) -> list[Container]:
        keys = table_order(member.holds, lambda key: key_hash(key.priority, key.allocation))
        return [member.holds[key][node] for key in keys for node in self._nodes(list(member.holds[key]))]

    def _queues(self, queues: Sequence[CapacityQueue]) -> list[CapacityQueue]:
        return table_order(queues, lambda queue: string_hash(queue.path))

    # ---- steps

    def step(self, step: dict[str, Any]) -> None:
        super().step(step)
        self._see_queues()

    def error_class(self, error: Exception, step: dict[str, Any]) -> str:
        match error:
            case MoveDenied():
                return "YarnException/AccessControlException"
            case MoveRefused():
                return "YarnException"
            case Refused():
                return "/".join(dict.fromkeys(["IOException", error.hadoop]))
            case CapacityFileError():
                return f"IOException/{error.hadoop}" if step["op"] == "reinit" else error.hadoop
            case RestoreFailed():
                return str(error)
            case InvalidMapping():
                return "IOException/YarnException"
            case CreationRefused():
                return error.hadoop
        return type(error).__name__

    def _add_node(self, step: dict[str, Any]) -> None:
        rack, total = step.get("rack", "/default-rack"), vector(step["res"], self.types)
        self.record(self.driver.add_node(step["id"], rack, total, self.now, partition=step.get("label", "")))

    def _add_app(self, step: dict[str, Any]) -> None:
        name, identity = step["id"], self.enter(step)
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
                partition=step.get("label", ""),
                priority=step.get("priority", 0),
                placed=placed,
            )
        )
        self.ask_for_master(identity, step, master)

    def _preempt(self, step: dict[str, Any]) -> None:
        del step
        before = len(self.events)
        self.record(self.driver.preempt(self.now))
        if self.sorted_rounds:
            kinds = ["mark_container_for_preemption", "mark_container_for_killable", "kill_reserved_container", "done"]
            self.events[before:] = sorted(
                self.events[before:], key=lambda event: (kinds.index(event["ev"]), event.get("c", "") + event.get("app", ""))
            )

    def _kill(self, step: dict[str, Any]) -> None:
        container = self.pick(step)
        if container is not None:
            self.record(self.driver.kill(container, self.now))

    def _remove_app(self, step: dict[str, Any]) -> None:
        if self.ids[step["app"]] in self.driver.world.members:
            self.record(self.driver.remove_application(self.ids[step["app"]], self.now))

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
        self.loaded = loaded

    def _restore(self) -> None:
        """Put the last configuration in force again; if that fails, Hadoop names no other reason."""
        try:
            self._take_over(self.conf)
        except Refused as error:
            raise RestoreFailed(error.hadoop) from error

    def _manage_queues(self, step: dict[str, Any]) -> None:
        del step
        if self.live is not None:
            self.follow(self.live)
            capacity_state(self.live.core.state).automatic.managed_at = float("-inf")
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

    def containers_of(self, application: str) -> list[Container]:
        member = self.driver.world.members.get(application)
        return sorted(member.containers, key=lambda one: one.ordinal) if member is not None else []

    # ---- what was decided

    def event(self, effect: Effect) -> dict[str, Any]:
        match effect:
            case Marked(container, due):
                marked = "mark_container_for_" + ("killable" if due else "preemption")
                if container.ordinal == 0:
                    return {"ev": marked, "app": self.names[container.owner.name], "node": container.node.name}
                return {"ev": marked, "c": self.name(container)}
            case HoldTaken(application, node):
                return {"ev": "kill_reserved_container", "app": self.names[application], "node": node}
        return super().event(effect)

    def _see_queues(self) -> None:
        before, self.known = self.known, set(self.driver.world.tree.queues())
        for kind, paths in (("queues_added", self.known - before), ("queues_removed", before - self.known)):
            if paths and self.case.get("watch_queues"):
                self.events.append({"ev": kind, "queues": sorted(paths)})

    # ---- the state

    def dump(self) -> dict[str, Any]:
        world = self.driver.world
        queues = world.tree.queues()
        return {
            "cluster": self.resources(world.context.total),
            "queues": {path: self._queue(queues[path]) for path in sorted(queues)},
            "apps": {self.names[name]: self._app(member) for name, member in world.members.items()},
            "nodes": self.nodes(),
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
        share, amounts = queue.share(partition), queue.usage.see(partition)
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
        amounts = user.usage.see(partition)
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
            "used": self.resources(member.usage.see("").used),
            "reserved": self.resources(member.usage.see("").reserved),
            "containers": len(member.containers),
            "outstanding": sum(requests.count(key, ANY) for key in requests.keys),
            "headroom": self.resources(self.driver.headroom(member.name)),
            "active": member in member.leaf.active,
            "partitions": {
                partition: {
                    "used": self.resources(member.usage.see(partition).used),
                    "pending": self.resources(member.usage.see(partition).pending),
                }
                for partition in self._all_partitions()
            },
        }


def play(case: dict[str, Any], *, live: bool = False) -> CapacityReplay:
    """Play a case. Raises what ends it before it starts."""
    player = CapacityReplay(case, live=live)
    player.run()
    return player


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
