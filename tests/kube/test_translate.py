"""From a pod or a node of the API to what the core is told."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import msgspec
import pytest
from hypothesis import given

from kube.manifests import Json, container, node, pod, wired
from treadle.api.identity import Source
from treadle.core.model import HostPort, Limit, NodeSpec, PodSpec, Requirement, Taint, Toleration, Wish
from treadle.core.model.nodes import NodePressure
from treadle.core.model.opportunistic import NodeWord, PressureThreshold, Threshold
from treadle.kube import translate, wire


def translated(manifest: Json) -> PodSpec:
    return translate.pod(wired(manifest))


def translated_node(manifest: Json) -> NodeSpec:
    return translate.node(msgspec.json.decode(msgspec.json.encode(manifest), type=wire.Node))


def labelled(labels: Json | None = None, annotations: Json | None = None, **metadata: Any) -> PodSpec:
    return translated(pod("driver", metadata={"labels": labels, "annotations": annotations, **metadata}, namespace="etl"))


# -- who a pod belongs to


@pytest.mark.parametrize(
    ("labels", "annotations", "application", "queue"),
    [
        ({}, {}, "etl/pod/driver", ""),
        ({"treadle.dev/application": "nightly", "treadle.dev/queue": "root.prod"}, {}, "etl/nightly", "root.prod"),
        ({}, {"treadle.dev/application": "nightly", "treadle.dev/queue": "root.prod"}, "etl/nightly", "root.prod"),
        ({"spark-app-selector": "spark-7"}, {}, "etl/spark-7", ""),
        ({"yunikorn.apache.org/app-id": "a", "yunikorn.apache.org/queue": "root.x"}, {}, "etl/a", "root.x"),
        ({"kueue.x-k8s.io/queue-name": "team"}, {}, "etl/pod/driver", "team"),
        ({"job-name": "train"}, {}, "etl/job/train", ""),
    ],
)
def test_labels_and_annotations_name_the_application_and_the_queue(
    labels: Json, annotations: Json, application: str, queue: str
) -> None:
    found = labelled(labels, annotations)

    assert (found.application, found.queue) == (application, queue)


def test_the_controlling_owner_stands_for_an_application_without_a_name() -> None:
    owners = [{"kind": "Node", "name": "n", "uid": "1"}, {"kind": "ReplicaSet", "name": "web-1", "uid": "2", "controller": True}]

    assert labelled(ownerReferences=owners).application == "etl/replicaset/web-1"


def test_the_driver_of_a_spark_application_is_its_master() -> None:
    assert labelled({"spark-role": "driver"}).role == "master"
    assert labelled({"spark-role": "executor"}).role == "worker"
    assert labelled({"treadle.dev/role": "master"}).role == "master"


def test_the_user_is_the_namespace_unless_somebody_else_is_known() -> None:
    claim = {"treadle.dev/user": "alice", "treadle.dev/groups": "dev, ops"}
    stamp = {"treadle.dev/submitted-by": "bob", "treadle.dev/submitted-by-groups": "sales"}

    def seen(notes: dict[str, str], source: Source) -> tuple[str, tuple[str, ...], str]:
        manifest = pod("driver", metadata={"annotations": notes}, namespace="etl")
        found = translate.pod(wired(manifest), source)
        return found.user, found.groups, found.claimed

    assert [seen(claim | stamp, source) for source in Source] == [
        ("etl", (), "alice"),
        ("bob", ("sales",), "alice"),
        ("alice", ("dev", "ops"), ""),
    ]
    assert [seen(stamp, source) for source in Source] == [("etl", (), ""), ("bob", ("sales",), ""), ("bob", ("sales",), "")]
    assert [seen({}, source) for source in Source] == [("etl", (), "")] * 3
    assert seen(claim, Source.STAMPS) == ("etl", (), "alice")
    assert labelled(annotations=claim).user == "etl", "who says nothing believes nobody"


def test_identity_priority_and_age_are_taken_over() -> None:
    found = translated(pod("a", metadata={"uid": "u", "creationTimestamp": "2026-01-01T00:00:10Z"}, priority=7))

    assert (found.uid, found.namespace, found.name, found.scheduler, found.priority) == ("u", "default", "a", "treadle", 7)
    assert found.created == 1767225610.0


def test_a_pod_without_a_priority_has_zero() -> None:
    assert translated(pod("a", priority=None)).priority == 0


# -- where it stands in its life


def test_a_pod_on_a_node_says_so() -> None:
    assert translated(pod("a", nodeName="n")).node == "n"


def test_a_gated_pod_is_gated() -> None:
    assert translated(pod("a", schedulingGates=[{"name": "wait"}])).gated
    assert not translated(pod("a", schedulingGates=[])).gated


def test_a_pod_with_a_deletion_timestamp_is_being_deleted() -> None:
    assert translated(pod("a", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})).deleting


@pytest.mark.parametrize(("phase", "finished"), [("Pending", False), ("Running", False), ("Succeeded", True), ("Failed", True)])
def test_a_finished_pod_is_finished(phase: str, finished: bool) -> None:
    assert translated(pod("a", status={"phase": phase})).finished is finished


@pytest.mark.parametrize(
    ("manifest", "features"),
    [
        (pod("a"), ()),
        (pod("a", {"name": "c", "restartPolicyRules": [{"action": "Restart"}]}), ()),
        (
            pod("a", {"name": "c", "restartPolicyRules": [{"action": "Restart"}, {"action": "RestartAllContainers"}]}),
            ("RestartAllContainersOnContainerExits",),
        ),
        (
            pod("a", initContainers=[{"name": "i", "restartPolicyRules": [{"action": "RestartAllContainers"}]}]),
            ("RestartAllContainersOnContainerExits",),
        ),
        (pod("a", hostNetwork=True), ()),
        (pod("a", hostUsers=False), ()),
        (pod("a", hostNetwork=True, hostUsers=True), ()),
        (pod("a", hostNetwork=True, hostUsers=False), ("UserNamespacesHostNetworkSupport",)),
    ],
)
def test_a_pod_needs_the_features_that_follow_from_what_it_is(manifest: Json, features: tuple[str, ...]) -> None:
    assert translated(manifest).constraints.features == features


def test_a_node_declares_features() -> None:
    assert translated_node({"metadata": {"name": "n"}, "status": {"declaredFeatures": ["B", "A"]}}).features == ("A", "B")
    assert translated_node({"metadata": {"name": "n"}, "status": {"declaredFeatures": None}}).features == ()


def for_node(*names: str, key: str = "metadata.name") -> Json:
    """The affinity with which the DaemonSet controller makes pods."""
    term = {"matchFields": [{"key": key, "operator": "In", "values": list(names)}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


DAEMON: Json = {"metadata": {"ownerReferences": [{"kind": "DaemonSet", "name": "d", "uid": "u", "controller": True}]}}


@pytest.mark.parametrize(
    ("manifest", "expected"),
    [
        (pod("a"), ""),
        (pod("a", status={"phase": "Pending", "nominatedNodeName": "n"}), "n"),
        (pod("a", status={"phase": "Pending", "nominatedNodeName": "n"}, nodeName="m"), ""),
        (pod("a", affinity=for_node("n"), **DAEMON), "n"),
        (pod("a", affinity=for_node("n")), ""),
        (pod("a", affinity=for_node("n", "m"), **DAEMON), ""),
        (pod("a", affinity=for_node("n", key="metadata.other"), **DAEMON), ""),
        (pod("a", affinity={"nodeAffinity": {}}, **DAEMON), ""),
        (pod("a", **DAEMON), ""),
    ],
)
def test_a_pod_is_expected_where_it_is_nominated_or_made_for(manifest: Json, expected: str) -> None:
    assert translated(manifest).expected == expected


def leaving(text: str) -> NodeSpec:
    return translated_node({"metadata": {"name": "n", "annotations": {"treadle.dev/headroom": text}}})


def test_a_node_may_leave_something_to_others() -> None:
    assert leaving("cpu=2, memory=4Gi,pods=10%").headroom == (
        ("cpu", Limit(value=2000)),
        ("memory", Limit(value=4 << 30)),
        ("pods", Limit(percent=10.0)),
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is not a list, parted by commas, of TYPE=AMOUNT"),
        ("cpu", "is not a list, parted by commas, of TYPE=AMOUNT"),
        ("cpu=1,cpu=2", "names cpu twice"),
        ("cpu=much", "cpu: "),
        ("cpu=-1", "cpu: "),
        ("cpu=101%", "a percentage from 0% to 100%"),
        ("cpu=x%", "cpu: "),
        ("cpu=nan%", "a percentage from 0% to 100%"),
        ("cpu=" + "1" * 2000, "is not a list"),
    ],
)
def test_what_a_node_leaves_in_words_that_make_no_sense_is_told_and_nothing_is_left(text: str, words: str) -> None:
    found = leaving(text)
    assert found.headroom == ()
    assert found.problem.startswith("metadata.annotations[treadle.dev/headroom]: ")
    assert words in found.problem


def says(text: str) -> NodeSpec:
    return translated_node({"metadata": {"name": "n", "annotations": {"treadle.dev/over-allocation": text}}})


def test_a_node_may_say_how_far_it_may_be_over_allocated() -> None:
    found = says("cpu.allocationPercent=40, cpu.preemptionPercent=60,cpu.borneSamples=2,maximumPercent=150")
    assert found.over_allocation == NodeWord((("cpu", Threshold(400, 600, 2)),), 1500)
    assert says("maximumPercent=0").over_allocation == NodeWord((), 0)
    assert found.problem == ""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "'' is no FIELD=NUMBER; allowed fields are maximumPercent, cpu.allocationPercent, cpu.preemptionPercent, "),
        ("gpu.allocationPercent=1", "'gpu.allocationPercent=1' is no FIELD=NUMBER; allowed fields are "),
        ("maximumPercent=1,maximumPercent=2", "maximumPercent stands there twice"),
        ("maximumPercent=-1", "maximumPercent: '-1' is not allowed; it is a whole number from 0 to 1000"),
        ("maximumPercent=²", "maximumPercent: '²' is not allowed; it is a whole number from 0 to 1000"),
        ("cpu.allocationPercent=101", "cpu.allocationPercent: '101' is not allowed; it is a whole number from 0 to 100"),
        ("cpu.allocationPercent=10", "cpu: allocationPercent and preemptionPercent are required together"),
        (
            "memory.allocationPercent=20,memory.preemptionPercent=10",
            "memory.preemptionPercent: 10 is less than allocationPercent, 20",
        ),
        ("x" * 1001, "is too long: 1001 characters; at most 1000 are allowed"),
    ],
)
def test_what_a_node_says_of_that_and_cannot_be_read_is_told_by_its_field(text: str, words: str) -> None:
    found = says(text)
    assert found.over_allocation is None
    assert found.problem.startswith("metadata.annotations[treadle.dev/over-allocation]: ")
    assert words in found.problem


def tells(text: str) -> NodeSpec:
    return translated_node({"metadata": {"name": "n", "annotations": {"treadle.dev/pressure": text}}})


def test_a_node_may_say_from_which_pressure_on_it_takes_no_opportunistic_pods() -> None:
    found = says(
        "pressure.memory.allocationPercent=10,pressure.memory.preemptionPercent=30,pressure.cpu.of=Full,"
        "pressure.cpu.allocationPercent=20,pressure.cpu.preemptionPercent=50,pressure.cpu.borneSamples=4"
    )
    on_cpu, on_memory = PressureThreshold("cpu", "Full", 200, 500, 4), PressureThreshold("memory", "Some", 100, 300)
    assert found.over_allocation == NodeWord((), None, (on_cpu, on_memory))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("pressure.cpu.of=Most", "pressure.cpu.of: 'Most' is not allowed; it is Some or Full"),
        ("pressure.cpu.of=Some", "pressure.cpu: allocationPercent and preemptionPercent are required together"),
        ("pressure.gpu.of=Some", "'pressure.gpu.of=Some' is no FIELD=NUMBER; allowed fields are "),
        ("pressure.cpu.of=Some,pressure.cpu.of=Full", "pressure.cpu.of stands there twice"),
    ],
)
def test_thresholds_of_pressure_of_a_node_that_cannot_be_read_are_told_by_their_field(text: str, words: str) -> None:
    assert says(text).over_allocation is None
    assert words in says(text).problem


def test_a_node_may_tell_itself_how_long_tasks_wait() -> None:
    found = tells("memory.some=12.5, memory.full=3,cpu.some=0,at=1970-01-01T00:01:40.5Z")
    assert found.pressure == NodePressure(((("cpu", "Some"), 0), (("memory", "Full"), 30), (("memory", "Some"), 125)), 100.5)
    assert found.problem == ""
    assert found == tells("memory.some=1,at=2026-12-01T01:00:00Z"), "it decides nothing about other pods"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("memory.some=1", "at is required: when it was read, such as 2026-12-01T01:00:00Z"),
        ("memory.some=1,at=now", "at: 'now' must be a time with its zone, such as 2026-12-01T01:00:00Z"),
        (
            "memory.some=101,at=2026-12-01T01:00:00Z",
            "memory.some: '101' is not allowed; it is a number from 0 to 100, such as 12.5",
        ),
        ("memory.some=-1", "memory.some: '-1' is not allowed"),
        ("memory.some=1e1", "memory.some: '1e1' is not allowed"),
        ("memory.some=²", "memory.some: '²' is not allowed"),
        ("io.some=1", "'io.some=1' is no FIELD=VALUE; allowed fields are cpu.some, cpu.full, memory.some, memory.full and at"),
        ("cpu.some=1,cpu.some=1", "cpu.some stands there twice"),
        ("", "'' is no FIELD=VALUE"),
        ("x" * 257, "is too long: 257 characters; at most 256 are allowed"),
    ],
)
def test_what_a_node_tells_of_pressure_and_cannot_be_read_is_told_by_its_field(text: str, words: str) -> None:
    assert tells(text).pressure is None
    assert tells(text).problem.startswith("metadata.annotations[treadle.dev/pressure]: ")
    assert words in tells(text).problem


SCHEDULED = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes are available."}


def test_what_the_api_says_of_a_waiting_pod_already_is_not_said_again() -> None:
    assert translated(pod("a", status={"conditions": [SCHEDULED]})).reported == ("Unschedulable", "0/3 nodes are available.")


@pytest.mark.parametrize(
    "manifest",
    [
        pod("a"),
        pod("a", status={"conditions": [{**SCHEDULED, "status": "True"}]}),
        pod("a", status={"conditions": [{**SCHEDULED, "type": "Ready"}]}),
        pod("a", nodeName="n", status={"conditions": [SCHEDULED]}),
    ],
)
def test_nothing_counts_as_reported_otherwise(manifest: Json) -> None:
    assert translated(manifest).reported == ("", "")


# -- what it asks of its node


def test_a_pod_without_rules_shares_one_object_with_all_others() -> None:
    assert translated(pod("a")).constraints is translated(pod("b")).constraints


def test_pods_with_the_same_tolerations_share_one_object() -> None:
    tolerations = [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule", "tolerationSeconds": 5}]
    one, other = (translated(pod(name, tolerations=tolerations)).constraints for name in "ab")

    assert one is other
    assert one.tolerations == (Toleration("gpu", "Exists", "", "NoSchedule"),)


def test_a_toleration_without_an_operator_means_equal() -> None:
    assert translated(pod("a", tolerations=[{"key": "k", "value": "v"}])).constraints.tolerations == (
        Toleration("k", "Equal", "v", ""),
    )


def test_the_node_selector_is_ordered() -> None:
    assert translated(pod("a", nodeSelector={"z": "1", "a": "2"})).constraints.selector == (("a", "2"), ("z", "1"))


def test_required_node_affinity_is_taken_over_term_by_term() -> None:
    terms = [
        {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["x", "y"]}, {"key": "gpu", "operator": "Exists"}]},
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]},
        {},
    ]
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}

    assert translated(pod("a", affinity=affinity)).constraints.affinity == (
        (Requirement("zone", "In", ("x", "y")), Requirement("gpu", "Exists")),
        (Requirement("metadata.name", "In", ("n",), field=True),),
        (),
    )


def test_preferred_affinity_alone_is_no_rule() -> None:
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": {}}]}}
    found = translated(pod("a", affinity=affinity)).constraints

    assert (found.affinity, found.unsupported, found.wish) == (None, (), None)


def test_preferred_terms_and_places_are_taken_over_as_wishes() -> None:
    term = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
    preferred = [{"weight": 7, "preference": term}, {"weight": 3, "preference": {}}]
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    notes = {"treadle.dev/locality-nodes": "n1, n2", "treadle.dev/locality-racks": "a"}
    found = translated(pod("a", metadata={"annotations": notes}, affinity=affinity)).constraints

    assert found.wish == Wish(("n1", "n2"), ("a",), ((7, (Requirement("disk", "In", ("ssd",)),)),))
    insists = translated(pod("a", metadata={"annotations": {**notes, "treadle.dev/relax-locality": "false"}})).constraints.wish
    assert insists == Wish(("n1", "n2"), ("a",), relax=False)


@pytest.mark.parametrize(
    ("notes", "words"),
    [
        ({"treadle.dev/locality-nodes": "n", "treadle.dev/relax-locality": "no"}, '\'no\' is not "true" or "false"'),
        ({"treadle.dev/relax-locality": "false"}, "names no place; treadle.dev/locality-nodes or"),
    ],
)
def test_places_that_make_no_sense_are_a_problem_of_the_pod(notes: Json, words: str) -> None:
    assert words in translated(pod("a", metadata={"annotations": notes})).problem


def test_host_ports_of_containers_and_sidecars_count_and_those_of_init_containers_do_not() -> None:
    port = [{"containerPort": 80, "hostPort": 8080}]
    local = [{"containerPort": 53, "hostPort": 53, "protocol": "UDP", "hostIP": "10.0.0.1"}]
    found = translated(
        pod(
            "a",
            container("web", ports=[*port, {"containerPort": 81}]),
            initContainers=[
                container("dns", always=True, ports=local),
                container("once", ports=[{"containerPort": 1, "hostPort": 1}]),
            ],
        )
    ).constraints.host_ports

    assert found == (HostPort("10.0.0.1", "UDP", 53), HostPort("0.0.0.0", "TCP", 8080))


UNSUPPORTED: dict[str, tuple[Json, Json]] = {
    "spec.topologySpreadConstraints with whenUnsatisfiable Never": (
        {"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "Never"}]},
        {},
    ),
    "spec.topologySpreadConstraints with whenUnsatisfiable Always": (
        {"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "Always"}]},
        {},
    ),
}


@pytest.mark.parametrize(
    ("name", "spec", "metadata"), [(name, *parts) for name, parts in UNSUPPORTED.items()], ids=UNSUPPORTED.keys()
)
def test_a_hard_rule_that_is_not_built_is_named(name: str, spec: Json, metadata: Json) -> None:
    assert translated(pod("a", metadata=metadata, **spec)).constraints.unsupported == (name,)


def test_several_unsupported_rules_are_all_named() -> None:
    spread = [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": when} for when in ("Never", "Always")]
    found = translated(pod("a", topologySpreadConstraints=spread))

    assert found.constraints.unsupported == (
        "spec.topologySpreadConstraints with whenUnsatisfiable Always",
        "spec.topologySpreadConstraints with whenUnsatisfiable Never",
    )


@pytest.mark.parametrize(
    ("spec", "metadata"),
    [
        ({"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}]}, {}),
        ({"affinity": {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]}}}, {}),
        (
            {
                "volumes": [
                    {"name": "v", "configMap": {"name": "c"}},
                    {"name": "w", "emptyDir": {}},
                    {"name": "x", "hostPath": {"path": "/"}},
                ]
            },
            {},
        ),
        ({}, {"labels": {"treadle.dev/execution-type": "Guaranteed"}}),
        ({"affinity": {"podAffinity": None, "nodeAffinity": None}, "volumes": None, "tolerations": None}, {}),
    ],
)
def test_what_has_no_say_in_the_choice_of_a_node_is_not_refused(spec: Json, metadata: Json) -> None:
    assert translated(pod("a", metadata=metadata, **spec)).constraints.unsupported == ()


# -- what cannot be understood, or would be broken by a bind


def test_a_bad_quantity_is_the_pods_problem_and_raises_nothing() -> None:
    found = translated(pod("a", container("web", cpu="lots")))

    assert found.problem.startswith("spec.containers[web].resources.requests[cpu]: 'lots' is not a quantity")
    assert found.demand == (("pods", 1),)


def test_a_pod_without_a_spec_is_nobodys() -> None:
    found = translated({"metadata": {"name": "a", "uid": "u"}})

    assert (found.uid, found.scheduler, found.node) == ("u", "", "")


def test_a_name_too_long_to_be_written_with_a_bind_is_a_problem() -> None:
    found = labelled(annotations={"treadle.dev/application": "x" * 254})

    assert "has 254 characters; at most 253 are allowed" in found.problem
    assert found.application == "etl/pod/driver"


def test_the_longest_name_allowed_is_none() -> None:
    assert labelled(annotations={"treadle.dev/application": "x" * 253}).problem == ""


def test_annotations_that_leave_no_room_for_the_allocation_are_a_problem_since_the_bind_would_break_the_pod() -> None:
    assert "bytes; at most" in labelled(annotations={"note": "é" * (128 * 1024)}).problem
    assert labelled(annotations={"note": "x" * (254 * 1024)}).problem == ""


def test_a_pod_that_is_on_a_node_needs_no_room_for_a_bind() -> None:
    metadata = {"annotations": {"note": "é" * (128 * 1024)}}
    assert translated(pod("driver", metadata=metadata, nodeName="n")).problem == ""
    assert "bytes; at most" in translated(pod("driver", metadata=metadata)).problem


# -- nodes


def test_a_nodes_allocatable_labels_taints_and_cordon_are_taken_over() -> None:
    found = translated_node(node("n", spec={"unschedulable": True, "taints": [{"key": "gpu", "effect": "NoExecute"}]}))

    assert found.allocatable == {"cpu": 4000, "memory": 16 << 30, "pods": 110}
    assert found.labels == {"kubernetes.io/hostname": "n"}
    assert found.taints == (Taint("gpu", "", "NoExecute"),)
    assert found.unschedulable


def test_an_amount_of_a_node_that_is_no_quantity_or_negative_counts_as_none() -> None:
    found = translated_node(node("n", cpu="many", memory="-5"))

    assert found.allocatable == {"cpu": 0, "memory": 0, "pods": 110}


def test_a_node_without_a_status_has_nothing() -> None:
    assert translated_node({"metadata": {"name": "n"}, "spec": {"taints": None}}) == NodeSpec("n", {})


def test_the_skeleton_of_a_bookmark_can_be_read() -> None:
    bookmark = {
        "metadata": {"resourceVersion": "5"},
        "spec": {"containers": None, "initContainers": None},
        "status": {"conditions": None},
    }

    assert translated(bookmark).name == ""


PARTS: list[Json] = [
    {"nodeSelector": {"a": "b"}},
    {"affinity": {"nodeAffinity": {}}},
    {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{}]}}},
    {"tolerations": [{"key": "a", "operator": "Exists"}]},
    {"containers": [{"name": "a", "ports": [{"containerPort": 80}]}]},
    {"containers": [{"name": "a", "ports": [{"containerPort": 80, "hostPort": 80}]}]},
    {"initContainers": [{"name": "i", "restartPolicy": "Always", "ports": [{"hostPort": 81}]}]},
    {"topologySpreadConstraints": [{"whenUnsatisfiable": "DoNotSchedule"}]},
    {"volumes": [{"emptyDir": {}}, {"projected": {}}]},
    {"volumes": [{"emptyDir": {}}, {"persistentVolumeClaim": {"claimName": "c"}}]},
    {"resourceClaims": [{"name": "c"}]},
    {"schedulingGroup": {"podGroupName": "g"}},
]
WORDS: list[dict[str, str]] = [
    {},
    {"treadle.dev/queue": "root.a"},
    {"treadle.dev/gang": "g"},
    {"treadle.dev/execution-type": "opportunistic"},
    {"treadle.dev/placement-constraints": "x"},
    {"treadle.dev/locality-nodes": "n1"},
    {"treadle.dev/relax-locality": "maybe"},
]


@given(st.lists(st.sampled_from(PARTS), max_size=3), st.sampled_from(WORDS), st.sampled_from(WORDS))
def test_a_plain_pod_is_told_apart_only_where_all_its_rules_come_to_nothing(
    parts: list[Json], own: dict[str, str], notes: dict[str, str]
) -> None:
    manifest = {
        "metadata": {"labels": own, "annotations": notes},
        "spec": {key: value for part in parts for key, value in part.items()},
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(translate, "_is_plain", lambda *_: False)
        whole = translated(manifest)

    assert translated(manifest) == whole


def test_a_pod_may_say_how_long_it_runs_and_how_long_it_may_and_its_kubelet_when_it_began() -> None:
    seen = translated(
        pod(
            metadata={"annotations": {"treadle.dev/expected-duration": "1h30m"}},
            status={"phase": "Running", "startTime": "1970-01-01T00:01:40Z"},
            activeDeadlineSeconds=7200,
        )
    )
    assert (seen.duration, seen.longest, seen.started, seen.unread_duration) == (5400.0, 7200.0, 100.0, "")
    assert (translated(pod()).duration, translated(pod()).longest, translated(pod()).started) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1d", "must be a duration such as 30s, 15m, 1h30m or 500ms"),
        ("0s", "must be more than 0 and at most 10 years"),
        ("900000h", "must be more than 0 and at most 10 years"),
        ("soon", "must be a duration such as 30s, 15m, 1h30m or 500ms"),
    ],
)
def test_a_run_time_that_makes_no_sense_is_told_and_the_pod_is_scheduled(text: str, words: str) -> None:
    seen = labelled(annotations={"treadle.dev/expected-duration": text})
    assert seen.unread_duration == f"metadata.annotations[treadle.dev/expected-duration]: {text!r} {words}"
    assert (seen.duration, seen.problem) == (0.0, "")
