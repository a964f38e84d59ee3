"""Edits of documents: what makes one version of another, what is left of a third one, and what takes them back."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.changes.edits import ABSENT, Edit, edited, edits, overtaken

names = st.sampled_from(["a", "b", "c"])
values = st.one_of(st.integers(0, 2), st.lists(st.integers(0, 1), max_size=2), st.none())
documents: st.SearchStrategy[dict[str, Any]] = st.dictionaries(
    names, st.recursive(values, lambda inner: st.dictionaries(names, inner, max_size=3), max_leaves=6), max_size=3
)


@given(documents, documents)
def test_the_edits_between_two_documents_make_the_second_of_the_first(before: dict[str, Any], after: dict[str, Any]) -> None:
    found = list(edits(before, after))
    assert edited(before, found) == after
    assert not overtaken(after, found)
    assert (found == []) == (before == after)


@given(documents, documents)
def test_what_is_undone_is_as_it_was(before: dict[str, Any], after: dict[str, Any]) -> None:
    found = list(edits(before, after))
    assert edited(after, [edit.undone for edit in reversed(found)]) == before


@given(documents, documents, documents)
def test_a_document_with_other_fields_besides_keeps_them(
    before: dict[str, Any], after: dict[str, Any], other: dict[str, Any]
) -> None:
    found = list(edits(before, after))
    assert edited({**before, "other": other}, found) == {**after, "other": other}


@given(documents, documents)
def test_edits_are_the_same_when_they_were_written_and_read(before: dict[str, Any], after: dict[str, Any]) -> None:
    for edit in edits(before, after):
        assert Edit.read(msgspec.json.decode(msgspec.json.encode(edit.written()))) == edit


def test_a_block_stays_for_what_else_is_in_it() -> None:
    edit = Edit(("submitAcl",), {"users": ["ann"]}, ABSENT)
    assert edited({"submitAcl": {"users": ["ann"], "namespaces": ["etl"]}}, [edit]) == {"submitAcl": {"namespaces": ["etl"]}}
    assert edited({"submitAcl": {"users": ["ann"]}}, [edit]) == {}
    assert edited({"submitAcl": {"namespaces": ["etl"]}}, [edit.undone]) == {
        "submitAcl": {"users": ["ann"], "namespaces": ["etl"]}
    }


@pytest.mark.parametrize(
    ("there", "left"),
    [
        ({"a": {"b": 2}}, []),
        ({"a": {"b": 2, "c": 5}}, []),
        ({"a": {"b": 3}}, ["a.b"]),
        ({"a": {}}, ["a.b"]),
        ({}, ["a.b"]),
    ],
)
def test_an_edit_is_overtaken_where_its_field_has_another_value_by_now(there: dict[str, Any], left: list[str]) -> None:
    assert [edit.where for edit in overtaken(there, [Edit(("a", "b"), 1, 2)])] == left


def test_a_removed_field_is_overtaken_where_it_is_there_again() -> None:
    edit = Edit(("a",), {"b": 1}, ABSENT)
    assert overtaken({"a": {"b": 4}}, [edit]) == [edit]
    assert overtaken({"a": {"c": 4}}, [edit]) == []
