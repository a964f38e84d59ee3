"""From what a pod says of its gang and its placement constraints to what the core is told."""

from __future__ import annotations

import pytest

from kube.manifests import Json, pod, wired
from treadle.core.model import PodSpec
from treadle.kube import translate


def translated(manifest: Json) -> PodSpec:
    return translate.pod(wired(manifest))


GROUPS = '[{"name": "driver", "minMember": 1, "minResource": {"cpu": 1}}, {"name": "workers", "minMember": 8}]'


@pytest.mark.parametrize(
    ("metadata", "gang", "minimums"),
    [
        ({"labels": {"treadle.dev/gang": "w"}}, "w", ()),
        ({"labels": {"treadle.dev/gang": "w", "treadle.dev/gang-min-member": "8"}}, "w", (("w", 8),)),
        ({"annotations": {"treadle.dev/gang": "w", "treadle.dev/gang-min-member": "8"}}, "w", (("w", 8),)),
        (
            {"annotations": {"yunikorn.apache.org/task-group-name": "driver", "yunikorn.apache.org/task-groups": GROUPS}},
            "driver",
            (("driver", 1), ("workers", 8)),
        ),
        ({"annotations": {"yunikorn.apache.org/task-group-name": "workers"}}, "workers", ()),
    ],
)
def test_a_pod_names_its_gang_and_how_many_start_together(
    metadata: Json, gang: str, minimums: tuple[tuple[str, int], ...]
) -> None:
    found = translated(pod("a", metadata=metadata))
    assert (found.gang, found.gang_minimums, found.problem) == (gang, minimums, "")


@pytest.mark.parametrize(
    ("metadata", "words"),
    [
        ({"labels": {"treadle.dev/gang": "w", "treadle.dev/gang-min-member": "many"}}, "gang-min-member: 'many' is not a number"),
        ({"labels": {"treadle.dev/gang": "w", "treadle.dev/gang-min-member": "0"}}, "from 1 to 100000"),
        ({"annotations": {"yunikorn.apache.org/task-groups": "["}}, "no list of groups with name and minMember"),
        ({"annotations": {"yunikorn.apache.org/task-groups": '{"a": 1}'}}, "no list of groups with name and minMember"),
        ({"annotations": {"yunikorn.apache.org/task-groups": '[{"name": "w", "minMember": 1e9}]'}}, "is not from 0 to 100000"),
    ],
)
def test_a_gang_that_makes_no_sense_is_the_pods_problem(metadata: Json, words: str) -> None:
    assert words in translated(pod("a", metadata=metadata)).problem


def test_allocation_tags_and_constraints_are_taken_over() -> None:
    notes = {
        "treadle.dev/allocation-tags": "b, a,,a",
        "treadle.dev/application-tags": "spark",
        "treadle.dev/placement-constraints": "notin,node,a",
    }
    found = translated(pod("a", metadata={"namespace": "ns", "annotations": notes, "labels": {"treadle.dev/application": "etl"}}))

    assert (found.tags, found.application_tags) == (("a", "b"), ("spark",))
    assert found.constraints.pods is not None
    assert found.constraints.pods.application == "ns/etl"
    assert len(found.constraints.pods.placement) == 1


def test_a_constraint_that_is_none_is_the_pods_problem() -> None:
    found = translated(pod("a", metadata={"annotations": {"treadle.dev/placement-constraints": "near,node,a"}}))

    assert found.problem.startswith(
        "metadata.annotations[treadle.dev/placement-constraints]: 'near,node,a' is no placement constraint"
    )
