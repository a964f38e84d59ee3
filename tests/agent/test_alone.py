"""What the agent does alone: when, for how much, and who goes."""

from __future__ import annotations

import pytest

from treadle.agent.alone import PAUSE, Amount, Limits, Pod, Unclear, Watch, excess, limits, victims
from treadle.agent.evicting import gives_way, milli
from treadle.agent.sampler import Sample, Usage

GIB = 1 << 30
SIZE = Amount(8000, 10 * GIB)


def use(cpu: int | None = 0, memory: int | None = 0) -> Usage:
    return Usage(cpu, 0, memory, ())


def sample(cpu: int | None = 0, memory: int | None = 0) -> Sample:
    return Sample(0.0, 1.0, use(cpu, memory), {})


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("cpu=85", Limits(cpu=85)),
        ("memory=80,after=120", Limits(memory=80, after=120)),
        ("cpu=100,memory=1,after=10,borne=0", Limits(100, 1, 10, 0)),
    ],
)
def test_limits_are_read(text: str, read: Limits) -> None:
    assert limits(text) == read


@pytest.mark.parametrize(
    "text", ["", "after=60", "cpu=101", "cpu=0", "cpu=-1", "cpu=eighty", "disk=80", "cpu=85,after=9", "cpu=85;memory=80"]
)
def test_limits_that_make_no_sense_are_named_with_what_is_allowed(text: str) -> None:
    with pytest.raises(Unclear, match=r"allowed are cpu=PERCENT and memory=PERCENT"):
        limits(text)


@pytest.mark.parametrize(
    ("most", "used", "over"),
    [
        (Limits(cpu=50), use(4000, 10 * GIB), Amount(0, 0)),
        (Limits(cpu=50), use(5000, 10 * GIB), Amount(1000, 0)),
        (Limits(memory=80), use(8000, 9 * GIB), Amount(0, GIB)),
        (Limits(cpu=50, memory=80), use(None, None), Amount(0, 0)),
    ],
)
def test_the_excess_is_what_is_used_above_the_limits_and_what_is_not_known_is_not(
    most: Limits, used: Usage, over: Amount
) -> None:
    assert excess(most, SIZE, used) == over


def pods(*names: str) -> list[Pod]:
    """Pods that started one after the other."""
    return [Pod("default", name, name, f"2026-01-01T00:00:{at:02}Z") for at, name in enumerate(names)]


@pytest.mark.parametrize(
    ("used", "lacking", "going"),
    [
        ({"a": use(1000), "b": use(1000), "c": use(1000)}, Amount(500, 0), ["c"]),
        ({"a": use(1000), "b": use(1000), "c": use(1000)}, Amount(1500, 0), ["c", "b"]),
        ({"a": use(1000), "b": use(0, GIB), "c": use(1000)}, Amount(0, 1), ["b"]),
        ({"a": use(1000), "b": use(1000), "c": use(1000)}, Amount(9000, 0), ["c", "b", "a"]),
        ({"a": use(1000)}, Amount(500, 0), ["a"]),
        ({"a": use(None, None)}, Amount(500, 500), []),
        ({}, Amount(500, 0), []),
        ({"a": use(1000)}, Amount(0, 0), []),
    ],
)
def test_the_newest_go_that_use_of_what_is_lacking_and_no_more_than_are_needed(
    used: dict[str, Usage], lacking: Amount, going: list[str]
) -> None:
    assert [one.name for one in victims(pods("a", "b", "c"), used, lacking)] == going


def test_while_a_scheduler_asks_nobody_goes_by_the_agent() -> None:
    watch = Watch(Limits(cpu=50, after=60, borne=0), now=0.0)
    for now in range(1, 300):
        if now % 50 == 0:
            watch.asked = now
        assert watch.look(now, SIZE, sample(cpu=8000)) is None


def test_alone_it_bears_some_samples_in_a_row_and_begins_anew_with_one_below() -> None:
    watch = Watch(Limits(cpu=50, after=10, borne=2), now=0.0)
    assert watch.look(10.0, SIZE, sample(cpu=8000)) is None
    seen = [
        watch.look(now, SIZE, sample(cpu=cpu))
        for now, cpu in ((11, 5000), (12, 5000), (13, 4000), (14, 5000), (15, 5000), (16, 5000))
    ]
    assert seen == [None, None, None, None, None, Amount(1000, 0)]


def test_after_removals_it_waits_until_they_have_had_the_time_to_end() -> None:
    watch = Watch(Limits(cpu=50, after=10, borne=0), now=0.0)
    assert watch.look(11.0, SIZE, sample(cpu=5000)) == Amount(1000, 0)
    watch.removed(11.0)
    assert watch.look(11.0 + PAUSE / 2, SIZE, sample(cpu=5000)) is None
    assert watch.look(11.0 + PAUSE, SIZE, sample(cpu=5000)) == Amount(1000, 0)


def test_without_a_sample_or_a_size_nobody_goes() -> None:
    watch = Watch(Limits(cpu=50, after=10, borne=0), now=0.0)
    assert watch.look(11.0, None, sample(cpu=8000)) is None
    assert watch.look(12.0, SIZE, None) is None


@pytest.mark.parametrize(
    ("text", "thousandths"),
    [("1930m", 1930), ("4", 4000), ("2.5", 2500), ("24581256Ki", 24581256 * 1024 * 1000), ("1Gi", GIB * 1000), ("1M", 10**9)],
)
def test_quantities_are_read(text: str, thousandths: int) -> None:
    assert milli(text) == thousandths


def seen(requests: dict[str, str], **more: object) -> dict[str, object]:
    container = {"name": "c", "resources": {"requests": requests, "limits": {"cpu": "1"}}}
    return {"metadata": {}, "spec": {"containers": [container], **more}, "status": {"phase": "Running"}}


@pytest.mark.parametrize("requests", [{}, {"cpu": "0", "memory": "0"}, {"cpu": "0", "memory": "1Ki"}])
def test_a_pod_that_requests_next_to_nothing_gives_way(requests: dict[str, str]) -> None:
    assert gives_way(seen(requests))


@pytest.mark.parametrize(
    "pod",
    [
        seen({"cpu": "1m"}),
        seen({"memory": "1Mi"}),
        seen({"example.com/gpu": "1"}),
        seen({}, overhead={"cpu": "1"}),
        seen({}, resourceClaims=[{"name": "gpu"}]),
        seen({}, initContainers=[{"name": "i", "resources": {"requests": {"cpu": "1"}}}]),
        seen({}, resources={"requests": {"cpu": "1"}}),
        seen({}) | {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}},
        seen({}) | {"status": {"phase": "Succeeded"}},
    ],
)
def test_one_that_counts_as_guaranteed_or_is_ending_does_not(pod: dict[str, object]) -> None:
    assert not gives_way(pod)
