"""``treadle convert``: a FairScheduler's files as objects that our own models and the tree accept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from convert.command import by_name, run
from treadle.api.objects import parse
from treadle.controllers import translate
from treadle.convert.allocations import read
from treadle.convert.errors import AllocationError
from treadle.convert.objects import convert, properties
from treadle.convert.xml import is_xml

CLASSIC = """<?xml version="1.0"?>
<allocations>
  <queue name="prod"><weight>40</weight><schedulingPolicy>fifo</schedulingPolicy></queue>
  <queue name="Dev_Team">
    <weight>60</weight>
    <maxResources>75%</maxResources>
    <queue name="eng"><maxRunningApps>5</maxRunningApps><aclSubmitReservations>*</aclSubmitReservations><aclListReservations>*</aclListReservations></queue>
    <queue name="science"><minResources>1024 mb, 2 vcores</minResources><aclSubmitApps>alice</aclSubmitApps></queue>
  </queue>
  <user name="bob"><maxRunningApps>3</maxRunningApps></user>
  <userMaxAppsDefault>5</userMaxAppsDefault>
  <reservation-agent>some.Agent</reservation-agent>
  <queuePlacementPolicy>
    <rule name="specified" create="false"/>
    <rule name="nestedUserQueue"><rule name="secondaryGroupExistingQueue"/></rule>
    <rule name="default" queue="Dev_Team.eng"/>
  </queuePlacementPolicy>
</allocations>
"""
SITE = """<configuration>
  <property><name>yarn.scheduler.fair.preemption</name><value>true</value></property>
  <property><name>yarn.scheduler.fair.waitTimeBeforeKill</name><value>15000</value></property>
  <property><name>yarn.scheduler.fair.assignmultiple</name><value>true</value></property>
  <property><name>yarn.scheduler.fair.waitTimeBeforeNextStarvationCheck</name><value>2500</value></property>
  <property><name>yarn.scheduler.fair.am.preemption.root.Dev_Team.eng</name><value>false</value></property>
  <property><name>yarn.scheduler.fair.locality-delay-node-ms</name><value>-1</value></property>
  <property><name>yarn.scheduler.minimum-allocation-mb</name><value>512</value></property>
  <property><name>yarn.nodemanager.something</name><value>1</value></property>
