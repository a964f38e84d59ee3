"""The policies of YARN's FairScheduler: ``fifo``, ``fair`` and ``drf``.

They follow Hadoop's ``FifoPolicy``, ``FairSharePolicy`` and ``DominantResourceFairnessPolicy`` criterion by criterion; the
last one is the name, so two siblings never tie.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cmp_to_key
from itertools import compress
from operator import itemgetter

from treadle.core.rules.policies import (
    BUILT_IN,
    POLICIES,
    Cluster,
    Compare,
    Key,
    Policy,
    Ranked,
    Ranker,
    Schedulable,
    Sharer,
    policy_named,
    register,
)
from treadle.core.units.amounts import f32, quotient, sign
from treadle.core.units.comparison import dominant
from treadle.core.units.resources import CPU, MEMORY, Vector

INFINITE = float("inf")
NEEDY = -1.0
FEW = 3
"""Up to so many types all shares stand in a key."""
"""Starts the key of a sibling below its minimum: before every share, which is never negative."""


def _attributes(one: Schedulable, other: Schedulable) -> int:
    if one.start != other.start:
        return -1 if one.start < other.start else 1
    return (one.name > other.name) - (one.name < other.name)


def _over(value: float, weight: float) -> float:
    return value / weight if weight > 0 else (INFINITE if value > 0 else 0.0)


class Fifo(Policy):
    """First come, first served: higher priority, then the earlier start. For the applications of a leaf only.

    The order is that of ``FifoPolicy``, but Hadoop's ``FSAppAttempt`` has the priority 1 whatever was asked for: there only the
    start counts.
    """

    name = "fifo"

    def compare(self, cluster: Cluster) -> Compare:  # noqa: ARG002 - one protocol for all policies
        """Return the comparison of ``FifoPolicy``: priority, start, name."""
        return lambda one, other: other.priority - one.priority or _attributes(one, other)

    def ranker(self, cluster: Cluster) -> Ranker:  # noqa: ARG002 - one protocol for all policies
        """Return a function that gives ``(-priority, start, name, sibling)``."""
        return lambda of: (-of.priority, of.turn, of)

    def shares(
        self, cluster: Cluster, total: Sequence[int], siblings: Sequence[Sharer], busy: Sequence[bool], before: Sequence[Vector]
    ) -> list[Vector]:
        """Return the whole of ``total`` for the earliest sibling, whatever its priority; the others keep what they have."""
        del cluster, busy
        result = [list(vector) for vector in before]
        if siblings:
            first = min(range(len(siblings)), key=lambda number: siblings[number].start)
            result[first] = list(total)
        return result

    def headroom(self, cluster: Cluster, share: Sequence[int], usage: Sequence[int], available: Sequence[int]) -> Vector:
        """Return what is left of the share's memory, and of the rest whatever is available."""
        return _of_memory(cluster, share, usage, available)


class Fair(Policy):
    """Fair sharing of memory: those below their minimum share first, then the least usage for its weight."""

    name = "fair"

    @property
    def children(self) -> frozenset[str] | None:
        """Every policy but drf, which would get no shares of the other types."""
        return frozenset(POLICIES) - {"drf"}

    def compare(self, cluster: Cluster) -> Compare:  # noqa: ARG002 - one protocol for all policies
        """Return the comparison of ``FairSharePolicy``: demand at all, minimum share, usage over weight, start, name."""
        return self._compare

    @staticmethod
    def _compare(one: Schedulable, other: Schedulable) -> int:
        wants, other_wants = one.demand[MEMORY] > 0, other.demand[MEMORY] > 0
        if wants is not other_wants:
            return -1 if wants else 1
        usage, others = one.usage[MEMORY], other.usage[MEMORY]
        minimum = 0 if one.minimum is None else min(one.minimum[MEMORY], one.demand[MEMORY])
        others_minimum = 0 if other.minimum is None else min(other.minimum[MEMORY], other.demand[MEMORY])
        needy, other_needy = usage < minimum, others < others_minimum
        if needy is not other_needy:
            return -1 if needy else 1
        order = sign(usage / max(minimum, 1) - others / max(others_minimum, 1)) if needy else 0
        if order == 0:
            weight, other_weight = one.weight, other.weight
            if weight > 0 and other_weight > 0:
                order = sign(usage / weight - others / other_weight)
            else:
                order = sign(usage - others) if weight == other_weight else sign(other_weight - weight)
        return order or _attributes(one, other)

    def ranker(self, cluster: Cluster) -> Ranker:  # noqa: ARG002 - one protocol for all policies
        """Return a function that gives ``(not needy, usage over minimum, weightless, usage over weight, start, name, sibling)``."""
        return self._key

    @staticmethod
    def _key(of: Ranked) -> Key:
        usage, weight = of.usage[MEMORY], of.weight
        needy, ratio = 1, 0.0
        if of.minimum is not None:
            minimum = min(of.minimum[MEMORY], of.demand[MEMORY])
            if usage < minimum:
                needy, ratio = 0, usage / max(minimum, 1)
        return (needy, ratio, weight <= 0, usage / weight if weight > 0 else usage, of.turn, of)

    def counts(self, cluster: Cluster) -> tuple[int, ...]:  # noqa: ARG002 - one protocol for all policies
        """Return memory alone."""
        return (MEMORY,)

    def headroom(self, cluster: Cluster, share: Sequence[int], usage: Sequence[int], available: Sequence[int]) -> Vector:
        """Return what is left of the share's memory, and of the rest whatever is available."""
        return _of_memory(cluster, share, usage, available)


