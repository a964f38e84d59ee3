"""Nodes kept in random clusters where small pods take every gap: large pods that are owed room get it, and no more is kept than may be."""

from __future__ import annotations

from math import ceil
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from core.clusters import Churn
from examples import examples


@settings(max_examples=examples(12), deadline=None)
@given(
    nodes=st.integers(1, 4),
    sizes=st.lists(st.integers(2, 4), min_size=1, max_size=3),
    ends=st.integers(1, 3),
    reservable=st.sampled_from([0.05, 0.5]),
    seed=st.integers(0, 1000),
)
def test_large_pods_that_are_owed_room_get_it(nodes: int, sizes: list[int], ends: int, reservable: float, seed: int) -> None:
    chance = Random(seed)
    world = Churn(nodes=nodes, small="40%", large="20%", reservable_nodes=reservable, hold=60.0)
    world.shares("root.other", "20%").shares("root.third", "20%")
    leaves = ["large", "other", "third"]
    for number, size in enumerate(sizes):
        world.pod(f"big{number}", f"root.{leaves[number]}", leaves[number], cpu=size)
    most = ceil(nodes * reservable)
    for _ in range(100 * nodes):
        world.wait(1.0)
        for _ in range(min(ends, len(world.running))):
            world.gone(world.running.pop(chance.randrange(len(world.running))))
            world.small()
        world.pass_()
        assert sum(hold.counted for hold in world.holds) <= most
    waits = [uid for uid, record in world.core.state.pods.items() if uid.startswith("big") and not record.spec.node]
    assert not waits or _no_more_is_owed(world, len(waits))


def _no_more_is_owed(world: Churn, waiting: int) -> bool:
    """Whether the large pods that run take so much of the cluster that the others must wait until they end: they have no end here."""
    free = 4 * len(world.core.state.nodes) - sum(world.used(f"root.{leaf}") for leaf in ("large", "other", "third"))
    return waiting > 0 and free < 4 * waiting
