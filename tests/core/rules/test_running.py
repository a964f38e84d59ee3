"""Limits on running applications: of queues at every level and of users, who is let in next, and what edits and restarts do."""

from __future__ import annotations

import pytest

from core.builders import Scenario, a_pod, replaced
from treadle.core.events import ApplicationSeen, PodSeen
from treadle.core.model import ApplicationSpec, FairSettings


def applications(binds: list) -> list[str]:
    return sorted({bind.application.removeprefix("ns/") for bind in binds})


def limited(**queues: int | None) -> Scenario:
    """Much room, and leaves with the given limits (None: no limit)."""
    scenario = Scenario().nodes(4, cpu=32, memory=64)
    for name, most in queues.items():
        scenario.queue(f"root.{name}", max_running=most)
    return scenario


def test_an_application_beyond_the_limit_waits_with_the_numbers_and_runs_when_one_has_gone() -> None:
    scenario = limited(a=1).pods(2, "first", "root.a", "one", created=1.0).pod("later", "root.a", "two", created=2.0)
    binds = scenario.plan()
    assert applications(binds) == ["one"]
    assert scenario.why("later") == (
        "TooManyApplications",
        "application ns/two may not run yet: queue root.a has 1 running applications; its limit is 1 (maxRunningApplications)",
    )

    scenario.confirm(binds).gone("first-0")
    assert scenario.plan() == []

    scenario.gone("first-1")
    assert applications(scenario.plan()) == ["two"]


def test_a_waiting_pod_of_a_held_back_application_is_told_why() -> None:
    scenario = limited(a=1).pod("p", "root.a", "one", created=1.0).pod("q", "root.a", "two", created=2.0)
    scenario.plan()
    scenario.wait(3.0).plan()
    assert [(report.name, report.reason) for report in scenario.reports] == [("q", "TooManyApplications")]


def test_the_limit_of_a_parent_counts_all_below_and_the_freed_slot_goes_to_the_cousin_that_started_first() -> None:
    scenario = Scenario().nodes(2).queue("root.p", max_running=1).queue("root.p.x").queue("root.p.y").queue("root.p.z")
    scenario.pod("x", "root.p.x", "runs", created=1.0).plan()
    scenario.pod("y", "root.p.y", "young", created=9.0).pod("z", "root.p.z", "old", created=5.0)
    assert scenario.plan() == []
    assert "queue root.p has 1 running applications" in scenario.why("y")[1]

    scenario.gone("x")
    assert applications(scenario.plan()) == ["old"]


def test_a_limit_of_a_user_holds_across_queues_and_its_slot_goes_to_the_same_user() -> None:
    scenario = limited(a=None, b=None).scheduler(fair=FairSettings(user_max_running={"ann": 1}, user_max_running_default=2))
    scenario.pod("a1", "root.a", "a1", user="ann", created=1.0).pod("a2", "root.b", "a2", user="ann", created=2.0)
    for number in range(3):
        scenario.pod(f"b{number}", "root.b", f"b{number}", user="bob", created=3.0 + number)
    assert applications(scenario.plan()) == ["a1", "b0", "b1"]
    assert scenario.why("a2")[1].endswith(
        "user ann has 1 running applications, which is the limit (fair.userMaxApps of the Scheduler)"
    )
    assert scenario.why("b2")[1].endswith(
        "user bob has 2 running applications, which is the limit (fair.userMaxAppsDefault of the Scheduler)"
    )

    scenario.gone("a1")
    assert applications(scenario.plan()) == ["a2"]


def test_the_default_limit_of_queues_holds_for_parents_too_and_a_limit_of_its_own_goes_first() -> None:
    scenario = Scenario().nodes(2).scheduler(fair=FairSettings(queue_max_running_default=1))
    scenario.queue("root", max_running=9).queue("root.a").queue("root.b", max_running=2)
    for number in range(3):
        scenario.pod(f"a{number}", "root.a", f"a{number}", created=float(number))
        scenario.pod(f"b{number}", "root.b", f"b{number}", created=float(number))
    assert applications(scenario.plan()) == ["a0", "b0", "b1"]


def test_a_raised_limit_lets_in_on_reload_and_a_lowered_one_sends_nobody_back() -> None:
    scenario = limited(a=1)
    for number in range(4):
        scenario.pods(2, f"p{number}", "root.a", f"app{number}", created=float(number))
    assert applications(scenario.plan()) == ["app0"]

    scenario.queue("root.a", max_running=3)
    assert applications(scenario.plan()) == ["app1", "app2"]

    scenario.queue("root.a", max_running=1).pod("more", "root.a", "app2")
    assert applications(scenario.plan()) == ["app2"], "who runs goes on placing pods"
    scenario.gone("p0-0", "p0-1")
    assert scenario.plan() == []
    scenario.gone("p1-0", "p1-1", "p2-0", "p2-1", "more")
    assert applications(scenario.plan()) == ["app3"]


