"""A node whose kubelet has refused such a pod is not asked again for a while (``kernel.periodic.refused``)."""

from treadle.core.model import Constraints, NodeSpec

REASON = "node(s) refused such a pod a moment ago"


def refuses(node: NodeSpec, constraints: Constraints) -> str:
    """Return why the node refuses a pod with these constraints, or an empty text."""
    return REASON if node.name in constraints.held_off else ""
