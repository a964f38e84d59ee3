"""Claims for devices in few words: slices, claims, pods that name them, and an API that has what was asked for."""

from __future__ import annotations

from dataclasses import replace

from core.builders import Scenario, a_pod
from treadle.core.effects import Bind, Effect, FreeDevices, ReserveDevices
from treadle.core.events import DevicesSeen
from treadle.core.model import Constraints, PodSpec
from treadle.core.model.devices import (
    Alternative,
    DeviceClaimSpec,
    DeviceClassSpec,
    DeviceRequest,
    DeviceSpec,
    PodClaims,
    SliceSpec,
)


def slice_of(node: str, *devices: DeviceSpec, **fields: object) -> SliceSpec:
    return SliceSpec(f"slice-{node}", "driver", node, 1, 1, node, devices=devices, **fields)  # type: ignore[arg-type]


def gpus(count: int, **fields: object) -> tuple[DeviceSpec, ...]:
    return tuple(DeviceSpec(f"gpu-{number}", **fields) for number in range(count))  # type: ignore[arg-type]


def asking(of: str = "gpu", **fields: object) -> DeviceRequest:
    return DeviceRequest("r", (Alternative("", of, **fields),))  # type: ignore[arg-type]


def claim(name: str, *requests: DeviceRequest, **fields: object) -> DeviceClaimSpec:
    return DeviceClaimSpec("ns", name, f"uid-{name}", "1", requests=requests or (asking(),), **fields)  # type: ignore[arg-type]


def with_claims(name: str, *claims: str, **fields: object) -> PodSpec:
    return a_pod(name, constraints=Constraints(claims=PodClaims("ns", tuple((one, False) for one in claims), **fields)))  # type: ignore[arg-type]


def see(at: Scenario, *things: DeviceClaimSpec | DeviceClassSpec | SliceSpec) -> None:
    at.tell(*(DevicesSeen(thing) for thing in things))


def planned(at: Scenario) -> list[Effect]:
    return [effect for effect in at.core.plan(at.now) if isinstance(effect, Bind | ReserveDevices | FreeDevices)]


def reserved(at: Scenario) -> ReserveDevices:
    (asked,) = planned(at)
    assert isinstance(asked, ReserveDevices)
    return asked


def written(at: Scenario, asked: ReserveDevices) -> None:
    """The API has what was asked for."""
    known = at.core.state.shapes.devices.claims
    for one in asked.claims:
        now = known[f"{one.namespace}/{one.claim}"]
        see(
            at, replace(now, version="2", reserved=(*now.reserved, one.reserved[-1]), allocation=one.allocation or now.allocation)
        )


def why(at: Scenario, uid: str) -> tuple[str, str]:
    planned(at)
    found = at.core.explain(uid)
    assert found is not None
    return found.reason, found.message
