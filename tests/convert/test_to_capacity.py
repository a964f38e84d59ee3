"""``treadle convert --to capacity``: fair queues get the capacities that Hadoop's fs2cs gives them, and what does not carry over is named."""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from convert.command import by_name, run
from treadle.api.objects import InvalidObject, parse
from treadle.controllers import translate
from treadle.convert.allocations import read
from treadle.convert.fair_rules import mapping_rules
from treadle.convert.fair_shares import bounded, percentages
from treadle.convert.objects import convert
from treadle.convert.to_capacity import to_capacity
from treadle.core.disciplines.capacity.definitions import check

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
ORGANISATION = """<allocations>
  <defaultQueueSchedulingPolicy>drf</defaultQueueSchedulingPolicy>
  <queueMaxAMShareDefault>0.4</queueMaxAMShareDefault>
  <userMaxAppsDefault>9</userMaxAppsDefault>
  <user name="ann"><maxRunningApps>3</maxRunningApps></user>
  <queue name="default"/>
  <queue name="prod">
    <weight>4</weight><schedulingPolicy>fifo</schedulingPolicy><allowPreemptionFrom>false</allowPreemptionFrom>
    <minResources>1024 mb, 1 vcores</minResources><maxAMShare>-1</maxAMShare><maxRunningApps>7</maxRunningApps>
    <maxContainerAllocation>4096 mb, 2 vcores</maxContainerAllocation>
  </queue>
  <queue name="dev">
    <weight>6.5</weight><maxResources>50%</maxResources><fairSharePreemptionTimeout>60</fairSharePreemptionTimeout>
    <queue name="eng"><schedulingPolicy>fair</schedulingPolicy><maxResources>25%</maxResources></queue>
    <queue name="science"><weight>2</weight><maxResources>8192 mb, 4 vcores</maxResources></queue>
  </queue>
  <queue name="users" type="parent"/>
</allocations>"""


def converted(text: str = ORGANISATION, site: dict[str, str] | None = None, *, by_percentage: bool = False) -> Any:
    return to_capacity(convert(read(text), site).objects, by_percentage=by_percentage)


def specs(
    text: str = ORGANISATION, site: dict[str, str] | None = None, *, by_percentage: bool = False
) -> dict[str, dict[str, Any]]:
    return by_name(converted(text, site, by_percentage=by_percentage).objects)


def blocks(text: str = ORGANISATION, **how: Any) -> dict[str, dict[str, Any]]:
    return {name: spec.get("capacity", {}) for name, spec in specs(text, **how).items()}


def check_in_force(objects: list[dict[str, Any]]) -> None:
    models = [parse(one["kind"], one) for one in objects]
    (scheduler,) = (translate.scheduler(one, ()) for one in models if one.kind == "Scheduler")
    assert scheduler.discipline == "Capacity"
    check({one.metadata.name: translate.queue(one) for one in models if one.kind == "Queue"}, scheduler.capacity)


def test_weights_stay_weights_and_parents_make_queues() -> None:
    found = blocks()
    assert found["root"] == {"autoCreation": {"enabled": True}}
    assert found["root.prod"] == {
        "guaranteed": "4w",
        "userLimitFactor": "-1",
        "orderingPolicy": "fifo",
        "maximumAMResourcePercent": "1",
        "maximumAllocation": {"memory": "4096Mi", "cpu": "2"},
        "disablePreemption": True,
    }
    assert found["root.dev"] == {"guaranteed": "6.5w", "maximum": "50%", "autoCreation": {"enabled": True}}
    assert found["root.users"] == {"guaranteed": "1w", "autoCreation": {"enabled": True}}
    assert found["treadle"]["autoCreation"] == {"expirationTime": "10s"}


