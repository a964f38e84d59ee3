"""What a pod on a node requests when its execution type is changed: by its owner, who edits the label, in place and without a restart.

A request that equals the limit of every container, of cpu and memory, would make the pod's class Guaranteed, which the API server does not let change: one
thousandth of a cpu is left off then. Memory is not lowered to nothing but to 1Ki, since kubelets keep showing the old request otherwise.
"""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from treadle.api.execution import (
    DEMAND,
    GUARANTEED,
    IN_VAIN,
    MEASURED,
    NO_DEMAND,
    OPPORTUNISTIC,
    PROMOTION,
    demand_of,
    is_opportunistic,
    promotes_itself,
    says,
)
from treadle.api.labels import BOUND_AS, EXECUTION_TYPE
from treadle.core.errors import InvalidSpec
from treadle.core.units.resources import amount, format_amount
from treadle.kube import accounting, wire

Requests = dict[str, dict[str, int]]
"""By container, by resource; cpu in thousandths, memory in bytes."""
LEAST_MEMORY = 1024


class Turns(NamedTuple):
    """What a pod on a node asks for by its execution type: to request something, or nothing any more."""

    promotes: tuple[tuple[str, int], ...] = ()
    """What an opportunistic one asks to request."""
    demotes: bool = False
    """Whether a guaranteed one asks to request nothing."""
    stays: bool = False
    """Whether it was bound as an opportunistic one and stays one, though it does not say so any more."""
    unheeded: str = ""
    """What of its words is not acted on, with what is allowed."""
    if_guaranteed: tuple[tuple[str, int], ...] = ()
    """What one that stays is to request where its application is guaranteed."""


NOTHING: Final = Turns()
_BY_ITS_APPLICATION: Final = f"metadata.annotations[{PROMOTION}]: it counts beside the label {EXECUTION_TYPE} of the pod alone, and this one is opportunistic by its application"


def in_vain(notes: Mapping[str, str]) -> str:
    """Return what is not acted on of what a pod on a node says that is opportunistic by its application."""
    return _BY_ITS_APPLICATION if PROMOTION in notes else ""


def turns(seen: wire.Pod) -> Turns:
    """Return what a pod on a node asks for.

    Only a pod that says both what it is and what it uses asks for anything. An opportunistic one asks to become guaranteed by itself where its annotation says so.
    One that said that it was opportunistic when it was bound, and was bound as a guaranteed one all the same, does not ask for anything by saying so still. One that
    was bound as an opportunistic one stays one as long as it requests nothing, whatever its words have become.
    """
    spec, own, notes = seen.spec, seen.metadata.labels, seen.metadata.annotations or {}
    if spec is None or not spec.node_name or not (says(own, notes) or was_opportunistic(notes)):
        return NOTHING
    try:
        now = _requests(spec)
    except InvalidSpec:
        return NOTHING
    requests = any(one.get("cpu", 0) or one.get("memory", 0) > LEAST_MEMORY for one in now.values())
    try:
        idle = is_opportunistic(own, notes)
        itself = idle and promotes_itself(notes)
        wanted = when_guaranteed(spec, notes)
    except (ValueError, InvalidSpec) as error:
        return Turns(stays=was_opportunistic(notes) and not requests, unheeded=str(error))
    if idle and requests:
        asks = notes.get(BOUND_AS, "").lower() != GUARANTEED
        return Turns(demotes=asks and DEMAND in notes, unheeded=NO_DEMAND if asks and DEMAND not in notes else "")
    if requests or (idle and not itself):
        return NOTHING
    if DEMAND in notes and wanted and says(own, notes):
        return _as_if(spec, wanted)
    if not says(own, notes):
        return Turns(stays=True, if_guaranteed=_as_if(spec, wanted).promotes if DEMAND in notes and wanted else ())
    if not itself and not was_opportunistic(notes):
        return NOTHING  # it was bound as a guaranteed one that requests nothing
    return Turns(stays=not idle, unheeded=IN_VAIN if DEMAND in notes else NO_DEMAND)


def was_opportunistic(notes: Mapping[str, str]) -> bool:
    """Whether it is written of a pod that it was bound as an opportunistic one, or became one."""
    return notes.get(BOUND_AS, "").lower() == OPPORTUNISTIC


def _as_if(spec: wire.PodSpec, wanted: Requests) -> Turns:
    """Return that a pod asks for what its containers are to request."""
    as_if = wire.Pod(
        spec=wire.PodSpec(containers=_with(spec.containers, wanted), init_containers=_with(spec.init_containers, wanted))
    )
    try:
        return Turns(tuple(one for one in accounting.demand(as_if) if one[0] in MEASURED))
    except InvalidSpec as error:
        return Turns(stays=True, unheeded=str(error))


