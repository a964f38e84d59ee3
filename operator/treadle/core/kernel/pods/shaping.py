"""The shape of a pod: what it asks for itself, and what the core adds to that for other pods, its application and the cluster."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from treadle.core.kernel.devices.needs import device_needs, extended_of
from treadle.core.kernel.gangs.known import gang_of, topology_of
from treadle.core.kernel.pods.delays import placement_in_force, rules_in_force
from treadle.core.kernel.volumes.needs import needs_of
from treadle.core.model.devices import NO_DEVICES, DeviceNeeds
from treadle.core.model.volumes import NO_NEEDS

if TYPE_CHECKING:
    from treadle.core.kernel.between.kinds import Kind
    from treadle.core.kernel.nodes.shapes import Shape
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import PodRecord
    from treadle.core.model import PodSpec
    from treadle.core.model.placement_constraints import PlacementConstraint
    from treadle.core.model.pod_rules import WeightedTerm
    from treadle.core.model.volumes import VolumeNeeds


def shape_of(state: State, spec: PodSpec, kind: Kind) -> Shape:
    """Return a pod's shape; pods that cannot be understood are apart from those that ask for what is left of them."""
    rules = spec.constraints
    placement = placement_of(state, spec) if state.explicit or spec.tags else None
    storage = storage_of(state, spec) if rules.volumes is not None else None
    devices = devices_of(state, spec) if rules.claims is not None else None
    gang = gang_of(state, spec) if spec.gang else None
    images = images_of(state, spec)
    batch = batch_of(state, spec) if state.explicit else None
    if kind.liked_by or images:
        rules = replace(rules, liked_by=liked_by(state, spec, kind), images=images)
    if batch is not None:
        rules = replace(rules, batch=batch)
    if rules.pods is not None and rules.pods.placement:
        pods = rules_in_force(state, spec)
        rules = rules if pods is rules.pods else replace(rules, pods=pods)
    if spec.problem or kind.avoided_by or placement or storage is not None or rules.claims is not None or gang is not None:
        rules = replace(
            rules,
            problem=spec.problem,
            avoided_by=kind.avoided_by,
            placement=placement,
            storage=storage,
            volumes=None,
            devices=devices,
            claims=None,
            gang=gang,
            together=together(state, spec) if gang is not None else None,
        )
    demand = spec.demand
    if devices is not None and devices.extended:
        demand = tuple(one for one in demand if one not in devices.extended)
    return state.shapes.of(demand, rules)


def node_of(state: State, spec: PodSpec) -> str:
    """Return the name of the node on which a pod counts: where it is, or where another scheduler is about to put it; empty for none."""
    if spec.node or not spec.expected or spec.gated or spec.deleting or spec.scheduler in state.scheduler.names:
        return spec.node
    return spec.expected


def images_of(state: State, spec: PodSpec) -> tuple[str, ...]:
    """Return the images of a pod that waits, where it counts which nodes have them."""
    return spec.images if state.nodes.weights.images and not spec.node and spec.scheduler in state.scheduler.names else ()


def liked_by(state: State, spec: PodSpec, kind: Kind) -> tuple[WeightedTerm, ...]:
    """Return the preferences of others that are about a pod that waits for us."""
    return kind.liked_by if not spec.node and spec.scheduler in state.scheduler.names else ()


def placement_of(state: State, spec: PodSpec) -> tuple[str, tuple[PlacementConstraint, ...]] | None:
    """Return the placement constraints of a pod's application, and of the cluster for its tags, None without any."""
    found = asked_beside(state, spec)
    return (spec.application, placement_in_force(state, spec, found)) if found else None


def asked_beside(state: State, spec: PodSpec) -> tuple[PlacementConstraint, ...]:
    """Return the placement constraints that a pod's application and the cluster have for it, as they are written."""
    explicit = state.explicit.get(spec.application)
    found = explicit.placement if explicit is not None else ()
    if spec.tags:
        found += tuple(constraint for tag, constraint in state.scheduler.placement if tag in spec.tags)
    return found


def batch_of(state: State, spec: PodSpec) -> tuple[str, str, tuple[str, ...]] | None:
    """Return with which pods a pod is placed together, None for one that is placed by itself: pods of gangs, and those with volumes or claims for devices."""
    explicit = state.explicit.get(spec.application)
    if explicit is None or not explicit.together or spec.gang:
        return None
    if spec.constraints.volumes is not None or spec.constraints.claims is not None:
        return None
    return spec.application, explicit.together, spec.tags


def storage_of(state: State, spec: PodSpec) -> VolumeNeeds | None:
    """Return what a pod's volumes come to, None for a pod without any that matter."""
    volumes = spec.constraints.volumes
    if volumes is None:
        return None
    if spec.node or spec.scheduler not in state.scheduler.names:
        return NO_NEEDS  # what it counts for on its node is seen by its claims
    return needs_of(volumes, state.shapes.storage)


def together(state: State, spec: PodSpec) -> tuple[str, bool] | None:
    """Return the label of nodes of which all nodes of a pod's gang are to have one value, and whether they must; None if there is none."""
    found = topology_of(state, spec)
    return found if found[0] else None


def devices_of(state: State, spec: PodSpec) -> DeviceNeeds | None:
    """Return what a pod's claims for devices come to, None for a pod without any."""
    claims = spec.constraints.claims
    if claims is None:
        return None
    extended = extended_of(claims, spec.demand, state.shapes.devices)
    if not claims.claims and not claims.waiting and not extended:
        return None
    if spec.node or spec.scheduler not in state.scheduler.names:
        return DeviceNeeds(extended=extended) if extended else NO_DEVICES  # what it holds is told by its claims
    return device_needs(claims, spec.uid, extended, state.shapes.devices)


def stale(state: State, record: PodRecord) -> bool:
    """Whether a pod has another shape by now, for what the core adds to what it asks."""
    asked, spec = record.shape.asked, record.spec
    return (
        asked.avoided_by != record.kind.avoided_by
        or asked.liked_by != liked_by(state, spec, record.kind)
        or asked.images != images_of(state, spec)
    ) or (
        (bool(state.explicit or spec.tags or asked.placement is not None) and asked.placement != placement_of(state, spec))
        or (asked.pods is not None and bool(asked.pods.placement) and asked.pods != rules_in_force(state, spec))
        or (bool(state.explicit or asked.batch is not None) and asked.batch != batch_of(state, spec))
        or (spec.constraints.volumes is not None and asked.storage != storage_of(state, spec))
        or (bool(spec.gang) and _in_other_gang(state, record))
        or (spec.constraints.claims is not None and asked.devices != devices_of(state, spec))
    )


def _in_other_gang(state: State, record: PodRecord) -> bool:
    """Whether it is said otherwise by now whether a pod starts with others, or where."""
    spec, asked = record.spec, record.shape.asked
    gang = gang_of(state, spec)
    return asked.gang != gang or asked.together != (together(state, spec) if gang is not None else None)
