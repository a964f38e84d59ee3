"""A pod goes only to nodes that declare the features that it needs (plugin NodeDeclaredFeatures).

What a pod needs follows from its fields and is found out where it is read. Whatever a node declares beside that is of no
account.
"""

from treadle.core.model import Constraints, NodeSpec

REASON = "node(s) didn't match Pod's required features"


def refuses(node: NodeSpec, constraints: Constraints) -> str:
    """Return why the node refuses a pod with these constraints, or an empty text."""
    return REASON if any(feature not in node.features for feature in constraints.features) else ""
