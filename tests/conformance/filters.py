"""Cases of kube-scheduler's filters: the nodes that a pod may go to, and what is said of the others.

The objects are read as the product reads them, in JSON; each node is asked by the core that serves, with a pass in which that
node alone offers itself.
"""

from __future__ import annotations

from typing import Any

import msgspec

from treadle.core.core import Core
from treadle.core.effects import Bind, BindVolumes, ReserveDevices
from treadle.core.events import (
    DevicesKnown,
    DevicesSeen,
    NamespaceSeen,
    NodeSeen,
    PodSeen,
    SchedulerSeen,
    StorageKnown,
    StorageSeen,
)
from treadle.core.model import PodSpec, SchedulerSpec
from treadle.kube import device_wire, devices, storage, translate, wire

OURS = "treadle"
STORAGE = {
    "pvcs": wire.PersistentVolumeClaim,
    "pvs": wire.PersistentVolume,
    "storageclasses": wire.StorageClass,
    "csinodes": wire.CSINode,
    "csidrivers": wire.CSIDriver,
    "csistoragecapacities": wire.CSIStorageCapacity,
    "volumeattachments": wire.VolumeAttachment,
}
DEVICES = {
    "deviceclasses": device_wire.DeviceClass,
    "resourceslices": device_wire.ResourceSlice,
    "resourceclaims": device_wire.ResourceClaim,
}


def built(case: dict[str, Any]) -> bool:
    given = case.get("input")
    return given is not None and "pod" in given and "nodes" in given


def read(kind: Any, one: dict[str, Any]) -> Any:
    return msgspec.json.decode(msgspec.json.encode(one), type=kind)


def core_of(given: dict[str, Any]) -> tuple[Core, PodSpec]:
    """A core that knows the cluster of a case, and the pod that is to be placed."""
    core = Core(validate=True)
    core.handle(SchedulerSeen(SchedulerSpec(name=OURS)), 0.0)
    for one in given.get("namespaces", ()):
        meta = read(wire.Namespace, one).metadata
        core.handle(NamespaceSeen(meta.name, "", tuple((meta.labels or {}).items())), 0.0)
    for one in given["nodes"]:
        core.handle(NodeSeen(translate.node(read(wire.Node, one))), 0.0)
    for kind, of in STORAGE.items():
        for one in given.get(kind, ()):
            core.handle(StorageSeen(storage.TRANSLATED[of][1](read(of, one))), 0.0)
    core.handle(StorageKnown(known=True), 0.0)
    for kind, of in DEVICES.items():
        for one in given.get(kind, ()):
            core.handle(DevicesSeen(devices.TRANSLATED[of][1](read(of, one))), 0.0)
    core.handle(DevicesKnown(known=True), 0.0)
    for number, one in enumerate(given.get("pods", ())):
        seen = read(wire.Pod, one)
        seen.metadata.uid = seen.metadata.uid or f"placed-{number}"
        core.handle(PodSeen(translate.pod(seen)), 0.0)
    pod = read(wire.Pod, given["pod"])
    pod.metadata.uid, pod.spec.scheduler_name = pod.metadata.uid or "uid-new", OURS
    return core, translate.pod(pod)


def answer(case: dict[str, Any]) -> dict[str, Any]:
    """Which nodes take the pod, by the passes of a core, and why the others do not."""
    given = case["input"]
    names = sorted(node["metadata"]["name"] for node in given["nodes"])
    feasible = [name for name in names if placed_on(given, only=name) == name]
    chosen = placed_on(given)
    core, pod = core_of(given)
    core.handle(PodSeen(pod), 0.0)
    core.plan(0.0, 0)
    refused = {name: why for name, why in core.view.refusals(pod.uid).items() if why}
    return {"feasible": feasible, "chosen": chosen in feasible if feasible else chosen is None, "refused": refused}


def placed_on(given: dict[str, Any], only: str = "") -> str | None:
    """Return the node on which a new core places the pod of a case, None for none."""
    core, pod = core_of(given)
    core.handle(PodSeen(pod), 0.0)
    binds = [effect for effect in core.plan(0.0, only=only) if isinstance(effect, Bind | BindVolumes | ReserveDevices)]
    return binds[0].node if binds else None


def comparable(found: dict[str, Any]) -> dict[str, Any]:
    """An answer without what is kube-scheduler's own: which plugin it was, and whether evicting pods may help."""
    if "prefilter" not in found:
        return found
    reasons = {name: sorted(refusal["reasons"]) for name, refusal in found["refused"].items()}
    return {"feasible": found["feasible"], "chosen": True, "refused": reasons}
