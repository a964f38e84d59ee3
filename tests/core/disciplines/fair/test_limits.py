"""The limits of queues under the fair discipline, as definitions come and go."""

from __future__ import annotations

from core.builders import Scenario, limits
from treadle.core.model import PlacementRule


def test_a_queue_that_a_rule_makes_in_place_of_one_that_was_defined_has_its_limits_no_longer() -> None:
    at = Scenario().nodes(1, cpu=8).scheduler(rules=(PlacementRule("default"),)).pods(9, "p")
    assert len(at.plan()) == 8
    at.queue("root.default", maximum=limits(cpu=8)).pod("q")
    assert at.plan() == []
    at.without_queue("root.default").pod("r", application="other")  # it is asked for a queue before the pass
    at.nodes(1, prefix="more", cpu=8)
    assert len(at.plan()) == 3
