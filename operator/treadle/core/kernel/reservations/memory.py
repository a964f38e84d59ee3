"""What is known of reservations, and the plans of the queues that take them."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from treadle.core.kernel.reservations.dimensions import Dimensions

if TYPE_CHECKING:
    from treadle.core.kernel.tree.members import Ask
    from treadle.core.model.reservations import Decision, PlanSpec, Promise, ReservationSpec
    from treadle.core.rules.reservations.agents import Agent
    from treadle.core.rules.reservations.over_time import Amounts
    from treadle.core.rules.reservations.plan import Plan


@dataclass(slots=True)
class Known:
    """A Reservation object and what was decided on it."""

    spec: ReservationSpec
    decided: Decision | None
    """What holds here."""
    told: Decision | None
    """What the API has."""
    own: bool = False
    """Whether ``decided`` was decided by this core, which then knows better than what it is told."""
    stale: bool = False
    """Whether the object has changed since it was told."""
    waits: tuple[str, str] = ("", "")
    """Why nothing can be decided on the present version now: a CamelCase reason and words."""

    @property
    def promise(self) -> Promise | None:
        """What it is promised."""
        return None if self.decided is None else self.decided.promise

    @property
    def undecided(self) -> bool:
        """Whether nothing was decided on the present version."""
        return self.decided is None or self.decided.generation != self.spec.generation


class Coming(NamedTuple):
    """A reservation that is promised more of a partition soon, or was a moment ago."""

    identity: str
    path: str
    """Its queue."""
    time: int
    """When it is promised more first, in ms since the epoch."""
    at: float
    """The same on the core's clock."""
    until: float
    """Until when what it does not use is kept, on the core's clock."""
    amounts: Amounts
    """By type."""
    partition: str = ""


class Claim(NamedTuple):
    """A name that a reservation claims, and the path of its queue."""

    identity: str
    pattern: str
    path: str


@dataclass(slots=True)
class Progress:
    """How far the run in a reservation has come whose lag is looked at. Times are in ms since the epoch, but for ``again``."""

    begun: int
    """When its occurrence began."""
    since: int
    """From when on it is watched."""
    looked: int
    """When it was looked at last."""
    done: dict[str, int] = field(default_factory=dict)
    """The work of pods that have succeeded, in amounts times ms by name."""
    again: float = 0.0
    """When it is looked at again, on the core's clock."""
    told: bool = False
    """Whether its owner was told that it is promised more."""
    warned: bool = False
    """Whether its owner was told that there is nothing to promise."""


@dataclass(slots=True)
class PlanInForce:
    """The plan of a queue that takes reservations, which it has by their ids."""

    path: str
    spec: PlanSpec
    plan: Plan
    agent: Agent
    dimensions: Dimensions
    """What its vectors count."""
    stale: bool = True
    """Whether anything of it has changed since its queues followed it."""
    again: float = inf
    """When it is time to follow it anew, on the core's clock."""
    look: float = inf
    """When it is time to look how far its runs have come, on the core's clock."""
    children: dict[str, str] = field(default_factory=dict)
    """The queues that it has now, by reservation; that for all else is under the name of the queue itself."""
    coming: list[Coming] = field(default_factory=list)
    """Reservations in front of which room is kept now."""
    claims: dict[str, list[Claim]] = field(default_factory=dict)
    """Who runs in its reservations without naming them, by namespace."""
    short_since: float = inf
    """Since when more is promised than there is, on the core's clock; infinite while it is not."""
    latest: int = 0
    """When a reservation was accepted last, in ms: no two are accepted at once, so the order in which they have to go is kept with them."""


@dataclass(slots=True)
class Plans:
    """All reservations, by id, and the plans in force, by the paths of their queues."""

    known: dict[str, Known] = field(default_factory=dict)
    of: dict[str, PlanInForce] = field(default_factory=dict)
    undecided: dict[str, None] = field(default_factory=dict)
    """Reservations on whose present version nothing was decided, and that are to be looked at."""
    blocked: dict[str, None] = field(default_factory=dict)
    """Others of which it was found that nothing can be decided now: they are looked at when anything of them changes, or the queues do."""
    promised: dict[str, None] = field(default_factory=dict)
    """Reservations with a promise that no plan has yet."""
    members: dict[str, dict[str, None]] = field(default_factory=dict)
    """The applications that name a reservation, both by id."""
    elsewhere: dict[str, None] = field(default_factory=dict)
    """Reservations of which something changed that may let their applications belong elsewhere, since these were last asked."""
    progress: dict[str, Progress] = field(default_factory=dict)
    """How far runs have come that may be promised more, by the paths of their queues."""
    reprovisioned: int = 0
    """Occurrences whose runs were promised more since they lag."""
    without_room: int = 0
    """Occurrences for whose runs there was nothing that could be promised."""
    ending: dict[str, str] = field(default_factory=dict)
    """Applications whose pods on nodes are deleted since their reservation is over, by id, and the path of its plan."""
    asked: dict[str, float] = field(default_factory=dict)
    """Pods that were asked to go for that, and when."""
    held: dict[Ask, None] = field(default_factory=dict)
    """Those that were held back for a reservation whose room is kept."""
    look: float = inf
    """When they are looked at again, on the core's clock."""
    discipline: str = ""
    """The discipline that the queues of plans were defined for."""
    partitions: dict[str, set[str]] = field(default_factory=dict)
    """Of which partitions something was promised that a plan did not know, by the paths of queues."""
    outdated: bool = True
    """Whether queues may take reservations that did not, or have another capacity, since the plans were last brought up to date."""

    def note(self, identity: str) -> None:
        """Take note that something was told of a reservation: what is to be done about it is found by the next pass."""
        known = self.known[identity]
        self.elsewhere[identity] = None
        self.blocked.pop(identity, None)
        if known.undecided:
            self.undecided[identity] = None
        else:
            self.undecided.pop(identity, None)
            known.waits = ("", "")
        if known.promise is not None:
            self.promised[identity] = None
        else:
            self.promised.pop(identity, None)

    def leave(self, identity: str) -> None:
        """Take a reservation out of the plan that has it."""
        for one in self.of.values():
            if identity in one.plan.reservations:
                one.plan.delete(identity)
                one.stale = True
