"""Rules about the pods around a pod as formulas, for a set of pods whose places are all found at once.

A formula asks how many pods of a count are in the node's domain of a scope, and what the node's description says. Scope 0 is the node
itself, and what is there is known as soon as it is known which pods go to the node. In a wider scope it is not, so what has to
hold there is left open, as **demands**: alternatives of which one must hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Container

NODE_SCOPE = 0
MOST_ALTERNATIVES = 64


class TooLarge(Exception):
    """A set is too large to be stated as a program; the message says what there is too much of."""


@dataclass(frozen=True, slots=True)
class Counted:
    """So many pods of a count in a scope, at least and at most, without the pod itself; ``least`` of 0 or below and ``most`` of None are no bounds."""

    count: int
    scope: int
    least: int = 0
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Described:
    """What a node's description says: the number of a test whose answer is known for each node."""

    test: int


@dataclass(frozen=True, slots=True)
class Every:
    """All must hold."""

    parts: tuple[Formula, ...] = ()


@dataclass(frozen=True, slots=True)
class Some:
    """One must hold."""

    parts: tuple[Formula, ...] = ()


Formula = Counted | Described | Every | Some
Demands = frozenset[frozenset[Counted]]
"""Alternatives, of each of which all must hold; none: it cannot hold. An alternative that demands nothing always holds."""
HOLDS: Demands = frozenset({frozenset()})
NEVER: Demands = frozenset()


def may_hold(formula: Formula, inside: Callable[[int], int], loose: Container[int] = ()) -> bool:
    """Whether a formula may hold of a pod beside so many pods of a count on its node, if others come and wherever the node is: False once there are too many.

    ``loose`` are the scopes in which a node may be in no domain, where nothing is counted.
    """
    match formula:
        case Counted(count, scope, _, most):
            return most is None or scope in loose or inside(count) <= most
        case Described():
            return True
        case Every(parts):
            return all(may_hold(part, inside, loose) for part in parts)
        case Some(parts):
            return any(may_hold(part, inside, loose) for part in parts)


def demands(formula: Formula, on_node: Callable[[int], int], says: Callable[[int], bool], own: Callable[[int], int]) -> Demands:
    """Return what a formula demands beyond the node, for a pod on a node that has so many others of a count (``on_node``).

    ``own`` is 1 for a count in which the pod itself is: what is demanded counts the pod with the others. Raises ``TooLarge``.
    """
    match formula:
        case Counted(count, scope, least, most):
            if scope == NODE_SCOPE:
                number = on_node(count)
                return HOLDS if number >= least and (most is None or number <= most) else NEVER
            if least <= 0 and most is None:
                return HOLDS
            more = own(count)
            return frozenset(
                {frozenset({Counted(count, scope, least + more if least > 0 else 0, None if most is None else most + more)})}
            )
        case Described(test):
            return HOLDS if says(test) else NEVER
        case Every(parts):
            return joined([demands(part, on_node, says, own) for part in parts])
        case Some(parts):
            return shortest(NEVER.union(*(demands(part, on_node, says, own) for part in parts)))


def joined(each: list[Demands]) -> Demands:
    """Return what is demanded where each of some demands must be met. Raises ``TooLarge``."""
    found = HOLDS
    for one in each:
        if len(found) * len(one) > MOST_ALTERNATIVES:
            raise TooLarge(f"more than {MOST_ALTERNATIVES} alternatives of what has to hold for pods on one node")
        found = shortest(frozenset(first | second for first, second in product(found, one)))
    return found


def shortest(alternatives: Demands) -> Demands:
    """Leave out the alternatives that demand more than another one."""
    return frozenset(one for one in alternatives if not any(other < one for other in alternatives))
