"""Assume, act, confirm: what is counted for a pod at each step, and what becomes of a bind that fails."""

import pytest

from core.builders import Scenario, a_pod, amounts, replaced
from treadle.core.effects import Verify
from treadle.core.events import BindFailed, PodGone, PodSeen
from treadle.core.kernel.pods.states import PodState


def state_of(scenario: Scenario, uid: str) -> PodState:
    return scenario.core.state.pods[uid].state


def test_an_assumed_pod_is_counted_at_once_and_the_watch_only_confirms_it() -> None:
    scenario = Scenario().nodes(1, cpu=4).queue("root.a").pod("p", "root.a", cpu=3)
    binds = scenario.plan()
    assert (scenario.used("root.a"), scenario.free("node-0")) == (3, 1)

    scenario.confirm(binds)
    assert state_of(scenario, "p") is PodState.BOUND
    assert (scenario.used("root.a"), scenario.free("node-0")) == (3, 1)


def test_an_update_of_a_pod_whose_bind_is_under_way_keeps_the_assumption() -> None:
    scenario = Scenario().nodes(1, cpu=4).pod("p", cpu=3)
    scenario.plan()
    scenario.tell(PodSeen(a_pod("p", cpu=3, reported=("Unschedulable", "old"))))

    assert state_of(scenario, "p") is PodState.ASSUMED
    assert scenario.free("node-0") == 1


def test_a_transient_failure_returns_what_was_counted_and_tries_again_after_a_growing_wait() -> None:
    scenario = Scenario().nodes(1, cpu=4).queue("root.a").pod("p", "root.a", cpu=3)
    for pause in (1.0, 2.0, 4.0):
        (bind,) = scenario.plan()
        scenario.fail(bind)
        assert (scenario.used("root.a"), scenario.free("node-0")) == (0, 4)
        assert scenario.wait(pause - 0.1).plan() == []
        scenario.wait(0.1)
    assert len(scenario.plan()) == 1


def test_a_refused_bind_waits_for_what_the_watch_says() -> None:
    scenario = Scenario().nodes(1, cpu=4).pod("p", cpu=3)
    (bind,) = scenario.plan()
    scenario.fail(bind, "refused").wait(1000)
    assert scenario.plan() == []
    assert scenario.free("node-0") == 4

    scenario.tell(PodSeen(a_pod("p", cpu=3)))
    assert len(scenario.plan()) == 1


def test_a_pod_that_the_api_bound_elsewhere_is_counted_where_it_is() -> None:
    scenario = Scenario().nodes(2, cpu=4).queue("root.a").pod("p", "root.a", cpu=3)
    (bind,) = scenario.plan()
    other = {"node-0": "node-1", "node-1": "node-0"}[bind.node]
    scenario.tell(PodSeen(replaced(a_pod("p", "root.a", cpu=3), node=other)))

    assert (scenario.free(bind.node), scenario.free(other), scenario.used("root.a")) == (4, 1, 3)


def test_a_failure_that_arrives_after_the_watch_confirmed_changes_nothing() -> None:
    scenario = Scenario().nodes(1, cpu=4).pod("p", cpu=3)
    (bind,) = scenario.plan()
    scenario.confirm([bind]).fail(bind)
    assert scenario.free("node-0") == 1


@pytest.mark.parametrize("finished", [True, False])
def test_a_pod_that_ends_or_goes_returns_everything(finished: bool) -> None:
    scenario = Scenario().nodes(1, cpu=4).queue("root.a").pod("p", "root.a", cpu=3)
    scenario.confirm(scenario.plan())
    if finished:
        scenario.tell(PodSeen(replaced(a_pod("p", "root.a", cpu=3), node="node-0", finished=True)))
    else:
        scenario.gone("p")

    assert (scenario.used("root.a"), scenario.free("node-0"), scenario.core.state.pods) == (0, 4, {})
    assert scenario.core.state.applications == {}


def test_a_terminating_pod_counts_until_it_is_gone() -> None:
    scenario = Scenario().nodes(1, cpu=4).pod("p", cpu=3)
    scenario.confirm(scenario.plan())
    scenario.tell(PodSeen(replaced(a_pod("p", cpu=3), node="node-0", deleting=True)))
    assert scenario.free("node-0") == 1


def test_a_resize_of_a_bound_pod_changes_what_is_counted() -> None:
    scenario = Scenario().nodes(1, cpu=4).queue("root.a").pod("p", "root.a", cpu=1)
    scenario.confirm(scenario.plan())
    scenario.tell(PodSeen(replaced(a_pod("p", "root.a"), node="node-0", demand=amounts(3, 1))))
    assert (scenario.used("root.a"), scenario.free("node-0")) == (3, 1)


