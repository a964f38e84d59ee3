"""What is left of a gang: pods below its minimum that hold room while those that they need find none.

A gang may lose pods after it has started, and a bind may fail in the middle of its start. As long as no more of it can be placed
what is left does no work and keeps others out, so after a time it is evicted: its pods wait together again when their controller has
made them anew. Gangs whose pods have ended and are not made again are left alone: they may have done their work.

When a bind of a gang's start fails, those of its binds that have not been sent are taken back: they are decided together again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.effects import Evict, Withhold
from treadle.core.kernel.admission_checks import asks_of
from treadle.core.kernel.gangs.known import minimum, placed
from treadle.core.kernel.pods.states import PodState

if TYPE_CHECKING:
    from treadle.core.effects import Effect
    from treadle.core.kernel.gangs.memory import Gang
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application, PodRecord

PATIENCE = 30.0
"""Seconds for which a disruption budget may keep a pod from being evicted before it is asked again later."""
WITHHELD = "not sent: another pod of its gang could not be bound"


def next_partial(state: State) -> float | None:
    """Return when what is left of a gang has had its time, None while there is none."""
    timeout = state.scheduler.gangs.partial_timeout
    return min(state.gangs.partial.values()) + timeout if state.gangs.partial and timeout > 0 else None


def note_partial(state: State, application: Application, gang: Gang) -> None:
    """Take note that pods of a gang found no room; if others of it are on nodes their time begins."""
    if gang not in state.gangs.partial and placed(application, gang[1]):
        state.gangs.partial[gang] = state.now


def withhold(state: State) -> list[Effect]:
    """Return the effects that take back what has not been sent of gangs of which a bind has failed."""
    failed, state.gangs.failed = state.gangs.failed, {}
    found: list[Effect] = []
    for gang in failed:
        application = state.applications.get(gang[0])
        if application is None:
            continue
        on_nodes, least = placed(application, gang[1]), minimum(state, application, gang[1])
        uids = tuple(record.spec.uid for record in on_nodes if record.state is PodState.ASSUMED)
        if uids and least is not None and len(on_nodes) < least:
            found.append(Withhold(uids, WITHHELD, state.cause))
    return found


def give_up_partial(state: State) -> list[Effect]:
    """Return the evictions of what is left of gangs, where the others have found no room for too long."""
    when = next_partial(state)
    if when is None or state.now < when:
        return []
    gangs = state.gangs
    effects: list[Effect] = []
    gangs.leaving = {uid: gang for uid, gang in gangs.leaving.items() if uid in state.pods}
    for gang, since in list(gangs.partial.items()):
        application = state.applications.get(gang[0])
        left = placed(application, gang[1]) if application is not None else []
        if application is None or not left or not _wait(state, application, gang, len(left)):
            del gangs.partial[gang]
        elif state.now >= since + state.scheduler.gangs.partial_timeout:
            gangs.partial[gang] = state.now
            gangs.begun.pop(gang, None)
            effects += [_evict(state, record, application, gang, len(left)) for record in left if _may_go(record)]
    return effects


def _wait(state: State, application: Application, gang: Gang, left: int) -> bool:
    """Whether pods of a gang wait for the others to be more than its minimum."""
    least = minimum(state, application, gang[1])
    if least is None or left >= least:
        return False
    waits = state.opportunistic.lines.kinds.values()
    return any(asks_of(part, gang) for part in application.everywhere()) or any(one.key[1].gang == gang for one in waits)


def _may_go(record: PodRecord) -> bool:
    return record.state is PodState.BOUND and not record.spec.deleting


def _evict(state: State, record: PodRecord, application: Application, gang: Gang, left: int) -> Evict:
    spec, least = record.spec, minimum(state, application, gang[1])
    queue = application.queue.path if application.queue is not None else ""
    why = (
        f'gang "{gang[1]}" of application {gang[0]} starts with {least} pods, {left} are left, and for the others there has been no room for '
        f"{state.scheduler.gangs.partial_timeout:.0f} s"
    )
    state.gangs.leaving[spec.uid] = gang
    if spec.uid in state.opportunistic.of:
        state.opportunistic.going[spec.uid] = state.now + PATIENCE
    state.record(spec.uid, "left of a gang", gang[1])
    return Evict(spec.uid, spec.namespace, spec.name, queue, why, PATIENCE, False, record.cause)
