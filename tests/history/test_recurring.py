"""Which runs are of one application, what their reservation is called, and when one that was made is written anew."""

from __future__ import annotations

from typing import Any

import pytest

from treadle.history.recurring import claims, differs, digest, groups, ours, untouched
from treadle.history.runs import SUCCEEDED, Run

SPEC: dict[str, Any] = {
    "queue": "root.plan",
    "arrival": "2024-01-12T02:00:00Z",
    "deadline": "2024-01-12T04:00:00Z",
    "recurrence": "24h",
    "applications": ["nightly-*"],
    "expression": {"requests": [{"demand": {"cpu": "2", "memory": "4Gi"}, "count": 10, "concurrency": 10, "duration": "1h"}]},
}


def run(application: str) -> Run:
    return Run(application, "root.a", "ann", 0.0, 0.0, 0.0, 1.0, 1, 1, 0, 0, SUCCEEDED, [])


@pytest.mark.parametrize(
    ("names", "patterns", "name"),
    [
        (["etl/nightly-1", "etl/nightly-2"], ["nightly-*"], "nightly"),
        (["etl/nightly", "etl/nightly"], ["nightly"], "nightly"),
        (["etl/nightly", "etl/nightly-2"], ["nightly", "nightly-*"], "nightly"),
        (["etl/load.2024-01", "etl/load_7", "etl/load.2024-02"], ["load.*", "load_*"], "load"),
        (["etl/job/etl.v-1", "etl/job/etl.v-2"], ["job/etl.v-*"], "etl-v"),
        (["etl/Spark_App-1", "etl/Spark_App-2"], ["Spark_App-*"], "spark-app"),
    ],
)
def test_runs_that_differ_in_what_they_end_with_are_one_application(names: list[str], patterns: list[str], name: str) -> None:
    (group,) = groups(map(run, names))
    assert (group.namespace, list(group.patterns), group.name) == ("etl", patterns, name)
    assert all(claims({"spec": {"applications": list(group.patterns)}}, [one.partition("/")[2]]) for one in names)


def test_namespaces_are_apart_and_patterns_exclude() -> None:
    found = groups(map(run, ["a/x-1", "b/x-1", "b/y-1", "b/zz"]), ["b/y-*", "*/zz"])
    assert [(one.namespace, one.family) for one in found] == [("a", "x"), ("b", "x")]


@pytest.mark.parametrize(
    ("change", "other"),
    [
        ({}, False),
        ({"arrival": "2024-01-13T02:00:00Z", "deadline": "2024-01-13T04:00:00Z"}, False),
        ({"deadline": "2024-01-12T04:05:00Z"}, False),
        ({"deadline": "2024-01-12T05:00:00Z"}, True),
        ({"recurrence": "12h"}, True),
        ({"timeZone": "Europe/Berlin"}, True),
        ({"queue": "root.b"}, True),
    ],
)
def test_a_spec_differs_by_when_it_comes_again_and_the_length_of_its_window(change: dict[str, Any], other: bool) -> None:
    assert differs(SPEC, {**SPEC, **change}) == other


@pytest.mark.parametrize(
    ("requests", "other"),
    [
        ([{"demand": {"cpu": "2", "memory": "4Gi"}, "count": 11, "duration": "1h"}], False),
        ([{"demand": {"cpu": "2", "memory": "4Gi"}, "count": 12, "duration": "1h"}], True),
        ([{"demand": {"cpu": "2", "memory": "4Gi"}, "count": 5, "duration": "2h"}], False),
        ([{"demand": {"cpu": "2"}, "count": 10, "duration": "1h"}], True),
        ([{"demand": {"cpu": "2", "memory": "4Gi"}, "count": 5, "duration": "1h"}] * 2, False),
    ],
)
def test_a_spec_differs_by_more_than_a_tenth_of_what_is_needed(requests: list[dict[str, Any]], other: bool) -> None:
    assert differs(SPEC, {**SPEC, "expression": {"requests": requests}}) == other


def test_an_object_is_as_it_was_made_or_was_edited() -> None:
    made = {"metadata": {"annotations": {"treadle.dev/made-from-history": digest(SPEC)}}, "spec": SPEC}
    assert ours(made)
    assert untouched(made)
    assert not untouched({**made, "spec": {**SPEC, "priority": 3}})
    assert not ours({"metadata": {}, "spec": SPEC})
