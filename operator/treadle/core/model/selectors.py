"""Selectors by label, of nodes and of pods."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Requirement:
    """One expression of a selector: In, NotIn, Exists, DoesNotExist, and for nodes Gt or Lt, over a label or (``field``) the node's name."""

    key: str
    operator: str
    values: tuple[str, ...] = ()
    field: bool = False


LabelSelector = tuple[Requirement, ...] | None
"""What selects by labels: all of its expressions hold. An empty one selects everything, None nothing."""


def selects(selector: LabelSelector, labels: Mapping[str, str]) -> bool:
    """Whether a label selector selects what has these labels; NotIn holds where the label is absent (``labels.Selector`` of the Kubernetes API)."""
    return selector is not None and all(_holds(requirement, labels.get(requirement.key)) for requirement in selector)


def _holds(requirement: Requirement, value: str | None) -> bool:
    match requirement.operator:
        case "In":
            return value is not None and value in requirement.values
        case "NotIn":
            return value is None or value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
    return False
