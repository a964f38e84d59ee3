"""Pods that are alike are read once, and each is still what it would be if it were the only one."""

from __future__ import annotations

from copy import copy
from datetime import UTC, datetime
from typing import Any

import hypothesis.strategies as st
from hypothesis import given

from treadle.api import labels
from treadle.core.model import PodSpec
from treadle.kube import pod_words, translate, wire


def container(requests: Any, ports: Any = None) -> wire.Container:
    return wire.Container(name="main", image="busybox", resources=wire.Resources(requests=requests), ports=ports)


SPECS = [
    wire.PodSpec(scheduler_name="treadle", containers=[container({"cpu": "1", "memory": "1Gi"})]),
    wire.PodSpec(scheduler_name="treadle", containers=[container({"cpu": "2"}, [wire.ContainerPort(80, 8080)])], priority=7),
    wire.PodSpec(scheduler_name="treadle", containers=[container({"cpu": "much"})]),
    wire.PodSpec(scheduler_name="treadle", containers=[container({"example.com/gpu": "1", "cpu": "1"})]),
    wire.PodSpec(containers=[container({}), container({"cpu": "1"})], tolerations=[wire.Toleration(key="spot")]),
    wire.PodSpec(containers=[container({})], node_selector={"zone": "a"}, scheduling_gates=[wire.SchedulingGate("hold")]),
    wire.PodSpec(containers=[container({})], volumes=[wire.Volume("data", wire.ClaimSource("data"))]),
    wire.PodSpec(containers=[container({})], resource_claims=[wire.PodClaim("gpu", "mine")]),
    wire.PodSpec(
        containers=[container({})],
        affinity=wire.Affinity(pod_anti_affinity=wire.PodAffinity([wire.PodAffinityTerm(wire.LabelSelector({"a": "b"}))])),
    ),
    wire.PodSpec(containers=[container({})], scheduling_group=wire.SchedulingGroup("ring")),
    wire.PodSpec(),
]
WORDS = {
    labels.QUEUE: ["root.a", "root.b"],
    labels.APPLICATION: ["nightly", "daily-uniqueautogen"],
    labels.PLACEMENT_CONSTRAINTS: ["notin,node,a", "nonsense,"],
    labels.LOCALITY_NODES: ["n1,n2"],
    labels.ALLOCATED_QUEUE: ["root.c"],
    labels.ALLOCATED_APPLICATION: ["pod/p0", "pod/p1"],
    labels.BOUND_AS: ["guaranteed"],
    labels.USER: ["ann"],
    "job-name": ["train"],
    "yunikorn.apache.org/app-id": ["x-uniqueautogen"],
    "scheduling.x-k8s.io/pod-group": ["ring"],
    "treadle.dev/gang": ["g"],
    "treadle.dev/gang-min-member": ["2", "two"],
    "app": ["web"],
}
said = st.one_of(
    st.none(),
    st.dictionaries(st.sampled_from(sorted(WORDS)), st.integers(0, 1), max_size=4).map(
        lambda chosen: {key: WORDS[key][at % len(WORDS[key])] for key, at in chosen.items()}
    ),
)
statuses = st.sampled_from(
    [
        None,
        wire.PodStatus("Pending"),
        wire.PodStatus("Running", container_statuses=[wire.ContainerStatus("main", {"cpu": "4"})]),
        wire.PodStatus("Succeeded"),
    ]
)


@st.composite
def pods(draw: st.DrawFn) -> wire.Pod:
    spec = copy(draw(st.sampled_from(SPECS)))
    spec.node_name = draw(st.sampled_from(["", "n1"]))
    name = draw(st.sampled_from(["p0", "p1"]))
    meta = wire.Metadata(
        name,
        draw(st.sampled_from(["etl", "ml"])),
        f"uid-{name}",
        str(draw(st.integers(1, 9))),
        labels=draw(said),
        annotations=draw(said),
        creation_timestamp=datetime(2026, 1, draw(st.integers(1, 9)), tzinfo=UTC),
        owner_references=draw(st.sampled_from([None, [wire.OwnerReference("Job", "train", "1", controller=True)]])),
    )
    return wire.Pod(meta, spec, draw(statuses))


def alone(seen: wire.Pod) -> PodSpec:
    """Translate a pod as if no other had been seen."""
    translate._specs.clear()
    pod_words._known.clear()
    return translate.pod(seen)


@given(st.lists(pods(), min_size=2, max_size=12))
def test_a_pod_is_translated_as_if_no_other_had_been_seen(seen: list[wire.Pod]) -> None:
    by_itself = [alone(one) for one in seen]
    translate._specs.clear()
    pod_words._known.clear()
    together = [translate.pod(one) for one in seen]
    assert together == by_itself
    assert [translate.pod(one) for one in seen] == by_itself


def test_what_is_remembered_of_pods_is_bounded() -> None:
    for number in range(2 * max(translate.MOST_SPECS, pod_words.MOST_KNOWN)):
        spec = wire.PodSpec(containers=[container({"cpu": "1"})])
        translate.pod(wire.Pod(wire.Metadata(f"p{number}", "etl", labels={"number": str(number)}), spec))
    assert len(translate._specs) <= translate.MOST_SPECS
    assert len(pod_words._known) <= pod_words.MOST_KNOWN


def test_annotations_that_are_long_are_not_remembered() -> None:
    pod_words._known.clear()
    found = pod_words.words_of({labels.QUEUE: "root.a"}, {"note": "x" * (pod_words.LONGEST + 1)})
    assert (found.queue, len(pod_words._known)) == ("root.a", 0)


def test_an_application_of_one_pod_says_after_its_bind_what_it_said_before() -> None:
    """What is written with the bind names the application: it would be unlike every other for it."""
    pod_words._known.clear()
    for number in range(5):
        pod_words.words_of(None, {labels.ALLOCATED_QUEUE: "root.a", labels.ALLOCATED_APPLICATION: f"etl/pod/p{number}"})
    assert len(pod_words._known) == 1
