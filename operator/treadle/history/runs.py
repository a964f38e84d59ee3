"""What each application has used over time, from its first pod on a node to its last: a run. No clock and no store: times are handed in, in seconds since 1970.

A run is over when the application has had no pod on a node for ``LINGER`` seconds; until then a Job whose pod failed may be about to try again.
Beyond ``MOST_STEPS`` changes a run is kept more coarsely: an interval has what was used at the most in it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

LINGER = 60.0
MOST_STEPS = 256
MOST_EARLY = 10_000
"""Ends of pods that are remembered until the pods are seen on nodes."""
FINEST = 1.0
"""Seconds of an interval, at first, where a run is kept more coarsely."""
SUCCEEDED, FAILED, DELETED, UNKNOWN = "Succeeded", "Failed", "Deleted", "Unknown"


class Step(NamedTuple):
    """What an application used from a time on, until the next step: amounts by resource type (cpu in milli-units), the number of its pods on nodes.

    ``ended`` is how many of its pods had succeeded, failed and been deleted by then.
    """

    at: float
    amounts: dict[str, int]
    pods: int
    ended: tuple[int, int, int] = (0, 0, 0)


@dataclass(slots=True)
class Run:
    """One run of an application (``namespace/name``).

    ``known_from`` is from when on its steps are known: later than ``started`` where somebody else watched before. ``ended`` is None while it is under way.
    """

    application: str
    queue: str
    user: str
    submitted: float
    started: float
    known_from: float
    ended: float | None = None
    pods: int = 0
    succeeded: int = 0
    failed: int = 0
    deleted: int = 0
    outcome: str = ""
    steps: list[Step] = field(default_factory=list)

    def copied(self) -> Run:
        """Return the run as it is now; steps themselves are never changed."""
        return replace(self, steps=list(self.steps))


class _Open:
    """A run that is under way, and what its pods on nodes ask for."""

    __slots__ = ("amounts", "changed", "last", "latest", "on", "run", "told")

    def __init__(self, run: Run) -> None:
        self.run = run
        self.on: dict[str, tuple[tuple[str, int], ...]] = {}
        self.amounts: dict[str, int] = {}
        self.last = run.started
        self.told: dict[str, str] = {}
        """How pods that are still counted ended."""
        self.latest = ""
        """The pod that left last."""
        self.changed = True

    def step(self, at: float) -> None:
        steps = self.run.steps
        run = self.run
        here = Step(at, dict(self.amounts), len(self.on), (run.succeeded, run.failed, run.deleted))
        if len(steps) > 1 and at <= steps[-1].at:
            steps[-1] = here._replace(at=steps[-1].at)
        else:
            steps.append(here)
        if len(steps) > 2 * MOST_STEPS:
            self.run.steps = thinned(steps)
        self.last, self.changed = at, True


class Runs:
    """The runs under way. Times that go backwards count as the last one: a run's steps are in order."""

    def __init__(self) -> None:
        self._open: dict[str, _Open] = {}
        self._of: dict[str, str] = {}
        self._early: dict[str, str] = {}
        """How pods ended that have not been seen on a node."""
        self._untold: dict[str, tuple[_Open, float]] = {}
        """The pods that left without a word how they ended, with the time, while their run is under way."""

    def __len__(self) -> int:
        return len(self._open)

    def knows(self, uid: str) -> bool:
        """Whether a pod is counted on a node."""
        return uid in self._of

    def on_node(
        self, now: float, uid: str, application: str, queue: str, user: str, demand: Sequence[tuple[str, int]], created: float
    ) -> None:
        """Count a pod of an application that is on a node. ``created`` is when the pod was made, 0 where that is not known."""
        if uid in self._of:
            return
        found = self._open.get(application)
        if found is None:
            run = Run(application, queue, user, min(created or now, now), now, now)
            found = self._open[application] = _Open(run)
        run, now = found.run, max(now, found.last)
        run.queue, run.user = queue, user or run.user
        run.submitted = min(run.submitted, created or now)
        run.pods += 1
        self._of[uid] = application
        if uid in self._early:
            found.told[uid] = self._early.pop(uid)
        found.on[uid] = asked = tuple(pair for pair in demand if pair[0] != "pods")
        for name, value in asked:
            found.amounts[name] = found.amounts.get(name, 0) + value
        found.step(now)

    def left(self, now: float, uid: str, outcome: str = "") -> None:
        """Count a pod no longer. ``outcome`` is its last phase where that is known; without it, it is as ``ended`` told, or was deleted.

        A pod that is not known is passed over.
        """
        application = self._of.pop(uid, None)
        if application is None:
            return
        found = self._open[application]
        outcome = found.told.pop(uid, outcome)
        run, now = found.run, max(now, found.last)
        for name, value in found.on.pop(uid):
            found.amounts[name] -= value
            if not found.amounts[name]:
                del found.amounts[name]
        run.outcome = outcome if outcome in {SUCCEEDED, FAILED} else DELETED
        run.succeeded += run.outcome == SUCCEEDED
        run.failed += run.outcome == FAILED
        run.deleted += run.outcome == DELETED
        found.latest = uid
        if run.outcome == DELETED:
            self._untold[uid] = found, now
        found.step(now)

    def ended(self, uid: str, outcome: str) -> None:
        """Take in how a pod ended; this may be told before it leaves or after, and of a short one before it was seen on its node."""
        if uid in self._of:
            self._open[self._of[uid]].told[uid] = outcome
            return
        if uid not in self._untold:
            self._early[uid] = outcome
            if len(self._early) > MOST_EARLY:
                del self._early[next(iter(self._early))]
            return
        found, at = self._untold.pop(uid)
        run, good = found.run, outcome == SUCCEEDED
        run.deleted -= 1
        run.succeeded += good
        run.failed += not good
        if found.latest == uid:
            run.outcome = outcome
        run.steps = [
            step._replace(ended=(step.ended[0] + good, step.ended[1] + (not good), step.ended[2] - 1)) if step.at >= at else step
            for step in run.steps
        ]
        found.changed = True

    def over(self, now: float) -> list[Run]:
        """Take out the runs that are over; each ended when its last pod left, and its outcome is that pod's."""
        gone = [found for found in self._open.values() if not found.on and now >= found.last + LINGER]
        for found in gone:
            del self._open[found.run.application]
            found.run.ended = found.last
            found.run.steps = thinned(found.run.steps)
        if gone:
            over = {id(found) for found in gone}
            self._untold = {uid: left for uid, left in self._untold.items() if id(left[0]) not in over}
        return [found.run for found in gone]

    def changed(self) -> list[Run]:
        """Return the runs under way that have changed since this was asked last; they are not to be changed."""
        found = [one for one in self._open.values() if one.changed]
        for one in found:
            one.changed = False
        return [one.run for one in found]

    def change_all(self) -> None:
        """Count all runs under way as changed."""
        for one in self._open.values():
            one.changed = True

    def under_way(self) -> set[str]:
        """Return the applications that have a run under way."""
        return set(self._open)


