"""Where pods stand: the steps that there are, and the counts that follow them."""

from __future__ import annotations

from itertools import product

import pytest

from core.builders import Scenario, a_pod
from treadle.core.kernel.between.kinds import Kind
from treadle.core.kernel.nodes.shapes import Shape
from treadle.core.kernel.pods.states import TRANSITIONS, PodState
from treadle.core.kernel.pods.table import PodTable
from treadle.core.kernel.tree.members import PodRecord
from treadle.core.model import Constraints

STEPS = list(product(PodState, PodState))
COUNTS = {
    PodState.IDLE: (0, 0, 0),
    PodState.WAITING: (1, 0, 0),
    PodState.DELAYED: (1, 0, 0),
    PodState.ASSUMED: (0, 1, 0),
    PodState.BOUND: (0, 0, 1),
}
"""How many wait, are assumed and are bound, where one pod is in a state."""


def table(state: PodState) -> tuple[PodTable, PodRecord]:
    """One pod that has come into a state."""
    pods = PodTable()
    record = pods["p"] = PodRecord(a_pod("p"), Shape(0, (), (), Constraints()), Kind("ns", (), (), deleting=False))
    for step in (PodState.WAITING, PodState.ASSUMED) if state is PodState.ASSUMED else (state,):
        if record.state is not step:
            pods.move(record, step)
    return pods, record


@pytest.mark.parametrize("state", PodState)
def test_a_pod_is_counted_where_it_stands(state: PodState) -> None:
    pods, _ = table(state)
    assert (pods.waiting, pods.assumed, pods.bound) == COUNTS[state]


@pytest.mark.parametrize(("before", "after"), [step for step in STEPS if step in TRANSITIONS])
def test_a_step_counts_the_pod_where_it_stands_then(before: PodState, after: PodState) -> None:
    pods, record = table(before)
    pods.move(record, after)
    assert record.state is after
    assert (pods.waiting, pods.assumed, pods.bound) == COUNTS[after]


@pytest.mark.parametrize(("before", "after"), [step for step in STEPS if step not in TRANSITIONS])
def test_a_step_that_there_is_not_is_an_error_and_changes_nothing(before: PodState, after: PodState) -> None:
    pods, record = table(before)
    counts = (pods.waiting, pods.assumed, pods.bound)
    with pytest.raises(AssertionError, match=f"pod p: no step from {before.value} to {after.value}"):
        pods.move(record, after)
    assert record.state is before
    assert (pods.waiting, pods.assumed, pods.bound) == counts


def test_a_pod_walks_from_its_ask_to_its_node_and_back() -> None:
    scenario = Scenario().nodes(1).queue("root.a").pod("p", "root.a")
    pods = scenario.core.state.pods
    assert (pods.waiting, pods.assumed, pods.bound) == (1, 0, 0)
    (bind,) = scenario.plan()
    assert (pods.waiting, pods.assumed, pods.bound) == (0, 1, 0)
    scenario.fail(bind)
    assert (pods.waiting, pods.assumed, pods.bound) == (1, 0, 0)
    assert pods["p"].state is PodState.DELAYED
    (bind,) = scenario.wait(2.0).plan()
    scenario.confirm([bind])
    assert (pods.waiting, pods.assumed, pods.bound) == (0, 0, 1)
    scenario.gone("p")
    assert (pods.waiting, pods.assumed, pods.bound) == (0, 0, 0)
