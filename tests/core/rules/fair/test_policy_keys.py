"""The keys that the live heaps sort by give the order of the exact comparisons."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cmp_to_key

import hypothesis.strategies as st
from hypothesis import given, settings

from examples import examples
from treadle.core.rules.policies import Cluster, policy_named
from treadle.core.units.amounts import f32


@dataclass(eq=False)
class Sibling:
    name: str
    usage: list[int]
    weight: float = 1.0
    minimum: list[int] | None = None
    start: float = 0.0
    priority: int = 0
    demand: list[int] = field(default_factory=list)

    @property
    def turn(self) -> tuple[float, str]:
        return self.start, self.name

    def __lt__(self, other: object) -> bool:
        return False


def members(width: int, most: int) -> st.SearchStrategy[list[Sibling]]:
    amounts = st.lists(st.integers(0, most), min_size=width, max_size=width)
    one = st.builds(
        lambda usage, weight, minimum, start: (usage, f32(weight), minimum, start),
        amounts,
        st.sampled_from([0.0, 0.1, 0.5, 1.0, 1.0, 3.0]),
        st.none() | amounts,
        st.sampled_from([0.0, 1.0]),
    )

    def named(found: list[tuple[list[int], float, list[int] | None, float]]) -> list[Sibling]:
        return [
            Sibling(f"s{number}", usage, weight, minimum, start, demand=[most + 1] * width)
            for number, (usage, weight, minimum, start) in enumerate(found)
        ]

    return st.lists(one, min_size=2, max_size=6).map(named)


TOTALS = {2: [12, 20, 50], 3: [12, 20, 50, 7], 4: [12, 3, 50, 7, 9]}


@settings(max_examples=examples(600), deadline=None)
@given(st.sampled_from(["fifo", "fair", "drf"]), st.sampled_from([2, 3, 4]), st.booleans(), st.data())
def test_the_order_of_the_keys_is_that_of_the_comparison(name, count, large, data) -> None:
    total = [value * ((1 << 33) + 12345 if large and position == 0 else 1) for position, value in enumerate(TOTALS[count])]
    found = data.draw(members(len(total), 6))
    if large:
        for sibling in found:
            sibling.usage[0] *= (1 << 31) + 77
            sibling.demand[0] *= 1 << 40
    policy, cluster = policy_named(name), Cluster.of(total)
    by_key = sorted(found, key=policy.ranker(cluster))
    by_comparison = sorted(found, key=cmp_to_key(policy.compare(cluster)))
    assert [one.name for one in by_key] == [one.name for one in by_comparison]
