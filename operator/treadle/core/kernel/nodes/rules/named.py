"""Pods that are for certain nodes by name (PreFilter of plugin NodeAffinity): all terms of the required affinity name their nodes by field.

Of a DaemonSet's pods each is for one node. No other rule is asked about the other nodes, so they are told apart from those whose
labels do not match.
"""

from treadle.core.model import Constraints, NodeSpec

REASON = "node(s) didn't satisfy plugin(s) [NodeAffinity]"


def refuses(node: NodeSpec, constraints: Constraints) -> str:
    """Return why the node refuses a pod with these constraints, or an empty text."""
    if not constraints.affinity:
        return ""
    for term in constraints.affinity:
        named = [one.values for one in term if one.field and one.operator == "In"]
        if not named or all(node.name in values for values in named):
            return ""
    return REASON
