"""A set of pods to be placed together as an integer program (Medea, EuroSys 2018).

Medea's columns say which container goes to which node; here they say how many nodes of a class get which choice (``patterns``), which is
the same answer without the thousands of ways to number nodes that are alike. What must hold stays hard. Of all answers those are
best that place the most pods; of these, those by which the least of what pods wish is missed; of these, those that leave
room for a large pod on the most nodes.

What is demanded in a wider scope, as a rack, is a column of 0 or 1: that so many are there in the end. A choice that relies on it may be made
only where that is 1, and then it must be so.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import TYPE_CHECKING, NamedTuple

from treadle.core.model.programs import IntegerProgram, Row
from treadle.core.rules.constraints.formulas import TooLarge
from treadle.core.rules.constraints.patterns import NOWHERE, Patterns

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from treadle.core.rules.constraints.formulas import Counted
    from treadle.core.rules.constraints.patterns import Choice, Ground, Item, NodeClass

MOST_COLUMNS = 4_000
Place = tuple[int, int]
"""An item, and a column of the ground."""


class Worth(NamedTuple):
    """How good an answer is; a greater one is better: pods that are placed, what is missed of their wishes, nodes that have lost their room for a large pod."""

    placed: int
    missed: int
    broken: int


class Ceiling(NamedTuple):
    """So much may be had of something, as a queue's maximum: ``each`` is what a pod of an item takes."""

    each: tuple[int, ...]
    most: int


class Limit(NamedTuple):
    """At most so many pods of a count may come into a domain of a wider scope."""

    of: int
    scope: int
    domain: int
    most: int


@dataclass(frozen=True, slots=True)
class Column:
    """How many nodes of a class get a choice."""

    within: NodeClass
    choice: Choice


