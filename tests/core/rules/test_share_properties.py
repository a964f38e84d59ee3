"""What holds for every tree: shares within limits, all of the cluster shared, more weight never less share, nobody taken below its share."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import given, settings

from examples import examples
from offers.driver import OfferDriver
from offers.effects import Relieved
from offers.requests import ANY, Ask, Key
from treadle.core.model import FairSettings, PlacementRule, QueueSpec
from treadle.core.rules.fair.starvation import below_share
from treadle.core.rules.policies import Cluster, policy_named
from treadle.core.rules.shares import fair_shares
from treadle.core.units.resources import ResourceTypes

sibling = st.tuples(st.sampled_from([0.25, 0.5, 1.0, 2.0, 3.5]), st.integers(0, 3000), st.integers(1, 9000))
siblings = st.lists(sibling, min_size=1, max_size=8).map(
    lambda found: [(weight, least, max(least, most)) for weight, least, most in found]
)


def shares(total: int, found: list[tuple[float, int, int]]) -> list[int]:
    weights, minima, maxima = (list(column) for column in zip(*found, strict=True))
    return fair_shares(total, weights, minima, maxima)


@settings(max_examples=examples(300), deadline=None)
@given(st.integers(0, 20000), siblings)
def test_shares_are_within_their_limits_and_sum_to_the_cluster_or_to_all_that_may_be_had(total, found) -> None:
    result = shares(total, found)
    assert all(least <= share <= most for share, (_, least, most) in zip(result, found, strict=True))
    wanted = min(total, sum(most for _, _, most in found))
    assert wanted <= sum(result) <= max(wanted, sum(least for _, least, _ in found)) + len(found)


@settings(max_examples=examples(300), deadline=None)
@given(st.integers(0, 20000), siblings, st.data())
def test_more_weight_is_never_less_share(total, found, data) -> None:
    at = data.draw(st.integers(0, len(found) - 1))
    weight, least, most = found[at]
    heavier = [*found[:at], (weight * 2, least, most), *found[at + 1 :]]
    assert shares(total, heavier)[at] >= shares(total, found)[at] - 1


POLICIES = st.sampled_from(["fair", "drf"])
asks = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4), st.integers(1, 4), st.integers(1, 12)), min_size=2, max_size=8)


@settings(max_examples=examples(150), deadline=None)
@given(POLICIES, st.lists(st.sampled_from([0.5, 1.0, 2.0]), min_size=4, max_size=4), st.integers(1, 3), asks, st.integers(1, 7))
def test_nobody_is_preempted_below_its_fair_share(policy, weights, nodes, asked, early) -> None:
    types = ResourceTypes()
    settings_ = FairSettings(
        preemption=True, utilization_threshold=0.0, wait_before_kill=1.0, fair_share_timeout=0.0, fair_share_threshold=1.0
    )
    queues = [QueueSpec("root", policy=policy)]
    queues += [QueueSpec(f"root.q{number}", weight=weight, policy=policy) for number, weight in enumerate(weights)]
    rules = (PlacementRule("specified"), PlacementRule("reject"))
    driver = OfferDriver(queues, settings_, rules, types=types, now=0.0)
    for number in range(nodes):
        driver.add_node(f"n{number}", "/rack", [16, 16, 0], 0.0)
    for number, (queue, memory, cpu, count) in enumerate(asked):
        driver.add_application(f"a{number}", "someone", f"root.q{queue}", float(number))
        driver.ask(f"a{number}", Key(0), [Ask(ANY, [memory, cpu, 0], count)], float(number))
        if number < early:
            driver.update(float(number))
            for _ in range(16):
                for node in range(nodes):
                    driver.offer(f"n{node}", float(number))
    driver.update(100.0)
    effects = driver.preempt(100.0)
    owners = {victim.owner for effect in effects if isinstance(effect, Relieved) for victim in effect.victims}
    for owner in owners:
        left = [used - going for used, going in zip(owner.usage, owner.going, strict=True)]
        assert not below_share(policy_named(policy), driver.world.cluster, left, owner.fair_share), owner
    driver.tick(102.0)
    usage = [0, 0, 0]
    for attempt in driver.world.attempts.values():
        usage = [one + other for one, other in zip(usage, attempt.usage, strict=True)]
    assert usage == driver.world.tree.root.usage
    assert all(not owner.marked for owner in owners)


def test_the_cluster_of_the_offer_driver_counts_what_it_has_nothing_of() -> None:
    assert Cluster.of([10, 0, 5, 0], every=True).counted == (0, 1, 3)
    assert Cluster.of([10, 0, 5, 0]).counted == (0,)
