"""Whether what the API says of a pod is what was decided for it, so that nothing that is counted changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.kernel.pods.states import ASSUMED

if TYPE_CHECKING:
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import PodRecord
    from treadle.core.model import PodSpec


def confirms(state: State, record: PodRecord, spec: PodSpec) -> bool:
    """Whether a pod is on the node that was decided for it, and counts for what it was decided for."""
    old = record.spec if record.decided is None else record.decided
    return (
        record.state is ASSUMED
        and bool(spec.node)
        and record.node == state.nodes.row.get(spec.node)
        and spec.demand == old.demand
        and spec.application == old.application
        and spec.queue == old.queue
        and spec.priority == old.priority
        and spec.constraints.host_ports == old.constraints.host_ports
        and spec.opportunistic == old.opportunistic
    )
