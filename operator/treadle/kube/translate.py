"""From wire objects to what the core is told. Nothing here raises: what cannot be understood becomes the pod's ``problem``."""

from dataclasses import replace
from typing import NamedTuple

from treadle.api import labels
from treadle.api.identity import Source
from treadle.api.over_allocation import over_allocation_of
from treadle.api.pressure import pressure_of
from treadle.core.errors import InvalidSpec
from treadle.core.model import (
    NO_CONSTRAINTS,
    Constraints,
    HostPort,
    Limit,
    NodeSpec,
    PodSpec,
    Requirement,
    Taint,
    Toleration,
    Wish,
)
from treadle.core.model.nodes import NodeImage
from treadle.core.units.resources import amount
from treadle.kube import accounting, wire
from treadle.kube.devices import claims_of
from treadle.kube.execution import if_opportunistic, opportunistic
from treadle.kube.pod_rules import DO_NOT_SCHEDULE, rules_of
from treadle.kube.pod_words import words_of
from treadle.kube.storage import matters, volumes_of
from treadle.kube.turning import NOTHING, alone, in_vain, turns, was_opportunistic

DAY_ONE = 0.0
REFUSALS = frozenset(
    {"NodeAffinity", "NodePorts", "UnexpectedAdmissionError", "VolumeAttachmentLimitExceeded", "PodFeatureUnsupported"}
)
REJECTED = "Pod was rejected: "
"""What the message of a pod begins with that its kubelet did not take."""
MOST_REQUIREMENTS = 1000
LONGEST_APPLICATION = 253
MOST_ANNOTATIONS = 255 * 1024
"""Bytes of annotations that a pod may have when it is bound: the API takes 256 KiB, and the allocation is written beside them.

The server accepts a Binding that exceeds the limit, and then refuses every later write to the pod, the kubelet's status included.
"""
MOST_IMAGES = 8192
"""Images, and lists of them, that are remembered."""
MOST_SPECS = 512
"""Specs of which is remembered what follows from them."""
_SLOT_ALONE = (accounting.SLOT,)
_specs: dict[int, "_Alike"] = {}
_node_images: dict[NodeImage, NodeImage] = {}
_pod_images: dict[tuple[str, ...], tuple[str, ...]] = {}
_constraints: dict[tuple[wire.Toleration, ...], Constraints] = {}
_WORDS = frozenset(
    {
        labels.PLACEMENT_CONSTRAINTS,
        labels.LOCALITY_NODES,
        labels.LOCALITY_RACKS,
        labels.RELAX_LOCALITY,
    }
)
"""Labels and annotations that have a say in the choice of the node."""


def node(seen: wire.Node) -> NodeSpec:
    """Translate a node; an allocatable amount that is not a quantity counts as none."""
    spec, status = seen.spec, seen.status
    allocatable = {}
    for name, text in ((status.allocatable or {}) if status is not None else {}).items():
        try:
            allocatable[name] = max(0, amount(name, text))
        except InvalidSpec:
            allocatable[name] = 0
    taints = tuple(Taint(one.key, one.value, one.effect) for one in (spec.taints or ())) if spec is not None else ()
    features = tuple(sorted(set(status.declared_features or ()))) if status is not None else ()
    cordoned = spec is not None and spec.unschedulable
    headroom: tuple[tuple[str, Limit], ...] = ()
    over_allocation = None
    problems = []
    notes = seen.metadata.annotations
    if notes and labels.HEADROOM in notes:
        try:
            headroom = labels.headroom_of(notes[labels.HEADROOM])
        except ValueError as error:
            problems.append(f"metadata.annotations[{labels.HEADROOM}]: {error}")
    if notes and labels.OVER_ALLOCATION in notes:
        try:
            over_allocation = over_allocation_of(notes[labels.OVER_ALLOCATION])
        except ValueError as error:
            problems.append(f"metadata.annotations[{labels.OVER_ALLOCATION}]: {error}")
    pressure = None
    if notes and labels.PRESSURE in notes:
        try:
            pressure = pressure_of(notes[labels.PRESSURE])
        except ValueError as error:
            problems.append(f"metadata.annotations[{labels.PRESSURE}]: {error}")
    return NodeSpec(
        seen.metadata.name,
        allocatable,
        seen.metadata.labels or {},
        taints,
        cordoned,
        features,
        headroom,
        tuple(map(_node_image, (status.images or ()) if status is not None else ())),
        "; ".join(problems),
        over_allocation,
        pressure,
    )


