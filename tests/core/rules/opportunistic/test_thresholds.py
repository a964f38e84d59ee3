"""How far nodes are over-allocated, and when opportunistic pods have to go: YARN's worked examples first."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.core.model.opportunistic import NodePolicy, OpportunisticSettings, Threshold
from treadle.core.rules.opportunistic.thresholds import OverAllocation, Overload, over, part, room, unallocated
from treadle.core.rules.opportunistic.victims import take
from treadle.core.units.resources import ResourceTypes

MEMORY, CPU, PODS = 0, 1, 2
MI = 1 << 20
SIZE = [2048 * MI, 4000, 110]
YARN = OverAllocation({MEMORY: Threshold(750, 800), CPU: Threshold(750, 800)}, most=2000)


def gives(used: list[int | None], guaranteed: list[int] | None = None, opportunistic: list[int] | None = None) -> list[int]:
    return room(YARN, SIZE, guaranteed or [0, 0, 0], opportunistic or [0, 0, 0], used)


@pytest.mark.parametrize(
    ("sentence", "used", "expected"),
    [
        ("an idle node gives up to its threshold", [0, 0, 0], [1536 * MI, 3000, 110]),
        ("a used one gives what is left below it", [1024 * MI, 1000, 0], [512 * MI, 2000, 110]),
        ("at the threshold of memory nothing is given", [1536 * MI, 1000, 0], [0, 0, 0]),
        ("nor at the threshold of cpu", [1024 * MI, 3000, 0], [0, 0, 0]),
        ("nor above it", [2048 * MI, 1000, 0], [0, 0, 0]),
        ("a type that nobody measured is full", [1024 * MI, None, 0], [0, 0, 0]),
    ],
)
def test_what_a_node_gives(sentence: str, used: list[int | None], expected: list[int]) -> None:
    assert gives(used) == expected, sentence


def test_what_is_requested_does_not_matter_where_usage_is_known() -> None:
    assert gives([1024 * MI, 1000, 0], guaranteed=[2048 * MI, 4000, 10])[:2] == [512 * MI, 2000]


def test_of_types_without_thresholds_only_what_nobody_requests_is_given() -> None:
    assert gives([0, 0, 0], guaranteed=[0, 0, 100], opportunistic=[0, 0, 7])[PODS] == 3


def test_the_cap_counts_what_opportunistic_pods_were_given() -> None:
    capped = OverAllocation(YARN.thresholds, most=500)
    assert room(capped, SIZE, [0, 0, 0], [1000 * MI, 2500, 0], [0, 0, 0]) == [24 * MI, 0, 110]


def test_without_samples_the_room_is_what_is_not_requested() -> None:
    assert unallocated(SIZE, [2000 * MI, 5000, 1], [100 * MI, 0, 1]) == [0, 0, 108]


SNAPSHOT = OverAllocation({MEMORY: Threshold(700, 750), CPU: Threshold(700, 750, borne=2)})


def test_memory_over_its_threshold_is_reclaimed_at_once() -> None:
    assert Overload().look(SNAPSHOT, SIZE, [2000 * MI, 0, 0], 1.0) == [464 * MI, 0, 0]


def test_cpu_is_reclaimed_when_it_was_over_for_more_samples_in_a_row_than_are_borne() -> None:
    overload = Overload()
    assert [overload.look(SNAPSHOT, SIZE, [0, 4000, 0], at)[CPU] for at in (1.0, 2.0, 3.0, 4.0)] == [0, 0, 1000, 0]


def test_a_row_may_go_on_until_a_sample_is_below() -> None:
    overload = Overload(patient=False)
    seen = [4000, 4000, 4000, 4000, 100, 4000, 4000, 4000]
    found = [overload.look(SNAPSHOT, SIZE, [0, cpu, 0], at)[CPU] for at, cpu in enumerate(seen)]
    assert found == [0, 0, 1000, 1000, 0, 0, 0, 1000]


def test_a_dip_begins_the_row_anew() -> None:
    overload = Overload()
    seen = [4000, 4000, 100, 4000, 4000, 4000]
    assert [overload.look(SNAPSHOT, SIZE, [0, cpu, 0], at)[CPU] for at, cpu in enumerate(seen)] == [0, 0, 0, 0, 0, 1000]


def test_both_types_are_reclaimed_together() -> None:
    overload = Overload()
    found = [overload.look(SNAPSHOT, SIZE, [2000 * MI, 4000, 0], at) for at in (1.0, 2.0, 3.0)]
    assert found == [[464 * MI, 0, 0], [464 * MI, 0, 0], [464 * MI, 1000, 0]]


def test_exactly_at_the_threshold_nothing_is_reclaimed() -> None:
    assert Overload().look(SNAPSHOT, SIZE, [1536 * MI, 0, 0], 1.0) == [0, 0, 0]


def test_a_sample_counts_once() -> None:
    overload = Overload()
    assert [overload.look(SNAPSHOT, SIZE, [2000 * MI, 4000, 0], 1.0)[MEMORY] for _ in range(3)] == [464 * MI, 0, 0]
    assert overload.over[CPU] == 1


def test_what_is_unknown_ends_a_row() -> None:
    overload = Overload()
    seen = [4000, 4000, None, 4000]
    assert [overload.look(SNAPSHOT, SIZE, [0, cpu, 0], at)[CPU] for at, cpu in enumerate(seen)] == [0] * 4


def test_what_pods_that_are_going_will_free_is_not_reclaimed_again() -> None:
    assert Overload().look(SNAPSHOT, SIZE, [2000 * MI, 0, 0], 1.0, going=[400 * MI, 0, 0]) == [64 * MI, 0, 0]


def test_a_node_with_full_memory_loses_its_newest_pods_until_it_is_below() -> None:
    """A node of 2048 MB at 2048, threshold 0.8: 409.6 MB are lacking, the newest has 300 and the next 512."""
    lacking = Overload().look(YARN, SIZE, [2048 * MI, 0, 0], 1.0)
    assert lacking == [2048 * MI - part(800, 2048 * MI), 0, 0]
    pods = {"newest": [300 * MI, 0, 0], "next": [512 * MI, 0, 0], "oldest": [512 * MI, 0, 0]}
    assert take(pods, lacking, pods.__getitem__).victims == ["newest", "next"]


def test_a_policy_names_types_and_the_rules_know_positions() -> None:
    policy = NodePolicy((("cpu", Threshold(1, 2)), ("memory", Threshold(3, 4, 5))), most=500)
    assert OverAllocation.of(policy, ResourceTypes()) == OverAllocation({CPU: Threshold(1, 2), MEMORY: Threshold(3, 4, 5)}, 500)


def test_the_first_override_whose_labels_a_node_has_is_its_policy() -> None:
    old, batch, usual = NodePolicy(most=1), NodePolicy(most=2), NodePolicy(most=3)
    settings = OpportunisticSettings(
        policy=usual, overrides=(((("age", "old"),), old), ((("pool", "batch"), ("zone", "z")), batch))
    )
    nodes = [{"age": "old", "pool": "batch", "zone": "z"}, {"pool": "batch", "zone": "z"}, {"pool": "batch"}, {}]
    assert [settings.policy_of(labels) for labels in nodes] == [old, batch, usual, usual]


AMOUNT = st.integers(0, 5000)
PARTS = st.integers(0, 1500)


@given(st.lists(st.tuples(AMOUNT, AMOUNT, AMOUNT, PARTS, AMOUNT), min_size=2, max_size=4), st.integers(0, 3000), st.data())
def test_nothing_goes_beyond_the_threshold_or_the_cap(
    types: list[tuple[int, int, int, int, int]], most: int, data: st.DataObject
) -> None:
    """Whatever is placed into the room: usage and what is placed stay at or below the threshold, and what opportunistic pods are given at or below the cap."""
    size, guaranteed, opportunistic, parts, used = (list(column) for column in zip(*types, strict=True))
    policy = OverAllocation({at: Threshold(one, one) for at, one in enumerate(parts[:-1])}, most)
    given_room = room(policy, size, guaranteed, opportunistic, used)
    assert min(given_room) >= 0
    placed = [data.draw(st.integers(0, amount)) for amount in given_room]
    for at, one in enumerate(parts[:-1]):
        if placed[at]:
            assert used[at] + placed[at] <= part(one, size[at])
            assert opportunistic[at] + placed[at] <= part(most, size[at])
        if used[at] >= part(one, size[at]):
            assert given_room == [0] * len(size)
    last = len(size) - 1
    if placed[last]:
        assert guaranteed[last] + opportunistic[last] + placed[last] <= size[last]


@given(st.lists(st.integers(0, 5000), max_size=30), st.integers(0, 4))
def test_nothing_is_reclaimed_before_more_samples_in_a_row_were_over_than_are_borne(used: list[int], borne: int) -> None:
    policy, overload = OverAllocation({0: Threshold(500, 750, borne)}), Overload()
    row = 0
    for at, one in enumerate(used):
        (lacking,) = overload.look(policy, [4000], [one], float(at))
        row = row + 1 if one > 3000 else 0
        assert lacking == (one - 3000 if row > borne else 0)
        row = 0 if lacking else row


def test_at_the_preemption_threshold_nothing_is_reclaimed_and_a_row_ends() -> None:
    overload = Overload(patient=False)
    at, above = [0, 3000, 0], [0, 3001, 0]
    assert not over(SNAPSHOT, SIZE, at)
    assert over(SNAPSHOT, SIZE, above)
    reclaimed = [
        overload.look(SNAPSHOT, SIZE, used, float(time)) for time, used in enumerate([above, above, at, above, above, above])
    ]
    assert reclaimed == [[0, 0, 0]] * 5 + [[0, 1, 0]]
