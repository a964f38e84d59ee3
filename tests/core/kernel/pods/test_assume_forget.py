"""To assume a placement and to forget it again changes nothing of what is counted, whatever the cluster looks like."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
from hypothesis import given, settings

from core.builders import Scenario, a_pod
from examples import examples
from recordings.workloads import Cluster
from treadle.core import Core
from treadle.core.events import BindFailed, PodSeen
from treadle.core.kernel.cycle import cycle
from treadle.core.kernel.pods.lifecycle import enqueue, forget
from treadle.core.model import Constraints


def counted(core: Core) -> dict[str, Any]:
    """All sums of a core, by the names of things."""
    state = core.state
    applications = [one for whole in state.applications.values() for one in whole.everywhere()]
    return {
        "nodes": [(list(free), list(ports)) for free, ports in zip(state.nodes.free, state.nodes.ports, strict=True)],
        "queues": {
            (queue.path, queue.partition): (list(queue.usage), list(queue.master_usage), queue.running_below)
            for queue in state.tree.everywhere()
        },
        "applications": {(one.id, one.partition): (list(one.usage), one.allocated) for one in applications},
        "users": {
            (one.id, one.partition): (list(one.quota.used), list(one.quota.masters))
            for one in applications
            if one.quota is not None
        },
        "asks": {(one.id, one.partition, key): len(ask.pods) for one in applications for key, ask in one.asks.items()},
        "pods": {uid: (record.state, record.node, record.master) for uid, record in state.pods.items()},
        "counts": (state.waiting, state.assumed, state.bound),
    }


@settings(max_examples=examples(25))
@given(st.integers(0, 10_000), st.sampled_from(["Fair", "Capacity"]))
def test_assume_then_forget_is_the_identity(seed: int, discipline: str) -> None:
    cluster = Cluster(seed, discipline)
    core = cluster.run(60)
    for _ in range(3):
        cluster.new_pods()
    core.plan(cluster.now, 0)
    state = core.state
    for _ in range(40):
        before = counted(core)
        made = cycle(state, 1)
        if not made:
            return
        assert counted(core) != before
        record = state.pods[made[0].uid]
        forget(state, record)
        enqueue(state, record)
        core.check()
        assert counted(core) == before
        core.handle(BindFailed(cycle(state, 1)[0].uid, "refused", "another one is next"), cluster.now)


def test_a_pod_that_is_edited_while_its_bind_is_under_way_waits_as_it_is_now_when_that_fails() -> None:
    at = Scenario().node("n", labels={"zone": "a"}).pod("p", labels=(("app", "web"),))
    (bind,) = at.plan()
    at.tell(PodSeen(a_pod("p", labels=(("app", "db"),), constraints=Constraints(selector=(("zone", "b"),)))))
    at.fail(bind).wait(60)
    assert at.plan() == []
    assert "node affinity/selector" in at.why("p")[1]