def pod(seen: wire.Pod, users: Source = Source.NAMESPACE) -> PodSpec:
    """Translate a pod; ``users`` is what says whose it is."""
    meta, spec, status = seen.metadata, seen.spec, seen.status
    if spec is None:
        return PodSpec(meta.uid, meta.namespace, meta.name)
    owner = None
    for reference in meta.owner_references or ():
        if reference.controller:
            owner = (reference.kind, reference.name)
    own, notes = meta.labels, meta.annotations
    words = words_of(own, notes, spec.scheduling_group.pod_group_name if spec.scheduling_group is not None else "", users)
    gang, problem = words.gang, ""
    application = words.application or labels.application_of(own, notes, owner, meta.name, gang.name if gang.group else "")
    alike = _alike(spec)
    demand, rules = alike.demand, alike.rules
    if demand is None or (spec.node_name and status is not None and accounting.tells(status)):
        try:
            demand = accounting.demand(seen)
        except InvalidSpec as error:
            demand, problem = _SLOT_ALONE, str(error)
    if rules is None or words.chooses:
        try:
            rules = constraints(spec, own, notes, meta.namespace, application)
            if spec.volumes is not None and any(map(matters, spec.volumes)):
                rules = replace(rules, volumes=volumes_of(spec.volumes, meta))
            claims = claims_of(seen)
            if claims is not None:
                rules = replace(rules, claims=claims)
        except ValueError as error:
            rules, problem = NO_CONSTRAINTS, problem or str(error)
    problem = problem or words.problem
    idle: tuple[tuple[str, int], ...] = ()
    unsaid, unclear, turning = idle, "", NOTHING
    if not words.types:
        if demand == _SLOT_ALONE:
            unsaid, unclear = if_opportunistic(seen)
        if notes and spec.node_name:
            if was_opportunistic(notes):
                turning = turns(seen)
                idle = if_opportunistic(seen)[0] if turning.stays else idle
            turning = turning._replace(unheeded=in_vain(notes))
    else:
        idle, unclear = opportunistic(seen)
        problem = problem or unclear
        turning = turns(seen)
        if turning.promotes or turning.stays:
            idle = idle or if_opportunistic(seen)[0]
    if len(application) > LONGEST_APPLICATION or (notes and not spec.node_name):  # one that is on a node needs no bind
        problem = problem or _too_long(application, notes or {})
        if len(application) > LONGEST_APPLICATION:
            application = f"pod/{meta.name}"
    reported = ("", "")
    finished = failed = False
    if status is not None:
        failed = status.phase == "Failed"
        finished = failed or status.phase == "Succeeded"
        if not spec.node_name:
            for condition in status.conditions or ():
                if condition.type == "PodScheduled" and condition.status == "False":
                    reported = (condition.reason, condition.message)
    created = meta.creation_timestamp
    return PodSpec(
        uid=meta.uid,
        namespace=meta.namespace,
        name=meta.name,
        scheduler=spec.scheduler_name,
        node=spec.node_name,
        expected="" if spec.node_name else _expected(spec, status, owner),
        demand=demand,
        opportunistic=idle,
        says_type=words.types,
        if_opportunistic=unsaid,
        unclear_if_opportunistic="" if words.types else unclear,
        if_guaranteed=turning.if_guaranteed,
        promotes=turning.promotes,
        promotes_itself=bool(turning.promotes) and alone(seen),
        demotes=turning.demotes,
        stays=turning.stays,
        unheeded=turning.unheeded or (unclear if words.types and spec.node_name else ""),
        constraints=rules,
        labels=words.labels,
        tags=words.tags,
        gang=gang.name,
        gang_minimums=gang.minimums,
        gang_topology=gang.topology if gang.name else None,
        gang_source=gang.source,
        leads=words.leads,
        application_tags=words.application_tags,
        priority=spec.priority or 0,
        application=f"{meta.namespace}/{application}",
        queue=words.queue,
        role=words.role,
        user=words.user or meta.namespace,
        groups=words.groups,
        claimed=words.claimed,
        unknown=words.unknown,
        partition=words.partition,
        profile=words.profile,
        held_in=notes.get(labels.ALLOCATED_QUEUE, "") if notes and spec.node_name else "",
        images=alike.images,
        created=created.timestamp() if created is not None else DAY_ONE,
        duration=words.duration,
        longest=float(max(0, spec.active_deadline_seconds or 0)),
        unread_duration=words.unread_duration,
        finished=finished,
        failed=failed,
        deleting=meta.deletion_timestamp is not None,
        gated=bool(spec.scheduling_gates),
        problem=problem,
        reported=reported,
        version=meta.resource_version,
        started=status.start_time.timestamp() if status is not None and status.start_time is not None else DAY_ONE,
    )


class _Alike(NamedTuple):
    """What follows from a spec alone, whatever its node, for all pods that have it.

    ``containers`` is the list by which it is told, which pods that are read as one share. ``demand`` is None where it makes no
    sense, ``rules`` where more than the spec has a say.
    """

    containers: list[wire.Container] | None
    demand: tuple[tuple[str, int], ...] | None
    rules: Constraints | None
    images: tuple[str, ...]


