"""What an opportunistic pod is turned into: the table, and what holds for any pod."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from admission.opportunistic_pods import CASES, Case, demand_of, patched, pod, resources_of
from examples import examples
from treadle.admission.rewriting import patch
from treadle.api.execution import demand_of as demand_said

NAMES = frozenset({"treadle"})


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.sentence)
def test_a_pod_becomes_what_the_table_says(case: Case) -> None:
    before = pod("a", case.spec, case.metadata)
    after = patched(before, patch(before, NAMES))
    assert resources_of(after) == case.containers
    assert resources_of(after, "initContainers") == list(case.inits)
    assert demand_of(after) == (case.demand if case.demand is not None else demand_of(before))
    assert (case.demand is None) == (before == after) or "again" in case.sentence


AMOUNTS = st.sampled_from(["0", "1", "250m", "2", "1Gi", "64Mi"])
RESOURCES = st.dictionaries(
    st.sampled_from(["requests", "limits"]),
    st.dictionaries(st.sampled_from(["cpu", "memory"]), AMOUNTS, max_size=2),
    max_size=2,
)
CONTAINERS = st.lists(st.one_of(RESOURCES, st.none()), min_size=1, max_size=4)
ANNOTATIONS = st.one_of(
    st.none(),
    st.just({}),
    st.sampled_from(["", "c0 cpu=1", "x", " c1 cpu=2 memory=1Gi ;c0 cpu=0", ";"]).map(lambda text: {"treadle.dev/demand": text}),
)


@st.composite
def pods(draw: st.DrawFn) -> dict[str, Any]:
    def named(prefix: str, all_: list[Any]) -> list[dict[str, Any]]:
        return [
            {"name": f"{prefix}{number}", **({"resources": one} if one is not None else {})} for number, one in enumerate(all_)
        ]

    spec = {"containers": named("c", draw(CONTAINERS)), "initContainers": named("i", draw(CONTAINERS))}
    annotations = draw(ANNOTATIONS)
    return pod("a", spec, {} if annotations is None else {"annotations": annotations})


@settings(max_examples=examples(200))
@given(pods())
def test_rewritten_again_a_pod_stays_as_it_is(before: dict[str, Any]) -> None:
    after = patched(before, patch(before, NAMES))
    assert patch(after, NAMES) == []


@settings(max_examples=examples(200))
@given(pods())
def test_nothing_but_requests_of_cpu_and_memory_and_missing_limits_changes(before: dict[str, Any]) -> None:
    untouched = copy.deepcopy(before)
    after = patched(before, patch(before, NAMES))
    assert before == untouched
    for which in ("containers", "initContainers"):
        for old, new in zip(resources_of(before, which), resources_of(after, which), strict=True):
            asked, may = old.get("requests", {}), old.get("limits", {})
            assert new["requests"] == {**asked, "cpu": "0", "memory": "0"}
            added = {name: asked[name] for name in ("cpu", "memory") if name not in may and asked.get(name, "0") != "0"}
            assert new.get("limits", {}) == {**may, **added}


@settings(max_examples=examples(200))
@given(pods())
def test_every_container_is_in_the_demand(before: dict[str, Any]) -> None:
    text = demand_of(patched(before, patch(before, NAMES)))
    assert text is not None
    names = [entry.split()[0] for entry in text.split(";") if entry.strip()]
    for one in (*before["spec"]["containers"], *before["spec"]["initContainers"]):
        assert names.count(one["name"]) == 1


@settings(max_examples=examples(200))
@given(pods())
def test_the_scheduler_understands_the_demand_and_takes_it_for_what_was_asked(before: dict[str, Any]) -> None:
    before["metadata"].pop("annotations", None)
    after = patched(before, patch(before, NAMES))
    said = demand_said(after["metadata"]["annotations"])
    for one in (*before["spec"]["containers"], *before["spec"]["initContainers"]):
        resources = one.get("resources") or {}
        requests, limits = resources.get("requests", {}), resources.get("limits", {})
        wished = {
            name: requests.get(name, "0") if requests.get(name, "0") != "0" else limits.get(name, "0")
            for name in ("cpu", "memory")
        }
        assert said[one["name"]] == wished


def test_a_container_that_is_added_later_is_rewritten_and_its_wish_is_added() -> None:
    before = pod("a", CASES[0].spec)
    once = patched(before, patch(before, NAMES))
    once["spec"]["containers"].append({"name": "mesh", "resources": {"requests": {"cpu": "100m"}}})
    twice = patched(once, patch(once, NAMES))
    assert demand_of(twice) == "c cpu=2 memory=1Gi;mesh cpu=100m memory=0"
    assert resources_of(twice)[1] == {"requests": {"cpu": "0", "memory": "0"}, "limits": {"cpu": "100m"}}
