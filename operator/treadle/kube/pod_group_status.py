"""The status of PodGroups of other systems, as their own schedulers write it: what users, their tools and the operators that made them read.

Only what they share is written: the phase, conditions, and how many pods run and have ended. Fields that others write stay as they are.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from treadle.core.model.gangs import KUBERNETES, PLUGINS, VOLCANO

Json = dict[str, Any]
UNSCHEDULABLE: Final = "Unschedulable"
COMPLETED: Final = "Completed"
LONGEST_MESSAGE: Final = 1024
LONGEST_REASON: Final = 128
FIRST_VERSION: Final = "scheduling.k8s.io/v1alpha2"
"""Kubernetes 1.36, in which the condition has another name than later."""


class Group(NamedTuple):
    """How a PodGroup is doing: its ``minimum``, how many pods have not ended, are bound, and run, why the first one waits, and how many pods have ended."""

    minimum: int
    pods: int
    bound: int
    running: int
    waits: tuple[str, str] | None
    succeeded: int = 0
    failed: int = 0


def wanted(source: str, version: str, group: Group, status: Mapping[str, Any], generation: int, now: str) -> Json | None:
    """Return what of the status of a PodGroup is to be so, the rest stays; None where nothing is to be said. ``status`` is the one that it has, ``now`` is RFC 3339."""
    return _WANTED[source](version, group, status, generation, now)


def _kubernetes(version: str, group: Group, status: Mapping[str, Any], generation: int, now: str) -> Json | None:
    """Return the one condition of kube-scheduler's, which says what became of the first start and stays once it is True."""
    kind = "PodGroupScheduled" if version == FIRST_VERSION else "PodGroupInitiallyScheduled"
    before = _condition(status, kind)
    if before.get("status") == "True":
        return None
    if group.bound >= group.minimum:
        made = {
            "status": "True",
            "reason": "Scheduled",
            "message": f"{group.bound} pods are placed, the group starts with {group.minimum}",
        }
    elif group.waits is not None:
        made = {"status": "False", "reason": group.waits[0][:LONGEST_REASON], "message": group.waits[1][:LONGEST_MESSAGE]}
    else:
        return None
    return {"conditions": _with(status, {"type": kind, **made, "observedGeneration": generation}, now)}


def _volcano(version: str, group: Group, status: Mapping[str, Any], generation: int, now: str) -> Json | None:
    """Return phase, conditions and counts. Volcano's ``Inqueue`` lets operators make the pods of a group; limits of queues hold the pods instead.

    Pods that have ended count towards the minimum; where all that were scheduled have, the group is ``Completed``, and stays so when they are gone.
    """
    del version, generation
    ended = group.succeeded + group.failed
    if status.get("phase") == COMPLETED and not group.pods and not ended:
        return None
    if group.bound + ended >= group.minimum:
        phase = "Running" if group.bound else COMPLETED
    else:
        phase = "Unknown" if group.bound else "Inqueue"
    conditions = None
    if phase in {"Running", COMPLETED}:
        conditions = _with(
            status,
            {"type": "Scheduled", "status": "True", "reason": "tasks in gang are ready to be scheduled"},
            now,
            transition=True,
        )
        if _condition(status, UNSCHEDULABLE):
            over = {"type": UNSCHEDULABLE, "status": "False", "reason": "Scheduled", "message": ""}
            conditions = _with({"conditions": conditions}, over, now, transition=True)
    elif group.waits is not None:
        reason, message = group.waits
        words = {
            "type": UNSCHEDULABLE,
            "status": "True",
            "reason": "NotEnoughResources" if reason == UNSCHEDULABLE else reason[:LONGEST_REASON],
            "message": message[:LONGEST_MESSAGE],
        }
        conditions = _with(status, words, now, transition=True)
    found: Json = {"phase": phase, **_counts(group)}
    return found if conditions is None else {**found, "conditions": conditions}


def _plugins(version: str, group: Group, status: Mapping[str, Any], generation: int, now: str) -> Json | None:
    """Return the phase and the counts of the coscheduling plugin's controller, to which ``Finished`` and ``Failed`` are final."""
    del version, generation, now
    ended = group.succeeded + group.failed
    if not (group.pods or ended) or status.get("phase") in {"Finished", "Failed"}:
        return None
    if group.succeeded >= group.minimum:
        phase = "Finished"
    elif group.failed and group.running + ended >= group.minimum:
        phase = "Failed"
    elif group.bound + ended < group.minimum:
        phase = "Unknown" if group.bound else "Pending"
    else:
        phase = "Running" if group.running + group.succeeded >= group.minimum else "Scheduling"
    return {"phase": phase, **_counts(group)}


def _counts(group: Group) -> Json:
    return {"running": group.running or None, "succeeded": group.succeeded or None, "failed": group.failed or None}


_WANTED: Final[dict[str, Callable[[str, Group, Mapping[str, Any], int, str], Json | None]]] = {
    KUBERNETES: _kubernetes,
    VOLCANO: _volcano,
    PLUGINS: _plugins,
}


def _conditions(status: Mapping[str, Any]) -> list[Json]:
    found = status.get("conditions")
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _condition(status: Mapping[str, Any], kind: str) -> Json:
    return next((one for one in _conditions(status) if one.get("type") == kind), {})


def _with(status: Mapping[str, Any], new: Json, now: str, *, transition: bool = False) -> list[Json]:
    """Return the conditions with one of them set, whose time stays while its status does; ``transition``: it has an id of its own, as Volcano's have."""
    before = _condition(status, new["type"])
    same = before.get("status") == new["status"] and before.get("lastTransitionTime")
    made = {**new, "lastTransitionTime": before["lastTransitionTime"] if same else now}
    if transition:
        made["transitionID"] = before["transitionID"] if same and before.get("transitionID") else str(uuid.uuid4())
    others = _conditions(status)
    if before:
        return [made if one is before else one for one in others]
    return [*others, made]


def changes(status: Mapping[str, Any], new: Mapping[str, Any]) -> Json:
    """Return what of a status is to become another."""
    return {
        name: value for name, value in new.items() if status.get(name) != value and not (value is None and not status.get(name))
    }
