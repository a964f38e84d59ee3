"""Pods whose placement constraints have alternatives that come into force while they wait."""

from __future__ import annotations

import pytest

from core.builders import Scenario, a_pod
from core.ruled import placed
from treadle.core.events import ApplicationSeen, BindFailed, PodGone, PodSeen, SchedulerSeen
from treadle.core.model import RACK_LABEL, ApplicationSpec, Constraints, PodRules, PodSpec, SchedulerSpec
from treadle.core.rules.constraints.parsing import parse_expression

TEXT = "delayed-or(30s,in,node,db:60s,in,rack,db:1s,disk=ssd)"


def a_cluster() -> Scenario:
    """A pod tagged db fills its node in rack a; beside it there are a node in its rack and one with an SSD elsewhere."""
    at = Scenario().node("full", cpu=1, labels={RACK_LABEL: "a"})
    at.tell(PodSeen(a_pod("db", tags=("db",))))
    placed(at)
    return at


def delayed(name: str = "p", text: str = TEXT) -> PodSpec:
    rules = PodRules("ns", placement=(parse_expression(text),), application="ns/app")
    return a_pod(name, constraints=Constraints(pods=rules))


def pass_at(at: Scenario, now: float) -> dict[str, str]:
    at.now = now
    return placed(at)


def test_alternatives_are_tried_when_those_before_them_have_had_their_time() -> None:
    at = a_cluster().node("beside", labels={RACK_LABEL: "a"}).node("fast", labels={RACK_LABEL: "b", "disk": "ssd"})
    at.tell(PodSeen(delayed()))

    assert pass_at(at, 0.0) == {}
    assert pass_at(at, 29.0) == {}
    assert at.core.next_timer() == pytest.approx(30.0, abs=0.01)
    assert pass_at(at, 30.01) == {"p": "beside"}


def test_the_last_one_is_tried_last() -> None:
    at = a_cluster().node("fast", labels={RACK_LABEL: "b", "disk": "ssd"})
    at.tell(PodSeen(delayed()))

    assert pass_at(at, 31.0) == {}
    assert pass_at(at, 89.0) == {}
    assert pass_at(at, 90.01) == {"p": "fast"}


def test_a_pod_that_waits_says_what_will_do_and_when() -> None:
    at = a_cluster().node("other", labels={RACK_LABEL: "b"})
    at.tell(PodSeen(delayed()))
    pass_at(at, 10.0)

    reason, words = at.why("p")
    assert reason == "Unschedulable"
    assert words.endswith("1 node(s) didn't satisfy placement constraints. After 20s more in,rack,db will do as well.") or (
        "After 20s more in,rack,db will do as well." in words
    )
    pass_at(at, 200.0)
    assert "will do as well" not in at.why("p")[1]


def test_the_application_and_the_cluster_may_have_such_constraints_too() -> None:
    for told in (
        ApplicationSeen(ApplicationSpec("ns/app", placement=(parse_expression(TEXT),))),
        SchedulerSeen(SchedulerSpec(placement=(("web", parse_expression(TEXT)),))),
    ):
        at = a_cluster().node("beside", labels={RACK_LABEL: "a"}).tell(told)
        at.tell(PodSeen(a_pod("p", tags=("web",))))
        assert pass_at(at, 1.0) == {}
        assert pass_at(at, 31.0) == {"p": "beside"}


def test_a_bind_that_fails_does_not_begin_the_wait_anew() -> None:
    at = a_cluster().node("beside", labels={RACK_LABEL: "a"})
    at.tell(PodSeen(delayed()))
    at.plan()
    at.now = 31.0
    (bind,) = at.plan()
    at.tell(BindFailed(bind.uid, "transient", "no"))
    at.now = 35.0

    assert [bind.node for bind in at.plan()] == ["beside"]


def test_what_is_known_of_a_pod_goes_with_it() -> None:
    at = a_cluster()
    at.tell(PodSeen(delayed()), PodGone("p"))
    pass_at(at, 1_000.0)

    delays = at.core.state.delays
    assert (delays.since, delays.then, delays.timers) == ({}, {}, [])


def test_a_core_that_begins_anew_lets_them_wait_anew() -> None:
    at = a_cluster().node("beside", labels={RACK_LABEL: "a"})
    at.tell(PodSeen(delayed()))
    pass_at(at, 20.0)
    again = at.core.fresh()
    for event in at.core.facts():
        again.handle(event, 20.0)
    again.plan(40.0)

    assert "After 10s more" in (again.explain("p").message if again.explain("p") is not None else "")  # type: ignore[union-attr]
