"""Hard rules about nodes, one file a rule.

A static rule looks at the node's description only and is evaluated once for each node and set of constraints; resources and
host ports change with every placement and are looked at each time.
"""

from collections.abc import Callable

from treadle.core.kernel.nodes.rules import (
    affinity,
    declared_features,
    held_off,
    locality,
    named,
    partition,
    taints,
    unschedulable,
)
from treadle.core.model import Constraints, NodeSpec

StaticRule = Callable[[NodeSpec, Constraints], str]

STATIC_RULES: tuple[StaticRule, ...] = (
    named.refuses,
    unschedulable.refuses,
    taints.refuses,
    affinity.refuses,
    locality.refuses,
    partition.refuses,
    declared_features.refuses,
    held_off.refuses,
)
"""Each returns an empty text where the node is admitted, else the reason as users read it. In kube-scheduler's order."""


def static_refusal(node: NodeSpec, constraints: Constraints) -> str:
    """Return the first static rule's reason against this node, or an empty text."""
    for rule in STATIC_RULES:
        reason = rule(node, constraints)
        if reason:
            return reason
    return ""
