"""The definitions of queues below those that take reservations, beside what users wrote: plans decide which there are, and nobody else defines any."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from treadle.core.model import QueueSpec

LEAF_ORDERS = frozenset({"fifo", "fair", "fifo-with-partitions", "fifo-for-pending-apps"})
"""Orders of applications under the capacity discipline: such a queue has queues, and hands that on to them."""


class Planned:
    """``specs`` are the queues that plans want, by path, and ``taking`` the paths of definitions that take reservations."""

    def __init__(self) -> None:
        self.specs: dict[str, QueueSpec] = {}
        self.taking: dict[str, None] = {}
        self._held: dict[str, tuple[QueueSpec, QueueSpec]] = {}
        """Definitions that take reservations, as they were written and as they count."""

    def note(self, spec: QueueSpec) -> None:
        """Take note of whether a definition takes reservations."""
        if spec.plan is not None:
            self.taking[spec.path] = None
        else:
            self.taking.pop(spec.path, None)

    def want(self, specs: Iterable[QueueSpec]) -> bool:
        """Take over which queues plans want, instead of those before; returns whether any of them is different."""
        before, self.specs = self.specs, {spec.path: spec for spec in specs}
        for path, spec in self.specs.items():
            if before.get(path) == spec:
                self.specs[path] = before[path]
        return self.specs != before

    def shadowed(self, wanted: Iterable[str]) -> list[str]:
        """Return the paths that users defined below a queue that takes reservations."""
        if not self.taking:
            return []
        below = tuple(f"{path}." for path in self.taking)
        return [path for path in wanted if path.startswith(below)]

    def merged(self, wanted: Mapping[str, QueueSpec]) -> Mapping[str, QueueSpec]:
        """Return definitions with those that plans want, where the queue above takes reservations, and holds queues."""
        if not self.taking:
            return wanted
        found = dict(wanted)
        held: dict[str, tuple[QueueSpec, QueueSpec]] = {}
        for path in self.taking:
            spec = found.get(path)
            if spec is None or spec.plan is None:
                continue
            known = self._held.get(path)
            held[path] = known if known is not None and known[0] is spec else (spec, _as_parent(spec))
            found[path] = held[path][1]
        self._held = held
        found.update((path, spec) for path, spec in self.specs.items() if spec.parent in held)
        return found


def _as_parent(spec: QueueSpec) -> QueueSpec:
    capacity = spec.capacity
    if capacity is not None and capacity.order in LEAF_ORDERS:
        capacity = replace(capacity, order=None)
    return replace(spec, holds_queues=True, capacity=capacity)