def test_a_limit_of_zero_lets_nothing_run() -> None:
    scenario = limited(a=0).pod("p", "root.a")
    assert scenario.plan() == []
    assert scenario.why("p")[0] == "TooManyApplications"


def test_after_a_restart_those_with_bound_pods_are_counted_first_whatever_came_first_and_whatever_the_limit() -> None:
    scenario = Scenario().pod("w", "root.a", "waits", created=1.0)
    for number in range(2):
        scenario.tell(PodSeen(replaced(a_pod(f"r{number}", "root.a", f"runs{number}", created=5.0), node="node-0")))
        scenario.pod(f"more{number}", "root.a", f"runs{number}", created=6.0)
    scenario.nodes(2).queue("root.a", max_running=1)
    assert applications(scenario.plan()) == ["runs0", "runs1"]
    assert scenario.why("w")[1].endswith("queue root.a has 2 running applications; its limit is 1 (maxRunningApplications)")


def test_applications_that_are_seen_together_are_let_in_by_their_start() -> None:
    scenario = limited(a=1).pod("young", "root.a", "young", created=7.0).pod("old", "root.a", "old", created=3.0)
    assert applications(scenario.plan()) == ["old"]


def test_news_of_the_only_pod_does_not_cost_an_application_its_place() -> None:
    scenario = limited(a=1).pod("p", "root.a", "one", cpu=99, created=5.0)
    scenario.plan()
    scenario.pod("q", "root.a", "two", created=1.0)
    scenario.tell(PodSeen(a_pod("p", "root.a", "one", cpu=99, created=5.0, reported=("Unschedulable", "no room"))))
    assert scenario.plan() == []
    assert scenario.why("q")[0] == "TooManyApplications"


def test_whose_user_changes_counts_for_the_other_user_and_the_slot_is_free() -> None:
    scenario = limited(a=None).scheduler(fair=FairSettings(user_max_running_default=1))
    scenario.pod("p", "root.a", "one", user="ann", created=1.0).pod("q", "root.a", "two", user="ann", created=2.0)
    scenario.pod("r", "root.a", "three", user="bob", created=3.0)
    assert applications(scenario.plan()) == ["one", "three"]

    scenario.tell(ApplicationSeen(ApplicationSpec("ns/one", "root.a", user="cid")))
    assert applications(scenario.plan()) == ["two"]
    scenario.gone("r")
    scenario.tell(ApplicationSeen(ApplicationSpec("ns/four", "root.a", user="bob"))).pod("s", "root.a", "four", user="x")
    assert applications(scenario.plan()) == ["four"]


def test_a_waiting_application_whose_user_changes_is_decided_again() -> None:
    scenario = limited(a=None).scheduler(fair=FairSettings(user_max_running={"ann": 1}))
    scenario.pod("p", "root.a", "one", user="ann", created=1.0).pod("q", "root.a", "two", user="ann", created=2.0)
    scenario.plan()
    scenario.tell(ApplicationSeen(ApplicationSpec("ns/two", "root.a", user="bob")))
    assert applications(scenario.plan()) == ["two"]


def test_who_may_not_run_has_no_part_in_the_instantaneous_shares() -> None:
    scenario = limited(a=0, b=None).scheduler(fair=FairSettings(preemption=True))
    scenario.pod("p", "root.a", "one").pods(200, "q", "root.b", "two")
    scenario.plan()
    queues = scenario.core.state.tree.queues
    assert queues["root.a"].instant_share[1] == 0
    assert queues["root.b"].instant_share[1] == 4 * 32_000


@pytest.mark.parametrize("bound", [True, False])
def test_a_pod_that_a_predecessor_bound_makes_its_application_run(bound: bool) -> None:
    scenario = limited(a=1).pod("p", "root.a", "one", created=1.0).pod("q", "root.a", "two", created=2.0)
    scenario.plan()
    if bound:
        scenario.tell(PodSeen(replaced(a_pod("q", "root.a", "two", created=2.0), node="node-0")))
    scenario.pod("q2", "root.a", "two", created=2.0)
    assert applications(scenario.plan()) == (["two"] if bound else [])
