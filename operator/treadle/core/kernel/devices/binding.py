"""The claims that are being allocated for pods that are placed (Reserve and PreBind of kube-scheduler's DynamicResources).

A pod is placed and counted at once, like any other; its bind follows when the API says that all its claims have devices, are reserved for it, and
that the devices are ready. Until then the devices are kept by ``Devices.decided``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from treadle.core.effects import ClaimDevices, MakeClaim, ReserveDevices
from treadle.core.kernel.devices.allocator import CannotAllocate, allocate
from treadle.core.kernel.devices.extended import special_claim
from treadle.core.kernel.devices.registry import special_key
from treadle.core.kernel.volumes.near import on
from treadle.core.model.devices import Consumer, WantedDevices

if TYPE_CHECKING:
    from treadle.core.kernel.devices.extended import Special
    from treadle.core.kernel.devices.registry import Devices
    from treadle.core.model import NodeSpec, PodSpec
    from treadle.core.model.devices import Allocation, DeviceClaimSpec, DeviceNeeds, PodClaims

LONGEST = 600.0
"""Seconds that claims may take to be allocated, reserved and ready (kube-scheduler's ``bindingTimeout``)."""


@dataclass(slots=True)
class Reserving:
    """The claims of one pod: what those get that had nothing, by key. ``asked`` are those for which the API has been asked."""

    node: str
    until: float
    allocations: dict[str, Allocation] = field(default_factory=dict)
    asked: dict[str, None] = field(default_factory=dict)
    special: Special | None = None
    """The claim that is made for extended resources."""
    problem: str = ""


class Reservations(dict[str, Reserving]):
    """The claims that are being allocated or reserved, by the uid of the pod, in the order of their ends.

    ``lingering`` is what was asked of the API for pods that are not placed any more, and may still come to be: until when it is kept, and for which
    claims. The claim tells when it has, ``settle`` that it has not.
    """

    def __init__(self) -> None:
        super().__init__()
        self.lingering: dict[str, tuple[float, dict[str, Allocation]]] = {}

    def begin(self, devices: Devices, spec: PodSpec, needs: DeviceNeeds, node: NodeSpec, now: float) -> bool:
        """Decide on devices for the claims of a pod that was placed on a node; returns whether anything has to be written, or awaited, before it is bound."""
        claims = _claims(devices, spec)
        special = special_claim(needs, node, devices) if needs.asks else None
        if special is None and all(_ready(claim, spec.uid) for claim in claims):
            return False
        self.pop(spec.uid, None)  # it ends after all others
        entry = self[spec.uid] = Reserving(node.name, now + LONGEST)
        lacking = [claim for claim in claims if devices.has(claim.key) is None]
        wanted = [WantedDevices("", claim.requests, claim.constraints, claim.configs) for claim in lacking]
        keys = [claim.key for claim in lacking]
        if special is not None:
            entry.special = special
            wanted.append(special.wanted)
            keys.append(special_key(spec.namespace, spec.uid))
        try:
            chosen = allocate(devices, node, devices.pools(node), wanted)
        except CannotAllocate as problem:  # it could when the node was chosen
            entry.problem = str(problem)
            for key in (*keys, *(claim.key for claim in claims)):
                devices.mark(key)
            return True
        for key, allocation in zip(keys, chosen, strict=True):
            entry.allocations[key] = allocation
            devices.decide(key, allocation)
        return True

    def restore(
        self, devices: Devices, spec: PodSpec, node: str, allocations: tuple[tuple[str, Allocation], ...], now: float
    ) -> None:
        """Take over what another core has decided; the API is asked again."""
        self.pop(spec.uid, None)  # it ends after all others
        entry = self[spec.uid] = Reserving(node, now + LONGEST)
        made = special_key(spec.namespace, spec.uid)
        for key, allocation in allocations:
            if key == made:
                entry.problem = "a claim for its extended resources was being made"
                devices.mark(made)
            claim = devices.claims.get(key)
            if claim is not None and claim.allocation is None and key not in devices.decided:
                entry.allocations[key] = allocation
                devices.decide(key, allocation)
        for claim in _claims(devices, spec):
            devices.mark(claim.key)

    def write(self, devices: Devices, spec: PodSpec, cause: int) -> ReserveDevices:
        """Return the effect that asks the API for what has not been asked for yet and can be."""
        entry, found = self[spec.uid], []
        for claim in _claims(devices, spec):
            if claim.key in entry.asked or any(one.uid == spec.uid for one in claim.reserved):
                continue
            allocation = entry.allocations.get(claim.key) if claim.allocation is None else None
            if claim.allocation is None and allocation is None:
                continue  # it is allocated for another pod
            entry.asked[claim.key] = None
            reserved = (*claim.reserved, Consumer(spec.uid, spec.name))
            found.append(
                ClaimDevices(claim.namespace, claim.name, claim.uid, claim.version, reserved, claim.finalizers, allocation)
            )
        made, key = None, special_key(spec.namespace, spec.uid)
        if entry.special is not None and key in entry.allocations and key not in entry.asked:
            entry.asked[key] = None
            made = MakeClaim(*entry.special, entry.allocations[key])
        return ReserveDevices(spec.uid, spec.namespace, spec.name, entry.node, tuple(found), cause, made)

    def end(self, devices: Devices, uid: str) -> None:
        """Keep nothing for a pod any more: its claims are reserved for it, or it is not placed."""
        entry = self.pop(uid, None)
        if entry is None:
            return
        lingering = {}
        for key, allocation in entry.allocations.items():
            if key in entry.asked and devices.decided.get(key) == allocation:
                lingering[key] = allocation
            else:
                devices.give_up(key)
        if lingering:
            self.linger(uid, entry.until, lingering)

    def linger(self, uid: str, until: float, allocations: dict[str, Allocation]) -> None:
        """Keep devices that claims may still get by what was asked for a pod."""
        self.lingering[uid] = (until, {**self.lingering.get(uid, (until, {}))[1], **allocations})

    def settle(self, devices: Devices, uid: str) -> None:
        """Take note that nothing more comes of what was asked for a pod."""
        _, allocations = self.lingering.pop(uid, (0.0, {}))
        for key, allocation in allocations.items():
            if devices.decided.get(key) == allocation:
                devices.give_up(key)

    def expire(self, devices: Devices, now: float) -> None:
        """Settle what has long been asked for, and forget what has come to be."""
        for uid, (until, allocations) in list(self.lingering.items()):
            if now >= until or not any(devices.decided.get(key) == one for key, one in allocations.items()):
                self.settle(devices, uid)

    def standing(self, devices: Devices, spec: PodSpec, node: NodeSpec | None) -> str | None:
        """Return an empty text when all claims of a pod are reserved for it and ready, None while they are not, and else what has gone wrong."""
        entry, claims = self[spec.uid], spec.constraints.claims
        if node is None:
            return f"node {entry.node} is gone"
        if entry.problem or claims is None:
            return entry.problem
        done = True
        for name, _ in claims.claims:
            key = f"{claims.namespace}/{name}"
            claim = devices.claims.get(key)
            if claim is None or claim.deleting:
                return f'resourceclaim "{name}" is {"being deleted" if claim is not None else "gone"}'
            if claim.allocation is None:
                if key not in devices.decided:
                    return f'what was decided for resourceclaim "{name}" is void'
                done = False
                continue
            if claim.allocation.nodes is not None and not on(node, claim.allocation.nodes):
                return f'the devices of resourceclaim "{name}" cannot be used on node {node.name}'
            failure = _failure(claim)
            if failure:
                return failure
            done = done and _ready(claim, spec.uid)
        if entry.special is not None:
            done = done and _made(devices, claims, spec.uid)
        return "" if done else None


def _claims(devices: Devices, spec: PodSpec) -> list[DeviceClaimSpec]:
    claims = spec.constraints.claims
    if claims is None:
        return []
    keys = dict.fromkeys(f"{claims.namespace}/{name}" for name, _ in claims.claims)
    return [devices.claims[key] for key in keys if key in devices.claims]


def _ready(claim: DeviceClaimSpec, uid: str) -> bool:
    """Whether a claim is allocated, reserved for a pod, and its devices are ready (``bindingConditions``)."""
    if claim.allocation is None or all(one.uid != uid for one in claim.reserved):
        return False
    return all((one.id, name) in claim.conditions for one in claim.allocation.results for name in one.conditions)


def _made(devices: Devices, claims: PodClaims, uid: str) -> bool:
    """Whether the claim for a pod's extended resources is ready, and the pod says so."""
    claim = devices.claims.get(devices.special.get(uid, ""))
    return claim is not None and claims.special == claim.name and _ready(claim, uid)


def _failure(claim: DeviceClaimSpec) -> str:
    """Return which condition says that a device of a claim will never be ready, an empty text if none does."""
    for one in claim.allocation.results if claim.allocation is not None else ():
        for name in one.failures:
            if (one.id, name) in claim.conditions:
                return f'device {"/".join(one.id)} of resourceclaim "{claim.name}" has condition {name}'
    return ""
