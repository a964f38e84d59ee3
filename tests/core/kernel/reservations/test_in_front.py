"""Room is kept in front of a reservation, and pods that end in time run in it meanwhile."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.builders import a_pod, replaced
from core.kernel.reservations.planned import DISCIPLINES, PLAN, Interpreter, Reserving, asked, wanted
from examples import examples
from treadle.core import Core
from treadle.core.effects import Bind, Evict
from treadle.core.events import BindDone, EvictFailed, PodSeen
from treadle.core.kernel.backfill.run_times import STARTING
from treadle.core.kernel.preemption.search import waits_for_a_node
from treadle.core.kernel.reservations.following import child_path
from treadle.core.kernel.reservations.in_front import KEPT
from treadle.core.model.scheduler import NEVER

both = pytest.mark.parametrize("discipline", DISCIPLINES)
LEAD = 60
START = 3600.0
MINE = child_path(PLAN, "ns/a")


class World:
    """20 cores of which the plan has half, a reservation for 6 of them that begins at 3600, and borrowers that hold all but what is said."""

    def __init__(self, discipline: str, free: int = 8, lead: int = LEAD, borrower: str = "root.rest", **scheduler: Any) -> None:
        self.at = Reserving(discipline, lead=lead * 1000)
        if scheduler:
            spec = self.at.core.state.scheduler
            self.at.scheduler(discipline=discipline, fair=spec.fair, capacity=spec.capacity, **scheduler)
        self.ends: dict[str, float] = {}
        self.starts: dict[str, float] = {}
        self.runs: dict[str, float] = {}
        self.evicted: list[Evict] = []
        self.budget = False
        """Whether a disruption budget is in the way of evictions."""
        self.at.ask(wanted("a", asked(cpu=1, hours=1, count=6, concurrency=6), start=1, end=2)).inside("mine", "a")
        for number in range(20 - free):
            self.pod(f"old{number}", borrower)
        self.run(2.0)

    def pod(self, name: str, queue: str = "", says: float = 0.0, runs: float | None = None, **fields: Any) -> World:
        """A pod of a core that says that it runs so long, and does, or for another time; for ever if it says nothing."""
        self.runs[name] = (says or float("inf")) if runs is None else runs
        self.at.tell(PodSeen(a_pod(name, queue=queue, **{"application": f"of-{name}", "duration": says, **fields})))
        return self

    def pods(self, count: int, prefix: str, queue: str, **fields: Any) -> World:
        for number in range(count):
            self.pod(f"{prefix}{number}", queue, **fields)
        return self

    def mine(self, count: int = 6, **fields: Any) -> World:
        for number in range(count):
            self.pod(f"mine{number}", application="mine", **fields)
        return self

    def step(self) -> list[str]:
        """A pass; binds and evictions take effect at once. Returns what was bound."""
        at, bound = self.at, []
        for name in [name for name, end in self.ends.items() if end <= at.now]:
            del self.ends[name]
            at.gone(name)
        at.plan()
        for effect in list(at.effects):
            if isinstance(effect, Bind):
                name, spec = effect.uid, at.core.state.pods[effect.uid].spec
                self.starts[name], self.ends[name] = at.now, at.now + self.runs[name]
                at.tell(BindDone(name), PodSeen(replaced(spec, node=effect.node, held_in=effect.queue, started=at.now or 0.001)))
                bound.append(name)
            elif isinstance(effect, Evict):
                self.evicted.append(effect)
                if self.budget:
                    at.tell(EvictFailed(effect.uid, "a disruption budget"))
                else:
                    self.ends[effect.uid] = at.now
        return bound

    def run(self, until: float) -> World:
        """Passes at the core's timers and at ends of pods, until a time and at that time."""
        while True:
            self.step()
            if self.at.now >= until:
                return self
            timer = self.at.core.next_timer()
            times = [*self.ends.values(), *([timer] if timer is not None else [])]
            self.at.now = min(until, max(self.at.now + 0.5, min(times, default=until)))

    def used(self, path: str) -> float:
        return self.at.used(path)


def in_the_lead(discipline: str, **fields: Any) -> World:
    """Ten seconds into the lead, with eight cores free of which the reservation needs six."""
    return World(discipline, **fields).run(START - LEAD + 10)


