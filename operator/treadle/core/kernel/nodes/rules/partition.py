"""Partitions of nodes (YARN's node labels): a node is in the one that its label names, and serves the asks for that one."""

from treadle.core.model import Constraints, NodeSpec

REASON = "node(s) were in another partition"


def refuses(node: NodeSpec, constraints: Constraints) -> str:
    """Return why the node refuses a pod with these constraints, or an empty text."""
    if constraints.partition is None:
        return ""
    label, wanted = constraints.partition
    return "" if node.labels.get(label, "") == wanted else REASON
