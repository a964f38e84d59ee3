"""``treadle convert``: a CapacityScheduler's files as objects that mean what Hadoop read in them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from convert.command import PREFIX, by_name, capacity, in_force, run
from treadle.convert import labels
from treadle.convert.capacity_file import CapacityFileError
from treadle.convert.capacity_objects import Sources, convert
from treadle.convert.errors import MappingError
from treadle.convert.names import NameRefused
from treadle.convert.objects import properties

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


PLAIN = capacity(root={"queues": "a,b"}, root__a={"capacity": "40"}, root__b={"capacity": "60"})


def objects(values: Mapping[str, str], **sources: Any) -> dict[str, dict[str, Any]]:
    return by_name(convert(Sources(values, **sources)).objects)


def notes(values: Mapping[str, str], **sources: Any) -> str:
    return "\n".join(convert(Sources(values, **sources)).notes)


def test_percentages_weights_and_quantities_keep_their_kind() -> None:
    found = objects(
        capacity(
            root={"queues": "p,w", "capacity": "100"},
            root__p={"capacity": "12.5", "maximum-capacity": "50", "queues": "x"},
            root__p__x={"capacity": "100", "maximum-capacity": "-1"},
            root__w={"capacity": "87.5", "queues": "y"},
            root__w__y={"capacity": "3w"},
        )
    )
    assert found["root.p"]["capacity"] == {"guaranteed": "12.5%", "maximum": "50%"}
    assert found["root.p.x"]["capacity"] == {"guaranteed": "100%"}
    assert found["root.w.y"]["capacity"] == {"guaranteed": "3w"}
    absolute = objects(
        capacity(
            root={"queues": "q"},
            root__q={"capacity": "[memory=40960,vcores=10,yarn.io/gpu=2]", "maximum-capacity": "[memory=80Gi,vcores=20]"},
        )
    )
    assert absolute["root.q"]["capacity"] == {
        "guaranteed": "[memory=40960Mi,cpu=10,yarn.io/gpu=2]",
        "maximum": "[memory=81920Mi,cpu=20]",
    }


def test_every_setting_of_a_queue_has_its_field() -> None:
    found = objects(
        capacity(
            root={"queues": "a", "acl_submit_applications": " ", "ordering-policy": "priority-utilization"},
            root__a={
                "capacity": "100",
                "minimum-user-limit-percent": "25",
                "user-limit-factor": "1.5",
                "user-settings.ann.weight": "2",
                "maximum-applications": "50",
                "max-parallel-apps": "7",
                "maximum-am-resource-percent": "0.25",
                "maximum-allocation": "memory-mb=4096,vcores=2,yarn.io/gpu=1",
                "state": "STOPPED",
                "acl_submit_applications": "ann,bob ops",
                "acl_administer_queue": "*",
                "acl_submit_reservations": " planners",
                "acl_application_max_priority": "[user=ann,bob group=ops max_priority=7 default_priority=9] [user=* max_priority=2]",
                "ordering-policy": "fair",
                "ordering-policy.fair.enable-size-based-weight": "true",
                "default-application-priority": "3",
                "priority": "5",
                "disable_preemption": "true",
                "intra-queue-preemption.disable_preemption": "false",
                "maximum-application-lifetime": "3600",
                "default-application-lifetime": "600",
            },
        )
    )
    assert found["root"] == {"submitAcl": {}, "capacity": {"orderingPolicy": "priority-utilization"}}
    assert found["root.a"] == {
        "state": "Stopped",
        "maxRunningApplications": 7,
        "submitAcl": {"users": ["ann", "bob"], "groups": ["ops"]},
        "administerAcl": {"users": ["*"]},
        "reserveAcl": {"groups": ["planners"]},
        "priorityAcl": [
            {"users": ["ann", "bob"], "groups": ["ops"], "maxPriority": 7, "defaultPriority": 7},
            {"users": ["*"], "maxPriority": 2},
        ],
        "capacity": {
            "guaranteed": "100%",
            "userLimitFactor": "1.5",
            "minimumUserLimitPercent": 25,
            "userWeights": {"ann": "2"},
            "maximumApplications": 50,
            "maximumAllocation": {"memory": "4096Mi", "cpu": "2", "yarn.io/gpu": "1"},
            "maximumApplicationLifetime": "3600s",
            "defaultApplicationLifetime": "600s",
            "maximumAMResourcePercent": "0.25",
            "priority": 5,
            "defaultApplicationPriority": 3,
            "orderingPolicy": "fair",
            "sizeBasedWeight": True,
            "disablePreemption": True,
            "disableIntraQueuePreemption": False,
        },
    }


def test_node_labels_become_partitions_with_their_exclusivity() -> None:
    values = {
        **PLAIN,
        **capacity(
            root={"accessible-node-labels.GPU_new.capacity": "100"},
            root__a={
                "accessible-node-labels": "GPU_new,fast",
                "default-node-label-expression": "GPU_new",
                "accessible-node-labels.GPU_new.capacity": "100",
                "accessible-node-labels.GPU_new.maximum-capacity": "80",
                "accessible-node-labels.GPU_new.maximum-am-resource-percent": "0.5",
                "accessible-node-labels.fast.capacity": "100",
            },
            root__b={"accessible-node-labels": " "},
        ),
    }
    found = objects(values, labels="Node Labels: <GPU_new:exclusivity=true>,<fast:exclusivity=false>,<spare:exclusivity=true>\n")
    assert found["treadle"]["nodes"]["partitions"] == [
        {"name": "gpu-new", "exclusive": True},
        {"name": "fast", "exclusive": False},
        {"name": "spare", "exclusive": True},
    ]
    assert found["root.a"]["capacity"] == {
        "guaranteed": "40%",
        "accessiblePartitions": ["gpu-new", "fast"],
        "defaultPartition": "gpu-new",
        "partitions": {
            "gpu-new": {"guaranteed": "100%", "maximum": "80%", "maximumAMResourcePercent": "0.5"},
            "fast": {"guaranteed": "100%"},
        },
    }
    assert found["root.b"]["capacity"]["accessiblePartitions"] == []
    assert "node label GPU_new becomes gpu-new" in notes(values)
    assert "fast: taken to be exclusive; give --node-labels" in notes(values)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("<gpu:exclusivity=true>,<fast:exclusivity=false>", {"gpu": True, "fast": False}),
        ("26/01/02 12:00:00 INFO client.RMProxy: up\nNode Labels: <gpu:exclusivity=false>\n", {"gpu": False}),
        ("gpu(exclusive=true),fast(exclusive=false)", {"gpu": True, "fast": False}),
        ("gpu, fast\nslow\n", {"gpu": True, "fast": True, "slow": True}),
        ("Node Labels:\n", {}),
    ],
)
def test_node_labels_are_read_as_yarns_tools_write_them(text: str, meant: dict[str, bool]) -> None:
    assert labels.read(text) == meant


@pytest.mark.parametrize("text", ["gpu(shared=true)", "gpu(exclusive=maybe)", "<gpu:exclusivity=perhaps>"])
def test_what_is_no_node_label_is_refused_with_what_is_allowed(text: str) -> None:
    with pytest.raises(labels.LabelsUnreadable, match=r"gpu"):
        labels.read(text)


def test_settings_of_the_cluster_and_of_preemption_come_from_both_files() -> None:
    site = {
        "yarn.resourcemanager.scheduler.monitor.enable": "true",
        "yarn.resourcemanager.monitor.capacity.preemption.max_wait_before_kill": "30000",
        "yarn.resourcemanager.monitor.capacity.preemption.monitoring_interval": "1500",
        "yarn.resourcemanager.monitor.capacity.preemption.total_preemption_per_round": "0.2",
        "yarn.resourcemanager.monitor.capacity.preemption.intra-queue-preemption.enabled": "true",
        "yarn.resourcemanager.monitor.capacity.preemption.intra-queue-preemption.preemption-order-policy": "PRIORITY_FIRST",
        "yarn.cluster.max-application-priority": "10",
        "yarn.scheduler.maximum-allocation-mb": "65536",
    }
    own = {
        f"{PREFIX}resource-calculator": "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
        f"{PREFIX}maximum-am-resource-percent": "0.3",
        f"{PREFIX}max-parallel-apps": "100",
        f"{PREFIX}user.max-parallel-apps": "10",
        f"{PREFIX}user.ann.max-parallel-apps": "20",
        f"{PREFIX}ordering-policy.priority-utilization.underutilized-preemption.enabled": "true",
        f"{PREFIX}auto-queue-creation-v2.queue-expiration-time": "60",
    }
    found = objects({**PLAIN, **own}, site=site)
    assert found["treadle"] == {
        "discipline": "Capacity",
        "capacity": {
            "resourceCalculator": "dominant",
            "maximumAMResourcePercent": "0.3",
            "maxParallelApps": 100,
            "userMaxParallelApps": 10,
            "userMaxParallelAppsOf": {"ann": 20},
            "maximumApplicationPriority": 10,
            "autoCreation": {"expirationTime": "60s"},
            "preemption": {
                "enabled": True,
                "maxWaitBeforeKill": "30s",
                "monitoringInterval": "1500ms",
                "totalPreemptionPerRound": "0.2",
                "intraQueue": {"enabled": True, "preemptionOrderPolicy": "priority_first"},
                "queuePriority": {"enabled": True},
            },
        },
    }
    assert found["root"]["capacity"] == {"maximumAllocation": {"memory": "65536Mi"}}


def test_what_hadoop_does_by_default_and_we_do_not_is_written_down() -> None:
    found = objects(PLAIN, site={})["treadle"]["capacity"]
    assert found == {"resourceCalculator": "memory", "maximumApplicationPriority": 0}
    assert "maximumApplicationPriority" not in objects(PLAIN)["treadle"]["capacity"]
    assert "yarn-site.xml was not given" in notes(PLAIN)


def test_preemption_is_off_where_its_monitor_is_not_among_the_policies() -> None:
    site = {
        "yarn.resourcemanager.scheduler.monitor.enable": "true",
        "yarn.resourcemanager.scheduler.monitor.policies": "some.AutoCreatedQueueDeletionPolicy",
    }
    assert objects(PLAIN, site=site)["treadle"]["capacity"]["preemption"] == {"enabled": False}


def flexible(**more: str) -> dict[str, str]:
    start = "auto-queue-creation-v2."
    return capacity(
        root={"queues": "users"},
        root__users={"capacity": "1w", f"{start}enabled": "true", **{start + name: value for name, value in more.items()}},
    )


def test_flexible_creation_carries_over_with_its_templates() -> None:
    values = flexible(
        **{
            "max-queues": "20",
            "maximum-queue-depth": "3",
            "template.capacity": "2w",
            "template.disable_preemption": "true",
            "leaf-template.maximum-am-resource-percent": "0.4",
            "parent-template.maximum-capacity": "50",
        }
    )
    assert objects(values)["root.users"]["capacity"] == {
        "guaranteed": "1w",
        "autoCreation": {
            "enabled": True,
            "maximumQueues": 20,
            "maximumDepth": 3,
            "template": {"guaranteed": "2w", "disablePreemption": True},
            "leafTemplate": {"maximumAMResourcePercent": "0.4"},
            "parentTemplate": {"maximum": "50%"},
        },
    }


def test_templates_for_any_queue_of_a_level_are_those_of_each() -> None:
    values = {**flexible(), f"{PREFIX}root.*.auto-queue-creation-v2.template.capacity": "5w"}
    assert objects(values)["root.users"]["capacity"]["autoCreation"]["template"] == {"guaranteed": "5w"}
    assert "root.*" not in notes(values)


def test_queues_that_are_made_stay_where_hadoop_has_nobody_to_remove_them() -> None:
    site = {
        "yarn.resourcemanager.scheduler.monitor.enable": "true",
        "yarn.resourcemanager.scheduler.monitor.policies": "a.ProportionalCapacityPreemptionPolicy,a.AutoCreatedQueueDeletionPolicy",
    }
    assert objects(flexible(), site={})["root.users"]["capacity"]["autoCreation"] == {"enabled": True, "automaticRemoval": False}
    assert objects(flexible(), site=site)["root.users"]["capacity"]["autoCreation"] == {"enabled": True}


def test_managed_parents_carry_over() -> None:
    values = capacity(
        root={"queues": "man,rest"},
        root__rest={"capacity": "60"},
        root__man={
            "capacity": "40",
            "auto-create-child-queue.enabled": "true",
            "auto-create-child-queue.max-queues": "5",
            "auto-create-child-queue.fail-on-exceeding-parent-capacity": "true",
            "leaf-queue-template.capacity": "20",
            "leaf-queue-template.ordering-policy": "fair",
        },
    )
    assert objects(values)["root.man"]["capacity"]["managedChildren"] == {
        "enabled": True,
        "maximumQueues": 5,
        "failOnExcess": True,
        "leafTemplate": {"guaranteed": "20%", "orderingPolicy": "fair"},
    }


def test_mapping_rules_of_both_forms_name_the_converted_queues() -> None:
    values = capacity(
        root={"queues": "Dev_Team,b"},
        root__Dev_Team={"capacity": "40", "queues": "Users,x"},
        root__Dev_Team__Users={"capacity": "50", "queues": "ann"},
        root__Dev_Team__Users__ann={"capacity": "100"},
        root__Dev_Team__x={"capacity": "50"},
        root__b={"capacity": "60"},
    )
    old = {f"{PREFIX}queue-mappings": "u:ann:Dev_Team.x, g:ops:root.b", f"{PREFIX}queue-mappings-override.enable": "true"}
    found = objects({**values, **old})["treadle"]["capacity"]
    assert found["queueMappings"] == "u:ann:dev-team.x,g:ops:root.b"
    assert found["queueMappingsOverride"] is True

    by_application = {**old, "yarn.scheduler.queue-placement-rules.app-name": "nightly:Dev_Team.x,%application:b"}
    assert objects({**values, **by_application})["treadle"]["capacity"]["mappingRules"] == [
        {"type": kind, "matches": matches, "policy": "custom", "customPlacement": where, "fallbackResult": "placeDefault"}
        for kind, matches, where in (
            ("user", "ann", "dev-team.x"),
            ("group", "ops", "root.b"),
            ("application", "nightly", "dev-team.x"),
            ("user", "*", "b"),
        )
    ]

    rules = [
        {"type": "user", "matches": "ann", "policy": "custom", "customPlacement": "root.Dev_Team.x", "fallbackResult": "reject"},
        {"type": "user", "matches": "*", "policy": "setDefaultQueue", "value": "root.b", "comment": "x"},
        {"type": "user", "matches": "*", "policy": "user", "parentQueue": "root.Dev_Team.Users", "create": False},
    ]
    text = json.dumps({"rules": rules})
    assert objects(values, rules=text)["treadle"]["capacity"]["mappingRules"] == [
        {"type": "user", "matches": "ann", "policy": "custom", "customPlacement": "root.dev-team.x", "fallbackResult": "reject"},
        {"type": "user", "matches": "*", "policy": "setDefaultQueue", "value": "root.b"},
        {"type": "user", "matches": "*", "policy": "user", "parentQueue": "root.dev-team.users", "create": False},
    ]
    assert "rules[1].comment: is not known" in notes(values, rules=text)


def test_rules_in_a_file_of_their_own_are_asked_for() -> None:
    values = {**PLAIN, f"{PREFIX}mapping-rule-format": "json", f"{PREFIX}mapping-rule-json-file": "/etc/rules.json"}
    assert "give --mapping-rules /etc/rules.json" in notes(values)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "'' is not [user="),
        ("[max_priority=x]", "'max_priority=x' is not user=NAMES"),
        ("[user=ann max_priority=1] [nonsense", "'[nonsense' is not [user="),
        ("[user=ann colour=red max_priority=1]", "'colour=red' is not user=NAMES"),
    ],
)
def test_priorities_that_cannot_be_read_are_named(text: str, words: str) -> None:
    assert f"{PREFIX}root.a.acl_application_max_priority: is left out; {words}" in notes(
        {**PLAIN, f"{PREFIX}root.a.acl_application_max_priority": text}
    )


def test_a_star_bounds_no_priority() -> None:
    found = objects({**PLAIN, f"{PREFIX}root.a.acl_application_max_priority": "*"})
    assert "priorityAcl" not in found["root.a"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("root.a.multi-node-sorting.policy", "nodes are chosen by nodes.scoring"),
        ("root.a.reservation-window", "the queue takes no reservations"),
        ("root.a.show-reservations-as-queues", "status.dynamicQueues lists the queues of reservations"),
        (
            "root.a.acl_application_max_priority",
            "'1' is not [user=NAMES group=NAMES max_priority=NUMBER default_priority=NUMBER]",
        ),
        ("root.a.ghost.capacity", "no list of queues names root.a.ghost"),
        ("root.a.leaf-queue-template.capacity", "no queues are made below root.a"),
        ("root.a.nonsense", "it has no counterpart"),
        ("root.capacity", "the root has all there is"),
        ("node-locality-nonsense", "it has no counterpart"),
        ("per-node-heartbeat.maximum-container-assignments", "many placements are decided in every pass"),
        ("schedule-asynchronously.enable", "scheduling does not wait for heartbeats"),
    ],
)
def test_a_property_that_does_not_carry_over_is_named_with_the_reason(name: str, words: str) -> None:
    assert f"{PREFIX}{name}: is left out; {words}" in notes({**PLAIN, f"{PREFIX}{name}": "1"})


def test_a_property_of_no_concern_to_a_scheduler_is_passed_over() -> None:
    assert "nodemanager" not in notes(PLAIN, site={"yarn.nodemanager.something": "1"})
    assert "yarn.scheduler.minimum-allocation-mb: is left out; pods get what they ask" in notes(
        PLAIN, site={"yarn.scheduler.minimum-allocation-mb": "512"}
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"root.a.ordering-policy": "acme.Order"}, "acme.Order is a class of one's own"),
        ({"root.a.maximum-capacity": "120"}, "root.a.maximum-capacity: 120 is over 100 and becomes 100%"),
        ({"root.a.minimum-user-limit-percent": "33.3"}, "minimum-user-limit-percent: 33.3 becomes 33"),
        ({"root.a.maximum-am-resource-percent": "2"}, "2 is not between 0 and 1 and becomes 1"),
        ({"root.a.acl_submit_applications": "ann"}, "yarn.acl.enable: is not true"),
    ],
)
def test_a_value_that_carries_over_in_part_is_named(change: dict[str, str], words: str) -> None:
    values = {**PLAIN, **{f"{PREFIX}{name}": value for name, value in change.items()}}
    found = convert(Sources(values))
    assert words in "\n".join(found.notes)
    in_force(found.objects)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"root.a.capacity": "50"}, r"sum is 110%.*Hadoop: IOException"),
        ({"root.a.capacity": "many"}, r"root.a.capacity: 'many' is not a percentage"),
        ({"root.a.capacity": "2w"}, r"mixed among the child queues|must be used|the children's sum"),
        ({"maximum-applications": "lots"}, r"'lots' is not a number"),
    ],
)
def test_what_hadoop_refuses_is_refused_with_its_exception(change: dict[str, str], words: str) -> None:
    with pytest.raises(CapacityFileError, match=words):
        convert(Sources({**PLAIN, **{f"{PREFIX}{name}": value for name, value in change.items()}}))


def test_a_mapping_rule_to_a_queue_that_cannot_be_is_refused() -> None:
    with pytest.raises(MappingError, match=r"root.nowhere"):
        convert(Sources({**PLAIN, f"{PREFIX}queue-mappings": "u:ann:root.nowhere"}))


@pytest.mark.parametrize("target", ["", ".", "root..a", ".a"])
def test_a_mapping_rule_to_nowhere_is_refused(target: str) -> None:
    rule = {"type": "user", "matches": "*", "policy": "custom", "customPlacement": target}
    text = json.dumps({"rules": [rule]})
    with pytest.raises(MappingError, match=r"empty part|no queue"):
        convert(Sources(PLAIN, rules=text))


def test_dots_at_the_end_of_a_target_mean_nothing() -> None:
    found = objects({**PLAIN, f"{PREFIX}queue-mappings": "u:ann:root.a.,g:ops:b."})
    assert found["treadle"]["capacity"]["queueMappings"] == "u:ann:root.a,g:ops:b"


def test_two_queues_that_would_have_one_name_are_refused() -> None:
    values = capacity(root={"queues": "a_b,A-b"}, root__a_b={"capacity": "40"})
    with pytest.raises(NameRefused, match=r"queues root.a_b and root.A-b would both be called root.a-b"):
        convert(Sources({**values, f"{PREFIX}root.A-b.capacity": "60"}))


CAPACITY_XML = """<configuration>
  <property><name>yarn.scheduler.capacity.root.queues</name><value>Prod,dev</value></property>
  <property><name>yarn.scheduler.capacity.root.Prod.capacity</name><value>40</value></property>
  <property><name>yarn.scheduler.capacity.root.dev.capacity</name><value>60</value></property>
  <property><name>yarn.scheduler.capacity.root.dev.maximum-capacity</name><value>75</value></property>
  <property><name>yarn.scheduler.capacity.root.dev.accessible-node-labels.gpu.capacity</name><value>100</value></property>
