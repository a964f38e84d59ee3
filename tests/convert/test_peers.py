"""Files of YuniKorn, Kueue and Volcano, in the shapes that public ones have: what they become, that it is in force, and the shares that result."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

from convert.command import by_name
from convert.peers import FILES, YUNIKORN, cluster_queue, cohort, volcano
from core.builders import Scenario, a_node, a_pod
from treadle.api.objects import parse
from treadle.controllers import translate
from treadle.convert.peer_files import convert, is_of_peer
from treadle.convert.peers import PeerRefused
from treadle.core.events import NodeSeen, PodSeen, QueueSeen, SchedulerSeen
from treadle.core.kernel.state import State

CORES = 100
BOMB = "a: &a [x]\n" + "".join(
    f"{now}: &{now} [{', '.join([f'*{before}'] * 9)}]\n" for before, now in zip("abcdef", "bcdefg", strict=True)
)


def converted(text: str) -> tuple[dict[str, dict[str, Any]], list[str]]:
    found = convert(textwrap.dedent(text).encode())
    return by_name(found.objects), found.notes


def live(text: str) -> State:
    """Tell a core with 100 cores what a file becomes, with more pods in each leaf than there is room for, and let it share."""
    scenario = Scenario()
    scenario.tell(NodeSeen(a_node("n", cpu=CORES, memory=4 * CORES, pods=10_000)))
    leaves: list[str] = []
    for one in convert(textwrap.dedent(text).encode()).objects:
        model = parse(one["kind"], one)
        if model.kind == "Scheduler":
            scenario.tell(SchedulerSeen(translate.scheduler(model, ())))
        else:
            scenario.tell(QueueSeen(translate.queue(model)))
            leaves.append(model.metadata.name)
    scenario.plan()
    state = scenario.core.state
    leaves = [path for path in leaves if state.tree.queues[path].leaf and path != "root"]
    for path in leaves:
        scenario.tell(*(PodSeen(a_pod(f"{path}-{number}", path, f"{path}-app", cpu=1)) for number in range(CORES + 20)))
    scenario.plan()
    scenario.core.refresh_shares()
    return scenario.core.state


def cores(state: State) -> dict[str, float]:
    """Return the fair shares of leaves, in cores."""
    position = state.types.names.index("cpu")
    return {path: queue.fair_share[position] / 1000 for path, queue in state.tree.queues.items() if queue.leaf and path != "root"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [pytest.param(*case, id=name) for name, case in FILES.items()],
)
def test_a_file_is_in_force_and_shares_as_it_says(text: str, expected: dict[str, float]) -> None:
    state = live(text)
    assert (state.discipline.name, state.discipline_problem, state.tree.problems) == ("Fair", "", {})
    assert cores(state) == pytest.approx(expected, abs=0.01)


def test_yunikorns_settings_become_fields_and_a_line_each_for_the_rest() -> None:
    found, notes = converted(YUNIKORN["properties"][0])
    assert found["treadle"]["fair"] == {"preemption": True, "defaultMinSharePreemptionTimeout": "30s"}
    assert found["root.a"]["fair"] == {
        "schedulingPolicy": "fifo",
        "minSharePreemptionTimeout": "330s",
        "allowPreemptionFrom": False,
    }
    for field in ("application.sort.policy: counts in leaves", "priority.offset", "priority.policy", "stateaware", "colour"):
        assert sum(field in note for note in notes) == 1, field
    found, notes = converted(YUNIKORN["limits of users, applications and templates"][0])
    assert found["treadle"]["fair"]["userMaxAppsDefault"] == 7
    assert found["treadle"]["fair"]["userMaxApps"] == {"ann": 9}
    assert found["root.a"]["maxRunningApplications"] == 3
    assert found["root.made"] == {"fair": {"maxChildResources": {"cpu": "5"}, "schedulingPolicy": "drf"}, "holdsQueues": True}
    for field in ("groups", "maxresources", "childtemplate.maxapplications", "childtemplate.resources.guaranteed"):
        assert sum(field in note for note in notes) == 1, field
    assert converted(YUNIKORN["in values of the chart"][0])[0]["treadle"]["nodes"] == {"scoring": "Pack"}


ROOTS = """
            queues:
              - name: root
                submitacl: "*"
                queues: [{name: a}, {name: users, parent: true}]