</configuration>
"""
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
CASES = Path(__file__).resolve().parents[1] / "conformance" / "cases"


def test_the_classic_example_carries_over() -> None:
    found = convert(read(CLASSIC), properties(SITE))
    specs = by_name(found.objects)

    assert list(specs) == ["treadle", "root", "root.prod", "root.dev-team", "root.dev-team.eng", "root.dev-team.science"]
    assert specs["root.prod"]["fair"] == {"weight": "40", "schedulingPolicy": "fifo"}
    assert specs["root.dev-team"]["fair"]["maxResources"] == {"memory": "75%", "cpu": "75%"}
    assert specs["root.dev-team.eng"]["maxRunningApplications"] == 5
    assert specs["root.dev-team.eng"]["reserveAcl"] == {"users": ["*"]}
    assert specs["root.dev-team.science"]["fair"]["minResources"] == {"memory": "1024Mi", "cpu": "2"}
    assert specs["treadle"]["fair"]["preemption"] is True
    assert specs["treadle"]["fair"]["waitTimeBeforeKill"] == "15s"
    assert specs["treadle"]["fair"]["waitTimeBeforeNextStarvationCheck"] == "2500ms"
    assert specs["treadle"]["fair"]["amPreemptionOf"] == {"root.dev-team.eng": False}
    assert "localityDelayNode" not in specs["treadle"]["fair"]
    assert specs["treadle"]["fair"]["userMaxAppsDefault"] == 5
    assert specs["treadle"]["fair"]["userMaxApps"] == {"bob": 3}
    assert specs["root.dev-team.science"]["submitAcl"] == {"users": ["alice"]}
    assert specs["treadle"]["placementRules"] == [
        {"rule": "specified", "create": False},
        {"rule": "nestedUserQueue", "create": True, "parent": {"rule": "secondaryGroup", "create": True}},
        {"rule": "default", "create": True, "queue": "root.dev-team.eng"},
    ]


def test_the_classic_example_is_one_and_the_same_for_hadoop_and_for_us() -> None:
    def meant(objects: list[dict[str, Any]]) -> dict[str, Any]:
        models = [parse(one["kind"], one) for one in objects]
        return {
            model.metadata.name: translate.scheduler(model, ()) if model.kind == "Scheduler" else translate.queue(model)
            for model in models
        }

    converted = convert(read((EXAMPLES / "fair-scheduler.xml").read_bytes()))

    assert meant(converted.objects) == meant(list(yaml.safe_load_all((EXAMPLES / "classic.yaml").read_text())))
    assert converted.notes == []


def test_every_setting_without_a_counterpart_has_its_line() -> None:
    notes = "\n".join(convert(read(CLASSIC), properties(SITE)).notes)
    for words in (
        "root.Dev_Team becomes root.dev-team",
        "aclListReservations has no counterpart",
        "yarn.scheduler.fair.assignmultiple",
        "yarn.scheduler.minimum-allocation-mb: has no counterpart; pods get what they ask",
        "reservation-agent: is left out; some.Agent is not one of AlignedPlannerWithGreedy, GreedyReservationAgent",
    ):
        assert words in notes
    assert "yarn.nodemanager" not in notes


@pytest.mark.parametrize("name", ["fair_shares", "fair_trace"])
def test_every_file_of_the_conformance_cases_becomes_objects_that_our_models_accept(name: str) -> None:
    converted = 0
    for case in json.loads((CASES / f"{name}.json").read_text()):
        if "init_error" in case["expect"] or not case.get("allocations"):
            continue
        types = ["memory-mb", "vcores", *case.get("resource_types", [])]
        for one in convert(read(case["allocations"], types), case.get("conf")).objects:
            parse(one["kind"], one)
        converted += 1
    assert converted > 50


@pytest.mark.parametrize(
    ("text", "acl"),
    [
        ("*", {"users": ["*"]}),
        (" ", {}),
        ("ann,bob", {"users": ["ann", "bob"]}),
        ("ann,bob ops,dev", {"users": ["ann", "bob"], "groups": ["ops", "dev"]}),
        (" ops", {"groups": ["ops"]}),
    ],
)
def test_access_lists_carry_over(text: str, acl: dict[str, list[str]]) -> None:
    xml = f"<allocations><queue name='root'><aclSubmitApps>{text}</aclSubmitApps><aclAdministerApps> </aclAdministerApps></queue></allocations>"
    spec = by_name(convert(read(xml)).objects)["root"]
    assert (spec["submitAcl"], spec["administerAcl"]) == (acl, {})


def test_a_parent_without_children_holds_queues_and_the_default_policy_is_the_roots_too() -> None:
    xml = "<allocations><queue name='users' type='parent'/><defaultQueueSchedulingPolicy>drf</defaultQueueSchedulingPolicy></allocations>"
    specs = by_name(convert(read(xml)).objects)
    assert specs["root.users"]["holdsQueues"] is True
    assert specs["root"]["fair"]["schedulingPolicy"] == "drf"


def test_a_refused_list_of_rules_names_the_line_of_the_rule() -> None:
    xml = "<allocations><queuePlacementPolicy>\n<rule name='specified'/>\n<rule name='user'/>\n<rule name='reject'/>\n</queuePlacementPolicy></allocations>"
    with pytest.raises(AllocationError, match=r"line 3: queuePlacementPolicy\[1\]: the rule 'user' takes every application"):
        read(xml)


@pytest.mark.parametrize(
    ("rules", "hadoop"),
    [
        ("<rule name='nestedUserQueue'><rule name='user'/></rule>", "AllocationConfigurationException/IOException"),
        ("<rule name='primaryGroup'><rule name='primaryGroup'/></rule>", "AllocationConfigurationException/IOException"),
        ("<rule name='reject'><rule name='user'/></rule>", "AllocationConfigurationException/IOException"),
        ("<rule name='default'><rule name='user'/></rule>", "AllocationConfigurationException/IOException"),
        ("<rule name='nestedUserQueue'><rule name='reject'/></rule>", "AllocationConfigurationException"),
        ("<rule name='namespace'/>", "AllocationConfigurationException"),
    ],
)
def test_rules_that_hadoop_refuses_are_refused_with_hadoops_error(rules: str, hadoop: str) -> None:
    with pytest.raises(AllocationError) as error:
        read(f"<allocations><queuePlacementPolicy>{rules}</queuePlacementPolicy></allocations>")
    assert error.value.hadoop == hadoop


def test_the_parent_rule_of_a_parent_rule_is_ignored_as_in_hadoop() -> None:
    inner = "<rule name='primaryGroup'><rule name='default' queue='root.x'/></rule>"
    found = read(f"<allocations><queuePlacementPolicy><rule name='user'>{inner}</rule></queuePlacementPolicy></allocations>")
    (rule,) = found.rules or []
    assert rule.parent is not None
    assert (rule.parent.name, rule.parent.parent) == ("primaryGroup", None)
    assert "its own parent rule is ignored" in found.warnings[0]


def test_two_queues_that_would_have_one_name_are_refused() -> None:
    with pytest.raises(AllocationError, match=r"queues root.a_b and root.A-b would both be called root.a-b"):
        convert(read("<allocations><queue name='a_b'/><queue name='A-b'/></allocations>"))


def test_the_command_prints_objects_and_notes_as_comments(tmp_path: Path) -> None:
    (tmp_path / "fair-scheduler.xml").write_text(CLASSIC)
    (tmp_path / "yarn-site.xml").write_text(SITE)
    done = run(str(tmp_path / "fair-scheduler.xml"), str(tmp_path / "yarn-site.xml"))

    assert done.returncode == 0, done.stderr
    assert [one["kind"] for one in yaml.safe_load_all(done.stdout)] == ["Scheduler"] + ["Queue"] * 5
    assert "# line 4: queue root.Dev_Team becomes root.dev-team" in done.stdout


def test_a_file_that_hadoop_would_refuse_ends_with_one_line_that_names_the_place(tmp_path: Path) -> None:
    path = tmp_path / "fair-scheduler.xml"
    path.write_text("<allocations>\n<queue name='a'>\n<weight>heavy</weight></queue></allocations>")
    done = run(str(path))

    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == f"{path}: line 3: weight: 'heavy' is not a number (Hadoop: NumberFormatException)\n"


def test_properties_are_read_as_hadoop_does() -> None:
    text = """<configuration>
      <property><name> a </name><value> 1 </value></property>
      <property name="b" value="${a}${nothing}"/>
      <property><name>yarn.scheduler.capacity.root.acl_submit_applications</name><value> ops</value></property>
    </configuration>"""
    assert properties(text) == {"a": "1", "b": "1${nothing}", "yarn.scheduler.capacity.root.acl_submit_applications": " ops"}


def test_a_maximum_that_names_no_vcores_leaves_none_and_says_so() -> None:
    text = "<allocations><queue name='a'>\n<maxResources>memory-mb=5120</maxResources><maxContainerAllocation>memory-mb=1024</maxContainerAllocation></queue>\n<queue name='b'><maxResources>memory-mb=50%</maxResources></queue></allocations>"
    found = convert(read(text))
    specs = by_name(found.objects)
    assert specs["root.a"]["fair"]["maxResources"] == {"memory": "5120Mi", "cpu": "0"}
    assert specs["root.a"]["fair"]["maxContainerAllocation"] == {"memory": "1024Mi"}
    assert specs["root.b"]["fair"]["maxResources"] == {"memory": "50%"}
    assert [note for note in found.notes if "vcores" in note] == [
        "line 2: maxResources names no vcores, so Hadoop allows none; name them to change that"
    ]


def test_a_queue_with_reservations_takes_them() -> None:
    text = """<allocations>
  <queue name="nightly"><reservation/></queue>
  <reservation-agent>org.apache.hadoop.yarn.server.resourcemanager.reservation.planning.GreedyReservationAgent</reservation-agent>
  <reservation-policy>org.apache.hadoop.yarn.server.resourcemanager.reservation.CapacityOverTimePolicy</reservation-policy>
  <reservation-planner>org.apache.hadoop.yarn.server.resourcemanager.reservation.planning.SimpleCapacityReplanner</reservation-planner>
