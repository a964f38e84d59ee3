"""Resource profiles among amounts: what they come to, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic.alias_generators import to_snake

from examples import examples
from treadle.api import crds, profiles, quantities
from treadle.api.objects import KINDS, InvalidObject, parse
from treadle.api.profiles import MAPS, TEXTS, expanded, names_any, resolved
from treadle.core.errors import InvalidSpec
from treadle.core.units.resources import amount

Json = dict[str, Any]
HAS = {"large": {"cpu": "2500m", "memory": "4Gi", "nvidia.com/gpu": "1"}, "small": {"cpu": "500m"}}


def queue(**spec: Any) -> Any:
    return parse("Queue", {"kind": "Queue", "metadata": {"name": "root.a"}, "spec": spec}).spec


def scheduler(**spec: Any) -> Any:
    return parse("Scheduler", {"kind": "Scheduler", "metadata": {"name": "treadle"}, "spec": spec}).spec


SUMS = [
    ("one profile", {"profile.treadle.dev/small": "1"}, {"cpu": "500m"}),
    ("several times a profile", {"profile.treadle.dev/large": "4"}, {"cpu": "10", "memory": "16Gi", "nvidia.com/gpu": "4"}),
    ("two profiles that have the same", {"profile.treadle.dev/large": "1", "profile.treadle.dev/small": "3"}, {"cpu": "4", "memory": "4Gi", "nvidia.com/gpu": "1"}),
    ("a profile beside a quantity", {"cpu": "1", "profile.treadle.dev/small": "1"}, {"cpu": "1500m"}),
    ("a profile beside a percentage of something else", {"memory": "50%", "profile.treadle.dev/small": "2"}, {"memory": "50%", "cpu": "1"}),
    ("none of a profile: nothing of what it has", {"profile.treadle.dev/small": "0"}, {"cpu": "0"}),
    ("no profile", {"cpu": "1", "memory": "60%"}, {"cpu": "1", "memory": "60%"}),
]  # fmt: skip


@pytest.mark.parametrize(("amounts", "comes_to"), [one[1:] for one in SUMS], ids=[one[0] for one in SUMS])
def test_amounts_come_to_what_their_profiles_have(amounts: dict[str, str], comes_to: dict[str, str]) -> None:
    assert expanded(amounts, HAS, "spec") == comes_to


REFUSED = [
    ("a profile that is not there", {"profile.treadle.dev/huge": "1"}, "spec.x: 'huge' is not in spec.resourceProfiles of the Scheduler: allowed are large, small"),
    (
        "a percentage of what a profile has",
        {"cpu": "50%", "profile.treadle.dev/small": "1"},
        "spec.x: cpu '50%' cannot be added to what a profile has of cpu; allowed is a quantity, or another profile",
    ),
    (
        "more than can be counted",
        {"memory": "3Ei", "profile.treadle.dev/large": "268435456"},
        "spec.x: memory comes to 4611686018427387904 with its profiles, and at most 4611686018427387903 can be counted",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("amounts", "words"), [one[1:] for one in REFUSED], ids=[one[0] for one in REFUSED])
def test_sums_that_make_no_sense_are_refused_by_field(amounts: dict[str, str], words: str) -> None:
    with pytest.raises(InvalidSpec) as caught:
        expanded(amounts, HAS, "spec.x")
    assert str(caught.value) == words


def test_a_scheduler_without_profiles_says_so() -> None:
    with pytest.raises(InvalidSpec, match=r"'small' is not in spec.resourceProfiles of the Scheduler: it has none"):
        expanded({"profile.treadle.dev/small": "1"}, {}, "spec")


def test_the_text_of_a_capacity_may_name_profiles() -> None:
    spec = queue(capacity={"guaranteed": "[memory=1Gi,profile.treadle.dev/large=2]", "maximum": "[profile.treadle.dev/large=3]"})
    found = resolved(spec, HAS).capacity
    assert found.guaranteed == "[memory=9Gi,cpu=5,nvidia.com/gpu=2]"
    assert found.maximum == "[cpu=7500m,memory=12Gi,nvidia.com/gpu=3]"


def test_a_capacity_whose_profiles_have_no_memory_is_refused() -> None:
    with pytest.raises(
        InvalidSpec, match=r"spec.capacity.guaranteed: .*quantities must name memory, and no profile in it has any"
    ):
        resolved(queue(capacity={"guaranteed": "[profile.treadle.dev/small=2]"}), HAS)


def test_a_capacity_that_names_a_profile_twice_is_refused() -> None:
    with pytest.raises(InvalidSpec, match=r"names profile.treadle.dev/large twice"):
        resolved(queue(capacity={"guaranteed": "[profile.treadle.dev/large=2,profile.treadle.dev/large=1]"}), HAS)


def test_templates_partitions_and_gangs_may_name_profiles() -> None:
    template = {
        "maximumAllocation": {"profile.treadle.dev/small": 1},
        "partitions": {"gpu": {"maximum": "[profile.treadle.dev/large=1]"}},
    }
    found = resolved(queue(capacity={"autoCreation": {"leafTemplate": template}}), HAS).capacity.auto_creation.leaf_template
    assert found.maximum_allocation == {"cpu": "500m"}
    assert found.partitions["gpu"].maximum == "[cpu=2500m,memory=4Gi,nvidia.com/gpu=1]"
    body = {"kind": "Application", "metadata": {"name": "a", "namespace": "ns"}}
    spec = parse(
        "Application", {**body, "spec": {"gangs": [{"name": "g", "minMember": 1, "demand": {"profile.treadle.dev/small": 2}}]}}
    ).spec
    assert resolved(spec, HAS).gangs[0].demand == {"cpu": "1"}  # type: ignore[union-attr, index]


def test_what_names_no_profile_is_the_same_object() -> None:
    spec = queue(fair={"maxResources": {"cpu": 1}}, capacity={"userWeights": {"profile.treadle.dev/x": 1}})
    assert not names_any(spec)
    assert resolved(spec, {}) is spec


AMOUNTS = st.dictionaries(
    st.sampled_from(["cpu", "memory", "nvidia.com/gpu", "ephemeral-storage"]), st.integers(0, 10**6), max_size=4
)


@given(
    st.dictionaries(st.sampled_from(["a", "b", "c"]), AMOUNTS, max_size=3),
    st.dictionaries(st.sampled_from(["a", "b", "c"]), st.integers(0, 1000)),
    AMOUNTS,
)
@settings(max_examples=examples(200), deadline=None)
def test_a_sum_with_profiles_is_what_adding_one_bundle_after_the_other_gives(
    bundles: dict[str, dict[str, int]], counts: dict[str, int], own: dict[str, int]
) -> None:
    said = {name: {resource: str(value) for resource, value in bundle.items()} for name, bundle in bundles.items()}
    amounts = {resource: str(value) for resource, value in own.items()}
    amounts |= {f"profile.treadle.dev/{name}": str(count) for name, count in counts.items() if name in bundles}
    naive = {resource: amount(resource, str(value)) for resource, value in own.items()}
    for name, bundle in bundles.items():
        for _ in range(counts.get(name, 0)):
            for resource, value in bundle.items():
                naive[resource] = naive.get(resource, 0) + amount(resource, str(value))
    found = expanded(amounts, said, "spec")
    assert {name: amount(name, text) for name, text in found.items() if amount(name, text)} == {
        name: value for name, value in naive.items() if value
    }


BAD = [
    ("a part of a profile", {"fair": {"maxResources": {"profile.treadle.dev/large": "1.5"}}}, profiles.COUNT_TEXT),
    ("a percentage of a profile", {"fair": {"maxResources": {"profile.treadle.dev/large": "50%"}}}, profiles.COUNT_TEXT),
    ("a part of a profile in a capacity", {"capacity": {"guaranteed": "[profile.treadle.dev/large=1.5]"}}, profiles.COUNT_TEXT),
    ("a weight of a profile", {"capacity": {"guaranteed": "[memory=1Gi,profile.treadle.dev/large=2w]"}}, profiles.COUNT_TEXT),
    (
        "absurdly many in a capacity",
        {"capacity": {"guaranteed": "[memory=1Gi,profile.treadle.dev/large=1000000000]"}},
        profiles.COUNT_TEXT,
    ),
]


@pytest.mark.parametrize(("spec", "words"), [one[1:] for one in BAD], ids=[one[0] for one in BAD])
def test_how_often_a_profile_counts_is_a_whole_number(spec: Json, words: str) -> None:
    with pytest.raises(InvalidObject) as caught:
        queue(**spec)
    assert words in str(caught.value)


ILL_DEFINED = [
    ("made of profiles", {"large": {"cpu": 1, "profile.treadle.dev/small": 2}}, profiles.NESTED_TEXT),
    ("of nothing", {"large": {}}, "at least 1 item"),
    ("with an upper-case name", {"Large": {"cpu": 1}}, profiles.NAMES_TEXT),
    ("with a name that is too long", {"x" * 64: {"cpu": 1}}, profiles.NAMES_TEXT),
    ("called maximum", {"maximum": {"cpu": 1}}, profiles.NAMES_TEXT),
    ("called minimum", {"minimum": {"cpu": 1}}, profiles.NAMES_TEXT),
    ("of less than nothing", {"large": {"cpu": "-1"}}, quantities.NEGATIVE_TEXT),
    ("of a percentage", {"large": {"cpu": "10%"}}, quantities.QUANTITY_TEXT),
    ("of something without a name", {"large": {"a b": "1"}}, "is not a resource name"),
]


@pytest.mark.parametrize(("bundles", "words"), [one[1:] for one in ILL_DEFINED], ids=[one[0] for one in ILL_DEFINED])
def test_a_profile_is_not(bundles: Json, words: str) -> None:
    with pytest.raises(InvalidObject) as caught:
        scheduler(resourceProfiles=bundles)
    assert "spec.resourceProfiles" in str(caught.value)
    assert words in str(caught.value)


def schemas(schema: Json, name: str = "") -> Iterator[tuple[str, Json]]:
    yield name, schema
    for key, each in schema.get("properties", {}).items():
        yield from schemas(each, key)
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from schemas(schema[key], f"{name}.{key}")


def test_every_field_with_amounts_may_name_profiles() -> None:
    maps, texts = set(), set()
    for kind in KINDS:
        for name, each in schemas(crds.schema(kind)["properties"]["spec"]):
            messages = {rule["message"] for rule in each.get("x-kubernetes-validations", ()) if "message" in rule}
            if quantities.NAME_TEXT in messages and profiles.NESTED_TEXT not in messages:
                maps.add(to_snake(name))
            elif "quantities must name memory" in messages:
                texts.add(to_snake(name))
    assert maps == MAPS
    assert texts == TEXTS
