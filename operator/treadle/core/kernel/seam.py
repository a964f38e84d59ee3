"""What the machine asks of the discipline in force: each part stands where the way of a pass depends on whose rules share the tree.

A discipline is made for one state and keeps to it, so nothing here is given the state.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from treadle.core.effects import Effect
    from treadle.core.kernel.nodes.near import Near
    from treadle.core.kernel.nodes.shapes import Shape
    from treadle.core.kernel.tree.limits import Had
    from treadle.core.kernel.tree.members import Application, Ask, Queue
    from treadle.core.kernel.tree.tree import Settled
    from treadle.core.model import PodSpec, QueueSpec, Wait
    from treadle.core.rules.placement.rules import Request
    from treadle.core.rules.running import Further, Origins
    from treadle.core.units.resources import Vector


class Round(NamedTuple):
    """What a discipline does from time to time: a round of preemption, a look at nodes to keep."""

    next: Callable[[], float | None]
    """When it is due; None while nothing wants it."""
    run: Callable[[int], list[Effect]]
    """Do it; the number is how many binds are allowed yet."""


class Running(NamedTuple):
    """How many applications of a user may run at once: of the users named, of all others, and what limits them beside that."""

    of_user: dict[str, int]
    default: int | None
    further: Further | None
    origins: Origins


class Limits(Protocol):
    """What queues are due, may have at most, and how they are ordered."""

    def interval(self) -> float:
        """Return how often limits follow the cluster at most, in seconds."""

    def weight(self, queue: Queue) -> float:
        """Return what a queue counts for among its siblings where opportunistic room is divided, in any unit."""

    def due(self, queue: Queue, partition: str = "") -> Vector:
        """Return what a queue can count on of a partition, whoever asks for how much: what may be promised of it."""

    def promisable(self, queue: Queue) -> tuple[str, ...]:
        """Return the partitions of which something may be promised of a queue; the first is that of pods that name none."""

    def planned(
        self, above: Queue, path: str, part: float, amounts: Mapping[str, Mapping[str, int]], *, promised: bool
    ) -> QueueSpec:
        """Return the definition of a queue below one that takes reservations.

        It counts on ``amounts`` of each partition, by type, and shares what nobody uses by its ``part`` of the plan. ``promised``: it is that of a
        reservation, and not the one for all else.
        """

    def outdated(self) -> bool:
        """Whether limits depend on something of the cluster that changed though its total did not."""

    def apply(self, *, followed: bool) -> None:
        """Give all queues their limits and orders.

        ``followed``: what they are due in the cluster of now was computed just now.
        """

    def edited(self, settled: Settled) -> dict[Queue, Had]:
        """Give the queues that a settling changed their limits and orders; returns all that were given any, and what they had before."""

    def made(self, queue: Queue) -> None:
        """Give a queue that was just made its limits and its order, its new parents included."""

    def part_made(self, part: Queue) -> None:
        """Give a queue's part in a partition, which was just made, its limits."""

    def part_gone(self, queue: Queue, partition: str) -> None:
        """Forget a queue's part in a partition, which is no more."""

    def partitions(self) -> Container[str]:
        """Return the partitions that are configured or have nodes."""

    def widened(self) -> None:
        """Follow a new resource type: all vectors are longer now."""

    def running(self) -> Running:
        """Return how many applications of users may run."""

    def lifetime(self, queue: Queue) -> tuple[float, float]:
        """Return how long an application of a leaf may live at most and does by default, in seconds; 0 is no limit."""

    def lifetimes(self) -> bool:
        """Whether any queue limits how long its applications live."""


class Membership(Protocol):
    """What is kept of applications, or parts of them, that are in a leaf."""

    def entered(self, part: Application) -> None:
        """Take note of one that came into a leaf, with all it holds."""

    def leaving(self, part: Application) -> None:
        """Take note of one that is about to leave its leaf with all it holds."""

    def partition_wanted(self, application: Application, pod: PodSpec) -> str | None:
        """Return the partition that a pod is for. None: partitions do not matter."""

    def partition_of(self, labels: Mapping[str, str]) -> str:
        """Return the partition of a node with such labels."""

    def partitions_matter(self) -> bool:
        """Whether what is on a node counts in the partition that the node is in."""

    def pod_seen(self, uid: str) -> None:
        """Take note of a pod that was seen, which may have joined an application."""

    def object_changed(self, application: Application) -> None:
        """Take note of an application whose object has changed."""

    def redefined(self, *, whole: bool) -> list[Application]:
        """Return the applications whose pods may be for other partitions after a settling, all that there are if the ``whole`` tree was settled."""

    def settled(self, applications: list[Application]) -> None:
        """Take note of these after their pods were grouped anew."""

    def victim_stays(self, application: Application) -> None:
        """Take note that a pod that was to go for an application cannot be had."""

    def forget_the_gone(self) -> None:
        """Forget applications and queues that are no more."""


class Choice(NamedTuple):
    """A row (-1: none), and why there is none although others have room."""

    row: int
    wait: Wait | None = None