</allocations>"""
    converted = convert(read(text))
    (found,) = (one["spec"] for one in converted.objects if one["metadata"]["name"] == "root.nightly")
    assert found["reservations"] == {"agent": "Greedy", "policy": "CapacityOverTime"}
    assert "holdsQueues" not in found
    assert converted.notes == []


UNKNOWN = """<?xml version="1.0"?>
<allocations>
  <queue name="a">
    <wieght>3</wieght>
    <minMaps>4</minMaps>
    <queue name="b"><colour>red</colour></queue>
  </queue>
  <defaultQueueSchedulingPolicies>drf</defaultQueueSchedulingPolicies>
  <user name="ann"><maxRunningApp>3</maxRunningApp></user>
</allocations>
"""
IGNORED = [
    "line 8: unknown element 'defaultQueueSchedulingPolicies' is ignored; did you mean defaultQueueSchedulingPolicy?",
    "line 9: unknown element 'maxRunningApp' of user ann is ignored; did you mean maxRunningApps?",
    "line 4: unknown element 'wieght' of queue root.a is ignored; did you mean weight?",
    "line 5: unknown element 'minMaps' of queue root.a is ignored; it is of MapReduce 1",
    "line 6: unknown element 'colour' of queue root.a.b is ignored",
]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be-bom"])
def test_each_element_that_is_not_known_has_its_line_in_whatever_encoding(encoding: str) -> None:
    text = UNKNOWN.encode(encoding) if encoding != "utf-16-be-bom" else b"\xfe\xff" + UNKNOWN.encode("utf-16-be")
    assert is_xml(text)
    assert read(text).warnings == IGNORED


@pytest.mark.parametrize("text", [b"", b"kind: Queue", b"\xef\xbb\xbfkind: Queue", "kind: Queue".encode("utf-16")])
def test_what_does_not_begin_as_xml_is_none(text: bytes) -> None:
    assert not is_xml(text)


def test_a_file_that_includes_another_is_refused_since_what_that_says_would_be_missing() -> None:
    text = '<configuration xmlns:xi="http://www.w3.org/2001/XInclude">\n<xi:include href="site.xml"/>\n</configuration>'
    with pytest.raises(AllocationError, match=r"line 2: xi:include is not read; put the properties of site\.xml in its place"):
        properties(text)
