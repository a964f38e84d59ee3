"""Who is served first among siblings, criterion by criterion."""

from dataclasses import dataclass
from functools import partial

import pytest

from treadle.core.disciplines.fair.rankers import Rankers
from treadle.core.errors import InvalidSpec
from treadle.core.rules.policies import Cluster, Compare, Policy, Ranker, policy_named

CLUSTER = Cluster.of([100, 100, 1000])
FOUR = Cluster.of([100, 100, 1000, 0, 10])


@dataclass
class Sibling:
    name: str
    usage: list[int]
    weight: float = 1.0
    minimum: list[int] | None = None
    start: float = 0.0
    priority: int = 0

    @property
    def turn(self) -> tuple[float, str]:
        return self.start, self.name

    @property
    def demand(self) -> list[int]:
        return [100] * len(self.usage)


def order(policy: str, *siblings: Sibling, cluster: Cluster = CLUSTER) -> list[str]:
    return [sibling.name for sibling in sorted(siblings, key=policy_named(policy).ranker(cluster))]


@pytest.mark.parametrize(
    ("what", "policy", "first", "second"),
    [
        ("fifo: higher priority", "fifo", Sibling("z", [9, 9, 9], priority=1, start=5), Sibling("a", [0, 0, 0], start=1)),
        ("fifo: earlier start", "fifo", Sibling("z", [9, 9, 9], start=1), Sibling("a", [0, 0, 0], start=2)),
        ("fifo: name", "fifo", Sibling("a", [9, 9, 9]), Sibling("b", [0, 0, 0])),
        ("fair: below its minimum", "fair", Sibling("z", [50, 0, 0], minimum=[60, 0, 0]), Sibling("a", [0, 0, 0])),
        (
            "fair: further below its minimum",
            "fair",
            Sibling("z", [10, 0, 0], minimum=[40, 0, 0]),
            Sibling("a", [20, 0, 0], minimum=[40, 0, 0]),
        ),
        ("fair: less memory for its weight", "fair", Sibling("z", [20, 99, 0], weight=3), Sibling("a", [10, 0, 0])),
        ("fair: any weight before none", "fair", Sibling("z", [90, 0, 0]), Sibling("a", [0, 0, 0], weight=0)),
        ("fair: earlier start", "fair", Sibling("z", [5, 0, 0], start=1), Sibling("a", [5, 0, 0], start=2)),
        ("drf: smaller dominant share", "drf", Sibling("z", [20, 10, 0]), Sibling("a", [0, 30, 0])),
        ("drf: the other share where the dominant ones are equal", "drf", Sibling("z", [30, 10, 0]), Sibling("a", [20, 30, 0])),
        ("drf: for its weight", "drf", Sibling("z", [40, 0, 0], weight=2), Sibling("a", [30, 0, 0])),
        ("drf: below its minimum", "drf", Sibling("z", [50, 0, 0], minimum=[60, 0, 0]), Sibling("a", [1, 1, 0])),
        (
            "drf: a minimum of another than the dominant resource does not count",
            "drf",
            Sibling("a", [1, 1, 0]),
            Sibling("z", [50, 0, 0], minimum=[0, 10, 0]),
        ),
        (
            "drf: further below its minimum",
            "drf",
            Sibling("z", [10, 0, 0], minimum=[40, 1, 0]),
            Sibling("a", [20, 0, 0], minimum=[40, 1, 0]),
        ),
        ("drf: pods are no resource to share", "drf", Sibling("z", [10, 0, 900]), Sibling("a", [11, 0, 0])),
        ("drf: name", "drf", Sibling("a", [10, 0, 0]), Sibling("b", [10, 0, 0])),
    ],
)
def test_the_first_is_served_before_the_second(what: str, policy: str, first: Sibling, second: Sibling) -> None:
    assert order(policy, second, first) == [first.name, second.name], what


def test_drf_counts_every_resource_that_the_cluster_has() -> None:
    gpu = Sibling("gpu", [10, 10, 0, 0, 5])
    cpu = Sibling("cpu", [10, 40, 0, 0, 0])
    none = Sibling("none-such", [10, 10, 0, 99, 0])
    assert order("drf", gpu, cpu, none, cluster=FOUR) == ["none-such", "cpu", "gpu"]


def test_the_short_way_for_two_resources_gives_the_order_of_the_general_one() -> None:
    siblings = [Sibling(f"s{a}{b}{w}", [a, b, 0], weight=w) for a in (0, 3, 7) for b in (0, 3, 9) for w in (1.0, 2.5)]
    with_a_third = Cluster.of([100, 100, 1000, 1])
    assert order("drf", *siblings) == order(
        "drf", *(Sibling(s.name, [*s.usage, 0], s.weight) for s in siblings), cluster=with_a_third
    )


@pytest.mark.parametrize("policy", ["fifo", "fair", "drf"])
def test_leaves_rank_as_other_queues_do_with_code_of_their_own(policy: str) -> None:
    rankers = Rankers(CLUSTER)
    queues, leaves = (rankers.of(policy_named(policy), leaf=leaf) for leaf in (False, True))
    siblings = [Sibling(f"s{a}{b}", [a, b, 0], weight=1.0 + a) for a in (0, 3, 7) for b in (0, 3, 9)]
    assert [queues(sibling) for sibling in siblings] == [leaves(sibling) for sibling in siblings]
    assert queues is rankers.of(policy_named(policy), leaf=False)
    assert leaves is rankers.of(policy_named(policy), leaf=True)
    assert leaves is not queues


def test_a_ranker_that_is_no_function_serves_leaves_as_it_is() -> None:
    class Lottery(Policy):
        name = "lottery"

        def compare(self, cluster: Cluster) -> Compare:
            del cluster
            return lambda one, other: (one.name > other.name) - (one.name < other.name)

        def ranker(self, cluster: Cluster) -> Ranker:
            del cluster
            return partial(lambda luck, of: (luck, of.turn, of), 7)

    rankers = Rankers(CLUSTER)
    first = Sibling("a", [1, 1, 1])
    assert rankers.of(Lottery(), leaf=True)(first) == (7, (0.0, "a"), first)


def test_an_unknown_policy_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InvalidSpec, match="'lottery' is not known; allowed are drf, fair, fifo"):
        policy_named("lottery")
