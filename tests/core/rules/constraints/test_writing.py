"""Placement constraints as text: what is written is read as the same."""

from __future__ import annotations

import pytest

from treadle.core.model.placement_constraints import NODE, And, PartitionTarget, Single
from treadle.core.rules.constraints.parsing import parse_expression
from treadle.core.rules.constraints.writing import in_words


@pytest.mark.parametrize(
    "text",
    [
        "in,node,a",
        "notin,rack,a,b",
        "cardinality,node,all/a,1,3",
        "java=1.7,1.8",
        "os!=linux",
        "and(notin,node,a:or(in,rack,b:java=1.8))",
        "delayed-or(30s,in,node,a:500ms,or(in,rack,a:os=linux))",
    ],
)
def test_a_constraint_is_written_as_it_is_read(text: str) -> None:
    assert in_words(parse_expression(text)) == text


def test_what_no_text_can_ask_for_is_written_too() -> None:
    assert in_words(And((Single(NODE, 1, 5, (PartitionTarget(("x",)),)),))) == "and(partition=x)"
