"""Two drivers, one brain, under the capacity discipline: what YARN's walk gives one node that offers itself, the live cycle decides in the same order."""

from __future__ import annotations

from dataclasses import replace

import hypothesis.strategies as st
from hypothesis import given, settings

from core.builders import a_node, amounts
from core.clusters import Cluster
from core.clusters import settings as capacity_settings
from examples import examples
from offers.capacity.driver import CapacityDriver
from offers.effects import Placed
from offers.requests import ANY, Ask, Key
from treadle.controllers.capacity import capacity as read
from treadle.core.disciplines.capacity.definitions import specs_of
from treadle.core.model import QueueSpec
from treadle.core.model.capacity import CapacityQueueSpec, PartitionShare
from treadle.core.units.resources import ResourceTypes

LEAVES = ["root.a", "root.b.x", "root.b.y"]
WHOLE = replace(
    capacity_settings(), master_share=1.0, node_delay=-1, rack_delay=0, max_offswitch=1000, max_assign=-1, look_further=False
)

queues = st.fixed_dictionaries(
    {
        path: st.tuples(st.sampled_from(["1w", "2w", "3w"]), st.sampled_from(["fifo", "fair"]), st.integers(0, 2))
        for path in ["root.a", "root.b", "root.b.x", "root.b.y"]
    }
)
applications = st.dictionaries(
    st.tuples(st.sampled_from(LEAVES), st.integers(0, 3)),
    st.tuples(st.integers(1, 3), st.integers(1, 4), st.integers(1, 9), st.sampled_from(["ann", "bob", "cid", "dan"])),
    min_size=1,
    max_size=8,
)


def specs(defined: dict[str, tuple[str, str, int]], factor: float, user_limit: float) -> dict[str, QueueSpec]:
    found = {"root": QueueSpec("root", capacity=CapacityQueueSpec("root", order="priority-utilization"))}
    for path, (weight, order, priority) in sorted(defined.items()):  # ties go by the order of definition, live by name
        leaf = path in LEAVES
        block = CapacityQueueSpec(
            path,
            partitions={"": PartitionShare(read("guaranteed", weight))},
            order=order if leaf else None,
            priority=priority,
            user_limit_factor=factor if leaf else None,
            user_limit=user_limit if leaf else None,
        )
        found[path] = QueueSpec(path, capacity=block)
    return found


def by_cycle(
    cpu: int, defined: dict[str, QueueSpec], asked: dict[tuple[str, int], tuple[int, int, int, str]], budget: int
) -> list[str]:
    cluster = Cluster()
    cluster.scheduler(discipline="Capacity", capacity=WHOLE).node("only", cpu=cpu, memory=20)
    for spec in defined.values():
        cluster.queue(spec.path, capacity=spec.capacity)
    owners = {}
    for order, ((queue, number), (cpus, memory, count, user)) in enumerate(asked.items()):
        application = f"app-{queue}-{number}"
        for each in range(count):
            name = f"{application}-{each}"
            owners[name] = f"ns/{application}"
            cluster.pod(name, queue, application, cpu=cpus, memory=memory, created=float(order), user=user)
    placed: list[str] = []
    while binds := cluster.plan(budget):
        placed += [owners[bind.uid] for bind in binds]
    return placed


def by_offer(cpu: int, defined: dict[str, QueueSpec], asked: dict[tuple[str, int], tuple[int, int, int, str]]) -> list[str]:
    types = ResourceTypes()
    driver = CapacityDriver(specs_of(defined), WHOLE, types=types, now=0.0)
    driver.add_node("only", "/rack", types.vector(a_node("only", cpu=cpu, memory=20).allocatable), 0.0)
    for order, ((queue, number), (cpus, memory, count, user)) in enumerate(asked.items()):
        name = f"ns/app-{queue}-{number}"
        driver.add_application(name, user, queue, float(order), managed=False)
        driver.ask(name, Key(0), [Ask(ANY, types.vector(dict(amounts(cpus, memory))), count)], float(order))
    placed: list[str] = []
    for _ in range(200):
        found = [effect.container.owner.name for effect in driver.offer("only", 9.0) if isinstance(effect, Placed)]
        if not found:
            break
        placed += found
    return placed


@settings(max_examples=examples(150), deadline=None)
@given(
    st.integers(3, 20),
    queues,
    applications,
    st.sampled_from([-1.0, 1.0, 2.0]),
    st.sampled_from([100.0, 50.0, 34.0, 25.0]),
    st.sampled_from([1, 3, 1000]),
)
def test_an_offer_and_a_cycle_decide_the_same_on_one_node(cpu, defined, asked, factor, user_limit, budget) -> None:
    """Up to where something does not fit: YARN holds the node for it then, and the cycle goes on with who fits.

    However much one pass decides: a user at the limit is looked at again as soon as the limit has grown.
    """
    tree = specs(defined, factor, user_limit)
    offered = by_offer(cpu, tree, asked)
    assert by_cycle(cpu, tree, asked, budget)[: len(offered)] == offered
    assert offered
