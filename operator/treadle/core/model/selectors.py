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


LONGEST_INTEGER = 19
"""Digits of an integer of 64 bits."""
LabelSelector = tuple[Requirement, ...] | None
"""What selects by labels: all of its expressions hold. An empty one selects everything, None nothing."""


def integer(text: str) -> int | None:
    """Return the integer of 64 bits that a text is, as Go's ``strconv.ParseInt`` reads it; None for any other text.

    Python's own reading also takes spaces and underscores, which labels may have.
    """
    digits = text[1:] if text[:1] in {"+", "-"} else text
    if not (digits.isascii() and digits.isdecimal() and len(digits.lstrip("0")) <= LONGEST_INTEGER):
        return None
    number = int(text)
    return number if -(1 << 63) <= number < 1 << 63 else None


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
