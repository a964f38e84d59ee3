"""What the offer driver decided, in the order of its decisions."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from offers.nodes import Container


class Cause(Enum):
    """Why a container ended."""

    FINISHED = "finished"
    ABORTED = "aborted"
    """Released by its application, or gone with its application or node."""
    PREEMPTED = "preempted"
    STOPPED = "stopped"
    """Ended by an administrator."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """An application is in a queue."""

    application: str
    queue: str


@dataclass(frozen=True, slots=True)
class Rejected:
    """An application is in no queue: ``by`` the placement rules or by the scheduler, and why."""

    application: str
    by: str
    why: str


@dataclass(frozen=True, slots=True)
class Placed:
    """An application was given a container."""

    container: Container


@dataclass(frozen=True, slots=True)
class Ended:
    """A container holds nothing any more, as far as its application is concerned."""

    container: Container
    cause: Cause


@dataclass(frozen=True, slots=True)
class Relieved:
    """A starved application was looked at; ``victims`` are to be ended for it, in the order in which they were chosen."""

    application: str
    victims: tuple[Container, ...]


@dataclass(frozen=True, slots=True)
class Moved:
    """An application is in another queue."""

    application: str
    queue: str


@dataclass(frozen=True, slots=True)
class Marked:
    """A container was chosen as a victim: its application is warned, or, when the time to warn it is over (``due``), it may be ended."""

    container: Container
    due: bool


@dataclass(frozen=True, slots=True)
class HoldTaken:
    """The hold of an application on a node was taken away by preemption."""

    application: str
    node: str


Effect = Accepted | Rejected | Placed | Ended | Relieved | Moved | Marked | HoldTaken