@both
def test_what_is_beyond_its_guarantee_waits_in_front_of_a_reservation(discipline: str) -> None:
    world = in_the_lead(discipline)
    world.pods(5, "new", "root.rest")
    world.run(START - 1)
    assert world.used("root.rest") == 14, "two of the eight cores are nobody's"
    reason, words = world.at.why("new4")
    assert reason == KEPT
    assert "reservation ns/a, which is promised cpu 6 from 1970-01-01T01:00:00Z on; cpu 6 is free in all" in words
    assert "lent again from 1970-01-01T01:01:00Z on" in words


@both
def test_pods_that_are_made_at_the_start_run_at_once(discipline: str) -> None:
    world = in_the_lead(discipline)
    world.pods(8, "new", "root.rest")
    world.run(START + 2).mine().run(START + 2)
    assert {world.starts[f"mine{number}"] for number in range(6)} == {START + 2}
    assert not world.evicted


@both
def test_who_is_held_back_goes_on_as_soon_as_the_reservation_has_what_it_is_promised(discipline: str) -> None:
    world = in_the_lead(discipline)
    world.pods(4, "new", "root.rest", application="new")
    world.run(START - 20)
    assert world.used("root.rest") == 14
    world.mine(6).run(START - 10)
    world.ends["old0"] = world.ends["old1"] = START - 9
    world.run(START - 5)
    assert {name for name in world.starts if name.startswith("new")} == {"new0", "new1", "new2", "new3"}


@both
def test_who_was_held_back_has_its_turn_though_others_come_all_the_time(discipline: str) -> None:
    world = in_the_lead(discipline, free=6)
    world.pod("first", "root.rest").step()
    assert world.at.why("first")[0] == KEPT
    world.at.gone("old0")
    for number in range(8):
        world.at.wait(0.4)
        world.pod(f"new{number}", "root.rest", cpu=30)
        world.step()
    assert "first" in world.starts


@both
def test_what_nobody_uses_is_lent_again_when_the_reservation_has_begun_for_as_long_as_its_lead(discipline: str) -> None:
    world = in_the_lead(discipline)
    world.pods(8, "new", "root.rest")
    world.run(START + LEAD - 1)
    assert world.used("root.rest") == 14
    world.run(START + LEAD + 1)
    assert world.used("root.rest") == 20


@both
def test_nothing_is_kept_without_a_lead(discipline: str) -> None:
    world = in_the_lead(discipline, lead=0)
    world.pods(8, "new", "root.rest")
    assert world.run(START - 40).used("root.rest") == 20


@both
def test_nothing_is_kept_before_the_lead(discipline: str) -> None:
    world = World(discipline).run(START - LEAD - 10)
    world.pods(8, "new", "root.rest")
    assert world.run(START - LEAD - 9).used("root.rest") == 20


@both
def test_a_queue_within_its_guarantee_is_not_held_back(discipline: str) -> None:
    world = in_the_lead(discipline, borrower="root.plan")
    world.pods(8, "new", "root.rest")
    assert world.run(START - 40).used("root.rest") == 8


@both
def test_what_comes_into_the_plan_beside_its_reservations_is_held_back_as_well(discipline: str) -> None:
    world = in_the_lead(discipline, borrower="root.plan")
    world.pods(8, "new", "root.plan")
    assert world.run(START - 40).used("root.plan") == 14


@both
def test_the_reservation_itself_begins_in_its_lead(discipline: str) -> None:
    world = in_the_lead(discipline).mine(8).run(START - 40)
    assert world.used(MINE) == 8, "six of what is kept, and two that nobody else needs"


@both
def test_a_reservation_that_wants_more_than_it_is_promised_is_held_back_for_others(discipline: str) -> None:
    world = World(discipline, free=10)
    world.at.ask(wanted("b", asked(cpu=1, hours=1, count=3, concurrency=3), start=1, end=2))
    world.run(START - LEAD + 10).mine(10).run(START - 40)
    assert world.used(MINE) == 7
    reason, words = world.at.why("mine9")
    assert reason == KEPT
    assert "reservation ns/b" in words


@both
def test_a_pod_that_ends_in_time_runs_in_front_of_a_reservation(discipline: str) -> None:
    world = in_the_lead(discipline)
    world.pods(10, "long", "root.rest", says=60.0)
    world.pods(10, "short", "root.rest", says=20.0)
    world.run(START - 1)
    assert len([name for name in world.starts if name.startswith("long")]) == 2
    assert len([name for name in world.starts if name.startswith("short")]) >= 6
    late = {name: begun for name, begun in world.starts.items() if name.startswith("short") and begun + STARTING + 20 > START}
    assert not late
    world.run(START).mine().run(START)
    assert {world.starts[f"mine{number}"] for number in range(6)} == {START}
    assert not world.evicted


