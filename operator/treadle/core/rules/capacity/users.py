"""How much of a leaf a user may have, and who counts as active (Hadoop's ``UsersManager``).

A limit follows what active users have (or all users, for preemption inside a queue), never falls below the minimum percentage,
and is capped by the factor of the leaf's capacity. Limits are kept until users, their usage or the cluster changes, as Hadoop
keeps them: some numbers are of the last time that a limit was computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum, isfinite
from typing import Any, Protocol

from treadle.core.rules.capacity.context import Context
from treadle.core.rules.capacity.share import Share
from treadle.core.rules.capacity.usage import Usage
from treadle.core.units.amounts import add_to, plus, take_from
from treadle.core.units.resources import Vector, extend


class User:
    """A user in one leaf: usage, weight and the numbers of applications that are active or wait for their masters."""

    def __init__(self, name: str, weight: float, width: int) -> None:
        self.name, self.weight = name, weight
        self.usage = Usage(width)
        self.active = 0
        self.pending = 0
        self.ratios: dict[str, float] = {}

    @property
    def applications(self) -> int:
        """How many applications the user has here that may run."""
        return self.active + self.pending


class Followed:
    """What is known of the users of a leaf in a partition of the size ``total``: what each held, which part of the partition that was, and what the active ones hold."""

    __slots__ = ("active", "held", "of_active", "ratios", "total")

    def __init__(self, total: Sequence[int]) -> None:
        self.total = list(total)
        self.held: dict[User, Vector] = {}
        self.ratios: dict[User, float] = {}
        self.active: set[User] = set()
        self.of_active: Vector = [0] * len(total)


class Leaf(Protocol):
    """The leaf, as far as its users' limits depend on it."""

    context: Context
    user_weights: dict[str, float]
    user_limit: float
    user_limit_factor: float

    def share(self, partition: str) -> Share:
        """Return what it has of a partition."""

    def maximum_down(self, partition: str) -> Vector:
        """Return its maximum in whole steps."""


