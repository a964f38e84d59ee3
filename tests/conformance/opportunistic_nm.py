"""Cases of opportunistic containers at YARN's node manager: what starts, what waits and what has to go."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Any

from treadle.core.rules.opportunistic.node_queues import Container, Move, Moved, NodeQueue, QueueSettings
from treadle.core.units.amounts import f32

NODE = "yarn.nodemanager."
QUEUE = NODE + "opportunistic-containers-"
WORDS = {
    Move.START: {"ev": "launch"},
    Move.RESUME: {"ev": "resume"},
    Move.PAUSE: {"ev": "pause"},
    Move.REFUSE: {"ev": "kill", "why": "queue_full"},
    Move.DISPLACE: {"ev": "kill", "why": "make_room"},
    Move.SHED: {"ev": "kill", "why": "shed"},
}


def built(case: dict[str, Any]) -> bool:
    return case.get("kind") == "opportunistic_nm"


def comparable(found: dict[str, Any]) -> dict[str, Any]:
    return found


def answer(case: dict[str, Any]) -> dict[str, Any]:
    manager = NodeManager(case["node"], case.get("conf", {}))
    return {"steps": [manager.play(step) for step in case["steps"]]}


class AsHadoop(NodeQueue):
    """Virtual memory is a type of its own, which is looked at by who starts only if it is checked, and always by who displaces."""

    checks_virtual = False

    def fits(self, demand: Any) -> bool:
        return all(
            have + more <= size
            for at, (have, more, size) in enumerate(zip(self.used, demand, self.size, strict=True))
            if at != 1 or self.checks_virtual
        )


class NodeManager:
    """A node, and its metrics of opportunistic containers, which Hadoop counts by what starts and ends."""

    def __init__(self, size: list[int], conf: dict[str, str]) -> None:
        self._ratio = f32(float(conf.get(NODE + "vmem-pmem-ratio", "2.1")))
        by_room = conf.get(QUEUE + "queue-policy", "") == "BY_RESOURCES"
        pause = conf.get(QUEUE + "use-pause-for-preemption", "false") == "true"
        self._most = 0 if by_room else int(conf.get(QUEUE + "max-queue-length", "0"))
        self._queue = AsHadoop(self._vector(size), QueueSettings(self._most, by_room, pause))
        self._queue.checks_virtual = conf.get(NODE + "vmem-check-enabled", "true") == "true"
        self._containers: dict[str, Container] = {}
        self._asked: dict[str, Move] = {}
        """Containers that were asked to end or to pause, and have not."""
        self._figures = [0, 0, 0]

    def _vector(self, size: list[int]) -> list[int]:
        memory, cores = size
        return [memory, int(f32(memory * self._ratio)), cores]

    def play(self, step: dict[str, Any]) -> dict[str, Any]:
        do: Callable[[dict[str, Any]], list[Moved]] = getattr(self, step["op"])
        events = [{**WORDS[move], "c": name} for move, name in do(step)]
        queue, figures = self._queue, self._figures
        return {
            "events": events,
            "running": list(queue.running),
            "guaranteed_queue": list(queue.guaranteed),
            "opportunistic_queue": list(queue.opportunistic),
            "to_kill": sorted(queue.going),
            "used": [queue.used[0], queue.used[1], float(queue.used[2])],
            "status": {
                "queued": len(queue.opportunistic),
                "wait_queue": len(queue.guaranteed) + len(queue.opportunistic),
                "wait_time": 0,
                "capacity": self._most,
                "running": figures[0],
                "memory": ceil(figures[1] / 1024),
                "vcores": figures[2],
            },
        }

    def _noted(self, moves: list[Moved]) -> list[Moved]:
        for move, name in moves:
            if move in {Move.START, Move.RESUME}:
                self._counted(self._containers[name], 1)
            else:
                self._asked[name] = move
        return moves

    def _counted(self, container: Container, sign: int) -> None:
        if not container.guaranteed:
            more = 1, container.demand[0], container.demand[2]
            self._figures = [have + sign * amount for have, amount in zip(self._figures, more, strict=True)]

    def _made(self, step: dict[str, Any]) -> Container:
        container = Container(step["id"], self._vector(step["res"]), step["type"] == "G", step.get("status") == "PAUSED")
        self._containers[step["id"]] = container
        return container

    def arrive(self, step: dict[str, Any]) -> list[Moved]:
        return self._noted(self._queue.arrive(self._made(step)))

    def complete(self, step: dict[str, Any]) -> list[Moved]:
        return self._over(step["id"])

    def settle(self, _step: dict[str, Any]) -> list[Moved]:
        return [moved for name in list(self._asked) for moved in self._over(name)]

    def _over(self, name: str) -> list[Moved]:
        container = self._containers[name]
        if name in self._queue.running:
            self._counted(container, -1)
        if self._asked.pop(name, None) is Move.PAUSE:
            return self._noted(self._queue.pause(container))
        container.paused = False
        return self._noted(self._queue.end(name))

    def promote(self, step: dict[str, Any]) -> list[Moved]:
        return self._noted(self._queue.promote(step["id"]))

    def demote(self, step: dict[str, Any]) -> list[Moved]:
        return self._noted(self._queue.demote(step["id"]))

    def resize(self, step: dict[str, Any]) -> list[Moved]:
        self._queue.resize(step["id"], self._vector(step["res"]))
        return []

    def limit(self, step: dict[str, Any]) -> list[Moved]:
        return self._noted(self._queue.shorten(step["max_queue"]))

    def recover(self, step: dict[str, Any]) -> list[Moved]:
        container = self._made(step)
        if step["status"] in {"LAUNCHED", "QUEUED", "PAUSED"}:
            self._queue.recover(container, runs=step["status"] == "LAUNCHED")
        return []

    def recovered(self, _step: dict[str, Any]) -> list[Moved]:
        return self._noted(self._queue.recovered())
