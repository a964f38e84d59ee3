"""Of the asks of a shape that has room again the first one is woken, and the next when that was placed or waits for something else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from core.builders import Scenario, limits
from treadle.core.kernel import cycle
from treadle.core.kernel.tree import order, parked
from treadle.core.model import CAPACITY, FAIR, Constraints
from treadle.core.model.capacity import Capacity, CapacityQueueSpec, Kind, PartitionShare, Portion

DISCIPLINES = [FAIR, CAPACITY]


@pytest.fixture
def woken(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The applications whose asks were woken while they waited for nodes."""
    found: list[str] = []

    def activate(ask: Any) -> None:
        found.append(ask.application.name)
        order.activate(ask)

    monkeypatch.setattr(cycle, "activate", activate)
    return found


def full(discipline: str, applications: int) -> Scenario:
    """A full cluster, and in each of two queues applications that wait."""
    scenario = Scenario().scheduler(discipline=discipline).nodes(4, cpu=4)
    for path in ("root.a", "root.b"):
        share = PartitionShare(Capacity(Portion(Kind.WEIGHT, 1.0)))
        scenario.queue(path, capacity=CapacityQueueSpec(path, partitions={"": share}, user_limit_factor=-1))
    scenario.pods(16, "runs", "root.a", "runs", created=0.0)
    scenario.confirm(scenario.plan())
    for number in range(applications):
        scenario.pods(2, f"w{number}", f"root.{'ab'[number % 2]}", f"w{number:02}", created=1.0 + number)
    assert scenario.plan() == []
    assert scenario.core.state.discipline.name == discipline
    return scenario


@pytest.mark.parametrize("discipline", DISCIPLINES)
def test_an_end_wakes_one_application_of_many(discipline: str, woken: list[str]) -> None:
    scenario = full(discipline, 30).gone("runs-0")
    assert [bind.application for bind in scenario.plan()] == ["ns/w01"]
    assert woken == ["ns/w01"]


@pytest.mark.parametrize("discipline", DISCIPLINES)
def test_several_ends_wake_those_who_are_served_and_no_more(discipline: str, woken: list[str]) -> None:
    scenario = full(discipline, 30).gone("runs-0", "runs-1", "runs-2")
    binds = scenario.plan()
    assert len(binds) == 3
    assert set(woken) == {bind.application for bind in binds}


@pytest.mark.parametrize("discipline", DISCIPLINES)
def test_many_ends_beside_few_applications_wake_them_all_at_once(discipline: str) -> None:
    scenario = full(discipline, 6).gone(*(f"runs-{number}" for number in range(16)))
    assert len(scenario.plan()) == 12
    assert not scenario.core.state.shapes.waiting.shapes


@pytest.mark.parametrize("discipline", DISCIPLINES)
def test_a_pass_that_used_up_its_budget_leaves_the_others_waiting_for_their_turn(discipline: str) -> None:
    scenario = full(discipline, 6).gone("runs-0", "runs-1", "runs-2")
    assert len(scenario.plan(1)) == 1
    assert scenario.why("w4-0")[0] == "WaitingForTurn"
    assert len(scenario.plan(1)) == 1
    assert len(scenario.plan(100)) == 1
    assert scenario.why("w4-0")[0] == "Unschedulable"
    assert scenario.plan() == []


def test_a_first_ask_that_is_kept_back_by_a_maximum_gives_its_turn_to_the_next_one() -> None:
    scenario = Scenario().nodes(2, cpu=4).queue("root.a").queue("root.b", maximum=limits(cpu=1))
    scenario.pods(7, "a", "root.a", "a").pod("b", "root.b", "b")
    scenario.confirm(scenario.plan())
    scenario.pods(3, "more-a", "root.a", "more").plan()
    for number in range(3):
        scenario.pod(f"more-b{number}", "root.b", f"b{number}", cpu=1, memory=2)
    scenario.plan()
    scenario.gone("a-0")
    assert [bind.application for bind in scenario.plan()] == ["ns/more"]


