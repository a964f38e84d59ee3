"""Cases of YARN's placement processor: a batch of requests with placement constraints that is placed together.

The algorithm is the one that serves, and whether constraints hold is answered by the core that serves: by the rules of the pods' shapes, whose
counts have what is placed. Hadoop's room is another: see ``AsHadoop``.
"""

from __future__ import annotations

from typing import Any

from conformance.constraints import PARTITION, attributes, constraints, pod
from treadle.core.core import Core
from treadle.core.events import ApplicationSeen, NodeSeen, PodSeen, SchedulerSeen
from treadle.core.kernel.between.tallies import Tally
from treadle.core.kernel.tree.members import PodRecord
from treadle.core.model import RACK_LABEL, ApplicationSpec, Constraints, NodeSpec, PodRules, SchedulerSpec
from treadle.core.rules.constraints.processor import SERIAL, Answer, Request, in_order, place

Size = tuple[int, int]


def built(case: dict[str, Any]) -> bool:
    return case.get("kind") == "placement"


def comparable(found: dict[str, Any]) -> dict[str, Any]:
    return found


def answer(case: dict[str, Any]) -> dict[str, Any]:
    order: list[str] = case["expect"]["node_order"]
    cluster = Cluster(case, order)
    return {"node_order": order, "batches": [cluster.batch(number, batch) for number, batch in enumerate(case["batches"])]}


class Cluster:
    """A core with nodes and containers; ``order`` is that of Hadoop's table of nodes."""

    def __init__(self, case: dict[str, Any], order: list[str]) -> None:
        self._case = case
        self._order = order
        self._memory_only = case.get("calculator", "memory") == "memory"
        self._free = {node["id"]: (node["res"][0], node["res"][1]) for node in case["nodes"]}
        self._core = core = Core(validate=True)
        core.handle(SchedulerSeen(SchedulerSpec()), 0.0)
        for node in case["nodes"]:
            labels = {RACK_LABEL: node["rack"], PARTITION: node.get("label", "")} | attributes(node.get("attributes", []))
            core.handle(NodeSeen(NodeSpec(node["id"], {"pods": 100_000}, labels)), 0.0)
        self._tags_of = {one["id"]: tuple(one.get("tags", ())) for one in case["apps"] if isinstance(one, dict)}
        for name in (one["id"] if isinstance(one, dict) else one for one in case["apps"]):
            core.handle(ApplicationSeen(ApplicationSpec(f"ns/{name}")), 0.0)
        self._number = 0
        for one in (container for container in case["containers"] for _ in range(container.get("count", 1))):
            self._bound(one["app"], one["tags"], one["node"])

    def batch(self, number: int, batch: dict[str, Any]) -> dict[str, Any]:
        """Place a batch as Hadoop does."""
        requests = [self._request(number, at, batch["app"], given) for at, given in enumerate(batch["requests"])]
        iterator, attempt = batch.get("iterator", SERIAL), batch.get("attempt", 1)
        found: dict[str, Any] = {"order": [self._id(batch, one) for one in in_order(requests, iterator)]}
        if any(not request.tags for request in requests) and self._order:
            return found | {"error": "NoSuchElementException"}
        sizes = {request.owner.spec.uid: tuple(given["res"]) for request, given in zip(requests, batch["requests"], strict=True)}
        avoided = {(min(one["tags"]), one["node"]) for one in batch.get("blacklist", ())}
        site = AsHadoop(self._core, dict(self._free), sizes, requests, avoided, memory_only=self._memory_only)
        result: Answer[PodRecord, str] = place(requests, self._order, site, iterator)
        site.clear()
        found["placed"] = [{"id": self._id(batch, one.request), "attempt": attempt, "nodes": one.nodes} for one in result.placed]
        found["rejected"] = [{"id": self._id(batch, one), "attempt": attempt, "count": one.count} for one in result.rejected]
        if not site.any:
            found["error"] = "NullPointerException"
        if batch.get("commit"):
            for one in result.placed:
                for node in one.nodes:
                    self._bound(batch["app"], one.request.tags, node)
        return found

    def _id(self, batch: dict[str, Any], request: Request[PodRecord]) -> int:
        identity: int = batch["requests"][int(request.owner.spec.name.rpartition("-")[2])]["id"]
        return identity

    def _request(self, number: int, at: int, app: str, given: dict[str, Any]) -> Request[PodRecord]:
        """A request as one pod that waits, whose shape has its constraints."""
        named = next((one for one in self._case["apps"] if isinstance(one, dict) and one["id"] == app), {})
        asked = {**self._case, "app": app, "tags": given["tags"], "app_constraints": named.get("constraints", ())}
        asked.pop("constraint", None)
        if "constraint" in given:
            asked["constraint"] = given["constraint"]
        wanted = tuple(constraints(asked))
        rules = PodRules("ns", placement=wanted, application=f"ns/{app}") if wanted else None
        name = f"b{number}-{at}"
        self._core.handle(
            PodSeen(pod(name, app, given["tags"], self._tags_of, constraints=Constraints(pods=rules), gated=True)), 0.0
        )
        return Request(self._core.state.pods[name], tuple(sorted(given["tags"])), given["count"])

    def _bound(self, app: str, tags: Any, node: str) -> None:
        self._number += 1
        self._core.handle(PodSeen(pod(f"c{self._number}", app, list(tags), self._tags_of, node=node)), 0.0)


class AsHadoop:
    """Nodes with Hadoop's defects (docs/deviations.md).

    What a placement takes is added to a node's room, and what is taken back is subtracted, so that within a batch nodes only grow; nodes that a tag is
    to avoid are avoided in the first round only.
    """

    def __init__(
        self,
        core: Core,
        free: dict[str, Size],
        sizes: dict[str, Size],
        first_round: list[Request[PodRecord]],
        avoided: set[tuple[str, str]],
        *,
        memory_only: bool,
    ) -> None:
        self._first_round = first_round
        self._avoided = avoided
        self._core = core
        self._free = free
        self._sizes = sizes
        self._types = 1 if memory_only else 2
        self._counted: list[tuple[Tally, int]] = []
        self.any = False
        """Whether anything was put anywhere: Hadoop's clean-up fails otherwise."""
        core.plan(0.0, 0)  # rules that have come up are counted

    def fits(self, request: Request[PodRecord], node: str) -> bool:
        if (request.tags[0], node) in self._avoided and any(request is one for one in self._first_round):
            return False
        return all(want <= have for want, have in list(zip(self._size(request), self._free[node], strict=True))[: self._types])

    def satisfied(self, request: Request[PodRecord], node: str) -> bool:
        between = request.owner.shape.between
        return between is None or not between.refusal(self._row(node))

    def put(self, request: Request[PodRecord], node: str) -> None:
        self.any = True
        self._count(request, node, 1)

    def take(self, request: Request[PodRecord], node: str) -> None:
        self._count(request, node, -1)

    def clear(self) -> None:
        """Take out of the counts what was put into them."""
        for tally, row in self._counted:
            tally.add(row, -1)

    def _count(self, request: Request[PodRecord], node: str, sign: int) -> None:
        row, size, free = self._row(node), self._size(request), self._free[node]
        self._free[node] = free[0] + sign * size[0], free[1] + sign * size[1]
        for tally in request.owner.kind.tallies:
            tally.add(row, sign)
            if sign > 0:
                self._counted.append((tally, row))
            else:
                self._counted.remove((tally, row))

    def _size(self, request: Request[PodRecord]) -> Size:
        return self._sizes[request.owner.spec.uid]

    def _row(self, node: str) -> int:
        return self._core.state.nodes.row[node]
