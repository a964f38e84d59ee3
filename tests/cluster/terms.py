"""Who led when, and what was bound in whose term: the order of both is that of the store's revisions, which pods and leases share.

The rule of the product (``kube/lease``): a leader writes into the lease what it is about to bind before it sends that. Who comes
after it may find some of that still arriving, until it has seen to each of those pods, and it announces nothing before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from cluster.client import Json
from cluster.control_plane import ControlPlane
from cluster.history import History

LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
ANNOUNCED = "treadle.dev/binding"


@dataclass(frozen=True, slots=True)
class Told:
    """The lease at a revision of the store: who held it, and which pods it had announced, each as ``namespace/name/uid``."""

    revision: int
    holder: str
    announced: frozenset[str]


@dataclass(frozen=True, slots=True)
class Bound:
    """A bind that took effect: the revision at which it did, and the pod as ``namespace/name/uid``."""

    revision: int
    pod: str


class Terms(History):
    """A history that also notes each state of the lease and each bind in the order in which the store took them."""

    def __init__(self, plane: ControlPlane) -> None:
        super().__init__(plane)
        self.told: list[Told] = []
        self.bound_pods: list[Bound] = []
        self._take[LEASES] = self._lease

    def _lease(self, _: str, lease: Json) -> None:
        meta, spec = lease["metadata"], lease.get("spec") or {}
        words = ((meta.get("annotations") or {}).get(ANNOUNCED) or "").split()
        self.told.append(Told(int(meta["resourceVersion"]), spec.get("holderIdentity") or "", frozenset(words)))

    def _placed(self, pod: Json) -> None:
        super()._placed(pod)
        meta = pod["metadata"]
        self.bound_pods.append(Bound(int(meta["resourceVersion"]), f"{meta['namespace']}/{meta['name']}/{meta['uid']}"))

    @property
    def takeovers(self) -> int:
        """How often the lease went from one holder to another."""
        return sum(one.holder != other.holder for one, other in zip(self.told, self.told[1:], strict=False))


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was wrong, and how many binds of a former leader arrived while its successor was still seeing to them."""

    wrong: list[str]
    late: int


def judge(told: Sequence[Told], binds: Iterable[Bound], senders: Mapping[str, Sequence[str]]) -> Verdict:
    """Hold each bind against the lease as it was then; ``senders`` says by ``namespace/name`` whose requests were answered with 201."""
    wrong: list[str] = []
    late, position, decided = 0, -1, False
    counted: Counter[str] = Counter()
    for bind in sorted(binds, key=lambda one: one.revision):
        while position + 1 < len(told) and told[position + 1].revision < bind.revision:
            position += 1
            before, now = told[position - 1] if position else None, told[position]
            if before is None or before.holder != now.holder:
                decided = False
            elif before.announced != now.announced:
                decided = True
        counted[bind.pod] += 1
        sent_by = senders.get(bind.pod.rpartition("/")[0], ())
        if len(sent_by) != 1 or counted[bind.pod] > 1:
            wrong.append(f"not once: {bind.pod} was bound {counted[bind.pod]} times, by requests of {list(sent_by)}")
            continue
        if position < 0 or bind.pod not in told[position].announced:
            wrong.append(f"not announced: {bind.pod} by {sent_by[0]} at {bind.revision}")
        if position >= 0 and told[position].holder != sent_by[0]:
            late += 1
            if decided:
                wrong.append(f"too late: {bind.pod} by {sent_by[0]} at {bind.revision}, when {told[position].holder} had decided")
    return Verdict(wrong, late)
