"""A round of preemption for many applications looks at nodes a few times, however many pods and nodes there are."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import pytest

from core.builders import a_node, a_pod, replaced
from core.clusters import QUICK, settings
from treadle.controllers.capacity import capacity as read
from treadle.core import Core
from treadle.core.effects import Bind, Evict
from treadle.core.events import BindDone, NodeSeen, PodGone, PodSeen, QueueSeen, SchedulerSeen
from treadle.core.model import FairSettings, QueueSpec, SchedulerSpec
from treadle.core.model.capacity import CapacityQueueSpec, PartitionShare

NODES, APPLICATIONS = 120, 40


class Cluster:
    """Queue ``b`` has all of a cluster but a pod of each application in ``a``, which is due half of it."""

    def __init__(self, discipline: str) -> None:
        fair = FairSettings(preemption=True, fair_share_timeout=5.0, fair_share_threshold=1.0, utilization_threshold=0.0)
        capacity = {"capacity": settings(preemption=QUICK)} if discipline == "Capacity" else {}
        self.core, self.now, self.evicted = Core(), 0.0, 0
        self.tell(SchedulerSeen(SchedulerSpec(discipline=discipline, fair=fair, **capacity)))
        for name in ("a", "b"):
            share = CapacityQueueSpec(
                f"root.{name}", partitions={"": PartitionShare(read("guaranteed", "50%"))}, user_limit_factor=-1
            )
            self.tell(QueueSeen(QueueSpec(f"root.{name}", capacity=share)))
        self.tell(*(NodeSeen(a_node(f"n{number}", cpu=4, memory=16)) for number in range(NODES)))
        self.step()
        self.tell(*(PodSeen(a_pod(f"a{number}", "root.a", f"a{number}")) for number in range(APPLICATIONS)))
        self.step()
        others = 4 * NODES - APPLICATIONS
        self.tell(*(PodSeen(a_pod(f"b{number}", "root.b", f"b{number % 10}")) for number in range(others)))
        self.step()
        self.tell(
            *(PodSeen(a_pod(f"a{number}-{pod}", "root.a", f"a{number}")) for number in range(APPLICATIONS) for pod in range(10))
        )

    def tell(self, *events: Any) -> None:
        for event in events:
            self.core.handle(event, self.now)

    def step(self) -> None:
        self.now += 0.5
        for effect in self.core.plan(self.now):
            if isinstance(effect, Bind):
                spec = self.core.state.pods[effect.uid].spec
                self.tell(BindDone(effect.uid), PodSeen(replaced(spec, node=effect.node, held_in=effect.queue, started=self.now)))
            elif isinstance(effect, Evict):
                self.evicted += 1
                self.tell(PodGone(effect.uid))


@pytest.mark.parametrize("discipline", ["Fair", "Capacity"])
def test_nodes_are_not_looked_through_for_each_application(discipline: str) -> None:
    cluster = Cluster(discipline)
    looked = 0

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal looked
        looked += event == "call" and frame.f_code.co_name in {"pick_on_node", "taken"}

    sys.setprofile(count)
    try:
        for _ in range(24):
            cluster.step()
    finally:
        sys.setprofile(None)
    assert cluster.evicted == 2 * NODES - APPLICATIONS
    assert looked < 10 * NODES, f"{looked} looks at nodes"
