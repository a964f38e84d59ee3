"""From a pod's affinity and its spread to what the core is told of them.

The API server has merged ``matchLabelKeys`` and ``mismatchLabelKeys`` of terms of affinity into their selectors; those of spread
it merges since 1.34 only, so they are merged here where it has not.
"""

from collections.abc import Iterable, Mapping

from treadle.api.labels import PLACEMENT_CONSTRAINTS
from treadle.core.model import LabelSelector, PodRules, PodTerm, Requirement, SpreadTerm, selects
from treadle.core.model.placement_constraints import PlacementConstraint
from treadle.core.model.pod_rules import WeightedTerm
from treadle.core.rules.constraints.parsing import ConstraintError, parse_expression
from treadle.kube import wire

DO_NOT_SCHEDULE, SCHEDULE_ANYWAY = "DoNotSchedule", "ScheduleAnyway"
MOST_KNOWN = 4096
_labels: dict[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]] = {}
"""Labels of pods: those of an application are alike."""


def known_labels(own: dict[str, str] | None) -> tuple[tuple[str, str], ...]:
    """Return a pod's labels in the order in which they came, one object for pods that are alike."""
    if not own:
        return ()
    found = tuple(own.items())
    known = _labels.get(found)
    if known is None:
        if len(_labels) >= MOST_KNOWN:
            _labels.clear()
        known = _labels[found] = found
    return known


def rules_of(spec: wire.PodSpec, namespace: str, own: Mapping[str, str], application: str, placement: str) -> PodRules | None:
    """Return what a pod demands of the pods around it, None for one that demands nothing.

    ``application`` is ``namespace/name`` and ``placement`` the text of its placement constraint. Raises ``ValueError`` for one that makes
    no sense.
    """
    affinity: tuple[PodTerm, ...] = ()
    anti: tuple[PodTerm, ...] = ()
    if spec.affinity is not None:
        affinity = _terms(spec.affinity.pod_affinity, namespace)
        anti = _terms(spec.affinity.pod_anti_affinity, namespace)
    spread = tuple(
        _spread(one, own) for one in spec.topology_spread_constraints or () if one.when_unsatisfiable == DO_NOT_SCHEDULE
    )
    preferred = _preferred(spec.affinity, namespace) if spec.affinity is not None else ()
    anyway = tuple(
        _spread(one, own) for one in spec.topology_spread_constraints or () if one.when_unsatisfiable == SCHEDULE_ANYWAY
    )
    wanted = (_placement(placement),) if placement else ()
    if not (affinity or anti or spread or wanted or preferred or anyway):
        return None
    looked_at = {requirement.key for term in affinity for requirement in term.selector or ()}
    known = tuple(sorted((key, value) for key, value in own.items() if key in looked_at))
    return PodRules(namespace, affinity, anti, spread, known, wanted, application if wanted else "", preferred, anyway)


def _preferred(seen: wire.Affinity, namespace: str) -> tuple[WeightedTerm, ...]:
    """Return what a pod prefers, each term once with the sum of its weights; anti-affinity below zero."""
    found: dict[PodTerm, int] = {}
    for rules, sign in ((seen.pod_affinity, 1), (seen.pod_anti_affinity, -1)):
        for one in rules.preferred or () if rules is not None else ():
            if one.pod_affinity_term is not None:
                term = _term(one.pod_affinity_term, namespace)
                found[term] = found.get(term, 0) + sign * one.weight
    return tuple((weight, term) for term, weight in found.items() if weight)


def _placement(text: str) -> PlacementConstraint:
    try:
        return parse_expression(text)
    except ConstraintError as error:
        raise ValueError(f"metadata.annotations[{PLACEMENT_CONSTRAINTS}]: {error}") from error


def _terms(seen: wire.PodAffinity | None, namespace: str) -> tuple[PodTerm, ...]:
    return tuple(_term(one, namespace) for one in seen.required or ()) if seen is not None else ()


def _term(seen: wire.PodAffinityTerm, namespace: str) -> PodTerm:
    """Translate a term; one without namespaces is about the pod's own."""
    named, chosen = tuple(sorted(set(seen.namespaces or ()))), _selector(seen.namespace_selector)
    return PodTerm(
        seen.topology_key,
        _selector(seen.label_selector),
        named if named or chosen is not None else (namespace,),
        chosen,
    )


def _spread(seen: wire.SpreadConstraint, own: Mapping[str, str]) -> SpreadTerm:
    selector = _selector(seen.label_selector)
    if selector is not None:
        merged = {requirement.key for requirement in selector if requirement.operator == "In"}
        selector += tuple(
            Requirement(key, "In", (own[key],))
            for key in sorted(set(seen.match_label_keys or ()))
            if key in own and key not in merged
        )
    return SpreadTerm(
        topology=seen.topology_key,
        max_skew=seen.max_skew,
        selector=selector,
        min_domains=seen.min_domains or 1,
        honor_affinity=(seen.node_affinity_policy or "Honor") == "Honor",
        honor_taints=(seen.node_taints_policy or "Ignore") == "Honor",
        self_match=selects(selector, own),
    )


def _selector(seen: wire.LabelSelector | None) -> LabelSelector:
    if seen is None:
        return None
    return (
        *(Requirement(key, "In", (value,)) for key, value in sorted((seen.match_labels or {}).items())),
        *_expressions(seen.match_expressions or ()),
    )


def _expressions(seen: Iterable[wire.Expression]) -> Iterable[Requirement]:
    return (Requirement(one.key, one.operator, tuple(one.values or ())) for one in seen)
