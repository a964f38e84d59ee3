"""Queues that let some in, and their priorities, while applications come, change and move."""

from __future__ import annotations

from typing import Any

import pytest

from core.builders import Scenario
from treadle.core.model import AccessList, DefaultAccess, PlacementRule, PriorityBound, Settings
from treadle.core.model.scheduler import CAPACITY, FAIR

BOTH = pytest.mark.parametrize("discipline", [FAIR, CAPACITY])


def bound(most: int, *users: str, default: int | None = None) -> PriorityBound:
    return PriorityBound(AccessList(frozenset(users or {"*"})), most, default)


def cluster(discipline: str = FAIR, default_access: DefaultAccess = DefaultAccess.OPEN, cpu: int = 2) -> Scenario:
    return Scenario(Settings(default_access=default_access)).scheduler(discipline=discipline).nodes(1, cpu=cpu, memory=64)


def priority(scenario: Scenario, name: str) -> int:
    return scenario.core.state.applications[f"ns/{name}"].priority


@BOTH
def test_a_namespace_has_its_own_queue_and_the_default_one_where_queues_are_by_namespace(discipline: str) -> None:
    scenario = cluster(discipline, DefaultAccess.NAMESPACE, cpu=8).queue("root.prod").queue("root.team").queue("root.default")
    scenario.pod("mine", "root.prod", "1").pod("any", "", "2")
    assert [bind.name for bind in scenario.plan()] == ["any"]
    assert scenario.why("mine") == (
        "AccessDenied",
        "user ns may not submit to queue root.prod: neither it nor a queue above it allows that; by itself namespace ns may use root.ns and root.default",
    )

    scenario.namespace("ns", "prod")
    assert [(bind.name, bind.queue) for bind in scenario.plan()] == [("mine", "root.prod")], "its namespace names that queue now"

    scenario.pod("other", "root.team", "3").plan()
    assert "namespace ns may use root.prod and root.default" in scenario.why("other")[1]


@BOTH
def test_who_is_refused_is_named_with_groups_that_say_something(discipline: str) -> None:
    scenario = cluster(discipline, DefaultAccess.CLOSED)
    scenario.pod("p", user="ann", groups=("system:serviceaccounts", "ops")).plan()
    assert scenario.why("p")[1].startswith("user ann of ops may not submit to queue root.default: ")


@BOTH
def test_a_cluster_without_queues_serves_every_namespace_unless_it_is_closed(discipline: str) -> None:
    assert len(cluster(discipline, DefaultAccess.NAMESPACE).pod("p").plan()) == 1
    closed = cluster(discipline, DefaultAccess.CLOSED).pod("p")
    assert not closed.plan()
    assert closed.why("p")[0] == "AccessDenied"
    assert [bind.name for bind in closed.queue("root", submit=AccessList(frozenset({"ns"}))).plan()] == ["p"]


@BOTH
def test_who_asks_for_more_than_the_queue_allows_waits_with_a_reason(discipline: str) -> None:
    scenario = cluster(discipline).queue("root", priorities=(bound(1), bound(10, "ann"))).queue("root.a")
    scenario.application("1", priority=1_000_000_000).pod("greedy", "root.a", "1", user="ann")
    scenario.application("2", priority=10).pod("modest", "root.a", "2", user="ann")
    assert [bind.name for bind in scenario.plan()] == ["modest"]
    words = "user ann may ask for priority 10 at most in queue root.a, not 1000000000"
    assert scenario.why("greedy") == ("PriorityDenied", words)

    scenario.application("1", priority=10)
    assert [bind.name for bind in scenario.plan()] == ["greedy"]


@BOTH
def test_the_priority_of_a_pod_is_bounded_like_that_of_an_application(discipline: str) -> None:
    scenario = (
        cluster(discipline).queue("root.a", priorities=(bound(5),)).pod("p", "root.a", priority=2_000_000_000).pod("q", "root.a")
    )
    assert not scenario.plan()
    assert scenario.why("p")[0] == scenario.why("q")[0] == "PriorityDenied"


@BOTH
def test_an_application_that_one_pod_kept_out_comes_in_when_that_pod_has_gone(discipline: str) -> None:
    scenario = cluster(discipline, DefaultAccess.CLOSED).queue(
        "root.a", submit=AccessList(frozenset({"ann"})), priorities=(bound(5),)
    )
    scenario.pod("stranger", "root.a", "1", user="eve").pod("own", "root.a", "1", user="ann")
    scenario.pod("greedy", "root.a", "2", user="ann", priority=9).pod("modest", "root.a", "2", user="ann")
    assert not scenario.plan()
    assert (scenario.why("own")[0], scenario.why("modest")[0]) == ("AccessDenied", "PriorityDenied")

    scenario.gone("stranger")
    assert [bind.name for bind in scenario.plan()] == ["own"]
    scenario.gone("greedy")
    assert [bind.name for bind in scenario.plan()] == ["modest"]


@BOTH
def test_an_application_that_is_in_stays_its_first_pods_users_when_that_pod_has_gone(discipline: str) -> None:
    scenario = cluster(discipline, DefaultAccess.CLOSED).queue("root.a", submit=AccessList(frozenset({"ann"})))
    scenario.pod("first", "root.a", "1", user="ann").pod("other", "root.a", "1", user="eve")
    scenario.confirm(scenario.plan())
    scenario.gone("first").pod("third", "root.a", "1", user="eve").plan()
    assert scenario.core.state.applications["ns/1"].user == "ann"


