"""Gangs that wait for nodes, and what became of the nodes that were asked for: a request for all that a gang lacks, instead of a word about each pod.

An autoscaler that acts on the reason ``Unschedulable`` makes room for one pod after the other, and a gang gains nothing by half of its nodes. So where a request is to be
made for a gang its pods have another reason, which says what became of it. Requests are made by an adapter, for the gangs that ``views.provisioning`` tells.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.kernel.admission_checks import asks_of, requeue
from treadle.core.kernel.cycle import NO_NODE
from treadle.core.kernel.gangs.memory import Request
from treadle.core.kernel.tree.order import arm_report
from treadle.core.model.gangs import NO_PROVISIONING, Provisioning

if TYPE_CHECKING:
    from treadle.core.events import GangRequested
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Ask

REQUESTED = "NodesRequested"
"""The reason of pods of a gang for which nodes are asked, or about to be."""
FAILED = "ProvisioningFailed"
"""The reason of pods of a gang for which no nodes can be had, until they are asked for again."""
NO_KIND = "the API server has no ProvisioningRequests (autoscaling.x-k8s.io)"


def provisioning_of(state: State, application: str) -> Provisioning:
    """Return what is asked for the gangs of an application: as its object says, else as the scheduler's settings do."""
    explicit = state.explicit.get(application)
    found = (
        explicit.provisioning
        if explicit is not None and explicit.provisioning is not None
        else state.scheduler.gangs.provisioning
    )
    return found if found.class_name != "none" else NO_PROVISIONING


def see(state: State, event: GangRequested) -> None:
    """Take note of how the request for a gang is doing; one that is provisioned lets the gang compete at once."""
    gang = (event.application, event.gang)
    application = state.applications.get(event.application)
    before = state.gangs.requests.get(gang)
    now = Request(event.phase, event.words)
    if not event.phase or application is None:
        state.gangs.requests.pop(gang, None)
    else:
        state.gangs.requests[gang] = now
    if application is None or before == now:
        return
    for part in application.everywhere():
        for ask in asks_of(part, gang):
            if event.phase == "provisioned" and ask.wait is not None and ask.wait.reason == NO_NODE:
                requeue(state, ask)
            if ask.wait is not None:
                arm_report(state, ask)


def told_as(state: State, ask: Ask, words: str) -> tuple[str, str]:
    """Return the (reason, message) of a gang that waits for nodes; ``words`` say what of it fits now."""
    gang = ask.shape.gang
    asked = provisioning_of(state, gang[0])
    if not asked.class_name:
        return NO_NODE, words
    request = state.gangs.requests.get(gang)
    if state.gangs.provisioner is False:
        return NO_NODE, f"{words}. No nodes are asked for: {state.gangs.provisioner_trouble or NO_KIND}"
    if request is None:
        return REQUESTED, f"{words}. Nodes for all of them are about to be asked for ({asked.class_name})"
    if request.phase == "refused":
        return NO_NODE, f"{words}. {request.words}"
    return FAILED if request.phase == "failed" else REQUESTED, f"{words}. {request.words}"
