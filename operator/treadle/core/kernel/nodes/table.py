"""The nodes: plain rows for one decision at a time, numpy columns for all nodes at once.

A row is read and written by single decisions, where Python's lists are several times faster than numpy's scalars; the columns
``free[type, node]`` serve the evaluation of a shape over every node and are brought up to date from the rows that changed. A row
outlives its node while anything is counted on it: the API server binds to nodes that we do not know (yet, or any more). After
that it is vacant and the next new node has it. To code that kept the number of the row that is an edit like any other: another
description, with another name.
"""

from __future__ import annotations

from collections import Counter
from heapq import heappop, heappush
from typing import TYPE_CHECKING

import numpy as np

from treadle.core.kernel.between.topologies import Topologies
from treadle.core.kernel.nodes.cell_orders import SharedOrders
from treadle.core.kernel.nodes.images import Images
from treadle.core.kernel.nodes.log import Log
from treadle.core.kernel.nodes.orders import Orders
from treadle.core.kernel.nodes.parts import Parts
from treadle.core.kernel.nodes.rules import static_refusal, taints
from treadle.core.model import HostPort, NodeSpec, Taint
from treadle.core.model.scheduler import Weights
from treadle.core.units.resources import CPU, MEMORY, PODS, Demand, ResourceTypes, Vector, extend, held

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterable

    from numpy.typing import NDArray

    from treadle.core.kernel.between.topologies import Topology
    from treadle.core.kernel.nodes.orders import Candidates
    from treadle.core.model import Constraints
    from treadle.core.model.queues import Limit

MOST_PARTED = 64
"""Ways to part the nodes by topologies that are remembered."""
MOST_VACANT = 1024
"""Vacant rows that are always kept."""


