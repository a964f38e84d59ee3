"""What keeps an ask back under the capacity discipline beside room and maxima: its user's limit, and an ask that is first in a full queue.

An application of a user at the limit is passed over. But an ask that finds a queue at its maximum ends the queue's turn, so that
a large ask is not overtaken for ever by smaller ones (``AbstractLeafQueue.assignContainers``, where it says ``QUEUE_LIMIT``). An
ask for more than the maximum as a whole blocks no other.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush, heapreplace
from math import inf
from typing import TYPE_CHECKING, Any

from treadle.core.disciplines.capacity.quota import quota_of
from treadle.core.kernel.tree.order import park, suspend, unpark
from treadle.core.kernel.tree.quota import USER_LIMIT
from treadle.core.model import Wait

if TYPE_CHECKING:
    from treadle.core.disciplines.capacity.quota import UserQuota
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application, Ask, Queue


class LeafUsers:
    """The users of a leaf whose asks wait at their limit.

    A limit is the same for all users of a leaf but for their weights, so the user who holds least for the weight is the first to
    be below it again. Of one user's asks the first in the order of the leaf is woken; the next one when that was placed or waits
    for something else. So a placement wakes a few asks at most, and between two placements the order sees whom YARN would look
    at.
    """

    __slots__ = ("asks", "awake", "looked", "names", "waiting")

    def __init__(self) -> None:
        self.asks: dict[str, list[tuple[Any, ...]]] = {}
        """By user, a heap of (application's key, rank, ask); entries whose ask does not wait here any more are dropped when they surface."""
        self.waiting: list[tuple[float, str]] = []
        """A heap of (share for the weight, user), each user in it once; a share may be out of date, and lower than it is."""
        self.names: set[str] = set()
        self.looked: object = None
        """What was held and who asked when all of them were last looked at."""
        self.awake = False
        """Whether an ask was woken since then, which may have gone without being looked at."""

    def add(self, leaf: Queue, ask: Ask) -> None:
        """Let an ask of a leaf wait for its user."""
        quota = quota_of(ask.application)
        assert quota is not None
        name = quota.user.name
        heappush(self.asks.setdefault(name, []), (leaf.rank(ask.application)[:-1], ask.rank, ask))
        self.wait(name, share_of(quota))

    def wait(self, name: str, share: float) -> None:
        """Let a user wait, if not already."""
        if name not in self.names:
            self.names.add(name)
            heappush(self.waiting, (share, name))

    def woken(self) -> None:
        """Take the first user out of those who wait: one of the user's asks is looked at."""
        self.names.discard(heappop(self.waiting)[1])
        self.awake = True

    def begin(self, leaf: Queue) -> None:
        """Order all users and their asks anew."""
        asks: dict[str, list[tuple[Any, ...]]] = {}
        shares: dict[str, float] = {}
        for ask in leaf.users_blocked:
            quota = quota_of(ask.application)
            if quota is not None:
                name = quota.user.name
                asks.setdefault(name, []).append((leaf.rank(ask.application)[:-1], ask.rank, ask))
                if name not in shares:
                    shares[name] = share_of(quota)
        for heap in asks.values():
            heapify(heap)
        self.asks = asks
        self.waiting = [(share, name) for name, share in shares.items()]
        heapify(self.waiting)
        self.names = set(shares)
        self.awake = False

    def first(self, leaf: Queue, name: str) -> Ask | None:
        """Return the first ask of a user that waits here, None if there is none."""
        heap = self.asks.get(name)
        while heap:
            key, rank, ask = heap[0]
            if ask not in leaf.users_blocked:
                heappop(heap)
                continue
            now = leaf.rank(ask.application)[:-1]
            if now <= key:
                return ask  # type: ignore[no-any-return]
            heapreplace(heap, (now, rank, ask))
        self.asks.pop(name, None)
        return None


def share_of(quota: UserQuota) -> float:
    """Return what a user holds of the partition by the type of which that is most, for the user's weight."""
    context = quota.leaf.context
    total, used = context.of(quota.partition), quota.used
    most = max((used[at] / total[at] for at in context.calculator.deciding if at < len(used) and total[at] > 0), default=0.0)
    return most / quota.user.weight if quota.user.weight > 0 else inf


def hold_back_user(state: State, ask: Ask) -> None:
    """Park an ask whose user has come to the limit."""
    leaf = ask.application.chain[0]
    leaf.users_blocked[ask] = None
    users = state.contended.get(leaf)
    if users is None:
        users = state.contended[leaf] = LeafUsers()
    park(state, ask, Wait(USER_LIMIT, leaf.path, ""))
    users.add(leaf, ask)


def limit_grew(state: State, application: Application) -> None:
    """Let asks of a leaf compete again whose users are below their limit, now that one of its applications was given something or waits for something else."""
    leaf = application.chain[0]
    users, quota = state.contended.get(leaf), quota_of(application)
    if users is None or quota is None:
        return
    own = users.first(leaf, quota.user.name)
    if own is not None and quota.exceeded():
        users.wait(quota.user.name, share_of(quota))
    elif own is not None:
        users.awake = True
        unpark(own)
    waiting = users.waiting
    while waiting:
        share, name = waiting[0]
        ask = users.first(leaf, name)
        one = None if ask is None else quota_of(ask.application)
        if ask is None or one is None:
            users.woken()
            continue
        now = share_of(one)
        if now != share:
            heapreplace(waiting, (now, name))
        elif one.exceeded():
            return
        else:
            users.woken()
            unpark(ask)


def block_queue(queue: Queue, ask: Ask) -> None:
    """Let no application of a full queue overtake the ask that found it full."""
    if queue.blocked_by is None and all(value <= queue.maximum[at] for at, value in ask.shape.charged):
        suspend(queue, ask)


def wake_users(state: State) -> None:
    """Let those compete again whose users are below their limits; looked at only where what is held, or who asks, has changed."""
    for leaf, users in list(state.contended.items()):
        if not leaf.users_blocked:
            del state.contended[leaf]
            continue
        first = next(iter(leaf.users_blocked))
        quota = quota_of(first.application)
        now = (tuple(leaf.usage), tuple(quota.leaf.users.active)) if quota is not None else None
        if now is not None and now == users.looked and not users.awake:
            continue
        users.looked = now
        users.begin(leaf)
        for ask in [ask for ask in leaf.users_blocked if quota_of(ask.application) is None]:
            unpark(ask)
        limit_grew(state, first.application)
