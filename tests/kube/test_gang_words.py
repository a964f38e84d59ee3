"""What pods say of their gangs, in everybody's words."""

from __future__ import annotations

import msgspec
import pytest

from kube.manifests import Json, pod, wired
from treadle.core.model import PodSpec
from treadle.core.model.gangs import VOLCANO
from treadle.kube import translate, wire
from treadle.kube.pod_groups import pod_group


def translated(manifest: Json) -> PodSpec:
    return translate.pod(wired(manifest))


@pytest.mark.parametrize(
    ("metadata", "source", "minimums"),
    [
        ({"labels": {"scheduling.x-k8s.io/pod-group": "g"}}, "scheduler-plugins", ()),
        ({"labels": {"pod-group.scheduling.sigs.k8s.io": "g"}}, "scheduler-plugins", ()),
        ({"annotations": {"scheduling.k8s.io/group-name": "g"}}, "Volcano", ()),
        (
            {"annotations": {"scheduling.volcano.sh/group-name": "g", "scheduling.volcano.sh/group-min-member": "3"}},
            "Volcano",
            (("g", 3),),
        ),
        (
            {"labels": {"kueue.x-k8s.io/pod-group-name": "g"}, "annotations": {"kueue.x-k8s.io/pod-group-total-count": "4"}},
            "",
            (("g", 4),),
        ),
        (
            {
                "annotations": {
                    "gang.scheduling.koordinator.sh/name": "g",
                    "gang.scheduling.koordinator.sh/min-available": "2",
                }
            },
            "",
            (("g", 2),),
        ),
    ],
)
def test_gangs_in_the_words_of_others_are_understood_and_their_pods_are_one_application(
    metadata: Json, source: str, minimums: tuple[tuple[str, int], ...]
) -> None:
    seen = translated(pod("a", metadata=metadata))
    assert (seen.gang, seen.gang_source, seen.gang_minimums) == ("g", source, minimums)
    assert seen.application == "default/podgroup/g"
    named = {**metadata, "labels": {**metadata.get("labels", {}), "treadle.dev/application": "own"}}
    assert translated(pod("a", metadata=named)).application == "default/own"


def test_an_empty_name_of_a_group_is_no_gang() -> None:
    seen = translated(pod("a", metadata={"labels": {"scheduling.x-k8s.io/pod-group": ""}}))
    assert (seen.gang, seen.application) == ("", "default/pod/a")


def test_kubernetes_own_pod_group_is_a_gang_whose_object_says_more() -> None:
    manifest = pod("a", schedulingGroup={"podGroupName": "train"})
    seen = translated(manifest)
    assert (seen.gang, seen.gang_source, seen.application) == ("train", "Kubernetes", "default/podgroup/train")


@pytest.mark.parametrize(
    ("said", "queue", "unheeded"),
    [
        ({}, "", ()),
        ({"queue": "root.a"}, "root.a", ()),
        ({"queue": "default"}, "", ()),
        ({"queue": 7}, "", ()),
        ({"queue": "a" * 63}, "a" * 63, ()),
        ({"queue": "a" * 64}, "", ("spec.queue",)),
    ],
)
def test_a_pod_group_of_volcano_names_a_queue_unless_it_is_the_one_that_volcano_writes(
    said: Json, queue: str, unheeded: tuple[str, ...]
) -> None:
    body = msgspec.json.encode({"metadata": {"name": "g", "namespace": "ns"}, "spec": {"minMember": 2, **said}})
    seen = pod_group(VOLCANO, msgspec.json.decode(body, type=wire.PodGroup))
    assert (seen.minimum, seen.queue, seen.unheeded) == (2, queue, unheeded)


@pytest.mark.parametrize(
    ("notes", "topology"),
    [
        ({"treadle.dev/gang-topology": "topology.kubernetes.io/zone"}, ("topology.kubernetes.io/zone", True)),
        ({"treadle.dev/gang-preferred-topology": "rack"}, ("rack", False)),
        ({"kueue.x-k8s.io/podset-required-topology": "block"}, ("block", True)),
        ({"kueue.x-k8s.io/podset-preferred-topology": "block"}, ("block", False)),
        ({}, None),
    ],
)
def test_a_pod_may_say_in_which_topology_its_gang_is_one(notes: dict[str, str], topology: tuple[str, bool] | None) -> None:
    metadata = {"labels": {"treadle.dev/gang": "w"}, "annotations": notes}
    assert translated(pod("a", metadata=metadata)).gang_topology == topology


def test_a_topology_that_is_no_label_is_refused_with_the_annotation() -> None:
    metadata = {"labels": {"treadle.dev/gang": "w"}, "annotations": {"treadle.dev/gang-topology": "two words"}}
    assert translated(pod("a", metadata=metadata)).problem == (
        "metadata.annotations[treadle.dev/gang-topology]: 'two words' is not the key of a node label"
    )


FIRST = {"batch.kubernetes.io/job-completion-index": "0"}
EXCLUSIVE = {"alpha.jobset.sigs.k8s.io/exclusive-topology": "topology.kubernetes.io/zone"}


@pytest.mark.parametrize(
    ("annotations", "leads"),
    [
        ({**FIRST, **EXCLUSIVE}, True),
        ({"batch.kubernetes.io/job-completion-index": "1", **EXCLUSIVE}, False),
        (FIRST, False),
        ({**FIRST, **EXCLUSIVE, "alpha.jobset.sigs.k8s.io/node-selector": "true"}, False),
    ],
)
def test_the_first_pod_of_a_job_with_a_topology_to_itself_leads_the_others(annotations: dict[str, str], *, leads: bool) -> None:
    assert translated(pod(metadata={"annotations": annotations})).leads is leads