def test_percentages_sum_to_a_hundred_and_nothing_is_made() -> None:
    found = blocks(by_percentage=True)
    assert [found[f"root.{name}"]["guaranteed"] for name in ("default", "prod", "dev", "users")] == [
        "8.000%",
        "32.000%",
        "52.000%",
        "8.000%",
    ]
    assert [found[f"root.dev.{name}"]["guaranteed"] for name in ("eng", "science")] == ["33.333%", "66.667%"]
    assert not any("autoCreation" in block for block in found.values())


@pytest.mark.parametrize("by_percentage", [False, True])
def test_what_comes_out_is_in_force_without_problems(by_percentage: bool) -> None:
    for text in (ORGANISATION, (EXAMPLES / "fair-scheduler.xml").read_text()):
        check_in_force(converted(text, by_percentage=by_percentage).objects)


def test_fair_blocks_stay_so_that_the_discipline_can_be_switched_back() -> None:
    before, after = by_name(convert(read(ORGANISATION)).objects), specs()
    assert {name: spec.get("fair") for name, spec in after.items()} == {name: spec.get("fair") for name, spec in before.items()}


def test_a_maximum_is_carried_over_as_a_part_of_the_parents_or_as_quantities() -> None:
    found = blocks()
    assert found["root.dev.eng"]["maximum"] == "50%"  # a quarter of the cluster is half of its parent's half
    assert found["root.dev.science"]["maximum"] == "[memory=8192Mi,cpu=4]"


@pytest.mark.parametrize("limit", ["50% memory, 25% cpu", "memory-mb=50%, vcores=25%"])
def test_a_maximum_that_differs_by_resource_is_named(limit: str) -> None:
    done = converted(f"<allocations><queue name='a'><maxResources>{limit}</maxResources></queue></allocations>")
    assert "maximum" not in by_name(done.objects)["root.a"]["capacity"]
    assert "Queue root.a: fair.maxResources has no counterpart" in "\n".join(done.notes)


def test_limits_of_masters_users_and_applications_keep_their_meaning() -> None:
    found = specs()
    block = found["treadle"]["capacity"]
    assert (block["maximumAMResourcePercent"], block["userMaxParallelApps"]) == ("0.4", 9)
    assert block["userMaxParallelAppsOf"] == {"ann": 3}
    assert found["root.prod"]["maxRunningApplications"] == 7
    assert blocks("<allocations/>")["treadle"]["maximumAMResourcePercent"] == "0.5"  # the FairScheduler's default
    unlimited = "<allocations><queueMaxAMShareDefault>-1</queueMaxAMShareDefault></allocations>"
    assert blocks(unlimited)["treadle"]["maximumAMResourcePercent"] == "1"


@pytest.mark.parametrize(
    ("text", "counted"),
    [
        ("<allocations><queue name='a'/></allocations>", "memory"),
        ("<allocations><queue name='a'><schedulingPolicy>drf</schedulingPolicy></queue></allocations>", "dominant"),
        ("<allocations><defaultQueueSchedulingPolicy>drf</defaultQueueSchedulingPolicy></allocations>", "dominant"),
    ],
)
def test_every_resource_counts_as_soon_as_somebody_shares_by_drf(text: str, counted: str) -> None:
    assert blocks(text)["treadle"]["resourceCalculator"] == counted


def test_preemption_keeps_its_pace() -> None:
    site = {
        "yarn.scheduler.fair.preemption": "true",
        "yarn.scheduler.fair.waitTimeBeforeKill": "5000",
        "yarn.scheduler.fair.sizebasedweight": "true",
    }
    found = blocks(site=site)
    assert found["treadle"]["preemption"] == {"enabled": True, "monitoringInterval": "10s", "maxWaitBeforeKill": "5s"}
    assert found["root.dev.eng"]["sizeBasedWeight"] is True
    assert "preemption" not in blocks()["treadle"]


