"""What pods demand of the pods around them, as the API has it and as the core is told of it."""

from __future__ import annotations

from typing import Any

from kube.manifests import Json, pod, wired
from treadle.core.model import PodRules, PodTerm, Requirement, SpreadTerm
from treadle.kube import translate
from treadle.kube.pod_rules import known_labels

RULE = "requiredDuringSchedulingIgnoredDuringExecution"
WEB = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "zone"}
IS_WEB = (Requirement("app", "In", ("web",)),)


def rules(manifest: Json) -> PodRules | None:
    return translate.pod(wired(manifest)).constraints.pods


def spread(labels: Json | None = None, **fields: Any) -> SpreadTerm:
    """The one constraint of a pod with such a spread."""
    one = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", **fields}
    found = rules(pod("a", metadata={"labels": labels or {}}, topologySpreadConstraints=[one]))
    assert found is not None
    return found.spread[0]


def test_a_pod_without_rules_about_others_has_none() -> None:
    assert rules(pod("a")) is None


def test_what_is_only_preferred_is_kept_apart_from_what_is_demanded() -> None:
    preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 7, "podAffinityTerm": WEB}]}
    anyway = {"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
    affinity = {"podAffinity": preferred, "podAntiAffinity": {**preferred, RULE: [WEB]}}
    found = rules(pod("a", affinity={"podAffinity": preferred}, topologySpreadConstraints=[anyway]))

    assert found == PodRules(
        "default",
        preferred=((7, PodTerm("zone", IS_WEB, ("default",))),),
        preferred_spread=(SpreadTerm("zone", 2, None),),
    )
    assert not found.hard
    demanding = rules(pod("a", affinity={"podAntiAffinity": affinity["podAntiAffinity"]}))
    assert demanding is not None
    assert demanding.hard
    assert demanding.preferred == ((-7, PodTerm("zone", IS_WEB, ("default",))),)


def test_a_term_that_is_said_twice_counts_once_with_both_weights() -> None:
    preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 7, "podAffinityTerm": WEB}] * 2}
    found = rules(pod("a", affinity={"podAffinity": preferred}))

    assert found is not None
    assert found.preferred == ((14, PodTerm("zone", IS_WEB, ("default",))),)
    assert rules(pod("a", affinity={"podAffinity": preferred, "podAntiAffinity": preferred})) is None


def test_a_term_without_namespaces_is_about_the_pods_own() -> None:
    found = rules(pod("a", metadata={"namespace": "team"}, affinity={"podAntiAffinity": {RULE: [WEB]}}))

    assert found == PodRules("team", anti_affinity=(PodTerm("zone", IS_WEB, ("team",)),))


def test_namespaces_that_are_named_and_those_that_are_chosen_are_added_up() -> None:
    far = {**WEB, "namespaces": ["b", "a"], "namespaceSelector": {"matchLabels": {"team": "x"}}}
    found = rules(pod("a", affinity={"podAntiAffinity": {RULE: [far]}}))

    assert found is not None
    assert found.anti_affinity == (PodTerm("zone", IS_WEB, ("a", "b"), (Requirement("team", "In", ("x",)),)),)


def test_an_empty_choice_of_namespaces_is_all_of_them_and_no_choice_none() -> None:
    found = rules(
        pod("a", affinity={"podAntiAffinity": {RULE: [{**WEB, "namespaceSelector": {}}, {**WEB, "namespaces": ["b"]}]}})
    )

    assert found is not None
    assert [term.namespace_selector for term in found.anti_affinity] == [(), None]


def test_a_term_without_a_selector_selects_nothing_and_one_with_an_empty_one_everything() -> None:
    nothing, everything = {"topologyKey": "zone"}, {"topologyKey": "zone", "labelSelector": {}}
    found = rules(pod("a", affinity={"podAffinity": {RULE: [nothing, everything]}}))

    assert found is not None
    assert [term.selector for term in found.affinity] == [None, ()]


def test_labels_and_expressions_of_a_selector_must_all_hold() -> None:
    selector = {
        "matchLabels": {"b": "2", "a": "1"},
        "matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["x"]}, {"key": "gpu", "operator": "Exists"}],
    }
    found = rules(pod("a", affinity={"podAffinity": {RULE: [{"topologyKey": "zone", "labelSelector": selector}]}}))

    assert found is not None
    assert found.affinity[0].selector == (
        Requirement("a", "In", ("1",)),
        Requirement("b", "In", ("2",)),
        Requirement("tier", "NotIn", ("x",)),
        Requirement("gpu", "Exists"),
    )


def test_only_the_labels_that_its_own_affinity_looks_at_tell_a_pod_from_others() -> None:
    one = pod("a", metadata={"labels": {"app": "web", "index": "1"}}, affinity={"podAffinity": {RULE: [WEB]}})
    two = pod("b", metadata={"labels": {"app": "web", "index": "2"}}, affinity={"podAffinity": {RULE: [WEB]}})

    assert rules(one) == rules(two)


def test_a_spread_has_the_apis_defaults() -> None:
    found = spread(labelSelector={"matchLabels": {"app": "web"}})

    assert found == SpreadTerm("zone", 1, IS_WEB, min_domains=1, honor_affinity=True, honor_taints=False, self_match=False)


def test_the_policies_of_a_spread_are_taken_over() -> None:
    found = spread(maxSkew=3, minDomains=2, nodeAffinityPolicy="Ignore", nodeTaintsPolicy="Honor")

    assert found == SpreadTerm("zone", 3, None, min_domains=2, honor_affinity=False, honor_taints=True)


def test_a_pod_that_is_spread_itself_says_so() -> None:
    assert spread({"app": "web"}, labelSelector={"matchLabels": {"app": "web"}}).self_match


def test_match_label_keys_narrow_a_spread_to_pods_with_the_pods_own_value() -> None:
    found = spread({"app": "web", "rev": "7"}, labelSelector={"matchLabels": {"app": "web"}}, matchLabelKeys=["rev", "absent"])

    assert found.selector == (*IS_WEB, Requirement("rev", "In", ("7",)))


def test_match_label_keys_that_the_server_has_merged_are_not_merged_again() -> None:
    merged = {"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "rev", "operator": "In", "values": ["7"]}]}
    found = spread({"app": "web", "rev": "8"}, labelSelector=merged, matchLabelKeys=["rev"])

    assert found.selector == (*IS_WEB, Requirement("rev", "In", ("7",)))


def test_pods_that_are_alike_share_their_labels() -> None:
    assert known_labels({"app": "web"}) is known_labels({"app": "web"})