def thinned(steps: Sequence[Step], most: int = MOST_STEPS) -> list[Step]:
    """Return steps of which there are ``most`` at the most, and the last is the last: intervals become longer until that is so."""
    found, length = list(steps), FINEST
    while len(found) > most:
        found = list(_at_intervals(steps, length))
        length *= 2
    return found


def _at_intervals(steps: Sequence[Step], length: float) -> Iterable[Step]:
    """Yield steps at least ``length`` apart, each with what was used at the most until the next; the last as it is."""
    first, peak, now = steps[0], steps[0], steps[0]
    for step in steps[1:-1]:
        if step.at < first.at + length:
            peak, now = _most(peak, step), step
            continue
        yield peak
        if step.at > first.at + length and (now.amounts, now.pods) != (peak.amounts, peak.pods):
            yield now._replace(at=first.at + length)
        first = peak = now = step
    yield peak
    if len(steps) > 1:
        yield steps[-1]


def _most(one: Step, other: Step) -> Step:
    amounts = {name: max(one.amounts.get(name, 0), other.amounts.get(name, 0)) for name in {**one.amounts, **other.amounts}}
    return Step(one.at, amounts, max(one.pods, other.pods), other.ended)


def used(steps: Sequence[Step], ended: float) -> Mapping[str, float]:
    """Return how much was used over time: amount times seconds by resource type."""
    total: dict[str, float] = {}
    for step, until in zip(steps, [*(step.at for step in steps[1:]), ended], strict=True):
        for name, value in step.amounts.items():
            total[name] = total.get(name, 0.0) + value * max(0.0, until - step.at)
    return total
