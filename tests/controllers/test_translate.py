"""From objects to what the core is told: every field of the fair settings, users, access lists and placement rules."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from treadle.api.identity import Source
from treadle.api.objects import parse
from treadle.controllers import translate
from treadle.core.errors import InvalidSpec
from treadle.core.model import AccessList, FairSettings, Limit, PlacementRule, QueueSpec, SchedulerSpec
from treadle.core.model.scheduler import TogetherSettings


def queue(**spec: Any) -> QueueSpec:
    return translate.queue(parse("Queue", {"kind": "Queue", "metadata": {"name": "root.a"}, "spec": spec}))  # type: ignore[arg-type]


def scheduler(**spec: Any) -> SchedulerSpec:
    body = {"kind": "Scheduler", "metadata": {"name": "treadle"}, "spec": spec}
    return translate.scheduler(parse("Scheduler", body), ())  # type: ignore[arg-type]


def application(annotations: dict[str, str] | None = None, **spec: Any) -> tuple[str, tuple[str, ...]]:
    meta = {"name": "app", "namespace": "ns", "annotations": annotations or {}}
    model = parse("Application", {"kind": "Application", "metadata": meta, "spec": spec})
    found = translate.application(model, users=Source.CLAIMS)  # type: ignore[arg-type]
    stamped = translate.application(model, users=Source.STAMPS)  # type: ignore[arg-type]
    assert (stamped.user, stamped.groups) == ("", ()), "nobody has stamped it"
    return found.user, found.groups


def test_an_empty_queue_and_an_empty_scheduler_mean_the_cores_defaults() -> None:
    assert queue() == QueueSpec("root.a")
    assert scheduler() == SchedulerSpec("treadle")


def test_every_setting_of_a_queue_is_told() -> None:
    found = queue(
        maxRunningApplications=5,
        holdsQueues=True,
        submitAcl={"users": ["ann"], "groups": ["ops"]},
        administerAcl={},
        opportunistic={"limits": {"cpu": "25%", "memory": "1Gi"}},
        fair={
            "weight": "2.5",
            "minResources": {"cpu": "1"},
            "maxResources": {"cpu": "50%"},
            "maxChildResources": {"cpu": "2"},
            "maxContainerAllocation": {"cpu": "3"},
            "maxAMShare": "0.2",
            "schedulingPolicy": "fair",
            "minSharePreemptionTimeout": "1m",
            "fairSharePreemptionTimeout": "500ms",
            "fairSharePreemptionThreshold": "0.4",
            "allowPreemptionFrom": False,
        },
    )
    assert found == QueueSpec(
        "root.a",
        weight=2.5,
        minimum={"cpu": Limit(1000)},
        maximum={"cpu": Limit(percent=50.0)},
        policy="fair",
        holds_queues=True,
        max_running=5,
        max_master_share=0.2,
        max_container={"cpu": Limit(3000)},
        max_child={"cpu": Limit(2000)},
        max_opportunistic={"cpu": Limit(percent=25.0), "memory": Limit(1 << 30)},
        min_share_timeout=60.0,
        fair_share_timeout=0.5,
        fair_share_threshold=0.4,
        preemptable=False,
        submit=AccessList(frozenset({"ann"}), frozenset({"ops"})),
        administer=AccessList(),
    )


def test_every_setting_of_the_scheduler_is_told() -> None:
    found = scheduler(
        fair={
            "preemption": True,
            "preemptionClusterUtilizationThreshold": "0.5",
            "waitTimeBeforeKill": "1s",
            "waitTimeBeforeNextStarvationCheck": "2s",
            "amPreemption": False,
            "amPreemptionOf": {"root.a": True},
            "sizeBasedWeight": True,
            "reservableNodes": "0.1",
            "localityThresholdNode": "0.2",
            "localityThresholdRack": "0.3",
            "localityDelayNode": "3s",
            "localityDelayRack": "4s",
            "userMaxApps": {"ann": 1},
            "userMaxAppsDefault": 2,
            "queueMaxAppsDefault": 3,
            "queueMaxResourcesDefault": {"cpu": "10%"},
            "queueMaxAMShareDefault": "-1",
            "defaultQueueSchedulingPolicy": "fair",
            "defaultMinSharePreemptionTimeout": "5s",
            "defaultFairSharePreemptionTimeout": "6s",
            "defaultFairSharePreemptionThreshold": "0.6",
            "deleteBlockedVictims": True,
            "holdTimeout": "7s",
        }
    ).fair
    told = {one.name: getattr(found, one.name) for one in fields(FairSettings)}
    untold = {"heartbeat", "assign_multiple", "dynamic_max_assign", "max_assign", "reservation_multiple"}
    untold |= {"increment", "least", "most"}  # of YARN's heartbeats and roundings, which have no meaning on Kubernetes

    assert {name for name, value in told.items() if value == getattr(FairSettings(), name)} == untold
    assert (found.wait_before_kill, found.user_max_running, found.queue_max_default) == (
        1.0,
        {"ann": 1},
        {"cpu": Limit(percent=10)},
    )


def test_the_solver_is_told_with_its_time() -> None:
    assert scheduler().together == TogetherSettings(solver=False, time_limit=0.5)
    assert scheduler(placeTogether={}).together == TogetherSettings()
    assert scheduler(placeTogether={"solver": "HiGHS", "timeLimit": "40ms"}).together == TogetherSettings(True, 0.04)
    assert scheduler(placeTogether={"solver": "None", "timeLimit": "2s"}).together == TogetherSettings(False, 2.0)


def test_placement_rules_are_told_with_their_parents_and_create_unless_they_say_otherwise() -> None:
    rules = scheduler(
        placementRules=[
            {"rule": "specified", "create": False},
            {"rule": "nestedUserQueue", "parent": {"rule": "default", "queue": "root.users"}},
        ]
    ).rules
    assert rules == (
        PlacementRule("specified", create=False),
        PlacementRule("nestedUserQueue", parent=PlacementRule("default", queue="root.users")),
    )
    assert scheduler(placementRules=[]).rules is None


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (
            {"placementRules": [{"rule": "specified"}]},
            r"spec\.placementRules\[0\]: the last rule, 'specified', may place nothing",
        ),
        ({"placementRules": [{"rule": "nestedUserQueue"}]}, r"spec\.placementRules\[0\]\.parent: nestedUserQueue needs a parent"),
        ({"placementRules": [{"rule": "user", "queue": "root.a"}]}, r"spec\.placementRules\[0\]\.queue: only the rule default"),
        ({"fair": {"defaultQueueSchedulingPolicy": "fifo"}}, r"spec\.fair\.defaultQueueSchedulingPolicy: 'fifo' is for leaf"),
    ],
)
def test_settings_that_cannot_be_are_refused_with_the_field(spec: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidSpec, match=words):
        scheduler(**spec)


@pytest.mark.parametrize(
    ("annotations", "spec", "expected"),
    [
        ({}, {}, ("", ())),
        ({"treadle.dev/user": "ann", "treadle.dev/groups": "dev, ops"}, {}, ("ann", ("dev", "ops"))),
        ({"treadle.dev/groups": "dev"}, {"user": "bob"}, ("bob", ("dev",))),
        ({"treadle.dev/user": "ann", "treadle.dev/groups": "dev"}, {"user": "bob"}, ("bob", ())),
        ({"treadle.dev/user": "ann", "treadle.dev/groups": "dev"}, {"user": "ann"}, ("ann", ("dev",))),
        ({"yunikorn.apache.org/user.info": '{"user": "eve", "groups": ["a"]}'}, {}, ("eve", ("a",))),
    ],
)
def test_where_claims_are_believed_the_user_of_an_application_is_its_specs_then_its_annotations(
    annotations: dict[str, str], spec: dict[str, Any], expected: tuple[str, tuple[str, ...]]
) -> None:
    assert application(annotations, **spec) == expected


def test_an_application_says_how_long_its_pods_run_and_when_it_should_have_ended() -> None:
    body = {"kind": "Application", "metadata": {"name": "a", "namespace": "ns"}}
    spec = {"expectedDuration": "10m", "deadline": "1970-01-01T01:00:00Z"}
    said = translate.application(parse("Application", {**body, "spec": spec}))  # type: ignore[arg-type]
    unsaid = translate.application(parse("Application", {**body, "spec": {}}))  # type: ignore[arg-type]
    assert (said.duration, said.deadline) == (600.0, 3600.0)
    assert (unsaid.duration, unsaid.deadline) == (None, None)