def test_after_a_restart_usage_is_what_the_bound_pods_say() -> None:
    scenario = Scenario()
    for number in range(3):
        scenario.tell(PodSeen(replaced(a_pod(f"p-{number}", "root.a", cpu=2), node="node-0")))
    scenario.nodes(1, cpu=8).queue("root.a").queue("root.b")
    scenario.plan()
    assert (scenario.used("root.a"), scenario.used("root"), scenario.free("node-0")) == (6, 6, 2)


def test_the_story_tells_what_happened_to_a_pod_and_which_event_caused_it() -> None:
    scenario = Scenario().nodes(1).pod("p")
    (bind,) = scenario.plan()
    scenario.fail(bind, "refused").gone("p")

    steps = scenario.core.state.story.of("p")
    assert [step.what for step in steps] == ["assumed", "bind refused", "gone"]
    assert steps[0].cause == bind.cause
    assert steps[0].detail == "node-0"


def questions(scenario: Scenario) -> list[str]:
    scenario.plan()
    return [effect.uid for effect in scenario.effects if isinstance(effect, Verify)]


def test_a_bind_of_which_nothing_is_heard_is_asked_about_again_and_again() -> None:
    scenario = Scenario().nodes(1, cpu=4).pod("p", cpu=3)
    (bind,) = scenario.plan()
    assert scenario.core.next_timer() == 60.0
    assert questions(scenario.wait(59.0)) == []
    assert questions(scenario.wait(1.0)) == ["p"]
    (asked,) = [effect for effect in scenario.effects if isinstance(effect, Verify)]
    assert (asked.namespace, asked.name, asked.node) == ("ns", "p", bind.node)
    assert questions(scenario) == []
    assert questions(scenario.wait(60.0)) == ["p"]
    assert state_of(scenario, "p") is PodState.ASSUMED


@pytest.mark.parametrize("outcome", ["confirmed", "gone", "failed"])
def test_a_bind_whose_outcome_is_known_is_not_asked_about(outcome: str) -> None:
    scenario = Scenario().nodes(1, cpu=4).pod("p", cpu=3)
    (bind,) = scenario.plan()
    match outcome:
        case "confirmed":
            scenario.confirm([bind])
        case "gone":
            scenario.gone("p")
        case "failed":
            scenario.fail(bind, "refused")
    assert scenario.core.next_timer() is None
    assert questions(scenario.wait(60.0)) == []


def test_a_later_bind_of_the_same_pod_has_its_own_time() -> None:
    scenario = Scenario().nodes(1, cpu=4).pod("p", cpu=3)
    (bind,) = scenario.plan()
    scenario.wait(30.0).fail(bind).wait(1.0)
    assert len(scenario.plan()) == 1
    assert questions(scenario.wait(40.0)) == []
    assert questions(scenario.wait(20.0)) == ["p"]


def test_the_answers_end_an_assumption() -> None:
    scenario = Scenario().nodes(2, cpu=4).pods(4, "p", cpu=2)
    binds = {bind.uid: bind for bind in scenario.plan()}
    assert sorted(questions(scenario.wait(60.0))) == ["p-0", "p-1", "p-2", "p-3"]
    other = {"node-0": "node-1", "node-1": "node-0"}[binds["p-1"].node]
    scenario.tell(
        PodSeen(replaced(a_pod("p-0", cpu=2), node=binds["p-0"].node), answer=True),
        PodSeen(replaced(a_pod("p-1", cpu=2), node=other), answer=True),
        PodGone("p-2"),
        BindFailed("p-3", "transient", "the pod is not bound"),
    )
    assert [state_of(scenario, f"p-{number}") for number in (0, 1, 3)] == [PodState.BOUND, PodState.BOUND, PodState.DELAYED]
    assert scenario.used("root") == 4


def test_an_answer_that_comes_after_the_watch_has_told_more_says_nothing() -> None:
    scenario = Scenario().nodes(1, cpu=4).pod("p", cpu=3)
    scenario.plan()
    scenario.gone("p").tell(PodSeen(replaced(a_pod("p", cpu=3), node="node-0"), answer=True))
    assert (scenario.core.state.pods, scenario.free("node-0")) == ({}, 4)


def test_pods_that_cannot_be_understood_keep_nobody_back_and_each_says_its_own_why() -> None:
    nothing = (("pods", 1),)
    scenario = Scenario().nodes(1)
    for name, problem in (("first", "spec: odd"), ("fine", ""), ("second", "spec: odder"), ("also-fine", "")):
        scenario.tell(PodSeen(replaced(a_pod(name), demand=nothing, problem=problem)))
    assert {bind.uid for bind in scenario.plan()} == {"fine", "also-fine"}
    assert scenario.why("first") == ("InvalidPod", "spec: odd")
    assert scenario.why("second") == ("InvalidPod", "spec: odder")