class Nodes:
    """All known nodes.

    A node is a row number; ``clock`` counts changes, and ``version[row]`` is when anything about the row changed last,
    ``freed[row]`` when it last improved.

    ``stale`` are rows that changed since the columns were made. ``overdrawn`` are rows that hold more than they have, by what
    others bound or by a node that shrank: never by our decision. ``foreign`` is what others' pods take of what the nodes have: of
    each no more than it has, whatever they ask for and however many they are. ``improved`` is a log of rows that may admit more
    than before (freed, added, edited); ``edited`` of rows whose description changed; ``slots`` of rows that got back a slot for a pod and nothing
    else, where others were left: that is news only for who needs several at once, and no node is worth more by it. Readers keep a position in
    them and look at what came since. ``bare`` are rows without a description on which something is counted, ``vacant`` a heap of those that the
    next nodes get.
    """

    def __init__(self, types: ResourceTypes) -> None:
        self.types = types
        self.row: dict[str, int] = {}
        self.only = -1
        """The row of the one node that offers itself in this pass (YARN's heartbeat); -1: all do."""
        self.names: list[str] = []
        self.specs: list[NodeSpec | None] = []
        self.allocatable: list[Vector] = []
        self.free: list[Vector] = []
        self.per_memory: list[float] = []
        self.per_cpu: list[float] = []
        self.version: list[int] = []
        self.freed: list[int] = []
        self.clock = 0
        self._of_slots = 0
        self.orders = Orders()
        self.topologies = Topologies()
        self.shared = SharedOrders()
        self._parts: dict[tuple[Topology, ...], tuple[tuple[int, int], Parts]] = {}
        self.ports: list[tuple[HostPort, ...]] = []
        self.improved = Log()
        self.edited = Log()
        self.slots = Log()
        self.bare: set[int] = set()
        self.vacant: list[int] = []
        self._weightless: Counter[int] = Counter()
        """How many pods that demand nothing are counted on a row: what is free does not tell of them."""
        self.overdrawn: set[int] = set()
        self.total: Vector = [0] * types.width
        self.foreign: Vector = [0] * types.width
        self._foreign_on: dict[int, Vector] = {}
        self.headroom: tuple[tuple[str, Limit], ...] = ()
        """What is left to others of every node that does not say otherwise."""
        self.left: dict[int, Vector] = {}
        """What is left to others of a row's node, what they hold of it included; rows of which nothing is left are not here."""
        self.withheld: dict[int, Vector] = {}
        """What of that they do not hold yet: it is counted as if a pod had it."""
        self.weights = Weights()
        self.images = Images()
        self.disliked: Counter[Taint] = Counter()
        """How many nodes have which taints with PreferNoSchedule."""
        self.weighed = 0
        """How often it has changed which of these there are, or what preferences count."""
        self.problems: dict[str, str] = {}
        """What nodes say that cannot be understood, by their names."""
        self._columns: NDArray[np.int64] = np.zeros((types.width, 0), dtype=np.int64)
        self.stale: set[int] = set()
        self._per: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
        self._masks: dict[Hashable, tuple[NDArray[np.bool_], int]] = {}
        self._refusals: dict[Constraints, tuple[Counter[str], Counter[Taint], int]] = {}

    def __len__(self) -> int:
        return len(self.names)

    def known(self) -> int:
        """Return how many nodes exist (rows of vanished nodes are not counted)."""
        return len(self.row) - len(self.bare)

    def ensure(self, name: str) -> int:
        """Return the row of a node, an empty one for a name that is not known: nothing fits there until it is described."""
        row = self.row.get(name)
        if row is None:
            row = self.row[name] = self._empty_row()
            self.names[row] = name
            self.bare.add(row)
        return row

    def _empty_row(self) -> int:
        """Return a row on which nothing is counted, the first that is vacant or else a new one."""
        if self.vacant:
            return heappop(self.vacant)
        width = self.types.width
        self.names.append("")
        self.specs.append(None)
        self.allocatable.append([0] * width)
        self.free.append([0] * width)
        self.per_memory.append(0.0)
        self.per_cpu.append(0.0)
        self.version.append(0)
        self.freed.append(0)
        self.ports.append(())
        self.topologies.see(len(self.names) - 1, None)
        return len(self.names) - 1

    def _vacate(self, row: int) -> None:
        """Let the next new node have a row without a description, if nothing is counted on it any more."""
        if not (any(self.free[row]) or self.ports[row] or self._weightless[row]):
            del self.row[self.names[row]]
            self.names[row] = ""
            self.bare.discard(row)
            heappush(self.vacant, row)

    def see(self, spec: NodeSpec) -> bool:
        """Take over a node's description; returns whether anything that matters changed."""
        row = self.ensure(spec.name)
        old = self.specs[row]
        if old is None or old.images != spec.images:
            self.images.see(row, spec.images)
        if old == spec:
            self.specs[row] = spec
            return False
        self._describe(row, spec, self.types.vector(spec.allocatable))
        self.bare.discard(row)
        self._note_problem(spec.name, spec.problem)
        return True

    def _note_problem(self, name: str, problem: str) -> None:
        if problem:
            self.problems[name] = problem
        else:
            self.problems.pop(name, None)

    def _dislike(self, spec: NodeSpec | None, change: int) -> None:
        """Count the taints of a node that keep pods off where others will do."""
        for taint in spec.taints if spec is not None else ():
            if taint.effect == "PreferNoSchedule":
                self.disliked[taint] += change
                if not self.disliked[taint]:
                    del self.disliked[taint]
                    self.weighed += 1
                elif change > 0 and self.disliked[taint] == 1:
                    self.weighed += 1

    def weigh(self, weights: Weights) -> None:
        """Let preferences count so much."""
        if weights != self.weights:
            self.weights = weights
            self.weighed += 1

    def leave(self, headroom: tuple[tuple[str, Limit], ...]) -> None:
        """Leave so much of every node to others, where it does not say otherwise."""
        if headroom == self.headroom:
            return
        self.headroom = headroom
        for row, spec in enumerate(self.specs):
            if spec is not None:
                self._describe(row, spec, self.allocatable[row])

    def left_of(self, spec: NodeSpec) -> Vector | None:
        """Return how much of a node is left to others, None for nothing; no more than it has."""
        if not (self.headroom or spec.headroom):
            return None
        found = [0] * self.types.width
        for name, limit in {**dict(self.headroom), **dict(spec.headroom)}.items():
            at = self.types.index.get(name)
            if at is not None:
                have = spec.allocatable.get(name, 0)
                found[at] = max(0, min(have, limit.resolve(have)))
        return found if any(found) else None

    def touch(self, row: int) -> None:
        """Look at a node again as if it had been edited."""
        self.edited.add(row, len(self.names))
        self._improved(row)

    def gone(self, name: str) -> bool:
        """Forget a node's description; what is still bound to it stays counted on the row."""
        row = self.row.get(name)
        if row is None or self.specs[row] is None:
            return False
        self._describe(row, None, [0] * self.types.width)
        self.images.see(row, ())
        self._note_problem(name, "")
        self.bare.add(row)
        self._vacate(row)
        return True

    def _describe(self, row: int, spec: NodeSpec | None, allocatable: Vector) -> None:
        self.widen()
        old, free = self.allocatable[row], self.free[row]
        self._count_others(row, -1)
        for position, value in enumerate(allocatable):
            change = value - old[position]
            free[position] += change
            self.total[position] += change
        self._dislike(self.specs[row], -1)
        self._dislike(spec, 1)
        self.specs[row] = spec
        self.allocatable[row] = allocatable
        left = None if spec is None else self.left_of(spec)
        if left is not None:
            self.left[row] = left
        else:
            self.left.pop(row, None)
        self._count_others(row, 1)
        self._withhold(row)
        self.per_memory[row] = 1.0 / allocatable[MEMORY] if allocatable[MEMORY] else 0.0
        self.per_cpu[row] = 1.0 / allocatable[CPU] if allocatable[CPU] else 0.0
        self._per = None
        self.topologies.see(row, spec)
        self.edited.add(row, len(self.names))
        self._note_overdraft(row)
        self._improved(row)

    def widen(self) -> None:
        """Lengthen every vector after a new resource type appeared."""
        width = self.types.width
        if len(self.total) < width:
            for vector in (
                self.total,
                self.foreign,
                *self._foreign_on.values(),
                *self.left.values(),
                *self.withheld.values(),
                *self.free,
                *self.allocatable,
            ):
                extend(vector, width)

    def _changed(self, row: int) -> None:
        self.clock = self.version[row] = self.clock + 1
        self.stale.add(row)

    def _improved(self, row: int) -> None:
        self._changed(row)
        self.freed[row] = self.clock
        self.improved.add(row, len(self.names))

    @property
    def moves(self) -> int:
        """How often anything has changed but slots alone: what placements and ends of pods that demand nothing else do not count for."""
        return self.clock - self._of_slots

    def _note_overdraft(self, row: int) -> None:
        if min(self.free[row]) < 0:
            self.overdrawn.add(row)
        else:
            self.overdrawn.discard(row)

    def count(self, row: int, demand: Demand, ports: tuple[HostPort, ...] = ()) -> None:
        """Count a pod that is on the row by another's decision, whether it fits or not."""
        self.take(row, demand, ports)
        self._note_overdraft(row)

    def count_foreign(self, row: int, demand: Demand, sign: int) -> None:
        """Count a foreign pod on a row (1), or take it out (-1), in what there is to share."""
        if row in self.left:
            self._count_others(row, -1)
            on = self._foreign_on.setdefault(row, [0] * len(self.total))
            for position, value in demand:
                on[position] += sign * value
            if not any(on):
                del self._foreign_on[row]
            self._count_others(row, 1)
            self._withhold(row)
            self._improved(row)
            return
        on = self._foreign_on.setdefault(row, [0] * len(self.total))
        have = self.allocatable[row]
        for position, value in demand:
            before = min(on[position], have[position])
            on[position] += sign * value
            self.foreign[position] += min(on[position], have[position]) - before
        if not any(on):
            del self._foreign_on[row]

    def foreign_on(self, row: int) -> Vector | None:
        """Return what others' pods take of a node, None for nothing."""
        return self._foreign_on.get(row)

    def others_on(self, row: int) -> Vector | None:
        """Return what others have of a node: what their pods take, or what is left to them if that is more."""
        on, left = self._foreign_on.get(row), self.left.get(row)
        if left is None:
            return on
        return left if on is None else [max(pair) for pair in zip(on, left, strict=True)]

    def _count_others(self, row: int, sign: int) -> None:
        """Count what others have of a node in what there is to share (1), or take it out (-1)."""
        have = self.allocatable[row]
        for position, taken in enumerate(self.others_on(row) or ()):
            self.foreign[position] += sign * min(taken, have[position])

    def _withhold(self, row: int) -> None:
        """Keep back of a node what is left to others and not theirs yet."""
        before, left = self.withheld.pop(row, None), self.left.get(row)
        after = None
        if left is not None:
            on = self._foreign_on.get(row) or [0] * len(left)
            after = [max(0, most - taken) for most, taken in zip(left, on, strict=True)]
            if any(after):
                self.withheld[row] = after
        free = self.free[row]
        for vector, sign in ((before, 1), (after, -1)):
            for position, value in enumerate(vector or ()):
                free[position] += sign * value
        if before or after:
            self._note_overdraft(row)

    def to_share(self, row: int) -> Vector:
        """Return what a node has, less what others have of it."""
        on = self.others_on(row)
        have = self.allocatable[row]
        return have if on is None else [max(0, value - taken) for value, taken in zip(have, on, strict=True)]

    def take(self, row: int, demand: Demand, ports: tuple[HostPort, ...] = ()) -> None:
        """Count a pod on a row where it fits."""
        free = self.free[row]
        for position, value in demand:
            free[position] -= value
        if ports:
            self.ports[row] += ports
        if not demand:
            self.weigh_nothing(row, 1)
        if len(demand) < 2 and _slots_alone(demand):
            self._of_slots += 1
        self._changed(row)

    def weigh_nothing(self, row: int, sign: int) -> None:
        """Note a pod that demands nothing on a row (1), or that it has left (-1)."""
        self._weightless[row] += sign
        if not self._weightless[row]:
            del self._weightless[row]

    def give(self, row: int, demand: Demand, ports: tuple[HostPort, ...] = ()) -> None:
        """Return what was counted for a pod on a row: the same demand and ports."""
        free = self.free[row]
        for position, value in demand:
            free[position] += value
        if ports:
            left = list(self.ports[row])
            for port in ports:
                left.remove(port)
            self.ports[row] = tuple(left)
        if not demand:
            self.weigh_nothing(row, -1)
        if self.overdrawn:
            self._note_overdraft(row)
        if len(demand) > 1 or not _slots_alone(demand):
            self._improved(row)
        else:
            self._slots_freed(row, ports, sum(value for _, value in demand))
        if row in self.bare:
            self._vacate(row)

    def _slots_freed(self, row: int, ports: tuple[HostPort, ...], count: int) -> None:
        """Take note that nothing but slots, and host ports, have come free on a row."""
        self._of_slots += 1
        if ports or self.free[row][PODS] - count < 1:
            self._improved(row)
            return
        self._changed(row)
        if count:
            self.slots.add(row, len(self.names))

    def columns(self) -> NDArray[np.int64]:
        """Return ``free[type, node]``; the array is ours, to be read at once."""
        width, count = self.types.width, len(self.names)
        if self._columns.shape[0] != width or self._columns.shape[1] < count or len(self.stale) * 4 > count:
            free = (
                [held(of) if row in self.overdrawn else of for row, of in enumerate(self.free)] if self.overdrawn else self.free
            )
            self._columns = np.array(free, dtype=np.int64).reshape(count, width).T.copy()
        else:
            for row in self.stale:
                self._columns[:, row] = held(self.free[row]) if row in self.overdrawn else self.free[row]
        self.stale.clear()
        return self._columns

    def per(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return 1 / allocatable memory and cpu of every node, 0 where there is none."""
        if self._per is None or len(self._per[0]) != len(self.names):
            self._per = (np.array(self.per_memory), np.array(self.per_cpu))
        return self._per

    def admits(self, row: int, constraints: Constraints) -> bool:
        """Whether a node's description admits pods with these constraints."""
        spec = self.specs[row]
        return spec is not None and not static_refusal(spec, constraints)

    def mask(self, constraints: Constraints) -> NDArray[np.bool_]:
        """Return which nodes' descriptions admit pods with these constraints; only nodes edited since are looked at again."""
        return self.passing(constraints, lambda spec: not static_refusal(spec, constraints))

    def passing(self, key: Hashable, passes: Callable[[NodeSpec], bool]) -> NDArray[np.bool_]:
        """Return which nodes' descriptions pass a test, which ``key`` stands for; only nodes edited since are looked at again."""
        count, end = len(self.names), self.edited.end
        mask, position = self._masks.get(key, (np.zeros(0, dtype=np.bool_), -1))
        if len(mask) < count:
            mask = np.concatenate([mask, np.zeros(count - len(mask), dtype=np.bool_)])
        if position < end:
            edited = self.edited.since(position)
            for row in range(count) if edited is None else set(edited):
                spec = self.specs[row]
                mask[row] = spec is not None and passes(spec)
        self._masks[key] = (mask, end)
        return mask

    def parts(self, topologies: Iterable[Topology]) -> Parts:
        """Return how the nodes are parted by some topologies."""
        key, at = tuple(topologies), (self.edited.end, len(self.names))
        known = self._parts.get(key)
        if known is None or known[0] != at:
            if known is None and len(self._parts) >= MOST_PARTED:
                self._parts.clear()
            known = self._parts[key] = (at, Parts(key, len(self.names)))
        return known[1]

    def known_rows(self) -> NDArray[np.bool_]:
        """Return which rows have a node."""
        return self.passing("known", lambda _: True)

    def refusals(self, constraints: Constraints) -> Counter[str]:
        """Return how many nodes' descriptions do not admit pods with these constraints, by reason."""
        return self._refused(constraints)[0]

    def untolerated(self, constraints: Constraints) -> Counter[Taint]:
        """Return how many of the nodes that pods with these constraints cannot go to for a taint have which."""
        return self._refused(constraints)[1]

    def _refused(self, constraints: Constraints) -> tuple[Counter[str], Counter[Taint], int]:
        end = self.edited.end
        known = self._refusals.get(constraints)
        if known is None or known[2] != end:
            reasons, tainted = Counter[str](), Counter[Taint]()
            for spec in self.specs:
                reason = "" if spec is None else static_refusal(spec, constraints)
                if spec is not None and reason:
                    reasons[reason] += 1
                    if reason == taints.REASON and (taint := taints.untolerated(spec, constraints)) is not None:
                        tainted[taint] += 1
            known = self._refusals[constraints] = (reasons, tainted, end)
        return known

    def keep(self, constraints: Collection[Constraints], orders: Collection[Candidates]) -> None:
        """Forget what was found out for other constraints, and other orders."""
        self.orders.keep(orders)
        self._masks = {key: kept for key, kept in self._masks.items() if key in constraints}  # others are made again
        self._refusals = {key: kept for key, kept in self._refusals.items() if key in constraints}

    @property
    def sparse(self) -> bool:
        """Whether most rows are vacant, so that what goes over all rows takes much longer than it need."""
        return len(self.vacant) > MOST_VACANT and 2 * len(self.vacant) > len(self.names)

    def close_up(self) -> list[int]:
        """Give up the vacant rows; returns the new numbers of all rows, by the old ones.

        All that was kept by row, or of the logs, is void after this.
        """
        vacant = set(self.vacant)
        left = [row for row in range(len(self.names)) if row not in vacant]
        moved = [-1] * len(self.names)
        for new, old in enumerate(left):
            moved[old] = new
        self.row = {name: moved[row] for name, row in self.row.items()}
        self.names = [self.names[row] for row in left]
        self.specs = [self.specs[row] for row in left]
        self.allocatable = [self.allocatable[row] for row in left]
        self.free = [self.free[row] for row in left]
        self.per_memory = [self.per_memory[row] for row in left]
        self.per_cpu = [self.per_cpu[row] for row in left]
        self.version = [self.version[row] for row in left]
        self.freed = [self.freed[row] for row in left]
        self.ports = [self.ports[row] for row in left]
        self.bare = {moved[row] for row in self.bare}
        self.overdrawn = {moved[row] for row in self.overdrawn}
        self._weightless = Counter({moved[row]: count for row, count in self._weightless.items()})
        self._foreign_on = {moved[row]: on for row, on in self._foreign_on.items()}
        self.left = {moved[row]: left for row, left in self.left.items()}
        self.withheld = {moved[row]: kept for row, kept in self.withheld.items()}
        self.vacant = []
        self.stale.clear()
        self._columns = np.zeros((self.types.width, 0), dtype=np.int64)
        self._per = None
        self.images.forget()
        self.orders.keep(())
        self.shared.clear()
        self._masks.clear()
        self._refusals.clear()
        self.improved.forget()
        self.edited.forget()
        self.slots.forget()
        self.topologies.see_all(self.specs)
        return moved


def _slots_alone(demand: Demand) -> bool:
    """Whether a pod demands nothing but its slot."""
    return not demand or (len(demand) == 1 and demand[0][0] == PODS)
