"""Why pods wait, as data: what holds them, with its numbers, who is ahead, since when, and what has to change."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from core.builders import Scenario, a_node, limits
from core.clusters import Partitioned
from rest.telling import Told, listed, telling
from treadle.core.events import BindDone, NodeSeen, PodSeen
from treadle.core.model import Settings, Taint
from treadle.rest.explaining import EXPLAIN

EPOCH = 1_900_000_000.0


def held_back() -> Scenario:
    """A node of four cores and one that takes nobody. root.data may have two cores: etl has both; lab's waits for the maximum, web's for a node, and one is gated."""
    s = Scenario(Settings(epoch=EPOCH)).node("n", cpu=4)
    s.tell(NodeSeen(a_node("tainted", cpu=64, taints=(Taint("k", "", "NoSchedule"),))))
    s.queue("root", submit=listed(), administer=listed("boss"))
    s.queue("root.data", view=listed("ann"), submit=listed("*"), maximum=limits(cpu=2)).queue("root.data.etl").queue(
        "root.data.lab"
    )
    s.queue("root.web", view=listed("ann"), submit=listed("*"))
    s.wait(10).pods(2, "e", "root.data.etl", application="etl")
    s.wait(1)
    for bind in s.plan():
        s.tell(BindDone(bind.uid), PodSeen(s.core.state.pods[bind.uid].spec))
    s.pods(3, "l", "root.data.lab", application="lab").wait(5).pods(2, "m", "root.data.lab", application="more")
    s.pod("w", "root.web", application="web", cpu=3).pod("g", "root.web", application="gates", gated=True)
    s.wait(5).plan()
    s.core.refresh_shares(s.now)
    return s


@pytest.fixture
async def told() -> AsyncIterator[Told]:
    async with telling(held_back()) as one:
        yield one


async def explained(told: Told, who: str, **query: str) -> Any:
    status, said = await told.ask(who, EXPLAIN, **query)
    assert status == 200, said
    return said


async def test_a_pod_that_finds_its_queue_full_says_which_by_how_much_and_who_is_ahead(told: Told) -> None:
    said = await explained(told, "ann", pod="ns/m-0")
    assert (said["pod"]["name"], said["pod"]["state"]) == ("m-0", "Waiting")
    (held,) = said["held"]
    assert held["reason"] == "QueueMaximum"
    assert held["message"].startswith("queue root.data is at its maximum (maxResources): cpu 2 used of 2, 1 wanted, 1 missing")
    assert held["limit"] == {
        "queue": "root.data", "resource": "cpu", "used": "2", "maximum": "2", "wanted": "1", "missing": "1",
    }  # fmt: skip
    assert held["change"] == "queue root.data lets go of 1 of cpu, or may have so much more"
    assert held["ahead"] == {"pods": 3, "applications": ["ns/lab"]}
    assert (held["since"], held["pods"]) == ("2030-03-17T17:46:56Z", 1)
    assert [one["name"] for one in said["queues"]] == ["root.data.lab", "root.data"], "root is not seen"
    assert said["queues"][1]["maximum"] == {"cpu": "2"}


async def test_a_pod_that_finds_no_node_says_why_and_what_the_closest_one_lacks(told: Told) -> None:
    (held,) = (await explained(told, "ann", pod="ns/w"))["held"]
    nodes = held["nodes"]
    assert (held["reason"], nodes["known"], nodes["roomy"]) == ("Unschedulable", 2, 0)
    assert nodes["reasons"] == {"Insufficient cpu": 1, "node(s) had untolerated taint(s)": 1}
    assert nodes["closest"] == {"lacks": {"cpu": "1"}}, "names of nodes are for who may see nodes"
    assert held["change"] == "1 of cpu come free on a node that admits the pod, or a node is added with room for it"
    told.api.core_rights.add(("boss", "list", "nodes", ""))
    (held,) = (await explained(told, "boss", pod="ns/w"))["held"]
    assert held["nodes"]["closest"] == {"name": "n", "lacks": {"cpu": "1"}}


async def test_the_closest_node_is_told_with_the_rules_that_keep_the_pod_off_it(told: Told) -> None:
    told.scenario.without_node("n").wait(1).plan()
    (held,) = (await explained(told, "ann", pod="ns/w"))["held"]
    assert held["nodes"]["closest"] == {"refusals": ["node(s) had untolerated taint(s)"]}
    assert held["change"].startswith("on the closest node the taint {k: } goes, or the pod tolerates it; or a node is added")


async def test_the_closest_node_is_the_one_that_lacks_the_least(told: Told) -> None:
    told.scenario.node("small", cpu=1).wait(1).plan()
    (held,) = (await explained(told, "ann", pod="ns/w"))["held"]
    assert (held["nodes"]["reasons"]["Insufficient cpu"], held["nodes"]["closest"]) == (2, {"lacks": {"cpu": "1"}})


async def test_what_waits_for_nodes_of_another_partition_is_told_of_its_queue() -> None:
    s = Partitioned().partitions(gpu=True).shares("root.a", "100%", "100%").machines(1, 1)
    s.wait(5).pod("large", "root.a", application="gpus", partition="gpu", cpu=64).wait(1).plan()
    async with telling(s) as told:
        told.api.rights.add(("root", "view", ""))
        (held,) = (await explained(told, "root", queue="root.a"))["held"]
        assert (held["application"], held["pod"], held["reason"]) == ("ns/gpus", "ns/large", "Unschedulable")


async def test_a_pod_that_has_a_node_is_held_by_nothing(told: Told) -> None:
    said = await explained(told, "ann", pod="ns/e-0")
    assert (said["pod"]["node"], said["held"], said["eta"]) == ("n", [], {"asOf": "ns/etl"})


async def test_a_pod_with_gates_is_told_to_who_may_list_pods_where_it_is(told: Told) -> None:
    assert (await told.refusal("boss", EXPLAIN, pod="ns/g"))[0] == 404
    told.api.core_rights.add(("bob", "list", "pods", "ns"))
    said = await explained(told, "bob", pod="ns/g")
    (held,) = said["held"]
    assert (held["reason"], held["change"]) == ("SchedulingGated", "whoever made the gates takes them away")
    assert (said["queues"], "queue" in held) == ([], False)


async def test_an_application_tells_of_each_set_of_pods_that_are_alike(told: Told) -> None:
    told.scenario.pod("l-big", "root.data.lab", application="lab", cpu=3).wait(1).plan()
    said = await explained(told, "ann", application="ns/lab")
    assert (said["application"]["name"], said["application"]["phase"]) == ("lab", "Accepted")
    assert [(one["pod"], one["pods"], one["limit"]["missing"]) for one in said["held"]] == [
        ("ns/l-0", 3, "1"),
        ("ns/l-big", 1, "3"),
    ]
    assert [one["ahead"]["pods"] for one in said["held"]] == [0, 3]


async def test_a_queue_tells_of_what_waits_first_in_each_application_below_it(told: Told) -> None:
    said = await explained(told, "ann", queue="root.data")
    assert said["queue"] == {"name": "root.data", "inForce": True}
    assert [(one["application"], one["pods"], one["reason"]) for one in said["held"]] == [
        ("ns/lab", 3, "QueueMaximum"),
        ("ns/more", 2, "QueueMaximum"),
    ]
    told.scenario.queue("root.data", view=listed("ann"), submit=listed("*"), policy="nothing").plan()
    said = await explained(told, "ann", queue="root.data")
    assert (said["queue"]["inForce"], "nothing" in said["queue"]["problem"]) == (False, True)


@pytest.mark.parametrize(
    ("query", "status", "words"),
    [
        ({}, 400, "one of pod, application, queue is to be named, once; 0 are"),
        ({"pod": "ns/w", "queue": "root"}, 400, "one of pod, application, queue is to be named, once; 2 are"),
        ({"pod": "w"}, 400, "pod: 'w' is not NAMESPACE/NAME"),
        ({"pod": "n_s/w"}, 400, "namespace: 'n_s' is not the name of a namespace"),
        ({"application": "ns/"}, 400, "application: 'ns/' is not NAMESPACE/NAME"),
        ({"queue": ""}, 400, "queue: '' is not the path of a queue, such as root.etl"),
        ({"pod": "ns/none"}, 404, "pod: there is no pod ns/none with an application that user eve may see"),
        ({"pod": "ns/w"}, 404, "pod: there is no pod ns/w with an application that user eve may see"),
        ({"application": "ns/lab"}, 404, "application: there is no application ns/lab with pods that user eve may see"),
        ({"queue": "root.web"}, 403, "User eve may not view queue root.web: neither it nor a queue above it allows that"),
    ],
)
async def test_what_is_not_to_be_seen_or_is_not_there_is_refused(
    told: Told, query: dict[str, str], status: int, words: str
) -> None:
    assert await told.refusal("eve", EXPLAIN, **query) == (status, words)


async def test_a_copy_that_stands_by_explains_nothing(told: Told) -> None:
    told.leader = "treadle-7"
    assert (await told.refusal("ann", EXPLAIN, pod="ns/w"))[0] == 503