@both
def test_the_first_of_an_application_to_run_is_the_one_that_ends_in_time(discipline: str) -> None:
    world = in_the_lead(discipline)
    for number, says in enumerate((300.0, 300.0, 300.0, 20.0)):
        world.pod(f"new{number}", "root.rest", application="new", says=says)
    world.step()
    assert world.starts.keys() >= {"new0", "new1", "new3"}
    assert "new2" not in world.starts


@both
def test_where_backfilling_is_off_short_pods_wait_as_well(discipline: str) -> None:
    world = in_the_lead(discipline, backfill=NEVER)
    world.pods(10, "short", "root.rest", says=20.0)
    assert world.run(START - 40).used("root.rest") == 14


@both
def test_a_queue_that_is_not_preempted_from_is_not_backfilled(discipline: str) -> None:
    world = in_the_lead(discipline)
    spec = world.at.core.state.tree.defined["root.rest"]
    assert spec.capacity is not None
    world.at.tell_queue(replace(spec, preemptable=False, capacity=replace(spec.capacity, disable_preemption=True)))
    world.pods(10, "short", "root.rest", says=20.0)
    assert world.run(START - 40).used("root.rest") == 14


@both
def test_a_pod_that_lies_leaves_when_the_reservation_needs_its_room(discipline: str) -> None:
    world = in_the_lead(discipline)
    world.pods(8, "liar", "root.rest", says=20.0, runs=9000.0)
    world.run(START - 1)
    assert world.used("root.rest") == 20
    world.at.scheduler(discipline=discipline, **without_preemption(world.at))
    world.run(START + 1)
    assert not world.evicted, "nobody needs the room yet"
    world.mine().run(START + 3)
    assert len(world.evicted) == 6
    assert "reservation ns/a, which may start but for it" in world.evicted[0].why
    assert world.used(MINE) == 6
    assert world.at.core.state.backfill.evicted == 6


@both
def test_nobody_else_is_evicted_for_the_room_that_those_leave_who_lied(discipline: str) -> None:
    world = in_the_lead(discipline)
    world.pods(8, "liar", "root.rest", says=20.0, runs=9000.0)
    world.run(START + 1).mine(6).run(START + 30)
    assert {f"mine{number}" for number in range(6)} <= set(world.starts)
    assert [each.uid.rstrip("0123456789") for each in world.evicted] == ["liar"] * 6


@both
def test_a_disruption_budget_is_asked_again(discipline: str) -> None:
    world = in_the_lead(discipline)
    world.pods(8, "liar", "root.rest", says=20.0, runs=9000.0)
    world.run(START - 1)
    world.at.scheduler(discipline=discipline, **without_preemption(world.at))
    world.budget = True
    world.mine().run(START + 5)
    assert world.used(MINE) == 0
    asked_for = len(world.evicted)
    world.budget = False
    world.run(START + 400)
    assert len(world.evicted) > asked_for
    assert world.used(MINE) == 6


def without_preemption(at: Reserving) -> dict[str, Any]:
    spec = at.core.state.scheduler
    if spec.capacity is not None:
        return {"capacity": replace(spec.capacity, preemption=replace(spec.capacity.preemption, enabled=False))}
    return {"fair": replace(spec.fair, preemption=False)}


@both
def test_a_gang_is_placed_in_front_of_a_reservation_only_if_all_of_it_leaves_enough(discipline: str) -> None:
    world = in_the_lead(discipline)
    world.pods(4, "gang", "root.rest", application="gang", gang="w", gang_minimums=(("w", 4),))
    world.run(START - 40)
    assert not {name for name in world.starts if name.startswith("gang")}
    assert world.at.why("gang0")[0] == KEPT
    world.pods(2, "pair", "root.rest", application="pair", gang="w", gang_minimums=(("w", 2),))
    world.run(START - 38)
    assert {name for name in world.starts if name.startswith("pair")} == {"pair0", "pair1"}


@both
def test_what_is_free_on_nodes_that_take_no_pods_does_not_count(discipline: str) -> None:
    world = World(discipline, free=8)
    world.at.node("cordoned", cpu=10, memory=100, unschedulable=True)
    world.run(START - LEAD + 10)
    world.pods(8, "new", "root.rest")
    assert world.run(START - 40).used("root.rest") <= 14 + 2


