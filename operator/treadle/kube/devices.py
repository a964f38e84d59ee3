"""From the API's objects about devices, and the claims of pods, to what the core is told of them. Nothing here raises: what is not understood is named in the claim's ``problem``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from treadle.core.model import Requirement
from treadle.core.model.devices import (
    ALL,
    CLASS_RESOURCE,
    EXACT_COUNT,
    Allocation,
    Alternative,
    Amount,
    AttributeConstraint,
    Consumer,
    ContainerAsk,
    DeviceCapacity,
    DeviceClaimSpec,
    DeviceClassSpec,
    DeviceObject,
    DeviceRequest,
    DeviceResult,
    DeviceSpec,
    DeviceTaint,
    DeviceToleration,
    PodClaims,
    SliceSpec,
    Value,
)
from treadle.kube import device_wire as seen_as
from treadle.kube.device_selectors import selector
from treadle.kube.quantities import exact

if TYPE_CHECKING:
    from treadle.core.model.volumes import NodeTerms
    from treadle.kube import wire

_PLAIN = {"cpu", "memory"}
SPECIAL = "resource.kubernetes.io/extended-resource-claim"
GROUP: Final = "/apis/resource.k8s.io/v1"


def claims_of(pod: wire.Pod) -> PodClaims | None:
    """Return what a pod says of its claims for devices; those made from templates have the names that its status tells."""
    spec, meta = pod.spec, pod.metadata
    if spec is None:
        return None
    asks = _asks(spec)
    if not spec.resource_claims and not asks:
        return None
    status = pod.status.extended_resource_claim_status if pod.status is not None else None
    made = {one.name: one.resource_claim_name for one in (pod.status.resource_claim_statuses if pod.status else None) or ()}
    claims: dict[tuple[str, bool], None] = {}
    waiting = []
    for one in spec.resource_claims or ():
        if one.resource_claim_name:
            claims[one.resource_claim_name, False] = None
        elif one.name not in made:
            waiting.append(one.name)
        elif name := made[one.name]:
            claims[name, True] = None
    own = any(is_own for _, is_own in claims)
    return PodClaims(
        meta.namespace,
        tuple(claims),
        tuple(waiting),
        meta.uid if own else "",
        meta.name if own else "",
        asks,
        status.resource_claim_name if status is not None else "",
    )


def may_be_served(name: str) -> bool:
    """Whether a class of devices may serve a resource: an extended one, or that which stands for a class."""
    return name.startswith(CLASS_RESOURCE) or ("/" in name and "kubernetes.io/" not in name and not name.startswith("requests."))


def _asks(spec: wire.PodSpec) -> tuple[ContainerAsk, ...]:
    """Return the containers with resources that a class of devices may serve."""
    found = []
    init = len(spec.init_containers or ())
    for at, one in enumerate((*(spec.init_containers or ()), *(spec.containers or ()))):
        requests = (one.resources.requests if one.resources is not None else None) or {}
        if len(requests) < 3 and requests.keys() <= _PLAIN:
            continue
        resources = []
        for position, name in enumerate(sorted(requests)):
            if may_be_served(name) and (count := _count(requests[name])):
                resources.append((name, count, position))
        if resources:
            found.append(ContainerAsk(at, one.name, at < init and one.restart_policy != "Always", tuple(resources)))
    return tuple(found)


def _count(text: str | float) -> int:
    amount = _amount(text)
    return int(amount) if amount == int(amount) else 0


def resource_slice(seen: seen_as.ResourceSlice) -> SliceSpec:
    """Translate a ResourceSlice."""
    spec = seen.spec or seen_as.SliceSpec()
    pool = spec.pool or seen_as.Pool()
    return SliceSpec(
        seen.metadata.name,
        spec.driver,
        pool.name,
        pool.generation,
        pool.resource_slice_count,
        spec.node_name or "",
        bool(spec.all_nodes),
        terms(spec.node_selector),
        bool(spec.per_device_node_selection),
        tuple(_device(one) for one in spec.devices or ()),
        tuple((one.name, _counters(one.counters)) for one in spec.shared_counters or ()),
    )


def device_class(seen: seen_as.DeviceClass) -> DeviceClassSpec:
    """Translate a DeviceClass."""
    spec, created = seen.spec or seen_as.ClassSpec(), seen.metadata.creation_timestamp
    return DeviceClassSpec(
        seen.metadata.name,
        tuple(selector(one.cel.expression) for one in spec.selectors or () if one.cel is not None),
        tuple(bytes(one.opaque).decode() for one in spec.config or () if one.opaque),
        spec.extended_resource_name or "",
        created.timestamp() if created is not None else 0.0,
    )


def claim(seen: seen_as.ResourceClaim) -> DeviceClaimSpec:
    """Translate a ResourceClaim."""
    meta, status = seen.metadata, seen.status or seen_as.ClaimStatus()
    devices = (seen.spec.devices if seen.spec is not None else None) or seen_as.Devices()
    problem = ""
    requests = []
    for one in devices.requests or ():
        if one.exactly is None and not one.first_available:
            problem = problem or f"spec.devices.requests[{one.name}] without exactly or firstAvailable"
        asked = [one.exactly] if one.exactly is not None else one.first_available or []
        problem = problem or next((wrong for each in asked if (wrong := _not_understood(one.name, each))), "")
        first = one.exactly is None
        requests.append(DeviceRequest(one.name, tuple(_alternative(each, first=first) for each in asked), first=first))
    constraints = []
    for number, rule in enumerate(devices.constraints or ()):
        if rule.match_attribute is None and rule.distinct_attribute is None:
            problem = problem or f"spec.devices.constraints[{number}] of a kind that is not known"
        attribute = rule.match_attribute or rule.distinct_attribute or ""
        constraints.append(AttributeConstraint(attribute, tuple(rule.requests or ()), distinct=rule.match_attribute is None))
    held = {
        ((one.driver, one.pool, one.device), each.type)
        for one in status.devices or ()
        for each in one.conditions or ()
        if each.status == "True"
    }
    return DeviceClaimSpec(
        meta.namespace,
        meta.name,
        meta.uid,
        meta.resource_version,
        next((one.uid for one in meta.owner_references or () if one.controller), ""),
        meta.deletion_timestamp is not None,
        tuple(requests),
        tuple(constraints),
        tuple((tuple(one.requests or ()), bytes(one.opaque).decode()) for one in devices.config or () if one.opaque),
        _allocation(status.allocation) if status.allocation is not None else None,
        tuple(Consumer(one.uid, one.name, one.resource, one.api_group) for one in status.reserved_for or ()),
        tuple(meta.finalizers or ()),
        (meta.annotations or {}).get(SPECIAL) == "true",
        tuple(sorted(held)),
        problem,
    )


def terms(seen: wire.NodeSelector | None) -> NodeTerms | None:
    """Translate a node selector."""
    if seen is None:
        return None
    return tuple(
        (
            *(Requirement(one.key, one.operator, tuple(one.values or ())) for one in term.match_expressions or ()),
            *(Requirement(one.key, one.operator, tuple(one.values or ()), field=True) for one in term.match_fields or ()),
        )
        for term in seen.node_selector_terms or ()
    )


TRANSLATED: Final[dict[type, tuple[type[DeviceObject], Callable[[Any], DeviceObject]]]] = {
    seen_as.ResourceSlice: (SliceSpec, resource_slice),
    seen_as.DeviceClass: (DeviceClassSpec, device_class),
    seen_as.ResourceClaim: (DeviceClaimSpec, claim),
}
"""What each kind of the API is to the core, and how it is translated."""
PATHS: Final[dict[str, tuple[str, type]]] = {
    "resourceslices": (f"{GROUP}/resourceslices", seen_as.ResourceSlice),
    "deviceclasses": (f"{GROUP}/deviceclasses", seen_as.DeviceClass),
    "resourceclaims": (f"{GROUP}/resourceclaims", seen_as.ResourceClaim),
}
"""Where each resource is listed."""


def _not_understood(request: str, asked: seen_as.Asked) -> str:
    where = f"spec.devices.requests[{request}]"
    if not asked.device_class_name:
        return f"{where} without a deviceClassName"
    if asked.allocation_mode not in {"", ALL, EXACT_COUNT}:
        return f"{where}.allocationMode {asked.allocation_mode}"
    if any(one.cel is None for one in asked.selectors or ()):
        return f"{where}.selectors of a kind that is not known"
    return ""


def _alternative(seen: seen_as.Asked, *, first: bool) -> Alternative:
    return Alternative(
        seen.name if first else "",
        seen.device_class_name,
        tuple(selector(one.cel.expression) for one in seen.selectors or () if one.cel is not None),
        seen.allocation_mode or EXACT_COUNT,
        max(seen.count, 1),
        bool(seen.admin_access),
        tuple(
            DeviceToleration(one.key, one.operator or "Equal", one.value, one.effect, one.toleration_seconds)
            for one in seen.tolerations or ()
        ),
        tuple(
            sorted((name, _amount(text)) for name, text in ((seen.capacity.requests if seen.capacity else None) or {}).items())
        ),
    )


def _device(seen: seen_as.Device) -> DeviceSpec:
    return DeviceSpec(
        seen.name,
        tuple((name, value) for name, one in (seen.attributes or {}).items() if (value := _value(one)) is not None),
        tuple((name, _capacity(one)) for name, one in (seen.capacity or {}).items()),
        tuple(DeviceTaint(one.key, one.value, one.effect) for one in seen.taints or ()),
        bool(seen.allow_multiple_allocations),
        tuple((one.counter_set, _counters(one.counters)) for one in seen.consumes_counters or ()),
        seen.node_name or "",
        bool(seen.all_nodes),
        terms(seen.node_selector),
        bool(seen.binds_to_node),
        tuple(seen.binding_conditions or ()),
        tuple(seen.binding_failure_conditions or ()),
    )


def _value(seen: seen_as.Attribute) -> Value | None:
    for kind, value in (("int", seen.int_), ("bool", seen.bool_), ("string", seen.string), ("version", seen.version)):
        if value is not None:
            return kind, value
    return "unknown", ""


def _capacity(seen: seen_as.Capacity) -> DeviceCapacity:
    policy = seen.request_policy
    if policy is None:
        return DeviceCapacity(_amount(seen.value))
    span = policy.valid_range
    return DeviceCapacity(
        _amount(seen.value),
        _maybe(policy.default),
        tuple(_amount(one) for one in policy.valid_values or ()),
        span is not None,
        _maybe(span.min_) if span is not None else None,
        _maybe(span.max_) if span is not None else None,
        _maybe(span.step) if span is not None else None,
    )


def _counters(seen: dict[str, seen_as.Counter] | None) -> tuple[tuple[str, Amount], ...]:
    return tuple((name, _amount(one.value)) for name, one in (seen or {}).items())


def _allocation(seen: seen_as.Allocation) -> Allocation:
    results: Iterable[seen_as.Result] = (seen.devices.results if seen.devices is not None else None) or ()
    return Allocation(
        tuple(
            DeviceResult(
                one.request,
                one.driver,
                one.pool,
                one.device,
                admin=bool(one.admin_access),
                shared=one.share_id is not None,
                consumed=tuple(sorted((name, _amount(text)) for name, text in (one.consumed_capacity or {}).items())),
                conditions=tuple(one.binding_conditions or ()),
                failures=tuple(one.binding_failure_conditions or ()),
            )
            for one in results
        ),
        terms(seen.node_selector),
    )


def _maybe(text: str | float | None) -> Amount | None:
    return None if text is None else _amount(text)


def _amount(text: str | float) -> Amount:
    try:
        return exact(text)
    except ValueError:
        return 0
