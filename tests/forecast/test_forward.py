"""A future is what a core does that is told the same facts: where run times are known exactly and nothing arrives, each pod starts when it does then."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.builders import Scenario, a_node, a_pod, limits
from core.clusters import Cluster, Preempting
from treadle.core.effects import Bind
from treadle.core.events import ApplicationSeen, Event, NodeSeen, PodGone, PodSeen, QueueSeen, UsageKnown
from treadle.core.model import ApplicationSpec, PodSpec, QueueSpec, Settings
from treadle.forecast.forward import Bounds, Future, foreseen, run

EXACT = Bounds(horizon=400.0, coarseness=0.0)


def as_said(pod: PodSpec, _application: str, _queue: str, age: float) -> float | None:
    return max(0.0, pod.duration - age) if pod.duration else None


class Live:
    """A cluster that lives in small steps: every look at it comes half a second after the last one."""

    STEP = 0.5

    def __init__(self, scenario: Scenario) -> None:
        self.core, self.now = scenario.core, scenario.now
        self.core.validate = False  # each step is tiny, and there are thousands
        self.ends: dict[str, float] = {}
        self.starts: dict[str, float] = {}

    def tell(self, *events: Event) -> None:
        for event in events:
            self.core.handle(event, self.now)

    def look(self) -> None:
        for uid in [uid for uid, at in self.ends.items() if at <= self.now]:
            del self.ends[uid]
            self.tell(PodGone(uid))
        while binds := [one for one in self.core.plan(self.now) if isinstance(one, Bind)]:
            for bind in binds:
                spec = self.core.state.pods[bind.uid].spec
                self.starts[bind.uid] = self.now
                self.ends[bind.uid] = self.now + spec.duration
                self.tell(PodSeen(replace(spec, node=bind.node, held_in=bind.queue, started=self.now)))

    def restart(self) -> None:
        """Let another core go on, as after a restart: it knows what the facts tell, and no more."""
        core = self.core.fresh()
        for fact in self.core.facts():
            core.handle(fact, self.now)
        self.core = core
        self.look()

    def live(self, until: float) -> None:
        while self.now < until and waiting(self):
            self.now += self.STEP
            self.look()


def waiting(live: Live) -> set[str]:
    return {uid for uid, record in live.core.state.pods.items() if record.application is not None and not record.spec.node}


durations = st.integers(1, 20).map(float)
pods = st.lists(
    st.tuples(
        st.sampled_from(("a", "b", "b.x", "b.y")),
        st.integers(0, 5),
        st.integers(1, 3),
        durations,
        st.integers(0, 3),
        st.booleans(),
    ),
    min_size=1,
    max_size=16,
)


def arrivals(found: list[tuple[Any, ...]], leaves: dict[str, str]) -> list[PodSpec]:
    made = []
    ages: dict[str, float] = {}
    for number, (queue, application, cpu, duration, priority, gang) in enumerate(found):
        name = f"{queue}-{application}"
        together = {"gang": "all", "gang_minimums": (("all", 2),)} if gang and application == 5 else {}
        made.append(
            a_pod(
                f"p-{number}",
                leaves[queue],
                name,
                cpu=cpu,
                duration=duration,
                priority=priority,
                created=ages.setdefault(name, len(ages) + 1.0),
                **together,
            )
        )
    return made


def fair() -> Scenario:
    scenario = Scenario()
    scenario.queue("root.a", weight=2.0).queue("root.b").queue("root.b.x", policy="fifo", maximum=limits(cpu=5)).queue("root.b.y")
    return scenario


def capacity() -> Scenario:
    return (
        Cluster()
        .capacity()
        .share("root.a", "40%")
        .share("root.b", "60%")
        .share("root.b.x", "50%", "80%")
        .share("root.b.y", "50%")
    )


LEAVES = {"a": "root.a", "b": "root.b.x", "b.x": "root.b.x", "b.y": "root.b.y"}


@pytest.mark.parametrize("made", [fair, capacity])
@settings(max_examples=40)
@given(found=pods, nodes=st.integers(1, 4), later=st.integers(0, 60))
def test_pods_start_when_a_core_that_is_told_the_same_starts_them(
    made: Any, found: list[tuple[Any, ...]], nodes: int, later: int
) -> None:
    scenario = made().wait(1000.0).nodes(nodes, cpu=4)
    live = Live(scenario)
    live.tell(*(PodSeen(pod) for pod in arrivals(found, LEAVES)))
    live.live(1000.0 + later / 2)
    left = waiting(live)
    future = run(live.core.facts(), Settings(), live.now, as_said, EXACT)
    began = live.now
    live.restart()
    live.live(began + 400.0)
    happened = {uid: at for uid, at in live.starts.items() if uid in left}
    assert future.starts.keys() == happened.keys()
    for uid, at in happened.items():
        assert abs(future.starts[uid] - at) <= 1.0, uid


@settings(max_examples=40)
@given(found=pods, nodes=st.integers(1, 4))
def test_coarse_futures_are_off_by_what_they_leave_out(found: list[tuple[Any, ...]], nodes: int) -> None:
    scenario = fair().wait(1000.0).nodes(nodes, cpu=4)
    scenario.tell(*(PodSeen(pod) for pod in arrivals(found, LEAVES)))
    exact = run(scenario.core.facts(), Settings(), 1000.0, as_said, EXACT)
    coarse = run(scenario.core.facts(), Settings(), 1000.0, as_said, replace(EXACT, coarseness=0.01))
    assert coarse.starts.keys() == exact.starts.keys()


def future_of(scenario: Scenario, **bounds: Any) -> Future:
    return run(scenario.core.facts(), Settings(), scenario.now, as_said, replace(EXACT, **bounds))


def test_an_application_has_its_first_start_its_last_and_its_end() -> None:
    scenario = Scenario().wait(10.0).nodes(1, cpu=1)
    scenario.pods(3, "p", duration=20.0)
    one = future_of(scenario).applications["ns/app"]
    assert (one.waiting, one.first, one.last, one.end, one.left) == (3, 10.0, 50.0, 70.0, 0)


def test_what_runs_already_ends_when_its_time_is_over() -> None:
    scenario = Scenario().wait(30.0).nodes(1, cpu=1)
    scenario.pod("old", application="other", node="node-0", started=10.0, duration=60.0).pod("new", duration=5.0)
    one = future_of(scenario).applications["ns/app"]
    assert (one.first, one.end) == (70.0, 75.0)


def test_what_was_decided_and_not_confirmed_runs_from_now_on() -> None:
    scenario = Scenario().wait(30.0).nodes(1, cpu=1)
    scenario.pod("one", application="other", duration=60.0)
    assert len(scenario.plan()) == 1
    scenario.pod("two", duration=5.0)
    assert future_of(scenario).applications["ns/app"].first == 90.0


def test_a_run_time_that_is_not_known_leaves_the_others_waiting_with_the_reason() -> None:
    scenario = Scenario().wait(30.0).nodes(1, cpu=1)
    scenario.pod("old", application="other", node="node-0").pod("new", duration=5.0)
    future = future_of(scenario, horizon=100.0)
    one = future.applications["ns/app"]
    assert (one.first, one.last, one.end, one.left, one.why[0], future.unknown) == (None, None, None, 1, "Unschedulable", 1)
    assert (future.until, future.stopped) == (130.0, "horizon")


def test_an_end_that_is_not_known_is_none_though_the_starts_are() -> None:
    one = future_of(Scenario().wait(30.0).nodes(1).pod("new")).applications["ns/app"]
    assert (one.first, one.last, one.end, one.unknown) == (30.0, 30.0, None, 1)


def test_pods_that_may_not_start_are_told_apart() -> None:
    one = future_of(Scenario().nodes(1).pod("gated", gated=True).pod("new", duration=1.0)).applications["ns/app"]
    assert (one.waiting, one.unready, one.first, one.last, one.end) == (1, 1, 0.0, None, None)


@pytest.mark.parametrize(("bounds", "stopped"), [({"decisions": 3}, "decisions"), ({"passes": 2}, "passes")])
def test_a_future_ends_where_its_bounds_are(bounds: dict[str, int], stopped: str) -> None:
    scenario = Scenario().nodes(1, cpu=1)
    scenario.pods(20, "p", duration=20.0)
    future = future_of(scenario, **bounds)
    assert future.stopped == stopped
    assert 0 < len(future.starts) < 20


def test_a_future_ends_where_the_caller_says_so() -> None:
    scenario = Scenario().nodes(1, cpu=1)
    scenario.pods(20, "p", duration=20.0)
    future = run(scenario.core.facts(), Settings(), 0.0, as_said, EXACT, over=lambda: True)
    assert (future.stopped, len(future.starts)) == ("time", 1)


def test_who_is_asked_to_go_goes_and_another_one_waits_instead() -> None:
    scenario = Preempting().preempting().share("root.a", "50%").share("root.b", "50%").nodes(1, cpu=4, memory=4)
    for number in range(4):
        scenario.pod(f"a-{number}", "root.a", "long", node="node-0", held_in="root.a", started=1.0, duration=1000.0)
    scenario.wait(10.0).pod("b-0", "root.b", "urgent", duration=10.0)
    future = future_of(scenario)
    assert future.evicted == 1
    assert 10.0 <= (future.applications["ns/urgent"].first or 0.0) < 60.0
    assert len(scenario.core.state.pods) == 5


def test_the_core_that_told_the_facts_is_not_touched() -> None:
    scenario = Scenario().nodes(1, cpu=1)
    scenario.pods(3, "p", duration=20.0)
    before = scenario.core.facts()
    future_of(scenario)
    assert scenario.core.facts() == before


def test_what_nobody_foresees_is_left_out() -> None:
    facts: list[Event] = [
        NodeSeen(a_node("n")),
        UsageKnown(known=True),
        QueueSeen(QueueSpec("root.a")),
        ApplicationSeen(ApplicationSpec("ns/a")),
    ]
    found = list(foreseen(facts))
    assert found[1] == UsageKnown(known=False, trouble="forecasts do not know what nodes will use")
    assert [found[0], *found[2:]] == [facts[0], *facts[2:]]
