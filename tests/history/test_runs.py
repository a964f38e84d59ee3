"""Runs: what an application used over time, from its first pod on a node to its last."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from examples import examples
from treadle.history.runs import DELETED, FAILED, LINGER, MOST_STEPS, SUCCEEDED, Runs, Step, thinned, used

SMALL = (("cpu", 1000), ("memory", 1 << 30), ("pods", 1))


def begin(runs: Runs, now: float, uid: str, application: str = "team/etl", created: float = 0.0) -> None:
    runs.on_node(now, uid, application, "root.a", "ann", SMALL, created)


def test_a_run_begins_with_the_first_pod_on_a_node_and_ends_with_the_last() -> None:
    runs = Runs()
    begin(runs, 100, "a", created=90)
    begin(runs, 110, "b", created=80)
    runs.left(150, "a", SUCCEEDED)
    runs.left(170, "b", SUCCEEDED)
    assert runs.over(170 + LINGER - 1) == []
    (run,) = runs.over(170 + LINGER)
    assert (run.application, run.queue, run.user) == ("team/etl", "root.a", "ann")
    assert (run.submitted, run.started, run.ended, run.outcome) == (80, 100, 170, SUCCEEDED)
    assert (run.pods, run.succeeded, run.failed, run.deleted) == (2, 2, 0, 0)
    assert [(step.at, step.amounts.get("cpu", 0), step.pods, step.ended) for step in run.steps] == [
        (100, 1000, 1, (0, 0, 0)),
        (110, 2000, 2, (0, 0, 0)),
        (150, 1000, 1, (1, 0, 0)),
        (170, 0, 0, (2, 0, 0)),
    ]
    assert used(run.steps, 170) == {"cpu": 1000 * (50 + 60), "memory": (1 << 30) * 110}
    assert len(runs) == 0


def test_a_job_that_tries_again_within_the_while_has_one_run_and_later_has_two() -> None:
    runs = Runs()
    begin(runs, 100, "a")
    runs.left(110, "a", FAILED)
    begin(runs, 130, "b")
    runs.left(140, "b", SUCCEEDED)
    (run,) = runs.over(140 + LINGER)
    assert (run.pods, run.failed, run.succeeded, run.outcome, run.ended) == (2, 1, 1, SUCCEEDED, 140)
    begin(runs, 300, "c")
    runs.left(310, "c")
    (other,) = runs.over(1000)
    assert (other.started, other.deleted, other.outcome) == (300, 1, DELETED)


@pytest.mark.parametrize("first", ["told", "left"])
def test_how_a_pod_ended_may_be_told_before_it_leaves_or_after(first: str) -> None:
    runs = Runs()
    begin(runs, 100, "a")
    begin(runs, 100, "b")
    runs.left(110, "a")
    if first == "told":
        runs.ended("b", FAILED)
        runs.left(120, "b")
    else:
        runs.left(120, "b")
        runs.changed()
        runs.ended("b", FAILED)
        assert [run.failed for run in runs.changed()] == [1]
    runs.ended("b", SUCCEEDED)
    (run,) = runs.over(1000)
    assert (run.succeeded, run.failed, run.deleted, run.outcome) == (0, 1, 1, FAILED)
    assert [step.ended for step in run.steps] == [(0, 0, 0), (0, 0, 0), (0, 0, 1), (0, 1, 1)]
    runs.ended("a", SUCCEEDED)
    assert (run.deleted, len(runs)) == (1, 0)


def test_the_end_of_a_short_pod_may_be_told_before_it_is_seen_on_its_node() -> None:
    runs = Runs()
    runs.ended("a", SUCCEEDED)
    begin(runs, 100, "a")
    runs.left(101, "a")
    (run,) = runs.over(1000)
    assert (run.succeeded, run.deleted, run.outcome) == (1, 0, SUCCEEDED)


def test_an_earlier_pod_that_is_told_late_does_not_change_how_the_run_ended() -> None:
    runs = Runs()
    begin(runs, 100, "a")
    begin(runs, 100, "b")
    runs.left(110, "a")
    runs.left(120, "b")
    runs.ended("a", SUCCEEDED)
    (run,) = runs.over(1000)
    assert (run.succeeded, run.deleted, run.outcome) == (1, 1, DELETED)
    assert [step.ended for step in run.steps] == [(0, 0, 0), (0, 0, 0), (1, 0, 0), (1, 0, 1)]


def test_pods_that_are_not_known_and_pods_told_twice_change_nothing() -> None:
    runs = Runs()
    runs.left(1, "nobody", SUCCEEDED)
    begin(runs, 100, "a")
    begin(runs, 105, "a")
    assert [run.pods for run in runs.changed()] == [1]
    assert runs.changed() == []


def test_a_clock_that_goes_back_leaves_steps_in_order() -> None:
    runs = Runs()
    begin(runs, 100, "a")
    begin(runs, 40, "b")
    runs.left(20, "a", SUCCEEDED)
    runs.left(10, "b", SUCCEEDED)
    (run,) = runs.over(500)
    assert run.ended == 100
    assert [step.at for step in run.steps] == sorted(step.at for step in run.steps)


@pytest.mark.parametrize("count", [MOST_STEPS * 2, 3000])
def test_a_run_of_many_changes_is_kept_coarsely(count: int) -> None:
    runs = Runs()
    for number in range(count):
        begin(runs, 1000 + number * 0.7, f"p{number}")
    for number in range(count):
        runs.left(10_000 + number * 0.7, f"p{number}", SUCCEEDED)
    (run,) = runs.over(1e9)
    assert len(run.steps) <= MOST_STEPS
    assert run.steps[-1].amounts == {}
    assert run.steps[-1].ended == (count, 0, 0)
    assert max(step.pods for step in run.steps) == count
    exact = 1000 * count * 9000
    assert used(run.steps, run.ended or 0)["cpu"] == pytest.approx(exact, rel=0.02)
    assert used(run.steps, run.ended or 0)["cpu"] >= exact


steps = st.lists(st.tuples(st.floats(0.01, 50), st.integers(0, 5), st.integers(0, 3)), min_size=1, max_size=60)


@settings(max_examples=examples(200), deadline=None)
@given(steps, st.integers(3, 12))
def test_thinning_never_says_less_than_was_used_and_keeps_begin_peak_and_end(drawn, most) -> None:
    at, found = 0.0, []
    for gap, cpu, pods in drawn:
        at += gap
        found.append(Step(at, {"cpu": cpu} if cpu else {}, pods))
    thin = thinned(found, most)
    assert len(thin) <= max(most, 2)
    assert thin[0].at == found[0].at
    assert thin[-1] == found[-1]
    assert [step.at for step in thin] == sorted({step.at for step in thin})
    assert max(step.pods for step in thin) == max(step.pods for step in found)
    for step in found[:-1]:
        there = [one for one in thin if one.at <= step.at][-1]
        assert there.amounts.get("cpu", 0) >= step.amounts.get("cpu", 0)
