"""PodGroup objects of other systems, and how their pods are doing: what their status is to say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from treadle.core.kernel.pods.states import PodState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from treadle.core.kernel.state import State


@dataclass(frozen=True, slots=True)
class PodGroupFigures:
    """A PodGroup: ``minimum`` of its pods start together (1 where they are placed one by one), ``pods`` of ours are in it, and those ``on_nodes`` are bound, by uid.

    ``waits`` is the (reason, message) that the first pod which waits was told, None while none was told any.
    """

    source: str
    id: str
    minimum: int
    pods: int
    on_nodes: tuple[str, ...]
    waits: tuple[str, str] | None


def pod_groups(state: State) -> Iterator[PodGroupFigures]:
    """Return the figures of all PodGroups that are known."""
    for key, group in state.gangs.groups.items():
        count, on_nodes, waits = 0, [], None
        for uid in state.gangs.users.get(key, ()):
            record = state.pods.get(uid)
            if record is None or record.application is None:
                continue
            count += 1
            if record.state is PodState.BOUND:
                on_nodes.append(uid)
            elif waits is None and record.state is PodState.WAITING and record.reported_reason:
                waits = (record.reported_reason, record.reported_message)
        yield PodGroupFigures(group.source, group.id, max(group.minimum or 1, 1), count, tuple(on_nodes), waits)
