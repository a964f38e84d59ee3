"""What the users of a leaf hold, live, and whether one has come to the limit.

A user's vectors are written by the same hand that writes those of queues (they are among an application's ledgers), so nothing is
computed when a pod is placed. Most checks end at a bound that holds whatever others do; only between the bounds is the limit
itself computed, from what all users hold at that moment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from treadle.core.disciplines.capacity.application_partition import denied
from treadle.core.rules.capacity.context import DEFAULT
from treadle.core.rules.capacity.limits import headroom, tell_room
from treadle.core.units.resources import Vector

if TYPE_CHECKING:
    from treadle.core.kernel.tree.members import Application
    from treadle.core.rules.capacity.queue import CapacityQueue
    from treadle.core.rules.capacity.users import User


Pairs = tuple[tuple[int, int], ...]
"""Amounts by the position of their type."""


class UserQuota:
    """An application's user in its leaf, in one partition.

    ``used`` and ``masters`` are what all the user's applications hold there. The code that writes ``used`` puts the user into
    ``touched``.

    Who holds no more than ``lower_bound``, (type, amount) pairs, is below the limit, whatever others do.
    """

    __slots__ = ("application", "asking", "cap", "leaf", "lower_bound", "masters", "partition", "touched", "used", "user")

    def __init__(self, application: Application, leaf: CapacityQueue, partition: str, bounds: Bounds) -> None:
        self.application, self.leaf, self.partition = application, leaf, partition
        self.user: User = leaf.users.user(application.user)
        self.take(bounds)
        self.user.active += 1
        amounts = self.user.usage.of(partition)
        self.used, self.masters = amounts.used, amounts.masters
        self.touched = leaf.users.touched.setdefault(partition, {})
        self.asking = False
        self.demand_changed()

    def take(self, bounds: Bounds) -> None:
        """Take over the bounds of the leaf."""
        self.lower_bound, self.cap = bounds.of(self.user)

    def demand_changed(self) -> None:
        """Take note of whether the application asks for something: it makes its user one of the active ones."""
        application, users = self.application, self.leaf.users
        asking = application.whole.busy and bool(application.asks)
        if asking != self.asking:
            self.asking = asking
            (users.wants if asking else users.satisfied)(self.user.name, f"{application.id} {self.partition}")

    def close(self) -> None:
        """Let the application leave; a user without applications is forgotten."""
        users = self.leaf.users
        users.satisfied(self.user.name, f"{self.application.id} {self.partition}")
        self.user.active -= 1
        if not self.user.active:
            users.forget(self.user.name)

    def denied(self) -> str:
        """Return why the application gets no nodes of its partition, empty if it may."""
        return denied(self.application, self.leaf)

    def exceeded(self) -> bool:
        """Whether the user holds more than the limit, so that nothing is added."""
        used = self.used
        for at, most in self.lower_bound:
            if used[at] > most:
                break
        else:
            return False
        users = self.leaf.users.active
        if len(users) == 1 and self.user.name in users:  # who is alone has what there is, up to the cap
            for at, most in self.cap:
                if used[at] > most:
                    break
            else:
                return False
        context = self.leaf.context
        total = context.of(self.partition)
        return context.calculator.more(total, used, limit_of(self.leaf, self.user.name, self.partition))


def quota_of(application: Application) -> UserQuota | None:
    """Return the quota of an application, None if it is in no leaf."""
    return cast("UserQuota | None", application.quota)  # the kernel knows no more of it than it asks for


class Bounds:
    """What a user of a leaf may hold in a partition at least, whatever other users hold, and at most, by type that counts."""

    __slots__ = ("_by_weight", "_leaf", "_least", "_most")

    def __init__(self, leaf: CapacityQueue, partition: str) -> None:
        context = leaf.context
        calculator, total, guaranteed = context.calculator, context.of(partition), leaf.share(partition).minimum
        capacity = calculator.larger(total, guaranteed, context.least)
        floor = calculator.share_up_whole(calculator.times(capacity, leaf.user_limit), 100)
        if leaf.user_limit_factor == -1 or not any(guaranteed):
            most: Vector = leaf.maximum_down(partition)
        else:
            most = calculator.times(capacity, leaf.user_limit_factor)
        self._leaf = leaf
        self._least = calculator.round_up(calculator.smaller(total, floor, most), context.least)
        self._most = calculator.round_up(most, context.least)
        self._by_weight: dict[float, tuple[Pairs, Pairs]] = {}

    def of(self, user: User) -> tuple[Pairs, Pairs]:
        """Return both as pairs: who holds no more than the first is below the limit, who is alone may have the second."""
        found = self._by_weight.get(user.weight)
        if found is None:
            calculator, step = self._leaf.context.calculator, self._leaf.context.least
            types = sorted(calculator.deciding)
            least, most = (calculator.times_down(each, user.weight, step) for each in (self._least, self._most))
            sure, cap = (tuple((at, each[at]) for at in types if at < len(each)) for each in (least, most))
            found = self._by_weight[user.weight] = (sure, cap)
        return found


def limit_of(leaf: CapacityQueue, user: str, partition: str = DEFAULT) -> Vector:
    """Return what a user may hold in a leaf, from what all users hold now."""
    leaf.users.follow(partition)
    return leaf.users.limit(user, partition)


def room_of(quota: UserQuota, used_of_cluster: Vector) -> Vector:
    """Return what a user may expect to get more in a leaf: what is left of the limit, of the queue and of the cluster."""
    leaf, partition = quota.leaf, quota.partition
    leaf.users.follow(partition)
    tell_room(leaf)
    return headroom(leaf, quota.user, partition, used_of_cluster)
