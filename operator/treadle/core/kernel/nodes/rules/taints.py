"""An untolerated NoSchedule or NoExecute taint keeps a pod away (plugin TaintToleration). PreferNoSchedule only scores."""

from collections.abc import Iterable

from treadle.core.model import Constraints, NodeSpec, Taint, Toleration
from treadle.core.model.selectors import integer

REASON = "node(s) had untolerated taint(s)"


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Whether one toleration covers one taint (``ToleratesTaint`` of the Kubernetes API; Lt and Gt compare integers)."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    match toleration.operator or "Equal":
        case "Exists":
            return True
        case "Equal":
            return bool(toleration.key) and toleration.value == taint.value
        case "Lt" | "Gt" as operator:
            value, bound = _decimal(taint.value), _decimal(toleration.value)
            if value is None or bound is None:
                return False
            return value < bound if operator == "Lt" else value > bound
    return False


def _decimal(text: str) -> int | None:
    """Return the integer that a text is in the one way in which the API lets it be written: no plus, no zeros before it."""
    digits = text.removeprefix("-")
    plain = text == "0" or (digits and not digits.startswith(("0", "+", "-")))
    return integer(text) if plain else None


def tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    """Whether any toleration covers the taint."""
    return any(tolerates(toleration, taint) for toleration in tolerations)


def untolerated(node: NodeSpec, constraints: Constraints) -> Taint | None:
    """Return the first taint that keeps a pod with these constraints away, None if none does."""
    for taint in node.taints:
        if taint.effect != "PreferNoSchedule" and not tolerated(taint, constraints.tolerations):
            return taint
    return None


def refuses(node: NodeSpec, constraints: Constraints) -> str:
    """Return why the node refuses a pod with these constraints, or an empty text."""
    return "" if untolerated(node, constraints) is None else REASON
