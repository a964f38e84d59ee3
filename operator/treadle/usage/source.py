"""What all sources of usage have in common: what they are asked, and what they find."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from treadle.core.views.opportunistic import Wanted

Amounts = tuple[tuple[str, int], ...]
"""Amounts by the names of resource types: cpu in milli-units, memory in bytes."""


@dataclass(frozen=True, slots=True)
class NodeUse:
    """What a node used in the ``window`` of seconds before ``at`` (seconds since 1970).

    ``pressure`` is how long of the last ten seconds tasks of its pods waited for a resource, in thousandths, some of them and all of them.
    """

    node: str
    usage: Amounts
    at: float
    window: float
    pressure: tuple[tuple[str, int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class PodUse:
    """What a pod used, by its uid, in the ``window`` of seconds before ``at`` (seconds since 1970)."""

    uid: str
    usage: Amounts
    at: float
    window: float


@dataclass(frozen=True, slots=True)
class Look:
    """What was found. ``trouble`` says why nothing could be, ``partly`` what is missing where something was; both are empty where all is well."""

    nodes: Sequence[NodeUse] = ()
    pods: Sequence[PodUse] = ()
    trouble: str = ""
    partly: str = ""


class Source(Protocol):
    """Somebody who knows what nodes use."""

    async def look(self, wanted: Wanted) -> Look:
        """Ask once. What cannot be had is said in the answer, and raises nothing."""
        ...

    async def close(self) -> None:
        """Give up connections."""
        ...
