"""Places that a pod must be in: YARN's requests for nodes and racks that do not relax their locality."""

from treadle.core.model import RACK_LABEL, Constraints, NodeSpec

REASON = "node(s) were not among the nodes and racks that the pod insists on"


def refuses(node: NodeSpec, constraints: Constraints) -> str:
    """Return why the node refuses a pod with these constraints, or an empty text."""
    wish = constraints.wish
    if wish is None or wish.relax or node.name in wish.nodes:
        return ""
    rack = node.labels.get(RACK_LABEL)
    return "" if rack is not None and rack in wish.racks else REASON
