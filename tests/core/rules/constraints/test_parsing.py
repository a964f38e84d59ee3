"""Placement constraints as text; what Hadoop's own parser answers to many is among the conformance cases."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given

from treadle.core.model.placement_constraints import MOST, And, AttributeTarget, DelayedOr, Or, Single, TagTarget
from treadle.core.rules.constraints.parsing import ConstraintError, Sourced, parse_expression, parse_specification

FOO = TagTarget(("foo",))


@pytest.mark.parametrize(
    ("text", "constraint"),
    [
        ("in,node,foo", Single("node", 1, MOST, (FOO,))),
        (" NotIn , Rack , foo ", Single("rack", 0, 0, (FOO,))),
        ("cardinality,node,foo,0,3", Single("node", 0, 3, (FOO,))),
        ("in,node,all/foo", Single("node", 1, MOST, (TagTarget(("foo",), "all"),))),
        ("os!=linux", Single("node", -1, -1, (AttributeTarget("os", ("linux",)),), "NE")),
        ("and(in,node,foo:notin,rack,foo)", And((Single("node", 1, MOST, (FOO,)), Single("rack", 0, 0, (FOO,))))),
        (
            "OR(java=1.8:in,node,foo)",
            Or((Single("node", -1, -1, (AttributeTarget("java", ("1.8",)),), "EQ"), Single("node", 1, MOST, (FOO,)))),
        ),
    ],
)
def test_a_constraint_is_read(text: str, constraint: object) -> None:
    assert parse_expression(text) == constraint


@pytest.mark.parametrize(
    "text",
    [
        "",
        "in",
        "in,cluster,foo",
        "foo",
        "cardinality,node,0,1",
        "cardinality,node,foo,x,1",
        "and(in,node,foo",
        "in,node,nowhere/foo",
        "=1",
        "a=",
    ],
)
def test_what_is_none_is_refused_in_words(text: str) -> None:
    with pytest.raises(ConstraintError) as refused:
        parse_expression(text)
    assert str(refused.value)


def test_the_words_say_what_is_wanted() -> None:
    with pytest.raises(ConstraintError, match=r"'near,node,foo' is no placement constraint: in, notin, cardinality"):
        parse_expression("near,node,foo")


def test_delayed_alternatives_are_read() -> None:
    near, far = Single("node", 1, MOST, (FOO,)), Single("rack", 1, MOST, (FOO,))

    assert parse_expression("delayed-or(30s,in,node,foo:500ms,in,rack,foo)") == DelayedOr((near, far), (30.0, 0.5))
    assert parse_expression("and(in,node,foo:delayed-or(2m,or(in,node,foo:in,rack,foo)))") == And(
        (near, DelayedOr((Or((near, far)),), (120.0,)))
    )


@pytest.mark.parametrize("text", ["delayed-or(in,node,foo)", "delayed-or(10,in,node,foo)", "delayed-or(5d,in,node,foo)"])
def test_what_is_delayed_names_a_time(text: str) -> None:
    with pytest.raises(ConstraintError, match="must begin with how long it is tried, such as 30s"):
        parse_expression(text)


def test_brackets_may_not_be_put_into_each_other_without_end() -> None:
    with pytest.raises(ConstraintError, match="more than 16 levels"):
        parse_expression("and(" * 1000 + "in,node,foo" + ")" * 1000)


def test_a_specification_asks_for_containers_with_tags() -> None:
    assert parse_specification("zk(3),notin,node,foo:hbase(5)") == [
        Sourced("zk", 3, Single("node", 0, 0, (FOO,))),
        Sourced("hbase", 5, None),
    ]


@given(st.text(alphabet="in,otde rack()foo:=!/ANDORcardl10-", max_size=60))
def test_any_text_is_a_constraint_or_refused(text: str) -> None:
    for parse in (parse_expression, parse_specification):
        try:
            parse(text)
        except ConstraintError:
            continue
