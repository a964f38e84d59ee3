"""Moves of running applications between queues: Hadoop's checks, what goes along, and what a refusal leaves."""

from __future__ import annotations

from core.builders import Scenario, a_pod, limits, replaced
from treadle.core.events import PodSeen
from treadle.core.model import FairSettings, PlacementRule


def running(**target: object) -> Scenario:
    """An application ``app`` with a pod of two cores running in root.a, and a queue root.b as described."""
    scenario = Scenario().nodes(2, cpu=8).queue("root.a", max_running=1).queue("root.b", **target)
    scenario.application("app", "root.a").pod("p", cpu=2, created=1.0)
    return scenario.confirm(scenario.plan())


def refusal(scenario: Scenario, name: str = "app") -> str:
    state = scenario.core.state
    return state.assignment.refused.get(state.applications[f"ns/{name}"], "")


def test_an_allowed_move_takes_usage_and_counts_along_and_lets_in_who_waited_behind() -> None:
    scenario = running(max_running=1).pod("q", "root.a", "next", created=2.0)
    assert scenario.plan() == []

    scenario.application("app", "root.b")
    assert (scenario.used("root.a"), scenario.used("root.b"), scenario.used("root")) == (0, 2, 2)
    assert [bind.name for bind in scenario.plan()] == ["q"]
    queues = scenario.core.state.tree.queues
    assert (queues["root.a"].running_below, queues["root.b"].running_below, queues["root"].running_below) == (1, 1, 2)
    assert refusal(scenario) == ""


def test_what_waits_of_a_moved_application_goes_on_in_the_new_queue() -> None:
    scenario = running(maximum=limits(cpu="4"))
    scenario.queue("root.a", maximum=limits(cpu="2")).pods(3, "more")
    assert scenario.plan() == []
    scenario.application("app", "root.b")
    binds = scenario.plan()
    assert [bind.queue for bind in binds] == ["root.b"] * 2
    assert scenario.why("more-2")[1].startswith("queue root.b is at its maximum")


def test_a_move_is_refused_where_as_many_run_as_may_and_happens_when_one_has_gone() -> None:
    scenario = running(max_running=1).pod("q", "root.b", "other", created=2.0)
    scenario.confirm(scenario.plan())
    scenario.application("app", "root.b")
    assert scenario.used("root.a") == 2
    assert refusal(scenario) == ("queue: ns/app cannot move to root.b: root.b has 1 running applications, which is its limit")
    assert scenario.plan() == []

    scenario.gone("q").plan()
    scenario.wait(0.5).plan()
    assert (scenario.used("root.a"), scenario.used("root.b"), refusal(scenario)) == (0, 2, "")


def test_a_move_is_refused_where_it_would_not_fit_and_tried_again_when_the_queue_is_edited() -> None:
    scenario = running(maximum=limits(cpu="1"))
    scenario.application("app", "root.b").plan()
    assert refusal(scenario) == "queue: ns/app cannot move to root.b: with what it holds root.b would be over its maximum"

    scenario.queue("root.b", maximum=limits(cpu="2")).plan()
    assert (scenario.used("root.b"), refusal(scenario)) == (2, "")


def test_a_refused_move_that_is_taken_back_is_forgotten() -> None:
    scenario = running(max_running=0)
    scenario.application("app", "root.b")
    assert refusal(scenario)
    assert scenario.core.next_timer() is not None
    scenario.application("app", "root.a").plan()
    assert refusal(scenario) == ""


def test_queues_above_both_are_not_asked() -> None:
    scenario = Scenario().nodes(1).queue("root.p", max_running=1, maximum=limits(cpu="2"))
    scenario.queue("root.p.x").queue("root.p.y").application("app", "root.p.x").pod("p", cpu=2)
    scenario.confirm(scenario.plan()).application("app", "root.p.y")
    assert (scenario.used("root.p.x"), scenario.used("root.p.y"), scenario.used("root.p")) == (0, 2, 2)


