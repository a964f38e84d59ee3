"""A cluster with a queue that takes reservations, which come, are changed, lost and deleted while applications run in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from recordings.log import RecordingCore
from recordings.workloads import Cluster, hash_of
from treadle.core.effects import ReservationDecided
from treadle.core.events import ApplicationSeen, ReservationGone, ReservationLost, ReservationSeen
from treadle.core.model import CAPACITY, FAIR, ApplicationSpec, PodSpec, QueueSpec
from treadle.core.model.reservations import (
    ALIGNED,
    GREEDY,
    NO_OVERCOMMIT,
    OVER_TIME,
    Asked,
    Interpreter,
    PlanSpec,
    ReservationSpec,
)

GIB = 1 << 30
PLAN = "root.p1"
NAMES = 12


class Reserved(Cluster):
    """``root.p1`` takes reservations; a third of the applications name one."""

    def __init__(self, seed: int, discipline: str) -> None:
        super().__init__(seed, discipline)
        self.specs: dict[str, ReservationSpec] = {}
        self.untold: list[str] = []
        """Reservations whose object is to be told again."""

    def queue(self, path: str) -> QueueSpec:
        spec, chance = super().queue(path), self.chance
        if path != PLAN:
            return spec
        plan = PlanSpec(
            agent=chance.choice([ALIGNED, GREEDY]),
            policy=chance.choice([OVER_TIME, NO_OVERCOMMIT]),
            window=chance.choice([600_000, 86_400_000]),
            at_once=chance.choice([0.5, 1.0]),
            move=chance.random() < 0.7,
            lead=chance.choice([0, 5_000, 20_000]),
            patience=chance.choice([0, 4_000]),
            enforcement=chance.choice([0, 60_000]),
        )
        return replace(spec, policy="drf", maximum={}, plan=plan)

    def see(self, pod: PodSpec) -> None:
        if pod.queue.startswith(PLAN):
            pod = replace(pod, queue=PLAN)
        super().see(pod)

    def applications(self) -> None:
        """Let a third of the applications name a reservation."""
        for number in range(0, 40, 3):
            name = f"app-{number}"
            reservation = f"ns/r{hash_of(name) % NAMES}"
            self.tell(ApplicationSeen(ApplicationSpec(f"ns/{name}", user="ann", uid=name, reservation=reservation)))

    def wanted(self) -> ReservationSpec:
        chance, name = self.chance, f"ns/r{self.chance.randrange(NAMES)}"
        before = self.specs.get(name)
        start = round(self.now * 1000) + chance.choice([-20_000, 0, 5_000, 40_000])
        requests = tuple(
            Asked(
                tuple(sorted({"cpu": chance.choice([1000, 2000]), "memory": chance.choice([1, 2]) * GIB}.items())),
                chance.choice([2, 4]),
                chance.choice([1, 2]),
                chance.choice([3_000, 15_000, 60_000]),
                chance.choice([0, 1]),
            )
            for _ in range(chance.choice([1, 1, 2]))
        )
        return ReservationSpec(
            name,
            1 if before is None else before.generation + 1,
            chance.choice([PLAN, PLAN, PLAN, "root.p2.q1"]),
            start,
            start + chance.choice([20_000, 90_000, 200_000]),
            requests,
            chance.choice(list(Interpreter)),
            chance.choice([0, 0, 0, 600_000]),
            chance.choice(["ann", "bob"]),
            priority=chance.choice([None, 1, 5]),
            uid=name,
        )

    def reserve(self) -> None:
        """Let a reservation come, be changed or be deleted."""
        if self.specs and self.chance.random() < 0.2:
            name = self.chance.choice(sorted(self.specs))
            del self.specs[name]
            self.tell(ReservationGone(name))
            return
        spec = self.wanted()
        known = self.core.state.plans.known.get(spec.id)
        self.specs[spec.id] = spec
        self.tell(ReservationSeen(spec, None if known is None else known.told))

    def carry_out(self) -> None:
        """Let what was decided be written, mostly."""
        for name in self.untold:
            if name in self.specs:
                self.tell(ReservationSeen(self.specs[name]))
        self.untold = []
        decided = [effect for effect in self.pending if isinstance(effect, ReservationDecided)]
        self.pending = [effect for effect in self.pending if not isinstance(effect, ReservationDecided)]
        for effect in decided:
            known = self.core.state.plans.known.get(effect.id)
            if known is None or effect.id not in self.specs:
                continue
            if self.chance.random() < 0.9:
                self.tell(ReservationSeen(self.specs[effect.id], known.decided))
            else:
                self.tell(ReservationLost(effect.id))
                self.untold.append(effect.id)
        super().carry_out()

    def plan(self) -> None:
        if self.chance.random() < 0.2:
            self.reserve()
        super().plan()

    def run(self, steps: int) -> RecordingCore:
        self.applications()
        return super().run(steps)


RESERVED = [(8, FAIR), (9, CAPACITY)]


def reserved() -> Iterator[tuple[str, RecordingCore]]:
    """Every log of this by its name."""
    for seed, discipline in RESERVED:
        yield f"reserved-{seed}", Reserved(seed, discipline).run(500)