@pytest.mark.parametrize(
    "words",
    [
        "Queue root.prod: fair.minResources has no counterpart",
        "Queue root.dev: fair.fairSharePreemptionTimeout has no counterpart",
        "Queue root.dev.eng: fair.schedulingPolicy fair: every resource counts",
        "Scheduler treadle: fair.localityDelayNode has no counterpart",
        "Scheduler treadle: fair.reservableNodes has no counterpart",
        "Scheduler treadle: fair.preemptionClusterUtilizationThreshold has no counterpart",
        "orderingPolicy fair: applications are ordered by their memory alone",
    ],
)
def test_what_does_not_carry_over_is_named(words: str) -> None:
    site = {
        "yarn.scheduler.fair.locality-delay-node-ms": "5000",
        "yarn.scheduler.fair.reservable-nodes": "0.1",
        "yarn.scheduler.fair.preemption.cluster-utilization-threshold": "0.7",
    }
    assert words in "\n".join(converted(site=site).notes)


PRIMARY = {"rule": "nestedUserQueue", "parent": {"rule": "primaryGroup", "create": False}}


@pytest.mark.parametrize(
    ("rule", "meant"),
    [
        ({"rule": "specified", "create": False}, {"policy": "specified", "create": False}),
        ({"rule": "user"}, {"policy": "user", "parentQueue": "root", "create": True}),
        ({"rule": "primaryGroup"}, {"policy": "primaryGroup", "parentQueue": "root", "create": True}),
        ({"rule": "secondaryGroup"}, {"policy": "secondaryGroup", "parentQueue": "root", "create": True}),
        ({"rule": "applicationName"}, {"policy": "applicationName", "parentQueue": "root", "create": True}),
        ({"rule": "reject"}, {"policy": "reject"}),
        ({"rule": "default"}, {"policy": "defaultQueue", "create": True}),
        ({"rule": "default", "queue": "root.x"}, {"policy": "custom", "customPlacement": "root.x", "create": True}),
        (PRIMARY, {"policy": "primaryGroupUser", "parentQueue": "root", "create": True}),
        (
            {"rule": "nestedUserQueue", "parent": {"rule": "secondaryGroup"}},
            {"policy": "secondaryGroupUser", "parentQueue": "root", "create": True},
        ),
        (
            {"rule": "user", "create": False, "parent": {"rule": "default", "queue": "root.users", "create": False}},
            {"policy": "user", "parentQueue": "root.users", "create": False},
        ),
    ],
)
def test_placement_rules_become_mapping_rules(rule: dict[str, Any], meant: dict[str, Any]) -> None:
    (found,) = mapping_rules([rule], [], percentages=False)
    assert found == {"type": "user", "matches": "*", "fallbackResult": "skip", **meant}


def test_one_switch_for_a_nested_rule_and_its_parent_is_named_where_they_differ() -> None:
    notes: list[str] = []
    mapping_rules([PRIMARY], notes, percentages=False)
    assert notes == [
        "placementRules[0]: create is said once for nestedUserQueue and its parent; it is true, since one of them is"
    ]


@pytest.mark.parametrize(
    "rule",
    [
        {"rule": "namespace"},
        {"rule": "user", "parent": {"rule": "namespace"}},
        {"rule": "primaryGroup", "parent": {"rule": "user"}},
    ],
)
def test_a_rule_without_a_counterpart_is_left_out_and_named(rule: dict[str, Any]) -> None:
    notes: list[str] = []
    assert mapping_rules([rule], notes, percentages=False) == []
    assert "has no counterpart among mapping rules" in notes[0]


def test_with_percentages_rules_make_no_queues() -> None:
    notes: list[str] = []
    (found,) = mapping_rules([{"rule": "user"}], notes, percentages=True)
    assert found["create"] is False
    assert "queues are made below queues with weights only" in notes[0]


def test_the_default_queue_of_the_rules_is_declared() -> None:
    text = "<allocations><queue name='a'/><queuePlacementPolicy><rule name='default' queue='root.b'/></queuePlacementPolicy></allocations>"
    assert blocks(text)["root.b"]["guaranteed"] == "1w"


