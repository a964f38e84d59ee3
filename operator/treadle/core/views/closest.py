"""The node that comes closest to taking a pod: which rules keep the pod off it, what the node lacks, and what would have to change."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from treadle.core.kernel.between.topologies import EACH_NODE, RACKS
from treadle.core.kernel.devices.allocator import INVALID_POOLS, NOT_ALL
from treadle.core.kernel.nodes.rules import (
    STATIC_RULES,
    affinity,
    declared_features,
    dynamic_resources,
    held_off,
    host_ports,
    locality,
    named,
    partition,
    placement_constraints,
    pod_affinity,
    taints,
    topology_spread,
    unschedulable,
    volume_binding,
    volume_limits,
    volume_restrictions,
    volume_zone,
)
from treadle.core.kernel.volumes.rule import ALSO
from treadle.core.units.resources import in_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from treadle.core.kernel.nodes.shapes import Shape
    from treadle.core.kernel.state import State
    from treadle.core.model import NodeSpec
    from treadle.core.views.figures import Amounts

STATIC, SMALL, SHORT, AROUND = 8, 4, 1, 1
"""How far a node is from taking a pod: its description refuses it, it is too small even if it were empty, something has to come free, and each rule about what is around it.

Pods come and go by themselves, so what is on a node counts less than what the node is.
"""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A rule that keeps a pod off a node: ``reason`` in kube-scheduler's words, and the label of nodes by which the rule goes, empty for one about the node itself."""

    reason: str
    topology: str = ""


@dataclass(frozen=True, slots=True)
class Closest:
    """A node and all that is in the way there. ``lacks`` is by how much too little is free, ``small`` by how much too little there is at all."""

    node: str
    refusals: tuple[Refusal, ...] = ()
    lacks: Amounts = field(default_factory=dict)
    small: Amounts = field(default_factory=dict)


def closest(state: State, shape: Shape) -> Closest | None:
    """Return the node on which the least is in the way of a pod of a shape, the first of those that are alike; None where there are no nodes."""
    nodes = state.nodes
    count = len(nodes)
    known = nodes.known_rows()[:count]
    if not known.any():
        return None
    far = np.where(nodes.mask(shape.constraints)[:count], 0, STATIC)
    free = nodes.columns()[:, :count]
    short = np.zeros(count)
    small = np.zeros(count, dtype=np.bool_)
    for position, value in shape.demand:
        short += np.maximum(0, value - free[position]) / value
        small |= np.fromiter((there[position] < value for there in nodes.allocatable), np.bool_, count)
    far = far + np.where(short > 0, SHORT, 0) + np.where(small, SMALL, 0)
    for out in _around(state, shape, count):
        far = far + np.where(out, AROUND, 0)
    far[~known] = np.iinfo(far.dtype).max
    least = np.flatnonzero(far == far.min())
    return _of_node(state, shape, int(least[short[least].argmin()]))


def _around(state: State, shape: Shape, count: int) -> Iterator[NDArray[np.bool_]]:
    """Return for each rule about what is on and around nodes which of so many rows do not pass."""
    if shape.ports:
        taken = state.nodes.ports[:count]
        yield np.array([not host_ports.free(shape.ports, ports) for ports in taken], dtype=np.bool_)
    if shape.between is not None:
        shape.between.follow()
        for check in shape.between.checks:
            refused = np.zeros(count, dtype=np.bool_)
            for _, out in check.refusals(count):
                refused |= out
            yield refused


def _of_node(state: State, shape: Shape, row: int) -> Closest:
    nodes, names = state.nodes, state.types.names
    spec = nodes.specs[row]
    assert spec is not None, row
    found = [Refusal(reason) for rule in STATIC_RULES if (reason := rule(spec, shape.constraints))]
    if shape.ports and not host_ports.free(shape.ports, nodes.ports[row]):
        found.append(Refusal(host_ports.REASON))
    for check in shape.between.checks if shape.between is not None else ():
        key = check.topology.key
        label = "" if key in {EACH_NODE, RACKS} else key
        found += [Refusal(reason, label) for reason in check.refusal(row).split(ALSO) if reason]
    free, there = nodes.free[row], nodes.allocatable[row]
    lacks = {names[position]: value - free[position] for position, value in shape.demand if free[position] < value}
    small = {names[position]: value - there[position] for position, value in shape.demand if there[position] < value}
    return Closest(nodes.names[row], tuple(dict.fromkeys(found)), lacks, small)


