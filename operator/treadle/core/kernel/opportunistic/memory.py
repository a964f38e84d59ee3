"""What opportunistic pods were given: by node, by application, and who of them waits.

Their requests are zero, so that a node's ordinary books tell nothing of them: what they are given is counted here and nowhere else, in a queue no less than on a node.
Vectors are (memory, cpu): of other types an opportunistic pod gets nothing.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from treadle.core.kernel.opportunistic.backing_off import BackOff
from treadle.core.kernel.opportunistic.known import TYPES, Usage
from treadle.core.kernel.opportunistic.lines import Lines
from treadle.core.kernel.opportunistic.node_queues import NodeQueues
from treadle.core.kernel.opportunistic.turning import Turning
from treadle.core.units.amounts import minus, plus

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from treadle.core.effects import RecordEvent
    from treadle.core.kernel.tree.members import PodRecord
    from treadle.core.model import PodSpec
    from treadle.core.units.resources import Vector

LEAST_MEMORY = 64 << 10
"""Bytes of memory that an opportunistic pod may request: a kubelet does not lower a request to nothing, so one that was guaranteed keeps 1Ki for each container."""


@dataclass(frozen=True, slots=True)
class Given:
    """What a pod was given: on which row, as a member of which application, and since when it is known to be there."""

    record: PodRecord
    row: int
    application: str
    demand: Vector
    since: float


@dataclass(slots=True)
class Opportunistic:
    """What the kernel keeps of opportunistic pods."""

    waiting: dict[str, PodRecord] = field(default_factory=dict)
    """Those that wait, by uid, in the order in which they came."""
    lines: Lines = field(default_factory=Lines)
    """The same by kind."""
    of: dict[str, Given] = field(default_factory=dict)
    """Those that were given something, by uid."""
    on: dict[int, dict[str, Given]] = field(default_factory=dict)
    """The same by row; rows without any are left out."""
    on_row: dict[int, Vector] = field(default_factory=dict)
    """What those of a row have."""
    short: set[int] = field(default_factory=set)
    """Rows that lacked what pods request when it was last looked, and by the clock of nodes when that was."""
    compared: int = -1
    by_application: dict[str, Vector] = field(default_factory=dict)
    """What those of an application have, by its id."""
    going: dict[str, float] = field(default_factory=dict)
    """Those that were asked to go, by uid, and until when they are not asked again."""
    spared: dict[str, float] = field(default_factory=dict)
    """Those that disruption budgets let not go, by uid, and until when others go before them."""
    removed: Counter[str] = field(default_factory=Counter)
    """How many were asked to go since the start, by what for."""
    applications: dict[str, None] = field(default_factory=dict)
    """Applications whose objects say that their pods are opportunistic, by id."""
    guaranteed: dict[str, None] = field(default_factory=dict)
    """Applications whose objects say that their pods are guaranteed, by id."""
    unheeded: dict[str, None] = field(default_factory=dict)
    """Pods, by uid, that say they are opportunistic and request something, of which their owners are to be told."""
    told_unheeded: dict[str, None] = field(default_factory=dict)
    """The applications whose owners have been told, by id."""
    come: bool = False
    """Whether one has come to wait since it was last looked for room."""
    looked: int = -1
    """The clock of the nodes when it was last looked for room."""
    at: float = float("-inf")
    """When that was."""
    resting: dict[str, float] = field(default_factory=dict)
    """Until when the pods of an application are not tried again that are placed as a set, by its id."""
    put_off: float = float("inf")
    """When the first of those has its turn again that would have had it."""
    queues: NodeQueues = field(default_factory=NodeQueues)
    """Who waits for the room of which nodes, where the Scheduler says that they have queues."""
    back_off: BackOff = field(default_factory=BackOff)
    """Nodes that pods of an application had to leave, and do not come back to for a while."""
    turning: Turning = field(default_factory=Turning)
    """Those on nodes that ask to be of the other type."""
    usage: Usage = field(default_factory=Usage)
    """What nodes use, where room goes by that."""
    shown: tuple[tuple[int, float, int], NDArray[np.int64]] | None = None
    """The room of all nodes as it was last shown to somebody, and when that was."""
    said: list[RecordEvent] = field(default_factory=list)
    """What owners are told with the next pass."""
    told: float = float("-inf")
    """When it was last looked who has to be told why they wait."""
    untold: deque[str] = field(default_factory=deque)
    """Those, by uid, that were not looked at yet since then."""
    retold: int = 0
    """How many were told since then that they wait for other nodes."""
    told_where: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """For which nodes those that wait, by uid, are told to wait; kept while one is edited, as it is by telling."""
    edits: int = -1
    """Up to which edit of nodes it was looked for room."""
    told_edits: int = -1
    """The same when it was last looked who has to be told."""

    def takes(self, record: PodRecord, now: float) -> bool:
        """Let a pod wait that says it is opportunistic; False for one that is guaranteed all the same, which is to be told."""
        if gives_way(record.spec):
            self.wait(record, now)
            return True
        self.unheeded[record.spec.uid] = None
        return False

    def wait(self, record: PodRecord, now: float) -> None:
        """Let a pod wait from now on."""
        self.waiting[record.spec.uid] = record
        self.lines.enter(record)
        record.since = now
        self.come = True

    def no_longer(self, uid: str) -> None:
        """Let a pod wait no longer. Where it stands at nodes it stays, since one that is edited waits again at once: who is placed or gone leaves, and who does not wait when its turn comes. What was kept for it is looked at again."""
        if self.waiting.pop(uid, None) is not None:
            self.lines.leave(uid)
        self.come = self.come or uid in self.queues.of

    def give(self, record: PodRecord, now: float) -> None:
        """Count what a pod is given on the node that its record says."""
        assert record.application is not None
        uid, row, demand = record.spec.uid, record.node, vector(record.spec.opportunistic)
        self.told_where.pop(uid, None)
        self.lines.forget(uid)
        one = self.of[uid] = Given(record, row, record.application.id, demand, now)
        self.on.setdefault(row, {})[uid] = one
        self.on_row[row] = plus(self.on_row.get(row, (0,) * TYPES), demand)
        identity = one.application
        if any(demand):
            self.by_application[identity] = plus(self.by_application.get(identity, (0,) * TYPES), demand)

    def take_back(self, uid: str) -> bool:
        """Take back what a pod was given; returns whether it was given anything."""
        one = self.of.pop(uid, None)
        if one is None:
            return False
        row, identity = one.row, one.application
        there = self.on[row]
        del there[uid]
        if there:
            self.on_row[row] = minus(self.on_row[row], one.demand)
        else:
            del self.on[row], self.on_row[row]
        if any(one.demand):
            self.by_application[identity] = minus(self.by_application[identity], one.demand)
            if not any(self.by_application[identity]):
                del self.by_application[identity]
        self.come = self.come or bool(self.waiting)
        return True

    def close_up(self, moved: Sequence[int]) -> None:
        """Follow the rows of nodes to their new numbers."""
        records = [(one.record, one.since) for one in self.of.values()]
        self.of.clear()
        self.on.clear()
        self.on_row.clear()
        self.compared = -1
        self.by_application.clear()
        self.shown = None
        there = set(moved)
        for record, since in records:
            assert record.node in there
            self.give(record, since)

    def stays(self, uid: str, until: float) -> None:
        """Take note that a pod that was asked to go stays."""
        if self.going.pop(uid, None) is not None:
            self.spared[uid] = until

    def forget_the_gone(self, now: float) -> None:
        """Forget who was asked to go and is gone, or stays after all."""
        for uid in [uid for uid, until in self.spared.items() if uid not in self.of or until <= now]:
            del self.spared[uid]
        for uid in [uid for uid, until in self.going.items() if uid not in self.of or until <= now]:
            del self.going[uid]


def gives_way(spec: PodSpec) -> bool:
    """Whether a pod that says it is opportunistic is: it requests nothing but its slot.

    What is requested a node keeps for the pod, so nobody else can be given it in time, and queues have to count it.
    """
    return spec.constraints.claims is None and all(
        name == "pods" or (name == "memory" and value <= LEAST_MEMORY) for name, value in spec.demand
    )


def vector(named: Iterable[tuple[str, int]]) -> Vector:
    """Return named amounts as (memory, cpu)."""
    amounts = dict(named)
    return [amounts.get("memory", 0), amounts.get("cpu", 0)]
