"""Short pods run in room that is kept for a gang or for a large pod, as long as that has not come, and are gone when it has."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.builders import Scenario, a_node, a_pod
from core.clusters import Cluster
from examples import examples
from treadle.core.effects import Bind, Evict
from treadle.core.events import ApplicationSeen, BindDone, EvictFailed, NodeSeen, PodGone, PodSeen, RunTimesKnown
from treadle.core.kernel.backfill import filling
from treadle.core.model import ApplicationSpec, Constraints, FairSettings, PodRules, PodSpec, PodTerm, Requirement
from treadle.core.model.scheduler import DECLARED, ESTIMATED, NEVER

HOST = "kubernetes.io/hostname"


class World:
    """Two queues, a few nodes, and pods that end at the time that the test says."""

    def __init__(self, at: Scenario, nodes: int = 2, cpu: int = 4) -> None:
        self.at = at
        self.evicted: list[Evict] = []
        self.victims: set[str] = set()
        self.specs: dict[str, PodSpec] = {}
        self.ends: dict[str, float] = {}
        self.runs: dict[str, float] = {}
        self.nodes: dict[str, str] = {}
        self.starts: dict[str, float] = {}
        self.budget = False
        """Whether a disruption budget is in the way of evictions."""
        for number in range(nodes):
            at.tell(NodeSeen(a_node(f"n{number}", cpu=cpu, labels={HOST: f"n{number}"})))
        # No pod has room on this one, but queues may have what it has.
        at.tell(NodeSeen(a_node("full", cpu=2 * nodes * cpu, memory=32 * nodes, pods=0)))

    def pod(self, name: str, queue: str, cpu: int, says: float = 0.0, runs: float | None = None, **fields: Any) -> None:
        """A pod that says that it runs so long, and does, or runs for another time."""
        fields.setdefault("application", f"of-{name}")
        spec = a_pod(name, queue=queue, cpu=cpu, duration=says, **fields)
        self.specs[name], self.runs[name] = spec, (says or float("inf")) if runs is None else runs
        self.at.tell(PodSeen(spec))

    def gang(self, name: str, pods: int, queue: str, cpu: int, says: float = 0.0, **fields: Any) -> None:
        for number in range(pods):
            self.pod(f"{name}{number}", queue, cpu, says, application=name, gang="w", gang_minimums=(("w", pods),), **fields)

    def step(self) -> None:
        """One second: pods end whose time is over, the pass is made, binds and evictions take effect at once."""
        at = self.at
        for name in [name for name, end in self.ends.items() if end <= at.now]:
            del self.ends[name], self.nodes[name]
            at.tell(PodGone(name))
        for effect in at.core.plan(at.now):
            if isinstance(effect, Bind):
                self.starts[effect.uid] = at.now
                self.nodes[effect.uid] = effect.node
                self.ends[effect.uid] = at.now + self.runs[effect.uid]
                at.tell(BindDone(effect.uid))
                at.tell(PodSeen(_on(self.specs[effect.uid], effect.node, at.now)))
            elif isinstance(effect, Evict):
                self.evicted.append(effect)
                self.victims |= {effect.uid} if at.core.view.is_victim(effect.uid) else set()
                if self.budget:
                    at.tell(EvictFailed(effect.uid, "a disruption budget"))
                else:
                    self.ends[effect.uid] = at.now
        at.wait(1.0)

    def run(self, seconds: int) -> World:
        for _ in range(seconds):
            self.step()
        return self


def _on(pod: PodSpec, node: str, now: float) -> PodSpec:
    return replace(pod, node=node, held_in=pod.queue, started=now or 0.001)


def fair(**fields: Any) -> Scenario:
    at = Scenario().queue("root.a").queue("root.b")
    at.scheduler(**fields)
    return at


def capacity(**fields: Any) -> Scenario:
    at = Cluster().capacity()
    at.scheduler(discipline="Capacity", capacity=at.core.state.scheduler.capacity, **fields)
    at.share("root.a", "50%", user_limit_factor=-1).share("root.b", "50%", user_limit_factor=-1)
    return at


def in_front(at: Scenario, *ends: float, **fields: Any) -> World:
    """A world in which nodes are kept for a gang, and those on them end then: 40 and 100 seconds after the beginning if nothing is said."""
    world = World(at)
    long_ones(world, *(ends or (40.0, 100.0)))
    world.gang("big", 2, "root.a", 4, **fields)
    return world.run(20)


BOTH = pytest.mark.parametrize("make", [fair, capacity])


def long_ones(world: World, *ends: float) -> None:
    """A pod on each node that leaves one core, and ends then."""
    for number, end in enumerate(ends):
        world.pod(f"long{number}", "root.b", 3, says=end)
    world.run(2)


@BOTH
def test_a_short_pod_runs_in_front_of_a_gang_and_is_gone_when_it_starts(make: Any) -> None:
    world = in_front(make())
    assert world.at.core.state.preemption.holds, "both nodes are kept for the gang"
    world.pod("short", "root.b", 1, says=50.0)
    world.run(90)
    assert world.starts["short"] < 30
    assert world.starts["big0"] == world.starts["big1"] == pytest.approx(101, abs=2)
    assert not world.evicted
    assert not world.at.core.state.backfill.there


@BOTH
def test_who_does_not_say_how_long_it_runs_or_runs_for_too_long_waits(make: Any) -> None:
    world = in_front(make())
    world.pod("silent", "root.b", 1)
    world.pod("longer", "root.b", 1, says=80.0)
    world.run(70)
    assert not {"silent", "longer"} & world.starts.keys()
    world.run(20)
    assert "big0" in world.starts


@BOTH
def test_a_deadline_of_the_kubelets_bounds_what_is_declared_and_stands_for_it_among_estimates(make: Any) -> None:
    for mode in (DECLARED, ESTIMATED):
        world = in_front(make(backfill=mode))
        world.pod("says", "root.b", 1, says=300.0, longest=30.0, runs=30.0)
        world.pod("bounded", "root.b", 1, longest=30.0, runs=30.0)
        world.run(5)
        assert "says" in world.starts
        assert ("bounded" in world.starts) == (mode == ESTIMATED)


@BOTH
def test_a_pod_that_runs_for_longer_than_it_said_is_evicted_when_the_gang_could_start(make: Any) -> None:
    world = in_front(make())
    world.pod("liar", "root.b", 1, says=30.0, runs=1000.0)
    world.run(70)
    assert world.starts["liar"] < 30
    assert not world.evicted, "it is in nobody's way yet"
    world.run(20)
    assert [(one.uid, one.delete) for one in world.evicted] == [("liar", False)]
    assert world.victims == {"liar"}, "it is still wanted to go when its eviction is sent"
    assert 'gang "w" of application ns/big' in world.evicted[0].why
    assert world.starts["big0"] == pytest.approx(102, abs=3)


@BOTH
def test_a_gang_that_could_start_earlier_than_expected_does(make: Any) -> None:
    world = World(make())
    world.pod("long0", "root.b", 3, says=40.0)
    world.pod("long1", "root.b", 3, says=100.0, runs=60.0)
    world.run(2)
    world.gang("big", 2, "root.a", 4)
    world.run(20)
    world.pod("short", "root.b", 1, says=70.0)
    world.run(60)
    assert [one.uid for one in world.evicted] == ["short"]
    assert world.starts["big0"] == pytest.approx(61, abs=3)


@BOTH
def test_where_the_end_of_those_before_the_gang_is_not_known_nothing_is_backfilled(make: Any) -> None:
    world = World(make())
    world.pod("long0", "root.b", 3, says=40.0)
    world.pod("long1", "root.b", 3)
    world.run(2)
    world.gang("big", 2, "root.a", 4)
    world.run(20)
    world.pod("short", "root.b", 1, says=5.0)
    world.run(20)
    assert "short" not in world.starts


@BOTH
def test_run_times_of_pods_that_have_ended_count_where_the_settings_say_so(make: Any) -> None:
    for mode in (DECLARED, ESTIMATED):
        world = World(make(backfill=mode))
        long_ones(world, 40.0, 100.0)
        world.at.tell(RunTimesKnown((("ns/of-quick", 5.0, 20.0), ("ns/of-slow", 5.0, 200.0))))
        world.gang("big", 2, "root.a", 4)
        world.run(20)
        world.pod("slow", "root.b", 1, says=5.0)
        world.pod("quick", "root.b", 1, runs=20.0)
        world.run(20)
        assert ("quick" in world.starts) == (mode == ESTIMATED)
        assert ("slow" in world.starts) == (mode == DECLARED), "the longest that it may take counts"


@BOTH
def test_it_can_be_turned_off(make: Any) -> None:
    world = in_front(make(backfill=NEVER))
    world.pod("short", "root.b", 1, says=5.0)
    world.run(20)
    assert "short" not in world.starts


@BOTH
def test_an_application_may_say_it_for_its_pods(make: Any) -> None:
    world = in_front(make())
    world.at.tell(ApplicationSeen(ApplicationSpec("ns/job", "root.b", duration=20.0)))
    world.pod("short", "root.b", 1, application="job", runs=20.0)
    world.run(5)
    assert "short" in world.starts


@BOTH
def test_a_pod_that_would_keep_the_gang_off_a_node_is_not_backfilled(make: Any) -> None:
    for apart in (False, True):
        world = in_front(make(), labels=(("app", "big"),))
        term = PodTerm(HOST, (Requirement("app", "In", ("big",)),), ("ns",))
        rules = Constraints(pods=PodRules("ns", anti_affinity=(term,))) if apart else Constraints()
        world.pod("shy", "root.b", 1, says=20.0, constraints=rules)
        world.run(5)
        assert ("shy" in world.starts) == (not apart)
        assert world.at.core.state.preemption.holds


def test_a_pod_that_others_may_not_preempt_is_not_backfilled() -> None:
    at = Scenario().queue("root.a").queue("root.b", preemptable=False)
    world = in_front(at)
    world.pod("short", "root.b", 1, says=5.0)
    world.run(20)
    assert "short" not in world.starts


@BOTH
def test_a_disruption_budget_in_the_way_is_asked_again_later_and_the_gang_keeps_its_nodes(make: Any) -> None:
    world = in_front(make(), 40.0, 60.0)
    world.pod("liar", "root.b", 1, says=20.0, runs=1000.0)
    world.budget = True
    world.run(80)
    assert world.starts["liar"] < 30
    assert 1 <= len(world.evicted) <= 2, "once a minute"
    assert world.at.core.state.preemption.holds
    world.budget = False
    world.run(60)
    assert "big0" in world.starts


def test_a_node_that_is_kept_for_a_large_pod_is_used_too() -> None:
    world = World(fair(fair=FairSettings(keep_nodes=True, reservable_nodes=0.5)), nodes=1)
    world.pod("long", "root.b", 3, says=100.0)
    world.run(2)
    world.pod("large", "root.a", 4)
    world.run(20)
    assert [hold.gang[1] for hold in world.at.core.state.preemption.holds] == [""]
    world.pod("short", "root.b", 1, says=30.0)
    world.run(80)
    assert world.starts["short"] < 30
    assert world.starts["large"] == pytest.approx(101, abs=2)


@BOTH
def test_under_both_disciplines_a_node_that_is_kept_for_one_pod_is_used(make: Any) -> None:
    world = World(make(**({} if make is capacity else {"fair": FairSettings(keep_nodes=True, reservable_nodes=0.5)})), nodes=1)
    world.pod("long", "root.b", 3, says=100.0)
    world.run(2)
    world.pod("large", "root.a", 4)
    world.run(20)
    world.pod("short", "root.b", 1, says=30.0)
    world.run(80)
    assert world.starts["short"] < 30
    assert world.starts["large"] == pytest.approx(101, abs=2)


def test_a_family_stands_for_the_next_of_its_runs_and_a_new_core_is_told() -> None:
    world = World(fair(backfill=ESTIMATED))
    world.at.tell(RunTimesKnown((("ns/quick", 5.0, 20.0), ("ns/long", 100.0, 130.0))))
    world.pod("long0", "root.b", 3, application="long", runs=90.0)
    world.pod("long1", "root.b", 3, application="long-2", runs=100.0)
    world.run(2)
    world.gang("big", 2, "root.a", 4)
    world.run(20)
    world.pod("next", "root.b", 1, application="quick-17", runs=20.0)
    world.run(5)
    assert "next" in world.starts, "those before the gang end after the usual 100 seconds"
    assert any(isinstance(fact, RunTimesKnown) for fact in world.at.core.facts())
    counts = world.at.core.view.counts()
    assert (counts.backfilled, counts.backfilled_evicted) == (1, 0)


LONG = st.tuples(st.integers(15, 60), st.one_of(st.none(), st.integers(5, 80)))
"""What a pod says of its run time, and how long it runs if that is not the same."""
SHORT = st.tuples(
    st.integers(0, 50),
    st.sampled_from(["root.a", "root.b"]),
    st.integers(1, 2),
    st.integers(0, 40),
    st.one_of(st.none(), st.integers(1, 80)),
)
"""When a pod comes, to which queue, how large it is, what it says, and how long it runs if that is not the same."""


@BOTH
@given(data=st.data())
@settings(max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_no_gang_starts_later_than_it_would_if_nothing_were_backfilled(make: Any, data: st.DataObject) -> None:
    longs = data.draw(st.lists(LONG, min_size=2, max_size=3))
    shorts = data.draw(st.lists(SHORT, max_size=8))
    started = {}
    for mode in (NEVER, DECLARED):
        world = World(make(backfill=mode), nodes=len(longs))
        for number, (says, runs) in enumerate(longs):
            world.pod(f"long{number}", "root.b", 2, float(says), None if runs is None else float(runs), application="long")
        world.run(1)
        world.gang("big", len(longs), "root.a", 3)
        for second in range(120):
            for number, (when, queue, cpu, says, runs) in enumerate(shorts):
                if second == when + 15:
                    world.pod(f"short{number}", queue, cpu, float(says), float(runs or says or 30))
            world.step()
            assert not world.at.core.state.backfill.there.keys() - world.ends.keys() or second, (
                "only pods that are there are remembered"
            )
        started[mode] = world.starts["big0"]
        assert len({world.starts[f"big{number}"] for number in range(len(longs))}) == 1
    assert started[DECLARED] <= started[NEVER] + 2, "an eviction takes two steps here"


def test_where_thousands_wait_it_is_looked_less_often() -> None:
    world = in_front(fair(), 40.0, 400.0)
    assert filling.next_look(world.at.core.state) == world.at.core.state.backfill.looked + 1
    for number in range(1_000):
        world.pod(f"silent{number}", "root.b", 1)
    world.run(3)
    assert filling.next_look(world.at.core.state) == world.at.core.state.backfill.looked + 3


def test_nothing_is_waited_for_while_nobody_waits_who_might_be_backfilled() -> None:
    world = in_front(fair(), 40.0, 400.0)
    world.pod("silent", "root.b", 1)
    world.run(3)
    assert filling.next_timer(world.at.core.state) is None
    world.pod("longer", "root.b", 1, says=1_000.0)
    world.run(2)
    assert filling.next_timer(world.at.core.state) is not None
