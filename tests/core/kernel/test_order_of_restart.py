"""After a restart everything is seen anew, in any order: where applications belong does not depend on it."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.builders import a_node, a_pod
from treadle.core import Core
from treadle.core.effects import Bind
from treadle.core.events import Event, NamespaceSeen, NodeSeen, PodSeen, QueueSeen, SchedulerSeen
from treadle.core.model import DefaultAccess, Limit, QueueSpec, SchedulerSpec, Settings
from treadle.core.model.access import AccessList
from treadle.core.model.capacity import Capacity, CapacityQueueSpec, Kind, PartitionShare, Portion

if TYPE_CHECKING:
    from collections.abc import Iterable

ANN = AccessList(frozenset({"ann"}))
RUNNING = {
    "asks for what it may not": ("root.dev", "root.dev"),
    "asks for what is not there": ("root.nowhere", "root.prod"),
    "asks for another that it may not": ("root.prod", "root.dev"),
    "asks for its own": ("root.ns", "root.ns"),
    "asks for nothing": ("", "root.default"),
}
"""By application what its pods ask for, and where those on nodes were bound."""


def queue(name: str, percent: float) -> QueueSpec:
    share = PartitionShare(Capacity(Portion(Kind.PERCENT, percent)))
    return QueueSpec(
        f"root.{name}",
        maximum={"cpu": Limit(20_000)},
        submit=ANN if name in {"dev", "prod"} else None,
        capacity=CapacityQueueSpec(f"root.{name}", partitions={"": share}, user_limit_factor=-1),
    )


def seen(discipline: str) -> dict[str, list[Event]]:
    """What is seen, by its kind."""
    pods = [
        PodSeen(a_pod(f"{name}-{number}", asked, name, user="ns", **({"node": "n1", "held_in": held} if number < 2 else {})))
        for name, (asked, held) in RUNNING.items()
        for number in range(4)
    ]
    waiting = [PodSeen(a_pod(f"waits-{asked}", asked, f"waits-{asked}", user="ns")) for asked in ("root.dev", "root.ns", "")]
    names = {"dev": 25.0, "prod": 25.0, "ns": 25.0, "default": 25.0}
    return {
        "scheduler": [SchedulerSeen(SchedulerSpec(discipline=discipline))],
        "queues": [QueueSeen(queue(name, percent)) for name, percent in names.items()],
        "nodes": [NodeSeen(a_node(f"n{number}", cpu=64)) for number in range(2)],
        "namespaces": [NamespaceSeen("ns", "")],
        "pods": [*pods, *waiting],
    }


def places(events: Iterable[Event], access: DefaultAccess) -> tuple[dict[str, str], set[str]]:
    """Where applications are once all is seen, and who is bound next."""
    core = Core(Settings(default_access=access))
    for event in events:
        core.handle(event, 0.0)
    bound = {effect.uid for effect in core.plan(1.0, 100) if isinstance(effect, Bind)}
    core.check()
    found = {one.id: one.queue.path if one.queue is not None else one.wait.reason for one in core.state.applications.values()}
    return found, bound


@pytest.mark.parametrize("discipline", ["Fair", "Capacity"])
@pytest.mark.parametrize("access", list(DefaultAccess))
def test_where_applications_belong_does_not_depend_on_which_kind_is_seen_first(discipline: str, access: DefaultAccess) -> None:
    by_kind = seen(discipline)
    found = {order: places([event for kind in order for event in by_kind[kind]], access) for order in permutations(by_kind)}
    expected = found["scheduler", "queues", "nodes", "namespaces", "pods"]
    assert {order: one for order, one in found.items() if one != expected} == {}


@given(data=st.data(), discipline=st.sampled_from(["Fair", "Capacity"]), access=st.sampled_from(list(DefaultAccess)))
@settings(max_examples=150)
def test_nor_does_it_depend_on_the_order_of_single_objects(data: st.DataObject, discipline: str, access: DefaultAccess) -> None:
    by_kind = seen(discipline)
    events = [event for kind in by_kind.values() for event in kind]
    shuffled = data.draw(st.permutations(events))
    assert places(shuffled, access)[0] == places(events, access)[0]


def test_pods_that_wait_get_no_room_in_the_default_queue_since_their_own_is_seen_last() -> None:
    """Its maximum would be passed by: the pods on nodes fill it."""
    core = Core(Settings(default_access=DefaultAccess.NAMESPACE))
    core.handle(NodeSeen(a_node("n1", cpu=64)), 0.0)
    for number in range(8):
        here = {"node": "n1", "held_in": "root.dev"} if number < 5 else {}
        core.handle(PodSeen(a_pod(f"p{number}", "root.dev", cpu=4, user="ns", **here)), 0.0)
    core.handle(QueueSeen(QueueSpec("root.dev", maximum={"cpu": Limit(20_000)}, submit=ANN)), 0.0)
    assert [effect for effect in core.plan(1.0, 100) if isinstance(effect, Bind)] == []
    assert core.state.tree.queues["root.dev"].usage[core.state.types.names.index("cpu")] == 20_000
