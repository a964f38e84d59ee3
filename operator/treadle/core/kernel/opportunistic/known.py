"""What is kept of what nodes use."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from treadle.core.rules.opportunistic.accuracy import Errors
from treadle.core.rules.opportunistic.delays import Delays
from treadle.core.rules.opportunistic.pressure import Strain
from treadle.core.rules.opportunistic.thresholds import Overload

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.core.model.opportunistic import NodePolicy
    from treadle.core.rules.opportunistic.accuracy import Watched
    from treadle.core.rules.opportunistic.histograms import Histogram
    from treadle.core.rules.opportunistic.prediction import Moments, Reservation
    from treadle.core.rules.opportunistic.pressure import Waiting
    from treadle.core.rules.opportunistic.samples import NodeUsage, Sample
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
    waiting: Waiting = field(default_factory=dict)
    """How long tasks of its pods waited by the last sample."""
    waited: float | None = None
    """When that was read where the node itself told it; None: it came with the sample."""
    strained: float = float("-inf")
    """The time of what it was last looked by who has to go for it."""
    strain: Strain = field(default_factory=Strain)
    crossed: float | None = None
    """The time of the first of the samples in a row that are above a preemption threshold, while opportunistic pods are there."""
    moments: list[Moments] = field(default_factory=list)
    """Mean and deviation of each type, where peaks are predicted."""
    watched: list[Watched] = field(default_factory=list)
    """The prediction of each type whose time is not over yet."""
    asked: Vector = field(default_factory=list)
    """What was asked for on the node when that was made."""
    room: tuple[tuple[int, float], Vector] | None = None
    """What opportunistic pods could be given there, as of a version of the node's row and a sample."""


Kind = tuple[str, "tuple[tuple[int, int], ...]", "tuple[tuple[str, int], ...]"]
"""Pods that are taken to use alike: those of an application with the same demand, and the same word of what they will use."""


@dataclass(slots=True)
class PodSampled:
    """The last sample of a pod; where peaks are predicted by pods what pods of its kind have used, and what is reserved for it, by type."""

    sample: Sample
    used: Sequence[Histogram] = ()
    reserved: Sequence[Reservation] = ()


@dataclass(slots=True)
class Usage:
    """What is kept of the usage of nodes, by their names."""

    of: dict[str, Sampled] = field(default_factory=dict)
    fresh: dict[str, None] = field(default_factory=dict)
    """Nodes with a sample by which it has not been looked yet who has to go."""
    pods: dict[str, dict[str, PodSampled]] = field(default_factory=dict)
    """What single pods use, by the name of the node and their uid."""
    kinds: dict[Kind, list[Histogram]] = field(default_factory=dict)
    """What pods of a kind have used, by type; those first that were not sampled for the longest."""
    known: bool | None = None
    """Whether samples can be had; None while nobody has said."""
    trouble: str = ""
    newest: float = float("-inf")
    """The time of the newest sample of all."""
    errors: tuple[Errors, Errors] = field(default_factory=lambda: (Errors(), Errors()))
    """How far predictions of memory and of cpu were off."""
    until_asked: Delays = field(default_factory=Delays)
    """From the first sample above a preemption threshold until a pod was asked to go for it."""
    until_gone: Delays = field(default_factory=Delays)
    """From the first sample above a preemption threshold until a pod that was asked to go for it was gone."""
    crossed: dict[str, float] = field(default_factory=dict)
    """The time of that sample of those that have been asked and are not gone, by uid."""
    until_below: Delays = field(default_factory=Delays)
    """From that sample until one that was not above."""
    policies: dict[NodePolicy, OverAllocation] = field(default_factory=dict)
