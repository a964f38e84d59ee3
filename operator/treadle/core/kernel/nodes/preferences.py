"""What pods of one shape prefer, as points for each node: kube-scheduler's Score plugins, over columns.

Each preference gives a node 0 to 100 points among the nodes that can take the pod, as the plugin does that it is named after, and counts by its
weight (``Weights``). The best node has the most points; of equal ones it is the first. What nodes are worth depends on which nodes have room, so no order
outlasts a placement and each pod looks at all nodes: the counts of other pods are columns (``between.points``), and so are nodes' own merits.
"""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.core.kernel.between.points import Points, SpreadCounts
from treadle.core.kernel.between.tallies import About
from treadle.core.kernel.between.topologies import NOWHERE
from treadle.core.kernel.nodes.rules.affinity import holds
from treadle.core.kernel.nodes.rules.affinity import refuses as refused_by_affinity
from treadle.core.kernel.nodes.rules.pod_affinity import anywhere
from treadle.core.kernel.nodes.rules.taints import refuses as refused_by_taints
from treadle.core.kernel.nodes.rules.taints import tolerated
from treadle.core.model import PodTerm

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from treadle.core.kernel.between.kinds import Kinds
    from treadle.core.kernel.between.tallies import Tally
    from treadle.core.kernel.between.topologies import Topology
    from treadle.core.kernel.nodes.table import Nodes
    from treadle.core.model import Constraints, NodeSpec, SpreadTerm
    from treadle.core.model.scheduler import Weights

    Rows = NDArray[np.intp] | None
    """Some rows; None: all."""
    Worth = Callable[[NodeSpec], int]

MOST = 100
"""The points that the best node gets for a preference."""
FEW = 512
"""Domains of a topology up to which it is worked out by domain what they are worth."""
HOST = "kubernetes.io/hostname"
SMALLEST_IMAGE, LARGEST_IMAGE = 23 << 20, 1000 << 20
"""Bytes of images from which on they count, and up to which a container's does."""


