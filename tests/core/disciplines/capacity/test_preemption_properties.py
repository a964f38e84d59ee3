"""Live preemption of the capacity discipline in random clusters with partitions: guarantees come back, nobody falls below one, and it ends."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from core.builders import a_pod, replaced
from core.clusters import LABEL, QUICK, Partitioned
from core.clusters import settings as capacity_settings
from examples import examples
from treadle.core.effects import Evict
from treadle.core.events import PodSeen
from treadle.core.kernel.tree.members import Queue
from treadle.core.units.resources import CPU

CORES = 4


@dataclass(frozen=True)
class Tenant:
    share: int
    gpu_share: int
    pods: int
    gpu_pods: int
    arrives: int
    """The round in which its pods come."""


tenants = st.lists(
    st.builds(Tenant, st.integers(1, 4), st.integers(1, 4), st.integers(0, 14), st.integers(0, 8), st.integers(0, 3)),
    min_size=2,
    max_size=4,
)


class World(Partitioned):
    """Queues with one application each, whose evicted pods are made again by their controllers."""

    def __init__(self, given: list[Tenant], nodes: int, gpu_nodes: int, *, exclusive: bool, size: int = 1) -> None:
        super().__init__()
        self.size = size
        self.tenants = given
        self.leaving: list[tuple[float, str]] = []
        self.made = 0
        self.evicted: Counter[str] = Counter()
        found = capacity_settings(preemption=replace(QUICK, interval=0.5), partitions={"gpu": exclusive})
        self.scheduler(discipline="Capacity", capacity=found)
        self.nodes(nodes, "plain", cpu=CORES, memory=CORES)
        self.nodes(gpu_nodes, "gpu", cpu=CORES, memory=CORES, labels={LABEL: "gpu"})
        for number, tenant in enumerate(given):
            self.shares(f"root.q{number}", f"{tenant.share}w", f"{tenant.gpu_share}w")

    def make(self, number: int, partition: str) -> None:
        self.made += 1
        pod = a_pod(f"p{self.made}", f"root.q{number}", f"app{number}", created=self.now, partition=partition, cpu=self.size)
        self.tell(PodSeen(pod))

    def arrive(self, turn: int) -> None:
        for number, tenant in enumerate(self.tenants):
            if tenant.arrives == turn:
                for _ in range(tenant.pods):
                    self.make(number, "")
                for _ in range(tenant.gpu_pods):
                    self.make(number, "gpu")

    def part(self, number: int, partition: str) -> Queue | None:
        queue = self.core.state.tree.queues[f"root.q{number}"]
        return queue.parts.get(partition) if partition else queue

    def round(self, leave_after: float) -> None:
        """Half a second: who has had its time leaves and is made again, then a pass."""
        self.wait(0.5)
        for due, uid in list(self.leaving):
            if due <= self.now:
                self.leaving.remove((due, uid))
                spec = self.core.state.pods[uid].spec
                self.gone(uid)
                self.make(int(spec.queue.removeprefix("root.q")), spec.partition)
        self.confirm(self.plan())
        asked = [effect for effect in self.effects if isinstance(effect, Evict)]
        for effect in asked:
            self.ask(effect, leave_after)
        for queue in self.core.state.tree.everywhere():
            assert all(used <= most for used, most in zip(queue.usage, queue.maximum, strict=True)), queue.path

    def ask(self, eviction: Evict, leave_after: float) -> None:
        state = self.core.state
        record = state.pods[eviction.uid]
        owner = record.part
        assert owner is not None
        leaf = owner.chain[0]
        going = sum(
            dict(other.shape.demand).get(CPU, 0)
            for uid, other in owner.whole.pods.items()
            if other.part is owner and (uid in state.preemption.marked or other.spec.deleting)
        )
        assert leaf.minimum is not None
        guaranteed = leaf.minimum[CPU]
        assert self.of_pods(leaf) - going >= guaranteed, "a victim's queue keeps what it is guaranteed"
        self.evicted[record.spec.queue] += 1
        self.tell(PodSeen(replaced(record.spec, deleting=True)))
        self.leaving.append((self.now + leave_after, eviction.uid))

    def waiting(self, number: int, partition: str) -> int:
        """How many pods of a tenant wait for nodes of a partition; what is lent a node elsewhere waits no more, and asks for nothing back."""
        return sum(
            record.node < 0 and record.spec.queue == f"root.q{number}" and record.spec.partition == partition
            for record in self.core.state.pods.values()
        )

    def of_pods(self, part: Queue) -> int:
        """What the pods of a queue hold, without the room on nodes that are kept for it."""
        kept = sum(
            dict(hold.shape.demand)[CPU]
            for hold in self.core.state.preemption.holds
            if hold.counted and part in hold.application.chain
        )
        return part.usage[CPU] - kept

    def could_give(self, partition: str) -> bool:
        """Whether any queue has a whole pod more than it is guaranteed, and more than the tenth that is ignored."""
        for number in range(len(self.tenants)):
            part = self.part(number, partition)
            if part is not None and part.minimum is not None:
                used, guaranteed = self.of_pods(part), part.minimum[CPU]
                if used - 1000 * self.size >= guaranteed and used > guaranteed * 1.1:
                    return True
        return False


@settings(max_examples=examples(30), deadline=None)
@given(tenants, st.integers(1, 3), st.integers(0, 2), st.booleans(), st.sampled_from([0.5, 2.0]), st.sampled_from([1, 1, 2, 4]))
def test_what_is_guaranteed_comes_back_in_every_partition_and_then_it_ends(
    given: list[Tenant], nodes: int, gpu_nodes: int, exclusive: bool, leave_after: float, size: int
) -> None:
    """``size`` is that of all pods, so that one that goes always makes room for one; a queue that lacks less than a pod gets one as well."""
    world = World(given, nodes, gpu_nodes, exclusive=exclusive, size=size)
    for turn in range(4):
        world.arrive(turn)
        for _ in range(2):
            world.round(leave_after)
    for _ in range(80):
        world.round(leave_after)
    before = world.evicted.total()
    for _ in range(40):
        world.round(leave_after)
    assert world.evicted.total() == before, "preempting and admitting do not chase each other"
    for number in range(len(given)):
        for partition in ("", "gpu"):
            part = world.part(number, partition)
            if part is None or part.minimum is None:
                continue
            held = world.of_pods(part)
            owed = min(held + size * 1000 * world.waiting(number, partition), part.minimum[CPU])
            assert held >= owed or not world.could_give(partition), (number, partition, held, owed)
