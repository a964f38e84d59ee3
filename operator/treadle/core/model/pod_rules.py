"""The hard rules of a pod about other pods: inter-pod affinity and anti-affinity, and topology spread.

Which pods are meant is said by labels and namespaces, where they are by a label of their nodes: nodes with the same value of a
topology key are one domain.
"""

from dataclasses import dataclass

from treadle.core.model.placement_constraints import PlacementConstraint
from treadle.core.model.selectors import LabelSelector


@dataclass(frozen=True, slots=True)
class PodTerm:
    """A term of affinity or anti-affinity: pods that ``selector`` selects, in the named namespaces or those that ``namespace_selector`` selects, by the domains of ``topology``."""

    topology: str
    selector: LabelSelector
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector = None


WeightedTerm = tuple[int, PodTerm]
"""How much a pod likes to be with pods that a term is about; below zero: to be apart from them."""


@dataclass(frozen=True, slots=True)
class SpreadTerm:
    """A constraint of topology spread, about pods in the pod's own namespace.

    ``self_match``: whether the pod is itself one of those that are spread. ``honor_affinity`` and ``honor_taints``: whether nodes
    that the pod may not go to for its node affinity, or for their taints, are left out of the count.
    """

    topology: str
    max_skew: int
    selector: LabelSelector
    min_domains: int = 1
    honor_affinity: bool = True
    honor_taints: bool = False
    self_match: bool = False


@dataclass(frozen=True, slots=True)
class PodRules:
    """What a pod demands of the pods around it.

    ``labels`` are those of the pod itself that its terms of affinity may look at, with its ``namespace``: the first pod of a
    series may go anywhere. ``placement`` are placement constraints, as they are for its ``application`` (``namespace/name``).
    """

    namespace: str
    affinity: tuple[PodTerm, ...] = ()
    anti_affinity: tuple[PodTerm, ...] = ()
    spread: tuple[SpreadTerm, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    placement: tuple[PlacementConstraint, ...] = ()
    application: str = ""
    preferred: tuple[WeightedTerm, ...] = ()
    """Preferred affinity, and preferred anti-affinity with weights below zero."""
    preferred_spread: tuple[SpreadTerm, ...] = ()
    """Topology spread with ScheduleAnyway."""

    @property
    def hard(self) -> bool:
        """Whether anything is demanded, and not only preferred."""
        return bool(self.affinity or self.anti_affinity or self.spread or self.placement)

    @property
    def likes(self) -> tuple[WeightedTerm, ...]:
        """What draws pods to where this one is, or keeps them off: its preferences, and with weight 0 what it requires to be near."""
        return self.preferred + tuple((0, term) for term in self.affinity)
