"""A set that is placed together, stated for the solver: from the nodes, the rules and the pods of now to items and columns.

The rules themselves say what they count (``between.rules``), so what is stated is what is checked afterwards. What a program cannot say is not
left out: then the set is placed by the walk alone, and it is said why.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from treadle.core.kernel.between.topologies import EACH_NODE
from treadle.core.kernel.nodes.rules import affinity, host_ports, taints
from treadle.core.kernel.nodes.rules import placement_constraints as placement
from treadle.core.kernel.nodes.rules.pod_affinity import Away, Near
from treadle.core.model.placement_constraints import MOST
from treadle.core.rules.constraints.formulas import NODE_SCOPE, Counted, Described, Every, Formula, Some, TooLarge
from treadle.core.rules.constraints.patterns import Ground, Item
from treadle.core.rules.constraints.program import Ceiling, Limit
from treadle.core.units.resources import UNBOUNDED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from treadle.core.kernel.between.rules import Check
    from treadle.core.kernel.between.tallies import DomainCounts, Tally
    from treadle.core.kernel.between.topologies import Topology
    from treadle.core.kernel.nodes.shapes import Shape
    from treadle.core.kernel.state import State
    from treadle.core.kernel.together.guards import Guards
    from treadle.core.kernel.tree.members import Application, Ask, PodRecord
    from treadle.core.units.resources import Demand

MOST_ITEMS = 64
"""Kinds of pods in a set."""
MOST_TESTS = 100_000
"""Tests of descriptions times nodes."""
TAINTED = 100
"""What a taint with PreferNoSchedule that a pod does not tolerate is worth: as much as a wish for nodes of the highest weight."""


class Unsayable(Exception):
    """A pod has a rule that the program cannot state; the message says which."""


class Kin:
    """The pods of an ask that all rules count alike, in their order: one item of the program."""

    __slots__ = ("ask", "records", "tallies")

    def __init__(self, ask: Ask, tallies: frozenset[Tally]) -> None:
        self.ask = ask
        self.tallies = tallies
        self.records: list[PodRecord] = []


def kin_of(waiting: Sequence[tuple[Ask, Sequence[PodRecord]]]) -> list[Kin]:
    """Return the items of a set: of each ask the pods that are in the same counts."""
    found: dict[tuple[Ask, frozenset[Tally]], Kin] = {}
    for ask, records in waiting:
        for record in records:
            key = ask, frozenset(record.kind.tallies)
            if key not in found:
                found[key] = Kin(*key)
            found[key].records.append(record)
    return list(found.values())


class Stated:
    """The items and the ground of a set of kin; ``rows`` are the nodes that are looked at, the columns of the ground. Raises ``Unsayable`` and ``TooLarge``."""

    def __init__(self, state: State, application: Application, kin: list[Kin], rows: list[int], guards: Guards) -> None:
        if len(kin) > MOST_ITEMS:
            raise TooLarge(f"more than {MOST_ITEMS} kinds of pods")
        self.kin = kin
        self.rows = rows
        self._nodes = state.nodes
        self._scopes: dict[Topology, int] = {}
        self._counts: dict[Tally, int] = {}
        self._looked: dict[tuple[int, int], DomainCounts] = {}
        self._tests: list[Callable[[int], bool]] = []
        self.limits: list[Limit] = []
        guarding = self._guard(guards)
        rules: dict[Shape, Formula] = {}
        for one in kin:
            shape = one.ask.shape
            if shape not in rules:
                rules[shape] = self._rules(shape)
        levels = sorted({-one.ask.key[1] for one in kin})
        self.items = [
            Item(
                len(one.records),
                one.ask.shape.demand,
                levels.index(-one.ask.key[1]),
                frozenset(self._counts[tally] for tally in one.tallies if tally in self._counts),
                Every((rules[one.ask.shape], *(rule for tally, rule in guarding if tally in one.tallies))),
                frozenset(number for number, other in enumerate(kin) if _clash(one.ask.shape, other.ask.shape)),
            )
            for one in kin
        ]
        self.ground = self._ground(state)
        self.ceilings = [
            Ceiling(tuple(dict(one.ask.shape.demand).get(position, 0) for one in kin), most - used)
            for queue in application.limiting
            for position, (most, used) in enumerate(zip(queue.maximum, queue.usage, strict=False))
            if most < UNBOUNDED
        ]

    # ---- rules

    def _rules(self, shape: Shape) -> Formula:
        between = shape.between
        if between is None:
            return Every()
        if between.problem:
            raise Unsayable(between.problem)
        between.follow()
        return Every(tuple(self._rule(check) for check in between.checks))

    def _rule(self, check: Check) -> Formula:
        if isinstance(check, placement.Placement):
            return self._part(check.part)
        if isinstance(check, Away):
            return self._counted(check.counts, 0, 0)
        if isinstance(check, Near):
            raise Unsayable("required pod affinity")
        raise Unsayable("topology spread, volumes or devices")

    def _part(self, part: placement.Part) -> Formula:
        match part:
            case placement.Tagged():
                return Every(tuple(self._counted(one, part.least, part.most) for one in part.counts))
            case placement.Described():
                return self._described(part.admits)
            case placement.Joined():
                parts = tuple(self._part(child) for child in part.children)
                return Every(parts) if part.all_of_them else Some(parts)

    def _described(self, test: Callable[[int], bool]) -> Described:
        self._tests.append(test)
        return Described(len(self._tests) - 1)

    def _guard(self, guards: Guards) -> list[tuple[Tally, Formula]]:
        """State what earlier sets demand: of a wider scope as limits, of a node as rules for the pods that are in a count."""
        found: list[tuple[Tally, Formula]] = []
        for counts, by_domain in guards.limits.items():
            scope = self._scope(counts.topology)
            number = self._counts.setdefault(counts.tally, len(self._counts))
            if scope != NODE_SCOPE:
                self.limits += [
                    Limit(number, scope, domain, most - counts.counts.get(domain, 0)) for domain, most in by_domain.items()
                ]
                continue
            for most in sorted(set(by_domain.values())):
                elsewhere = self._described(partial(_is_not_limited_to, counts.topology, by_domain, most))
                found.append((counts.tally, Some((elsewhere, Counted(number, NODE_SCOPE, 0, most - 1)))))
        return found

    def _counted(self, counts: DomainCounts, least: int, most: int) -> Formula:
        scope = self._scope(counts.topology)
        number = self._counts.setdefault(counts.tally, len(self._counts))
        if scope != NODE_SCOPE:
            self._looked[number, scope] = counts
        return Counted(number, scope, least, None if most >= MOST else most)

    def _scope(self, topology: Topology) -> int:
        """Return the number of a scope: that of the node itself also for a label of which each node has a value of its own."""
        if topology not in self._scopes:
            domains = topology.column(len(self._nodes))[self._nodes.known_rows()]
            alone = topology.key == EACH_NODE or (len(np.unique(domains)) == len(domains) and not (domains < 0).any())
            wider = sum(number != NODE_SCOPE for number in self._scopes.values())
            self._scopes[topology] = NODE_SCOPE if alone else wider + 1
        return self._scopes[topology]

    # ---- nodes

    def _ground(self, state: State) -> Ground:
        nodes, rows = self._nodes, np.array(self.rows, dtype=np.int64)
        if len(self._tests) * len(rows) > MOST_TESTS:
            raise TooLarge(f"more than {MOST_TESTS} tests of nodes")
        column = {row: at for at, row in enumerate(self.rows)}
        here = np.zeros((len(self._counts), len(rows)), dtype=np.int64)
        for tally, number in self._counts.items():
            for row, count in tally.rows.items():
                if row in column:
                    here[number, column[row]] = count
        wider = [topology for topology, scope in self._scopes.items() if scope != NODE_SCOPE]
        return Ground(
            free=nodes.columns()[:, rows].copy(),
            admits=np.array([self._admits(one.ask.shape)[rows] for one in self.kin], dtype=np.bool_).reshape(-1, len(rows)),
            says=np.array([[test(row) for row in self.rows] for test in self._tests], dtype=np.bool_).reshape(-1, len(rows)),
            domains=np.array([rows, *(topology.column(len(nodes))[rows] for topology in wider)], dtype=np.int64),
            here=here,
            costs=np.array([self._costs(state, one.ask.shape) for one in self.kin], dtype=np.int64).reshape(-1, len(rows)),
            there={key: counts.counts for key, counts in self._looked.items()},
            large=_largest(state.together.largest, self.kin),
        )

    def _admits(self, shape: Shape) -> NDArray[np.bool_]:
        """Return which nodes let a pod in, whatever else of the set is there."""
        nodes = self._nodes
        found = nodes.mask(shape.constraints)
        if shape.ports:
            found = found.copy()
            for row in self.rows:
                if found[row] and not host_ports.free(shape.ports, nodes.ports[row]):
                    found[row] = False
        return found

    def _costs(self, state: State, shape: Shape) -> list[int]:
        """Return what of its wishes a pod does not get on each node: the weights of preferred node affinity, and taints with PreferNoSchedule."""
        nodes, wish = self._nodes, shape.asked.wish
        terms = wish.terms if wish is not None else ()
        disliked = bool(state.nodes.weights.taints and nodes.disliked)
        if not terms and not disliked:
            return [0] * len(self.rows)
        found = []
        for row in self.rows:
            spec, cost = nodes.specs[row], 0
            if spec is not None:
                cost = sum(weight for weight, term in terms if not all(affinity.holds(one, spec) for one in term))
                if disliked:
                    cost += TAINTED * sum(
                        taint.effect == "PreferNoSchedule" and not taints.tolerated(taint, shape.constraints.tolerations)
                        for taint in spec.taints
                    )
            found.append(cost)
        return found


def _largest(known: dict[int, int], kin: list[Kin]) -> Demand:
    """Return the most that a pod of any set so far has asked for of what this one asks for."""
    for one in kin:
        for position, value in one.ask.shape.demand:
            known[position] = max(known.get(position, 0), value)
    wanted = {position for one in kin for position, _ in one.ask.shape.demand}
    return tuple((position, value) for position, value in sorted(known.items()) if position in wanted)


def _is_not_limited_to(topology: Topology, by_domain: dict[int, int], most: int, row: int) -> bool:
    return by_domain.get(topology.domain[row]) != most


def _clash(one: Shape, other: Shape) -> bool:
    return bool(one.ports and other.ports) and not host_ports.free(one.ports, other.ports)
