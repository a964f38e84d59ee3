"""When owners of opportunistic pods that wait are told why: soon where other nodes are waited for, seldom where only numbers move, and not all of very many at once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from core.builders import Scenario, replaced
from core.kernel.opportunistic.idle_pods import bound, idle, seen
from treadle.core.kernel.opportunistic import renewing, telling
from treadle.core.model import Taint
from treadle.core.model.opportunistic import NodeQueueSettings, OpportunisticSettings

EDITS: list[Callable[[Scenario], Scenario]] = [
    lambda scenario: scenario.node("node-1", unschedulable=True),
    lambda scenario: scenario.node("node-1", taints=(Taint("gpu", "", "NoSchedule"),)),
    lambda scenario: scenario.without_node("node-1"),
]


def full(*, queues: bool) -> Scenario:
    """Two full nodes, and a pod that waits and whose owner knows why."""
    settings = OpportunisticSettings(node_queues=NodeQueueSettings() if queues else None)
    scenario = Scenario().scheduler(opportunistic=settings).nodes(2, cpu=4)
    bound(seen(scenario, *(idle(f"f{at}", cpu=4) for at in range(2))))
    seen(scenario, idle("o"))
    bound(scenario.wait(1))
    bound(scenario.wait(3))
    (report,) = scenario.reports
    assert "2/2 nodes admit it" in report.message
    return seen(scenario, replaced(idle("o"), reported=(report.reason, report.message), version="2"))  # as the watch shows it


def told(scenario: Scenario) -> dict[str, str]:
    return {report.uid: report.message for report in scenario.reports}


@pytest.mark.parametrize("queues", [False, True])
@pytest.mark.parametrize("edit", EDITS, ids=["cordoned", "tainted", "gone"])
def test_the_owner_is_told_within_seconds_when_a_node_is_no_longer_there_for_it(
    edit: Callable[[Scenario], Scenario], queues: bool
) -> None:
    scenario = edit(full(queues=queues))
    found: dict[str, str] = {}
    for _ in range(3):
        bound(scenario.wait(1))
        found |= told(scenario)
    assert "1/" in found["o"]
    assert "node-1" not in found["o"]
    assert not queues or "it stands at node-0 (number 1 of 1)" in found["o"]


def test_numbers_that_move_are_told_seldom() -> None:
    scenario = full(queues=True)
    for at in range(20):
        seen(scenario, idle(f"late{at}", application=f"a{at}"))
        bound(scenario.wait(3))
        assert "o" not in told(scenario)
    assert "number 1 of 15" in scenario.why("o")[1]


def test_when_a_node_comes_and_goes_a_few_are_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telling, "MOST_RETOLD", 3)
    scenario = full(queues=False)
    seen(scenario, *(idle(f"o{at}") for at in range(9)))
    bound(scenario.wait(3))
    assert len(told(scenario)) == 9
    scenario.node("node-1", unschedulable=True)
    bound(scenario.wait(10))
    assert len(told(scenario)) == 3
    bound(scenario.wait(3))
    assert len(told(scenario)) == 3


def test_of_very_many_some_are_told_in_a_pass_and_the_next_pass_is_due_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telling, "MOST_LOOKED_AT", 10)
    scenario = full(queues=False)
    seen(scenario, *(idle(f"o{at}") for at in range(25)))
    scenario.wait(3)
    counts = []
    while (timer := scenario.core.next_timer()) is not None and timer <= scenario.now:
        scenario.plan()
        counts.append(len(told(scenario)))
    assert sum(counts) == 25
    assert max(counts) == 10
    assert len(counts) == 3, "26 pods wait"


def test_one_of_very_many_that_has_other_rules_by_now_is_found_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renewing, "LOOKS", 2)
    scenario = full(queues=False)
    seen(scenario, *(idle(f"o{at}") for at in range(5)))
    bound(scenario.wait(1))
    waiting = scenario.core.state.opportunistic
    assert len(waiting.lines.kinds) == 1
    for record in list(waiting.waiting.values())[1:]:
        record.shape = scenario.core.state.shapes.of(record.shape.named, replaced(record.shape.asked, batch=("gone", "", ())))
        waiting.lines.enter(record)  # as if its application had been placed together, and nobody had said that it is not any more
    assert len(waiting.lines.kinds) == 2
    seen(scenario, idle("late"))
    bound(scenario.wait(1))
    assert len(waiting.lines.kinds) == 1, "of a kind of which the first has another shape all are looked at"
