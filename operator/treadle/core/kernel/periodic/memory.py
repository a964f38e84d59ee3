"""What periodic steps keep between two looks."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from treadle.core.effects import RecordEvent
    from treadle.core.kernel.nodes.shapes import Alike
    from treadle.core.kernel.tree.members import Application, Ask
    from treadle.core.model import PodSpec


@dataclass(slots=True)
class Lifetimes:
    """When all applications were last looked at, whether any has a lifetime, and which pods were deleted, and when."""

    looked: float = float("-inf")
    active: bool = False
    asked: dict[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class Reports:
    """What telling owners keeps (``failed_scheduling``, ``failed_binds``)."""

    misnamed: dict[Application, str] = field(default_factory=dict)
    """Applications that ask for a queue that did not exist when another one took them, and its path."""
    misnamed_count: int = 0
    """How many such applications there have been."""
    unheeded: dict[Application, str] = field(default_factory=dict)
    """Applications that ask for a partition where there are none, and the partition, empty when that has been told."""
    unheeded_news: bool = False
    """Whether one of them is to be told."""
    ungrouped: dict[Application, str] = field(default_factory=dict)
    """Applications whose pods name a PodGroup of which something is not acted on, and what, empty when that has been told."""
    ungrouped_news: bool = False
    """Whether one of them is to be told."""
    profiled: dict[str, None] = field(default_factory=dict)
    """Pods, by uid, that name resource profiles and are to be compared with them."""
    profiles_told: dict[Application, set[str]] = field(default_factory=dict)
    """The profiles of which an application has been told."""
    claiming: dict[str, None] = field(default_factory=dict)
    """Pods that wait and claim to be of a user whom they are not taken to be of, since this was last told."""
    claims_told: set[Application] = field(default_factory=set)
    """Applications of which that was told."""
    mislabelled: dict[str, None] = field(default_factory=dict)
    """Pods, by uid, with labels or annotations of ours that mean nothing, since this was last told."""
    labels_told: set[Application] = field(default_factory=set)
    """The applications that have been told of that."""
    mistimed: dict[str, None] = field(default_factory=dict)
    """Pods, by uid, that say something of their run time which cannot be understood."""
    durations_told: set[Application] = field(default_factory=set)
    """The applications that have been told of that."""
    standings: dict[str, tuple[float, dict[str, tuple[int, str]]]] = field(default_factory=dict)
    """How many were ahead of an application in a leaf, and the first of them, by ids, and when that was computed."""
    again: list[tuple[float, int, str, tuple[int, int, bool]]] = field(default_factory=list)
    """When events about what waits are written again: an application's id and the key of its ask."""
    failing: dict[str, None] = field(default_factory=dict)
    """Pods, by uid, whose binds have failed again since their owners were last told of such."""
    partly: dict[Ask, tuple[int, float, float, int]] = field(default_factory=dict)
    """Asks of very many pods of which some were looked at: how many, when the first of them may be told more, when the first was told, and how many pods there were."""


@dataclass(slots=True)
class Pause:
    """A node is left alone ``until``, for ``seconds``; a pod like the ``pod`` was refused. ``over``: pods may go there again, and only the length is remembered."""

    pod: PodSpec
    until: float
    seconds: float
    over: bool = False


@dataclass(slots=True)
class Refused:
    """What is kept of refused pods: ``counts`` by reason."""

    pauses: dict[tuple[str, Alike], Pause] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    events: list[RecordEvent] = field(default_factory=list)
