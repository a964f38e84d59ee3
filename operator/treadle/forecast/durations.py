"""How long pods run: as they say, as pods like them ran that have ended, or not known.

A pod's run time is looked for, in this order: how far what was declared was off for pods of the same application that have ended, of its family, of its queue; without those as it is
declared; without a declaration the run times of pods that have ended, of the same application, of its family, of its queue, with those that still run (``survival``). The family of an application is its name without what has digits at its end, so that
the runs of a CronJob are one. Few ends tell little, so that the fewer a group has the more often the next larger one is drawn from. What is drawn for a pod that runs is longer than it has run. A bound (``activeDeadlineSeconds``) holds whatever is drawn.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from math import inf
from statistics import median
from typing import TYPE_CHECKING

from treadle.core.model.applications import family
from treadle.forecast.survival import Survival

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from random import Random

    from treadle.core.model import PodSpec

KEPT = 64
"""Ends that are remembered of an application, a family or a queue: the newest."""
MOST = 2048
"""Applications, families and queues of which ends are remembered: those that had one last."""
LITTLE = 2
"""A group with so many run times is drawn from as often as the next larger one."""
ENOUGH = 5
"""Ends from which on declarations are taken to be off as much as they were."""


@dataclass(slots=True)
class Ended:
    """The run times of pods that have ended, in seconds, and the same as parts of what the pods had declared, by application, family and queue."""

    seconds: dict[str, deque[float]] = field(default_factory=dict)
    parts: dict[str, deque[float]] = field(default_factory=dict)
    when: dict[str, deque[float]] = field(default_factory=dict)
    """When each of ``seconds`` ended, in seconds since 1970; -inf: long ago."""

    def note(self, application: str, queue: str, seconds: float, declared: float, at: float = -inf) -> None:
        """A pod has ended that ran so long; ``declared`` is what it said, 0 if nothing, and ``at`` when that was, in seconds since 1970."""
        for key in keys_of(application, queue):
            _add(self.seconds, key, seconds)
            _add(self.when, key, at)
            if declared > 0:
                _add(self.parts, key, seconds / declared)

    def run_times(self) -> tuple[tuple[str, float, float], ...]:
        """Return of applications and families of which enough pods have ended their names, the middle run time and the longest."""
        found: dict[str, tuple[float, float]] = {}
        for key, line in self.seconds.items():
            kind, _, name = key.partition(":")
            if kind != "q" and len(line) >= ENOUGH and (kind == "a" or name not in found):
                found[name] = median(line), max(line)
        return tuple((name, *times) for name, times in sorted(found.items()))


def older(before: Iterable[tuple[str, str, float]], ended: Ended) -> Ended:
    """Return run times (application, queue, seconds, the oldest first) with those that ended after them."""
    found = Ended()
    for application, queue, seconds in before:
        found.note(application, queue, seconds, 0.0)
    for into, lines in ((found.seconds, ended.seconds), (found.parts, ended.parts), (found.when, ended.when)):
        for key, line in lines.items():
            for value in line:
                _add(into, key, value)
    return found


def _add(kept: dict[str, deque[float]], key: str, value: float) -> None:
    line = kept.pop(key, None)
    if line is None:
        line = deque(maxlen=KEPT)
        if len(kept) >= MOST:
            del kept[next(iter(kept))]
    line.append(value)
    kept[key] = line


def keys_of(application: str, queue: str) -> tuple[str, ...]:
    """Return the groups that a pod is in, the smallest first."""
    return tuple(dict.fromkeys((f"a:{application}", f"f:{family(application)}", f"q:{queue}")))


class Curves:
    """What is left of each group after a run time, worked out when it is asked for. ``running`` are the applications, queues and ages of the pods that run at the time ``now``, in seconds since 1970."""

    def __init__(self, ended: Ended, running: Iterable[tuple[str, str, float]] = (), now: float = 0.0) -> None:
        self._ended, self._now = ended, now
        self._ages: dict[str, list[float]] = {}
        self._known: dict[str, Survival | None] = {}
        self._groups: dict[tuple[str, ...], tuple[Survival, ...]] = {}
        for application, queue, age in running:
            for key in keys_of(application, queue):
                self._ages.setdefault(key, []).append(age)

    def groups(self, keys: tuple[str, ...]) -> tuple[Survival, ...]:
        """Return those of some groups of which any has ended, each of which has more than the one before."""
        if keys not in self._groups:
            found = [one for key in keys if (one := self._of(key)) is not None]
            self._groups[keys] = tuple(
                one for at, one in enumerate(found) if at + 1 == len(found) or one.times != found[at + 1].times
            )
        return self._groups[keys]

    def _of(self, key: str) -> Survival | None:
        if key not in self._known:
            line = self._ended.seconds.get(key)
            self._known[key] = (
                None
                if not line
                else Survival(
                    zip(line, self._ended.when[key], strict=True), self._ages.get(key, ()), self._now, newest=len(line) == KEPT
                )
            )
        return self._known[key]


class Drawn:
    """Draws run times. ``declared`` are those of applications whose objects say one, by id. ``random`` decides; ``varied`` is whether it ever did."""

    def __init__(self, ended: Ended, declared: Mapping[str, float], random: Random, curves: Curves | None = None) -> None:
        self._ended, self._declared, self._random = ended, declared, random
        self._curves = curves or Curves(ended)
        self.varied = False

    def __call__(self, pod: PodSpec, application: str, queue: str, age: float) -> float | None:
        """Return the seconds that a pod goes on, None where nothing is known of pods like it."""
        said = declared_of(pod, self._declared.get(application, 0.0))
        keys = keys_of(application, queue) if application else ()
        if said:
            parts = next((line for key in keys if len(line := self._ended.parts.get(key, ())) >= ENOUGH), ())
            total = self._longer([part * said for part in parts], age) if parts else None
            if total is None:  # it is over its time already: it goes on for as long as it is over
                total = said if said > age else age + max(1.0, age - said)
        else:
            total = self._of_others(keys, age)
        if total is None:
            return None
        if pod.longest:
            total = min(total, pod.longest)
        return max(0.0, total - age)

    def _of_others(self, keys: tuple[str, ...], age: float) -> float | None:
        """Draw a run time longer than an age by pods of some groups, the smallest first; None if nothing is known that ran longer."""
        groups = [one for one in self._curves.groups(keys) if one.beyond(age)]
        if not groups:
            return None
        only = {one.certain(age) for one in groups}
        if len(only) == 1 and None not in only:
            return groups[0].certain(age)
        self.varied = True
        for one in groups[:-1]:
            known = one.beyond(age)
            if self._random.random() * (known + LITTLE) < known:
                return one.drawn(age, self._random)
        return groups[-1].drawn(age, self._random)

    def _longer(self, line: Iterable[float], age: float) -> float | None:
        """Draw one of the run times that are longer than an age; None if none is."""
        found = [one for one in line if one > age]
        if not found:
            return None
        if len(set(found)) == 1:
            return found[0]
        self.varied = True
        return self._random.choice(found)


def declared_of(pod: PodSpec, of_application: float) -> float:
    """Return the seconds that a pod runs by its own word or its application's, held at its bound; 0 where neither says anything."""
    said = pod.duration or of_application
    return min(said, pod.longest) if said and pod.longest else said
