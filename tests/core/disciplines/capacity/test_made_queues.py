"""A queue that an application makes, or that goes when it is idle, costs the same among many queues as among few."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

import pytest

from core.builders import Scenario, limits
from core.clusters import Growing
from treadle.core.model import PlacementRule
from treadle.core.model.capacity import FlexibleCreation


def steps_of(work: Callable[[], object]) -> int:
    """How many functions are called and generators resumed: what is the same every time, unlike seconds."""
    count = 0

    def called(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    sys.setprofile(called)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def capacity(queues: int) -> Scenario:
    cluster = Growing()
    cluster.capacity(idle_before_removal=1.0, removal_interval=1.0).nodes(2, cpu=20, memory=40)
    for number in range(queues):
        cluster.share(f"root.group-{number % 5}.queue-{number}", "1w")
    for number in range(5):
        cluster.share(f"root.group-{number}", "1w")
    cluster.share("root.users", "1w", flexible=FlexibleCreation(enabled=True))
    return cluster


def fair(queues: int) -> Scenario:
    cluster = Scenario().nodes(2, cpu=20, memory=40)
    cluster.scheduler(rules=(PlacementRule("specified"), PlacementRule("reject")))
    for number in range(queues):
        cluster.queue(f"root.group-{number % 5}.queue-{number}", maximum=limits(cpu="10"))
    for number in range(5):
        cluster.queue(f"root.group-{number}")
    return cluster.queue("root.users", holds_queues=True)


def made_and_gone(cluster: Scenario) -> tuple[int, int]:
    """The steps of the pass in which a queue is made, and of those in which it goes, when others were made and went before."""
    cluster.core.validate = False
    found = (0, 0)
    for name in ("first", "second", "third"):
        cluster.wait(20.0)

        def make(name: str = name) -> None:
            cluster.pod(name, f"root.users.{name}", name, user=name).plan()

        def go(name: str = name) -> None:
            cluster.gone(name).plan()
            for _ in range(8):
                cluster.wait(2.0).plan()

        made = steps_of(make)
        assert f"root.users.{name}" in cluster.core.state.tree.queues
        found = (made, steps_of(go))
        assert f"root.users.{name}" not in cluster.core.state.tree.queues
    return found


@pytest.mark.parametrize("cluster", [fair, capacity])
def test_making_a_queue_and_removing_it_cost_the_same_among_many_queues(cluster: Callable[[int], Scenario]) -> None:
    few, many = made_and_gone(cluster(20)), made_and_gone(cluster(600))
    assert many[0] < 1.2 * few[0]
    assert many[1] < 1.2 * few[1]
