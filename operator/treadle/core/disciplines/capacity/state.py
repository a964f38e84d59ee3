"""What the capacity discipline keeps beside the state: the capacities of the tree in force, and what concerns queues that applications make."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, cast

from treadle.core.disciplines.capacity.checked import Checked
from treadle.core.disciplines.capacity.live_tree import LiveCapacityTree
from treadle.core.rules.capacity.auto.removal import Removal

if TYPE_CHECKING:
    from treadle.core.kernel.state import State
    from treadle.core.model.mapping import MappingRule
    from treadle.core.rules.placement.mapping import Mapper, Queues


@dataclass(slots=True)
class Automatic:
    """The mapping rules in force, and when what concerns automatic queues was last done.

    All of it can be lost: queues are made again for what is bound in them.
    """

    mapper: Mapper | None = None
    names: Queues | None = None
    source: tuple[tuple[MappingRule, ...], bool] = ((), False)
    """What ``mapper`` was made from."""
    grown: bool = False
    """Whether queues came or went since limits were last applied."""
    checked: Checked = field(default_factory=Checked)
    """The definitions that were last found to make sense together."""
    removal: Removal = field(default_factory=Removal)
    removed_at: float | None = None
    managed_at: float | None = None


@dataclass(slots=True)
class CapacityState:
    """What belongs to the capacity discipline while it is in force."""

    capacities: LiveCapacityTree | None = None
    """None until a settling has ended."""
    automatic: Automatic = field(default_factory=Automatic)


class _Owner(Protocol):
    kept: CapacityState


def capacity_state(state: State) -> CapacityState:
    """Return what the capacity discipline, which is in force, keeps."""
    return cast("_Owner", state.discipline).kept


def capacities_of(state: State) -> LiveCapacityTree:
    """Return the capacities of the tree in force. ``AssertionError`` before a settling has ended."""
    capacities = capacity_state(state).capacities
    assert capacities is not None
    return capacities


def make_capacities(state: State) -> None:
    """Make the capacities of the tree in force anew, instead of those that there are."""
    mine = capacity_state(state)
    before = mine.capacities
    mine.capacities = LiveCapacityTree(state, before)
    mine.capacities.follow(state)
    if before is not None:
        before.close()
