"""What a pod's claims for devices come to, as they are now: the part of kube-scheduler's DynamicResources that is the same for all nodes (its PreFilter)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from treadle.core.kernel.devices.counting import counts_of, counts_of_extended
from treadle.core.model.devices import MOST_CONSUMERS, DeviceNeeds, WantedDevices

if TYPE_CHECKING:
    from treadle.core.kernel.devices.registry import Devices
    from treadle.core.model.devices import Counts, DeviceClaimSpec, PodClaims
    from treadle.core.model.volumes import NodeTerms

UNKNOWN = "claims for devices have not been listed yet"


class _Problem(Exception):
    """No node will do for now."""


def extended_of(pod: PodClaims, demand: tuple[tuple[str, int], ...], devices: Devices) -> tuple[tuple[str, int], ...]:
    """Return the extended resources of a demand that classes serve."""
    if not pod.asks:
        return ()
    names = {name for ask in pod.asks for name, _, _ in ask.resources}
    return tuple((name, amount) for name, amount in demand if name in names and devices.serves(name) is not None)


def device_needs(pod: PodClaims, uid: str, extended: tuple[tuple[str, int], ...], devices: Devices) -> DeviceNeeds:
    """Return what the claims of a pod come to, and its extended resources that classes serve."""
    found = _needs(pod, uid, devices)
    if not extended or found.problem or found.unsupported:
        return replace(found, extended=extended) if extended else found
    found = replace(found, charged=(*found.charged, *counts_of_extended(extended, devices)))
    if uid in devices.special:
        name = devices.special[uid].partition("/")[2]
        devices.idle[devices.special[uid]] = None
        return DeviceNeeds(problem=f'resourceclaim "{name}" of an earlier placement is being deleted', extended=extended)
    names = {name for name, _ in extended}
    asks = tuple(
        replace(ask, resources=kept) for ask in pod.asks if (kept := tuple(one for one in ask.resources if one[0] in names))
    )
    return replace(found, extended=extended, asks=asks)


def _needs(pod: PodClaims, uid: str, devices: Devices) -> DeviceNeeds:
    if not devices.known and (pod.claims or pod.waiting):
        return DeviceNeeds(problem=f"{UNKNOWN}: {devices.trouble}" if devices.trouble else UNKNOWN)
    try:
        claims = claims_of(pod, devices)
    except _Problem as problem:
        return DeviceNeeds(problem=str(problem))
    bound: dict[NodeTerms, None] = {}
    wanted: list[WantedDevices] = []
    charged: list[tuple[str, int]] = []
    shared: list[tuple[str, Counts]] = []
    for claim in claims:
        if devices.payers.get(claim.key, uid) == uid and (counts := counts_of(claim, devices)):
            if len(devices.users.get(claim.key, ())) > 1:
                shared.append((claim.key, counts))
            else:
                charged += counts
        if claim.allocation is None:
            if claim.problem:
                return DeviceNeeds(unsupported=f'{claim.problem} of resourceclaim "{claim.name}"')
            missing = _missing(claim, devices)
            if missing:
                return DeviceNeeds(problem=missing)
            named = len(devices.users.get(claim.key, ())) > 1 or claim.key in devices.decided
            wanted.append(WantedDevices(claim.key if named else "", claim.requests, claim.constraints, claim.configs))
            continue
        if len(claim.reserved) >= MOST_CONSUMERS and all(one.uid != uid for one in claim.reserved):
            return DeviceNeeds(
                problem=f'resourceclaim "{claim.name}" is reserved for {len(claim.reserved)} pods; at most {MOST_CONSUMERS} are allowed'
            )
        if claim.allocation.nodes is not None:
            bound[claim.allocation.nodes] = None
            if all(one.uid == uid for one in claim.reserved):
                devices.idle[claim.key] = None
    return DeviceNeeds(bound=tuple(bound), wanted=tuple(wanted), charged=tuple(charged), shared=tuple(shared))


def claims_of(pod: PodClaims, devices: Devices) -> list[DeviceClaimSpec]:
    """Return the claims of a pod, if all are there and can be used. Raises ``_Problem``."""
    if pod.waiting:
        raise _Problem(f'waiting for the resourceclaim controller to create the claim of spec.resourceClaims "{pod.waiting[0]}"')
    found: dict[str, DeviceClaimSpec] = {}
    for name, own in pod.claims:
        claim = devices.claims.get(f"{pod.namespace}/{name}")
        if claim is None:
            raise _Problem(f'could not find ResourceClaim "{pod.namespace}/{name}"')
        if claim.deleting:
            raise _Problem(f'resourceclaim "{name}" is being deleted')
        if own and claim.owner != pod.pod:
            raise _Problem(
                f"ResourceClaim {pod.namespace}/{name} was not created for Pod {pod.namespace}/{pod.name} (Pod is not owner)"
            )
        found[claim.key] = claim
    return list(found.values())


def _missing(claim: DeviceClaimSpec, devices: Devices) -> str:
    """Return which class of a claim is not there, an empty text if all are."""
    for request in claim.requests:
        for asked in request.alternatives:
            if asked.device_class not in devices.classes:
                name = f"{request.name}/{asked.name}" if request.first else request.name
                return f"request {name}: device class {asked.device_class} does not exist"
    return ""