class Statement:
    """A program, and what its columns mean. ``before`` is how many pods of each item are placed without it, which it does not fall below. Raises ``TooLarge``."""

    def __init__(
        self,
        items: Sequence[Item],
        ground: Ground,
        ceilings: Iterable[Ceiling] = (),
        before: Sequence[int] = (),
        limits: Iterable[Limit] = (),
    ) -> None:
        self.items = items
        self.patterns = Patterns(items, ground)
        self.columns: list[Column] = []
        self._highest: list[int] = []
        self._rows: list[Row] = []
        self._switches: dict[tuple[Counted, int], int] = {}
        self._of_class: list[list[int]] = []
        self._relying: dict[tuple[Counted, int], list[int]] = {}
        self._in_domain: dict[tuple[int, int], list[int]] = {}
        for one in self.patterns.classes():
            self._add_class(one)
        self._bound(ceilings, before or [0] * len(items))
        for limit in limits:
            if come := self._come(limit.of, limit.scope, limit.domain):
                self._rows.append(Row(come, most=limit.most))
        self._switch()
        all_are_placed = sum(before) == sum(item.count for item in items)
        self.program = IntegerProgram(tuple(self._highest), tuple(self._rows), self._objectives()[all_are_placed:])

    def read(self, values: Sequence[int]) -> list[Place]:
        """Return where pods go by an answer, each node of a class in turn. Raises ``ValueError`` for what is no answer to the program."""
        if len(values) != len(self._highest):
            raise ValueError(f"{len(values)} values for {len(self._highest)} columns")
        found, used = [], dict.fromkeys(map(id, (column.within for column in self.columns)), 0)
        for column, value in zip(self.columns, values, strict=False):
            if value < 0:
                raise ValueError(f"a value below zero: {value}")
            start = used[id(column.within)]
            nodes = column.within.nodes[start : start + value]
            if len(nodes) < value:
                raise ValueError(f"{start + value} nodes of a class of {len(column.within.nodes)}")
            used[id(column.within)] = start + value
            pattern = self.patterns.all[column.choice.pattern]
            found += [(item, node) for node in nodes for item, count in enumerate(pattern) for _ in range(count)]
        return found

    def _add_class(self, one: NodeClass) -> None:
        mine = []
        for choice in one.choices:
            conditions = self._open(choice.conditions, one.domains)
            if conditions is None:
                continue
            if len(self.columns) >= MOST_COLUMNS:
                raise TooLarge(f"more than {MOST_COLUMNS} columns")
            number = len(self.columns)
            mine.append(number)
            self.columns.append(Column(one, choice))
            pattern = self.patterns.all[choice.pattern]
            able = (item.count // count for item, count in zip(self.items, pattern, strict=True) if count)
            self._highest.append(min(len(one.nodes), *able))
            for key in conditions:
                self._relying.setdefault(key, []).append(number)
            for scope, domain in enumerate(one.domains):
                if scope and domain != NOWHERE:
                    self._in_domain.setdefault((scope, domain), []).append(number)
        if mine:
            self._of_class.append(mine)

    def _open(self, conditions: Iterable[Counted], domains: Sequence[int]) -> list[tuple[Counted, int]] | None:
        """Return those of some conditions that pods of the set decide, with their domains; None if one cannot hold."""
        found = []
        for one in conditions:
            domain = domains[one.scope]
            there = self._there(one, domain)
            own = any(one.count in item.counts for item in self.items) and domain != NOWHERE
            if own:
                found.append((one, domain))
            elif there < one.least or (one.most is not None and there > one.most):
                return None
        return found

    def _there(self, one: Counted, domain: int) -> int:
        return self.patterns.ground.there.get((one.count, one.scope), {}).get(domain, 0)

    def _bound(self, ceilings: Iterable[Ceiling], before: Sequence[int]) -> None:
        """No more nodes of a class than there are, no more pods than there are, no more than queues may have, and no fewer than before."""
        rows, items = self._rows, self.items
        rows += [
            Row(tuple((column, 1) for column in mine), most=len(self.columns[mine[0]].within.nodes)) for mine in self._of_class
        ]
        sums = [self._sum([int(other is item) for other in items]) for item in items]
        rows += [Row(terms, most=item.count) for terms, item in zip(sums, items, strict=True) if terms]
        for ceiling in ceilings:
            unit = gcd(*ceiling.each)
            if unit and (terms := self._sum([value // unit for value in ceiling.each])):
                rows.append(Row(terms, most=ceiling.most // unit))
        for level in sorted({item.level for item in items}):
            least = sum(count for item, count in zip(items, before, strict=True) if item.level <= level)
            if least:
                rows.append(Row(self._sum([int(item.level <= level) for item in items]), least=least))

    def _sum(self, each: Sequence[int]) -> tuple[tuple[int, int], ...]:
        """Return the sum over all pods that are placed of a number for each item."""
        of_pattern = (self.patterns.counts @ list(each)).tolist() if self.columns else []
        found = ((number, of_pattern[column.choice.pattern]) for number, column in enumerate(self.columns))
        return tuple((number, value) for number, value in found if value)

    def _switch(self) -> None:
        """A column of 0 or 1 for each condition in a domain: where it is 1 choices may rely on it, and it must hold."""
        pods = sum(item.count for item in self.items)
        for (one, domain), relying in self._relying.items():
            switch = len(self._highest)
            self._highest.append(1)
            nodes = sum(self._highest[column] for column in relying)
            self._rows.append(Row((*((column, 1) for column in relying), (switch, -min(nodes, pods))), most=0))
            come, there = self._come(one.count, one.scope, domain), self._there(one, domain)
            if one.least > there:
                self._rows.append(Row((*come, (switch, there - one.least)), least=0))
            if one.most is not None:
                free = one.most - there
                over = pods - free  # so that with the switch at 0 nothing is asked
                if over > 0:
                    self._rows.append(Row((*come, (switch, over)), most=pods))

    def _come(self, count: int, scope: int, domain: int) -> tuple[tuple[int, int], ...]:
        """Return how many pods of a count come into a domain, as a sum."""
        counted = (self.patterns.counts @ [int(count in item.counts) for item in self.items]).tolist()
        columns = self._in_domain.get((scope, domain), ())
        return tuple((column, value) for column in columns if (value := counted[self.columns[column].choice.pattern]))

    def _objectives(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        pods = sum(item.count for item in self.items)
        wishes = tuple(
            (number, -(column.choice.cost * (pods + 1) + column.choice.breaks))
            for number, column in enumerate(self.columns)
            if column.choice.cost or column.choice.breaks
        )
        return (self._sum([1] * len(self.items)), wishes)


def worth(items: Sequence[Item], ground: Ground, places: Iterable[Place]) -> Worth:
    """Return how good an answer is, with less than zero for what is missed and broken."""
    taken: dict[int, dict[int, int]] = {}
    placed = missed = 0
    for number, node in places:
        placed += 1
        missed += int(ground.costs[number, node])
        on = taken.setdefault(node, {})
        for position, value in items[number].demand:
            on[position] = on.get(position, 0) + value
    broken = 0
    for node, on in taken.items():
        free = ground.free[:, node].tolist()
        had = all(free[position] >= value for position, value in ground.large)
        broken += had and any(free[position] - on.get(position, 0) < value for position, value in ground.large)
    return Worth(placed, -missed, -broken)
