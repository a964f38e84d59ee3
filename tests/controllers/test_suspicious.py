"""What an object says that is allowed and most likely a mistake."""

from __future__ import annotations

import pytest

from controllers.bodies import Json
from controllers.clusters import Cluster, condition
from core.builders import a_node
from treadle.core.events import NodeSeen, SchedulerSeen
from treadle.core.model import SchedulerSpec


@pytest.fixture
def cluster() -> Cluster:
    """A cluster of 4 cores, 16 GiB and 2 GPUs, with a queue that may have 2 cores."""
    found = Cluster()
    found.core.handle(NodeSeen(a_node("n", resources={"nvidia.com/gpu": 2})), 0.0)
    found.create("Queue", "root.small", {"fair": {"maxResources": {"cpu": "2"}}, "holdsQueues": True})
    return found


def said(cluster: Cluster, path: str = "root.a") -> str:
    cluster.plan()
    status, reason, message = condition(cluster.status("Queue", path), "Suspicious")
    assert (status, reason) == ("True", "LooksWrong")
    return message


def is_quiet(cluster: Cluster, path: str = "root.a") -> bool:
    cluster.plan()
    return all(one["type"] != "Suspicious" for one in cluster.status("Queue", path)["conditions"])


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (
            {"fair": {"maxResources": {"nvidia.com/gpuu": "1"}}},
            "spec.fair.maxResources: no node has nvidia.com/gpuu; did you mean nvidia.com/gpu?",
        ),
        (
            {"fair": {"maxResources": {"vcores": "8"}}},
            "spec.fair.maxResources: no node has vcores; they have cpu, memory, nvidia.com/gpu, pods",
        ),
        (
            {"fair": {"maxContainerAllocation": {"memory": "10m"}}},
            "spec.fair.maxContainerAllocation.memory: 10m is less than 1Mi",
        ),
        ({"fair": {"minResources": {"cpu": "100000"}}}, "spec.fair.minResources.cpu: 100000 is more than all nodes have (4)"),
        ({"fair": {"weight": "0"}}, "spec.fair.weight: 0 leaves the queue its minimum only, and it has no minResources"),
        ({"submitAcl": {"users": ["ann bob"]}}, "spec.submitAcl.users: 'ann bob' is one name; each is an entry of its own"),
        (
            {"priorityAcl": [{"users": ["ann,bob"], "maxPriority": 1}]},
            "spec.priorityAcl.users: 'ann,bob' is one name; each is an entry of its own",
        ),
        ({"capacity": {"guaranteed": "40%"}}, "spec.capacity: counts under the discipline Capacity, and Fair is in force"),
    ],
)
def test_it_is_named_with_what_was_probably_meant(cluster: Cluster, spec: Json, words: str) -> None:
    cluster.create("Queue", "root.a", spec)
    assert said(cluster) == words


def test_a_minimum_over_the_maximum_of_the_queue_above(cluster: Cluster) -> None:
    cluster.create("Queue", "root.small.a", {"fair": {"minResources": {"cpu": "3", "memory": "1Gi"}}})
    assert said(cluster, "root.small.a") == "spec.fair.minResources.cpu: 3 is over the maximum of root.small (2)"


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"fair": {"minResources": {"cpu": "2", "memory": "50%"}, "maxResources": {"nvidia.com/gpu": "0", "memory": "16Gi"}}},
        {"fair": {"weight": "0", "minResources": {"cpu": "1"}}},
        {"fair": {"maxResources": {"memory": "8Ei"}, "maxContainerAllocation": {"memory": "7999999999G"}}},
        {"submitAcl": {"users": ["CN=ann b,OU=ops", "*"], "groups": ["Domain Users"]}},
    ],
)
def test_what_may_well_be_meant_is_not_spoken_of(cluster: Cluster, spec: Json) -> None:
    cluster.create("Queue", "root.a", spec)
    assert is_quiet(cluster)


def test_it_goes_with_what_looked_wrong(cluster: Cluster) -> None:
    cluster.create("Queue", "root.a", {"fair": {"weight": "0"}})
    assert said(cluster)
    cluster.bodies["root.a"]["status"] = cluster.status("Queue", "root.a")
    cluster.edit("root.a", {"fair": {"weight": "1"}})
    cluster.plan()
    assert condition(cluster.status("Queue", "root.a"), "Suspicious") == ("False", "NothingLooksWrong", "")


def test_of_a_cluster_without_nodes_nobody_can_say_what_it_has() -> None:
    cluster = Cluster()
    for node in list(cluster.core.state.nodes.row):
        cluster.core.handle(NodeSeen(a_node(node, cpu=0, memory=0, pods=0)), 0.0)
    cluster.create("Queue", "root.a", {"fair": {"maxResources": {"vcores": "8"}, "minResources": {"cpu": "9"}}})
    assert is_quiet(cluster)


