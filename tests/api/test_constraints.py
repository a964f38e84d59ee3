"""Placement constraints in objects: one form, which the API server checks as well, and all of which the core understands."""

from __future__ import annotations

from random import Random

import pytest

from fuzz.patterns import text
from treadle.api.constraints import LEVELS, _nested
from treadle.api.objects import InvalidObject, parse
from treadle.core.rules.constraints.parsing import parse_expression


def application(constraint: str) -> dict[str, object]:
    return {"metadata": {"name": "hbase", "namespace": "default"}, "spec": {"placementConstraints": [constraint]}}


@pytest.mark.parametrize(
    "constraint",
    [
        "in,node,hbase",
        "notin,rack,all/zk,self/hbase",
        "cardinality,node,hbase,0,3",
        "java=1.8,1.7",
        "topology.kubernetes.io/zone!=z1",
        "and(notin,node,hbase:or(in,rack,zk:os=linux))",
        "delayed-or(30s,in,node,hbase:500ms,in,rack,hbase:2h,zone!=z1)",
    ],
)
def test_a_constraint_in_the_usual_form_is_taken(constraint: str) -> None:
    assert parse("Application", application(constraint)).spec.placement_constraints == [constraint]


@pytest.mark.parametrize(
    "constraint",
    [
        "",
        "delayed-or()",
        "delayed-or(in,node,a)",
        "and(1s,in,node,a)",
        "delayed-or(1s,or(os=a:os=b))",
        "beside,node,hbase",
        "in,host,hbase",
        "in, node, hbase",
        "in,node",
        "and()",
        "in,node,app/é",
    ],
)
def test_any_other_text_is_refused_with_words_that_say_what_is_wanted(constraint: str) -> None:
    with pytest.raises(InvalidObject, match=r"spec.placementConstraints.0: .*must be a placement constraint: in,SCOPE,TAG"):
        parse("Application", application(constraint))


def test_constraints_nested_deeper_than_a_pattern_follows_are_refused() -> None:
    deep = "in,node,a"
    for _ in range(LEVELS):
        deep = f"and({deep})"
    assert parse("Application", application(deep))
    with pytest.raises(InvalidObject, match=f"to {LEVELS} levels"):
        parse("Application", application(f"or({deep})"))


def test_the_core_understands_every_text_of_the_form() -> None:
    chance = Random(1)
    for _ in range(3000):
        parse_expression(text(_nested(LEVELS), chance))
