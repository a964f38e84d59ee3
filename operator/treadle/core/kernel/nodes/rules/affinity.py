"""The node selector and required node affinity (plugin NodeAffinity).

The selector and the affinity must both hold. Affinity's terms are alternatives, the expressions of a term must all hold, and
an empty term admits nothing. NotIn and DoesNotExist hold where the label is absent. Gt and Lt compare integers.
"""

from treadle.core.model import Constraints, NodeSpec, Requirement
from treadle.core.model.selectors import integer

REASON = "node(s) didn't match Pod's node affinity/selector"


def holds(requirement: Requirement, node: NodeSpec) -> bool:
    """Whether one expression holds on a node."""
    value = node.name if requirement.field else node.labels.get(requirement.key)
    match requirement.operator:
        case "In":
            return value is not None and value in requirement.values
        case "NotIn":
            return value is None or value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt" as operator:
            number = integer(value or "")
            bound = integer(requirement.values[0]) if len(requirement.values) == 1 else None
            if number is None or bound is None:
                return False
            return number > bound if operator == "Gt" else number < bound
    return False


def refuses(node: NodeSpec, constraints: Constraints) -> str:
    """Return why the node refuses a pod with these constraints, or an empty text."""
    if any(node.labels.get(key) != value for key, value in constraints.selector):
        return REASON
    terms = constraints.affinity
    if terms is not None and not any(term and all(holds(requirement, node) for requirement in term) for term in terms):
        return REASON
    return ""