def test_a_block_of_the_fair_discipline_is_named_under_capacity_by_its_fields(cluster: Cluster) -> None:
    cluster.create("Queue", "root.a", {"capacity": {"guaranteed": "100%"}, "fair": {"weight": "2", "maxAMShare": "0.5"}})
    cluster.edit("root.small", {"capacity": {"guaranteed": "0%"}})
    cluster.core.handle(SchedulerSeen(SchedulerSpec(discipline="Capacity")), 0.0)
    assert said(cluster) == "spec.fair (weight, maxAMShare): counts under the discipline Fair, and Capacity is in force"
    assert is_quiet(cluster, "root.small")


def about_app(cluster: Cluster) -> str:
    cluster.plan()
    found = [one for one in cluster.status("Application", "app", "ns")["conditions"] if one["type"] == "Suspicious"]
    return found[0]["message"] if found else ""


def test_an_application_whose_queue_does_not_exist_is_told_which_was_meant_and_where_it_is(cluster: Cluster) -> None:
    for path in ("root.prod", "root.default"):
        cluster.create("Queue", path)
    cluster.create("Application", "app", {"queue": "root.prd"}, "ns")
    assert about_app(cluster) == "queue root.prd is asked for and does not exist, did you mean root.prod?"
    cluster.pod("p", queue="", application="app")
    assert (
        about_app(cluster)
        == "queue root.prd is asked for and does not exist, did you mean root.prod?; its pods are in root.default"
    )


def test_of_an_application_in_its_queue_or_that_waits_for_it_nothing_is_said(cluster: Cluster) -> None:
    cluster.create("Queue", "root.prod")
    cluster.create("Application", "app", {"queue": "root.prod"}, "ns")
    assert about_app(cluster) == ""
    cluster.pod("p", queue="", application="app")
    assert about_app(cluster) == ""
    cluster.create("Application", "lost", {"queue": "root.gone"}, "ns")
    cluster.pod("q", queue="", application="lost")
    cluster.plan()
    assert cluster.ready("Application", "lost", "ns")[1] == "QueueNotFound", (
        "there is no default queue: its pods wait, and say why"
    )


def about(cluster: Cluster, kind: str, name: str, namespace: str = "") -> str:
    cluster.plan()
    found = [one for one in cluster.status(kind, name, namespace)["conditions"] if one["type"] == "Suspicious"]
    return found[0]["message"] if found else ""


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"capacity": {"maximumApplications": 5}}, "spec.capacity: counts under the discipline Capacity, and Fair is in force"),
        (
            {"fair": {"queueMaxResourcesDefault": {"nvidia.com/gpuu": "1"}}},
            "spec.fair.queueMaxResourcesDefault: no node has nvidia.com/gpuu; did you mean nvidia.com/gpu?",
        ),
        ({"nodes": {"headroom": {"memory": "100m"}}}, "spec.nodes.headroom.memory: 100m is less than 1Mi"),
        (
            {
                "placementRules": [
                    {"rule": "specified"},
                    {"rule": "default", "queue": "root.other", "create": False},
                    {"rule": "reject"},
                ]
            },
            "spec.placementRules[1].queue: there is no queue root.other; the rule does not make it",
        ),
        (
            {"placementRules": [{"rule": "default", "queue": "root.smalls"}]},
            "spec.placementRules[0].queue: there is no queue root.smalls, did you mean root.small?; the rule makes it with its first application",
        ),
    ],
)
def test_of_the_scheduler_in_force_it_is_named_and_of_others_nothing(cluster: Cluster, spec: Json, words: str) -> None:
    for name in ("treadle", "other"):
        cluster.create("Scheduler", name, spec)
    assert about(cluster, "Scheduler", "treadle") == words
    assert about(cluster, "Scheduler", "other") == ""


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"fair": {"preemption": True}, "nodes": {"headroom": {"cpu": "10%"}}},
        {"placementRules": [{"rule": "default", "queue": "root.small"}]},
        {"placementRules": [{"rule": "default", "queue": "root.smalls", "create": True}]},
        {"placementRules": [{"rule": "default", "queue": "root.others"}]},
    ],
)
def test_of_a_scheduler_that_may_well_be_meant_nothing_is_said(cluster: Cluster, spec: Json) -> None:
    cluster.create("Scheduler", "treadle", spec)
    assert about(cluster, "Scheduler", "treadle") == ""


def test_a_reservation_that_asks_for_what_no_node_has_says_so_by_its_request(cluster: Cluster) -> None:
    requests = [
        {"demand": {"cpu": "1"}, "count": 1, "duration": "1h"},
        {"demand": {"nvidia.com/gpuu": "1"}, "count": 1, "duration": "1h"},
    ]
    times = {"arrival": "2026-01-01T00:00:00Z", "deadline": "2026-01-02T00:00:00Z"}
    cluster.create("Reservation", "nightly", {"queue": "root.small", **times, "expression": {"requests": requests}}, "ns")
    assert about(cluster, "Reservation", "nightly", "ns") == (
        "spec.expression.requests[1].demand: no node has nvidia.com/gpuu; did you mean nvidia.com/gpu?"
    )
    cluster.edit("nightly", {"queue": "root.small", **times, "expression": {"requests": requests[:1]}})
    assert about(cluster, "Reservation", "nightly", "ns") == ""
