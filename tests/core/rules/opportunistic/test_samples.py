"""What a node uses by a sample that is late: what was placed since is added, and what is old says nothing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from treadle.core.model.opportunistic import Threshold
from treadle.core.rules.opportunistic.samples import NodeUsage, Sample
from treadle.core.rules.opportunistic.thresholds import OverAllocation, room


def sampled(used: int = 100, at: float = 100.0, window: float = 0.0, **settings: float) -> NodeUsage:
    usage = NodeUsage(**settings)
    usage.take(Sample({0: used}, at, window), at)
    return usage


def test_without_a_sample_nobody_knows() -> None:
    assert NodeUsage().used(0.0, 2) == [None, None]


def test_an_old_sample_is_as_none() -> None:
    usage = sampled()
    assert (usage.used(160.0, 1), usage.used(160.1, 1)) == ([100], [None])
    assert usage.old_at() == 160.0


def test_a_type_that_was_not_measured_is_unknown() -> None:
    assert sampled().used(100.0, 2) == [100, None]


def test_what_was_placed_since_is_added() -> None:
    usage = sampled()
    usage.place("a", [30])
    usage.place("b", [40])
    assert usage.used(101.0, 1) == [170]
    assert usage.measured(101.0, 1) == [100], "and not to what preemption goes by"


def test_a_pod_is_told_of_by_a_sample_whose_window_began_after_its_start() -> None:
    usage = sampled()
    usage.place("a", [30])
    usage.start("a", 105.0)
    usage.take(Sample({0: 110}, 110.0, window=10.0), 110.0)
    assert usage.used(110.0, 1) == [140]
    usage.take(Sample({0: 120}, 115.0, window=10.0), 115.0)
    assert usage.used(115.0, 1) == [120]


def test_a_pod_that_has_not_started_is_told_of_by_no_sample() -> None:
    usage = sampled()
    usage.place("a", [30])
    usage.take(Sample({0: 100}, 150.0), 150.0)
    assert usage.used(150.0, 1) == [130]


def test_a_pod_is_added_until_it_has_warmed_up() -> None:
    usage = sampled(warm_up=20.0)
    usage.place("a", [30])
    usage.start("a", 101.0)
    for at, expected in ((110.0, [130]), (121.0, [100])):
        usage.take(Sample({0: 100}, at), at)
        assert usage.used(at, 1) == expected


def test_a_pod_that_is_gone_is_not_added() -> None:
    usage = sampled()
    usage.place("a", [30])
    usage.leave("a")
    assert usage.used(101.0, 1) == [100]


def test_an_older_sample_than_the_last_is_no_news() -> None:
    usage = sampled()
    assert not usage.take(Sample({0: 1}, 90.0), 101.0)
    assert not usage.take(Sample({0: 1}, 100.0), 101.0)
    assert usage.used(101.0, 1) == [100]


def test_a_sample_from_the_future_is_as_old_as_its_arrival() -> None:
    usage = NodeUsage()
    assert usage.take(Sample({0: 1}, 1e9), 100.0)
    assert usage.is_old(161.0)
    assert usage.take(Sample({0: 2}, 105.0), 110.0), "and later ones are still heard"


POLICY = OverAllocation({0: Threshold(800, 900)}, most=10_000)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("place"), st.integers(0, 400)),
        st.tuples(st.just("start"), st.integers(0, 20)),
        st.tuples(st.just("leave"), st.integers(0, 20)),
        st.tuples(st.just("sample"), st.integers(0, 1200)),
        st.tuples(st.just("wait"), st.integers(0, 50)),
    ),
    max_size=40,
)


@given(STEPS)
def test_between_two_samples_a_node_is_never_filled_beyond_its_threshold(steps: list[tuple[str, int]]) -> None:
    """Whoever places what fits into the room: the last sample and all that was placed since stay at or below the threshold; without a fresh sample nothing is placed."""
    usage, now, placed, since, sample = NodeUsage(), 0.0, 0, 0, None
    for number, (step, amount) in enumerate(steps):
        now += 1.0
        if step == "place":
            (free,) = room(POLICY, [1000], [0], [placed], usage.used(now, 1))
            if sample is None or now - sample[1] > 60.0:
                assert free == 0
            if 0 < amount <= free:
                usage.place(number, [amount])
                placed, since = placed + amount, since + amount
                assert sample is not None
                assert sample[0] + since <= 800
        elif step == "start":
            usage.start(amount, now)
        elif step == "leave":
            usage.leave(amount)
        elif step == "sample":
            usage.take(Sample({0: amount}, now), now)
            sample, since = (amount, now), usage.placed_since(1)[0]
        else:
            now += amount
