"""Plays a case of kind shares or trace against the fair offer driver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from conformance.java_orders import key_hash, node_hash, string_hash, table_order
from conformance.live import Live
from conformance.loading import Loaded, load, vector
from conformance.playing import STEPS, Events, Player, playable
from offers.applicant import Applicant
from offers.attempt import Attempt
from offers.driver import AskRefused, OfferDriver
from offers.effects import Cause, Effect, Relieved
from offers.nodes import Container, NodeManager
from offers.requests import ANY, Ask, Key
from offers.tree import OfferQueue
from offers.walk import masters_of
from offers.world import Orders
from treadle.convert.errors import AllocationError
from treadle.core.errors import InvalidSpec
from treadle.core.model import ApplicationSpec, SchedulerSpec
from treadle.core.rules.fair.starvation import wants
from treadle.core.rules.moves import MoveRefused


def built(case: dict[str, Any]) -> bool:
    """Whether a case is of a kind that this driver plays."""
    return playable(case, "fair", STEPS | {"update"}) and not case.get("labels")


class Replay(Player):
    errors = (MoveRefused, AskRefused, InvalidSpec)

    def __init__(self, case: dict[str, Any], *, live: bool = False) -> None:
        super().__init__(case, live=live)
        self.most_nodes = 0
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
        self.loaded = loaded
        self.driver.beside = self

    def applications(self) -> Mapping[str, Applicant]:
        return self.driver.world.attempts

    def define(self, live: Live) -> None:
        settings = replace(self.loaded.settings, preemption=False, node_delay=-1.0, rack_delay=-1.0)
        live.define(
            SchedulerSpec(fair=settings, rules=tuple(self.loaded.rules)),
            [replace(spec, path=self.path(spec.path)) for spec in self.loaded.queues],
        )
        live.see_nodes(self.driver.world.nodes.values())

    def spec_of(self, application: Applicant) -> ApplicationSpec:
        return self.said(application.name, application.user)

    def follow(self, live: Live) -> None:
        world = self.driver.world
        self.define(live)
        live.see(world.attempts.values(), self.spec_of, lambda attempt: attempt.runnable and wants(attempt))
        live.keep({hold: attempt for attempt in world.attempts.values() for hold in attempt.holds.values()}, counted=False)

    def figures(self, live: Live) -> dict[str, tuple[Any, Any]]:
        queues, found = live.core.state.tree.queues, dict[str, tuple[Any, Any]]()
        for path, theirs in self.driver.world.tree.queues.items():
            ours = queues.get(self.path(path))
            if ours is not None:
                nothing = [0] * len(self.types)
                amounts = {
                    "min": (ours.minimum or nothing, theirs.minimum or nothing),
                    "max": (ours.maximum, theirs.maximum),
                    "used": (ours.usage, theirs.usage),
                    "policy": (ours.policy.name, theirs.policy.name),
                    "weight": (ours.weight, theirs.weight),
                }
                found |= {f"{path} {what}": pair for what, pair in amounts.items()}
        return found

    def _load(self, allocations: str | None = None) -> Loaded:
        return load(self.case, allocations)

    # ---- orders of Hadoop's hash tables

    def _containers(self, node: NodeManager) -> list[Container]:
        walked = table_order(node.containers, self.hash_of, peak=node.peak)
        return [one for one in reversed(walked) if not one.master] + [one for one in walked if one.master]

    def _nodes(self, nodes: Sequence[NodeManager]) -> list[NodeManager]:
        return table_order(nodes, lambda node: node_hash(node.name), peak=self.most_nodes)

    def _keys(self, keys: Sequence[Key]) -> list[Key]:
        return table_order(keys, lambda key: key_hash(*key), concurrent=True)

    def _places(self, asks: Sequence[Ask]) -> list[Ask]:
        return table_order(asks, lambda ask: string_hash(ask.place), concurrent=True)

    # ---- steps

    def refresh(self) -> None:
        self.driver.update(self.now)

    def error_class(self, error: Exception, step: dict[str, Any]) -> str:
        del step
        if isinstance(error, MoveRefused):
            return "YarnException"
        return "SchedulerInvalidResoureRequestException" if isinstance(error, AskRefused) else "InvalidQueueNameException"

    def _add_node(self, step: dict[str, Any]) -> None:
        rack = step.get("rack", "/default-rack")
        self.record(self.driver.add_node(step["id"], rack, vector(step["res"], self.types), self.now))
        self.most_nodes = max(self.most_nodes, len(self.driver.world.nodes))

    def _add_app(self, step: dict[str, Any]) -> None:
        identity = self.enter(step)
        managed = step.get("managed", "am" in step)
        master = None
        if managed:
            least = [self.driver.world.settings.least.get(one, 0) for one in self.types.names]
            master = self.driver.normal(vector(step["am"], self.types) if "am" in step else least)
        user, queue = step.get("user", "u"), step.get("queue", "default")
        self.record(self.driver.add_application(identity, user, queue, self.now, managed=managed, master=master))
        self.ask_for_master(identity, step, master)

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

    def _kill(self, step: dict[str, Any]) -> None:
        self.end(step, Cause.STOPPED)

    def _remove_app(self, step: dict[str, Any]) -> None:
        self.record(self.driver.remove_application(self.ids[step["app"]], self.now))

    def _reinit(self, step: dict[str, Any]) -> None:
        if "allocations" not in step:
            return
        try:
            loaded = self._load(step["allocations"])
        except AllocationError:
            return  # the last good configuration stays in force
        self.record(self.driver.load(loaded.queues, loaded.settings, loaded.rules, self.now))
        self.loaded = loaded

    def containers_of(self, application: str) -> list[Container]:
        attempt = self.driver.world.attempts.get(application)
        return list(attempt.containers) if attempt is not None else []

    def event(self, effect: Effect) -> dict[str, Any]:
        if isinstance(effect, Relieved):
            victims = [self.name(one) for one in effect.victims]
            return {"ev": "starved", "app": self.names[effect.application], "victims": victims}
        return super().event(effect)

    # ---- the state

    def dump(self) -> dict[str, Any]:
        world = self.driver.world
        return {
            "cluster": self.resources(world.cluster.total),
            "queues": {path: self._queue(world.tree.queues[path]) for path in sorted(world.tree.queues)},
            "apps": {self.names[name]: self._app(attempt) for name, attempt in world.attempts.items()},
            "nodes": self.nodes(),
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


def play(case: dict[str, Any], *, live: bool = False) -> Replay:
    """Play a case. Raises what ends it before it starts."""
    player = Replay(case, live=live)
    player.run()
    return player


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
