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
    told: dict[str, str] = field(default_factory=dict)
    """What was told last of those that have to wait."""
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

    def note(self, record: PodRecord) -> None:
        """Take note of what a pod on a node asks for."""
        spec = record.spec
        if spec.promotes_itself and spec.uid not in self.promoting:
            self.wishing[spec.uid] = record
        elif spec.promotes or spec.demotes:
            self.asking[spec.uid] = record
        elif spec.uid not in self.promoting:
            self.until.pop(spec.uid, None)
            self.told.pop(spec.uid, None)

    def leave(self, uid: str) -> None:
        """Take note that a pod counts nowhere at present."""
        self.asking.pop(uid, None)
        self.wishing.pop(uid, None)

    def forget(self, uid: str) -> None:
        """Forget a pod that is gone."""
        for kept in (self.asking, self.wishing, self.promoting, self.until, self.told):
            kept.pop(uid, None)


def promoted(spec: PodSpec) -> PodSpec:
    """Return an opportunistic pod as it will be."""
    rest = tuple(one for one in spec.demand if one[0] not in {"cpu", "memory"})
    wanted = tuple(one for one in spec.promotes if one[1])
    return replace(spec, demand=tuple(sorted((*rest, *wanted))), opportunistic=(), promotes=(), promotes_itself=False)
