"""A cluster that grows a node at a time, faster than it is looked at: every pass shares by a size that is about that of now."""

from __future__ import annotations

from collections import Counter

import pytest

from core.builders import Scenario, by_queue
from core.clusters import Cluster
from treadle.core.model import CAPACITY, FAIR

WEIGHTS = {"root.a": 1, "root.b": 2, "root.c": 5}


def waiting(discipline: str) -> Scenario:
    """Queues of unlike weight with pods that wait, in a cluster whose last node has just gone."""
    cluster = Cluster()
    if discipline == CAPACITY:
        cluster.capacity()
    for path, weight in WEIGHTS.items():
        if discipline == CAPACITY:
            cluster.share(path, f"{weight}w", user_limit_factor=-1)
        else:
            cluster.queue(path, weight=float(weight))
        cluster.pods(40, path[5:], path, path[5:])
    cluster.wait(1.0).nodes(1).plan(0)
    cluster.wait(1.0).without_node("node-0").plan()
    cluster.wait(0.2)
    assert cluster.plan() == []
    return cluster


@pytest.mark.parametrize("discipline", [FAIR, CAPACITY])
def test_nodes_that_come_one_after_the_other_into_an_empty_cluster_are_shared_by_weight(discipline: str) -> None:
    cluster, had = waiting(discipline), Counter[str]()
    for number in range(4):
        had += by_queue(cluster.wait(0.05).node(f"new-{number}", cpu=4, memory=64).plan())
    assert had == {"root.a": 2, "root.b": 4, "root.c": 10}


@pytest.mark.parametrize("discipline", [FAIR, CAPACITY])
def test_a_cluster_that_grows_little_is_looked_at_once_an_interval(discipline: str) -> None:
    cluster = waiting(discipline)
    cluster.wait(1.0).nodes(20, cpu=4, memory=64).plan()
    before = cluster.core.state.updates.at
    cluster.wait(0.05).node("one-more", cpu=4, memory=64).plan()
    assert cluster.core.state.updates.at == before
    cluster.wait(1.0).plan()
    assert cluster.core.state.updates.at > before
