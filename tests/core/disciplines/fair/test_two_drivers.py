"""Two drivers, one brain: what YARN's walk gives one node that offers itself, the live cycle decides in the same order."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import given, settings

from core.builders import Scenario, a_node, amounts, limits
from examples import examples
from offers.driver import OfferDriver
from offers.effects import Placed
from offers.requests import ANY, Ask, Key
from treadle.core.model import FairSettings, PlacementRule, QueueSpec
from treadle.core.units.resources import ResourceTypes

QUEUES = ["root.a", "root.b", "root.b.x", "root.b.y"]
ONE_NODE_WHOLE = FairSettings(assign_multiple=True, dynamic_max_assign=False, reservable_nodes=0.0)
RULES = (PlacementRule("specified", create=False), PlacementRule("default"))

queues = st.dictionaries(
    st.sampled_from(QUEUES),
    st.tuples(
        st.sampled_from([0.5, 0.7, 1.0, 2.0]),
        st.sampled_from(["drf", "fair"]),
        st.sampled_from([{}, limits(cpu="4"), limits(memory="60%")]),
        st.sampled_from([{}, {}, limits(cpu="2", memory="3Gi"), limits(cpu="1", memory="9Gi")]),
    ),
    max_size=4,
)
applications = st.dictionaries(
    st.tuples(st.sampled_from(QUEUES), st.integers(0, 3)),
    st.tuples(st.integers(0, 3), st.integers(1, 4), st.integers(1, 9)),
    min_size=1,
    max_size=12,
)


def specs(policy: str, defined: dict[str, tuple[float, str, dict[str, object], dict[str, object]]]) -> list[QueueSpec]:
    if any(path.startswith("root.b.") for path in defined):
        defined = {"root.b": (1.0, policy, {}, {}), **defined}
    for path, (weight, own, most, least) in sorted(
        defined.items()
    ):  # a queue whose policy is not allowed is no queue, which is another test
        above = defined[path.rpartition(".")[0]][1] if path.count(".") > 1 else policy
        defined = {**defined, path: (weight, "fair" if above == "fair" else own, most, least)}
    found = [QueueSpec("root", policy=policy), QueueSpec("root.default", policy="fair")]
    return found + [
        QueueSpec(path, weight=weight, policy=own, maximum=most, minimum=least)
        for path, (weight, own, most, least) in defined.items()
    ]


def by_cycle(cpu: int, defined: list[QueueSpec], asked: dict[tuple[str, int], tuple[int, int, int]]) -> list[str]:
    scenario = Scenario().node("only", cpu=cpu, memory=20)
    for spec in defined:
        scenario.queue(spec.path, weight=spec.weight, policy=spec.policy, maximum=spec.maximum, minimum=spec.minimum)
    owners = {}
    for (queue, start), (cpus, memory, count) in asked.items():
        for number in range(count):
            name = f"{queue}-{start}-{number}"
            owners[name] = f"ns/app-{queue}-{start}"
            scenario.pod(name, queue, f"app-{queue}-{start}", cpu=cpus, memory=memory, created=float(start))
    return [owners[bind.uid] for bind in scenario.plan()]


def by_offer(cpu: int, defined: list[QueueSpec], asked: dict[tuple[str, int], tuple[int, int, int]]) -> list[str]:
    types = ResourceTypes()
    driver = OfferDriver(defined, ONE_NODE_WHOLE, RULES, types=types, now=0.0)
    driver.add_node("only", "/rack", types.vector(a_node("only", cpu=cpu, memory=20).allocatable), 0.0)
    for (queue, start), (cpus, memory, count) in asked.items():
        name = f"ns/app-{queue}-{start}"
        driver.add_application(name, "someone", queue, float(start))
        driver.ask(name, Key(0), [Ask(ANY, types.vector(dict(amounts(cpus, memory))), count)], 0.0)
    driver.update(0.0)
    return [effect.container.owner.name for effect in driver.offer("only", 0.0) if isinstance(effect, Placed)]


@settings(max_examples=examples(150), deadline=None)
@given(st.sampled_from(["drf", "fair"]), st.integers(3, 20), queues, applications)
def test_an_offer_and_a_cycle_decide_the_same_on_one_node(policy, cpu, defined, asked) -> None:
    tree = specs(policy, defined)
    assert by_cycle(cpu, tree, asked) == by_offer(cpu, tree, asked)
