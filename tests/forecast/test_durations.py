"""Run times: as declared, as those that ended ran, or not known; what is drawn for a pod that runs is longer than it has run."""

from __future__ import annotations

from random import Random

import pytest

from core.builders import a_pod
from treadle.forecast.durations import KEPT, MOST, Curves, Drawn, Ended, declared_of, family


def drawn(ended: Ended | None = None, **declared: float) -> Drawn:
    return Drawn(ended or Ended(), {f"ns/{name}": value for name, value in declared.items()}, Random(0))


def ended(*seconds: float, application: str = "ns/app", queue: str = "root.a", declared: float = 0.0) -> Ended:
    found = Ended()
    for one in seconds:
        found.note(application, queue, one, declared)
    return found


@pytest.mark.parametrize(
    ("pod", "application", "expected"),
    [
        ({"duration": 60.0}, 0.0, 60.0),
        ({"duration": 60.0}, 30.0, 60.0),
        ({}, 30.0, 30.0),
        ({}, 0.0, 0.0),
        ({"longest": 100.0}, 0.0, 0.0),
        ({"duration": 60.0, "longest": 20.0}, 0.0, 20.0),
    ],
)
def test_a_pods_own_word_goes_before_its_applications_and_a_deadline_bounds_either(
    pod: dict[str, float], application: float, expected: float
) -> None:
    assert declared_of(a_pod("p", **pod), application) == expected


def test_what_is_declared_goes_on_until_then() -> None:
    model = drawn(app=60.0)
    pod = a_pod("p")
    assert [model(pod, "ns/app", "root.a", age) for age in (0.0, 20.0)] == [60.0, 40.0]
    assert not model.varied


def test_a_pod_that_is_over_its_time_goes_on_for_as_long_as_it_is_over() -> None:
    model = drawn(app=60.0)
    assert [model(a_pod("p"), "ns/app", "root.a", age) for age in (60.0, 90.0)] == [1.0, 30.0]


def test_without_a_word_or_an_end_a_run_time_is_not_known() -> None:
    assert drawn()(a_pod("p"), "ns/app", "root.a", 0.0) is None
    assert drawn(ended(10.0))(a_pod("p"), "ns/other", "root.b", 0.0) is None
    assert drawn()(a_pod("p"), "", "", 0.0) is None


@pytest.mark.parametrize(
    ("application", "queue"),
    [("ns/app", "root.z"), ("ns/job/etl-29", "root.z"), ("ns/other", "root.a")],
    ids=["application", "family", "queue"],
)
def test_pods_that_ended_stand_for_those_of_the_same_application_family_or_queue(application: str, queue: str) -> None:
    found = ended(10.0)
    found.note("ns/job/etl-28", "root.b", 10.0, 0.0)
    assert drawn(found)(a_pod("p"), application, queue, 0.0) == 10.0


def test_what_is_drawn_for_a_pod_that_runs_is_longer_than_it_has_run() -> None:
    model = drawn(ended(10.0, 20.0, 300.0))
    left = {model(a_pod("p"), "ns/app", "root.a", 15.0) for _ in range(50)}
    assert left == {5.0, 285.0}
    assert model.varied
    assert drawn(ended(10.0))(a_pod("p"), "ns/app", "root.a", 15.0) is None


def test_pods_that_still_run_say_that_some_run_longer() -> None:
    """Three of four run on for longer than the ones that have ended: what has ended alone would say that nobody does."""
    found = ended(10.0, 10.0, 10.0)
    running = [("ns/app", "root.a", 30.0)] * 9
    model = Drawn(found, {}, Random(0), Curves(found, running, 1_000.0))
    left = [model(a_pod("p"), "ns/app", "root.a", 0.0) for _ in range(400)]
    assert all(value is not None and (value == 10.0 or 30.0 <= value <= 60.0) for value in left)
    assert 0.15 < left.count(10.0) / len(left) < 0.35


def test_few_ends_of_an_application_are_drawn_from_beside_those_of_its_queue() -> None:
    found = ended(10.0)
    for _ in range(10):
        found.note("ns/other", "root.a", 90.0, 0.0)
    model = drawn(found)
    left = [model(a_pod("p"), "ns/app", "root.a", 0.0) for _ in range(300)]
    assert set(left) == {10.0, 90.0}
    assert 0.3 < left.count(10.0) / len(left) < 0.5, "the one of its own, and that among those of the queue"


def test_declarations_are_off_as_they_were() -> None:
    few, enough = ended(*[30.0] * 4, declared=60.0), ended(*[30.0] * 5, declared=60.0)
    assert drawn(few, app=100.0)(a_pod("p"), "ns/app", "root.a", 0.0) == 100.0
    assert drawn(enough, app=100.0)(a_pod("p"), "ns/app", "root.a", 0.0) == 50.0


def test_a_deadline_bounds_what_is_drawn() -> None:
    assert drawn(ended(100.0))(a_pod("p", longest=40.0), "ns/app", "root.a", 10.0) == 30.0


def test_the_family_of_an_application_is_its_name_without_numbered_ends() -> None:
    names = ["ns/etl-20261126", "ns/job/etl-29384756", "ns/etl-29-x7f2", "ns/plain", "ns/spark-v3-app"]
    assert [family(name) for name in names] == ["ns/etl", "ns/job/etl", "ns/etl", "ns/plain", "ns/spark-v3-app"]


def test_what_is_remembered_is_bounded() -> None:
    found = Ended()
    for number in range(MOST + 10):
        found.note(f"ns/{'x' * (number % 7)}a{number}b", "root.a", 1.0, 0.0)
    for _ in range(2 * KEPT):
        found.note("ns/app", "root.a", 1.0, 0.0)
    assert len(found.seconds) <= MOST
    assert len(found.seconds["a:ns/app"]) == KEPT


def test_the_middle_and_the_longest_run_time_are_told_of_who_had_enough_pods() -> None:
    found = ended(3.0, 1.0, 9.0, 4.0, 5.0, application="ns/job-1")
    for seconds in (7.0, 8.0):
        found.note("ns/job-2", "root.a", seconds, 0.0)
    assert found.run_times() == (("ns/job", 5.0, 9.0), ("ns/job-1", 4.0, 9.0))


def test_an_application_that_is_its_own_family_is_told_of_once() -> None:
    assert ended(1.0, 1.0, 2.0, 3.0, 3.0).run_times() == (("ns/app", 2.0, 3.0),)
