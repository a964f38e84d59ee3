"""How many applications may run, and who of those that wait becomes runnable (Hadoop's ``MaxRunningAppsEnforcer``).

Queues at every level and users have limits on runnable applications. When a runnable application leaves, the highest queue that
was at its limit is found, and the applications that wait anywhere below it are taken by the time of their start; those that wait
for their user's limit join them. No application is ever sent back to waiting because a limit was lowered.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableSequence, Sequence
from typing import Any, Generic, Protocol, TypeVar

from treadle.core.units.java_orders import Heap

NO_LIMIT = (1 << 31) - 1


class Limited(Protocol):
    """A queue with a limit. ``waiting`` are the applications of a leaf that may not run yet, in the order in which they came."""

    path: str
    running_below: int
    max_running: int

    @property
    def parent(self) -> Limited | None:
        """The queue above it, None for the root."""
        ...

    @property
    def parental(self) -> bool:
        """Whether it is for child queues."""
        ...

    @property
    def below(self) -> Sequence[Limited]:
        """The child queues, in the order in which they were made."""
        ...


class Candidate(Protocol):
    """An application that runs or waits."""

    user: str
    start: float


A = TypeVar("A", bound=Candidate)
K = TypeVar("K")


class Further(Protocol):
    """Limits of a leaf on the applications of one user."""

    def of_user(self, queue: Limited, /) -> int:
        """Return how many applications of one user may run in a leaf."""
        ...


class Origins(Protocol):
    """The fields that limits come from, for messages."""

    def running_limit(self, queue: Any, /) -> str:
        """Return where a queue's limit comes from."""
        ...

    def user_limit(self, user: str, /) -> str:
        """Return where a user's limit comes from."""
        ...


class RunningLimits(Generic[A]):
    """The counts of runnable applications by user, and of a leaf and user, and who waits.

    The counts of queues are in the queues.
    """

    def __init__(self, of_user: dict[str, int] | None = None, default: int | None = None) -> None:
        self.of_user = of_user or {}
        self.default = default
        self.running: dict[str, int] = {}
        self.running_in: dict[tuple[str, str], int] = {}
        self.further: Further | None = None
        self.origins: Origins | None = None
        self.waiting_of_user: dict[str, list[A]] = {}

    def limit_of(self, user: str) -> int:
        """Return how many applications of a user may run."""
        return self.of_user.get(user, NO_LIMIT if self.default is None else self.default)

    def obstacle(self, queue: Limited, user: str) -> str | None:
        """Say why one more application of a user may not run in a leaf now, or None if it may."""
        if self.running.get(user, 0) >= self.limit_of(user):
            remark = "" if self.origins is None else f" ({self.origins.user_limit(user)})"
            return f"user {user} has {self.running.get(user, 0)} running applications, which is the limit{remark}"
        full = next((above for above in chain(queue) if above.running_below >= above.max_running), None)
        if full is not None:
            remark = "" if self.origins is None else f" ({self.origins.running_limit(full)})"
            return f"queue {full.path} has {full.running_below} running applications; its limit is {full.max_running}{remark}"
        held, further = self._held(queue, user), self.further
        if further is not None and held >= further.of_user(queue):
            most = further.of_user(queue)
            return f"user {user} has {held} running applications in queue {queue.path}; the limit of a user is {most}, by the queue's maximumApplications, userLimitFactor and minimumUserLimitPercent"
        return None

    def run(self, queue: Limited, application: A) -> None:
        """Count an application that became runnable in a leaf."""
        for above in chain(queue):
            above.running_below += 1
        self.running[application.user] = self.running.get(application.user, 0) + 1
        where = (queue.path, application.user)
        self.running_in[where] = self.running_in.get(where, 0) + 1

    def stop(self, queue: Limited, application: A) -> None:
        """Take a runnable application out of the counts of a leaf and its ancestors."""
        for above in chain(queue):
            above.running_below -= 1
        _take_one(self.running, application.user)
        _take_one(self.running_in, (queue.path, application.user))

    def wait(self, application: A) -> None:
        """Note that an application waits; its leaf's own list is the caller's."""
        self.waiting_of_user.setdefault(application.user, []).append(application)

    def forget(self, application: A) -> None:
        """Note that an application waits no longer."""
        waiting = self.waiting_of_user.get(application.user, [])
        if application in waiting:
            waiting.remove(application)

    def candidates_after(self, queue: Limited, user: str, waiting: Waiting[A]) -> list[Sequence[A]]:
        """Return who may become runnable now that a runnable application of ``user`` left ``queue``; it is counted no longer."""
        highest = None
        for above in chain(queue):
            if above.running_below == above.max_running - 1:
                highest = above
        lists: list[Sequence[A]] = []
        if highest is not None:
            gather(highest, waiting, lists)
        of_user = self.waiting_of_user.get(user)
        if of_user and self.running.get(user, 0) == self.limit_of(user) - 1:
            lists.append(list(of_user))
        elif of_user and self.further is not None and self._held(queue, user) + 1 == self.further.of_user(queue):
            lists.append([each for each in waiting(queue) if each.user == user])  # in other leaves it changes nothing
        return lists

    def _held(self, queue: Limited, user: str) -> int:
        return self.running_in.get((queue.path, user), 0)

    def candidates_on_reload(self, root: Limited, waiting: Waiting[A]) -> list[Sequence[A]]:
        """Return who may become runnable after limits changed."""
        lists: list[Sequence[A]] = []
        gather(root, waiting, lists)
        return lists


def _take_one(counts: dict[K, int], key: K) -> None:
    left = counts[key] - 1
    if left:
        counts[key] = left
    else:
        del counts[key]


class Waiting(Protocol[A]):
    """Gives the applications that wait in a leaf."""

    def __call__(self, queue: Limited, /) -> MutableSequence[A]:
        """Return the leaf's list."""
        ...


def chain(queue: Limited) -> Iterator[Limited]:
    """Return a queue and its ancestors, the root last."""
    at: Limited | None = queue
    while at is not None:
        yield at
        at = at.parent


def gather(queue: Limited, waiting: Waiting[A], lists: list[Sequence[A]]) -> None:
    """Collect the lists of those that wait below a queue, but not below one that is at its limit."""
    if queue.running_below >= queue.max_running:
        return
    if not queue.parental:
        lists.append(list(waiting(queue)))
    for child in queue.below:
        gather(child, waiting, lists)


def by_start(lists: Sequence[Sequence[A]]) -> Iterator[A]:
    """Merge lists by the start times of their heads.

    Where heads tie, the heap's own order decides, as in Hadoop; one that comes twice in a row counts once.
    """
    heap: Heap[tuple[float, int, int]] = Heap(lambda one, other: (one[0] > other[0]) - (one[0] < other[0]))
    for number, each in enumerate(lists):
        heap.push((each[0].start if each else float("inf"), number, 0))
    before = None
    while heap and heap.items[0][0] != float("inf"):
        _, number, at = heap.pop()
        each = lists[number]
        found = each[at]
        heap.push((each[at + 1].start if at + 1 < len(each) else float("inf"), number, at + 1))
        if found is not before:
            yield found
        before = found