class Users:
    """The users of a leaf. ``active_with_asks`` are applications with something asked for, by their user."""

    def __init__(self, leaf: Leaf) -> None:
        self.leaf = leaf
        width = leaf.context.width
        self.users: dict[str, User] = {}
        self.active_with_asks: dict[str, set[str]] = {}
        self.active: dict[str, None] = {}
        self.inactive: dict[str, None] = {}
        self.active_weights = 0.0
        self.all_weights = 0.0
        self.active_usage = Usage(width)
        self.inactive_usage = Usage(width)
        self.ratios: dict[str, float] = {}
        self.only_pending = 0
        self.version = 0
        self.touched: dict[str, dict[User, None]] = {}
        """Users whose usage of a partition was written past ``charge`` since it was last followed, by partition (``disciplines.capacity.quota``)."""
        self.followed: dict[str, Followed] = {}
        self.computed: dict[tuple[str, bool, bool], tuple[int, Vector]] = {}
        self.found: dict[tuple[str, bool], tuple[int, dict[str, Any]]] = {}

    def changed(self) -> None:
        """Let all limits be computed anew when they are asked for."""
        self.version += 1

    def findings(self, partition: str, *, within: bool) -> dict[str, Any]:
        """Return what walks found out about users in a partition since any limit changed, by user, to read and to add to."""
        kept = self.found.get((partition, within))
        if kept is None or kept[0] != self.version:
            kept = self.found[partition, within] = (self.version, {})
        return kept[1]

    def user(self, name: str) -> User:
        """Return a user, who is known from now on."""
        found = self.users.get(name)
        if found is None:
            found = self.users[name] = User(
                name, self.leaf.context.single(self.leaf.user_weights.get(name, 1.0)), self.leaf.context.width
            )
            self.all_weights = self._weights(self.users)
            self.inactive.setdefault(name)
            self._touch(found)
        return found

    def follow(self, partition: str) -> None:
        """Let the sums over users follow what they hold, where others write that: only who was touched is looked at."""
        touched = self.touched.setdefault(partition, {})
        total = self.leaf.context.of(partition)
        known = self.followed.get(partition)
        if known is None or known.total != total:
            known = self.followed[partition] = Followed(total)
            touched.clear()
            touched.update(dict.fromkeys(self.users.values()))
        elif not touched:
            return
        active = known.of_active
        for user in touched:
            held = known.held.pop(user, None)
            if user in known.active:
                known.active.discard(user)
                if held is not None:
                    take_from(active, held)
            if self.users.get(user.name) is not user:
                known.ratios.pop(user, None)
                continue
            used = known.held[user] = list(user.usage.used(partition))
            extend(active, len(used))
            if user.name in self.active:
                known.active.add(user)
                add_to(active, used)
            known.ratios[user] = user.ratios[partition] = self._ratio(user, partition)
        touched.clear()
        self.active_usage.of(partition).used = list(active)
        self.ratios[partition] = fsum(known.ratios.values())
        self.changed()

    def _touch(self, user: User) -> None:
        """Look at a user again, who came, went, or is active now or no longer."""
        for touched in self.touched.values():
            touched[user] = None

    def _lose(self, user: User) -> None:
        """Look again at a user who went, where the sums hold what that user had; else there is nothing to look at, and nobody may look for long."""
        for partition, touched in self.touched.items():
            if partition in self.followed and user in self.followed[partition].held:
                touched[user] = None
            else:
                touched.pop(user, None)

    def out_of_date(self) -> list[str]:
        """Return the users whose usage changed and was not noted, for a check."""
        return [
            f"{user.name} in partition {partition or 'default'}"
            for partition, known in self.followed.items()
            for user, held in known.held.items()
            if user not in self.touched[partition] and held != user.usage.used(partition)
        ]

    def forget(self, name: str) -> None:
        """Remove a user without applications."""
        user = self.users.pop(name, None)
        if user is not None:
            self._lose(user)
        self.active.pop(name, None)
        self.inactive.pop(name, None)
        self.active_weights = self._weights(self.active)
        self.all_weights = self._weights(self.users)

    def reweigh(self) -> None:
        """Take over other weights."""
        for name, user in self.users.items():
            user.weight = self.leaf.context.single(self.leaf.user_weights.get(name, 1.0))
        self.active_weights = self._weights(self.active)
        self.all_weights = self._weights(self.users)
        self.changed()

    def wants(self, name: str, application: str) -> None:
        """Note that an application asks for something, which makes its user active if one of the user's applications is."""
        user = self.users.get(name)
        if user is not None and user.active <= 0:
            return
        asking = self.active_with_asks.get(name)
        if asking is None:
            asking = self.active_with_asks[name] = set()
            self.changed()
            self._shift(name, self.inactive, self.active, self.inactive_usage, self.active_usage)
        asking.add(application)

    def satisfied(self, name: str, application: str) -> None:
        """Note that an application asks for nothing any more."""
        asking = self.active_with_asks.get(name)
        if asking is None:
            return
        asking.discard(application)
        if not asking:
            del self.active_with_asks[name]
            self.changed()
            if name in self.users:
                self._shift(name, self.active, self.inactive, self.active_usage, self.inactive_usage)

    def charge(self, name: str, partition: str, amount: Sequence[int], *, less: bool = False) -> User:
        """Count what a user was given, or gave back."""
        user = self.user(name)
        user.usage.change(partition, "used", amount, less=less)
        (self.active_usage if name in self.active else self.inactive_usage).change(partition, "used", amount, less=less)
        self.changed()
        ratio = self._ratio(user, partition)
        delta = self.leaf.context.single(ratio - user.ratios.get(partition, 0.0))
        user.ratios[partition] = ratio
        self.ratios[partition] = self.leaf.context.single(self.ratios.get(partition, 0.0) + delta)
        return user

    def recount(self, partitions: Sequence[str]) -> None:
        """Compute the parts that users have of partitions anew, since these changed."""
        for partition in partitions:
            consumed = 0.0
            for user in self.users.values():
                user.ratios[partition] = self._ratio(user, partition)
                consumed = self.leaf.context.single(consumed + user.ratios[partition])
            self.ratios[partition] = consumed

    def count_active(self) -> int:
        """Return how many users are active or only wait for masters; the latter as they were when a limit was last computed."""
        return len(self.active_with_asks) + self.only_pending

    def limit(self, name: str, partition: str, *, within: bool = True, of_active: bool = True) -> Vector:
        """Return the limit of a user.

        ``within``: the leaf's share of the partition counts, otherwise all of the partition does.
        """
        key = (partition, within, of_active)
        kept = self.computed.get(key)
        if kept is None or kept[0] != self.version:
            kept = self.computed[key] = (self.version, self._compute(partition, within=within, of_active=of_active))
            if not self.followed:  # where usage is followed no user is charged for a master that has not started
                self.only_pending = sum(user.pending > 0 and user.active <= 0 for user in self.users.values())
        user = self.users.get(name)
        weight = 1.0 if user is None else user.weight
        return self.leaf.context.calculator.times_down(kept[1], weight, self.leaf.context.least)

    def _compute(self, partition: str, *, within: bool, of_active: bool) -> Vector:
        leaf, context = self.leaf, self.leaf.context
        calculator, least, total = context.calculator, context.least, context.of(partition)
        guaranteed = leaf.share(partition).minimum
        capacity = calculator.larger(total, guaranteed, least)
        consumed = calculator.times_up(total, self.ratios.get(partition, 0.0), least)
        current = capacity if calculator.less(total, consumed, capacity) else plus(consumed, least)
        divided, weights = plus(self.active_usage.used(partition), least), self.active_weights
        if not of_active:
            divided, weights = current, self.all_weights
        floor = self._percent(self.leaf.context.calculator.times(current, leaf.user_limit))
        limit = calculator.larger(total, calculator.share_up(divided, weights), floor)
        most: Sequence[int] = total
        if within and (leaf.user_limit_factor == -1 or not any(guaranteed)):
            most = leaf.maximum_down(partition)
        elif within:
            most = self.leaf.context.calculator.times(capacity, leaf.user_limit_factor)
        return calculator.round_up(calculator.smaller(total, limit, most), least)

    def _percent(self, amount: Sequence[int]) -> Vector:
        return self.leaf.context.calculator.share_up_whole(amount, 100)

    def _ratio(self, user: User, partition: str) -> float:
        calculator, used, total = self.leaf.context.calculator, user.usage.used(partition), self.leaf.context.of(partition)
        found = calculator.ratio(used, total)
        if isfinite(found):
            return found
        # something is held of a type that no node has any more, which is no part of anything
        found = calculator.ratio([value if total[at] else 0 for at, value in enumerate(used)], total)
        return found if isfinite(found) else 0.0

    def _weights(self, names: dict[str, User] | dict[str, None]) -> float:
        total = 0.0
        for name in names:
            total = self.leaf.context.single(total + self.users[name].weight)
        return total

    def _shift(self, name: str, here: dict[str, None], there: dict[str, None], usage: Usage, other: Usage) -> None:
        user = self.user(name)
        if name not in here:
            return
        del here[name]
        there[name] = None
        self._touch(user)
        self.active_weights = self._weights(self.active)
        for partition, amounts in user.usage.partitions.items():
            take_from(usage.of(partition).used, amounts.used)
            add_to(other.of(partition).used, amounts.used)