def _of_memory(cluster: Cluster, share: Sequence[int], usage: Sequence[int], available: Sequence[int]) -> Vector:
    del cluster
    result = [0] * len(available)
    result[MEMORY] = min(available[MEMORY], max(share[MEMORY] - usage[MEMORY], 0))
    result[CPU] = available[CPU]
    return result


class Drf(Policy):
    """Dominant resource fairness: the largest fraction of any one resource, for its weight, decides."""

    name = "drf"

    @property
    def children(self) -> frozenset[str] | None:
        """Every policy."""
        return frozenset(POLICIES)

    def compare(self, cluster: Cluster) -> Compare:
        """Return the comparison of ``DominantResourceFairnessPolicy``.

        Hadoop computes in double precision for two types and in single for any other number; where we decide as Hadoop does
        (``loose``), so do we.
        """
        counted, total = cluster.counted, cluster.total
        if not counted:
            return _attributes
        single = cluster.loose and len(counted) != 2
        rows = _single_rows if single else _rows
        divide = quotient if cluster.loose else _over

        def compare(one: Schedulable, other: Schedulable) -> int:
            mine, dominant_one = rows(one, counted, total, divide)
            theirs, dominant_other = rows(other, counted, total, divide)
            needy, other_needy = _needy(one, dominant_one), _needy(other, dominant_other)
            if needy is not other_needy:
                return -1 if needy else 1
            for (_, share, position), (_, other_share, other_position) in zip(mine, theirs, strict=True):
                if needy:
                    share = _of_minimum(one, position, divide, single=single)  # noqa: PLW2901 - the other of the two measures
                    other_share = _of_minimum(other, other_position, divide, single=single)  # noqa: PLW2901
                order = 0 if share == other_share else sign(share - other_share)
                if order:
                    return order
            return _attributes(one, other)

        return compare

    def ranker(self, cluster: Cluster) -> Ranker:
        """Return a function that gives ``(shares over weight by dominance, start, name, sibling)``; a needy one's key starts with -1 and its shares of the minimum."""
        counted, total = cluster.counted, cluster.total
        if cluster.loose:
            return super().ranker(cluster)
        if len(counted) == 2:
            return _ranker_of_two(counted, total)
        if len(counted) == 3:
            return _ranker_of_three(counted, total)
        return _ranker_of_many(counted, total)

    def headroom(self, cluster: Cluster, share: Sequence[int], usage: Sequence[int], available: Sequence[int]) -> Vector:
        """Return what is left of the share's memory and cpu; nothing is said of the other types."""
        del cluster
        result = [0] * len(available)
        for position in (MEMORY, CPU):
            result[position] = min(available[position], max(share[position] - usage[position], 0))
        return result

    def weigh(self, cluster: Cluster, one: Sequence[int], other: Sequence[int], *, single: bool = False) -> int:
        """Compare two amounts by their largest fractions of the cluster."""
        return dominant(cluster.total, cluster.counted, one, other, single=single)


_Rows = list[tuple[float, float, int]]
_Divide = Callable[[float, float], float]
"""How amounts are divided where there may be nothing to divide by: as in Java, which gives NaN for nothing of nothing, or ``_over``."""


def _rows(of: Schedulable, counted: tuple[int, ...], total: Sequence[int], divide: _Divide) -> tuple[_Rows, int]:
    """Return (fraction of the cluster, the same for its weight, type) of all types, the dominant one first, and that type; the first of those that tie."""
    rows = []
    for position in counted:
        fraction = quotient(of.usage[position], total[position])
        rows.append((fraction, divide(fraction, of.weight), position))
    rows.sort(key=lambda row: -row[0])
    return rows, rows[0][2]


