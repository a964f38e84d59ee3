"""What a pod uses while it runs: a model, since the trace does not tell.

A service uses a third of what it requests in the mean, a batch pod two thirds (``MEAN``), with a wave over the day and a walk around that;
memory rises within ten minutes to its own level and stays there. The figures are of the order of those that the papers on production
clusters report (Borg 2019: a third to a half of what is requested is used); every pod's are drawn by its name alone.
"""

import math
import random

from bench.idle_room.trace import DAY, Pod

MEAN = {False: (2.0, 4.0), True: (4.0, 2.0)}
"""The parameters of the beta distribution of the level of cpu, for guaranteed pods and opportunistic ones."""
MEMORY = (5.0, 3.0)
RISE = 600.0
WAVE = 0.3
"""How far the wave of a day goes up and down, of the level."""
WALK, BACK = 0.12, 0.9
"""The deviation of a step of the walk around the level, of the level, and what is left of it after a step."""


class Usage:
    """The usage of one pod, which is asked for with times that do not go back."""

    def __init__(self, pod: Pod) -> None:
        self._pod = pod
        self._dice = random.Random(pod.name)
        self._cpu = self._dice.betavariate(*MEAN[pod.idle])
        self._memory = self._dice.betavariate(*MEMORY)
        self._phase = self._dice.uniform(-0.5, 0.5)
        self._walk = 0.0

    def at(self, now: float, since: float) -> tuple[int, int]:
        """Return (memory, cpu) at a time of a pod that started at another."""
        self._walk = BACK * self._walk + self._dice.gauss(0.0, WALK)
        wave = 0.0 if self._pod.idle else WAVE * math.sin(2 * math.pi * now / DAY + self._phase)
        cpu = min(1.0, max(0.02, self._cpu * (1.0 + wave + self._walk)))
        memory = self._memory * min(1.0, 0.2 + (now - since) / RISE)
        return int(self._pod.memory * memory), int(self._pod.cpu * cpu)
