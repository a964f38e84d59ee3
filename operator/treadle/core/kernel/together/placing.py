"""An application whose pods that wait are placed together, so that constraints among them are looked at as a whole (YARN's placement processor).

When the first ask of such an application has its turn all of its asks are tried, by ``rules.constraints.processor``: in the order of an iterator, on
nodes in turn, with a look back at what later ones have broken. What was rejected is tried again in further
attempts, until one places nothing more, and unlike in YARN all that is placed satisfies its constraints in the end. A solver may have a better answer
(``improving``). Then what found nodes is placed at once and for good, and the rest waits, for its queue if that is full or for nodes. A later change on nodes that
suit one of them begins anew, with all that wait.

A set is of so many pods at the most; those beyond are the next set, which has its turn afterwards. To the limit of a user a set is one placement, as a gang is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from treadle.core.kernel.admission_checks import block
from treadle.core.kernel.attempt import tried
from treadle.core.kernel.nodes.candidates import pick
from treadle.core.kernel.nodes.rules.resources import fitting
from treadle.core.kernel.together.guards import Guards
from treadle.core.kernel.together.improving import FINAL, NOT_ASKED, WORDS, improve
from treadle.core.kernel.together.site import Site
from treadle.core.model import Wait
from treadle.core.rules.constraints.processor import Found, Request, place, take_back
from treadle.core.rules.constraints.writing import in_words

if TYPE_CHECKING:
    from treadle.core.effects import Placed
    from treadle.core.kernel.nodes.shapes import Shape
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Ask, Queue

NO_NODE = "Unschedulable"
ATTEMPTS = 3
"""How often what was rejected is tried (``retry-attempts``)."""
LARGEST = 1_000
"""Pods of a set: what a set costs grows with its pods times the nodes, and nothing else is decided meanwhile."""


@dataclass(slots=True)
class Outcome:
    """What came of it: the placements, and of the asks that have pods left those whose queue is ``full`` and those that are ``refused`` by nodes."""

    placed: list[Placed]
    full: dict[Ask, Queue] = field(default_factory=dict)
    refused: dict[Ask, Wait] = field(default_factory=dict)


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
    counts = _counts(state, ask, asks)
    nodes = _nodes(state, list(counts))
    with tried(state, application) as attempt:
        guards = Guards(application, None if state.scheduler.together.solver else state.now)
        site = Site(application, state, attempt, counts, guards)
        placed: list[Found[Ask, int]] = []
        for _ in range(ATTEMPTS):
            left = site.waiting()
            site.full.clear()
            requests = [Request(one, one.shape.asked.batch[2] if one.shape.asked.batch else (), left[one]) for one in left]
            placed += place(requests, nodes, site, batch[1]).placed
            while take_back(site, placed):
                pass  # what relied on it is next
            if site.waiting() in ({}, left):
                break
        solved = improve(state, application, site, nodes) if state.nodes.only < 0 else NOT_ASKED
        left = site.waiting()
        full = {one: queue for one, queue in site.full.items() if one in left}
    state.together.sets[solved] = state.together.sets.get(solved, 0) + 1
    outcome = Outcome(attempt.commit(), full)
    for one, count in left.items():
        again = outcome.placed and solved not in FINAL and pick(state.nodes, one.shape, state.score) >= 0
        if one not in full and not again:
            outcome.refused[one] = Wait(NO_NODE, "", _words(one, count, sum(counts.values()), solved))
    return outcome


def _counts(state: State, ask: Ask, asks: list[Ask]) -> dict[Ask, int]:
    """Return how many pods of which asks are the set: as many as it may have, of the first asks and of the one whose turn it is."""
    waiting = sum(len(one.pods) for one in asks)
    if waiting <= LARGEST:
        return {one: len(one.pods) for one in asks}
    large, identity = state.together.large, ask.application.whole.id
    large[identity] = max(large.get(identity, 0), waiting)
    counts, room = {}, LARGEST
    for one in asks[asks.index(ask) :] + asks[: asks.index(ask)]:
        count = min(room, len(one.pods))
        if count:
            counts[one] = count
        room -= count
    return {one: counts[one] for one in asks if one in counts}


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


def constraints_of(shape: Shape) -> str:
    """Return the constraints of pods of a shape in words, empty for none."""
    rules, application = shape.asked.pods, shape.asked.placement
    constraints = (rules.placement if rules is not None else ()) + (application[1] if application is not None else ())
    return "; ".join(in_words(one) for one in constraints)


def _words(ask: Ask, count: int, among: int, solved: str) -> str:
    """Say that pods were rejected, in YARN's word and with their constraints."""
    told = constraints_of(ask.shape)
    pods = f"{among} pods of its application" if among < LARGEST else f"{among} pods of its application (a set has no more)"
    how = f"; {WORDS[solved]}" if solved in WORDS else ""
    return f"; COULD_NOT_PLACE_ON_NODE: tried together with the {pods}, {count} of its kind are left{told and f', constraint {told}'}{how}"