class Turns(Protocol):
    """What keeps an ask from its turn beside room and maxima, and what is tried before it waits.

    Called at the slow exits of a cycle only.
    """

    full_queues_block: bool
    """Whether an ask that finds a queue full keeps those behind it from overtaking."""

    def wake(self) -> None:
        """Let those compete again that wait for their quotas and are below them."""

    def unreserve(self, ask: Ask) -> bool:
        """Let an ask at a limit give back a node that is kept for it and counts against the limit; returns whether it did."""

    def at_quota(self, ask: Ask) -> None:
        """Park an ask whose quota is exceeded."""

    def quota_grew(self, application: Application) -> None:
        """Let asks compete again that are below their quota, now that an application of their leaf was given something or waits for something else."""

    def block_queue(self, queue: Queue, ask: Ask) -> None:
        """Take note that an ask found a queue full."""

    def lending(self) -> bool:
        """Whether nodes of any partition may go to pods of another one."""

    def may_be_lent(self, shape: Shape) -> bool:
        """Whether pods of a shape could ever get such a node."""

    def can_lend(self, shape: Shape) -> bool:
        """Whether pods of a shape could get one now."""

    def lend(self, ask: Ask) -> tuple[int, Application] | None:
        """Return the row of such a node and the part of the application that counts there, None without one."""

    def near(self, ask: Ask, near: Near) -> Choice:
        """Return the closest node that an ask whose pods prefer some may take by now, or why it waits for a closer one."""


class Masters(Protocol):
    """What the masters of a leaf, pods with that role, may hold together."""

    def may_start(self, ask: Ask) -> bool:
        """Whether one more may be placed."""

    def wake(self, leaf: Queue) -> None:
        """Let as many of those that wait for this in a leaf compete as there may be now."""


class Placement(Protocol):
    """Which queue an application is for, and queues that are made for applications."""

    def asks(self) -> bool:
        """Whether what was asked for is to be interpreted; if not, an application is in the queue that it names, or in the default one."""

    def ruled(self) -> bool:
        """Whether rules decide, so that a queue that is named but does not exist need not be meant."""

    def place(self, application: Application, request: Request, namespace: str, *, runs: bool) -> Queue | Wait:
        """Return the queue for an application, made if it may be, or why there is none. Access is not asked of what ``runs``."""

    def make(self, path: str) -> Queue | Wait:
        """Make a queue for an application, and what is missing above it; or say why it cannot be."""

    def restore(self, path: str) -> Queue | None:
        """Make a queue for what is bound in it; None if it cannot be there at all."""

    def used(self, queue: Queue) -> None:
        """Take note that an application was submitted to a queue."""

    def problem(self) -> str:
        """Say which rules can place no application as the tree is now, and why; empty if all can."""


class Words(Protocol):
    """The words for limits that are the discipline's own, and figures that it alone has, with the numbers of now."""

    largest: str
    """What the most that one pod may have is called."""
    maximum: str
    """What the most that a queue may have is called."""

    fair_shares: bool
    """Whether queues have fair shares to show."""

    def used_capacity(self, queue: Queue) -> float | None:
        """Return how much of its capacity a queue uses, 1 being all; None if queues have none."""

    def remark(self, queue: Queue) -> str:
        """Say what of a queue's definition is not in force as it is written, though it is in force; empty if all is."""

    def room(self, application: Application) -> Vector | None:
        """Return how much more the user of an application may expect to get in its queue now; None if users are not limited."""

    def masters_short(self, ask: Ask) -> bool:
        """Whether the limit on masters would hold back a master now."""

    def master_share(self, ask: Ask) -> str:
        """Return of what masters would hold too much."""

    def at_quota(self, ask: Ask) -> str:
        """Return what a user holds in a queue and may have."""


class Discipline(Protocol):
    """How the queues share the cluster: the parts of a pass, and of what has a time, that are one discipline's own."""

    name: str
    limits: Limits
    membership: Membership
    masters: Masters
    turns: Turns
    placement: Placement
    words: Words
    rounds: tuple[Round, ...]
    """In the order in which they are done, after the placements of a pass."""

    def may_be_asked(self, application: Application) -> bool:
        """Whether the queue of an application, and those above it, allow that its pods are asked to go for others."""

    charges_holds: bool
    """Whether room that is kept on a node may count as used by whom it is kept for."""

    def owed(self, application: Application) -> bool:
        """Whether room is owed to an application that waits for nodes, or no other is kept waiting, so that nodes may be kept for it."""

    def before_settling(self) -> bool:
        """Remove what is not needed any more before definitions are looked at; returns whether queues went."""

    def upkeep(self) -> bool:
        """Do what is due for queues that applications made; returns whether queues went."""

    def sync_demand(self) -> None:
        """Bring up to date what decisions depend on and what follows the demand of pods."""

    def before_placing(self) -> None:
        """Give up nodes that are kept for one while others need them more."""

    def refresh_shares(self) -> None:
        """Bring the shares of all queues up to date for those who show them; demands are."""

    def timers(self) -> list[float]:
        """Return when any of this but the rounds has something to do even if nothing happens."""

    def broken(self) -> list[str]:
        """Return what contradicts itself in the discipline's own."""