</configuration>
"""


def test_the_command_reads_all_files_and_prints_objects_and_notes(tmp_path: Path) -> None:
    files = {
        "capacity-scheduler.xml": CAPACITY_XML,
        "yarn-site.xml": "<configuration><property><name>yarn.resourcemanager.scheduler.monitor.enable</name><value>true</value></property></configuration>",
        "rules.json": '{"rules": [{"type": "user", "matches": "*", "policy": "custom", "customPlacement": "root.Prod"}]}',
        "labels": "<gpu:exclusivity=false>",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    done = run(
        str(tmp_path / "capacity-scheduler.xml"),
        f"--yarn-site={tmp_path / 'yarn-site.xml'}",
        f"--mapping-rules={tmp_path / 'rules.json'}",
        f"--node-labels={tmp_path / 'labels'}",
    )
    assert done.returncode == 0, done.stderr
    found = by_name(list(yaml.safe_load_all(done.stdout)))
    assert list(found) == ["treadle", "root", "root.prod", "root.dev"]
    assert found["treadle"]["nodes"]["partitions"] == [{"name": "gpu", "exclusive": False}]
    assert found["treadle"]["capacity"]["mappingRules"][0]["customPlacement"] == "root.prod"
    assert found["treadle"]["capacity"]["preemption"] == {"enabled": True}
    assert "# queue root.Prod becomes root.prod" in done.stdout


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("capacity-scheduler.xml", CAPACITY_XML.replace(">40<", ">50<"), "sum is 110%"),
        ("capacity-scheduler.xml", "<configuration/>", "no property begins with yarn.scheduler.capacity."),
        ("capacity-scheduler.xml", "<other/>", "allowed are 'configuration' and 'allocations'"),
        ("rules.json", "{", "not JSON"),
        ("labels", "a b c", "'a b c' is not a node label"),
        ("yarn-site.xml", "<allocations/>", "it must be 'configuration'"),
    ],
)
def test_a_file_that_cannot_be_converted_ends_with_one_line_that_names_it(
    tmp_path: Path, name: str, text: str, words: str
) -> None:
    files = {
        "capacity-scheduler.xml": CAPACITY_XML,
        "yarn-site.xml": "<configuration/>",
        "rules.json": '{"rules": []}',
        "labels": "",
        name: text,
    }
    for one, content in files.items():
        (tmp_path / one).write_text(content)
    done = run(
        str(tmp_path / "capacity-scheduler.xml"),
        str(tmp_path / "yarn-site.xml"),
        f"--mapping-rules={tmp_path / 'rules.json'}",
        f"--node-labels={tmp_path / 'labels'}",
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"{tmp_path / name}: ")
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_example_is_one_and_the_same_for_hadoop_and_for_us() -> None:
    sources = Sources(
        properties((EXAMPLES / "capacity-scheduler.xml").read_bytes()), labels=(EXAMPLES / "node-labels.txt").read_text()
    )
    ours = list(yaml.safe_load_all((EXAMPLES / "capacity-scheduler.yaml").read_text()))
    assert in_force(convert(sources).objects) == in_force(ours)


def test_a_reservable_queue_takes_reservations() -> None:
    of_queue = {
        "reservable": "true",
        "reservation-agent": "org.apache.hadoop.yarn.server.resourcemanager.reservation.planning.GreedyReservationAgent",
        "reservation-policy": "org.apache.hadoop.yarn.server.resourcemanager.reservation.NoOverCommitPolicy",
        "reservation-planner": "acme.Planner",
        "reservation-window": "7200000",
        "reservation-enforcement-window": "600000",
        "instantaneous-max-capacity": "50",
        "average-capacity": "12.6",
        "reservation-move-on-expiry": "false",
    }
    system = "yarn.resourcemanager.reservation-system."
    site = {f"{system}enable": "true", f"{system}smoothness-factor": "5", f"{system}max-periodicity": "3600000"}
    values = {**PLAIN, **{f"{PREFIX}root.a.{name}": text for name, text in of_queue.items()}}
    found = next(one for one in convert(Sources(values, site)).objects if one["metadata"]["name"] == "root.a")
    assert found["spec"]["reservations"] == {
        "agent": "Greedy",
        "policy": "NoOverCommit",
        "window": "7200s",
        "enforcementWindow": "600s",
        "instantaneousMaxCapacity": 50,
        "averageCapacity": 13,
        "moveOnExpiry": False,
        "smoothness": 5,
        "maximumPeriod": "3600s",
    }
    said = notes(values, site=site)
    assert f"{PREFIX}root.a.reservation-planner: is left out; acme.Planner is not one of SimpleCapacityReplanner" in said
    assert f"{PREFIX}root.a.average-capacity: 12.6 becomes 13; it is a whole percentage" in said
    assert "reservable: is left out" not in said
    assert f"{system}enable: is not true" not in said
    assert f"{system}enable: is not true, but queues that are reservable take reservations" in notes(values)