def _alike(spec: wire.PodSpec) -> _Alike:
    if spec.containers is None:
        return _from_spec(spec)
    found = _specs.get(id(spec.containers))
    if found is None or found.containers is not spec.containers:
        if len(_specs) >= MOST_SPECS:
            _specs.clear()
        found = _specs[id(spec.containers)] = _from_spec(spec)
    return found


def _from_spec(spec: wire.PodSpec) -> _Alike:
    try:
        demand = accounting.demand(wire.Pod(spec=spec))
    except InvalidSpec:
        demand = None
    rules = None
    affinity, volumes = spec.affinity, spec.volumes
    others = affinity is not None and (affinity.pod_affinity is not None or affinity.pod_anti_affinity is not None)
    if not (others or spec.topology_spread_constraints or (volumes is not None and any(map(matters, volumes)))):
        try:
            rules = constraints(spec) if claims_of(wire.Pod(spec=spec)) is None else None
        except ValueError:
            rules = None
    return _Alike(spec.containers, demand, rules, _images(spec))


def _node_image(seen: wire.ContainerImage) -> NodeImage:
    """Translate an image of a node: one object for all nodes that have it."""
    key = (tuple(seen.names or ()), max(0, seen.size_bytes))
    known = _node_images.get(key)
    if known is None:
        if len(_node_images) >= MOST_IMAGES:
            _node_images.clear()
        known = _node_images[key] = (tuple(tagged(name) for name in key[0]), key[1])
    return known


def _images(spec: wire.PodSpec) -> tuple[str, ...]:
    """Return the images of a pod's containers, one object for pods that are alike."""
    found = tuple(one.image for one in spec.containers or ())
    if spec.init_containers:
        found += tuple(one.image for one in spec.init_containers)
    known = _pod_images.get(found)
    if known is None:
        if len(_pod_images) >= MOST_IMAGES:
            _pod_images.clear()
        known = _pod_images[found] = tuple(map(tagged, found))
    return known


def tagged(name: str) -> str:
    """Return the name of an image with its tag, as nodes tell it (``normalizedImageName``)."""
    return name if name.rfind(":") > name.rfind("/") else f"{name}:latest"


def refused(status: wire.PodStatus) -> bool:
    """Whether a pod that failed was not taken by its kubelet, by what became of the node meanwhile or what others placed there."""
    if status.reason == "Evicted":
        return False  # by a kubelet that is short of something, which its taints tell
    return status.reason.startswith("OutOf") or status.reason in REFUSALS or status.message.startswith(REJECTED)


def _expected(spec: wire.PodSpec, status: wire.PodStatus | None, owner: tuple[str, str] | None) -> str:
    """Return the node on which a pod without one is about to be: the one that its scheduler has made room on, or the one that it was made for."""
    if status is not None and status.nominated_node_name:
        return status.nominated_node_name
    if owner is None or owner[0] != "DaemonSet" or spec.affinity is None or spec.affinity.node_affinity is None:
        return ""
    required = spec.affinity.node_affinity.required
    named = {
        tuple(one.values or ()) if one.key == "metadata.name" and one.operator == "In" else ()
        for term in (required.node_selector_terms or () if required is not None else ())
        for one in (term.match_fields or (wire.Expression(),))
    }
    only = named.pop() if len(named) == 1 else ()
    return only[0] if len(only) == 1 else ""


def _too_long(application: str, notes: dict[str, str]) -> str:
    """Return why a pod could not be bound without being broken by it, empty if it can."""
    if len(application) > LONGEST_APPLICATION:
        return f"metadata: the application's name {application[:40]!r}… has {len(application)} characters; at most {LONGEST_APPLICATION} are allowed"
    if 4 * (sum(map(len, notes)) + sum(map(len, notes.values()))) <= MOST_ANNOTATIONS:  # a character is four bytes at the most
        return ""
    size = sum(len(key.encode()) + len(text.encode()) for key, text in notes.items())
    if size > MOST_ANNOTATIONS:
        return f"metadata.annotations: {size} bytes; at most {MOST_ANNOTATIONS} are allowed, since the allocation is written beside them"
    return ""


