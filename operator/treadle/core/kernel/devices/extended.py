"""Extended resources that classes of devices serve (KEP-5004): on a node that has none of such a resource itself, a claim made for the pod asks for devices instead."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from treadle.core.model.devices import Alternative, DeviceRequest, Mapping, WantedDevices

if TYPE_CHECKING:
    from treadle.core.kernel.devices.registry import Devices
    from treadle.core.model import NodeSpec
    from treadle.core.model.devices import ContainerAsk, DeviceNeeds


class Special(NamedTuple):
    """What a claim for extended resources asks for, and which of its requests is for which container."""

    requests: tuple[DeviceRequest, ...]
    mappings: tuple[Mapping, ...]

    @property
    def wanted(self) -> WantedDevices:
        """The claim, as the allocator takes it."""
        return WantedDevices("", self.requests, (), ())


class _Ask(NamedTuple):
    name: str
    wanted: int


def special_claim(needs: DeviceNeeds, node: NodeSpec, devices: Devices) -> Special | None:
    """Return the claim that a pod needs on a node for its extended resources, None if the node has all of them itself."""
    served = [name for name, _ in needs.extended if not node.allocatable.get(name)]
    if not served:
        return None
    requests: list[DeviceRequest] = []
    mappings: list[Mapping] = []
    for resource in sorted(served):
        device_class = devices.serves(resource)
        if device_class is not None:
            _of_resource(needs.asks, resource, device_class, requests, mappings)
    return Special(tuple(sorted(requests, key=lambda one: one.name)), tuple(mappings))


def _of_resource(
    asks: tuple[ContainerAsk, ...], resource: str, device_class: str, requests: list[DeviceRequest], mappings: list[Mapping]
) -> None:
    """Add the requests for one resource: one for each container that stays, and one for all that end before, which use those of later ones first."""
    lasting: list[tuple[int, _Ask]] = []
    for ask in asks:
        found = _asked(ask, resource)
        if found is not None and not ask.brief:
            lasting.append((ask.at, found))
            mappings.append(Mapping(ask.name, resource, found.name))
    largest: _Ask | None = None
    brief: list[Mapping] = []
    own: set[str] = set()
    for ask in asks:
        found = _asked(ask, resource)
        if found is None or not ask.brief:
            continue
        so_far = 0
        for at, other in lasting:
            if at >= ask.at and so_far < found.wanted:
                so_far += other.wanted
                brief.append(Mapping(ask.name, resource, other.name))
        if so_far < found.wanted:
            own.add(found.name)
            brief.append(Mapping(ask.name, resource, found.name))
            if largest is None or largest.wanted < found.wanted - so_far:
                largest = _Ask(found.name, found.wanted - so_far)
    if largest is not None:
        brief = [Mapping(one.container, one.resource, largest.name) if one.request in own else one for one in brief]
    mappings += brief
    made = [*([largest] if largest is not None else []), *(one for _, one in lasting)]
    requests += [DeviceRequest(one.name, (Alternative("", device_class, count=one.wanted),)) for one in made]


def _asked(ask: ContainerAsk, resource: str) -> _Ask | None:
    """Return how much a container asks for, and the name that the request has."""
    return next((_Ask(f"container-{ask.at}-request-{at}", count) for name, count, at in ask.resources if name == resource), None)
