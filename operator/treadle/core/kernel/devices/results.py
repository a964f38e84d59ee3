"""What an allocation says beside the devices: the nodes where all of them can be used, and the configuration that goes with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.model import Requirement
from treadle.core.model.devices import NODE_NAME, DeviceConfig

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from treadle.core.model import NodeSpec
    from treadle.core.model.devices import DeviceClassSpec, DeviceSpec, SliceSpec, WantedDevices
    from treadle.core.model.volumes import NodeTerms

FROM_CLASS, FROM_CLAIM = "FromClass", "FromClaim"


def only(node: NodeSpec) -> NodeTerms:
    """Return the terms that admit one node."""
    return ((Requirement(NODE_NAME, "In", (node.name,), field=True),),)


def nodes_of(chosen: Iterable[tuple[SliceSpec, DeviceSpec]], node: NodeSpec) -> NodeTerms | None:
    """Return where devices can be used together; None: on all nodes. One that is local to a node binds the others to it."""
    term: dict[Requirement, None] = {}
    for one, device in chosen:
        name, nodes = (device.node, device.nodes) if one.per_device else (one.node, one.nodes)
        if name or device.binds_to_node:
            return only(node)
        if nodes:
            term.update(dict.fromkeys(nodes[0]))
    return (tuple(term),) if term else None


def config_of(claim: WantedDevices, used: Sequence[tuple[str, DeviceClassSpec | None]]) -> tuple[DeviceConfig, ...]:
    """Return the configuration for what the requests of a claim got: of each class once, then the claim's own for those requests and alternatives."""
    found: list[DeviceConfig] = []
    classes: dict[str, tuple[DeviceClassSpec, list[str]]] = {}
    for name, known in used:
        if known is not None:
            classes.setdefault(known.name, (known, []))[1].append(name)
    for known, names in classes.values():
        found += [DeviceConfig(FROM_CLASS, tuple(names), opaque) for opaque in known.configs]
    for requests, opaque in claim.configs:
        if not requests:
            found.append(DeviceConfig(FROM_CLAIM, (), opaque))
            continue
        found += [
            DeviceConfig(FROM_CLAIM, requests, opaque)
            for name, _ in used
            if name in requests or name.partition("/")[0] in requests
        ]
    return tuple(found)
