"""What the agent does alone, when no scheduler asks it any more: pure rules of when, for how much, and who goes.

The scheduler sees the node by the agent's samples. Where it has not asked for a while nobody sees the node, and opportunistic pods that use too much would stay until the kubelet
evicts somebody. Then the newest of them go, as many as come to the excess, by what each was measured to use.
"""

from collections.abc import Iterable, Mapping

from treadle.agent.rows import NamedTuple
from treadle.agent.sampler import Sample, Usage

PAUSE = 30.0
"""Seconds after removals in which nobody else goes: pods take that long to end."""
LEAST_MEMORY = 1024
"""Bytes that an opportunistic pod may request: what a demoted one does, as kubelets do not take a request of memory back to nothing."""
ALLOWED = "cpu=PERCENT and memory=PERCENT of what the node has, one of them at least, from 1 to 100; after=SECONDS, 10 or more; borne=SAMPLES, 0 or more"


class Unclear(Exception):
    """Limits make no sense; the message names what, its value and what is allowed."""


class Limits(NamedTuple):
    """Percents of what the node has above which pods go, 0 for none; after how many seconds without the scheduler, and how many samples in a row are borne."""

    cpu: int = 0
    memory: int = 0
    after: int = 60
    borne: int = 5


class Amount(NamedTuple):
    """Milli-units of processor and bytes of memory."""

    cpu: int
    memory: int


class Pod(NamedTuple):
    """An opportunistic pod that runs on the node; ``started`` orders them."""

    namespace: str
    name: str
    uid: str
    started: str


def limits(text: str) -> Limits:
    """Read ``cpu=85,memory=80,after=60,borne=5``. Raises ``Unclear``."""
    found: dict[str, int] = {}
    for part in text.split(","):
        name, _, value = part.partition("=")
        if name not in Limits._fields or not value.isdecimal() or len(value) > 6:
            raise Unclear(f"{part!r} is not understood; allowed are {ALLOWED}")
        found[name] = int(value)
    read = Limits(**found)
    if not (read.cpu or read.memory) or max(read.cpu, read.memory) > 100 or read.after < 10:
        raise Unclear(f"{text!r} is out of bounds; allowed are {ALLOWED}")
    return read


def excess(most: Limits, size: Amount, used: Usage) -> Amount:
    """Return by how much all pods together are over the limits; what nobody knows is not."""
    cpu = 0 if not most.cpu or used.cpu is None else used.cpu - most.cpu * size.cpu // 100
    memory = 0 if not most.memory or used.memory is None else used.memory - most.memory * size.memory // 100
    return Amount(max(cpu, 0), max(memory, 0))


def victims(pods: Iterable[Pod], used: Mapping[str, Usage], lacking: Amount) -> list[Pod]:
    """Return who goes: the newest first, those only that use of what is lacking, until that is made up for."""
    cpu, memory = lacking
    chosen = []
    for pod in sorted(pods, key=lambda one: (one.started, one.name), reverse=True):
        if cpu <= 0 and memory <= 0:
            break
        uses = used.get(pod.uid)
        gives = Amount(0, 0) if uses is None else Amount(uses.cpu or 0, uses.memory or 0)
        if (cpu > 0 and gives.cpu) or (memory > 0 and gives.memory):
            chosen.append(pod)
            cpu, memory = cpu - gives.cpu, memory - gives.memory
    return chosen


class Watch:
    """Whether the agent is alone, and for how much pods have to go. Times are those of a clock that is never put back."""

    def __init__(self, most: Limits, now: float) -> None:
        self.limits = most
        self.asked = now
        """When a scheduler asked last; it is given the time from our start on."""
        self._row = 0
        self._quiet_until = now

    def alone(self, now: float) -> bool:
        """Whether no scheduler has asked for so long that it is taken to be out of reach."""
        return now - self.asked > self.limits.after

    def look(self, now: float, size: Amount | None, sample: Sample | None) -> Amount | None:
        """Return for how much pods have to go by a sample, None if nobody has to."""
        if not self.alone(now) or size is None or sample is None:
            self._row = 0
            return None
        lacking = excess(self.limits, size, sample.all)
        self._row = self._row + 1 if any(lacking) else 0
        if self._row <= self.limits.borne or now < self._quiet_until:
            return None
        return lacking

    def removed(self, now: float) -> None:
        """Take note that pods were asked to go."""
        self._row, self._quiet_until = 0, now + PAUSE
