"""What is recorded: churn as the fuzzer makes it, and fuller clusters with unlike pods, users, masters, partitions, preemption and edits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

from recordings.log import LOGS, RecordingCore, decode, lines_of
from treadle.core.effects import Bind, Effect, Evict, Expire, ReportWaiting, Resize, Verify
from treadle.core.events import (
    ApplicationSeen,
    BindDone,
    BindFailed,
    EvictFailed,
    NodeGone,
    NodeSampled,
    NodeSeen,
    PodGone,
    PodSampled,
    PodSeen,
    QueueGone,
    QueueSeen,
    ResizeDone,
    ResizeFailed,
    SchedulerSeen,
    UsageKnown,
)
from treadle.core.kernel.pods.states import PodState
from treadle.core.model import (
    CAPACITY,
    FAIR,
    ApplicationSpec,
    Constraints,
    FairSettings,
    GangSettings,
    HostPort,
    Limit,
    NodeSpec,
    PlacementRule,
    PodSpec,
    QueueSpec,
    SchedulerSpec,
    Taint,
    Toleration,
    Wish,
)
from treadle.core.model.capacity import (
    Capacity,
    CapacityPreemption,
    CapacityQueueSpec,
    FlexibleCreation,
    Kind,
    PartitionShare,
    Portion,
    live,
)
from treadle.core.model.opportunistic import (
    AGENT,
    CHEAPEST,
    FULL,
    LARGEST,
    LAST_SAMPLE,
    METRICS,
    NEWEST,
    PART,
    PERCENTILE,
    REQUESTS,
    RESERVATION,
    SIGMA,
    SOME,
    NodePolicy,
    OpportunisticSettings,
    PredictionSettings,
    PressureThreshold,
    Threshold,
)

GIB = 1 << 30
PARENTS, LEAVES = 4, 5
CONSTRAINTS = [
    *[Constraints()] * 8,
    Constraints(selector=(("zone", "a"),)),
    Constraints(tolerations=(Toleration("batch", "Exists"),)),
    Constraints(host_ports=(HostPort("0.0.0.0", "TCP", 80),)),
    Constraints(wish=Wish(nodes=("node-3", "node-4"))),
    Constraints(wish=Wish(racks=("b",), relax=False)),
    Constraints(unsupported=("spec.resourceClaims",)),
]


def churn(seed: int) -> RecordingCore:
    """What a fuzzer did once with this seed: the events of the log that there is, told again, with what is decided now."""
    core = RecordingCore()
    for line in lines_of(LOGS / f"churn-{seed}.jsonl.gz"):
        if line[0] == "event":
            core.handle(decode(line[2]), line[1])
        elif line[0] == "plan":
            core.plan(line[1], line[2])
        elif line[0] == "read":
            core.refresh_shares()
    core.close()
    return core


class Cluster:
    """A cluster that fills up and changes: 24 unlike nodes, 20 leaves in 4 parents, 6 users."""

    def __init__(self, seed: int, discipline: str) -> None:
        self.core = RecordingCore()
        self.chance = Random(seed)
        self.discipline = discipline
        self.now = 100.0
        self.pods: dict[str, PodSpec] = {}
        self.pending: list[Effect] = []
        self.number = 0

    def tell(self, event: object) -> None:
        self.core.handle(event, self.now)  # type: ignore[arg-type]

    def scheduler(self) -> SchedulerSpec:
        chance = self.chance
        fair = FairSettings(
            preemption=True,
            utilization_threshold=0.5,
            wait_before_kill=2.0,
            min_share_timeout=2.0,
            fair_share_timeout=4.0,
            keep_nodes=chance.random() < 0.5,
            user_max_running_default=chance.choice([None, 3, 6]),
            queue_max_master_share_default=chance.choice([0.2, 0.5, -1.0]),
            queue_max_default={"cpu": Limit(percent=60.0)},
        )
        preemption = CapacityPreemption(
            enabled=True,
            interval=3.0,
            wait_before_kill=4.0,
            per_round=0.3,
            balance_wait=20.0,
            intra_queue=chance.random() < 0.5,
            by_priority=chance.random() < 0.5,
            by_priority_delay=5.0,
        )
        capacity = replace(
            live(),
            preemption=preemption,
            legacy=False,
            user_limit_factor=chance.choice([1.0, 2.0]),
            master_share=chance.choice([0.1, 0.5]),
        )
        rules = (PlacementRule("specified"), PlacementRule("user", parent=PlacementRule("default", queue="root.p0")))
        return SchedulerSpec(
            scoring=chance.choice(["Pack", "Spread"]), discipline=self.discipline, fair=fair, capacity=capacity, rules=rules
        )

    def queue(self, path: str) -> QueueSpec:
        chance = self.chance
        portion = Capacity(Portion(Kind.WEIGHT, float(chance.randint(1, 4))))
        most = chance.choice([Capacity(), Capacity(), Capacity(Portion(Kind.PERCENT, float(chance.choice([30, 60]))))])
        share = PartitionShare(portion, most)
        parental = path.count(".") == 1
        capacity = CapacityQueueSpec(
            path,
            partitions={"": share, "gpu": PartitionShare(portion)},
            accessible=frozenset({"*"}),
            user_limit=None if parental else chance.choice([None, 25.0, 50.0, 100.0]),
            user_limit_factor=None if parental else chance.choice([None, 2.0, -1.0]),
            user_weights={} if parental else chance.choice([{}, {"ann": 2.0}]),
            order=chance.choice([None, "utilization"]) if parental else chance.choice([None, "fair", "fifo"]),
            priority=chance.choice([None, None, 1, 2]),
            max_parallel=None if parental else chance.choice([None, None, 4]),
            disable_preemption=chance.choice([None, None, None, True]),
            flexible=FlexibleCreation(enabled=path == "root.p3"),
        )
        return QueueSpec(
            path,
            weight=float(chance.randint(1, 4)),
            minimum=chance.choice([{}, {}, {"cpu": Limit(4000), "memory": Limit(8 * GIB)}]),
            maximum=chance.choice([{}, {}, {"cpu": Limit(percent=30.0)}, {"memory": Limit(40 * GIB)}]),
            policy="drf" if parental else chance.choice(["drf", "drf", "fair", "fifo"]),
            max_running=None if parental else chance.choice([None, None, None, 2]),
            max_master_share=None if parental else chance.choice([None, None, 0.3]),
            preemptable=chance.random() < 0.9,
            fair_share_threshold=chance.choice([None, 0.8]),
            capacity=capacity,
        )

    def node(self, number: int) -> NodeSpec:
        chance = self.chance
        labels = {"zone": "ab"[number % 2], "topology.kubernetes.io/zone": "ab"[number % 2]}
        if number % 6 == 0:
            labels["treadle.dev/partition"] = "gpu"
        taints = (Taint("batch", "", "NoSchedule"),) if number % 11 == 10 else ()
        allocatable = {"cpu": chance.choice([4000, 8000, 16000]), "memory": chance.choice([16, 32]) * GIB, "pods": 30}
        if number % 6 == 0:
            allocatable["nvidia.com/gpu"] = 4
        return NodeSpec(f"node-{number}", allocatable, labels, taints, unschedulable=chance.random() < 0.03)

    def leaf(self) -> str:
        return f"root.p{self.chance.randrange(PARENTS)}.q{self.chance.randrange(LEAVES)}"

    def new_pods(self) -> None:
        """Let an application come, or more pods of one: a master first, workers of one or two shapes."""
        chance = self.chance
        application = f"app-{chance.randrange(40)}"
        user = ["ann", "bob", "cid", "dan", "eve", "fay"][hash_of(application) % 6]
        queue = f"root.p{hash_of(application) % PARENTS}.q{hash_of(application) // 7 % LEAVES}"
        if application == "app-7":
            queue = ""
        if application == "app-8":
            queue = "root.p3.made.deep"
        partition = "gpu" if hash_of(application) % 9 == 0 else ""
        for _ in range(chance.choice([1, 1, 2])):
            constraints = chance.choice(CONSTRAINTS)
            demand = {
                "cpu": chance.choice([500, 1000, 2000, 2000, 4000, 9000]),
                "memory": chance.choice([1, 2, 4, 8]) * GIB,
                "pods": 1,
            }
            if partition and chance.random() < 0.5:
                demand["nvidia.com/gpu"] = 1
            priority = chance.choice([0, 0, 0, 10])
            for at in range(chance.choice([1, 4, 12])):
                self.number += 1
                pod = PodSpec(
                    uid=f"uid-{self.number}",
                    namespace="ns",
                    name=f"pod-{self.number}",
                    scheduler="treadle",
                    demand=tuple(sorted(demand.items())),
                    constraints=constraints,
                    priority=priority,
                    application=f"ns/{application}",
                    queue=queue,
                    role="master" if at == 0 and chance.random() < 0.4 else "",
                    user=user,
                    groups=("dev",),
                    partition=partition,
                    created=self.now,
                )
                self.see(pod)

    def see(self, pod: PodSpec) -> None:
        self.pods[pod.uid] = pod
        self.tell(PodSeen(pod))

    def plan(self) -> None:
        self.pending += self.core.plan(self.now, self.chance.choice([4, 64, 64, 1000]))

    def carry_out(self) -> None:
        """Let most of what was asked for happen."""
        effects, self.pending = self.pending, []
        for effect in effects:
            pod = self.pods.get(effect.uid)
            match effect:
                case Bind() if pod is not None:
                    fate = self.chance.random()
                    if fate < 0.9:
                        self.tell(BindDone(pod.uid))
                        self.see(replace(pod, node=effect.node, held_in=effect.queue))
                    elif fate < 0.98:
                        self.tell(BindFailed(pod.uid, self.chance.choice(["transient", "transient", "refused"]), "no"))  # type: ignore[arg-type]
                    else:
                        self.pending.append(effect)
                case Evict() | Expire() if pod is not None:
                    if self.chance.random() < 0.8:
                        del self.pods[pod.uid]
                        self.tell(PodGone(pod.uid))
                    elif isinstance(effect, Evict):
                        self.tell(EvictFailed(pod.uid, "a budget"))
                case Verify() if pod is not None:
                    self.tell(PodSeen(pod, answer=True))
                case ReportWaiting() if pod is not None:
                    self.see(replace(pod, reported=(effect.reason, effect.message)))

    def ends(self) -> None:
        bound = [uid for uid, pod in self.pods.items() if pod.node]
        for uid in self.chance.sample(bound, min(len(bound), self.chance.choice([1, 3, 10]))):
            del self.pods[uid]
            self.tell(PodGone(uid))

    def edit(self) -> None:
        """Change a queue, a node, an application, or the scheduler."""
        chance = self.chance
        what = chance.random()
        if what < 0.4:
            path = chance.choice([self.leaf(), f"root.p{chance.randrange(PARENTS)}"])
            self.tell(QueueSeen(self.queue(path)))
        elif what < 0.45:
            self.tell(QueueGone(self.leaf()))
        elif what < 0.65:
            self.tell(NodeSeen(self.node(chance.randrange(24))))
        elif what < 0.75:
            self.tell(NodeGone(f"node-{chance.randrange(24)}"))
        elif what < 0.9:
            name, queue = f"ns/app-{chance.randrange(40)}", chance.choice(["", self.leaf()])
            lifetime = chance.choice([None, None, 60.0])
            self.tell(ApplicationSeen(ApplicationSpec(name, queue, chance.choice([0, 5]), user="ann", lifetime=lifetime)))
        elif what < 0.97:
            self.tell(SchedulerSeen(self.scheduler()))
        else:
            self.discipline = FAIR if self.discipline == CAPACITY else CAPACITY
            self.tell(SchedulerSeen(self.scheduler()))

    def run(self, steps: int) -> RecordingCore:
        """Let things happen, and return the core with its log."""
        self.tell(SchedulerSeen(self.scheduler()))
        for number in range(24):
            self.tell(NodeSeen(self.node(number)))
        for parent in range(PARENTS):
            self.tell(QueueSeen(self.queue(f"root.p{parent}")))
            for leaf in range(LEAVES):
                self.tell(QueueSeen(self.queue(f"root.p{parent}.q{leaf}")))
        for _ in range(steps):
            step = self.chance.choices([self.new_pods, self.plan, self.carry_out, self.ends, self.edit], [5, 6, 6, 4, 0.5])[0]
            step()
            self.now = round(self.now + self.chance.choice([0.0, 0.1, 0.6, 1.5]), 3)
        self.core.close()
        return self.core


class Crowd(Cluster):
    """Many users in two leaves, who come to their limits."""

    def queue(self, path: str) -> QueueSpec:
        spec = super().queue(path)
        assert spec.capacity is not None
        users = {} if path.count(".") == 1 else {"user_limit": self.chance.choice([5.0, 10.0, 25.0]), "max_parallel": None}
        return replace(spec, max_running=None, capacity=replace(spec.capacity, **users))

    def leaf(self) -> str:
        return f"root.p{self.chance.randrange(2)}.q0"

    def see(self, pod: PodSpec) -> None:
        number = hash_of(pod.application)
        super().see(replace(pod, queue=f"root.p{number % 2}.q0", user=f"user-{number % 17}", partition=""))


class Idle(Cluster):
    """A third of the pods are opportunistic, and get what nodes do not use by samples that come now and then."""

    def scheduler(self) -> SchedulerSpec:
        chance = self.chance
        policy = NodePolicy((("cpu", Threshold(600, 800, borne=chance.choice([0, 2]))), ("memory", Threshold(700, 850))), 900)
        source = chance.choice([METRICS, METRICS, REQUESTS]) if self.pods else METRICS
        settings = OpportunisticSettings(
            source,
            20.0,
            chance.choice([0.0, 5.0]),
            policy if source == METRICS else NodePolicy(),
            order=chance.choice([CHEAPEST, NEWEST]),
        )
        return replace(super().scheduler(), opportunistic=settings)

    def see(self, pod: PodSpec) -> None:
        if hash_of(pod.uid) % 3 == 0 and not pod.opportunistic:
            asked = {name: value for name, value in pod.demand if name in {"cpu", "memory"}}
            pod = replace(pod, demand=(("pods", 1),), opportunistic=tuple(sorted(asked.items())), role="")
        super().see(pod)

    def plan(self) -> None:
        for number in self.chance.sample(range(24), self.chance.choice([0, 2, 8])):
            used = (("cpu", self.chance.randrange(0, 9000, 100)), ("memory", self.chance.randrange(0, 20) * GIB))
            self.tell(NodeSampled(f"node-{number}", used, self.now - self.chance.choice([0.0, 1.0]), 1.0))
        if self.chance.random() < 0.02:
            self.tell(UsageKnown(self.chance.random() < 0.5, "away"))
        super().plan()


class Measured(Idle):
    """Nodes and single pods are measured, tasks wait, pods change their execution type, and gangs of opportunistic pods start together."""

    def scheduler(self) -> SchedulerSpec:
        chance = self.chance
        pressure = (
            PressureThreshold("memory", SOME, 150, 400),
            PressureThreshold("cpu", FULL, 200, 500, borne=chance.choice([0, 1])),
        )
        thresholds = (("cpu", Threshold(700, 850, borne=chance.choice([0, 1]))), ("memory", Threshold(700, 850)))
        methods = [LAST_SAMPLE, PERCENTILE, SIGMA, RESERVATION, LARGEST, PART]
        settings = OpportunisticSettings(
            AGENT,
            20.0,
            chance.choice([0.0, 2.0]),
            NodePolicy(thresholds, pressure=chance.choice([(), pressure])),
            overrides=(((("zone", "b"),), NodePolicy(thresholds, 800, pressure)),),
            prediction=PredictionSettings(chance.choice(methods)),
            order=chance.choice([CHEAPEST, NEWEST]),
            minimum_run=chance.choice([0.0, 5.0]),
            emergency=chance.choice([None, 950]),
        )
        gangs = GangSettings(partial_timeout=chance.choice([5.0, 20.0]))
        return replace(super().scheduler(), opportunistic=settings, gangs=gangs)

    def queue(self, path: str) -> QueueSpec:
        return replace(super().queue(path), max_running=None)

    def see(self, pod: PodSpec) -> None:
        if pod.node:  # it is what it has become
            Cluster.see(self, pod)
        else:
            super().see(pod)

    def new_pods(self) -> None:
        """Now and then a gang of opportunistic pods, which may ask for a zone of its own."""
        if self.chance.random() < 0.6:
            super().new_pods()
            return
        name, count = f"crew-{self.number}", self.chance.choice([2, 3, 5])
        topology = self.chance.choice([None, ("zone", True), ("zone", False)])
        for _ in range(count):
            self.number += 1
            self.see(
                PodSpec(
                    uid=f"uid-{self.number}",
                    namespace="ns",
                    name=f"pod-{self.number}",
                    scheduler="treadle",
                    demand=(("pods", 1),),
                    opportunistic=(("cpu", 1000), ("memory", GIB)),
                    gang=name,
                    gang_minimums=((name, count),),
                    gang_topology=topology,
                    application="ns/crews",
                    queue="root.p0.q0",
                    user="ann",
                    created=self.now,
                )
            )

    def turn(self) -> None:
        """Let a pod on a node ask to be of the other type, by itself or for its owner, or ask no more."""
        chance = self.chance
        there = [pod for pod in self.pods.values() if pod.node]
        if not there:
            return
        pod = chance.choice(there)
        if pod.promotes or pod.demotes:
            self.see(replace(pod, promotes=(), promotes_itself=False, demotes=False))
        elif pod.opportunistic:
            self.see(replace(pod, promotes=pod.opportunistic, promotes_itself=chance.random() < 0.5))
        else:
            asked = tuple(one for one in pod.demand if one[0] in {"cpu", "memory"})
            self.see(replace(pod, opportunistic=asked, demotes=True))

    def carry_out(self) -> None:
        resizes = [effect for effect in self.pending if isinstance(effect, Resize)]
        self.pending = [effect for effect in self.pending if not isinstance(effect, Resize)]
        for effect in resizes:
            pod, fate = self.pods.get(effect.uid), self.chance.random()
            if pod is None or fate > 0.95:
                continue
            if fate > 0.8:
                self.tell(ResizeFailed(pod.uid, "no", refused=fate > 0.9))
            elif effect.guaranteed and pod.promotes:
                self.tell(ResizeDone(pod.uid, guaranteed=True))
                demand = tuple(sorted((*pod.promotes, ("pods", 1))))
                self.see(replace(pod, demand=demand, opportunistic=(), promotes=(), promotes_itself=False))
            elif pod.demotes:
                self.tell(ResizeDone(pod.uid, guaranteed=False))
                self.see(replace(pod, demand=(("memory", 1024), ("pods", 1)), demotes=False))
        super().carry_out()

    def plan(self) -> None:
        chance = self.chance
        if chance.random() < 0.3:
            self.turn()
        for number in chance.sample(range(24), chance.choice([0, 4, 12])):
            node, at = f"node-{number}", self.now - chance.choice([0.0, 0.5])
            for pod in [pod for pod in self.pods.values() if pod.node == node and chance.random() < 0.8]:
                used = (("cpu", chance.randrange(0, 3000, 50)), ("memory", chance.randrange(0, 6) * GIB // 2))
                self.tell(PodSampled(pod.uid, used, at, 1.0))
            used = (("cpu", chance.randrange(0, 9000, 100)), ("memory", chance.randrange(0, 28) * GIB))
            waits = tuple(
                (resource, some, some // 2)
                for resource in ("cpu", "memory", "io")
                for some in [chance.choice([0, 0, 100, 300, 600, 1000])]
            )
            self.tell(NodeSampled(node, used, at, 1.0, waits if chance.random() < 0.9 else ()))
        Cluster.plan(self)


def hash_of(name: str) -> int:
    """A number that is the same in every process."""
    return sum(ord(char) * (at + 3) ** 2 for at, char in enumerate(name))


CHURNS = [*range(300, 312)]
CLUSTERS = [(1, FAIR), (2, FAIR), (3, CAPACITY), (4, CAPACITY)]


def recordings() -> Iterator[tuple[str, RecordingCore]]:
    """Every log by its name."""
    for seed in CHURNS:
        yield f"churn-{seed}", churn(seed)
    yield "crowd-5", Crowd(5, CAPACITY).run(700)
    yield "idle-6", Idle(6, FAIR).run(500)
    yield "measured-7", Measured(7, FAIR).run(700)
    for seed, discipline in CLUSTERS:
        yield f"{discipline.lower()}-{seed}", Cluster(seed, discipline).run(900)


def waiting(core: RecordingCore) -> int:
    """How many pods wait, for whoever wonders whether a log is full enough."""
    return sum(record.state is PodState.WAITING for record in core.state.pods.values())
