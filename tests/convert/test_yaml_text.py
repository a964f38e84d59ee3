"""Objects are written as YAML that reads back as they are, as the library writes them."""

from __future__ import annotations

from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from treadle.cli.yaml_text import stream

texts = st.one_of(st.text(max_size=12), st.sampled_from(["yes", "NO", "on", "null", "~", "1e3", "0x1f", "12", "a: b", "- a", "x ", "1:30", "2026-01-01", "#", "", ".inf", "=", "<<", "a#b"]))  # fmt: skip
values: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.floats(allow_nan=False), texts),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=12,
)
objects = st.lists(st.dictionaries(texts, values, min_size=1, max_size=4), min_size=1, max_size=3)


@given(objects)
def test_what_is_written_reads_back(found: list[dict[str, Any]]) -> None:
    assert list(yaml.safe_load_all(stream(found))) == found


def test_it_is_what_the_library_writes() -> None:
    found = [
        {"apiVersion": "treadle.dev/v1alpha1", "kind": "Queue", "metadata": {"name": "root.a"}, "spec": {"fair": {"weight": "2", "maxAMShare": "0.5"},
         "submitAcl": {"users": ["*", "ann b"], "groups": []}, "state": "Stopped", "holdsQueues": True, "rules": [{"rule": "user", "parent": {"rule": "default"}}, {"rule": "no"}]}},
        {"kind": "Scheduler", "spec": {}},
    ]  # fmt: skip
    assert stream(found) == yaml.safe_dump_all(found, sort_keys=False)
