"""States of queues: a stopped one takes no application in, a draining one stops when its last has left."""

from __future__ import annotations

import pytest

from core.rules.capacity.trees import busy, percent, tree_of
from treadle.core.rules.capacity import states
from treadle.core.rules.capacity.queue import DRAINING, RUNNING, STOPPED, CapacityQueue
from treadle.core.rules.capacity.validation import Refused


def queues(**said: str) -> dict[str, CapacityQueue]:
    """A parent with the leaves x and y."""
    tree = tree_of(
        percent("root.p", 100, children=("x", "y"), state=said.get("p")),
        percent("root.p.x", 50, state=said.get("x")),
        percent("root.p.y", 50, state=said.get("y")),
    )
    return tree.queues()


def test_a_queue_runs_unless_something_else_is_said() -> None:
    assert {queue.state for queue in queues().values()} == {RUNNING}


def test_what_is_below_a_stopped_queue_is_stopped() -> None:
    found = queues(p=STOPPED)
    assert (found["root"].state, found["root.p"].state, found["root.p.x"].state) == (RUNNING, STOPPED, STOPPED)


def test_a_queue_below_a_stopped_one_cannot_run() -> None:
    with pytest.raises(Refused, match=r"root\.p\.x: state: RUNNING is not possible, since root\.p is not running"):
        queues(p=STOPPED, x=RUNNING)


def test_a_state_that_there_is_not_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(Refused, match="DRAINING is not RUNNING or STOPPED"):
        queues(x=DRAINING)


def test_a_queue_with_applications_drains_and_stops_when_the_last_has_left() -> None:
    leaf = queues()["root.p.x"]
    busy(leaf)
    states.define(leaf, STOPPED)
    assert leaf.state == DRAINING
    states.left(leaf)
    assert leaf.state == DRAINING
    leaf.pending.clear()
    states.left(leaf)
    assert leaf.state == STOPPED


def test_stopping_a_parent_stops_its_leaves_each_as_it_can() -> None:
    found = queues()
    busy(found["root.p.x"])
    states.stop(found["root.p"])
    assert (found["root.p.x"].state, found["root.p.y"].state) == (DRAINING, STOPPED)


def test_a_leaf_starts_again_only_below_a_running_parent() -> None:
    found = queues()
    states.stop(found["root.p"])
    with pytest.raises(Refused, match="start it first"):
        states.define(found["root.p.x"], RUNNING)
    states.define(found["root.p"], RUNNING)
    states.define(found["root.p.x"], RUNNING)
    assert found["root.p.x"].state == RUNNING


def test_a_definition_without_a_state_changes_none() -> None:
    leaf = queues()["root.p.x"]
    states.stop(leaf)
    states.define(leaf, None)
    assert leaf.state == STOPPED