def test_a_running_application_stays_when_its_new_queue_does_not_exist_or_is_no_leaf() -> None:
    scenario = running().queue("root.default").queue("root.p").queue("root.p.x")
    scenario.application("app", "root.nowhere").plan()
    assert refusal(scenario) == "queue: ns/app cannot move to root.nowhere: it does not exist"
    scenario.application("app", "root.p").plan()
    assert "has child queues" in refusal(scenario)
    assert scenario.used("root.a") == 2

    scenario.queue("root.nowhere").application("app", "root.nowhere").plan()
    assert (scenario.used("root.nowhere"), refusal(scenario)) == (2, "")


def test_an_application_that_waits_moves_as_if_it_were_new() -> None:
    scenario = running().pod("q", "root.a", "next", created=2.0)
    assert scenario.plan() == []
    scenario.application("next", "root.b")
    assert [bind.queue for bind in scenario.plan()] == ["root.b"]


def test_an_edited_label_of_a_running_pod_moves_an_application_without_an_object() -> None:
    scenario = Scenario().nodes(1).queue("root.a").queue("root.b", max_running=1)
    scenario.pod("p", "root.a", "one").pod("q", "root.b", "other")
    scenario.confirm(scenario.plan())
    bound = scenario.core.state.pods["p"].spec
    scenario.tell(PodSeen(replaced(bound, queue="root.b")))
    assert "root.b has 1 running applications" in refusal(scenario, "one")
    scenario.gone("q").wait(0.5).plan()
    assert scenario.used("root.b") == 1


def test_after_a_restart_an_application_is_put_where_it_belongs_without_being_asked() -> None:
    scenario = Scenario().tell(PodSeen(replaced(a_pod("p", "root.b", "one", cpu=2), node="node-0")))
    scenario.nodes(1).queue("root.default").queue("root.a").queue("root.b", max_running=0, maximum=limits(cpu="1"))
    scenario.plan()
    assert scenario.used("root.b") == 2


def test_by_rules_a_move_is_refused_again_and_again_until_it_may() -> None:
    scenario = Scenario().nodes(1).queue("root.a").queue("root.b", max_running=0)
    scenario.scheduler(rules=(PlacementRule("specified"), PlacementRule("default")))
    scenario.application("app", "root.a").pod("p")
    scenario.confirm(scenario.plan()).application("app", "root.b")
    for _ in range(3):
        scenario.wait(0.5).plan()
        assert "root.b has 0 running applications" in refusal(scenario)
    scenario.queue("root.b", max_running=1).plan()
    assert (scenario.used("root.b"), refusal(scenario)) == (1, "")


def test_a_user_at_the_limit_may_move_what_runs() -> None:
    scenario = Scenario().nodes(1).queue("root.a").queue("root.b").scheduler(fair=FairSettings(user_max_running_default=1))
    scenario.application("app", "root.a").pod("p", user="ann")
    scenario.confirm(scenario.plan()).application("app", "root.b")
    assert scenario.used("root.b") == 1


def test_weights_by_size_give_the_larger_application_more_and_follow_its_demand() -> None:
    def share(sized: bool) -> tuple[int, int]:
        scenario = Scenario().nodes(1, cpu=64, memory=28).queue("root.a", policy="fair")
        scenario.scheduler(fair=FairSettings(size_based_weight=sized))
        scenario.pods(7, "s", "root.a", "small", memory=1, created=1.0).pods(120, "l", "root.a", "large", memory=1, created=2.0)
        names = [bind.name[0] for bind in scenario.plan(14)]
        return names.count("s"), names.count("l")

    assert share(sized=False) == (7, 7)
    assert share(sized=True) == (6, 8)


def test_weights_are_one_again_when_size_no_longer_counts() -> None:
    scenario = Scenario().nodes(1, cpu=1, memory=8).queue("root.a").scheduler(fair=FairSettings(size_based_weight=True))
    scenario.pods(3, "p", "root.a", memory=1).plan()
    application = scenario.core.state.applications["ns/app"]
    assert application.weight > 11
    scenario.scheduler().plan()
    assert application.weight == 1.0
