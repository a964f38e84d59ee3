"""Fair shares are Hadoop's ComputeFairShares: ratio search, minima, maxima, weights, to the unit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.builders import GIB, Scenario, limits
from treadle.core.disciplines.fair.update import update_instant_shares
from treadle.core.rules.shares import fair_shares

MANY = 1 << 60


@pytest.mark.parametrize(
    ("what", "total", "weights", "minima", "maxima", "expected"),
    [
        ("equal shares", 40, [1, 1, 1, 1], [0] * 4, [MANY] * 4, [10, 10, 10, 10]),
        ("the upper end of the ratio rounds three equal siblings up", 10240, [1, 1, 1], [0] * 3, [MANY] * 3, [3414, 3414, 3414]),
        ("a maximum under the equal share", 40, [1, 1, 1, 1], [0] * 4, [MANY, MANY, 11, 3], [13, 13, 11, 3]),
        ("a minimum over the equal share", 40, [1, 1, 1, 1], [20, 18, 0, 2], [MANY] * 4, [20, 18, 0, 2]),
        ("weights", 45, [2, 1, 1, 0.5], [0] * 4, [MANY] * 4, [20, 10, 10, 5]),
        ("weights and a maximum", 45, [2, 1, 1, 0.5], [0] * 4, [10, 11, MANY, MANY], [10, 11, 16, 8]),
        ("minima that exceed the cluster stand", 4096, [1, 1], [3000, 3000], [MANY] * 2, [3000, 3000]),
        ("no weight: the minimum and nothing else", 40, [0, 1], [5, 0], [MANY] * 2, [5, 35]),
        ("no maximum: nothing", 40, [1, 1], [0, 0], [0, MANY], [0, 40]),
        ("large totals", 40_000_000, [1, 1, 1, 1], [0] * 4, [MANY] * 4, [10_000_000] * 4),
        ("nothing to share", 0, [1, 1], [0, 0], [MANY] * 2, [0, 0]),
        ("nobody", 40, [], [], [], []),
    ],
)
def test_shares_of_one_group(
    what: str, total: int, weights: list[float], minima: list[int], maxima: list[int], expected: list[int]
) -> None:
    assert fair_shares(total, weights, minima, maxima) == expected, what


def test_an_inactive_sibling_has_no_share() -> None:
    assert fair_shares(40, [1, 1], [10, 0], [MANY] * 2, [False, True]) == [0, 40]


siblings = st.lists(
    st.tuples(st.sampled_from([0.5, 1.0, 2.0, 3.0]), st.integers(0, 500), st.integers(1, 2000)), min_size=1, max_size=8
)


@given(st.integers(1, 5000), siblings)
def test_a_share_is_between_minimum_and_maximum_and_all_is_shared_where_there_is_room(
    total: int, group: list[tuple[float, int, int]]
) -> None:
    weights = [weight for weight, _, _ in group]
    minima = [min(minimum, maximum) for _, minimum, maximum in group]
    maxima = [maximum for _, _, maximum in group]

    shares = fair_shares(total, weights, minima, maxima)

    assert all(minimum <= share <= maximum for minimum, share, maximum in zip(minima, shares, maxima, strict=True))
    target = max(sum(minima), min(total, sum(maxima)))
    assert target - len(group) <= sum(shares) <= target + len(group)


@given(st.integers(1, 5000), siblings, st.integers(0, 7))
def test_more_weight_is_never_less_share(total: int, group: list[tuple[float, int, int]], which: int) -> None:
    which %= len(group)
    weights = [weight for weight, _, _ in group]
    minima, maxima = [0] * len(group), [maximum for _, _, maximum in group]
    heavier = [weight * 2 if number == which else weight for number, weight in enumerate(weights)]

    assert fair_shares(total, heavier, minima, maxima)[which] >= fair_shares(total, weights, minima, maxima)[which] - 1


def shares_of(scenario: Scenario, *paths: str) -> list[float]:
    scenario.plan(0)
    scenario.core.refresh_shares()
    return [scenario.core.state.tree.queues[path].fair_share[1] / 1000 for path in paths]


def test_the_classic_organisation_shares_by_weight_and_below_a_maximum() -> None:
    scenario = Scenario().nodes(10, cpu=10, memory=10)
    scenario.queue("root.prod", weight=40.0)
    scenario.queue("root.dev", weight=60.0, maximum=limits(cpu="75%", memory="75%"))
    scenario.queue("root.dev.eng").queue("root.dev.science")
    for path in ("root.prod", "root.dev.eng", "root.dev.science"):
        scenario.pods(100, path, path, path)

    assert shares_of(scenario, "root.prod", "root.dev", "root.dev.eng", "root.dev.science") == pytest.approx(
        [40, 60, 30, 30], abs=0.01
    )


def test_a_share_is_held_at_what_is_demanded_and_the_rest_goes_to_the_others() -> None:
    scenario = Scenario().nodes(10, cpu=10, memory=10).queue("root.a").queue("root.b").queue("root.c")
    scenario.pods(5, "a", "root.a", "a").pods(100, "b", "root.b", "b")

    assert shares_of(scenario, "root.a", "root.b", "root.c") == pytest.approx([5, 95, 0], abs=0.01)
    steady = [scenario.core.state.tree.queues[path].steady_share[1] / 1000 for path in ("root.a", "root.b", "root.c")]
    assert steady == pytest.approx([33.3, 33.3, 33.3], abs=0.1)


def test_under_fifo_the_first_application_has_all_of_the_queues_share() -> None:
    scenario = Scenario().nodes(1, cpu=10, memory=10).queue("root.a", policy="fifo")
    scenario.pods(4, "first", "root.a", "first", created=1.0).pods(20, "second", "root.a", "second", created=2.0)
    scenario.plan(1)
    core = scenario.core
    core.refresh_shares()
    update_instant_shares(core.state.tree.root, core.state.cluster)

    shares = {name: core.state.applications[f"ns/{name}"].instant_share[1] for name in ("first", "second")}
    assert shares == {"first": 10_000, "second": 0}


def test_foreign_pods_leave_less_to_share() -> None:
    scenario = Scenario().nodes(1, cpu=10, memory=10).queue("root.a")
    scenario.pod("foreign", scheduler="default-scheduler", node="node-0", cpu=4, application="x")
    scenario.pods(20, "a", "root.a", "a")

    assert shares_of(scenario, "root.a") == [6]


@pytest.mark.parametrize("nodes", [1, 3, 20])
def test_shares_in_bytes_are_as_exact_as_the_bytes(nodes: int) -> None:
    """Twice the halvings of Hadoop, which counts in MiB: equal shares of a few GiB would be too large by dozens of bytes."""
    at = Scenario().nodes(nodes, memory=4)
    for name in ("root.a", "root.b"):
        at.queue(name, weight=3.0).pods(5 * nodes, name, name, name)
    at.plan()
    at.core.refresh_shares()
    state = at.core.state
    update_instant_shares(state.tree.root, state.cluster)
    for name in ("root.a", "root.b"):
        assert state.tree.queues[name].instant_share[:2] == [nodes * 2 * GIB, nodes * 2000]
        assert state.tree.queues[name].steady_share[:2] == [nodes * 2 * GIB, nodes * 2000]
