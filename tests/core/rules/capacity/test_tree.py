"""What holds for every tree of capacities, whatever its definitions and however large its cluster."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from treadle.core.model.capacity import (
    Capacity,
    CapacityQueueSpec,
    CapacitySettings,
    FlexibleCreation,
    Kind,
    ManagedCreation,
    PartitionShare,
    Portion,
)
from treadle.core.rules.capacity.auto.creation import CreationRefused, create
from treadle.core.rules.capacity.auto.removal import Removal
from treadle.core.rules.capacity.context import Context
from treadle.core.rules.capacity.queue import CapacityApplication
from treadle.core.rules.capacity.tree import CapacityTree
from treadle.core.units.resources import ResourceTypes


@dataclass(frozen=True)
class Sketch:
    """A queue with its weight and its maximum, and its children."""

    weight: int
    most: int
    children: tuple[Sketch, ...] = ()


LEAVES = st.builds(Sketch, st.integers(1, 50), st.integers(1, 100))
TREES = st.lists(
    st.recursive(
        LEAVES,
        lambda inner: st.builds(
            Sketch, st.integers(1, 50), st.integers(1, 100), st.lists(inner, min_size=1, max_size=4).map(tuple)
        ),
        max_leaves=12,
    ),
    min_size=1,
    max_size=5,
)
MODES = st.sampled_from([(True, False), (False, False), (True, True), (False, True)])


def share(kind: Kind, value: float, most: float | None = None) -> dict[str, PartitionShare]:
    maximum = Capacity() if most is None else Capacity(Portion(Kind.PERCENT, most))
    return {"": PartitionShare(Capacity(Portion(kind, value)), maximum)}


def context_of(memory: int, cpu: int, *, legacy: bool = True, precise: bool = False) -> Context:
    context = Context(
        ResourceTypes(), CapacitySettings(legacy=legacy, precise=precise, all_types=True, least={"memory": 1, "cpu": 1})
    )
    context.total = [memory, cpu, 0]
    context.partitions = {"": [memory, cpu, 0]}
    return context


def tree_of(sketches: list[Sketch], context: Context) -> CapacityTree:
    specs: dict[str, CapacityQueueSpec] = {}

    def define(path: str, children: tuple[Sketch, ...], shares: dict[str, PartitionShare]) -> None:
        names = tuple(f"q{number}" for number in range(len(children)))
        specs[path] = CapacityQueueSpec(path, children=names, partitions=shares)
        for name, child in zip(names, children, strict=True):
            define(f"{path}.{name}", child.children, share(Kind.WEIGHT, child.weight, child.most))

    define("root", tuple(sketches), {})
    return CapacityTree(specs, context)


@given(sketches=TREES, memory=st.integers(0, 10**7), cpu=st.integers(0, 10**5), mode=MODES)
def test_nobody_is_due_more_than_the_maximum_nor_children_more_than_their_parent(
    sketches: list[Sketch], memory: int, cpu: int, mode: tuple[bool, bool]
) -> None:
    legacy, precise = mode
    tree = tree_of(sketches, context_of(memory, cpu, legacy=legacy, precise=precise))
    for queue in tree.root.walk():
        own = queue.share("")
        for position in (0, 1):
            if queue.parent is not None:
                assert own.maximum[position] <= queue.parent.share("").maximum[position]
            if not legacy:
                assert own.minimum[position] <= own.maximum[position]
            together = sum(child.share("").minimum[position] for child in queue.children)
            slack = 0 if precise or not legacy else len(queue.children) * (own.minimum[position] >> 22) + len(queue.children)
            assert together <= own.minimum[position] + slack


@given(sketches=TREES, memory=st.integers(1, 10**7), mode=MODES)
def test_children_with_weights_leave_nothing_of_their_parent_but_roundings(
    sketches: list[Sketch], memory: int, mode: tuple[bool, bool]
) -> None:
    legacy, precise = mode
    unlimited = [Sketch(each.weight, 100) for each in sketches]
    root = tree_of(unlimited, context_of(memory, memory, legacy=legacy, precise=precise)).root
    together = sum(child.share("").minimum[0] for child in root.children)
    assert memory - together <= len(root.children) * (1 + (memory >> 22))


@given(
    paths=st.lists(st.sampled_from(["x", "y", "z", "x.y", "z.a", "z.b", "x.y.z"]), max_size=12),
    memory=st.integers(1, 10**6),
    keeps=st.integers(0, 5),
)
def test_whatever_is_made_and_removed_siblings_share_all_and_no_path_comes_twice(
    paths: list[str], memory: int, keeps: int
) -> None:
    flex = CapacityQueueSpec("root.flex", partitions=share(Kind.WEIGHT, 1), flexible=FlexibleCreation(enabled=True))
    specs = {"root": CapacityQueueSpec("root", children=("flex",)), "root.flex": flex}
    tree, removal = CapacityTree(specs, context_of(memory, memory)), Removal()
    for number, path in enumerate(paths):
        if tree.find(f"root.flex.{path}") is None:
            try:
                create(tree, f"root.flex.{path}", float(number)).last_submitted = float(number)
            except CreationRefused:
                continue
        if number >= keeps:
            removal.round(tree, 10.0**9)
    seen = [queue.path for queue in tree.root.walk()]
    assert len(seen) == len(set(seen))
    for queue in tree.root.walk():
        if queue.children:
            together = sum(child.share("").minimum[0] for child in queue.children)
            assert 0 <= queue.share("").minimum[0] - together + len(queue.children) <= 2 * len(queue.children) + (memory >> 21)


@given(template=st.integers(1, 100), leaves=st.integers(0, 12), rounds=st.lists(st.sets(st.integers(0, 11)), max_size=5))
def test_leaves_of_a_managed_parent_never_have_more_together_than_it(template: int, leaves: int, rounds: list[set[int]]) -> None:
    creation = ManagedCreation(CapacityQueueSpec("t", partitions=share(Kind.PERCENT, template)))
    managed = CapacityQueueSpec("root.man", partitions=share(Kind.PERCENT, 100), managed=creation)
    specs = {"root": CapacityQueueSpec("root", children=("man",)), "root.man": managed}
    tree = CapacityTree(specs, context_of(100_000, 100_000))
    parent = tree.queues()["root.man"]
    assert parent.entitlements is not None
    made = [create(tree, f"root.man.l{number}", 0.0) for number in range(leaves)]
    for busy in rounds:
        for number, leaf in enumerate(made):
            leaf.pending = [CapacityApplication(f"in-{leaf.name}", "ann", leaf, number, 0)] if number in busy else []
        parent.entitlements.round()
        total = sum(leaf.share("").absolute for leaf in made)
        assert total <= parent.share("").absolute + 0.0011
        assert all(leaf.share("").absolute in {0.0, parent.entitlements.template[""].absolute} for leaf in made)
