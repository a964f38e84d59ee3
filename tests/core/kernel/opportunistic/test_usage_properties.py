"""Whatever nodes use, and whatever is told of it: who is never removed, who always is, and who is not placed."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
from hypothesis import given, settings

from core.builders import GIB
from core.kernel.opportunistic.usage_world import ALLOCATION, NODES, OLD_AFTER, SIZE, World
from treadle.core.model.opportunistic import CHEAPEST, LARGEST, LAST_SAMPLE, NEWEST, PERCENTILE, RESERVATION, PredictionSettings

_which = st.integers(0, 30)
_tenths = st.integers(0, 15)
_happens = st.one_of(
    st.tuples(st.just("guaranteed"), st.integers(0, 2), st.integers(1, 4)),
    st.tuples(st.just("idle"), st.integers(0, 2), st.integers(1, 3)),
    st.tuples(st.just("uses"), _which, _tenths, _tenths),
    st.tuples(st.just("gone"), _which),
    st.tuples(st.just("plan"), st.sampled_from([0, 1, 2, 5, 15, 30, 70])),
)
_absurd = st.sampled_from([-(1 << 70), -5, 0, 7_000, 4 * GIB, 9 * GIB, 1 << 63, 1 << 90])
_told = st.one_of(
    st.tuples(st.just("truly"), st.booleans(), st.sampled_from([0.0, 15.0])),
    # of one node: absurd amounts, late or from the future, with absurd windows; told again, or out of order
    st.tuples(
        st.just("falsely"),
        st.integers(0, NODES),
        _absurd,
        _absurd,
        st.sampled_from([-1e9, -90, -20, -1, 0, 1, 3600, 1e12]),
        st.sampled_from([-5.0, 0.0, 15.0, 1e9]),
    ),
    st.tuples(st.just("of a pod"), _which, _absurd, st.sampled_from([-90, 0, 3600])),
)
_settings = st.fixed_dictionaries(
    {
        "order": st.sampled_from([CHEAPEST, NEWEST]),
        "prediction": st.sampled_from([LAST_SAMPLE, PERCENTILE, RESERVATION, LARGEST]).map(PredictionSettings),
    }
)


_surges = st.lists(st.tuples(_which, st.integers(5, 30), st.integers(5, 30)), min_size=8, max_size=30)
"""Of which pods it is how many tenths of what they ask for they use in the end."""


def filled(world: World) -> World:
    """Let nodes be full of opportunistic pods as far as they may, beside a guaranteed one each."""
    for at in range(NODES):
        world.guaranteed(at, 4)
        for size in (1, 2, 2):
            world.idle(at, size)
    world.tell_truly()
    world.plan(1)
    assert sum(pod.node != "" for uid, pod in world.pods.items() if uid.startswith("o")) >= NODES
    return world


def happens(world: World, step: tuple[Any, ...]) -> None:
    what, *how = step
    if what == "plan":
        world.plan(*how)
    elif what == "truly":
        world.tell_truly(of_pods=how[0], window=how[1])
    elif what == "falsely":
        node, cpu, memory, ago, window = how
        world.sample(f"n{node}", (cpu, memory), world.now + ago, window)
    elif what == "of a pod":
        world.tell_falsely_of_a_pod(*how)
    else:
        getattr(world, what)(*how)


@settings(max_examples=200, deadline=None)
@given(
    chosen=_settings,
    steps=st.lists(st.one_of(_happens, _told), max_size=30),
    borne=st.integers(0, 2),
    peaks=st.lists(st.tuples(_which, st.integers(5, 30), st.sampled_from([3, 4, 16, 17]), st.booleans()), max_size=12),
)
def test_nobody_goes_unless_as_many_samples_in_a_row_as_are_borne_and_one_more_are_above(
    chosen: dict[str, Any], steps: list[tuple[Any, ...]], borne: int, peaks: list[tuple[int, int, int, bool]]
) -> None:
    world = filled(World(chosen, borne=borne))

    def plan(wait: float) -> None:
        world.plan(wait)
        for one in world.asked:
            node = world.pods[one.uid].node
            assert world.is_fresh(node)
            assert any(row > borne for row in world.rows[node])

    for step in steps:
        if step[0] == "plan":
            plan(step[1])
        else:
            happens(world, step)
    for which, cpu, memory, twice in peaks:  # nodes come above their thresholds and are below them again
        world.uses(which, cpu, memory)
        for _ in range(2 if twice else 1):
            world.tell_truly()
            plan(1)


@settings(max_examples=200, deadline=None)
@given(chosen=_settings, steps=st.lists(st.one_of(_happens, _told), max_size=50))
def test_whatever_is_told_no_guaranteed_pod_goes_and_none_is_placed_where_nothing_is_known_or_nothing_is_left(
    chosen: dict[str, Any], steps: list[tuple[Any, ...]]
) -> None:
    world = World(chosen)
    most = SIZE * ALLOCATION, SIZE * GIB * ALLOCATION // 1000
    for step in (*steps, ("plan", 2)):
        happens(world, step)
        if step[0] != "plan":
            continue
        assert all(one.uid.startswith("o") for one in world.asked), "no guaranteed pod is removed for usage"
        for pod in world.binds:
            assert world.is_fresh(pod.node), "a node without a fresh sample takes none"
            counted = world.counted(pod.node)
            assert all(have <= limit for have, limit in zip(counted, most, strict=True)), (
                "between two samples none is filled twice"
            )


@settings(max_examples=200, deadline=None)
@given(chosen=_settings, steps=st.lists(_happens, max_size=20), surges=_surges, window=st.sampled_from([0.0, 5.0]))
def test_where_pods_are_measured_one_sample_and_the_removals_that_follow_are_enough(
    chosen: dict[str, Any], steps: list[tuple[Any, ...]], surges: list[tuple[int, int, int]], window: float
) -> None:
    world = filled(World(chosen))
    for step in steps:
        world.tell_truly(window=window)
        happens(world, step)
    world.plan(1)
    for surge in surges:
        world.uses(*surge)
    above = {f"n{at}" for at in range(NODES) if any(world.excess(f"n{at}"))}
    world.now += 1
    world.tell_truly(window=window)
    before = set(world.going)
    world.plan()
    for node in above:
        asked = [one.uid for one in world.asked if world.pods[one.uid].node == node]
        assert not asked or world.lacks_without(node, before, asked[:-1]), "no more go than are needed"
    assert {world.pods[one.uid].node for one in world.asked} <= above
    for uid in sorted(world.going & world.pods.keys()):
        world.end(uid)
    for node in above:
        assert not any(world.excess(node)) or not world.helpful(node)


@settings(max_examples=100, deadline=None)
@given(chosen=_settings, steps=st.lists(_happens, max_size=20), surges=_surges)
def test_where_only_nodes_are_measured_each_sample_above_removes_somebody(
    chosen: dict[str, Any], steps: list[tuple[Any, ...]], surges: list[tuple[int, int, int]]
) -> None:
    world = filled(World(chosen))
    for step in steps:
        world.tell_truly(of_pods=False)
        happens(world, step)
    world.plan(1)
    for surge in surges:
        world.uses(*surge)
    left = sum(uid.startswith("o") for uid in world.pods)
    for _ in range(left + 1):
        world.now += 1
        world.tell_truly(of_pods=False)
        world.plan()
        for uid in sorted(world.going & world.pods.keys()):
            world.end(uid)
    for at in range(NODES):
        node = f"n{at}"
        there = [uid for uid, pod in world.pods.items() if pod.node == node and uid.startswith("o")]
        assert not any(world.excess(node)) or not there


@settings(max_examples=50, deadline=None)
@given(steps=st.lists(st.one_of(_happens, _told), max_size=30), silence=st.floats(OLD_AFTER + 1, 1e6))
def test_when_nobody_tells_any_more_nobody_is_placed_and_nobody_goes(steps: list[tuple[Any, ...]], silence: float) -> None:
    world = World()
    for step in steps:
        happens(world, step)
    world.plan(1)
    world.now += silence
    for at in range(20):
        world.idle(at % 3, 1)
        before = set(world.going)
        world.plan(10)
        assert world.binds == []
        assert {one.uid for one in world.asked} <= before, "only who was asked before is asked again"
