"""Gangs that wait for nodes which are asked for: what they are told, and which of them nodes may be asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from core.builders import Scenario, a_pod, limits
from core.clusters import Cluster
from treadle.core.events import (
    ApplicationSeen,
    GangRequested,
    PodGroupSeen,
    PodGroupsServed,
    PodSeen,
    ProvisionerKnown,
    SchedulerSeen,
)
from treadle.core.model import ApplicationSpec, GangSettings, GangSpec, PodGroupSpec
from treadle.core.model.gangs import Provisioning
from treadle.core.views.provisioning import Lack

CHECK = Provisioning("check-capacity.autoscaling.x-k8s.io")
ON = GangSettings(provisioning=CHECK)


def gang(at: Any, count: int, application: str = "app", least: int | None = None, **fields: Any) -> Any:
    minimums = (("g", least or count),)
    return at.tell(
        *(
            PodSeen(a_pod(f"{application}-{n}", application=application, gang="g", gang_minimums=minimums, **fields))
            for n in range(count)
        )
    )


def asking(cpu: int = 2, **settings: Any) -> Scenario:
    """One node, and a scheduler that asks for nodes for gangs."""
    return Scenario().scheduler(gangs=ON, **settings).nodes(1, cpu=cpu).tell(ProvisionerKnown(True))


def lacking(at: Scenario) -> list[Lack]:
    return at.core.view.gangs_lacking()


def test_a_gang_for_which_nodes_are_asked_is_not_unschedulable_from_the_first() -> None:
    at = gang(asking(), 3)
    at.plan()
    reason, words = at.why("app-0")
    assert reason == "NodesRequested"
    assert words == (
        'gang "g" starts with 3 pods: 0 are placed, and of the 3 others at most 2 fit now. '
        "Nodes for all of them are about to be asked for (check-capacity.autoscaling.x-k8s.io)"
    )


def test_without_the_setting_it_is() -> None:
    at = gang(Scenario().nodes(1, cpu=2).tell(ProvisionerKnown(True)), 3)
    at.plan()
    assert at.why("app-0")[0] == "Unschedulable"
    assert lacking(at) == []


def test_where_nodes_cannot_be_asked_for_it_is_and_says_so() -> None:
    at = gang(asking(), 3).tell(ProvisionerKnown(False))
    at.plan()
    reason, words = at.why("app-0")
    assert reason == "Unschedulable"
    assert words.endswith("No nodes are asked for: the API server has no ProvisioningRequests (autoscaling.x-k8s.io)")
    problem = at.core.view.provisioning_problem
    assert problem == "the API server has no ProvisioningRequests (autoscaling.x-k8s.io)"


@pytest.mark.parametrize(
    ("phase", "reason"),
    [
        ("pending", "NodesRequested"),
        ("provisioned", "NodesRequested"),
        ("failed", "ProvisioningFailed"),
        ("refused", "Unschedulable"),
        ("", "NodesRequested"),
    ],
)
def test_what_became_of_the_request_is_told(phase: Any, reason: str) -> None:
    at = gang(asking(), 3)
    at.plan()
    at.tell(GangRequested("ns/app", "g", phase, "It is so"))
    at.plan()
    assert at.why("app-0")[0] == reason
    assert at.why("app-0")[1].endswith(". It is so" if phase else "(check-capacity.autoscaling.x-k8s.io)")
    at.wait(4.0).plan()
    assert {(one.reason, one.name) for one in at.reports} == {(reason, f"app-{n}") for n in range(3)}


def test_owners_are_told_when_the_request_has_come_to_something() -> None:
    at = gang(asking(), 3)
    at.plan()
    at.wait(4.0).plan()
    at.tell(GangRequested("ns/app", "g", "failed", "no quota"))
    told = []
    for _ in range(40):
        at.wait(1.0).plan()
        told += [one.reason for one in at.reports]
    assert told == ["ProvisioningFailed"] * 3


def test_other_pods_are_unschedulable_as_ever() -> None:
    at = asking().pod("alone", cpu=4)
    at.plan()
    assert at.why("alone")[0] == "Unschedulable"


def test_what_a_gang_lacks_is_told_by_kinds_of_pods() -> None:
    at = asking(cpu=1)
    gang(at, 3, least=4)
    at.tell(PodSeen(a_pod("big", gang="g", cpu=3, gang_minimums=(("g", 4),))))
    at.plan()
    (one,) = lacking(at)
    assert (one.application, one.gang, one.asked, one.short, one.selector) == ("ns/app", "g", CHECK, True, ())
    assert sorted((each.count, each.pod) for each in one.pods) == [(1, "big"), (3, "app-0")]
    assert dict(one.pods[0].demand)["cpu"] in {1000, 3000}


def test_pods_beyond_the_minimum_are_not_asked_for() -> None:
    at = gang(asking(), 5, least=3)
    at.plan()
    (one,) = lacking(at)
    assert [each.count for each in one.pods] == [3]


def test_a_gang_that_its_queue_holds_back_is_not_asked_for() -> None:
    at = asking(cpu=8).queue("root.a", maximum=limits(cpu="2"))
    gang(at, 2, "first", queue="root.a")
    gang(at, 2, "second", queue="root.a")
    at.plan()
    assert at.why("second-0")[0] == "QueueMaximum"
    assert lacking(at) == []


def test_a_gang_that_waits_for_nodes_in_a_queue_that_has_become_full_is_not_short() -> None:
    at = asking(cpu=2).queue("root.a", maximum=limits(cpu="4"))
    gang(at, 3, queue="root.a")
    at.plan()
    assert [one.short for one in lacking(at)] == [True]
    at.queue("root.a", maximum=limits(cpu="2"))
    at.wait(1.0).plan()
    assert [one.short for one in lacking(at)] in ([False], [])


def test_a_gang_that_has_started_lacks_nothing() -> None:
    at = gang(asking(), 3)
    at.plan()
    at.node("more", cpu=2)
    assert len(at.plan()) == 3
    assert lacking(at) == []
    assert at.core.view.gangs_lacking([("ns/app", "g")]) == []


def test_a_gang_that_is_gone_lacks_nothing_and_is_forgotten() -> None:
    at = gang(asking(), 3)
    at.plan()
    at.tell(GangRequested("ns/app", "g", "pending", "x"))
    at.gone("app-0", "app-1", "app-2").plan()
    assert lacking(at) == []
    assert not at.core.state.gangs.requests
    at.tell(GangRequested("ns/app", "g", "pending", "x"))
    assert not at.core.state.gangs.requests, "nothing is kept of who is not known"


def test_a_gang_of_which_pods_are_missing_is_told_without_any_if_nodes_were_asked_for() -> None:
    at = gang(asking(), 3)
    at.plan()
    at.gone("app-1").plan()
    (one,) = at.core.view.gangs_lacking([("ns/app", "g")])
    assert (one.pods, one.short) == ((), False)


def test_an_application_says_otherwise() -> None:
    other = Provisioning("best-effort-atomic-scale-up.autoscaling.x-k8s.io", (("ValidUntilSeconds", "600"),))
    at = asking()
    at.tell(ApplicationSeen(ApplicationSpec("ns/mine", provisioning=other, uid="u1", gangs=(GangSpec("g", 3),))))
    at.tell(ApplicationSeen(ApplicationSpec("ns/none", provisioning=Provisioning("none"), gangs=(GangSpec("g", 3),))))
    gang(at, 3, "mine")
    gang(at, 3, "none")
    at.plan()
    (one,) = lacking(at)
    assert (one.application, one.asked, one.object_uid) == ("ns/mine", other, "u1")
    assert at.why("none-0")[0] == "Unschedulable"


def test_an_application_may_ask_where_the_scheduler_does_not() -> None:
    at = Scenario().nodes(1, cpu=2).tell(ProvisionerKnown(True), ApplicationSeen(ApplicationSpec("ns/app", provisioning=CHECK)))
    gang(at, 3)
    at.plan()
    assert [one.asked for one in lacking(at)] == [CHECK]
    assert at.why("app-0")[0] == "NodesRequested"


def test_a_gang_in_a_partition_asks_for_nodes_with_its_label() -> None:
    at = Cluster().capacity(partitions={"gpu": True}).share("root.a", "100%", accessible=frozenset({"gpu"}))
    at.tell(ProvisionerKnown(True))
    at.node("g", cpu=2, labels={"treadle.dev/partition": "gpu"})
    spec = at.core.state.scheduler
    at.tell(SchedulerSeen(replace(spec, gangs=ON)))
    gang(at, 3, queue="root.a", partition="gpu")
    at.plan()
    for one in lacking(at):
        assert one.selector == (("treadle.dev/partition", "gpu"),)


def test_a_core_that_is_made_anew_knows_what_was_asked_for() -> None:
    at = gang(asking(), 3)
    at.plan()
    at.tell(GangRequested("ns/app", "g", "failed", "no quota"))
    other = at.core.fresh()
    for event in at.core.facts():
        other.handle(event, at.now)
    other.plan(at.now)
    found = other.explain("app-0")
    assert found is not None
    assert found.reason == "ProvisioningFailed"


def test_a_pod_group_is_a_gang_like_any_other() -> None:
    at = asking().tell(PodGroupsServed("Volcano", served=True), PodGroupSeen(PodGroupSpec("Volcano", "ns/g", 3)))
    at.tell(*(PodSeen(a_pod(f"p-{n}", gang="g", gang_source="Volcano")) for n in range(3)))
    at.plan()
    assert [(one.application, one.gang) for one in lacking(at)] == [("ns/app", "g")]