@BOTH
def test_what_runs_has_no_more_priority_than_its_queue_allows(discipline: str) -> None:
    scenario = cluster(discipline).queue("root.a", priorities=(bound(5),)).application("1", priority=3)
    scenario.pods(3, "p", "root.a", "1").confirm(scenario.plan())
    assert priority(scenario, "1") == 3
    scenario.application("1", priority=1_000_000_000)
    assert priority(scenario, "1") == 5
    scenario.queue("root.a", priorities=(bound(7),)).plan()
    assert priority(scenario, "1") == 7, "it follows its queue"
    scenario.queue("root.a").plan()
    assert priority(scenario, "1") == 1_000_000_000, "and has what it asks for where nothing bounds it"


@BOTH
def test_who_asks_for_none_has_the_priority_of_the_entry(discipline: str) -> None:
    scenario = cluster(discipline).queue("root.a", priorities=(bound(9, default=4),))
    scenario.pod("p", "root.a", "1").application("2").pod("q", "root.a", "2").plan()
    assert (priority(scenario, "1"), priority(scenario, "2")) == (4, 0), "the second one asks for 0"


def test_an_application_that_moves_has_the_priority_of_where_it_is() -> None:
    scenario = cluster(FAIR, cpu=8).queue("root.a").queue("root.b", priorities=(bound(2),))
    scenario.application("1", "root.a", 8).pod("p", "", "1").confirm(scenario.plan())
    assert priority(scenario, "1") == 8
    scenario.application("1", "root.b", 8).plan()
    assert priority(scenario, "1") == 2


def test_who_asks_for_more_than_is_allowed_does_not_go_first() -> None:
    def first(**root: Any) -> list[str]:
        scenario = cluster(cpu=1).queue("root", **root).queue("root.a", policy="fifo")
        scenario.pod("held", "root.a", "0")
        scenario.confirm(scenario.plan())
        scenario.application("1", "root.a", 5).pod("early", "root.a", "1", created=1)
        scenario.application("2", "root.a", 5).pod("late", "root.a", "2", created=2).plan()
        scenario.application("2", "root.a", 9).gone("held")
        return [bind.name for bind in scenario.plan()]

    assert first() == ["late"]
    assert first(priorities=(bound(5),)) == ["early"]


CLOSED = {"submit": AccessList(), "administer": AccessList()}


def with_two_queues(discipline: str, **root: Any) -> Scenario:
    mine = AccessList(frozenset({"ann"}))
    scenario = cluster(discipline, cpu=8).queue("root", **root).queue("root.a", submit=mine).queue("root.b")
    return scenario.application("1", "root.a").pods(2, "p", "", "1", user="ann")


@BOTH
def test_what_runs_does_not_move_into_a_queue_that_its_user_may_not_submit_to(discipline: str) -> None:
    scenario = with_two_queues(discipline, **CLOSED)
    scenario.confirm(scenario.plan()).application("1", "root.b").pod("late", "", "1", user="ann")
    assert {bind.queue for bind in scenario.plan()} == {"root.a"}, "it goes on where it is"
    words = "queue: ns/1 cannot move: user ann may not submit to queue root.b: neither it nor a queue above it allows that"
    assert scenario.core.view.move_refused("ns/1") == words

    scenario.queue("root.b", submit=AccessList(frozenset({"ann"}))).wait(1).plan()
    assert scenario.core.state.applications["ns/1"].queue.path == "root.b", "it is tried again"


@BOTH
@pytest.mark.parametrize("rules", [None, (PlacementRule("specified"), PlacementRule("reject"))])
def test_a_restart_moves_nothing_into_a_queue_that_its_user_may_not_submit_to(
    discipline: str, rules: tuple[PlacementRule, ...] | None
) -> None:
    scenario = Scenario().scheduler(discipline=discipline, rules=rules).nodes(1, cpu=8, memory=64).queue("root", **CLOSED)
    scenario.queue("root.a", submit=AccessList(frozenset({"ann"}))).queue("root.b").application("1", "root.b")
    scenario.pod("p", "", "1", user="ann", node="node-0", held_in="root.a").plan()
    assert scenario.core.state.applications["ns/1"].queue.path == "root.a"
    scenario.wait(1).plan()
    assert scenario.core.state.applications["ns/1"].queue.path == "root.a"
    assert rules or "may not submit to queue root.b" in scenario.core.view.move_refused("ns/1")


@BOTH
def test_a_list_that_closes_drives_out_nothing_that_runs(discipline: str) -> None:
    scenario = with_two_queues(discipline)
    scenario.confirm(scenario.plan()).queue("root", **CLOSED).queue("root.a").wait(1).plan()
    assert scenario.core.state.applications["ns/1"].queue.path == "root.a"
    assert scenario.core.view.move_refused("ns/1") == ""


@BOTH
def test_a_pod_that_somebody_else_bound_opens_no_queue_for_its_application(discipline: str) -> None:
    scenario = cluster(discipline, cpu=8).queue("root", **CLOSED).queue("root.a", submit=AccessList(frozenset({"ann"})))
    scenario.pod("fake", "root.a", "1", user="bob", node="node-0").pod("sly", "root.a", "1", user="bob")
    assert scenario.plan() == []
    assert scenario.why("sly")[0] == "AccessDenied"


@BOTH
def test_what_runs_in_the_default_queue_does_not_move_into_a_queue_that_is_made_for_others(discipline: str) -> None:
    scenario = cluster(discipline, DefaultAccess.NAMESPACE, cpu=8).queue("root.default").pod("p", "root.prod", "1", user="bob")
    scenario.confirm(scenario.plan())
    scenario.queue("root.prod", submit=AccessList(frozenset({"ann"}))).wait(1).plan()
    scenario.pod("late", "root.prod", "1", user="bob")
    assert {bind.queue for bind in scenario.plan()} <= {"root.default"}
