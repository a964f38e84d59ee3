"""What pods prefer, read plainly from kube-scheduler's documentation: points for each of the nodes that can take a pod, over all pods, each time anew."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import floor, log

from core.naive_rules import Cluster
from treadle.core.kernel.nodes.rules import affinity, taints
from treadle.core.model import Constraints, NodeSpec, PodSpec, PodTerm, SpreadTerm
from treadle.core.model.nodes import NodeImage
from treadle.core.model.scheduler import Weights

HOST = "kubernetes.io/hostname"


@dataclass
class Liking(Cluster):
    """A cluster in which pods prefer things. The pods are those that are on nodes."""

    weights: Weights = field(default_factory=Weights)
    deleting: set[str] = field(default_factory=set)

    def points(self, pod: PodSpec, names: list[str]) -> dict[str, dict[str, int]]:
        """Return the weighted points of the nodes, by plugin."""
        nodes = [self.nodes[name] for name in names]
        weights = self.weights
        each = {
            "TaintToleration": (weights.taints, self._taints(pod, nodes)),
            "NodeAffinity": (weights.node_affinity, self._node_affinity(pod, nodes)),
            "PodTopologySpread": (weights.spread, self._spread_points(pod, nodes)),
            "InterPodAffinity": (weights.pod_affinity, self._near(pod, nodes)),
            "ImageLocality": (weights.images, self._images(pod, nodes)),
        }
        return {name: {plugin: weight * points[at] for plugin, (weight, points) in each.items()} for at, name in enumerate(names)}

    def _taints(self, pod: PodSpec, nodes: list[NodeSpec]) -> list[int]:
        bad = [
            sum(
                taint.effect == "PreferNoSchedule"
                and not any(taints.tolerates(one, taint) for one in pod.constraints.tolerations)
                for taint in node.taints
            )
            for node in nodes
        ]
        most = max(bad)
        return [100 - 100 * one // most if most else 100 for one in bad]

    def _node_affinity(self, pod: PodSpec, nodes: list[NodeSpec]) -> list[int]:
        wish = pod.constraints.wish
        good = [
            sum(weight for weight, term in wish.terms if all(affinity.holds(one, node) for one in term)) if wish else 0
            for node in nodes
        ]
        most = max(good)
        return [100 * one // most if most else 0 for one in good]

    def _near(self, pod: PodSpec, nodes: list[NodeSpec]) -> list[int]:
        rules = pod.constraints.pods
        own = rules.preferred if rules is not None else ()
        there = [0] * len(nodes)
        for other, at in self.on_known_nodes():
            others = other.constraints.pods
            terms: list[tuple[int, PodTerm]] = [one for one in own if self.means(one[1], other)]
            if others is not None:
                hard = [(self.weights.required_affinity, term) for term in set(others.affinity)]
                terms += [one for one in (*others.preferred, *hard) if self.means(one[1], pod)]
            for weight, term in terms:
                domain = at.labels.get(term.topology)
                for number, node in enumerate(nodes):
                    if domain is not None and node.labels.get(term.topology) == domain:
                        there[number] += weight
        least, most = min(there), max(there)
        return [int(100 * ((one - least) / (most - least))) if most > least else 0 for one in there]

    def _spread_points(self, pod: PodSpec, nodes: list[NodeSpec]) -> list[int]:
        rules = pod.constraints.pods
        terms = rules.preferred_spread if rules is not None else ()
        if not terms:
            return [0] * len(nodes)
        scored = [all(term.topology in node.labels for term in terms) for node in nodes]
        among = [node for node, counts in zip(nodes, scored, strict=True) if counts]
        crowd = []
        for node, counts in zip(nodes, scored, strict=True):
            total = 0.0
            for term in terms if counts else ():
                size = len(among) if term.topology == HOST else len({one.labels[term.topology] for one in among})
                total += self._count(pod, node, term, terms) * log(size + 2) + (term.max_skew - 1)
            crowd.append(floor(total + 0.5))
        valid = [one for one, counts in zip(crowd, scored, strict=True) if counts]
        least, most = min(valid, default=0), max(valid, default=0)
        return [
            (100 * (most + least - one) // most if most else 100) if counts else 0
            for one, counts in zip(crowd, scored, strict=True)
        ]

    def _count(self, pod: PodSpec, node: NodeSpec, term: SpreadTerm, terms: tuple[SpreadTerm, ...]) -> int:
        """How many of the pods that are spread are in a node's domain."""
        count = 0
        about = PodTerm("", term.selector or None, (pod.namespace,))
        for other, at in self.on_known_nodes():
            if other.deleting or not self.means(about, other):
                continue
            if term.topology == HOST:
                count += at.name == node.name
            elif (
                at.labels.get(term.topology) == node.labels[term.topology]
                and all(one.topology in at.labels for one in terms)
                and not (
                    term.honor_affinity and affinity.refuses(at, Constraints(pod.constraints.selector, pod.constraints.affinity))
                )
                and not (term.honor_taints and taints.refuses(at, pod.constraints))
            ):
                count += 1
        return count

    def _images(self, pod: PodSpec, nodes: list[NodeSpec]) -> list[int]:
        if not self.weights.images or not pod.images:
            return [0] * len(nodes)
        found = []
        for node in nodes:
            total = 0
            for image in pod.images:
                size = _size(node.images, image)
                having = sum(bool(_size(one.images, image)) for one in self.nodes.values())
                total += int(size * (having / len(self.nodes)))
            most = 1000 * 2**20 * len(pod.images)
            least = 23 * 2**20
            found.append(100 * (min(max(total, least), most) - least) // (most - least))
        return found


def _size(images: tuple[NodeImage, ...], image: str) -> int:
    size = 0
    for names, found in images:
        if image in names:
            size = found
    return size
