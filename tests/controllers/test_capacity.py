"""From the capacity blocks of objects to what the core is told: mapping rules, templates of queues, lifetimes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from treadle.api.objects import parse
from treadle.controllers import translate
from treadle.core.errors import InvalidSpec
from treadle.core.model import ApplicationSpec, SchedulerSpec
from treadle.core.model.capacity import Capacity, CapacityQueueSpec, FlexibleCreation, Kind, PartitionShare, Portion
from treadle.core.model.mapping import Fallback, MappingRule, Match

WEIGHT = {"": PartitionShare(Capacity(Portion(Kind.WEIGHT, 3.0)))}


def queue(**capacity: Any) -> CapacityQueueSpec:
    body = {"kind": "Queue", "metadata": {"name": "root.a"}, "spec": {"capacity": capacity}}
    found = translate.queue(parse("Queue", body)).capacity  # type: ignore[arg-type]
    assert found is not None
    return found


def scheduler(**capacity: Any) -> SchedulerSpec:
    body = {"kind": "Scheduler", "metadata": {"name": "treadle"}, "spec": {"capacity": capacity}}
    return translate.scheduler(parse("Scheduler", body), ())  # type: ignore[arg-type]


def rule(policy: str, **fields: Any) -> dict[str, Any]:
    return {"type": "user", "matches": "*", "policy": policy, **fields}


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (rule("user", parentQueue="root.users"), MappingRule(Match.ANY, "*", "root.users.%user")),
        (rule("primaryGroupUser", create=False), MappingRule(Match.ANY, "*", "%primary_group.%user", create=False)),
        (rule("secondaryGroup"), MappingRule(Match.ANY, "*", "%secondary_group")),
        (rule("specified", parentQueue="root.a"), MappingRule(Match.ANY, "*", "%specified")),
        (rule("defaultQueue"), MappingRule(Match.ANY, "*", "%default", create=False)),
        (rule("setDefaultQueue", value="root.users.%user"), MappingRule(Match.ANY, "*", default="root.users.%user")),
        (
            rule("custom", customPlacement="root.%primary_group.dev", fallbackResult="reject"),
            MappingRule(Match.ANY, "*", "root.%primary_group.dev", fallback=Fallback.REJECT),
        ),
        (rule("reject", type="group", matches="ops"), MappingRule(Match.GROUP, "ops")),
        (rule("applicationName", type="application", matches="etl"), MappingRule(Match.APPLICATION, "etl", "%application")),
    ],
)
def test_a_rule_of_the_json_form_means_what_it_means_in_yarn(written: dict[str, Any], expected: MappingRule) -> None:
    assert scheduler(mappingRules=[written]).mapping == (expected,)


def test_the_old_form_is_read_as_yarn_reads_it() -> None:
    found = scheduler(queueMappings="u:%user:root.users.%user, g:ops:root.ops,u:ann:eng", queueMappingsOverride=True)
    fallback = Fallback.PLACE_DEFAULT
    assert found.mapping == (
        MappingRule(Match.ANY, "%user", "root.users.%user", fallback=fallback),
        MappingRule(Match.GROUP, "ops", "root.ops", fallback=fallback),
        MappingRule(Match.USER, "ann", "eng", fallback=fallback),
    )
    assert found.mapping_override


def test_without_rules_there_are_none() -> None:
    assert scheduler().mapping == SchedulerSpec().mapping == ()


def test_templates_hold_what_was_said_and_no_more() -> None:
    found = queue(
        guaranteed="1w",
        autoCreation={
            "enabled": True,
            "maximumQueues": 5,
            "maximumDepth": 3,
            "template": {"userLimitFactor": "2"},
            "leafTemplate": {"guaranteed": "3w", "maximumApplicationLifetime": "1h"},
            "parentTemplate": {},
        },
    ).flexible
    assert found == FlexibleCreation(
        enabled=True,
        max_queues=5,
        max_depth=3,
        common=CapacityQueueSpec("root.a", user_limit_factor=2.0),
        leaf=CapacityQueueSpec("root.a", partitions=WEIGHT, max_lifetime=3600.0),
        parent=CapacityQueueSpec("root.a"),
        partitions=frozenset({""}),
    )


def test_whether_queues_that_are_made_go_is_said_to_those_queues() -> None:
    found = queue(guaranteed="1w", autoCreation={"enabled": True, "automaticRemoval": False}).flexible
    assert found.removal is None
    assert found.common is not None
    assert found.common.flexible.removal is False


def test_creation_is_off_unless_it_is_enabled() -> None:
    found = queue(guaranteed="10%", autoCreation={"leafTemplate": {}}, managedChildren={"leafTemplate": {}})
    assert not found.flexible.enabled
    assert found.managed is None


def test_managed_children_have_one_template() -> None:
    found = queue(
        guaranteed="10%",
        managedChildren={"enabled": True, "failOnExcess": True, "leafTemplate": {"guaranteed": "20%", "maximum": "50%"}},
    ).managed
    assert found is not None
    share = PartitionShare(Capacity(Portion(Kind.PERCENT, 20.0)), Capacity(Portion(Kind.PERCENT, 50.0)))
    assert (found.max_queues, found.fail_on_excess) == (1000, True)
    assert found.template == replace(CapacityQueueSpec("root.a"), partitions={"": share})


def test_what_is_said_of_all_automatic_queues_is_told() -> None:
    found = scheduler(autoCreation={"maximumDepth": 4, "expirationTime": "1m", "managementInterval": "5s"}).capacity
    assert (found.max_depth, found.removal_interval, found.idle_before_removal, found.management_interval) == (4, 60, 61, 5)


@pytest.mark.parametrize(
    ("block", "words"),
    [
        (
            {"managedChildren": {"enabled": True}},
            "spec.capacity.managedChildren.leafTemplate.guaranteed: is missing; allowed are a percentage of the queue and quantities",
        ),
        (
            {"managedChildren": {"enabled": True, "leafTemplate": {"guaranteed": "2w"}}},
            "spec.capacity.managedChildren.leafTemplate.guaranteed: '2w' is a weight; allowed are a percentage",
        ),
        (
            {"maximumApplicationLifetime": "1h", "defaultApplicationLifetime": "2h"},
            "spec.capacity.defaultApplicationLifetime: '2h' is more than maximumApplicationLifetime, which allows '1h'",
        ),
    ],
)
def test_templates_that_cannot_be_are_refused_with_the_field(block: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidSpec) as caught:
        queue(guaranteed="10%", **block)
    assert words in str(caught.value)


def test_an_application_has_its_lifetime_and_the_time_at_which_its_object_was_made() -> None:
    meta = {"name": "app", "namespace": "ns", "creationTimestamp": "2026-12-01T01:00:00Z"}
    model = parse("Application", {"kind": "Application", "metadata": meta, "spec": {"lifetime": "1h30m"}})
    assert translate.application(model) == ApplicationSpec("ns/app", lifetime=5400.0, created=1796086800.0)  # type: ignore[arg-type]