def change(state: State, shape: Shape, found: Closest) -> str:
    """Say what would have to change for a node to take a pod; which node it is says who may tell."""
    spec = state.nodes.specs[state.nodes.row[found.node]]
    assert spec is not None, found
    wanted = [_wanted(shape, spec, one) for one in found.refusals]
    coming = _listed({name: value for name, value in found.lacks.items() if name not in found.small})
    lacking = _listed(found.small)
    if not wanted and lacking:
        return f"a node is added with room for the pod: none that admits it is large enough, even if it were empty, and the closest has {lacking} too little"
    if not wanted:
        return f"{coming} come free on a node that admits the pod, or a node is added with room for it"
    wanted += [f"it has {lacking} more"] if lacking else []
    wanted += [f"{coming} come free"] if coming else []
    return f"on the closest node {', '.join(wanted)}; or a node is added that admits the pod and has room for it"


def _listed(amounts: Amounts) -> str:
    return " and ".join(f"{in_words(name, value)} of {name}" for name, value in amounts.items())


def _wanted(shape: Shape, node: NodeSpec, refusal: Refusal) -> str:
    """Say what undoes a refusal."""
    where = f"the nodes with its {refusal.topology}" if refusal.topology else "it"
    if refusal.reason == taints.REASON and (taint := taints.untolerated(node, shape.constraints)) is not None:
        return f"the taint {{{taint.key}: {taint.value}}} goes, or the pod tolerates it"
    unlabelled = refusal.topology and refusal.topology not in node.labels
    if refusal.reason == topology_spread.NO_LABEL or (unlabelled and refusal.reason == pod_affinity.OUTSIDE):
        return f"the label {refusal.topology} is set"
    found = _WANTED.get(refusal.reason)
    if found is not None:
        label = f"the label {refusal.topology} is set, and " if unlabelled and refusal.reason == pod_affinity.AFFINITY else ""
        return label + found.format(where=where, topology=refusal.topology)
    return f"“{refusal.reason}” no longer holds"


_WANTED = {
    named.REASON: "nothing helps, since the pod names another node",
    unschedulable.REASON: "scheduling is allowed again (uncordon)",
    affinity.REASON: "the labels are such as the pod's node selector and affinity ask for, or the pod asks for others",
    locality.REASON: "nothing helps, since the pod insists on other nodes or racks",
    partition.REASON: "the label names the partition that the pod asks for, or the pod asks for another",
    declared_features.REASON: "the features are declared that the pod needs",
    held_off.REASON: "some time goes by, since it refused such a pod a moment ago",
    host_ports.REASON: "the pod goes that holds its host port",
    pod_affinity.AFFINITY: "a pod runs on {where} that the pod's affinity asks for",
    pod_affinity.ANTI_AFFINITY: "the pods leave {where} that the pod's anti-affinity is about",
    pod_affinity.AVOIDED: "the pods leave {where} whose anti-affinity is about this pod",
    pod_affinity.OUTSIDE: "{topology} is that of the others of its gang",
    topology_spread.UNEVEN: "pods of its topology spread leave {where}, or more of them run elsewhere",
    placement_constraints.REASON: "pods come to {where} or leave as its placement constraints ask",
    volume_binding.ELSEWHERE: "nothing helps, since its volume can be used on other nodes only",
    volume_binding.MISSING: "the volume is there to which its claim is bound",
    volume_limits.REASON: "a volume of the same driver is detached",
    volume_restrictions.DISK: "the pod goes that uses its disk",
    volume_restrictions.IN_USE: "the pod goes that uses its claim",
    dynamic_resources.ELSEWHERE: "nothing helps, since the devices of its claim can be used on other nodes only",
    NOT_ALL: "devices such as its claims ask for come free there, or are added",
    INVALID_POOLS: "the driver tells of all devices of its pool again",
    volume_zone.REASON: "nothing helps, since its volume is in another zone",
}
