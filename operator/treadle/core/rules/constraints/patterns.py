"""What nodes may have of a set of pods that is placed together: patterns, and classes of nodes for which the same ones do.

A **pattern** is how many pods of each item go to one node. All that is about a node by itself (its room, its labels, who may be beside whom) is
decided while patterns are made, so a program need not state it. Nodes for which the same patterns do, in the same domains, are one
**class**, however much they differ in what does not matter: five thousand nodes are few classes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from treadle.core.rules.constraints.formulas import (
    HOLDS,
    NODE_SCOPE,
    Counted,
    Every,
    Formula,
    TooLarge,
    demands,
    joined,
    may_hold,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from treadle.core.rules.constraints.formulas import Demands
    from treadle.core.units.resources import Demand

Pattern = tuple[int, ...]
"""How many pods of each item go to a node."""
ALWAYS = Every()
NOWHERE = -1
"""The domain of a node that is in none."""
MOST_PATTERNS = 512
MOST_GROUNDS = 256
MOST_LOOKS = 20_000
"""Patterns times kinds of nodes by what is on them: each pair is looked at."""


@dataclass(frozen=True, slots=True)
class Item:
    """So many pods that are alike: in demand, in the ``counts`` that they are in, in what they demand (``rule``).

    ``level`` is 0 for those of the highest priority, 1 for the next and so on. ``clashes`` are the items of which no pod can be beside one of these (host ports), perhaps itself.
    """

    count: int
    demand: Demand
    level: int = 0
    counts: frozenset[int] = frozenset()
    rule: Formula = ALWAYS
    clashes: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Ground:
    """The nodes on which a set may be placed, as columns.

    ``free[type, node]``; ``admits[item, node]``: whether a node's description, and what is on it, lets a pod in; ``says[test, node]``: answers
    to ``Described``; ``domains[scope, node]``, the first scope being the node itself; ``here[count, node]``: pods of a count that are on a node, and
    ``there`` those in each domain of a scope, by (count, scope); ``costs[item, node]``: what of its wishes a pod does not get there. ``large``
    is what a large pod demands: a node with less free is of little use to others.
    """

    free: NDArray[np.int64]
    admits: NDArray[np.bool_]
    says: NDArray[np.bool_]
    domains: NDArray[np.int64]
    here: NDArray[np.int64]
    costs: NDArray[np.int64]
    there: Mapping[tuple[int, int], Mapping[int, int]] = field(default_factory=dict)
    large: Demand = ()

    def __len__(self) -> int:
        return int(self.free.shape[1])


@dataclass(frozen=True, slots=True)
class Choice:
    """What one node of a class may get: a pattern, by number, on what conditions in wider scopes, at what cost, and whether the node ``breaks``: it had room for a large pod and has none then."""

    pattern: int
    conditions: frozenset[Counted]
    cost: int
    breaks: bool


@dataclass(frozen=True, slots=True)
class NodeClass:
    """Nodes that may get the same, in the same ``domains`` by scope; ``nodes`` are columns of the ground."""

    nodes: tuple[int, ...]
    domains: tuple[int, ...]
    choices: tuple[Choice, ...]


class Patterns:
    """The patterns of a set of items on a ground, none of which is empty. Raises ``TooLarge``."""

    def __init__(self, items: Sequence[Item], ground: Ground) -> None:
        self.items = items
        self.ground = ground
        able = ground.admits.any(axis=0)
        self._roomiest = ground.free[:, able].max(axis=1, initial=0).tolist()
        self._loose = {scope for scope, row in enumerate(ground.domains) if scope != NODE_SCOPE and (row == NOWHERE).any()}
        self.all: list[Pattern] = []
        self._extend([0] * len(items), 0, self._roomiest)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """``counts[pattern, item]``."""
        return np.array(self.all, dtype=np.int64).reshape(len(self.all), len(self.items))

    @cached_property
    def demands(self) -> NDArray[np.int64]:
        """``demands[pattern, type]``."""
        each = np.zeros((len(self.items), self.ground.free.shape[0]), dtype=np.int64)
        for number, item in enumerate(self.items):
            for position, value in item.demand:
                each[number, position] = value
        return self.counts @ each

    def _extend(self, pattern: list[int], first: int, room: list[int]) -> None:
        """Add to a pattern one pod of an item from ``first`` on, in every way that may do on some node."""
        for number in range(first, len(self.items)):
            item = self.items[number]
            if pattern[number] >= item.count or any(room[position] < value for position, value in item.demand):
                continue
            if any(pattern[other] for other in item.clashes):
                continue
            pattern[number] += 1
            if self._may_be(pattern):
                if len(self.all) >= MOST_PATTERNS:
                    raise TooLarge(f"more than {MOST_PATTERNS} ways to have pods of the set on one node")
                self.all.append(tuple(pattern))
                left = list(room)
                for position, value in item.demand:
                    left[position] -= value
                self._extend(pattern, number, left)
            pattern[number] -= 1

    def _may_be(self, pattern: Sequence[int]) -> bool:
        """Whether each pod of a pattern may be content if others come."""
        inside = self._inside(pattern)
        return all(
            not count or may_hold(item.rule, beside(item, inside), self._loose)
            for item, count in zip(self.items, pattern, strict=True)
        )

    def _inside(self, pattern: Sequence[int]) -> dict[int, int]:
        """Return how many pods of each count are in a pattern."""
        found: dict[int, int] = {}
        for item, count in zip(self.items, pattern, strict=True):
            if count:
                for of in item.counts:
                    found[of] = found.get(of, 0) + count
        return found

    def conditions(self, pattern: Pattern, here: Sequence[int], says: Sequence[bool]) -> Demands:
        """Return what a pattern demands in wider scopes on a node with so many pods of each count that answers tests so. Raises ``TooLarge``."""
        inside, found = self._inside(pattern), HOLDS
        for item, count in zip(self.items, pattern, strict=True):
            if count:
                one = demands(item.rule, beside(item, inside, here), says.__getitem__, partial(_is_in, item))
                found = joined([found, one])
                if not found:
                    break
        return found

    def classes(self) -> Iterator[NodeClass]:
        """Yield the classes of nodes that may get anything."""
        ground = self.ground
        if not self.all or not len(ground):
            return
        # Nodes that are alike but for their room, which is looked at afterwards.
        about = np.concatenate([ground.here, ground.says, ground.costs, ground.admits]).astype(np.int64)
        contents, content_of = np.unique(about, axis=1, return_inverse=True)
        content_of = content_of.reshape(-1)
        if contents.shape[1] > MOST_GROUNDS:
            raise TooLarge(f"more than {MOST_GROUNDS} kinds of nodes by what is on them and what their labels say")
        known: dict[tuple[int, ...], list[Demands]] = {}
        allowed = np.zeros((len(self.all), contents.shape[1]), dtype=np.bool_)
        conditions: list[list[Demands]] = []
        costs = []
        first, second = len(ground.here), len(ground.here) + len(ground.says)
        third = second + len(ground.costs)
        for number, content in enumerate(contents.T.tolist()):
            key = tuple(content[:second])
            if key not in known:
                if (len(known) + 1) * len(self.all) > MOST_LOOKS:
                    raise TooLarge(f"more than {MOST_LOOKS} patterns on nodes with different pods")
                here, says = content[:first], [bool(one) for one in content[first:second]]
                known[key] = [self.conditions(pattern, here, says) for pattern in self.all]
            lets = content[third:]
            conditions.append(known[key])
            costs.append(self.counts @ np.array(content[second:third], dtype=np.int64))
            allowed[:, number] = [
                bool(found) and all(lets[item] or not count for item, count in enumerate(pattern))
                for pattern, found in zip(self.all, known[key], strict=True)
            ]
        fits = allowed[:, content_of]
        large = np.zeros(len(ground.free), dtype=np.int64)
        for position, value in ground.large:
            large[position] = value
        keeps = fits.copy()
        for position, free in enumerate(ground.free):
            wanted = self.demands[:, position, None]
            if wanted.any():
                fits &= (free >= wanted) | (wanted == 0)
            if large[position]:
                keeps &= free >= wanted + large[position]
        had = ((ground.free >= large[:, None]) | (large[:, None] == 0)).all(axis=0)
        breaks = fits & had & ~keeps
        signs = np.concatenate(
            [
                np.packbits(fits, axis=0),
                np.packbits(breaks, axis=0),
                *(
                    np.ascontiguousarray(row, dtype=np.int64).view(np.uint8).reshape(-1, 8).T
                    for row in (content_of, *ground.domains[NODE_SCOPE + 1 :])
                ),
            ]
        )
        rows = np.ascontiguousarray(signs.T)
        _, firsts, each = np.unique(rows.view(np.dtype((np.void, rows.shape[1]))), return_index=True, return_inverse=True)
        order = np.argsort(each.reshape(-1), kind="stable")
        bounds = np.searchsorted(each.reshape(-1)[order], np.arange(len(firsts) + 1))
        for number in np.argsort(firsts, kind="stable").tolist():
            nodes = order[bounds[number] : bounds[number + 1]]
            example = int(nodes[0])
            content = int(content_of[example])
            choices = tuple(
                Choice(pattern, conditions_of, int(costs[content][pattern]), bool(breaks[pattern, example]))
                for pattern in np.flatnonzero(fits[:, example]).tolist()
                for conditions_of in sorted(conditions[content][pattern], key=_in_order)
            )
            if choices:
                yield NodeClass(tuple(nodes.tolist()), tuple(ground.domains[:, example].tolist()), choices)


def beside(item: Item, inside: Mapping[int, int], here: Sequence[int] = ()) -> Callable[[int], int]:
    """Return how many pods of a count are beside a pod of an item, of those inside a pattern and those that are on the node."""
    own = item.counts
    if not here:
        return lambda of: inside.get(of, 0) - (of in own)
    return lambda of: here[of] + inside.get(of, 0) - (of in own)


def _is_in(item: Item, of: int) -> int:
    return int(of in item.counts)


def _in_order(conditions: frozenset[Counted]) -> list[tuple[int, int, int, int]]:
    return sorted((one.count, one.scope, one.least, -1 if one.most is None else one.most) for one in conditions)
