"""What queues demand is what their applications hold and ask for, whichever way it is added up."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import given

from treadle.core import Core
from treadle.core.events import NodeSeen, PodSeen, QueueSeen
from treadle.core.kernel.tree.demand import update_demand
from treadle.core.kernel.tree.members import Application, Queue
from treadle.core.model import NodeSpec, PodSpec, QueueSpec
from treadle.core.units.resources import UNBOUNDED, Vector

HUGE = UNBOUNDED // 1000


def demanded(application: Application, width: int) -> Vector:
    """The demand of an application, pod by pod."""
    total = list(application.usage)
    for record in application.pods.values():
        if record.ask is not None:
            for position, value in record.shape.charged:
                total[position] += value
    return [max(-UNBOUNDED, min(UNBOUNDED, total[position])) for position in range(width)]


def check(queue: Queue, width: int) -> Vector:
    """Compare a queue, and all below it, with a sum over pods; return its demand."""
    total = [0] * width
    for child in queue.children.values():
        total = [one + other for one, other in zip(total, check(child, width), strict=True)]
    for application in queue.applications.values():
        own = demanded(application, width)
        assert application.demand == own
        assert application.demand_in is queue
        total = [one + other for one, other in zip(total, own, strict=True)]
    waiting = [record for one in queue.applications.values() for record in one.pods.values() if record.ask is not None]
    if queue.leaf:
        assert queue.waiting_pods == len(waiting)
        assert queue.running == sum(one.allocated > 0 for one in queue.applications.values())
        assert queue.accepted == sum(not one.allocated for one in queue.applications.values())
        assert queue.pending == [
            sum(value for record in waiting for at, value in record.shape.charged if at == position) for position in range(width)
        ]
    assert queue.demand_below == total
    assert queue.demand == [min(value, most) for value, most in zip(total, queue.maximum, strict=True)]
    return queue.demand


pods = st.lists(
    st.tuples(
        st.sampled_from(["root.a", "root.b"]),
        st.integers(0, 3),
        st.sampled_from([0, 100, 900, HUGE]),
        st.sampled_from(["", "n0", "n1"]),
    ),
    max_size=14,
)


@given(pods, pods)
def test_the_demand_of_every_queue_is_the_sum_over_its_pods(first: list, later: list) -> None:  # type: ignore[type-arg]
    core = Core()
    for number in range(2):
        core.handle(NodeSeen(NodeSpec(f"n{number}", {"cpu": 1_000, "memory": 1 << 30, "pods": 5})), 0.0)
    for path in ("root.a", "root.b"):
        core.handle(QueueSeen(QueueSpec(path)), 0.0)
    number = 0
    for some in (first, later):
        for queue, application, cpu, node in some:
            number += 1
            demand = (*((("cpu", cpu),) if cpu else ()), ("pods", 1))
            core.handle(
                PodSeen(
                    PodSpec(
                        f"u{number}", "ns", f"p{number}", "treadle", node, demand=demand,
                        application=f"ns/{queue}-{application}", queue=queue, held_in=queue if node else "",
                    )
                ),
                float(number),
            )  # fmt: skip
        core.plan(float(number), 3)
        state = core.state
        update_demand(state.tree.root, len(state.types))
        check(state.tree.root, len(state.types))