def constraints(
    spec: wire.PodSpec,
    own: dict[str, str] | None = None,
    notes: dict[str, str] | None = None,
    namespace: str = "",
    application: str = "",
) -> Constraints:
    """Translate a pod's rules and wishes about its node; hard rules that we do not act on are named in ``unsupported``.

    Raises ``ValueError`` for an annotation that makes no sense.
    """
    tolerations = tuple(spec.tolerations or ())
    if not _is_plain(spec, own, notes):
        ports = _host_ports(spec)
        unsupported = _unsupported(spec)
        wish = _wish(spec.affinity, notes)
        affinity = _affinity(spec.affinity)
        placement = (notes or {}).get(labels.PLACEMENT_CONSTRAINTS) or (own or {}).get(labels.PLACEMENT_CONSTRAINTS, "")
        pods = rules_of(spec, namespace, own or {}, f"{namespace}/{application}", placement)
        features = _features(spec)
        if ports or unsupported or wish is not None or spec.node_selector or affinity is not None or pods is not None or features:
            selector = tuple(sorted((spec.node_selector or {}).items()))
            return Constraints(
                selector, affinity, _tolerations(tolerations), ports, unsupported, wish, pods=pods, features=features
            )
    if not tolerations:
        return NO_CONSTRAINTS
    known = _constraints.get(tolerations)
    if known is None:
        if len(_constraints) > MOST_REQUIREMENTS:
            _constraints.clear()
        known = _constraints[tolerations] = Constraints(tolerations=_tolerations(tolerations))
    return known


def _is_plain(spec: wire.PodSpec, own: dict[str, str] | None, notes: dict[str, str] | None) -> bool:
    """Whether a pod has no rule and no wish but what it tolerates: nearly every pod, told apart without building anything."""
    return (
        spec.affinity is None
        and not spec.node_selector
        and not spec.topology_spread_constraints
        and not spec.init_containers
        and not spec.host_network
        and (own is None or _WORDS.isdisjoint(own))
        and (notes is None or _WORDS.isdisjoint(notes))
        and (
            spec.containers is None or not any(container.ports or container.restart_policy_rules for container in spec.containers)
        )
    )


def _features(spec: wire.PodSpec) -> tuple[str, ...]:
    """Return the features that a node must declare for a pod (``InferForScheduling`` of component-helpers ``nodedeclaredfeatures``)."""
    found = []
    if any(
        rule.action == "RestartAllContainers"
        for container in (*(spec.containers or ()), *(spec.init_containers or ()))
        for rule in container.restart_policy_rules or ()
    ):
        found.append("RestartAllContainersOnContainerExits")
    if spec.host_network and spec.host_users is False:
        found.append("UserNamespacesHostNetworkSupport")
    return tuple(found)


def _wish(affinity: wire.Affinity | None, notes: dict[str, str] | None) -> Wish | None:
    preferred = affinity.node_affinity.preferred if affinity is not None and affinity.node_affinity is not None else None
    places = labels.locality_of(notes)
    if not preferred and places is None:
        return None
    terms = [(one.weight, _term(one.preference)) for one in preferred or () if one.preference is not None]
    nodes, racks, relax = places or ((), (), True)
    kept = tuple((weight, term) for weight, term in terms if term and weight > 0)  # an empty term prefers nothing
    return Wish(nodes, racks, kept, relax) if nodes or racks or kept else None


def _tolerations(seen: tuple[wire.Toleration, ...]) -> tuple[Toleration, ...]:
    return tuple(Toleration(one.key, one.operator or "Equal", one.value, one.effect) for one in seen)


def _affinity(seen: wire.Affinity | None) -> tuple[tuple[Requirement, ...], ...] | None:
    required = seen.node_affinity.required if seen is not None and seen.node_affinity is not None else None
    if required is None:
        return None
    return tuple(_term(term) for term in required.node_selector_terms or ())


def _term(term: wire.NodeSelectorTerm) -> tuple[Requirement, ...]:
    return (
        *(Requirement(one.key, one.operator, tuple(one.values or ())) for one in term.match_expressions or ()),
        *(Requirement(one.key, one.operator, tuple(one.values or ()), field=True) for one in term.match_fields or ()),
    )


def _host_ports(spec: wire.PodSpec) -> tuple[HostPort, ...]:
    found = [
        HostPort(port.host_ip or "0.0.0.0", port.protocol or "TCP", port.host_port)  # noqa: S104 - the API's word for every address
        for container in (
            *(spec.containers or ()),
            *(one for one in spec.init_containers or () if one.restart_policy == "Always"),
        )
        for port in container.ports or ()
        if port.host_port
    ]
    return tuple(sorted(set(found), key=lambda port: (port.port, port.protocol, port.ip))) if found else ()


def _unsupported(spec: wire.PodSpec) -> tuple[str, ...]:
    found = [
        f"spec.topologySpreadConstraints with whenUnsatisfiable {one.when_unsatisfiable}"
        for one in spec.topology_spread_constraints or ()
        if one.when_unsatisfiable not in {DO_NOT_SCHEDULE, "ScheduleAnyway"}
    ]
    return tuple(sorted(set(found))) if found else ()