@both
def test_each_growth_of_a_reservation_is_kept_for(discipline: str) -> None:
    at = Reserving(discipline, lead=LEAD * 1000, agent="Greedy")
    at.ask(wanted("a", asked(cpu=2, hours=1), asked(cpu=6, hours=1), start=1, end=3, interpreter=Interpreter.ORDER))
    seen = []
    for seconds in (0, 3539, 3540, 3659, 3660, 7139, 7140, 7259, 7260, 10790, 10800):
        at.at(seconds / 3600).plan()
        kept = at.core.state.plans.of[PLAN].coming
        seen.append([(one.at, one.until, one.amounts[at.core.state.types.index["cpu"]]) for one in kept])
    first, second = [(3600.0, 3660.0, 2000)], [(7200.0, 7260.0, 6000)]
    assert seen == [[], [], first, first, [], [], second, second, [], [], []]


@both
def test_each_occurrence_is_kept_for(discipline: str) -> None:
    at = Reserving(discipline, lead=LEAD * 1000)
    at.ask(wanted("a", asked(cpu=2, hours=1), start=1, end=2, period=4 * 3_600_000))
    seen = []
    for seconds in (3540, 3660, 17939, 17940, 18059, 18060):
        at.at(seconds / 3600).plan()
        seen.append([(one.at, one.until) for one in at.core.state.plans.of[PLAN].coming])
    assert seen == [[(3600.0, 3660.0)], [], [], [(18000.0, 18060.0)], [(18000.0, 18060.0)], []]


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    discipline=st.sampled_from(DISCIPLINES),
    free=st.integers(0, 12),
    pods=st.lists(
        st.tuples(
            st.integers(int(START) - LEAD - 5, int(START) + LEAD + 5),
            st.sampled_from(["root.rest", "root.plan", "mine"]),
            st.sampled_from([0, 5, 20, 40]),
            st.integers(1, 3),
        ),
        max_size=25,
    ),
)
def test_no_placement_takes_what_is_kept(discipline: str, free: int, pods: list[tuple[int, str, int, int]]) -> None:
    """After each second whoever was placed left the reservation what it lacks, was within a guarantee, or says that it is gone in time."""
    world = World(discipline, free=free)
    by_time: dict[int, list[tuple[int, str, int, int]]] = {}
    for number, (when, queue, says, cpu) in enumerate(pods):
        by_time.setdefault(when, []).append((number, queue, says, cpu))
    world.run(START - LEAD - 6)
    state = world.at.core.state
    cpu_at = state.types.index["cpu"]
    for second in range(int(START) - LEAD - 5, int(START) + LEAD):
        world.at.now = float(second)
        for number, queue, says, cpu in by_time.get(second, ()):
            name = f"mine{number}" if queue == "mine" else f"new{number}"
            world.pod(
                name, "" if queue == "mine" else queue, says, cpu=cpu, **({"application": "mine"} if queue == "mine" else {})
            )
        bound = world.step()
        kept = [one for one in state.plans.of[PLAN].coming if second < one.until]
        if not kept or not bound:
            continue
        missing = max(0, kept[0].amounts[cpu_at] - state.tree.queues[MINE].usage[cpu_at])
        left = sum(max(0, row[cpu_at]) for row in state.nodes.free)
        for name in bound:
            record = state.pods[name]
            assert record.application is not None
            queue_of = record.application.queue
            assert queue_of is not None
            due = max(state.discipline.limits.due(queue_of)[cpu_at], (queue_of.minimum or [0] * 9)[cpu_at])
            in_time = bool(record.spec.duration) and second + STARTING + record.spec.duration <= kept[0].at
            assert left >= missing or name.startswith("mine") or queue_of.usage[cpu_at] <= due or in_time, (second, name)
    assert not any(waits_for_a_node(ask) and ask in state.plans.held for ask in state.plans.held)


def test_a_new_core_of_the_same_facts_keeps_the_same() -> None:
    world = in_the_lead("Fair")
    other = Core(validate=True)
    for event in world.at.core.facts():
        other.handle(event, world.at.now)
    other.plan(world.at.now)
    assert other.state.plans.of[PLAN].coming == world.at.core.state.plans.of[PLAN].coming
