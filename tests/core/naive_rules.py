"""The rules between pods read plainly from kube-scheduler's documentation: for one pod and one node, over all pods, each time anew."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from treadle.core.kernel.nodes.rules import affinity, taints
from treadle.core.kernel.nodes.rules.placement_constraints import REASON
from treadle.core.kernel.nodes.rules.pod_affinity import AFFINITY, ANTI_AFFINITY, AVOIDED
from treadle.core.kernel.nodes.rules.topology_spread import NO_LABEL, UNEVEN
from treadle.core.model import RACK_LABEL, LabelSelector, NodeSpec, PodSpec, PodTerm, SpreadTerm
from treadle.core.model.placement_constraints import And, AttributeTarget, DelayedOr, Or, PlacementConstraint, TagTarget


@dataclass
class Cluster:
    """What there is: nodes by name, the labels of namespaces, and the pods that are on nodes with the node of each."""

    nodes: dict[str, NodeSpec] = field(default_factory=dict)
    namespaces: dict[str, dict[str, str]] = field(default_factory=dict)
    placed: dict[str, tuple[PodSpec, str]] = field(default_factory=dict)

    def means(self, term: PodTerm, pod: PodSpec) -> bool:
        """Whether a term is about a pod."""
        chosen = term.namespace_selector
        within = pod.namespace in term.namespaces or selected(chosen, self.namespaces.get(pod.namespace, {}))
        return within and selected(term.selector, dict(pod.labels))

    def on_known_nodes(self) -> list[tuple[PodSpec, NodeSpec]]:
        return [(pod, self.nodes[node]) for pod, node in self.placed.values() if node in self.nodes]

    def refusal(self, pod: PodSpec, node: NodeSpec) -> str:
        """Why a node refuses a pod for the pods around it, empty if it does not."""
        return self._spread(pod, node) or self._affinity(pod, node) or self._placement(pod, node)

    def _placement(self, pod: PodSpec, node: NodeSpec) -> str:
        rules = pod.constraints.pods
        wanted = rules.placement if rules is not None else ()
        return "" if all(self._satisfied(one, pod, node) for one in wanted) else REASON

    def _satisfied(self, constraint: PlacementConstraint, pod: PodSpec, node: NodeSpec) -> bool:
        if isinstance(constraint, And):
            return all(self._satisfied(child, pod, node) for child in constraint.children)
        if isinstance(constraint, Or | DelayedOr):  # which of those that are delayed are in force is not looked at
            return any(self._satisfied(child, pod, node) for child in constraint.children)
        for target in constraint.targets:
            if isinstance(target, AttributeTarget):
                if (node.labels.get(target.key) == target.values[0]) != (constraint.operator == "EQ"):
                    return False
            elif isinstance(target, TagTarget):
                for tag in target.tags:
                    count = sum(
                        tag in other.tags
                        and in_namespace(target, other, pod)
                        and (at.name == node.name if constraint.scope == "node" else rack(at) == rack(node))
                        for other, at in self.on_known_nodes()
                    )
                    if (constraint.least > 0 and count < constraint.least) or count > constraint.most:
                        return False
        return True

    def _affinity(self, pod: PodSpec, node: NodeSpec) -> str:
        rules, others = pod.constraints.pods, self.on_known_nodes()
        affinity_terms = rules.affinity if rules is not None else ()
        if affinity_terms:
            pairs = Counter(
                (term.topology, at.labels[term.topology])
                for other, at in others
                if all(self.means(term, other) for term in affinity_terms)
                for term in affinity_terms
                if term.topology in at.labels
            )
            if any(term.topology not in node.labels for term in affinity_terms):
                return AFFINITY
            if not all(pairs[term.topology, node.labels[term.topology]] for term in affinity_terms):
                first = not pairs and all(self.means(term, pod) for term in affinity_terms)
                if not first:
                    return AFFINITY
        for term in rules.anti_affinity if rules is not None else ():
            if any(self.means(term, other) and together(term.topology, node, at) for other, at in others):
                return ANTI_AFFINITY
        for other, at in others:
            theirs = other.constraints.pods
            for term in theirs.anti_affinity if theirs is not None else ():
                if self.means(term, pod) and together(term.topology, node, at):
                    return AVOIDED
        return ""

    def _spread(self, pod: PodSpec, node: NodeSpec) -> str:
        rules = pod.constraints.pods
        constraints = rules.spread if rules is not None else ()
        for one in constraints:
            counts: Counter[str] = Counter()
            domains = set()
            for name, at in self.nodes.items():
                if all(other.topology in at.labels for other in constraints) and self._counts(one, pod, at):
                    domain = at.labels[one.topology]
                    domains.add(domain)
                    counts[domain] += sum(
                        other.namespace == pod.namespace
                        and not other.deleting
                        and bool(one.selector)
                        and selected(one.selector, dict(other.labels))
                        for other, where in self.placed.values()
                        if where == name
                    )
            if one.topology not in node.labels:
                return NO_LABEL
            fewest = min((counts[domain] for domain in domains), default=0) if len(domains) >= one.min_domains else 0
            here = counts[node.labels[one.topology]] if node.labels[one.topology] in domains else 0
            if here + selected(one.selector, dict(pod.labels)) - fewest > one.max_skew:
                return UNEVEN
        return ""

    @staticmethod
    def _counts(one: SpreadTerm, pod: PodSpec, node: NodeSpec) -> bool:
        if one.honor_affinity and affinity.refuses(node, pod.constraints):
            return False
        return not (one.honor_taints and taints.refuses(node, pod.constraints))


def rack(node: NodeSpec) -> str:
    return node.labels.get(RACK_LABEL, "/default-rack")


def in_namespace(target: TagTarget, other: PodSpec, pod: PodSpec) -> bool:
    """Whether a pod is one of those that a target's namespace means, as it is for another pod."""
    return {
        "self": other.application == pod.application,
        "not-self": other.application != pod.application,
        "all": True,
        "app-id": other.application == target.value,
        "app-tag": target.value in other.application_tags,
    }[target.namespace]


def together(topology: str, one: NodeSpec, other: NodeSpec) -> bool:
    return topology in one.labels and one.labels[topology] == other.labels.get(topology)


def selected(selector: LabelSelector, labels: Mapping[str, str]) -> bool:
    if selector is None:
        return False
    for one in selector:
        value = labels.get(one.key)
        holds = {
            "In": value is not None and value in one.values,
            "NotIn": value is None or value not in one.values,
            "Exists": value is not None,
            "DoesNotExist": value is None,
        }[one.operator]
        if not holds:
            return False
    return True
