"""The rules between pods as they are in force for one shape: which nodes they let a pod to, and when that has grown more."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Protocol

import numpy as np

from treadle.core.kernel.between.tags import with_gang
from treadle.core.kernel.nodes.rules.affinity import refuses as refused_by_affinity
from treadle.core.kernel.nodes.rules.dynamic_resources import DynamicResources
from treadle.core.kernel.nodes.rules.placement_constraints import Builder
from treadle.core.kernel.nodes.rules.pod_affinity import in_gang, pod_affinity
from treadle.core.kernel.nodes.rules.taints import refuses as refused_by_taints
from treadle.core.kernel.nodes.rules.topology_spread import topology_spread
from treadle.core.kernel.nodes.rules.volume_binding import VolumeBinding
from treadle.core.kernel.nodes.rules.volume_limits import VolumeLimits
from treadle.core.kernel.nodes.rules.volume_restrictions import VolumeRestrictions
from treadle.core.kernel.nodes.rules.volume_zone import VolumeZone
from treadle.core.kernel.volumes.rule import ALSO
from treadle.core.model import Constraints

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from numpy.typing import NDArray

    from treadle.core.kernel.between.kinds import Kinds
    from treadle.core.kernel.between.tallies import Tally
    from treadle.core.kernel.between.topologies import Topology
    from treadle.core.kernel.devices.registry import Devices
    from treadle.core.kernel.nodes.table import Nodes
    from treadle.core.kernel.volumes.in_use import InUse
    from treadle.core.kernel.volumes.rule import VolumeRule
    from treadle.core.kernel.volumes.storage import Storage
    from treadle.core.model import NodeSpec, SpreadTerm
    from treadle.core.model.volumes import VolumeNeeds


MOST_NEWS = 1024
"""Domains that may pass by now which are remembered."""


class Check(Protocol):
    """What a node must pass, by its domain in one topology."""

    @property
    def topology(self) -> Topology:
        """The topology that it goes by."""

    @property
    def tallies(self) -> Sequence[Tally]:
        """The pods that are counted."""

    def follow(self) -> None:
        """Be up to date; to be called before anything is asked."""

    def admits(self, row: int, /) -> bool:
        """Whether a node passes: all nodes of a domain do, or none does."""

    def refusal(self, row: int, /) -> str:
        """Return why a node does not pass, or an empty text."""

    def refusals(self, count: int, /) -> list[tuple[str, NDArray[np.bool_]]]:
        """Return for so many rows which do not pass why; the first reason of a row counts."""

    def close(self) -> None:
        """Follow the counts no longer."""


class Between:
    """The rules for pods with the same constraints: ``checks``, in kube-scheduler's order; ``places`` are those about volumes and devices.

    ``news`` counts how often a node may pass that did not before. ``problem`` is why no node will do for now, whatever the rules say.
    """

    __slots__ = ("_bound", "_helped_in", "_needs", "_nodes", "_static", "checks", "news", "places", "problem")

    def __init__(
        self, constraints: Constraints, kinds: Kinds, nodes: Nodes, storage: Storage, in_use: InUse, devices: Devices
    ) -> None:
        self.news = 0
        self._helped_in: list[tuple[Topology, int]] = []
        self._nodes = nodes
        self._static = Constraints(constraints.selector, constraints.affinity, constraints.tolerations)
        rules = constraints.pods
        self._needs = needs = constraints.storage
        self.problem = needs.problem if needs is not None else ""
        claims = constraints.devices
        self._bound = claims.bound if claims is not None else ()
        if claims is not None:
            self.problem = self.problem or claims.problem
        self.places: list[VolumeRule | DynamicResources] = []
        if needs is not None and not needs.problem:
            self.places = [kind(needs, storage, in_use, nodes, self._helped) for kind in _about_volumes(needs)]
        self.checks: list[Check] = [*self.places]
        if rules is not None and rules.spread:
            self.checks += topology_spread(rules, kinds, self._topology, self._counted, self._edits, self._helped)
        self.checks += pod_affinity(rules, constraints.avoided_by, kinds, self._topology, self._helped)
        if constraints.together is not None and constraints.gang is not None:
            self.checks += in_gang(with_gang(*constraints.gang, constraints.together[0]), kinds, self._topology, self._helped)
        if rules is not None and rules.placement:
            self.checks += self._builder(rules.application, kinds).checks(rules.placement)
        if constraints.placement is not None:
            application, placement = constraints.placement
            self.checks += self._builder(application, kinds).checks(placement)
        if claims is not None and (claims.bound or claims.wanted or claims.asks):
            rule = DynamicResources(claims, devices, nodes, self._helped)
            self.places.append(rule)
            self.checks.append(rule)

    @property
    def topologies(self) -> dict[Topology, None]:
        """The topologies that the rules go by."""
        return {check.topology: None for check in self.checks}

    @property
    def tallies(self) -> list[Tally]:
        """The counts that the rules look at."""
        return [tally for check in self.checks for tally in check.tallies]

    @property
    def place(self) -> Hashable:
        """What ``where`` goes by, None where it says nothing."""
        needs = self._needs
        return (self._bound, *((needs.bound, needs.selected, needs.zones) if needs is not None else ()))

    def where(self) -> NDArray[np.bool_] | None:
        """Return the nodes beyond which none lets a pod in, None where that is not known without asking each."""
        found: NDArray[np.bool_] | None = None
        for rule in self.places:
            mask = rule.where()
            if mask is not None:
                found = mask if found is None else found & mask
        return found

    def close(self) -> None:
        """Follow the counts no longer."""
        for check in self.checks:
            check.close()

    @property
    def version(self) -> tuple[int, int]:
        """What changes whenever a node may pass that did not before."""
        return self.news, self._nodes.edited.end

    def follow(self) -> None:
        """Be up to date with the nodes; to be called before checks are asked one by one."""
        for check in self.checks:
            check.follow()

    def refusal(self, row: int) -> str:
        """Return why a node refuses a pod for the pods around it, or an empty text."""
        self.follow()
        return next((reason for check in self.checks if (reason := check.refusal(row))), "")

    def remembers(self, news: int) -> bool:
        """Whether it can be told which nodes may pass that did not so long ago."""
        return self.news - news <= len(self._helped_in)

    def since(self, news: int) -> list[tuple[Topology, int]]:
        """Return the domains in which nodes may pass that did not when there had been so much news; ``NOWHERE``: it may be any."""
        return self._helped_in[len(self._helped_in) - (self.news - news) :] if news < self.news else []

    def mask(self) -> NDArray[np.bool_]:
        """Return which nodes let a pod in."""
        self.follow()
        count = len(self._nodes)
        refused = np.zeros(count, dtype=np.bool_)
        for check in self.checks:
            for _, out in check.refusals(count):
                refused |= out
        return ~refused

    def refusals(self, among: NDArray[np.bool_]) -> Counter[str]:
        """Return how many of some nodes refuse a pod, by reason."""
        self.follow()
        left, found = among.copy(), Counter[str]()
        for check in self.checks:
            for reason, out in check.refusals(len(among)):
                count = int((left & out).sum())
                for each in reason.split(ALSO) if count else ():
                    found[each] += count
                left &= ~out
        return +found

    def _helped(self, topology: Topology, domain: int) -> None:
        self.news += 1
        self._helped_in.append((topology, domain))
        if len(self._helped_in) > 2 * MOST_NEWS:
            del self._helped_in[:MOST_NEWS]

    def _edits(self) -> int:
        return self._nodes.edited.end

    def _builder(self, application: str, kinds: Kinds) -> Builder:
        return Builder(application, kinds, self._topology, self._spec_of, self._helped)

    def _spec_of(self, row: int) -> NodeSpec | None:
        return self._nodes.specs[row]

    def _topology(self, key: str) -> Topology:
        return self._nodes.topologies.of(key, self._nodes.specs)

    def _counted(self, term: SpreadTerm) -> NDArray[np.bool_]:
        """Return the nodes that the policies of a constraint let in."""
        mask = self._nodes.known_rows()
        if term.honor_affinity:
            mask = mask & self._nodes.passing(("affinity", self._static.selector, self._static.affinity), self._affinity_admits)
        if term.honor_taints:
            mask = mask & self._nodes.passing(("taints", self._static.tolerations), self._taints_admit)
        return mask

    def _affinity_admits(self, node: NodeSpec) -> bool:
        return not refused_by_affinity(node, self._static)

    def _taints_admit(self, node: NodeSpec) -> bool:
        return not refused_by_taints(node, self._static)


def _about_volumes(needs: VolumeNeeds) -> Iterator[type[VolumeRule]]:
    """Return the rules that have anything to say about a pod's volumes, in kube-scheduler's order."""
    if needs.disks or needs.exclusive:
        yield VolumeRestrictions
    if needs.attached:
        yield VolumeLimits
    if needs.bound or needs.missing or needs.find or needs.make:
        yield VolumeBinding
    if needs.zones:
        yield VolumeZone
