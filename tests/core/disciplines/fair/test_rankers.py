"""Under ``fair`` a queue below its minimum is served by how much of it is met, and a minimum counts no further than what is demanded (``FairSharePolicy``)."""

from __future__ import annotations

from core.builders import Scenario, by_queue, limits


def two_queues(memory: int = 12) -> Scenario:
    scenario = Scenario().node("only", cpu=100, memory=memory).queue("root", policy="fair")
    for name in ("few", "many"):
        scenario.queue(f"root.{name}", policy="fair", minimum=limits(memory="10Gi"))
    return scenario


def test_a_minimum_counts_no_further_than_the_demand() -> None:
    scenario = two_queues().pods(6, "few", "root.few", "few").pods(40, "many", "root.many", "many")
    assert by_queue(scenario.plan()) == {"root.few": 5, "root.many": 7}


def test_the_demand_follows_pods_that_come_and_go() -> None:
    scenario = two_queues(memory=6)
    scenario.pods(40, "few", "root.few", "few").pods(40, "many", "root.many", "many")
    first = scenario.plan()
    assert by_queue(first) == {"root.few": 3, "root.many": 3}
    scenario.confirm(first)
    scenario.gone(*(f"few-{number}" for number in range(3, 37)))
    scenario.node("more", cpu=100, memory=6).wait(1.0)
    assert by_queue(scenario.plan()) == {"root.few": 2, "root.many": 4}


def test_an_application_that_moves_takes_its_demand_with_it() -> None:
    scenario = two_queues().pods(3, "first", "root.few", "first").pods(3, "second", "root.many", "second")
    scenario.pods(37, "third", "root.many", "third").plan(0)
    scenario.application("second", "root.few").plan(0)
    assert by_queue(scenario.plan()) == {"root.few": 5, "root.many": 7}
