"""An application whose pods that wait are placed together, so that constraints among them are looked at as a whole (YARN's placement processor).

When the first ask of such an application has its turn all of its asks are tried, by ``rules.constraints.processor``: in the order of an iterator, on
nodes in turn, with a look back at what later ones have broken. What found nodes is placed at once and for good. What was rejected is tried again in further
attempts, until one places nothing more, and unlike in YARN all that is placed satisfies its constraints in the end; then it waits, for its queue if that is full or for nodes. A later change on nodes that
suit one of them begins anew, with all that wait.

To the limit of a user it is one placement, as a gang is.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from treadle.core.kernel.admission_checks import block
from treadle.core.kernel.attempt import tried
from treadle.core.kernel.nodes.candidates import pick
from treadle.core.kernel.nodes.rules import host_ports
from treadle.core.kernel.nodes.rules.resources import fits, fitting
from treadle.core.kernel.tree.limits import exceeded
from treadle.core.model import Wait
from treadle.core.rules.constraints.processor import Found, Request, place, take_back
from treadle.core.rules.constraints.writing import in_words

if TYPE_CHECKING:
    from treadle.core.effects import Placed
    from treadle.core.kernel.attempt import Attempt
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application, Ask, PodRecord, Queue

NO_NODE = "Unschedulable"
ATTEMPTS = 3
"""How often what was rejected is tried (``retry-attempts``)."""


@dataclass(slots=True)
class Outcome:
    """What came of it: the placements, and of the asks that have pods left those whose queue is ``full`` and those that are ``refused`` by nodes."""

    placed: list[Placed]
    full: dict[Ask, Queue] = field(default_factory=dict)
    refused: dict[Ask, Wait] = field(default_factory=dict)


class Cluster:
    """The nodes as they are, with what the attempt has counted on them."""

    def __init__(self, application: Application, state: State, attempt: Attempt, asks: list[Ask]) -> None:
        self._limiting = application.limiting
        self._state = state
        self._attempt = attempt
        self._left: dict[Ask, deque[PodRecord]] = {ask: deque(ask.pods) for ask in asks}
        self._there: dict[tuple[Ask, int], list[int]] = {}
        self.full: dict[Ask, Queue] = {}
        """Asks that found a queue full when they were last tried."""

    def fits(self, request: Request[Ask], row: int) -> bool:
        """Whether a queue and a node have room for one pod more."""
        ask, nodes = request.owner, self._state.nodes
        shape = ask.shape
        full = exceeded(self._limiting, shape.demand) if self._limiting else None
        if full is not None:
            self.full[ask] = full[0]
            return False
        return (
            fits(nodes.free[row], shape.demand)
            and nodes.admits(row, shape.constraints)
            and (not shape.ports or host_ports.free(shape.ports, nodes.ports[row]))
        )

    def satisfied(self, request: Request[Ask], row: int) -> bool:
        """Whether the rules between pods hold."""
        between = request.owner.shape.between
        return between is None or not between.refusal(row)

    def put(self, request: Request[Ask], row: int) -> None:
        """Count a pod on a node."""
        ask = request.owner
        self._there.setdefault((ask, row), []).append(self._attempt.place(ask, self._left[ask].popleft(), row))

    def take(self, request: Request[Ask], row: int) -> None:
        """Count it there no more."""
        ask = request.owner
        self._left[ask].appendleft(self._attempt.lift(self._there[ask, row].pop()))

    def waiting(self) -> dict[Ask, int]:
        """Return how many pods of each ask are on no node."""
        return {ask: len(left) for ask, left in self._left.items() if left}


def place_together(state: State, ask: Ask) -> Outcome:
    """Place what can be placed of an ask's application, whose turn it is."""
    batch = ask.shape.asked.batch
    assert batch is not None
    application = ask.application
    asks = sorted(
        one
        for one in application.asks.values()
        if one is ask or (one.batched and one.pods and block(application, one.pods.first) is None)
    )
    nodes = _nodes(state, asks)
    with tried(state, application) as attempt:
        cluster = Cluster(application, state, attempt, asks)
        placed: list[Found[Ask, int]] = []
        for _ in range(ATTEMPTS):
            left = cluster.waiting()
            cluster.full.clear()
            requests = [Request(one, one.shape.asked.batch[2] if one.shape.asked.batch else (), left[one]) for one in left]
            placed += place(requests, nodes, cluster, batch[1]).placed
            while take_back(cluster, placed):
                pass  # what relied on it is next
            if cluster.waiting() in ({}, left):
                break
        left, full = cluster.waiting(), {one: queue for one, queue in cluster.full.items() if one in cluster.waiting()}
    outcome = Outcome(attempt.commit(), full)
    for one, count in left.items():
        if one not in full and not (
            outcome.placed and pick(state.nodes, one.shape, state.score) >= 0
        ):  # else it has its turn again
            outcome.refused[one] = Wait(
                NO_NODE, "", _words(one, count, sum(len(each.pods) for each in asks) + len(outcome.placed))
            )
    return outcome


def _nodes(state: State, asks: list[Ask]) -> list[int]:
    """Return the nodes that have room for one of them, in the order in which they came."""
    nodes = state.nodes
    if nodes.only >= 0:
        return [nodes.only]
    columns = nodes.columns()[:, : len(nodes)]
    some = np.zeros(len(nodes), dtype=np.bool_)
    for one in asks:
        some |= nodes.mask(one.shape.constraints) & fitting(columns, one.shape.demand)
    return np.flatnonzero(some).tolist()


def _words(ask: Ask, count: int, among: int) -> str:
    """Say that pods were rejected, in YARN's word and with their constraints."""
    rules, application = ask.shape.asked.pods, ask.shape.asked.placement
    constraints = (rules.placement if rules is not None else ()) + (application[1] if application is not None else ())
    told = "; ".join(in_words(one) for one in constraints)
    return f"; COULD_NOT_PLACE_ON_NODE: tried together with the {among} pods of its application, {count} of its kind are left{told and f', constraint {told}'}"
