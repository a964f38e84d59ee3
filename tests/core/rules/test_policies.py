"""What a policy is: a name and a way to compare; the rest has a default."""

from __future__ import annotations

import pytest

from core.rules.fair.eaters import Eater
from treadle.core.errors import InvalidSpec
from treadle.core.rules.policies import POLICIES, Cluster, Compare, Policy, policy_named, register


class Alphabetical(Policy):
    """Serves siblings by their names."""

    name = "alphabetical"

    def compare(self, cluster: Cluster) -> Compare:  # noqa: ARG002 - one protocol for all policies
        return lambda one, other: (one.name > other.name) - (one.name < other.name)


@pytest.fixture(autouse=True)
def only_for_a_test() -> object:
    known = dict(POLICIES)
    yield
    POLICIES.clear()
    POLICIES.update(known)


def test_a_policy_that_is_registered_is_found_by_its_name() -> None:
    register(Alphabetical())
    assert policy_named("alphabetical").name == "alphabetical"


def test_a_name_is_taken_once() -> None:
    register(Alphabetical())
    register(Alphabetical())

    class Another(Alphabetical):
        pass

    with pytest.raises(InvalidSpec, match="is registered already; choose another name"):
        register(Another())


def test_an_unknown_name_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(InvalidSpec, match="'nothing' is not known; allowed are drf, fair, fifo"):
        policy_named("nothing")


def test_keys_order_as_the_comparison_does() -> None:
    siblings = [Eater(name, [0, 0, 0]) for name in ("b", "c", "a")]
    ranker = Alphabetical().ranker(Cluster.of([10, 10, 10]))
    assert [each.name for each in sorted(siblings, key=ranker)] == ["a", "b", "c"]


def test_shares_are_by_weight_of_the_types_that_the_cluster_has() -> None:
    cluster = Cluster.of([900, 90, 10, 0])
    one, other = Eater("a", [0] * 4, weight=2.0), Eater("b", [0] * 4)
    found = Alphabetical().shares(cluster, [900, 90, 10, 0], [one, other], [True, True], [[0] * 4, [0, 0, 0, 7]])
    assert found == [[600, 60, 0, 0], [300, 30, 0, 7]]


def test_one_that_is_not_busy_has_no_share() -> None:
    cluster = Cluster.of([900, 90, 10])
    pair = [Eater("a", [0] * 3), Eater("b", [0] * 3)]
    assert Alphabetical().shares(cluster, [900, 90, 10], pair, [True, False], [[0] * 3] * 2) == [[900, 90, 0], [0, 0, 0]]


def test_the_headroom_is_what_the_share_leaves_at_most_what_there_is() -> None:
    assert Alphabetical().headroom(Cluster.of([9, 9, 9]), [10, 10, 10], [4, 12, 0], [3, 5, 20]) == [3, 0, 10]
