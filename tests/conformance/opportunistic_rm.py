"""Cases of opportunistic containers at YARN's resource manager: what is known of the queues at nodes, their limit, and who gets which node.

What Hadoop draws at random is given (``starts``), and so are the orders of its tables of nodes; what it leaves to other tables is asked of ``java_orders``.
``AsHadoop...`` are its defects (docs/deviations.md).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import cycle
from typing import Any

from conformance.java_orders import node_hash, string_hash, table_order
from treadle.core.rules.opportunistic.central import Central
from treadle.core.rules.opportunistic.node_loads import LoadOrder, NodeLoads, Report
from treadle.core.rules.opportunistic.queue_limits import QueueBounds, QueueLimit
from treadle.core.rules.opportunistic.requests import Asked, Key, Outstanding, Placed, Request, Size, Sizes
from treadle.core.rules.opportunistic.spread import Offered, Spread


def built(case: dict[str, Any]) -> bool:
    return case.get("kind") == "opportunistic_rm"


def comparable(found: dict[str, Any]) -> dict[str, Any]:
    return found


def answer(case: dict[str, Any]) -> dict[str, Any]:
    manager = Manager(case.get("conf", {}))
    return {"steps": [manager.play(step, told) for step, told in zip(case["steps"], case["expect"]["steps"], strict=True)]}


class NullPointerError(Exception):
    """Hadoop fails so."""


class AsHadoopLoads(NodeLoads):
    """Racks are walked in the order of a hash table. A node that was removed and reports is chosen again, which ends the search in vain."""

    def report(self, name: str, told: Report, now: float) -> None:
        self.take_report(name, told, now)

    def take_any(self, avoided: Collection[str], demand: Sequence[int], start: int) -> str | None:
        best = self.sorted[: self.candidates]
        for at in range(len(best)):
            name = best[(start + at) % len(best)]
            if self.take(name, avoided, demand):
                return name
            load = self.loads.get(name)
            if load is not None and not self.known(name) and name not in avoided and self.count(load, demand):
                return None
        return None

    def on_rack(self, rack: str) -> Iterable[str]:
        return table_order(super().on_rack(rack), node_hash)


class AsHadoopOutstanding(Outstanding):
    """Sizes of a key and preferred places are walked in the order of hash tables."""

    def of(self, key: Key) -> list[Request]:
        return table_order(super().of(key), lambda request: size_hash(request.size))

    def preferred(self, places: Mapping[str, int]) -> list[str]:
        return table_order(places, string_hash)


def size_hash(size: Size) -> int:
    return (47 * (47 + size[0]) + size[1]) & 0xFFFFFFFF


def left(request: Request, found: Mapping[Size, Sequence[Placed]]) -> int:
    """Where something was placed for another size of the key Hadoop fails."""
    if found and request.size not in found:
        raise NullPointerError
    return request.count


class AsHadoopCentral(Central):
    def left(self, request: Request, found: dict[Size, list[Placed]]) -> int:
        return left(request, found)


class AsHadoopSpread(Spread):
    def left(self, request: Request, found: dict[Size, list[Placed]]) -> int:
        return left(request, found)

    def on_nodes(self, request: Request, nodes: Sequence[Offered]) -> Sequence[Offered]:
        """No more nodes are looked at than containers are wanted, those to be avoided among them."""
        return nodes[: request.count]

    def on_racks(self, request: Request, nodes: Sequence[Offered]) -> Offered | None:
        """Racks are looked at for requests that name nodes too, and from the end of what is collected for the whole request."""
        return nodes[(request.count - 1) % len(nodes)] if request.nodes and nodes else None


class Manager:
    def __init__(self, conf: Mapping[str, Any]) -> None:
        self._loads = AsHadoopLoads(LoadOrder(conf.get("comparator", "QUEUE_LENGTH")), conf.get("k", 10))
        self._limit: QueueLimit | None = None
        if "min" in conf:
            self._limit = QueueLimit(QueueBounds(conf.get("sigma", 1), conf["min"], conf["max"]))
        most = conf.get("max_per_heartbeat", -1)
        self._central, self._spread = AsHadoopCentral(self._loads, most), AsHadoopSpread(most)
        self._sizes = Sizes(
            tuple(conf.get("min_res", (1024, 1))), tuple(conf.get("max_res", (8192, 8))), tuple(conf.get("inc_res", (512, 1)))
        )
        self._applications: dict[str, AsHadoopOutstanding] = {}
        self._nodes: dict[str, dict[str, Any]] = {}
        self._now = 0

    def play(self, step: dict[str, Any], told: dict[str, Any]) -> dict[str, Any]:
        try:
            found = getattr(self, step["op"])(step)
            if step.get("dump"):
                found["cluster"] = self._dump()
        except NullPointerError:
            found = {"error": "NullPointerException"}
        self._now += 1
        if "rack_order" in told:
            found["rack_order"] = {rack: list(self._loads.on_rack(rack)) for rack in told["rack_order"]}
        return found

    def add_node(self, step: dict[str, Any]) -> dict[str, Any]:
        self._nodes[step["id"]] = dict(step)
        self._loads.add(step["id"], step.get("rack", "/default-rack"))
        return {}

    def remove_node(self, step: dict[str, Any]) -> dict[str, Any]:
        self._loads.remove(step["id"])
        return {}

    def status(self, step: dict[str, Any]) -> dict[str, Any]:
        node = self._nodes[step["id"]]
        node.update({name: step[name] for name in ("res", "used") if name in step})
        told = {} if step.get("none") else step
        self._loads.report(
            step["id"],
            Report(
                told.get("queue", 0),
                told.get("capacity", 0),
                told.get("wait", -1) if told else 0,
                node.get("res", (0, 0)),
                node.get("used", (0, 0)),
                step.get("state") == "DECOMMISSIONING",
            ),
            self._now,
        )
        return {}

    def tick(self, step: dict[str, Any]) -> dict[str, Any]:
        self._now += step["ms"]
        return {}

    def sort(self, _step: dict[str, Any]) -> dict[str, Any]:
        self._loads.sort()
        found = {"sorted": list(self._loads.sorted)}
        if self._limit is None:
            return found
        self._limit.update(self._loads.figures())
        return found | self._limit_found(self._limit)

    def _limit_found(self, limit: QueueLimit) -> dict[str, Any]:
        by_wait = self._loads.order is LoadOrder.QUEUE_WAIT_TIME
        figure = limit.limit()
        return {
            "max_queue_length": -1 if by_wait else figure,
            "max_wait_ms": figure if by_wait else -1,
            "mean": limit.mean,
            "stdev": limit.deviation,
        }

    def limit(self, _step: dict[str, Any]) -> dict[str, Any]:
        assert self._limit is not None
        return self._limit_found(self._limit)

    def least(self, step: dict[str, Any]) -> dict[str, Any]:
        return {"nodes": self._loads.least_loaded(step["k"])}

    def select(self, step: dict[str, Any]) -> dict[str, Any]:
        avoided, demand = step.get("blacklist", ()), step.get("res", (0, 0))
        if "host" in step:
            return {"node": step["host"] if self._loads.take(step["host"], avoided, demand) else None}
        if "rack" in step:
            return {"node": self._loads.take_on_rack(step["rack"], avoided, demand)}
        return {"node": self._loads.take_any(avoided, demand, starts(step)())}

    def allocate(self, step: dict[str, Any]) -> dict[str, Any]:
        wanted = self._asked(step)
        return self._given(wanted, self._central.allocate(wanted, starts(step)))

    def distributed(self, step: dict[str, Any]) -> dict[str, Any]:
        wanted = self._asked(step)
        nodes = [self._nodes[name] for name in step["nodes"]]
        offered = [
            Offered(node["id"], node.get("rack", "/default-rack"), next(iter(node.get("labels", ())), "")) for node in nodes
        ]
        return self._given(wanted, self._spread.allocate(wanted, offered))

    def _asked(self, step: dict[str, Any]) -> AsHadoopOutstanding:
        wanted = self._applications.setdefault(step["app"], AsHadoopOutstanding(self._sizes))
        wanted.avoid(step.get("add", ()), step.get("remove", ()))
        wanted.ask(
            Asked(
                Key(one.get("priority", 1), one.get("alloc_id", -1)),
                one.get("name", "*"),
                tuple(one["res"]),
                one["count"],
                one.get("label", ""),
            )
            for one in step.get("asks", ())
        )
        return wanted

    def _given(self, wanted: Outstanding, placed: Iterable[Placed]) -> dict[str, Any]:
        outstanding = []
        for key in sorted(wanted.requests):
            of_key = [
                {
                    "priority": key.priority,
                    "alloc_id": key.identity,
                    "res": list(request.size),
                    "count": request.count,
                    "where": request.nodes | request.racks,
                }
                for request in wanted.of(key)
            ]
            outstanding += sorted(of_key, key=str)
        containers = [
            {
                "n": one.number,
                "node": one.node,
                "res": list(one.size),
                "priority": one.key.priority,
                "alloc_id": one.key.identity,
            }
            for one in placed
        ]
        return {"containers": containers, "outstanding": outstanding}

    def _dump(self) -> dict[str, Any]:
        return {
            name: {
                "queue": load.queued,
                "capacity": load.queue_capacity,
                "wait": load.wait,
                "available": list(load.available),
            }
            for name, load in sorted(self._loads.loads.items())
        }


def starts(step: dict[str, Any]) -> Callable[[], int]:
    taken = cycle(step.get("starts") or [0])
    return lambda: next(taken)
