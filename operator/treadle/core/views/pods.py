"""The pods that have an application, one by one, for those who list them: where each is, since when, and why it is not elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from treadle.core.kernel.pods.states import PodState
from treadle.core.views.explain import explain, waiting

if TYPE_CHECKING:
    from collections.abc import Iterator

    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Ask, PodRecord
    from treadle.core.views.figures import Amounts

Reasons = dict["Ask", tuple[str, str]]
"""The reason and the words of asks that were spelled out already: pods that are alike wait for the same."""


@dataclass(frozen=True, slots=True)
class PodLine:
    """A pod. ``reason`` is ``Placed`` where it has a node; ``since`` is when it began to wait or its node was decided, in seconds since 1970, None where that is not known.

    ``opportunistic``: it counts as an opportunistic one; ``leaving``: it was asked to go for another one.
    """

    uid: str
    namespace: str
    name: str
    application: str
    queue: str
    node: str
    reason: str
    message: str
    since: float | None
    created: float
    user: str
    priority: int
    role: str
    gang: str
    partition: str
    requests: Amounts
    opportunistic: bool
    leaving: bool


@dataclass(frozen=True, slots=True)
class PodSpan:
    """Where a pod belongs and is, and since when: ``since`` is when it began to wait or its node was decided, in seconds since 1970, None where that is not known."""

    namespace: str
    name: str
    application: str
    queue: str
    node: str
    since: float | None
    created: float


def span(state: State, uid: str) -> PodSpan | None:
    """Return that of a pod of ours, None if it is not known."""
    record = state.pods.get(uid)
    if record is None or not _is_ours(state, record):
        return None
    spec, application = record.spec, record.application
    return PodSpan(
        spec.namespace,
        spec.name,
        spec.application if application is None else application.id,
        "" if application is None or application.queue is None else application.queue.path,
        state.nodes.names[record.node] if record.node >= 0 else "",
        since(state, record),
        spec.created,
    )


def keys(state: State, application: str, node: str, placed: bool | None) -> Iterator[tuple[str, str]]:
    """Yield the names and uids of the pods of an application: of those on a node if one is named, and of those that have one, or have none, if that is said."""
    found = state.applications.get(application)
    row = state.nodes.row.get(node, -1) if node else -1
    if found is None or (node and row < 0):
        return
    for uid, record in found.pods.items():
        if (not node or record.node == row) and (placed is None or placed == (record.node >= 0)):
            yield record.spec.name, uid


def uid_of(state: State, namespace: str, name: str) -> str:
    """Return the uid of a pod of ours, empty if none of that name is known."""
    for uid, record in state.pods.items():
        spec = record.spec
        if spec.name == name and spec.namespace == namespace and _is_ours(state, record):
            return uid
    return ""


def line(state: State, uid: str, reasons: Reasons, *, leaving: bool) -> PodLine | None:
    """Return what is known of a pod of ours, None if it is not known. One that nothing is decided about, as for its gates, is in no queue."""
    record = state.pods.get(uid)
    if record is None or not _is_ours(state, record):
        return None
    spec, application = record.spec, record.application
    reason, message = _why(state, record, reasons)
    return PodLine(
        uid,
        spec.namespace,
        spec.name,
        spec.application if application is None else application.id,
        "" if application is None or application.queue is None else application.queue.path,
        state.nodes.names[record.node] if record.node >= 0 else "",
        reason,
        message,
        since(state, record),
        spec.created,
        spec.user if application is None else application.user,
        spec.priority,
        spec.role,
        spec.gang,
        "" if record.part is None else record.part.partition,
        dict(spec.demand),
        uid in state.opportunistic.of or uid in state.opportunistic.waiting,
        leaving,
    )


def since(state: State, record: PodRecord) -> float | None:
    """Return when a pod began to wait, or when its node was decided or, where others did that, its kubelet took it; in seconds since 1970."""
    epoch = state.settings.epoch
    if record.node >= 0:
        return epoch + record.since if record.since else record.spec.started or None
    return epoch + record.entered if record.entered >= 0 else None


def _is_ours(state: State, record: PodRecord) -> bool:
    return record.application is not None or (record.spec.scheduler in state.scheduler.names and bool(record.spec.application))


def _why(state: State, record: PodRecord, reasons: Reasons) -> tuple[str, str]:
    ask = record.ask
    if ask is not None and record.state is PodState.WAITING:
        if ask not in reasons:
            reasons[ask] = waiting(state, ask)
        return reasons[ask]
    told = explain(state, record.spec.uid)
    assert told is not None, record.spec.uid
    return told.reason, told.message
