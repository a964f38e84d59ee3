"""What explain says would have to change is enough: it is done to a copy of a random state, and the pod is placed."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from core.ruled_worlds import DevicesWorld, GangWorld, PartitionedWorld, RuledWorld
from core.worlds import CapacityWorld, World
from treadle.core.kernel.devices.allocator import NOT_ALL
from treadle.core.kernel.nodes.rules import (
    affinity,
    host_ports,
    partition,
    pod_affinity,
    taints,
    topology_spread,
    unschedulable,
)
from treadle.core.views.explain import TURN

STATES, STEPS = 500, 12
"""Random states, and how many things may hold one pod back, one after the other."""


def placed_after(seed: int, met: Counter[str], kind: type[World]) -> bool:
    """Return whether a pod that waits is placed after what is asked for has been done, False where none waits in this state."""
    world = kind(random.Random(seed))
    world.build()
    waiting = world.waiting()
    if not waiting:
        return False
    chosen = world.chance.choice(waiting)
    told = world.scenario.core.view.held(chosen)
    assert told is not None
    world.leave_to(chosen, waiting)
    done: list[Any] = []
    for _ in range(STEPS):
        met[told.reason] += 1
        if told.nodes is not None and told.nodes.closest is not None:
            met.update(refusal.reason for refusal in told.nodes.closest.refusals)
        key = (told.reason, told.limit, told.nodes and told.nodes.closest, told.change, len(world.waiting()))
        assert told.reason == TURN or done.count(key) < world.alike, (
            f"state {seed}: what was asked for was done, and is asked for again: {told}"
        )
        done.append(key)
        world.change(told)
        world.go_on()
        now = world.scenario.core.view.held(chosen)
        if now is None:
            return True
        told = now
    pytest.fail(f"state {seed}: {chosen} still waits after {done}: {told}")


ALWAYS = {"Unschedulable", "QueueMaximum"}
RULES = {
    affinity.REASON,
    host_ports.REASON,
    pod_affinity.AFFINITY,
    pod_affinity.ANTI_AFFINITY,
    pod_affinity.AVOIDED,
    taints.REASON,
    topology_spread.NO_LABEL,
    topology_spread.UNEVEN,
    unschedulable.REASON,
}
LIMITS = {*ALWAYS, "OverMaxAllocation", "MasterShare"}


@pytest.mark.parametrize(
    ("kind", "reasons"),
    [
        (World, {*LIMITS, "ZeroMaximum", "TooManyApplications"}),
        (CapacityWorld, {*LIMITS, "UserLimit"}),
        (RuledWorld, {*ALWAYS, *RULES}),
        (GangWorld, {*ALWAYS, "GangIncomplete", "GangOverMaximum"}),
        (DevicesWorld, {*ALWAYS, NOT_ALL}),
        (PartitionedWorld, {*ALWAYS, partition.REASON}),
    ],
)
def test_in_five_hundred_random_states_the_pod_is_placed_when_what_is_asked_for_is_done(
    kind: type[World], reasons: set[str]
) -> None:
    met: Counter[str] = Counter()
    seed = placed = 0
    while placed < STATES:
        placed += placed_after(seed, met, kind)
        seed += 1
    print(met, seed)
    assert {reason for reason, times in met.items() if times >= 10} >= reasons