def test_a_pod_that_waits_for_a_node_is_told_of_a_maximum_that_was_reached_meanwhile() -> None:
    scenario = Scenario().nodes(1, cpu=4).queue("root.a", maximum=limits(cpu=4))
    scenario.pods(2, "a", "root.a", "a")
    scenario.confirm(scenario.plan())
    scenario.pod("large", "root.a", "b", cpu=2, memory=100).plan()
    assert scenario.why("large")[0] == "Unschedulable"
    scenario.pods(2, "c", "root.a", "c").plan()
    assert scenario.why("large")[0] == "QueueMaximum"


@pytest.mark.parametrize("discipline", DISCIPLINES)
def test_owners_are_told_anew_although_their_asks_were_not_woken(discipline: str) -> None:
    scenario = full(discipline, 6).wait(5.0)
    scenario.plan()
    first = {report.uid: report.message for report in scenario.reports}
    scenario.node("small", cpu=1, memory=0).wait(400.0).gone("runs-0")
    scenario.plan()
    scenario.wait(5.0).plan()
    again = {report.uid: report.message for report in scenario.reports}
    assert "w4-0" in first
    assert "w4-0" in again
    assert again["w4-0"] != first["w4-0"]


@pytest.mark.parametrize("discipline", DISCIPLINES)
def test_one_that_fits_is_found_behind_many_of_another_shape(discipline: str, woken: list[str]) -> None:
    scenario = full(discipline, 0)
    for number in range(3 * parked.SKIPS):
        scenario.pod(f"large-{number}", "root.a", f"l{number:02}", cpu=3, memory=1, created=1.0 + number)
    for number in range(3):
        scenario.pods(2, f"small-{number}", "root.a", f"s{number}", cpu=1, memory=1, created=100.0 + number)
    scenario.plan()
    for number in range(5):
        scenario.gone(f"runs-{number}")
        (bind,) = scenario.plan()
        scenario.confirm([bind])
        assert bind.application.startswith("ns/s")
    assert {name[:4] for name in woken} == {"ns/s"}


def test_nothing_is_kept_of_applications_that_have_gone(woken: list[str]) -> None:
    scenario = full("Fair", 30)
    state = scenario.core.state
    assert len(state.shapes.waiting.shapes) == 1
    scenario.gone(*(uid for uid in state.pods if uid.startswith("w")))
    assert not state.shapes.waiting.shapes
    for queue in state.tree.queues.values():
        assert not queue.rest.rekeyed
        assert queue.rest.count == 0
        assert not queue.rests
        assert queue.rest_key is None
    assert all(not shape.parked.asks and not shape.parked.quiet for shape in state.shapes._known.values())
    assert woken == []


def test_of_many_shapes_those_are_looked_at_that_what_was_freed_could_take(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = Scenario().nodes(1, cpu=200, memory=1000, pods=1000)
    scenario.pods(200, "runs", "", "runs")
    scenario.confirm(scenario.plan())
    for number in range(1, 201):
        scenario.pod(f"w{number}", "", f"w{number}", cpu=number, memory=1)
    scenario.plan()
    looked: list[int] = []

    def pick(nodes: Any, shape: Any, score: Any) -> int:
        looked.append(shape.cpu // 1000)
        return real(nodes, shape, score)

    real = cycle.pick
    monkeypatch.setattr(cycle, "pick", pick)
    scenario.gone("runs-0", "runs-1")
    scenario.plan()
    assert set(looked) <= {1, 2}


def test_pods_with_a_selector_wait_for_a_node_that_it_admits() -> None:
    scenario = Scenario().nodes(1, cpu=1).node("other", cpu=1, labels={"zone": "b"})
    scenario.pods(2, "runs")
    scenario.confirm(scenario.plan())
    for number in range(3):
        scenario.pod(f"w{number}", "", f"w{number}", constraints=Constraints(selector=(("zone", "b"),)), created=1.0 + number)
    scenario.plan()
    scenario.gone("runs-0")
    free = [name for name in ("node-0", "other") if scenario.free(name)]
    assert [bind.node for bind in scenario.plan()] == [name for name in free if name == "other"]
    scenario.gone("runs-1")
    assert [bind.node for bind in scenario.plan()] == ["other"] * (free != ["other"])
