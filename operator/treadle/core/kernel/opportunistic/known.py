"""What is kept of what nodes use."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from treadle.core.rules.opportunistic.accuracy import Errors
from treadle.core.rules.opportunistic.thresholds import Overload

if TYPE_CHECKING:
    from treadle.core.model.opportunistic import NodePolicy
    from treadle.core.rules.opportunistic.accuracy import Watched
    from treadle.core.rules.opportunistic.prediction import Moments
    from treadle.core.rules.opportunistic.samples import NodeUsage
    from treadle.core.rules.opportunistic.thresholds import OverAllocation
    from treadle.core.units.resources import Vector

TYPES = 2
"""Memory and cpu, the first two of all vectors: of other types an opportunistic pod gets nothing."""


@dataclass(slots=True)
class Sampled:
    """What is known of a node: its samples, what others' pods held there when the last one came, and for how long it has been used too much."""

    usage: NodeUsage
    others: Vector = field(default_factory=lambda: [0, 0])
    overload: Overload = field(default_factory=lambda: Overload(patient=False))
    moments: list[Moments] = field(default_factory=list)
    """Mean and deviation of each type, where peaks are predicted."""
    watched: list[Watched] = field(default_factory=list)
    """The prediction of each type whose time is not over yet."""
    asked: Vector = field(default_factory=list)
    """What was asked for on the node when that was made."""
    room: tuple[tuple[int, float], Vector] | None = None
    """What opportunistic pods could be given there, as of a version of the node's row and a sample."""


@dataclass(slots=True)
class Usage:
    """What is kept of the usage of nodes, by their names."""

    of: dict[str, Sampled] = field(default_factory=dict)
    fresh: dict[str, None] = field(default_factory=dict)
    """Nodes with a sample by which it has not been looked yet who has to go."""
    known: bool | None = None
    """Whether samples can be had; None while nobody has said."""
    trouble: str = ""
    newest: float = float("-inf")
    """The time of the newest sample of all."""
    errors: tuple[Errors, Errors] = field(default_factory=lambda: (Errors(), Errors()))
    """How far predictions of memory and of cpu were off."""
    policies: dict[NodePolicy, OverAllocation] = field(default_factory=dict)
