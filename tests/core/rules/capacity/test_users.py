"""What holds for the limits of users in a leaf, whoever they are and whatever they use."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from treadle.core.model.capacity import Capacity, CapacityQueueSpec, CapacitySettings, Kind, PartitionShare, Portion
from treadle.core.rules.capacity.context import Context
from treadle.core.rules.capacity.queue import CapacityQueue
from treadle.core.rules.capacity.tree import CapacityTree
from treadle.core.units.resources import ResourceTypes

USAGES = st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 60), min_size=1)


def leaf_of(memory: int, percent: float, factor: float) -> CapacityQueue:
    context = Context(ResourceTypes(), CapacitySettings(all_types=True, least={"memory": 1, "cpu": 1}))
    context.total = [memory, memory, 0]
    context.partitions = {"": [memory, memory, 0]}
    shares = {"": PartitionShare(Capacity(Portion(Kind.PERCENT, 100.0)))}
    spec = CapacityQueueSpec("root.a", partitions=shares, user_limit=percent, user_limit_factor=factor)
    tree = CapacityTree({"root": CapacityQueueSpec("root", children=("a",)), "root.a": spec}, context)
    return tree.leaves()[0]


@given(memory=st.integers(100, 10**6), percent=st.integers(1, 100), factor=st.integers(1, 3), usages=USAGES)
def test_a_limit_is_at_least_the_minimum_percentage_and_at_most_what_the_factor_allows(
    memory: int, percent: int, factor: int, usages: dict[str, int]
) -> None:
    leaf = leaf_of(memory, percent, factor)
    for name, used in usages.items():
        leaf.users.user(name).active = 1
        leaf.users.wants(name, f"app-{name}")
        leaf.users.charge(name, "", [memory * used // 1000] * 2 + [0])
    for name in usages:
        limit = leaf.users.limit(name, "")
        for position in (0, 1):
            assert limit[position] >= memory * percent // 100
            assert limit[position] <= memory * factor + 1


@given(memory=st.integers(100, 10**6), percent=st.integers(1, 100), users=st.integers(1, 6))
def test_active_users_can_have_the_whole_leaf_together(memory: int, percent: int, users: int) -> None:
    leaf = leaf_of(memory, percent, 1)
    names = [f"user{number}" for number in range(users)]
    for name in names:
        leaf.users.user(name).active = 1
        leaf.users.wants(name, f"app-{name}")
    used = dict.fromkeys(names, 0)
    for _ in range(64):
        eager = [name for name in names if used[name] < leaf.users.limit(name, "")[0]]
        left = memory - sum(used.values())
        if not eager or left <= 0:
            break
        for name in eager:
            more = min(leaf.users.limit(name, "")[0] - used[name], memory - sum(used.values()))
            if more > 0:
                used[name] += more
                leaf.users.charge(name, "", [more, more, 0])
    assert sum(used.values()) >= memory * min(99, percent * users) // 100