def _single_rows(of: Schedulable, counted: tuple[int, ...], total: Sequence[int], divide: _Divide) -> tuple[_Rows, int]:
    """Return the same in single precision. With none of a type in the cluster the rows may not begin with the dominant one."""
    rows = []
    best = 0
    for number, position in enumerate(counted):
        fraction = f32(quotient(f32(of.usage[position]), f32(total[position])))
        rows.append((fraction, f32(divide(fraction, of.weight)), position))
        if fraction > rows[best][0]:
            best = number
    return sorted(rows, key=cmp_to_key(_by_fraction)), counted[best]


def _by_fraction(one: tuple[float, float, int], other: tuple[float, float, int]) -> int:
    return sign(other[0] - one[0])


def _needy(of: Schedulable, position: int) -> bool:
    return of.minimum is not None and of.usage[position] < of.minimum[position]


def _of_minimum(of: Schedulable, position: int, divide: _Divide, *, single: bool) -> float:
    minimum = 0 if of.minimum is None else of.minimum[position]
    if single:
        return f32(divide(f32(of.usage[position]), f32(minimum)))
    return divide(of.usage[position], minimum)


def _ranker_of_two(counted: tuple[int, ...], total: Sequence[int]) -> Ranker:
    """Return the ranker for a cluster of two types, by far the commonest, which makes no lists."""
    one, other = counted
    all_one, all_other = total[one], total[other]

    def key(of: Ranked) -> Key:
        usage, weight = of.usage, of.weight
        high, low = usage[one] / all_one, usage[other] / all_other
        if of.minimum is not None:
            minimum = of.minimum
            first, second = (other, one) if low > high else (one, other)
            if usage[first] < minimum[first]:
                return (NEEDY, usage[first] / minimum[first], _over(usage[second], minimum[second]), of.turn, of)
        if weight != 1.0:
            if weight <= 0:
                return (INFINITE if high or low else 0.0, INFINITE if high and low else 0.0, of.turn, of)
            high, low = high / weight, low / weight
        if low > high:
            return (low, high, of.turn, of)
        return (high, low, of.turn, of)

    return key


def _ranker_of_many(counted: tuple[int, ...], total: Sequence[int]) -> Ranker:
    """Return the ranker for any number of types. Where there are many, a 0 stands for all shares of types of which nothing is used: one has few of many."""
    pairs = [(position, total[position]) for position in counted]
    many = len(pairs) > FEW
    positions, have_of = range(len(total)), [0] * len(total)
    for position, have in pairs:
        have_of[position] = have

    def needy(of: Ranked, minimum: Vector) -> Key | None:
        usage = of.usage
        rows = sorted(((-usage[position] / have, position) for position, have in pairs), key=itemgetter(0))
        if not rows or usage[rows[0][1]] >= minimum[rows[0][1]]:
            return None
        return (NEEDY, *(_over(usage[at], minimum[at]) for _, at in rows), of.turn, of)

    def key(of: Ranked) -> Key:
        usage, weight, minimum = of.usage, of.weight, of.minimum
        if minimum is not None and (first := needy(of, minimum)) is not None:
            return first
        if many:
            used = [position for position in compress(positions, usage) if have_of[position]]
            shares = [usage[at] / have_of[at] / weight for at in used] if weight > 0 else [INFINITE] * len(used)
            shares.append(0.0)
        elif weight > 0:
            shares = [usage[position] / have / weight for position, have in pairs]
        else:
            shares = [INFINITE if usage[position] else 0.0 for position, _ in pairs]
        shares.sort(reverse=True)
        return (*shares, of.turn, of)

    return key


def _ranker_of_three(counted: tuple[int, ...], total: Sequence[int]) -> Ranker:
    """Return the ranker for memory, cpu and local storage, which nodes of real clusters have; it makes no lists either."""
    one, two, three = counted
    all_one, all_two, all_three = (total[position] for position in counted)
    general = _ranker_of_many(counted, total)

    def key(of: Ranked) -> Key:
        usage, weight = of.usage, of.weight
        if of.minimum is not None or weight <= 0:
            return general(of)
        first, second, third = usage[one] / all_one / weight, usage[two] / all_two / weight, usage[three] / all_three / weight
        if first < second:
            first, second = second, first
        if second < third:
            second, third = third, second
            if first < second:
                first, second = second, first
        return (first, second, third, of.turn, of)

    return key


YARN: tuple[Policy, ...] = (Fifo(), Fair(), Drf())
for _policy in YARN:
    register(_policy)
    BUILT_IN.add(type(_policy))

__all__ = ["BUILT_IN", "POLICIES", "YARN", "Drf", "Fair", "Fifo", "policy_named", "register"]
"""The registry as well: who looks policies up by name takes it from here, where YARN's are in it."""
