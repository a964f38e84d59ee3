"""Objects written as properties of the CapacityScheduler, and read again, are the same objects."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from treadle.convert.capacity_objects import Sources, convert
from treadle.convert.objects import properties
from treadle.convert.to_properties import acl_text, partitions_of, properties_of

ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT / "tests" / "conformance" / "cases"
PREFIX = "yarn.scheduler.capacity."


def sources() -> Iterator[Any]:
    """Yield the example, and what every conformance case configures that Hadoop does not refuse."""
    text = (ROOT / "examples" / "capacity-scheduler.xml").read_bytes()
    yield pytest.param(Sources(properties(text), labels="<gpu:exclusivity=false>"), id="capacity-scheduler.xml")
    for name in ("capacity_shares", "auto_queues", "capacity_trace", "mapping", "mapping_corners", "mapping_reading"):
        for case in json.loads((CASES / f"{name}.json").read_text()):
            if "init_error" not in case["expect"] and "%nosuch" not in json.dumps(case["conf"]):
                listed = ",".join(
                    f"{one['name']}(exclusive={str(one.get('exclusive', True)).lower()})" for one in case.get("labels", [])
                )
                yield pytest.param(Sources(case["conf"], labels=listed), id=f"{name}: {case['name']}")


def written(objects: list[dict[str, Any]]) -> Sources:
    scheduler = next(one["spec"] for one in objects if one["kind"] == "Scheduler")
    queues = {one["metadata"]["name"]: one["spec"] for one in objects if one["kind"] == "Queue"}
    return Sources(properties_of(scheduler, queues), labels=partitions_of(scheduler))


def by_name(objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(objects, key=lambda one: (one["kind"], one["metadata"]["name"]))


@pytest.mark.parametrize("given", list(sources()))
def test_what_hadoops_configuration_becomes_is_the_same_when_it_is_written_as_properties_and_read_again(given: Sources) -> None:
    objects = convert(given).objects
    assert by_name(convert(written(objects)).objects) == by_name(objects)


def test_every_setting_of_a_queue_has_its_property() -> None:
    spec = {
        "state": "Stopped",
        "maxRunningApplications": 7,
        "submitAcl": {"users": ["ann", "bob"], "groups": ["ops"]},
        "administerAcl": {"users": ["*"]},
        "reserveAcl": {},
        "priorityAcl": [{"users": ["ann"], "maxPriority": 9, "defaultPriority": 2}, {"groups": ["ops"], "maxPriority": 99}],
        "capacity": {
            "guaranteed": "[memory=4Gi,cpu=10,nvidia.com/gpu=2]",
            "maximum": "62.5%",
            "userLimitFactor": "2.5",
            "minimumUserLimitPercent": 25,
            "maximumApplications": 100,
            "maximumAMResourcePercent": "0.3",
            "maximumAllocation": {"memory": "1536Mi", "cpu": "2"},
            "maximumApplicationLifetime": "1h",
            "priority": 3,
            "orderingPolicy": "fair",
            "sizeBasedWeight": True,
            "disablePreemption": True,
            "userWeights": {"ann": "2"},
            "accessiblePartitions": ["gpu"],
            "partitions": {"gpu": {"guaranteed": "50%", "maximum": "100%"}},
        },
        "reservations": {"agent": "Greedy", "window": "1h", "moveOnExpiry": False},
    }
    found = properties_of({}, {"root": {}, "root.a": spec})
    mine = {name.removeprefix(f"{PREFIX}root.a."): value for name, value in found.items() if ".root.a." in name}
    package = "org.apache.hadoop.yarn.server.resourcemanager.reservation."
    assert mine == {
        "state": "STOPPED",
        "max-parallel-apps": "7",
        "acl_submit_applications": "ann,bob ops",
        "acl_administer_queue": "*",
        "acl_submit_reservations": " ",
        "acl_application_max_priority": "[user=ann max_priority=9 default_priority=2] [group=ops max_priority=99]",
        "capacity": "[memory=4096,vcores=10,nvidia.com/gpu=2]",
        "maximum-capacity": "62.5",
        "user-limit-factor": "2.5",
        "minimum-user-limit-percent": "25",
        "maximum-applications": "100",
        "maximum-am-resource-percent": "0.3",
        "maximum-allocation": "memory-mb=1536,vcores=2",
        "maximum-application-lifetime": "3600",
        "priority": "3",
        "ordering-policy": "fair",
        "ordering-policy.fair.enable-size-based-weight": "true",
        "disable_preemption": "true",
        "user-settings.ann.weight": "2",
        "accessible-node-labels": "gpu",
        "accessible-node-labels.gpu.capacity": "50",
        "accessible-node-labels.gpu.maximum-capacity": "100",
        "reservable": "true",
        "reservation-agent": f"{package}planning.GreedyReservationAgent",
        "reservation-window": "3600000",
        "reservation-move-on-expiry": "false",
    }


@pytest.mark.parametrize(
    ("acl", "text"),
    [
        ({"serviceAccounts": ["etl/robot"]}, "system:serviceaccount:etl:robot "),
        ({"groups": ["a b", "c"], "namespaces": ["prod"]}, " c"),
        ({"users": ["ann", "*"], "groups": ["ops"]}, "*"),
    ],
)
def test_an_access_list_is_written_as_hadoop_reads_it(acl: dict[str, Any], text: str) -> None:
    assert acl_text(acl) == text
