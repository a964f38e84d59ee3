"""Names that a queue may have on Kubernetes, and how those of users and groups are made to fit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.core.rules.placement.names import MOST_BYTES, path_problem, tidy


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("ann", "ann"),
        ("First.Last", "first-dot-last"),
        ("system:serviceaccount:etl:runner", "system-serviceaccount-etl-runner"),
        ("  ann  ", "ann"),
        ("__ann__", "ann"),
        ("ä", ""),
    ],
)
def test_a_name_becomes_a_part_of_a_path(name: str, part: str) -> None:
    assert tidy(name) == part


@given(st.text(max_size=40))
def test_whatever_the_name_the_part_fits_into_a_path_or_is_empty(name: str) -> None:
    part = tidy(name)
    assert not part or path_problem(f"root.{part}") is None or len(f"root.{part}") > MOST_BYTES


@given(st.text(max_size=40))
def test_a_part_stays_what_it_is(name: str) -> None:
    assert tidy(tidy(name)) == tidy(name)


@pytest.mark.parametrize("path", ["root", "root.a", "root.a-b.c1", "root.a.b.c.d.e.f.g"])
def test_paths_that_name_a_queue(path: str) -> None:
    assert path_problem(path) is None


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("a", "named by its path"),
        ("root.", "named by its path"),
        ("root..a", "named by its path"),
        ("root.A", 'lower case, as Kubernetes has them: "root.a", not "root.A"'),
        ("root.-a", "named by its path"),
        ("root.a_b", "named by its path"),
        ("root." + "a" * 60, "at most 63 characters"),
        ("root.a.b.c.d.e.f.g.h", "at most 8 levels"),
    ],
)
def test_paths_that_name_none_say_why(path: str, why: str) -> None:
    problem = path_problem(path)
    assert problem is not None
    assert why in problem
