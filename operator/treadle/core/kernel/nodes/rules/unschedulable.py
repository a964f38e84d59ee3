"""A cordoned node admits only pods that tolerate ``node.kubernetes.io/unschedulable:NoSchedule`` (plugin NodeUnschedulable)."""

from treadle.core.kernel.nodes.rules.taints import tolerated
from treadle.core.model import Constraints, NodeSpec, Taint

REASON = "node(s) were unschedulable"
CORDON = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")


def refuses(node: NodeSpec, constraints: Constraints) -> str:
    """Return why the node refuses a pod with these constraints, or an empty text."""
    if node.unschedulable and not tolerated(CORDON, constraints.tolerations):
        return REASON
    return ""
