"""Waking the first ask of each shape that has room places what waking all of them would, pass by pass.

Two cores are told the same: in the one all asks of a shape compete when a node has room for it, in the other the first one.
Whatever happened, both bind the same pods to the same nodes in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

from core.builders import Scenario, limits
from core.clusters import settings as capacity_settings
from examples import examples
from treadle.controllers.capacity import capacity as read
from treadle.core.kernel import cycle
from treadle.core.kernel.tree import parked
from treadle.core.model import Constraints, FairSettings, HostPort, Wish
from treadle.core.model.capacity import CapacityQueueSpec, PartitionShare

LEAVES = ["root.a", "root.b.x", "root.b.y", "root.c.x", "root.c.y"]
QUEUES = ["root.a", "root.b", "root.c", *LEAVES[1:]]
USERS = ["ann", "bob", "cid"]
APPLICATIONS = 9
SHAPES: list[dict[str, Any]] = [
    {"cpu": 1, "memory": 1},
    {"cpu": 1, "memory": 1},
    {"cpu": 2, "memory": 1},
    {"cpu": 1, "memory": 4},
    {"cpu": 3, "memory": 6},
    {"cpu": 1, "memory": 1, "resources": {"gpu": 1}},
    {"cpu": 1, "memory": 2, "constraints": Constraints(selector=(("zone", "1"),))},
    {"cpu": 1, "memory": 1, "constraints": Constraints(host_ports=(HostPort("0.0.0.0", "TCP", 80),))},
]
LIKING = {"cpu": 1, "memory": 1, "constraints": Constraints(wish=Wish(("node-1",)))}


@contextmanager
def waking_all(what: bool, skips: int) -> Iterator[None]:
    before = cycle.call, parked.SKIPS
    cycle.call, parked.SKIPS = cycle.call_all if what else cycle.call_first, skips
    try:
        yield
    finally:
        cycle.call, parked.SKIPS = before


class Two:
    """Two scenarios that are told the same; of the one all asks are woken. ``skips``: how many may be passed over in the order of all shapes before the heaps of each are asked."""

    def __init__(self, skips: int) -> None:
        self.all, self.first = Scenario(), Scenario()
        self.number, self.skips = 0, skips

    def tell(self, name: str, *args: Any, **kwargs: Any) -> None:
        for scenario in (self.all, self.first):
            getattr(scenario, name)(*args, **kwargs)

    def plan(self, budget: int, outcomes: list[str]) -> None:
        with waking_all(True, self.skips):
            wanted = self.all.plan(budget)
        with waking_all(False, self.skips):
            binds = self.first.plan(budget)
        assert [bind[:6] for bind in map(tuple, binds)] == [bind[:6] for bind in map(tuple, wanted)]
        for scenario in (self.all, self.first):
            scenario.everybody_says_why()
        for number, bind in enumerate(binds):
            if outcomes[number % len(outcomes)] == "fails":
                self.tell("fail", bind)
            elif outcomes[number % len(outcomes)] == "confirmed":
                self.tell("confirm", [bind])

    def nobody_waits_in_vain(self) -> None:
        """After a whole pass no ask waits for a node while one has room for it."""
        state = self.first.core.state
        for shape in state.shapes.parked():
            assert not shape.parked.open
            for ask in shape.parked.asks:
                if ask.wait is not None and ask.wait.reason == cycle.NO_NODE:
                    assert cycle.pick(state.nodes, shape, state.score) < 0


def pods(draw: Any, two: Two, *, wishes: bool) -> None:
    leaf, application = draw(st.sampled_from(LEAVES)), draw(st.integers(0, APPLICATIONS - 1))
    fields: dict[str, Any] = dict(LIKING if wishes and draw(st.integers(0, 9)) == 0 else draw(st.sampled_from(SHAPES)))
    fields["user"] = USERS[application % len(USERS)]
    fields["priority"] = draw(st.sampled_from([0, 0, 5]))
    fields["role"] = draw(st.sampled_from(["", "", "", "master"]))
    fields["created"] = float(application % 4)
    for _ in range(draw(st.integers(1, 5))):
        two.number += 1
        two.tell("pod", f"p{two.number}", leaf, f"app{application}", **fields)


def queue(draw: Any, two: Two, *, capacity: bool, maxima: bool) -> None:
    path = draw(st.sampled_from(QUEUES))
    if capacity:
        most = draw(st.sampled_from([None, None, "60%", "30%"])) if maxima else None
        spec = CapacityQueueSpec(
            path,
            partitions={"": PartitionShare(read("guaranteed", draw(st.sampled_from(["1w", "2w", "5w"]))), read("maximum", most))},
            user_limit=draw(st.sampled_from([100.0, 50.0, 25.0])),
            user_limit_factor=draw(st.sampled_from([-1.0, -1.0, 1.0, 2.0])),
            order=draw(st.sampled_from(["fifo", "fair"])) if path in LEAVES else None,
        )
        two.tell("queue", path, capacity=spec)
        return
    fields: dict[str, Any] = {"weight": draw(st.sampled_from([1.0, 2.0, 0.5]))}
    if maxima and draw(st.booleans()):
        fields["maximum"] = limits(cpu=draw(st.sampled_from([3, 6])))
    if draw(st.integers(0, 3)) == 0:
        fields["minimum"] = limits(cpu=2, memory="2Gi")
    if path in LEAVES:
        fields["policy"] = draw(st.sampled_from(["drf", "fair", "fifo"]))
        fields["max_master_share"] = draw(st.sampled_from([None, 0.5]))
    two.tell("queue", path, **fields)


def node(draw: Any, two: Two) -> None:
    number = draw(st.integers(0, 5))
    cpu, gpu = draw(st.integers(2, 5)), draw(st.integers(0, 1))
    two.tell("node", f"node-{number}", cpu=cpu, memory=8, labels={"zone": str(number % 2)}, resources={"gpu": gpu})


def gone(draw: Any, two: Two, *, running: bool) -> None:
    state = two.first.core.state
    names = [uid for uid, record in state.pods.items() if (record.node >= 0) is running]
    if names:
        for uid in draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True)):
            two.tell("gone", uid)


@pytest.mark.parametrize(
    ("capacity", "maxima", "budgets"),
    [(False, True, True), (True, False, True), (True, True, False)],
    ids=["fair", "capacity", "capacity with maxima"],
)
def test_the_first_ask_of_each_shape_is_placed_as_if_all_competed(capacity: bool, maxima: bool, budgets: bool) -> None:
    @settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def run(data: st.DataObject) -> None:
        draw = data.draw
        two = Two(draw(st.sampled_from([0, 1, parked.SKIPS])))
        scoring = draw(st.sampled_from(["Pack", "Spread"]))
        wishes = draw(st.booleans())
        if capacity:
            two.tell("scheduler", discipline="Capacity", scoring=scoring, capacity=capacity_settings(reservable_nodes=0.0))
        else:
            two.tell("scheduler", scoring=scoring, fair=FairSettings(node_delay=draw(st.sampled_from([0.0, 3.0]))))
        for path in QUEUES:
            if capacity:
                share = {"": PartitionShare(read("guaranteed", "1w"), read("maximum", None))}
                two.tell("queue", path, capacity=CapacityQueueSpec(path, partitions=share, user_limit_factor=-1))
            else:
                two.tell("queue", path)
        for number in range(4):
            two.tell("node", f"node-{number}", cpu=4, memory=8, labels={"zone": str(number % 2)}, resources={"gpu": number % 2})
        for _ in range(draw(st.integers(2, 14))):
            pods(draw, two, wishes=wishes)
        for _ in range(draw(st.integers(5, 40))):
            step = draw(st.integers(0, 13))
            if step <= 4:
                gone(draw, two, running=True)
            elif step == 5:
                gone(draw, two, running=False)
            elif step <= 7:
                pods(draw, two, wishes=wishes)
            elif step == 8:
                queue(draw, two, capacity=capacity, maxima=maxima)
            elif step == 9:
                node(draw, two)
            elif step == 10:
                two.tell("without_node", f"node-{draw(st.integers(0, 5))}")
            else:
                two.tell("wait", draw(st.sampled_from([1.0, 4.0])))
            if draw(st.booleans()):
                budget = draw(st.sampled_from([1, 2, 100])) if budgets else 1000
                two.plan(budget, draw(st.sampled_from([["confirmed"], ["confirmed", "fails"], ["assumed"]])))
        two.tell("wait", 61.0)
        two.plan(1000, ["confirmed"])
        two.nobody_waits_in_vain()

    run()