class Preferences:
    """What pods with the same constraints prefer. Pods of different sizes share it."""

    __slots__ = (
        "_all_labelled",
        "_constraints",
        "_labelled",
        "_nodes",
        "_points",
        "_spread",
        "_static",
        "_static_of",
    )

    def __init__(self, constraints: Constraints, kinds: Kinds, nodes: Nodes) -> None:
        self._constraints = constraints
        self._nodes = nodes
        rules = constraints.pods
        weighted: dict[Topology, list[tuple[int, Tally]]] = {}
        for weight, term in rules.preferred if rules is not None else ():
            if term.selector is not None:
                tally = kinds.tally(About((anywhere(term),)))
                weighted.setdefault(self._topology(term.topology), []).append((weight, tally))
        for weight, term in constraints.liked_by:
            worth = weight or nodes.weights.required_affinity
            if worth:
                weighted.setdefault(self._topology(term.topology), []).append((worth, kinds.likers((weight, term))))
        self._points = [Points(topology, parts) for topology, parts in weighted.items()]
        self._spread: list[tuple[SpreadTerm, SpreadCounts]] = []
        for one in rules.preferred_spread if rules is not None else ():
            about = PodTerm("", one.selector or None, (rules.namespace if rules is not None else "",))
            tally = kinds.tally(About((about,), staying=True))
            self._spread.append((one, SpreadCounts(tally, self._topology(one.topology), by_node=one.topology == HOST)))
        self._labelled: NDArray[np.bool_] = np.zeros(0, dtype=np.bool_)
        self._all_labelled = False
        self._static: dict[str, NDArray[np.int64]] = {}
        self._static_of: tuple[int, int, int] = (-1, -1, -1)

    @property
    def tallies(self) -> list[Tally]:
        """The counts that are looked at."""
        return [part.tally for points in self._points for part in points.parts] + [counts.tally for _, counts in self._spread]

    def close(self) -> None:
        """Follow the counts no longer."""
        for points in self._points:
            points.close()
        for _, counts in self._spread:
            counts.close()

    def points(self, rows: Rows) -> NDArray[np.float64]:
        """Return what all nodes are worth, in points times weights; only what is said of the rows given means anything."""
        total: NDArray[np.float64] = np.zeros(len(self._nodes))
        for _, points in self.parts(rows):
            total += points
        return total

    def parts(self, rows: Rows) -> Iterator[tuple[str, NDArray[np.float64]]]:
        """Return the same by plugin, in whole points; those that say the same of all nodes are left out."""
        weights = self._nodes.weights
        own = self._own(weights)
        if (taints := own.get("taints")) is not None and (most := int(_of(taints, rows).max())):
            yield "TaintToleration", weights.taints * (MOST - np.floor(MOST * taints / most))
        if (liked := own.get("affinity")) is not None and (most := int(_of(liked, rows).max())):
            yield "NodeAffinity", weights.node_affinity * np.floor(MOST * liked / most)
        if (images := own.get("images")) is not None:
            yield "ImageLocality", weights.images * images.astype(np.float64)
        if self._spread and weights.spread:
            yield "PodTopologySpread", weights.spread * self._evenness(rows)
        if self._points and weights.pod_affinity and (near := self._nearness(rows)) is not None:
            yield "InterPodAffinity", weights.pod_affinity * near

    def _nearness(self, rows: Rows) -> NDArray[np.float64] | None:
        """Return the points for the pods in the domains of nodes, None where all have the same."""
        count = len(self._nodes)
        first = self._points[0]
        if len(self._points) == 1 and first.topology.size < FEW:  # a number for each domain
            column = first.topology.column(count)
            nodes_in = np.bincount(_of(column, rows) + 1, minlength=first.topology.size + 1)
            worth, there = first.values(), np.roll(nodes_in, -1) > 0  # nodes in no domain come last
            least, most = int(worth[there].min()), int(worth[there].max())
            return None if most == least else np.trunc(MOST * ((worth - least) / (most - least)))[column]
        near = first.column(count)
        for more in self._points[1:]:
            near = near + more.column(count)
        found = _of(near, rows)
        least, most = int(found.min()), int(found.max())
        return None if most == least else np.trunc(MOST * ((near - least) / (most - least)))

    def _evenness(self, rows: Rows) -> NDArray[np.float64]:
        """Return the points for topology spread with ScheduleAnyway; none for nodes that lack one of the labels."""
        count = len(self._nodes)
        self._follow(count)
        if not self._all_labelled:
            rows = self._labelled_rows(rows)
        size = count if rows is None else len(rows)
        if not size:
            return np.zeros(count)
        crowd: NDArray[Any] | None = None
        term, counts = self._spread[0]
        if len(self._spread) == 1 and not counts.by_node and counts.topology.size < FEW:  # a number for each domain
            there = np.bincount(_of(counts.topology.column(count), rows), minlength=counts.topology.size + 1) > 0
            points = _even(counts.values() * log(np.count_nonzero(there) + 2) + (term.max_skew - 1), there)
            points[-1] = 0.0
            return points[counts.topology.column(count)]
        for term, counts in self._spread:
            column = counts.topology.column(count)
            domains = size if counts.by_node else np.count_nonzero(np.bincount(_of(column, rows)))
            crowded = counts.values() * log(domains + 2) + (term.max_skew - 1)
            if not counts.by_node:
                crowded = crowded[column]
            crowd = crowded if crowd is None else crowd + crowded
        assert crowd is not None
        points = _even(crowd, rows)
        if not self._all_labelled:
            points[~self._labelled] = 0.0
        return points

    def _labelled_rows(self, rows: Rows) -> NDArray[np.intp]:
        return np.flatnonzero(self._labelled) if rows is None else rows[self._labelled.take(rows)]

    def _follow(self, count: int) -> None:
        """Count anew where nodes have changed."""
        nodes = self._nodes
        edits = nodes.edited.end
        if all(counts.current(edits, count) for _, counts in self._spread):
            return
        known = nodes.known_rows()
        self._labelled = np.logical_and.reduce([counts.topology.column(count) != NOWHERE for _, counts in self._spread])
        self._all_labelled = bool(self._labelled.all())
        for term, counts in self._spread:
            mask = known if counts.by_node else self._labelled & self._counted(term)
            counts.recount(mask.copy(), edits)

    def _counted(self, term: SpreadTerm) -> NDArray[np.bool_]:
        """Return the nodes that the policies of a constraint let in."""
        constraints, nodes = self._constraints, self._nodes
        mask = nodes.known_rows()
        if term.honor_affinity:
            mask = mask & nodes.passing(
                ("affinity", constraints.selector, constraints.affinity), lambda spec: not refused_by_affinity(spec, constraints)
            )
        if term.honor_taints:
            mask = mask & nodes.passing(
                ("taints", constraints.tolerations), lambda spec: not refused_by_taints(spec, constraints)
            )
        return mask

    def _own(self, weights: Weights) -> dict[str, NDArray[np.int64]]:
        """Return what nodes are worth by themselves, before it is set against others."""
        nodes, constraints = self._nodes, self._constraints
        at = (nodes.edited.end, nodes.images.version, len(nodes))
        if self._static_of == at:
            return self._static
        found: dict[str, NDArray[np.int64]] = {}
        if nodes.disliked and weights.taints:
            found["taints"] = self._each(lambda spec: disliked(spec, constraints))
        wish = constraints.wish
        if wish is not None and wish.terms and weights.node_affinity:
            terms = wish.terms
            found["affinity"] = self._each(
                lambda spec: sum(weight for weight, term in terms if all(holds(one, spec) for one in term))
            )
        if constraints.images and weights.images:
            found["images"] = self._images()
        self._static, self._static_of = found, (nodes.edited.end, nodes.images.version, len(nodes))
        return found

    def _each(self, worth: Worth) -> NDArray[np.int64]:
        return np.array([0 if spec is None else worth(spec) for spec in self._nodes.specs], dtype=np.int64)

    def _images(self) -> NDArray[np.int64]:
        """Return the points for images (``ImageLocality``): the more of their bytes are there, and on the more nodes, the better."""
        nodes, images = self._nodes, self._constraints.images
        total = np.zeros(len(nodes), dtype=np.int64)
        known = max(1, nodes.known())
        for image in images:
            sizes = nodes.images.sizes(image, nodes.specs)
            total += (sizes * (int(np.count_nonzero(sizes)) / known)).astype(np.int64)
        most = LARGEST_IMAGE * len(images)
        return MOST * (total.clip(SMALLEST_IMAGE, most) - SMALLEST_IMAGE) // (most - SMALLEST_IMAGE)

    def _topology(self, key: str) -> Topology:
        return self._nodes.topologies.of(key, self._nodes.specs)


def disliked(spec: NodeSpec, constraints: Constraints) -> int:
    """Return how many taints with PreferNoSchedule a node has that pods do not tolerate."""
    return sum(taint.effect == "PreferNoSchedule" and not tolerated(taint, constraints.tolerations) for taint in spec.taints)


def _of(values: NDArray[Any], rows: Rows) -> NDArray[Any]:
    return values if rows is None else values.take(rows)


def _even(crowd: NDArray[Any], among: NDArray[Any] | None) -> NDArray[np.float64]:
    """Return the points for how crowded places are, among some of them: the least crowded get the most.

    Quotients of whole numbers of this size are exact enough for their whole parts to be.
    """
    whole = np.floor(crowd + 0.5)
    there = whole if among is None else whole[among]
    least, most = float(there.min()), float(there.max())
    if not most:
        return np.full(len(crowd), float(MOST))
    points: NDArray[np.float64] = np.floor(MOST * (most + least - whole) / most)
    return points
