"""Short words for applications whose pods are placed together, and a plain reading of whether they may be where they are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from core.builders import Scenario, a_pod
from core.naive_rules import Cluster
from treadle.core.events import ApplicationSeen
from treadle.core.model import RACK_LABEL, ApplicationSpec, Constraints, PodRules, PodSpec
from treadle.core.model.programs import IntegerProgram, Solution
from treadle.core.model.scheduler import TogetherSettings
from treadle.core.rules.constraints.parsing import parse_expression
from treadle.core.rules.constraints.processor import SERIAL
from treadle.runtime.solver import Highs


class Answering:
    """A solver that has one answer to everything, or raises it."""

    problem = ""

    def __init__(self, answer: Solution | Exception) -> None:
        self.answer = answer
        self.asked: list[IntegerProgram] = []

    def solve(self, program: IntegerProgram, _seconds: float) -> Solution:
        self.asked.append(program)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def a_cluster(nodes: int = 4, iterator: str = SERIAL, solver: object = None, **fields: Any) -> Scenario:
    """Nodes n0, n1, … in two racks, and an application whose pods are placed together, with a solver if one is given."""
    at = Scenario()
    if solver is not None:
        at.core.state.settings.solver = solver  # type: ignore[assignment]
        at.scheduler(together=TogetherSettings(solver=True))
    for number in range(nodes):
        at.node(f"n{number}", labels={RACK_LABEL: f"r{number % 2}"}, **fields)
    at.tell(ApplicationSeen(ApplicationSpec("ns/app", together=iterator)))
    return at


def tagged(name: str, *tags: str, constraint: str = "", **fields: Any) -> PodSpec:
    rules = PodRules("ns", placement=(parse_expression(constraint),), application="ns/app") if constraint else None
    return a_pod(name, application="app", tags=tags, constraints=Constraints(pods=rules), **fields)


def discontent(at: Scenario, pods: Iterable[PodSpec], on: dict[str, str]) -> list[str]:
    """The pods that may not be where they are beside all others that are placed."""
    specs = {pod.uid: pod for pod in pods}
    nodes = {node.name: node for node in at.core.state.nodes.specs if node is not None}
    found = []
    for uid, node in on.items():
        others = {other: (specs[other], where) for other, where in on.items() if other != uid}
        if Cluster(nodes, {}, others).refusal(specs[uid], nodes[node]):
            found.append(uid)
    return found


class Timeless(Highs):
    """HiGHS with enough time, of which none counts: the same answers on a busy machine."""

    def solve(self, program: IntegerProgram, seconds: float) -> Solution:
        return replace(super().solve(program, max(seconds, 60.0)), seconds=0.0)


HIGHS = Timeless()
