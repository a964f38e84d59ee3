"""Which pods on nodes ask to be of the other execution type, and whose requests are being changed for that.

A pod that is promoted counts as guaranteed from the decision on, though the API shows its requests only a while later: until then what the API says of it
is read as if it requested already what it will.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from treadle.core.kernel.tree.members import PodRecord
    from treadle.core.model import PodSpec


@dataclass(slots=True)
class Turning:
    """Pods by uid; times are those of the core's clock."""

    asking: dict[str, PodRecord] = field(default_factory=dict)
    """Those that ask, in the order in which they came to."""
    wishing: dict[str, PodRecord] = field(default_factory=dict)
    """Those that become guaranteed by themselves when there is room, in the order in which they are looked at."""
    promoting: dict[str, PodSpec] = field(default_factory=dict)
    """Those that count as guaranteed and do not request it yet, as the API told of them last."""
    until: dict[str, float] = field(default_factory=dict)
    """When it is looked again at those whose requests are being, or could not be, changed."""
    ways: dict[str, bool] = field(default_factory=dict)
    """Which way those are changed: whether they are to be guaranteed."""
    told: dict[str, str] = field(default_factory=dict)
    """What was told last of those that have to wait."""
    unheeded: dict[str, str] = field(default_factory=dict)
    """What is not acted on of what pods say of their execution type."""
    untold: dict[str, PodRecord] = field(default_factory=dict)
    """Those of which that is to be told."""
    looked: float = float("-inf")
    """When it was last looked who may be promoted."""
    wished: float = float("-inf")
    """When it was last looked whose wish can be fulfilled."""

    def as_decided(self, spec: PodSpec) -> PodSpec:
        """Return a pod as it counts: one that is being promoted requests what it asks for."""
        if spec.uid not in self.promoting:
            return spec
        if not spec.promotes or spec.finished:
            del self.promoting[spec.uid]  # the API shows it, or it does not ask any more
            return spec
        self.promoting[spec.uid] = spec
        return promoted(spec)

    def concerns(self, spec: PodSpec) -> bool:
        """Whether a pod on a node asks for anything, or may have done so before."""
        return bool(spec.promotes or spec.demotes or spec.unheeded or spec.stays or self.until or self.unheeded)

    def note(self, record: PodRecord, unheeded: str) -> None:
        """Take note of what a pod on a node asks for, and of what is not acted on of that."""
        spec = record.spec
        if self.unheeded.get(spec.uid, "") != unheeded:
            if unheeded:
                self.unheeded[spec.uid], self.untold[spec.uid] = unheeded, record
            else:
                del self.unheeded[spec.uid]
                self.untold.pop(spec.uid, None)
        uid, asks = spec.uid, bool(spec.promotes or spec.demotes)
        if asks and spec.promotes_itself and uid not in self.promoting:
            self.wishing[uid] = record
        elif asks:
            self.asking[uid] = record
        if uid in self.promoting:
            return
        if not asks or self.ways.get(uid) != bool(spec.promotes):
            self.go_on(uid)
        if not asks:
            self.told.pop(uid, None)

    def wait(self, uid: str, until: float, *, guaranteed: bool) -> None:
        """Look at a pod again at a time, unless it asks for something else before."""
        self.until[uid], self.ways[uid] = until, guaranteed

    def go_on(self, uid: str) -> None:
        """Look at a pod from now on: its requests are not being changed any more."""
        self.until.pop(uid, None)
        self.ways.pop(uid, None)

    def leave(self, uid: str) -> None:
        """Take note that a pod counts nowhere at present."""
        self.asking.pop(uid, None)
        self.wishing.pop(uid, None)

    def forget(self, uid: str) -> None:
        """Forget a pod that is gone."""
        for kept in (self.asking, self.wishing, self.promoting, self.until, self.ways, self.told, self.unheeded, self.untold):
            kept.pop(uid, None)


def promoted(spec: PodSpec) -> PodSpec:
    """Return an opportunistic pod as it will be."""
    rest = tuple(one for one in spec.demand if one[0] not in {"cpu", "memory"})
    wanted = tuple(one for one in spec.promotes if one[1])
    return replace(spec, demand=tuple(sorted((*rest, *wanted))), opportunistic=(), promotes=(), promotes_itself=False)
