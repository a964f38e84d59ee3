"""Whatever is asked for, edited, taken back and lost: nothing is promised twice, who is active has what it was promised, and what is offered is accepted.

A queue that takes reservations is watched from outside, by what statuses say. Time goes on, nodes and the queue's part come and go, and
the queue says something else of reservations, or nothing. What was promised is added up at each moment of the next days.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import ceil
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from core.builders import a_pod, replaced
from core.clusters import LABEL
from core.kernel.reservations.planned import DISCIPLINES, GPU, HOUR, PLAN, Interpreter, Reserving, Split, asked, changed, wanted
from examples import examples
from treadle.controllers.reservations import decision_of, status_of
from treadle.core.events import PodGone, PodSeen
from treadle.core.kernel.reservations.agreement import broken
from treadle.core.kernel.reservations.following import child_path
from treadle.core.model.reservations import Asked, PlanSpec, Promise, ReservationSpec

BEGIN = 30_000
"""Hours since 1970 at which it begins; a day begins then."""
NAMES = ("a", "b", "c", "d", "e")
LAGGING = ("a", "c", "e")
"""Those that are promised more where their runs lag."""
PERIODS = (4, 12, 24, 24, 72)
LOOK = 150 * HOUR
PATIENCE = 60.0

asks = st.builds(
    asked,
    cpu=st.integers(1, 8),
    count=st.sampled_from([1, 2, 4]),
    hours=st.sampled_from([0.25, 0.5, 1]),
    memory=st.sampled_from([0, 0, 20]),
)
gangs = st.tuples(asks, st.sampled_from([1, 1, 2, 4]), st.sampled_from([0, 0, 1])).map(
    lambda it: replace(it[0], concurrency=it[1], least=it[2]) if it[0].count % it[1] == 0 else it[0]
)
several = st.lists(gangs, min_size=1, max_size=2)
interpreters = st.sampled_from(list(Interpreter))
starts = st.sampled_from([-30, -1, -0.5, 0, 0, 0.25, 1, 24, 25, 48])
lengths = st.sampled_from([1, 2, 2, 3, 4, 6])
users = st.sampled_from(["ann", "bob"])
plans = st.sampled_from(
    [
        PlanSpec(lead=0),
        PlanSpec(lead=0, agent="Greedy", early=False),
        PlanSpec(lead=0, policy="NoOverCommit"),
        PlanSpec(lead=HOUR),
        PlanSpec(lead=0, at_once=0.5),
        PlanSpec(lead=0, cycle=12 * HOUR),
        PlanSpec(lead=0, cycle=72 * HOUR),
        PlanSpec(lead=0, cycle=72 * HOUR, agent="Greedy"),
    ]
)


def intervals(promise: Promise, now: int, until: int) -> list[tuple[int, int, dict[str, int]]]:
    """What is promised from now on, each time that it comes again by itself."""
    found = []
    for start, end, named in promise.steps:
        late = 0
        if promise.period and end <= now:
            late = (now - end) // promise.period * promise.period
        while start + late < until:
            if end + late > now:
                found.append((max(start + late, now), min(end + late, until), dict(named)))
            if not promise.period:
                break
            late += promise.period
    found += [(max(start, now), min(end, until), dict(named)) for start, end, named in promise.more if end > now]
    return found


class PromisesMachine(RuleBasedStateMachine):
    """A queue that takes reservations, and what becomes of them."""

    discipline = DISCIPLINES[0]
    partitions: tuple[str, ...] = ("",)

    @initialize(plan=plans, some=st.lists(st.tuples(several, starts, st.sampled_from([0, 0, *PERIODS])), max_size=3))
    def begin(self, plan: PlanSpec, some: list[tuple[list[Asked], float, float]]) -> None:
        self.it = Reserving(self.discipline) if len(self.partitions) == 1 else Split()
        self.it.now = BEGIN * 3600.0
        self.spec, self.percent, self.nodes = plan, 50.0, {"node-0", "node-1", "gpu-0", "gpu-1"}
        self.generation, self.made = Counter[str](), 0
        self.specs: dict[str, ReservationSpec] = {}
        self.lost_at: float | None = None
        """When capacity was lost last, None where all that is promised can be kept."""
        self.define()
        self.look()
        for name, (requests, start, period) in zip(NAMES, some, strict=False):
            self.tell(name, requests, start, 4, period=round(period * HOUR))

    def define(self) -> None:
        self.it.divide({"plan": self.percent, "rest": 100 - self.percent}, plan=self.spec)

    # -- what happens

    @rule(
        name=st.sampled_from(NAMES),
        requests=several,
        interpreter=interpreters,
        start=starts,
        length=lengths,
        period=st.sampled_from([0, 0, *PERIODS]),
        user=users,
    )
    def ask(
        self, name: str, requests: list[Asked], interpreter: Interpreter, start: float, length: float, period: float, user: str
    ) -> None:
        """Ask for a reservation, or edit the one of that name."""
        self.tell(name, requests, start, length, interpreter=interpreter, period=round(period * HOUR), user=user)

    @rule(
        name=st.sampled_from(NAMES),
        requests=several,
        hours=st.sets(st.sampled_from([0, 0.5, 1, 3, 8, 13, 20, 23]), min_size=1, max_size=3),
        start=starts,
        length=st.sampled_from([0.25, 0.5, 1]),
    )
    def ask_by_the_clock(self, name: str, requests: list[Asked], hours: set[float], start: float, length: float) -> None:
        times = tuple(sorted(round(hour * HOUR) for hour in hours))
        self.tell(name, requests, start, length, period=24 * HOUR, starts=times, apart=HOUR)

    @rule(
        name=st.sampled_from(NAMES),
        days=st.sampled_from([0, 0, 1, 2]),
        period=st.sampled_from([0, 24, 72]),
        cpu=st.integers(5, 10),
        user=users,
    )
    def ask_for_the_same_time(self, name: str, days: int, period: int, cpu: int, user: str) -> None:
        """Ask for what somebody else has by now, or days later."""
        others = [promise for other, promise in sorted(self.promises().items()) if other != name and promise.steps]
        if others:
            start, end, _ = max(others, key=lambda one: one.accepted).steps[0]
            hours = (end - start) / HOUR
            begin = start / HOUR + 24 * days - self.it.now / 3600
            self.tell(name, [asked(cpu=cpu, hours=hours)], begin, hours, period=period * HOUR, user=user)

    @rule(name=st.sampled_from(NAMES))
    def withdraw(self, name: str) -> None:
        if self.specs.pop(name, None) is not None:
            self.it.withdraw(name)
            self.look()

    @rule(seconds=st.sampled_from([None, None, 0, 1, 61, 61, 600, 1800, 3600, 5 * 3600, 23 * 3600, 24 * 3600, 49 * 3600]))
    def later(self, seconds: int | None) -> None:
        """Let time go on, or until something is due."""
        timer = self.it.core.next_timer()
        self.it.now = float(ceil(max(self.it.now, timer or 0))) if seconds is None else self.it.now + seconds
        self.look()

    @rule(number=st.integers(0, 2), which=st.integers(0, 3))
    def node_comes_or_goes(self, number: int, which: int) -> None:
        partition = self.partitions[which % len(self.partitions)]
        name = f"{partition or 'node'}-{number}"
        if name in self.nodes:
            self.nodes.remove(name)
            self.it.without_node(name)
            self.lost_at = self.it.now
        else:
            self.nodes.add(name)
            self.it.node(name, cpu=10, memory=100, labels={LABEL: partition} if partition else {})
        self.it.wait(1)
        self.look()

    @rule(percent=st.sampled_from([0.0, 20.0, 50.0, 90.0]), plan=plans, gone=st.booleans())
    def another_queue(self, percent: float, plan: PlanSpec, gone: bool) -> None:
        """The queue has another part and another plan; in between, perhaps, none."""
        if gone:
            self.it.define("plan").plan()
        if percent < self.percent:
            self.lost_at = self.it.now
        self.percent, self.spec = percent, plan
        self.define()
        self.look()

    @rule(name=st.sampled_from(NAMES), count=st.integers(1, 4), cpu=st.integers(1, 3), memory=st.sampled_from([0, 5]))
    def pods_come(self, name: str, count: int, cpu: int, memory: int) -> None:
        """Pods of an application in a reservation are made; those that find a node run."""
        self.it.inside(f"in-{name}", name)
        for _ in range(count):
            self.made += 1
            partition = self.partitions[self.made % len(self.partitions)]
            pod = a_pod(f"pod-{self.made}", application=f"in-{name}", cpu=cpu, memory=memory, partition=partition)
            self.it.tell(PodSeen(pod))
        for bind in self.it.plan():
            spec = self.it.core.state.pods[bind.uid].spec
            self.it.tell(PodSeen(replaced(spec, node=bind.node, held_in=bind.queue, started=self.it.now)))
        self.look()

    @rule(
        name=st.sampled_from(LAGGING),
        cpu=st.integers(1, 4),
        late=st.sampled_from([300, 1200, 3000]),
        period=st.sampled_from([0, 0, 12]),
    )
    def run_late(self, name: str, cpu: int, late: int, period: float) -> None:
        """A run begins later than it was promised something, and is looked at some time after that."""
        self.tell(name, [asked(cpu=cpu, count=2, concurrency=2)], 0, 4, period=round(period * HOUR))
        self.later(late)
        self.pods_come(name, 2, cpu, 0)
        self.later(1500)

    @rule(name=st.sampled_from(NAMES), count=st.integers(1, 6), failed=st.booleans())
    def pods_end(self, name: str, count: int, failed: bool) -> None:
        application = self.it.core.state.applications.get(f"ns/in-{name}")
        records = [] if application is None else [one for one in application.pods.values() if one.spec.node][:count]
        for record in records:
            self.it.tell(PodSeen(replaced(record.spec, finished=True, failed=failed)), PodGone(record.spec.uid))
        self.look()

    # -- what must hold

    def tell(self, name: str, requests: list[Asked], start: float, length: float, **fields: Any) -> None:
        self.generation[name] += 1
        begin = self.it.now / 3600 + start
        uid = self.specs[name].uid if name in self.specs else f"{name}-{self.generation[name]}"
        requests = [
            replace(each, partition=self.partitions[(at + ord(name[0])) % len(self.partitions)])
            for at, each in enumerate(requests)
        ]
        lagging = {**fields, "uid": uid, "reprovision": name in LAGGING}
        spec = wanted(name, *requests, start=begin, end=begin + length, generation=self.generation[name], **lagging)
        self.specs[name] = spec
        self.it.ask(spec)
        self.look()
        figures = self.it.figures(name)
        if figures.decided is None:
            return
        for one in figures.decided.alternatives:
            self.made += 1
            if figures.phase == "Rejected":
                other, again = (
                    f"again{self.made}",
                    replace(spec, id=f"ns/again{self.made}", uid=f"again{self.made}", generation=1),
                )
                self.it.ask(changed(again, one)).plan()
                assert self.it.said(other) == ("", ""), (one, spec)
                self.it.withdraw(other).plan()

    def look(self) -> None:
        """Let the core have a pass, and another one for what it has put off."""
        it, before = self.it, len(self.it.decided)
        it.plan()
        it.plan()
        assert broken(it.core.state) == []
        told = {one.reason for one in it.decided[before:]}
        assert self.lost_at is not None or not told & {"ReservationDropped", "ReservationMoved"}
        self.nothing_twice()
        self.each_its_own()

    def promises(self) -> dict[str, Promise]:
        found = {}
        for name in self.specs:
            decided = self.it.figures(name).decided
            if decided is not None and decided.promise is not None:
                found[name] = decided.promise
        return found

    def nothing_twice(self) -> None:
        state, now = self.it.core.state, round(self.it.now * 1000)
        one = state.plans.of.get(PLAN)
        if one is None:
            return
        has = one.dimensions.named(one.plan.capacity)
        times: dict[int, Counter[str]] = {}
        for promise in self.promises().values():
            for start, end, named in intervals(promise, now, now + LOOK):
                times.setdefault(start, Counter()).update(named)
                times.setdefault(end, Counter()).subtract(named)
        running, over = Counter[str](), []
        for time in sorted(times):
            running.update(times[time])
            over += [(time, name, value, has.get(name, 0)) for name, value in running.items() if value > has.get(name, 0)]
        if not over:
            self.lost_at = None
        elif self.lost_at is None:
            raise AssertionError(f"promised twice: {over[0]} of {self.promises()}")
        elif self.it.now > self.lost_at + 2 * PATIENCE + 200:
            soon = now + one.spec.enforcement
            assert all(time >= soon or short_since(self.it) for time, *_ in over), over[0]

    def each_its_own(self) -> None:
        it, now = self.it, round(self.it.now * 1000)
        shares = it.shares() if PLAN in it.core.state.plans.of else {}
        if shares:
            state = it.core.state
            assert round(sum(shares.values()) * 1000) <= state.plans.of[PLAN].plan.capacity[state.types.index["cpu"]]
        for name, promise in self.promises().items():
            figures = it.figures(name)
            begun = promise.occurrences.last(now)
            within = begun is not None and now < begun + promise.deadline - promise.arrival
            assert (figures.phase == "Active") == within, (name, figures.phase)
            assert decision_of(with_condition(status_of(figures))) is not None
            kept = decision_of(with_condition(status_of(figures)))
            assert kept is not None
            assert kept.promise == promise
            if PLAN in it.core.state.plans.of:
                following = promise.occurrences.after(now)
                there = within or (following is not None and following <= now + self.spec.lead)
                assert figures.queue == (child_path(PLAN, f"ns/{name}") if there else ""), (name, now)
                assert (name in shares) == there
            if within and self.lost_at is None and figures.queue:
                has = [dict(named).get("cpu", 0) / 1000 for start, end, named in intervals(promise, now, now + 1) if start <= now]
                if any(dict(named).get("cpu") for _, _, named in promise.steps):
                    assert shares[name] == sum(has) if not self.spec.lead else shares[name] >= sum(has), (name, shares, has)


def short_since(it: Reserving) -> bool:
    """Whether the patience with a plan is not at its end."""
    return it.core.state.plans.of[PLAN].short_since + PATIENCE > it.now


def with_condition(status: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in status.items() if value is not None}


class CapacityPromisesMachine(PromisesMachine):
    """The same under the capacity discipline."""

    discipline = DISCIPLINES[1]


class PartitionedPromisesMachine(CapacityPromisesMachine):
    """The same where every second request, pod and node is of a partition, of which the queue has half whatever it has of the rest."""

    partitions = ("", GPU)


@pytest.mark.parametrize("machine", [PromisesMachine, CapacityPromisesMachine, PartitionedPromisesMachine])
def test_promises_are_kept_and_never_made_twice(machine: type[PromisesMachine]) -> None:
    from hypothesis.stateful import run_state_machine_as_test

    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples(30), stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
