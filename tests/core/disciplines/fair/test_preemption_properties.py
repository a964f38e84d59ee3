"""Live preemption in random clusters: nobody falls below the fair share, what is owed comes back, and it comes to an end."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from core.builders import Scenario, a_pod, replaced
from examples import examples
from treadle.core.effects import Evict
from treadle.core.events import EvictFailed, PodSeen
from treadle.core.model import FairSettings
from treadle.core.units.resources import CPU

FAIR = FairSettings(preemption=True, fair_share_timeout=1.0, fair_share_threshold=1.0, wait_before_kill=1.0)
CORES = 4


@dataclass(frozen=True)
class Tenant:
    weight: int
    pods: int
    arrives: int
    """The round in which its pods come."""


tenants = st.lists(st.builds(Tenant, st.integers(1, 3), st.integers(1, 14), st.integers(0, 3)), min_size=2, max_size=4)


class World(Scenario):
    """Queues with one application each, whose evicted pods are made again by their controllers."""

    def __init__(self, given: list[Tenant], nodes: int, stubborn: frozenset[int]) -> None:
        super().__init__()
        self.tenants, self.stubborn = given, stubborn
        self.leaving: list[tuple[float, str]] = []
        self.made = 0
        self.evicted: Counter[str] = Counter()
        self.scheduler(fair=FAIR).nodes(nodes, cpu=CORES, memory=CORES)
        for number, tenant in enumerate(given):
            self.queue(f"root.q{number}", weight=float(tenant.weight))

    def make(self, number: int) -> None:
        self.made += 1
        self.tell(PodSeen(a_pod(f"p{self.made}", f"root.q{number}", f"app{number}", created=self.now)))

    def round(self, leave_after: float) -> None:
        """Half a second: who has had its time leaves and is made again, then a pass."""
        self.wait(0.5)
        for due, uid in list(self.leaving):
            if due <= self.now:
                self.leaving.remove((due, uid))
                queue = self.core.state.pods[uid].spec.queue
                self.gone(uid)
                self.make(int(queue.removeprefix("root.q")))
        self.confirm(self.plan())
        for effect in self.effects:
            if isinstance(effect, Evict):
                self.ask(effect, leave_after)

    def ask(self, eviction: Evict, leave_after: float) -> None:
        state = self.core.state
        record = state.pods[eviction.uid]
        owner = record.application
        assert owner is not None
        going = sum(
            dict(other.shape.demand).get(CPU, 0)
            for uid, other in owner.pods.items()
            if uid in state.preemption.marked or other.spec.deleting
        )
        assert owner.usage[CPU] - going >= owner.instant_share[CPU], "a victim's application keeps its fair share"
        self.evicted[record.spec.queue] += 1
        if int(eviction.uid.removeprefix("p")) % 7 in self.stubborn:
            self.tell(EvictFailed(eviction.uid, "its budget does not let it go"))
            return
        self.tell(PodSeen(replaced(record.spec, deleting=True)))
        self.leaving.append((self.now + leave_after, eviction.uid))

    def held(self, number: int) -> int:
        return self.core.state.tree.queues[f"root.q{number}"].usage[CPU] // 1000


@settings(max_examples=examples(25), deadline=None)
@given(tenants, st.integers(1, 3), st.sampled_from([0.5, 2.0, 5.0]))
def test_what_is_owed_comes_back_and_then_nobody_is_asked_any_more(given: list[Tenant], nodes: int, leave_after: float) -> None:
    world = World(given, nodes, frozenset())
    for turn in range(4):
        for number, tenant in enumerate(given):
            if tenant.arrives == turn:
                for _ in range(tenant.pods):
                    world.make(number)
        for _ in range(2):
            world.round(leave_after)
    for _ in range(80):
        world.round(leave_after)
    before = world.evicted.total()
    for _ in range(40):
        world.round(leave_after)
    assert world.evicted.total() == before, "preempting and admitting do not chase each other"
    world.core.refresh_shares()
    shares = [world.core.state.tree.queues[f"root.q{number}"].instant_share[CPU] for number in range(len(given))]
    could_give = [number for number, share in enumerate(shares) if (world.held(number) - 1) * 1000 >= share]
    for number, tenant in enumerate(given):
        owed = min(tenant.pods, shares[number] // 1000)
        assert world.held(number) >= owed or not could_give, (number, world.held(number), owed)


@settings(max_examples=examples(25), deadline=None)
@given(tenants, st.integers(1, 3), st.frozensets(st.integers(0, 6), max_size=4))
def test_victims_that_stay_break_nothing(given: list[Tenant], nodes: int, stubborn: frozenset[int]) -> None:
    world = World(given, nodes, stubborn)
    for number, tenant in enumerate(given):
        for _ in range(tenant.pods):
            world.make(number)
        for _ in range(3):
            world.round(1.0)
    for _ in range(60):
        world.round(1.0)
