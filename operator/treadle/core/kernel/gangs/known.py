"""What is said of a gang: how many of its pods start together, and where; and how many are on nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.kernel.gangs.memory import group_of
from treadle.core.model import GangSpec
from treadle.core.model.gangs import KUBERNETES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application, Ask, PodRecord
    from treadle.core.model import PodSpec

ANYWHERE = ("", True)
"""The topology of a gang that may go to any nodes."""


def gang_of(state: State, spec: PodSpec) -> tuple[str, str] | None:
    """Return the application and the gang with whose pods a pod that waits starts together; None if it is placed by itself.

    It is by itself where the object that would say more says so (a PodGroup without a gang), and where there can be no such object:
    a PodGroup of a system whose kinds the API server does not have. Kubernetes' own is waited for, as kube-scheduler waits.
    """
    if not spec.gang or spec.node:
        return None
    if spec.gang_source and not _is_said(state, spec):
        gangs = state.gangs
        group = gangs.groups.get(group_of(spec))
        if group is not None and group.minimum is None:
            return None
        if group is None and gangs.served.get(spec.gang_source) is False and spec.gang_source != KUBERNETES:
            return None
    return spec.application, spec.gang


def topology_of(state: State, spec: PodSpec) -> tuple[str, bool]:
    """Return the label of nodes of which the gang of a pod is to have one value, and whether that is required; an empty label: any nodes."""
    said = _in_object(state, spec.application, spec.gang)
    if said is not None and said.topology:
        return said.topology, said.required
    if spec.gang_topology is not None:
        return spec.gang_topology
    if spec.gang_source:
        group = state.gangs.groups.get(group_of(spec))
        if group is not None and group.topology:
            return group.topology, group.required
    return ANYWHERE


def minimum(state: State, application: Application, gang: str) -> int | None:
    """Return how many pods of a gang start together: the word of the Application object, else the largest of its pods' and of the PodGroup's; None if nobody says."""
    explicit = _in_object(state, application.whole.id, gang)
    if explicit is not None:
        return explicit.minimum
    least: int | None = None
    groups = set()
    for record in application.whole.pods.values():
        for name, count in record.spec.gang_minimums:
            if name == gang:
                least = count if least is None else max(least, count)
        if record.spec.gang == gang and record.spec.gang_source:
            groups.add(group_of(record.spec))
    for key in groups:
        group = state.gangs.groups.get(key)
        if group is not None and group.minimum is not None:
            least = group.minimum if least is None else max(least, group.minimum)
    return least


def unsaid(state: State, application: Application, gang: str) -> str:
    """Return who should say how many pods of a gang start together."""
    for spec in members(application, gang):
        if spec.gang_source:
            there = (
                "is not there" if spec.gang_source in state.gangs.served else "is not known yet: PodGroups have not been listed"
            )
            return (
                f"PodGroup {spec.namespace}/{gang} of {spec.gang_source}, which says how many of its pods start together, {there}"
            )
    return f'nobody says how many pods of gang "{gang}" start together: neither spec.gangs of the Application nor the pods'


def members(application: Application, gang: str) -> Iterator[PodSpec]:
    """Return the pods of a gang."""
    return (record.spec for record in application.whole.pods.values() if record.spec.gang == gang)


def placed(application: Application, gang: str) -> list[PodRecord]:
    """Return the pods of a gang that are on nodes."""
    return [record for record in application.whole.pods.values() if record.node >= 0 and record.spec.gang == gang]


def complete(state: State, ask: Ask) -> bool:
    """Whether the minimum of an ask's gang is on nodes, so that its pods are placed one by one."""
    gang = ask.shape.gang
    if gang in state.gangs.complete:
        return True
    least = minimum(state, ask.application, gang[1])
    if least is None or len(placed(ask.application, gang[1])) < least:
        return False
    completed(state, gang)
    return True


def completed(state: State, gang: tuple[str, str]) -> None:
    """Take note that the minimum of a gang is on nodes."""
    state.gangs.complete[gang] = state.gangs.begun[gang] = None
    for known in (state.gangs.partial, state.gangs.stuck, state.gangs.left_alone, state.gangs.spare):
        known.pop(gang, None)
    if state.gangs.leaving:
        state.gangs.leaving = {uid: of for uid, of in state.gangs.leaving.items() if of != gang}


def _in_object(state: State, application: str, gang: str) -> GangSpec | None:
    explicit = state.explicit.get(application)
    return next((one for one in explicit.gangs if one.name == gang), None) if explicit is not None else None


def _is_said(state: State, spec: PodSpec) -> bool:
    """Whether it is said elsewhere than in a PodGroup object how many pods start together."""
    return any(name == spec.gang for name, _ in spec.gang_minimums) or _in_object(state, spec.application, spec.gang) is not None
