"""What may yet arrive is what arrived lately, in another order."""

from __future__ import annotations

from itertools import islice
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.builders import Scenario, a_pod
from treadle.core.model import ApplicationSpec, PodSpec, Settings
from treadle.core.model.constraints import Constraints
from treadle.core.model.devices import PodClaims
from treadle.core.model.volumes import PodVolumes
from treadle.forecast import arrivals as module
from treadle.forecast.arrivals import Arrived, original
from treadle.forecast.durations import Ended
from treadle.forecast.forward import Bounds, foreseen, run
from treadle.forecast.ranges import forecast

HOUR = 3_600.0


def noted(*times: float, since: float = 0.0, **fields: object) -> Arrived:
    arrived = Arrived(since)
    for number, at in enumerate(times):
        arrived.note(a_pod(f"p-{number}", "root.a", f"app-{number}", created=at, **fields))
    return arrived


def test_each_piece_of_time_ahead_brings_what_one_of_the_past_brought() -> None:
    arrived = noted(100.0, 400.0, 2_000.0)
    found = list(islice(arrived.drawn(HOUR, Random(1)), 40))
    pieces: dict[int, list[float]] = {}
    for one in found[:-2]:  # the last piece may be cut
        pieces.setdefault(int((one.at - HOUR) // 600.0), []).append((one.at - HOUR) % 600.0)
    assert {tuple(times) for times in pieces.values()} == {(100.0, 400.0), (200.0,)}
    assert 0.3 < len(pieces) / (max(pieces) + 1) < 0.6  # four of six brought nothing
    assert [one.at for one in found] == sorted(one.at for one in found)


def test_what_arrives_has_names_of_its_own_and_nothing_that_happened_to_the_first_one() -> None:
    volumes = Constraints(volumes=PodVolumes("ns"))
    arrived = noted(100.0, gated=True, reported=("Gated", "it is"), version="7", gang_source="x.io", constraints=volumes)
    arrived.note_object(ApplicationSpec("ns/app-0", queue="root.b", created=90.0))
    first, second = islice(arrived.drawn(HOUR, Random(1)), 2)
    number = first.pod.uid.removeprefix("p-0~")
    assert (first.pod.name, first.pod.application) == (f"p-0~{number}", f"ns/app-0~{number}")
    assert second.pod.uid != first.pod.uid
    assert second.pod.application != first.pod.application
    assert original(first.pod.application) == "ns/app-0"
    assert (first.pod.created, first.pod.gated, first.pod.reported, first.pod.version, first.pod.gang_source) == (
        first.at,
        False,
        ("", ""),
        "",
        "",
    )
    assert first.pod.constraints.volumes is None
    assert first.object == ApplicationSpec(f"ns/app-0~{number}", queue="root.b")


def test_a_pod_counts_once_and_only_if_it_came_while_it_was_watched() -> None:
    arrived = noted(100.0, 400.0, since=200.0)
    arrived.note(a_pod("p-1", "root.a", "app-1", created=400.0))
    assert [pod.uid for pod in arrived.pods] == ["p-1"]


@pytest.mark.parametrize(
    "fields",
    [
        {"finished": True},
        {"deleting": True},
        {"problem": "absurd"},
        {"opportunistic": (("cpu", 1),)},
        {"constraints": Constraints(claims=PodClaims("ns"))},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_what_a_forecast_does_not_look_at_does_not_arrive_again(fields: dict[str, object]) -> None:
    assert not noted(100.0, **fields).pods


def test_nothing_is_said_before_it_was_watched_for_a_while_or_where_nothing_came() -> None:
    assert not list(noted(100.0).drawn(599.0, Random(1)))
    assert not list(Arrived(0.0).drawn(HOUR, Random(1)))
    assert noted(100.0).foretells(600.0)


def test_what_came_before_the_window_is_forgotten_with_objects_that_are_gone() -> None:
    arrived = noted(100.0, 8 * HOUR)
    for name in ("ns/app-0", "ns/app-1", "ns/app-2"):
        arrived.note_object(ApplicationSpec(name))
    arrived.object_gone("ns/app-0")
    arrived.object_gone("ns/app-1")
    arrived.forget(9 * HOUR)
    assert [pod.uid for pod in arrived.pods] == ["p-1"]
    assert sorted(arrived.objects) == ["ns/app-1", "ns/app-2"]
    assert sorted(arrived.without_pods().objects) == ["ns/app-1"]
    arrived.note(a_pod("p-0", "root.a", "app-0", created=100.0))
    assert [pod.uid for pod in arrived.pods] == ["p-1"]


def test_no_more_is_kept_and_no_more_arrives_than_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT", 3)
    monkeypatch.setattr(module, "MOST", 10)
    arrived = noted(*(float(100 + number) for number in range(9)))
    assert [pod.uid for pod in arrived.pods] == ["p-6", "p-7", "p-8"]
    assert arrived.since == 105.0
    assert len(list(arrived.drawn(HOUR, Random(1)))) <= 10 + 3


@given(st.lists(st.floats(1.0, 6 * HOUR), min_size=1, max_size=30), st.floats(600.0, 7 * HOUR), st.integers(0, 9))
def test_as_much_arrives_in_a_long_time_as_did(times: list[float], watched: float, seed: int) -> None:
    """Over many pieces the rate is that of the past; every time lies ahead and in order."""
    arrived = noted(*sorted(times))
    there = sum(one <= watched for one in times)
    found = [one.at for one in islice(arrived.drawn(watched, Random(seed)), 2_000)]
    if not there:
        assert not found
        return
    assert found == sorted(found)
    assert found[0] >= watched
    rate, past = len(found) / (found[-1] - watched), there / watched
    assert 0.5 * past < rate < 2.0 * past


def as_said(pod: PodSpec, _application: str, _queue: str, age: float) -> float | None:
    return max(0.0, pod.duration - age)


def full() -> Scenario:
    """One core, which is busy for 100 s, and an application that waits for it."""
    scenario = Scenario().wait(2_000.0).nodes(1, cpu=1)
    scenario.queue("root.a", policy="fifo")
    scenario.pod("old", "root.a", application="old", node="node-0", started=1_990.0, duration=110.0, created=1.0)
    scenario.pod("new", "root.a", duration=5.0, created=1_995.0)
    scenario.plan()
    return scenario


def came(every: float) -> Arrived:
    """More urgent ones, which run for 50 s."""
    arrived = Arrived(0.0)
    for number in range(int(2_000.0 / every)):
        pod = a_pod(f"b-{number}", "root.a", f"b-{number}", created=1.0 + number * every, duration=50.0, priority=5)
        arrived.note(pod)
    return arrived


def test_what_arrives_takes_its_turn_and_is_not_told_of() -> None:
    scenario = full()
    facts = list(foreseen(scenario.core.facts()))
    alone = run(facts, Settings(), 2_000.0, as_said)
    beside = run(facts, Settings(), 2_000.0, as_said, arriving=came(60.0).drawn(2_000.0, Random(1)))
    assert alone.starts == {"new": 2_100.0}
    assert beside.starts["new"] > 2_140.0  # those that came meanwhile are more urgent
    assert list(beside.applications) == ["ns/app"]


def test_what_arrives_without_a_known_run_time_is_left_out() -> None:
    scenario = full()
    facts = list(foreseen(scenario.core.facts()))

    def known(pod: PodSpec, _application: str, _queue: str, age: float) -> float | None:
        return None if pod.priority else max(0.0, pod.duration - age)

    future = run(facts, Settings(), 2_000.0, known, arriving=came(60.0).drawn(2_000.0, Random(1)))
    assert future.starts == {"new": 2_100.0}
    assert future.unknown == 0


def test_an_endless_stream_ends_with_the_horizon() -> None:
    scenario = full()
    scenario.pod("never", "root.a", application="never", cpu=2)
    scenario.plan()
    facts = list(foreseen(scenario.core.facts()))
    future = run(
        facts, Settings(), 2_000.0, lambda *_: 1.0, Bounds(horizon=1_000.0), arriving=came(60.0).drawn(2_000.0, Random(1))
    )
    assert (future.stopped, future.until) == ("horizon", 3_000.0)


def test_run_times_of_what_arrives_are_those_of_what_it_is_a_copy_of() -> None:
    scenario = full()
    asked: list[str] = []

    def remaining(_pod: PodSpec, application: str, _queue: str, _age: float) -> float | None:
        asked.append(application)
        return 30.0

    run(list(foreseen(scenario.core.facts())), Settings(), 2_000.0, remaining, arriving=came(20.0).drawn(2_000.0, Random(1)))
    assert "ns/b-1" in asked
    assert all("~" not in one for one in asked)


def test_with_arrivals_a_range_is_told_and_the_same_facts_have_the_same_answer() -> None:
    scenario = full()
    facts = list(foreseen(scenario.core.facts()))
    found = forecast(facts, Settings(), 2_000.0, Ended(), arrived=came(60.0))
    assert found == forecast(facts, Settings(), 2_000.0, Ended(), arrived=came(60.0))
    assert found.scenarios == 20
    told = found.applications["ns/app"].first
    assert told is not None
    assert told.earliest is not None
    assert told.latest is not None
    assert 2_100.0 <= told.earliest < told.latest
    assert forecast(facts, Settings(), 2_000.0, Ended(), arrived=Arrived(1_900.0)).scenarios == 1