"""


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ("[{name: provided, create: true}]", [{"rule": "specified", "create": True}, {"rule": "reject"}]),
        ("[{name: tag, value: namespace, create: true}]", [{"rule": "namespace", "create": True}]),
        ("[{name: user, create: true}, {name: provided}]", [{"rule": "user", "create": True}]),
        (
            "[{name: user, create: true, parent: {name: fixed, value: users, create: true}}]",
            [{"rule": "user", "create": True, "parent": {"rule": "default", "queue": "root.users", "create": True}}],
        ),
        ("[{name: fixed, value: root.A}]", [{"rule": "default", "queue": "root.a", "create": False}, {"rule": "reject"}]),
        ("[{name: fixed, value: b, create: true, parent: {name: fixed, value: users}}]",
         [{"rule": "default", "queue": "root.users.b", "create": True}]),
        ("[{name: tag, value: team}]", [{"rule": "reject"}]),
        ("[{name: user, filter: {type: allow, users: [ann]}}]", [{"rule": "reject"}]),
        ("[{name: user, create: true, filter: {type: deny, users: [root]}}]", [{"rule": "user", "create": True}]),
        ("[{name: provided, parent: {name: user}}]", [{"rule": "reject"}]),
        ("[{name: user, parent: {name: user}}]", [{"rule": "reject"}]),
        ("[{name: guess}]", [{"rule": "reject"}]),
    ],
)  # fmt: skip
def test_yunikorns_placement_rules_become_ours_and_what_cannot_is_left_out_with_a_line(rules: str, expected: list[Any]) -> None:
    text = f"        partitions:\n          - name: default\n            placementrules: {rules}{ROOTS}"
    found, notes = converted(text)
    assert found["treadle"]["placementRules"] == expected
    as_it_was = len(expected) - (expected[-1] == {"rule": "reject"}) == rules.count("name: ") - rules.count("parent: {")
    assert bool(notes) == (not as_it_was or "filter" in rules)
    live(text)


def test_kueues_local_queues_are_namespaces_that_may_submit_and_say_what_pods_have_to_name() -> None:
    local = "---\n{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: user-queue, namespace: team-a}, spec: {clusterQueue: a}}\n"
    found, notes = converted(cluster_queue("a", nominalQuota=9) + local)
    assert found["root.a"]["submitAcl"] == {"namespaces": ["team-a"]}
    (note,) = notes
    assert note == (
        "LocalQueue team-a/user-queue: pods name queue root.a by the label treadle.dev/queue in place of kueue.x-k8s.io/queue-name; "
        "or none, after kubectl annotate namespace team-a treadle.dev/queue=root.a"
    )


@pytest.mark.parametrize(
    ("selector", "expected", "told"),
    [
        ("{}", {"submitAcl": {"users": ["*"]}}, False),
        ("{matchLabels: {kubernetes.io/metadata.name: ml}}", {"submitAcl": {"namespaces": ["ml"]}}, False),
        (
            "{matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, values: [a, b]}]}",
            {"submitAcl": {"namespaces": ["a", "b"]}},
            False,
        ),
        ("{matchLabels: {team: ml}}", {}, True),
        (
            "{matchLabels: {kubernetes.io/metadata.name: ml}, matchExpressions: [{key: team, operator: Exists}]}",
            {},
            True,
        ),
        ("null", {"state": "Stopped"}, True),
    ],
)
def test_kueues_selectors_of_namespaces_are_carried_over_where_they_name_them(selector: str, expected: Any, told: bool) -> None:
    text = cluster_queue("a", nominalQuota=9).replace("namespaceSelector: {}", f"namespaceSelector: {selector}")
    found, notes = converted(text)
    assert {key: value for key, value in found["root.a"].items() if key != "fair"} == expected
    assert bool(notes) == told


def test_reclaiming_is_preemption() -> None:
    assert converted(cluster_queue("a", nominalQuota=9))[0]["treadle"]["fair"]["preemption"] is False
    found, notes = converted(
        cluster_queue("a", "preemption: {reclaimWithinCohort: Any, withinClusterQueue: LowerPriority}", nominalQuota=9)
    )
    assert found["treadle"]["fair"]["preemption"] is True
    assert len([note for note in notes if "withinClusterQueue" in note]) == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("partitions: []", "partitions: there is none"),
        ("partitions: [{name: default, queues: [{name: root}, {name: a}]}]", "beside root there are others"),
        ("partitions: [{name: default, queues: [{name: a.b}]}]", "'a.b' has a dot"),
        ("partitions: [{name: default, queues: [{name: a}, {name: A}]}]", "would both be called root.a"),
        ("partitions: [{name: default, queues: [{name: a, resources: {max: {vcore: much}}}]}]", "queue root.a: resources.max.vcore: 'much' is not an amount"),
        ("partitions: [{name: default, queues: [{name: a, resources: {max: {vcore: -1}}}]}]", "'-1' is not an amount"),
        ("partitions: [{name: default, queues: [{name: a, maxapplications: many}]}]", "queue root.a: maxapplications: 'many' is not a whole number"),
        ("partitions: [{name: default, queues: [{}]}]", "name: 'None' is not a name"),
        ("partitions: [{name: default, queues: a}]", "queues: 'a' is not a list"),
        ("partitions: [{name: default, queues: [{name: a, properties: {preemption.delay: soon}}]}]", "'soon' is not a time"),
        ("partitions: [{name: default, placementrules: [{name: fixed}], queues: [{name: a}]}]", "placementrules[0].value: there is none"),
        (cluster_queue("a", version="v1alpha1", nominalQuota=1), "apiVersion: 'v1alpha1' is not read; allowed are v1beta1 and v1beta2"),
        (cluster_queue("a", nominalQuota="lots"), "ClusterQueue a: resourceGroups[0]: flavor default: cpu.nominalQuota: 'lots' is not an amount"),
        (cluster_queue("a", nominalQuota=1) * 2, "ClusterQueue a: it is there twice"),
        (cohort("a", "parentName: b") + cohort("b", "parentName: a") + cluster_queue("q"), "Cohorts a, b: they are their own parents"),
        (cohort("a"), "there is no ClusterQueue"),
        (volcano("a", "parent: b"), "Queue a: parent: there is no queue 'b'"),
        (volcano("a", "parent: b") + volcano("b", "parent: a"), "Queues a, b: they are their own parents"),
        (volcano("a") + cluster_queue("b"), "the file is of Kueue and Volcano; one at a time"),
        ("a: [", "not YAML, line 2"),
        (BOMB + "partitions: [*g,*g,*g,*g,*g,*g,*g,*g,*g]", "of more than 2000000 values"),
        ("partitions: " + "[" * 200 + "]" * 200, "nested deeper than 64 levels"),
        ("partitions: [{name: default, queues: [" + "{name: a, queues: [" * 9 + "]}" * 9 + "]}]", "levels"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_with_the_field_the_value_and_what_is_allowed(text: str, words: str) -> None:
    with pytest.raises(PeerRefused) as refused:
        convert(text.encode())
    assert words in str(refused.value)


def test_objects_of_ours_are_not_taken_for_another_schedulers() -> None:
    assert not is_of_peer(b"apiVersion: treadle.dev/v1alpha1\nkind: Queue\nmetadata: {name: root.a}\n")
    assert not is_of_peer(b"just words")
