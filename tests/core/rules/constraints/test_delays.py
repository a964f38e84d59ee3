"""Alternatives that come into force one after the other."""

from __future__ import annotations

import pytest

from treadle.core.rules.constraints.delays import coming, delayed, in_force, next_in_force
from treadle.core.rules.constraints.parsing import parse_expression
from treadle.core.rules.constraints.writing import in_words

THREE = "delayed-or(30s,in,node,a:60s,in,rack,a:10s,os=linux)"


@pytest.mark.parametrize(
    ("waited", "now"),
    [
        (0.0, "in,node,a"),
        (29.9, "in,node,a"),
        (30.0, "or(in,node,a:in,rack,a)"),
        (89.0, "or(in,node,a:in,rack,a)"),
        (90.0, "or(in,node,a:in,rack,a:os=linux)"),
        (float("inf"), "or(in,node,a:in,rack,a:os=linux)"),
    ],
)
def test_each_alternative_comes_into_force_when_those_before_it_have_had_their_time(waited: float, now: str) -> None:
    assert in_words(in_force(parse_expression(THREE), waited)) == now


@pytest.mark.parametrize(("waited", "then"), [(0.0, 30.0), (30.0, 90.0), (90.0, None)])
def test_it_is_known_when_the_next_one_does(waited: float, then: float | None) -> None:
    assert next_in_force([parse_expression(THREE)], waited) == then


def test_which_one_it_is_is_known_too() -> None:
    both = [parse_expression(THREE), parse_expression("and(os=linux:delayed-or(30s,in,node,b:1s,in,rack,b))")]

    assert [in_words(one) for one in coming(both, 0.0)] == ["in,rack,a", "in,rack,b"]
    assert [in_words(one) for one in coming(both, 40.0)] == ["os=linux"]


def test_what_is_within_others_is_delayed_as_well() -> None:
    inside = parse_expression("and(os=linux:or(in,node,a:delayed-or(5s,in,node,b:5s,in,rack,b)))")

    assert delayed([inside])
    assert not delayed([parse_expression("and(os=linux:in,node,a)")])
    assert in_words(in_force(inside, 1.0)) == "and(os=linux:or(in,node,a:in,node,b))"
