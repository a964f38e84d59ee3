"""When the owners of waiting pods are told why: late enough, once, and not back and forth."""

from core.builders import Scenario, a_pod, limits
from treadle.core.events import PodSeen
from treadle.core.kernel.periodic.failed_scheduling import RETOLD_AFTER


def test_nothing_is_told_before_a_pod_has_waited_for_three_seconds() -> None:
    scenario = Scenario().nodes(1, cpu=1).pods(2, "p")
    scenario.plan()
    scenario.wait(2.9).plan()
    assert scenario.reports == []
    scenario.wait(0.2).plan()
    (report,) = scenario.reports
    assert (report.name, report.reason, report.message) == (
        "p-1",
        "Unschedulable",
        "0/1 nodes are available: 1 Insufficient cpu.",
    )


def test_a_reason_is_told_once_and_later_pods_of_the_same_ask_get_theirs() -> None:
    scenario = Scenario().nodes(1, cpu=1).pods(2, "p")
    scenario.plan()
    scenario.wait(4).plan()
    scenario.wait(100).plan()
    assert scenario.reports == []

    scenario.pod("late").plan()
    scenario.wait(4).plan()
    assert [report.name for report in scenario.reports] == ["late"]


def test_a_queue_limit_has_a_reason_of_its_own_that_makes_no_autoscaler_buy_nodes() -> None:
    scenario = Scenario().nodes(1, cpu=9, memory=99).queue("root.a", maximum=limits(cpu="1")).pods(2, "p", "root.a")
    scenario.plan()
    scenario.wait(4).plan()
    assert [report.reason for report in scenario.reports] == ["QueueMaximum"]


def test_what_the_api_already_says_is_not_said_again_after_a_restart() -> None:
    scenario = (
        Scenario()
        .nodes(1, cpu=1)
        .tell(PodSeen(a_pod("big", cpu=2, reported=("Unschedulable", "0/1 nodes are available: 1 Insufficient cpu."))))
    )
    scenario.plan()
    scenario.wait(10).plan()
    assert scenario.reports == []


def test_a_reason_that_changes_back_and_forth_is_held_down() -> None:
    scenario = Scenario().nodes(1, cpu=2, memory=99).queue("root.a").pods(3, "p", "root.a")
    scenario.plan()
    scenario.wait(4).plan()
    assert len(scenario.reports) == 1

    scenario.queue("root.a", maximum=limits(cpu="1")).gone("p-0")
    scenario.plan()
    scenario.wait(4).plan()
    assert scenario.reports == []
    scenario.wait(30).plan()
    assert [report.reason for report in scenario.reports] == ["QueueMaximum"]


def test_the_next_timer_says_when_to_look_again() -> None:
    scenario = Scenario().nodes(1, cpu=1).pods(2, "p")
    scenario.confirm(scenario.wait(1).plan())
    assert scenario.core.next_timer() == 4.0
    scenario.wait(3).plan()
    assert scenario.core.next_timer() == 4.0 + RETOLD_AFTER, "the event is written again before the API server forgets it"


def test_how_many_are_ahead_follows_the_order() -> None:
    scenario = Scenario().nodes(1, cpu=1).queue("root.a", policy="fifo")
    for number in range(3):
        scenario.pods(2, f"app{number}", "root.a", f"app{number}", created=float(number))
    scenario.plan(1)
    assert scenario.core.explain("app2-0").ahead == 3
    assert scenario.why("app2-0")[0] == "WaitingForTurn"

    scenario.plan()
    assert scenario.core.explain("app2-0").ahead == 3, "what waits for a node has the same order"
    assert scenario.why("app2-0")[0] == "Unschedulable"