def alone(seen: wire.Pod) -> bool:
    """Whether a pod that asks to be guaranteed does so by its annotation, while its execution type is still opportunistic. Raises ``ValueError``."""
    return is_opportunistic(seen.metadata.labels, seen.metadata.annotations)


def claims(seen: wire.Pod) -> bool:
    """Whether a pod says that it is guaranteed, is to be promoted by itself, and requests nothing."""
    notes = seen.metadata.annotations
    try:
        return not alone(seen) and promotes_itself(notes) and bool(turns(seen).promotes)
    except ValueError:
        return False


def relabelled(seen: wire.Pod, kind: str = GUARANTEED) -> dict[str, object]:
    """Return a patch by which a pod says what it is, which holds only for the pod as it was read."""
    return {"metadata": {**_as_read(seen), "labels": {EXECUTION_TYPE: kind}}}


def noted(seen: wire.Pod) -> dict[str, object]:
    """Return a patch by which it is written of a pod that it is opportunistic, which holds only for the pod as it was read."""
    return {"metadata": {**_as_read(seen), "annotations": {BOUND_AS: OPPORTUNISTIC}}}


def _as_read(seen: wire.Pod) -> dict[str, object]:
    return {"uid": seen.metadata.uid, "resourceVersion": seen.metadata.resource_version}


def when_guaranteed(spec: wire.PodSpec, notes: Mapping[str, str]) -> Requests:
    """Return the requests of a pod that is guaranteed: what its annotation says, at most its limits. Raises ``ValueError``."""
    said = demand_of(notes)
    found: Requests = {}
    equal = bool(spec.containers)
    for one in _resizable(spec):
        limits = _amounts(one.resources.limits if one.resources is not None else None)
        wants = {name: amount(name, text) for name, text in said.get(one.name, {}).items()} or dict(limits)
        found[one.name] = {name: min(value, limits.get(name, value)) for name, value in wants.items()}
        equal = equal and all(name in limits and found[one.name].get(name) == limits[name] for name in MEASURED)
    if equal and len(found) == len([*(spec.containers or ()), *(spec.init_containers or ())]):
        first = next((one for one in found.values() if one["cpu"] > 0), None)
        if first is not None:  # a limit of 0 is none, and no class Guaranteed comes of it
            first["cpu"] -= 1
    return {name: wants for name, wants in found.items() if any(wants.values())}


def when_opportunistic(spec: wire.PodSpec) -> Requests:
    """Return the requests of a pod that is opportunistic, of the containers that request something."""
    found: Requests = {}
    for one in _resizable(spec):
        now = _amounts(one.resources.requests if one.resources is not None else None)
        if now.get("cpu", 0) or now.get("memory", 0) > LEAST_MEMORY:
            found[one.name] = {"cpu": 0, "memory": min(LEAST_MEMORY, now.get("memory", 0))}
    return found


def body(seen: wire.Pod, requests: Requests) -> dict[str, object]:
    """Return a patch of a pod's requests, which holds only for the pod as it was read."""
    spec = seen.spec
    assert spec is not None
    changed: dict[str, object] = {}
    for field, containers in (("containers", spec.containers), ("initContainers", spec.init_containers)):
        lines = [
            {"name": one.name, "resources": {"requests": _texts(wants)}}
            for one in containers or ()
            if (wants := requests.get(one.name)) is not None
        ]
        if lines:
            changed[field] = lines
    return {"metadata": _as_read(seen), "spec": changed}


def _resizable(spec: wire.PodSpec) -> Iterator[wire.Container]:
    """Containers and sidecars: an init container that has ended cannot be resized."""
    yield from spec.containers or ()
    yield from (one for one in spec.init_containers or () if one.restart_policy == "Always")


def _requests(spec: wire.PodSpec) -> Requests:
    return {one.name: _amounts(one.resources.requests if one.resources is not None else None) for one in _resizable(spec)}


def _texts(wants: Mapping[str, int]) -> dict[str, str]:
    return {name: format_amount(name, wants.get(name, 0)) for name in MEASURED}


def _amounts(named: wire.Amounts | None) -> dict[str, int]:
    return {name: amount(name, named[name]) for name in MEASURED if named and name in named}


def _with(containers: list[wire.Container] | None, wanted: Requests) -> list[wire.Container]:
    return [
        wire.Container(
            name=one.name,
            restart_policy=one.restart_policy,
            resources=wire.Resources(
                requests={**_texts(wants)}
                if (wants := wanted.get(one.name)) is not None
                else (one.resources.requests if one.resources is not None else None)
            ),
        )
        for one in containers or ()
    ]
