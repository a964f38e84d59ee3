"""Placement constraints as text again, in the language in which they are read."""

from __future__ import annotations

from treadle.core.model.placement_constraints import (
    MOST,
    SELF,
    And,
    AttributeTarget,
    DelayedOr,
    Or,
    PartitionTarget,
    PlacementConstraint,
    Single,
    TagTarget,
)


def in_words(constraint: PlacementConstraint) -> str:
    """Write a constraint as it is read; a partition, which no text can ask for, as ``partition=NAME``."""
    match constraint:
        case And(children) | Or(children):
            return f"{'and' if isinstance(constraint, And) else 'or'}({':'.join(in_words(child) for child in children)})"
        case DelayedOr(children, delays):
            timed = ":".join(f"{_duration(delay)},{in_words(child)}" for child, delay in zip(children, delays, strict=True))
            return f"delayed-or({timed})"
        case Single(scope, least, most, targets, operator):
            parts = [_about_node(one, operator) for one in targets if not isinstance(one, TagTarget)]
            tags = ",".join(_tags(one) for one in targets if isinstance(one, TagTarget))
            if tags:
                parts.insert(0, _counted(scope, least, most, tags))
            return parts[0] if len(parts) == 1 else f"and({':'.join(parts)})"


def _duration(seconds: float) -> str:
    return f"{seconds:.0f}s" if seconds == round(seconds) else f"{seconds * 1000:.0f}ms"


def _counted(scope: str, least: int, most: int, tags: str) -> str:
    if (least, most) == (1, MOST):
        return f"in,{scope},{tags}"
    if (least, most) == (0, 0):
        return f"notin,{scope},{tags}"
    return f"cardinality,{scope},{tags},{least},{most}"


def _tags(target: TagTarget) -> str:
    value = f"{target.value}/" if target.value else ""
    namespace = "" if target.namespace == SELF else f"{target.namespace}/"
    return ",".join(f"{namespace}{value}{tag}" for tag in target.tags)


def _about_node(target: AttributeTarget | PartitionTarget, operator: str) -> str:
    if isinstance(target, PartitionTarget):
        return f"partition={target.values[0] if target.values else ''}"
    return f"{target.key}{'!=' if operator == 'NE' else '='}{','.join(target.values)}"
