"""Times that are taken while it runs: of pods that are bound, and of what waits."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from treadle.core.views.waiting import PlacementTimes, WaitingFigures
from treadle.runtime import measures as module
from treadle.runtime.measures import COST, OTHERS, Measures


class World:
    """A view, a clock and a leader that the test decides on."""

    def __init__(self) -> None:
        self.now, self.leads, self.cost, self.looks = 100.0, True, 0.0, 0
        self.reasons: dict[str, int] = {}
        self.times: dict[str, PlacementTimes] = {}
        self.error: Exception | None = None
        self.measures = Measures(lambda: self.view, lambda: self.leads, lambda: self.now)

    @property
    def view(self) -> Any:
        return SimpleNamespace(waiting=self._waiting, placement_times=self.times.get)

    def _waiting(self) -> WaitingFigures:
        self.looks += 1
        self.now += self.cost
        if self.error is not None:
            raise self.error
        return WaitingFigures(dict(self.reasons), {})

    def look(self, after: float = 0.0) -> None:
        self.now += after
        self.measures.look()

    def bound(self, queue: str, since_made: float | None = 7.0, entered: float = 90.0, decided: float = 99.0) -> None:
        self.times["a"] = PlacementTimes(queue, since_made, entered, decided)
        self.measures.bound(self.view, "a", self.now)


def test_the_times_of_a_bound_pod_are_taken() -> None:
    world = World()
    world.bound("root.a.deep.down")
    world.bound("root.a")

    (name,) = world.measures.by_queue
    assert name == "root.a"
    assert (world.measures.by_queue[name].times().count, world.measures.by_queue[name].times().total) == (2, 14.0)
    assert (world.measures.scheduled.times().count, world.measures.scheduled.times().total) == (2, 2.0)
    assert (world.measures.entered.times().count, world.measures.entered.times().total) == (2, 20.0)


def test_a_pod_that_is_gone_or_of_which_a_time_is_not_known_is_not_counted() -> None:
    world = World()
    world.measures.bound(world.view, "gone", 100.0)
    assert world.measures.scheduled.times().count == 0
    world.bound("root.a", since_made=None, entered=float("-inf"))
    assert world.measures.scheduled.times().count == 1
    assert world.measures.entered.times().count == 0
    assert world.measures.by_queue == {}


def test_of_very_many_queues_the_further_ones_are_told_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_QUEUES", 2)
    monkeypatch.setattr(module, "MOST_PATHS", 3)
    world = World()
    for number in range(10):
        world.bound(f"root.q{number}")
    world.bound("root.q1.below")

    assert {name: one.times().count for name, one in world.measures.by_queue.items()} == {"root.q0": 1, "root.q1": 2, OTHERS: 8}


def test_the_time_between_two_looks_is_counted_for_those_who_waited() -> None:
    world = World()
    world.reasons = {"Unschedulable": 3}
    world.look()
    world.reasons = {"QueueMaximum": 1}
    world.look(after=10.0)
    assert world.measures.waited == {"Unschedulable": 30.0}
    world.look(after=5.0)
    assert world.measures.waited == {"Unschedulable": 30.0, "QueueMaximum": 5.0}


def test_who_stands_by_lets_nobody_wait() -> None:
    world = World()
    world.reasons = {"Unschedulable": 3}
    world.leads = False
    world.look()
    world.look(after=10.0)
    world.leads = True
    world.look(after=10.0)
    assert world.measures.waited == {}
    assert world.measures.waiting.reasons == {"Unschedulable": 3}
    world.look(after=10.0)
    assert world.measures.waited == {"Unschedulable": 30.0}


def test_a_look_that_takes_long_is_made_less_often() -> None:
    world = World()
    world.cost = 0.5
    world.look()
    world.look(after=COST * 0.5 - 1.0)
    assert world.looks == 1
    world.look(after=1.0)
    assert world.looks == 2


def test_an_error_of_the_core_leaves_the_numbers_of_before(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    world.reasons = {"Unschedulable": 3}
    world.look()
    world.error = RuntimeError("a policy of our own")
    world.look(after=1.0)
    assert world.measures.waiting.reasons == {"Unschedulable": 3}
    assert "what waits could not be counted" in caplog.text
