"""When the owners of waiting pods are told why: late enough, once, and not back and forth."""

import pytest

from core.builders import Scenario, a_pod, limits
from treadle.core.effects import Bind, RecordEvent, ReportWaiting
from treadle.core.events import BindFailed, PodSeen
from treadle.core.kernel.periodic import reports
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


def test_a_bind_that_fails_again_is_told_with_the_servers_words_and_once_by_an_event() -> None:
    scenario = Scenario().nodes(1, cpu=4).pods(2, "p")
    words = '403 pods "p-0" is forbidden: cannot create resource "pods/binding"'
    for bind in scenario.plan():
        scenario.tell(BindFailed(bind.uid, "transient", words))
    scenario.wait(1.1).plan()
    assert scenario.reports == []  # once is a moment of the API server's
    again = [bind for bind in scenario.effects if isinstance(bind, Bind)]
    for bind in again:
        scenario.tell(BindFailed(bind.uid, "transient", words))
    scenario.plan()
    told = f"binding the pod to a node failed 2 times and is tried again; the API server's last answer: {words}"
    assert {(report.name, report.reason, report.message) for report in scenario.reports} == {
        ("p-0", "BindFailed", told),
        ("p-1", "BindFailed", told),
    }
    (event,) = [effect for effect in scenario.effects if isinstance(effect, RecordEvent)]
    assert (event.reason, event.note) == ("FailedScheduling", f"BindFailed: {told}.")
    assert scenario.why("p-0") == ("BindFailed", told)
    scenario.wait(3)
    for bind in scenario.plan():
        scenario.tell(BindFailed(bind.uid, "transient", words))
    scenario.plan()
    assert scenario.effects == []  # it is held down


def test_what_was_told_stays_told_when_the_core_is_made_anew() -> None:
    scenario = Scenario().nodes(1, cpu=1).pods(2, "p")
    scenario.plan()
    scenario.wait(4).plan()
    assert [type(effect) for effect in scenario.effects] == [ReportWaiting, RecordEvent]
    core = scenario.core
    new = core.fresh()
    for event in core.facts():
        new.handle(event, scenario.now)
    core.become(new)
    scenario.plan()
    scenario.wait(4).plan()
    assert [effect for effect in scenario.effects if isinstance(effect, RecordEvent)] == []


def test_where_very_many_wait_a_pass_tells_some_and_the_next_ones_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reports, "MOST_LOOKED_AT", 10)
    scenario = Scenario().nodes(1, cpu=0).pods(25, "many", application="many").pod("one", application="one")
    scenario.plan()
    told: list[int] = []
    events: list[str] = []
    for _ in range(4):
        scenario.wait(0.0 if told else 3.0).plan()
        told.append(len(scenario.reports))
        events += [event.name for event in scenario.effects if isinstance(event, RecordEvent)]
        if sum(told) < 26:
            assert scenario.core.next_timer() == scenario.now
    assert told == [10, 10, 6, 0]
    assert sorted(events) == ["many-0", "one"]
    assert not scenario.core.state.reports.partly


def test_who_was_passed_over_as_others_left_the_line_meanwhile_is_told_a_little_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reports, "MOST_LOOKED_AT", 10)
    scenario = Scenario().nodes(1, cpu=0).pods(25, "many", application="many")
    scenario.plan()
    scenario.wait(3.0).plan()
    assert {report.name for report in scenario.reports} == {f"many-{number}" for number in range(10)}
    scenario.gone(*(f"many-{number}" for number in range(8)))
    told: set[str] = set()
    for _ in range(4):
        scenario.wait(3.0).plan()
        told.update(report.name for report in scenario.reports)
    assert told == {f"many-{number}" for number in range(10, 25)}


def test_an_ask_that_ends_while_some_of_its_pods_were_told_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reports, "MOST_LOOKED_AT", 10)
    scenario = Scenario().nodes(1, cpu=0).pods(25, "many", application="many")
    scenario.plan()
    scenario.wait(3.0).plan()
    assert scenario.core.state.reports.partly
    scenario.gone(*(f"many-{number}" for number in range(25))).plan()
    assert not scenario.core.state.reports.partly