def test_what_rounding_leaves_over_goes_to_the_largest() -> None:
    assert percentages({"a": "1", "b": "1", "c": "1"}) == {
        "a": Decimal("33.334"),
        "b": Decimal("33.333"),
        "c": Decimal("33.333"),
    }
    assert percentages({"a": "0.5", "b": "1"}) == {"a": Decimal("33.333"), "b": Decimal("66.667")}
    assert percentages({"a": "0"}) == {"a": Decimal(100)}


WEIGHTS = st.dictionaries(st.text("abc", min_size=1), st.decimals(0, 10**6, places=3).map(str), min_size=1, max_size=40)


@given(WEIGHTS)
def test_percentages_are_a_hundred_together_unless_all_weights_are_nothing(weights: dict[str, str]) -> None:
    found = percentages(weights)
    total = sum(found.values(), Decimal(0))
    nothing = len(weights) > 1 and not any(Decimal(one) for one in weights.values())
    assert total == (0 if nothing else 100)
    assert all(value >= 0 and value == value.quantize(Decimal("0.001")) for value in found.values())


@given(WEIGHTS)
def test_weights_are_at_most_ten_thousand_and_keep_their_order(weights: dict[str, str]) -> None:
    found = bounded(weights)
    assert max(found.values()) <= 10000
    given_order = sorted(weights, key=lambda name: Decimal(weights[name]))
    assert all(found[low] <= found[high] for low, high in pairwise(given_order))


def test_queues_that_are_all_worth_nothing_may_be_guaranteed_nothing() -> None:
    text = "<allocations><queue name='p'><queue name='a'><weight>0</weight></queue><queue name='b'><weight>0</weight></queue></queue></allocations>"
    for by_percentage in (False, True):
        check_in_force(converted(text, by_percentage=by_percentage).objects)
    assert blocks(text, by_percentage=True)["root.p"]["allowZeroCapacitySum"] is True


def test_our_own_objects_can_be_converted_as_kubectl_gives_them(tmp_path: Path) -> None:
    ours = list(yaml.safe_load_all((EXAMPLES / "classic.yaml").read_text()))
    for one in ours:
        one["metadata"] |= {
            "uid": "1",
            "resourceVersion": "2",
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"},
        }
        one["status"] = {}
    listed = {"apiVersion": "v1", "kind": "List", "items": [*ours, {"kind": "Pod", "metadata": {"name": "p"}}]}
    path = tmp_path / "objects.yaml"
    path.write_text(yaml.safe_dump(listed))
    done = run(str(path), "--to=capacity")

    assert done.returncode == 0, done.stderr
    found = list(yaml.safe_load_all(done.stdout))
    assert all(set(one["metadata"]) == {"name"} and "status" not in one for one in found)
    assert by_name(found)["root.prod"]["capacity"]["guaranteed"] == "40w"
    assert "# Pod p: is left out" in done.stdout
    assert "&id" not in done.stdout
    check_in_force(found)


def test_an_object_that_is_not_valid_is_refused_with_the_field() -> None:
    with pytest.raises(InvalidObject, match=r"spec.fair.weighs: unknown field, did you mean weight"):
        to_capacity([{"kind": "Queue", "metadata": {"name": "root.a"}, "spec": {"fair": {"weighs": "1"}}}])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["classic.yaml"], "our own objects are converted with --to capacity"),
        (["fair-scheduler.xml", "--percentages"], "--percentages goes with --to capacity"),
        (["capacity-scheduler.xml", "--to=capacity"], "this is of the CapacityScheduler already"),
        (["fair-scheduler.xml", "--node-labels=node-labels.txt"], "an allocation file has rules of its own"),
        (["classic.yaml", "--to=capacity", "--yarn-site=x"], "our own objects need no further file"),
    ],
)
def test_options_that_do_not_go_together_are_refused(arguments: list[str], words: str) -> None:
    file, *options = arguments
    done = run(str(EXAMPLES / file), *options)
    assert (done.returncode, done.stdout) == (1, "")
    assert words in done.stderr
