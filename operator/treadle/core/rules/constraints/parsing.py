"""Placement constraints as text (``PlacementConstraintParser`` of Hadoop).

An expression is one constraint::

    in,node,hbase                       notin,rack,all/zk,hbase
    cardinality,node,hbase,0,3          java=1.8,1.7        os!=linux
    and(notin,node,hbase:in,rack,zk)    or(…:…)
    delayed-or(30s,in,node,hbase:2m,in,rack,hbase)

The last form is ours: Hadoop's API has delayed alternatives, and no text can say them.

A specification is what asks for containers, as in ``zk(3),notin,node,zk:hbase(5),in,rack,zk``: so many with a tag, and where.
Spaces around words do not count, nor do empty words; only ``and`` and ``or`` must be all in small or all in large letters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from treadle.core.model.placement_constraints import (
    MOST,
    NAMESPACES,
    NODE,
    RACK,
    SELF,
    And,
    AttributeTarget,
    DelayedOr,
    Or,
    PlacementConstraint,
    Single,
    TagTarget,
)

DEEPEST = 16
"""Levels to which ``and`` and ``or`` may be put into each other."""
_DELAY = re.compile(r"([0-9]{1,9})(ms|s|m|h)", re.ASCII)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_COUNTED = re.compile(r"([^()\s][^()]*)\((-?\d+)\)")


class ConstraintError(ValueError):
    """A text is no placement constraint; ``ended`` where it ends too soon."""

    def __init__(self, message: str, *, ended: bool = False) -> None:
        super().__init__(message)
        self.ended = ended


@dataclass(frozen=True, slots=True)
class Sourced:
    """So many containers with a tag, and their constraint if there is one; without a tag the constraint is for all."""

    tag: str
    count: int
    constraint: PlacementConstraint | None


class _NotThis(Exception):
    """The text is of another form."""


def parse_expression(text: str, depth: int = 0) -> PlacementConstraint:
    """Read one constraint. Raises ``ConstraintError``."""
    if depth > DEEPEST:
        raise ConstraintError(f"more than {DEEPEST} levels of and(…) and or(…)")
    for form in (_target, _cardinality, _conjunction, _delayed, _attribute):
        try:
            return form(text, depth)
        except _NotThis:
            continue
    raise ConstraintError(
        f"{text!r} is no placement constraint: in, notin, cardinality, and(…), or(…), delayed-or(…) or an attribute=value is wanted"
    )


def parse_specification(text: str) -> list[Sourced]:
    """Read what asks for containers with tags. Raises ``ConstraintError``."""
    items = list(_split(text))
    found = []
    for item in items:
        head, _, rest = item.partition(",")
        counted = _COUNTED.fullmatch(head.strip())
        if counted is None:
            if len(items) > 1 or not any(sign in item for sign in "=") or "(" in head or ")" in head:
                raise ConstraintError(f"{item!r}: tag(count) is wanted, and a constraint after a comma")
            found.append(Sourced("", 0, parse_expression(item)))
            continue
        constraint = parse_expression(rest) if "," in item else None
        found.append(Sourced(counted[1].strip(), int(counted[2]), constraint))
    if not found:
        raise ConstraintError("nothing is asked for")
    return found


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word]


def _target(text: str, depth: int) -> PlacementConstraint:  # noqa: ARG001 - one signature for all forms
    words = _words(text)
    if not words:
        raise ConstraintError("the constraint is empty", ended=True)
    operator = words[0].lower()
    if operator not in {"in", "notin"}:
        raise _NotThis
    if len(words) < 2:
        raise ConstraintError(f"{text!r} ends after {words[0]!r}: a scope is wanted, node or rack", ended=True)
    scope, targets = _scope(words[1]), _tags(words[2:])
    return Single(scope, 1, MOST, targets) if operator == "in" else Single(scope, 0, 0, targets)


def _cardinality(text: str, depth: int) -> PlacementConstraint:  # noqa: ARG001 - one signature for all forms
    words = _words(text)
    if words[0].lower() != "cardinality":
        raise _NotThis
    if len(words) < 5:
        raise _NotThis
    scope = _scope(words[1])
    try:
        least, most = int(words[-2]), int(words[-1])
    except ValueError:
        raise _NotThis from None
    if not (-MOST - 1 <= least <= MOST and -MOST - 1 <= most <= MOST):
        raise _NotThis
    return Single(scope, least, most, _tags(words[2:-2]))


def _conjunction(text: str, depth: int) -> PlacementConstraint:
    head, bracket, rest = text.strip().partition("(")
    if not bracket or head not in {"and", "AND", "or", "OR"} or not rest.endswith(")"):
        raise _NotThis
    children = tuple(parse_expression(child, depth + 1) for child in _split(rest[:-1]))
    if not children:
        raise ConstraintError(f"{text!r} has nothing in it", ended=True)
    return And(children) if head in {"and", "AND"} else Or(children)


def _delayed(text: str, depth: int) -> PlacementConstraint:
    head, bracket, rest = text.strip().partition("(")
    if not bracket or head not in {"delayed-or", "DELAYED-OR"} or not rest.endswith(")"):
        raise _NotThis
    children, delays = [], []
    for child in _split(rest[:-1]):
        delay, _, constraint = child.partition(",")
        found = _DELAY.fullmatch(delay.strip())
        if found is None:
            raise ConstraintError(
                f"{child!r} in delayed-or(…) must begin with how long it is tried, such as 30s, 5m or 500ms, and a comma; opportunities are not counted"
            )
        delays.append(int(found[1]) * _SECONDS[found[2]])
        children.append(parse_expression(constraint, depth + 1))
    if not children:
        raise ConstraintError(f"{text!r} has nothing in it", ended=True)
    return DelayedOr(tuple(children), tuple(delays))


def _attribute(text: str, depth: int) -> PlacementConstraint:  # noqa: ARG001 - one signature for all forms
    if "=" not in text:
        raise _NotThis
    operator = "NE" if "!=" in text else "EQ"
    parts = [part for part in re.split("[!=]", text) if part] if operator == "NE" else [part for part in text.split("=") if part]
    if len(parts) != 2 or "," in parts[0] or text.startswith(("=", "!=")) or "(" in text or ")" in text:
        raise _NotThis
    values = tuple(sorted({word for word in _words(parts[1]) if word}))
    if not values:
        raise _NotThis
    return Single(NODE, -1, -1, (AttributeTarget(parts[0].strip(), values),), operator)


def _scope(word: str) -> str:
    scope = word.lower()
    if scope not in {NODE, RACK}:
        raise _NotThis
    return scope


def _tags(words: list[str]) -> tuple[TagTarget, ...]:
    """Each tag is a target of its own; they are a set."""
    found = set()
    for word in words:
        parts = word.split("/")
        if len(parts) > 2 or not all(parts) or (len(parts) == 2 and parts[0] not in NAMESPACES):
            raise _NotThis
        found.add(TagTarget((parts[-1],), parts[0] if len(parts) == 2 else SELF))
    return tuple(sorted(found, key=lambda target: (target.namespace, target.tags)))


def _split(text: str) -> Iterator[str]:
    """Split at colons that are in no brackets."""
    depth, start = 0, 0
    for at, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if sign == ":" and depth == 0:
            yield text[start:at]
            start = at + 1
    if text:
        yield text[start:]
