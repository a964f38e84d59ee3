"""Every resource type counts everywhere: on nodes, in limits of queues and users, in shares, in preemption, and in what is said."""

from __future__ import annotations

from typing import Any

import pytest

from core.builders import Scenario, limits
from core.clusters import Cluster
from treadle.core.effects import Evict, RecordEvent
from treadle.core.model import FairSettings
from treadle.core.units.resources import format_amount

MIB = 1 << 20
TYPES = [
    ("nvidia.com/gpu", 1),
    ("ephemeral-storage", 100 * MIB),
    ("hugepages-2Mi", 2 * MIB),
    ("hugepages-1Gi", 1024 * MIB),
    ("acme.org/fpga", 2),
    ("attachable-volumes-aws-ebs", 1),
]
SMALL: dict[str, Any] = {"cpu": 1, "memory": 1}
every_type = pytest.mark.parametrize(("name", "one"), TYPES, ids=[name for name, _ in TYPES])


def node_of(scenario: Any, name: str, one: int, count: int = 8) -> Any:
    """A node that has so many times ``one`` of a type, and plenty of all else."""
    return scenario.node("big", cpu=1000, memory=1000, resources={name: count * one})


def pods(scenario: Any, count: int, prefix: str, queue: str, name: str, one: int, **fields: Any) -> Any:
    return scenario.pods(count, prefix, queue, prefix, resources={name: one}, **SMALL, **fields)


def amount_of(name: str, value: int) -> Any:
    return {name: format_amount(name, value)}


@every_type
def test_a_node_takes_what_it_has(name: str, one: int) -> None:
    s = node_of(Scenario(), name, one).queue("root.a")
    pods(s, 9, "p", "root.a", name, one)
    assert len(s.plan()) == 8
    assert s.why("p-8") == ("Unschedulable", f"0/1 nodes are available: 1 Insufficient {name}.")
    assert s.free("big", name) == 0


@every_type
def test_a_queue_takes_its_maximum(name: str, one: int) -> None:
    s = node_of(Scenario(), name, one).queue("root.a", maximum=limits(**amount_of(name, 3 * one)))
    pods(s, 4, "p", "root.a", name, one)
    assert len(s.plan()) == 3
    reason, message = s.why("p-3")
    assert reason == "QueueMaximum"
    assert f"{name} {format_amount(name, 3 * one)} used of {format_amount(name, 3 * one)}" in message
    s.core.refresh_shares(s.now)
    figures = s.core.view.queue("root.a")
    assert figures is not None
    assert (figures.used[name], figures.pending[name]) == (3 * one, one)


@every_type
def test_a_queue_above_takes_a_percentage(name: str, one: int) -> None:
    s = node_of(Scenario(), name, one).queue("root.a", maximum=limits(**{name: "50%"})).queue("root.a.b")
    s.plan()
    s.wait(1.0)
    pods(s, 8, "p", "root.a.b", name, one)
    assert len(s.plan()) == 4
    assert s.why("p-7")[0] == "QueueMaximum"


@every_type
def test_one_pod_takes_no_more_than_the_largest_may(name: str, one: int) -> None:
    s = node_of(Scenario(), name, one).queue("root.a", max_container=limits(**amount_of(name, one)))
    pods(s, 1, "small", "root.a", name, one)
    pods(s, 1, "large", "root.a", name, 2 * one)
    assert [bind.name for bind in s.plan()] == ["small-0"]
    assert s.why("large-0")[0] == "OverMaxAllocation"
    assert name in s.why("large-0")[1]


@every_type
def test_a_queue_that_may_have_none_takes_none(name: str, one: int) -> None:
    s = node_of(Scenario(), name, one).queue("root.a", maximum=limits(**{name: "0"}))
    pods(s, 1, "p", "root.a", name, one)
    assert s.plan() == []
    assert s.why("p-0")[0] == "ZeroMaximum"


@every_type
def test_two_queues_share_a_type_by_weight(name: str, one: int) -> None:
    s = node_of(Scenario(), name, one).queue("root.a", weight=3.0).queue("root.b")
    pods(s, 8, "a", "root.a", name, one)
    pods(s, 8, "b", "root.b", name, one)
    s.plan()
    assert (s.used("root.a", name) / one, s.used("root.b", name) / one) == (6, 2)
    s.wait(1.0).plan()
    s.core.refresh_shares(s.now)
    shares = {path: s.core.view.queue(path) for path in ("root.a", "root.b")}
    assert {path: found.fair_share[name] / one for path, found in shares.items() if found is not None} == {
        "root.a": 6,
        "root.b": 2,
    }


@every_type
def test_a_queue_below_its_minimum_goes_first(name: str, one: int) -> None:
    s = node_of(Scenario(), name, one).queue("root.a").queue("root.b", minimum=limits(**amount_of(name, 6 * one)))
    pods(s, 8, "a", "root.a", name, one)
    pods(s, 8, "b", "root.b", name, one)
    s.plan()
    assert s.used("root.b", name) / one >= 6


@every_type
def test_what_is_owed_of_a_type_comes_back(name: str, one: int) -> None:
    fair = FairSettings(preemption=True, fair_share_timeout=5.0, fair_share_threshold=1.0, utilization_threshold=0.0)
    s = node_of(Scenario().scheduler(fair=fair), name, one).queue("root.hog").queue("root.starved")
    pods(s, 8, "hog", "root.hog", name, one)
    s.confirm(s.plan())
    pods(s, 8, "starved", "root.starved", name, one)
    asked: list[str] = []
    for _ in range(20):
        s.wait(0.5).confirm(s.plan())
        asked += [effect.name for effect in s.effects if isinstance(effect, Evict)]
    assert len(asked) == 4
    assert {name.partition("-")[0] for name in asked} == {"hog"}


@every_type
def test_the_event_says_what_is_missing(name: str, one: int) -> None:
    s = node_of(Scenario(), name, one).queue("root.a")
    pods(s, 1, "p", "root.a", name, 9 * one)
    s.plan()
    s.wait(4.0).plan()
    (note,) = [one.note for one in s.effects if isinstance(one, RecordEvent)]
    assert f"The nearest that suits, big, lacks {name} {format_amount(name, one)}" in note


@every_type
def test_a_capacity_limits_a_queue(name: str, one: int) -> None:
    s = (
        Cluster()
        .capacity(legacy=False)
        .share("root.a", "50%", f"[memory=1000Gi,cpu=1000,{name}={3 * one}]", user_limit_factor=-1.0)
    )
    node_of(s.share("root.b", "50%"), name, one)
    s.plan()
    s.wait(1.0)
    pods(s, 8, "p", "root.a", name, one)
    assert len(s.plan()) == 3
    assert s.why("p-7")[0] == "QueueMaximum"


@every_type
def test_a_capacity_limits_a_user(name: str, one: int) -> None:
    s = Cluster().capacity().share("root.a", "50%", user_limit_factor=1.0).share("root.b", "50%")
    node_of(s, name, one)
    s.plan()
    s.wait(1.0)
    pods(s, 8, "p", "root.a", name, one, user="ann")
    assert len(s.plan()) < 8
    assert s.why("p-7")[0] == "UserLimit"


@every_type
def test_an_application_says_what_it_has_and_wants(name: str, one: int) -> None:
    s = node_of(Scenario(), name, one).queue("root.a")
    pods(s, 9, "p", "root.a", name, one)
    s.plan()
    found = s.core.view.application("ns/p")
    assert found is not None
    assert (found.used[name], found.pending[name]) == (8 * one, one)
