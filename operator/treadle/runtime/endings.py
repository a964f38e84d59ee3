"""What became of the pods of Applications: how many succeeded and failed, and whether an Application is over, and how.

YARN's ResourceManager learns that from the ApplicationMaster. Here the pods say it: an Application is over when it has had no pod for ``SETTLED`` seconds, and ended as its master did, or, where
none is marked as one, as the pod that ended last. One that is over comes to life again with its next pod.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from treadle.api.labels import application_of, role_of

if TYPE_CHECKING:
    from treadle.controllers.ledger import Entry
    from treadle.core.views.view import View
    from treadle.kube import wire
    from treadle.kube.reflector import Change

SETTLED: Final = 30.0
"""Seconds without a pod after which an Application is over: a Job makes the next one within a few, and tries again after ten."""
OVER: Final = frozenset({"Finished", "Failed"})


MOST_WITHOUT_OBJECT: Final = 1_000
"""Applications whose counts are kept although they may have no object, before it is looked which have none."""


@dataclass(slots=True)
class _Counted:
    """An Application's pods that have ended, as this process has seen them; ``before`` is what was written of others when it began to lead, None until then. ``uid`` is that of the object."""

    uid: str = ""
    succeeded: int = 0
    failed: int = 0
    latest: float = float("-inf")
    """When the pod was made that ended last; of those that had ended before we looked it is the only order there is."""
    outcome: str = ""
    master: str = ""
    before: tuple[int, int] | None = None
    told: dict[str, bool] = field(default_factory=dict)
    """The pods that are counted and not deleted yet, by uid, and whether they succeeded: a list tells of them again."""
    quiet_since: float | None = None


class Endings:
    """Counts, and says for a status what is known. ``known`` says whether all pods that have ended have been told once, ``has_object`` whether an application has one; ``wanted`` is called while somebody wants to know."""

    def __init__(
        self,
        view: Callable[[], View],
        known: Callable[[], bool],
        has_object: Callable[[str], bool],
        wanted: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._view, self._known, self._has_object, self._wanted, self._clock = view, known, has_object, wanted, clock
        self._of: dict[str, _Counted] = {}
        self._prune_at = MOST_WITHOUT_OBJECT

    def take(self, changes: Sequence[tuple[Change, wire.Pod | wire.EndedPod]], *, succeeded: bool) -> None:
        """Take in pods that have ended by themselves, or were deleted after that."""
        names = frozenset(self._view().names)
        for change, pod in changes:
            meta = pod.metadata
            if pod.spec is None or pod.spec.scheduler_name not in names:
                continue
            name = application_of(meta.labels, meta.annotations, None, meta.name)
            identity = f"{meta.namespace}/{name}"
            found = self._of.get(identity)
            if change == "DELETED":
                if found is not None:
                    found.told.pop(meta.uid, None)
                continue
            if "/" in name or meta.deletion_timestamp is not None:
                continue  # an implicit one, which has no object; or a pod that was stopped, and did not end by itself
            if found is None:
                found = self._of[identity] = _Counted()
            if meta.uid in found.told:
                continue
            found.told[meta.uid] = succeeded
            found.succeeded += succeeded
            found.failed += not succeeded
            made = meta.creation_timestamp.timestamp() if meta.creation_timestamp is not None else 0.0
            outcome = "Finished" if succeeded else "Failed"
            if self._known() or made >= found.latest:
                found.latest, found.outcome = max(made, found.latest), outcome
            if role_of(meta.labels, meta.annotations) == "master":
                found.master = outcome
        if len(self._of) > self._prune_at:
            self._of = {identity: one for identity, one in self._of.items() if one.told or self._has_object(identity)}
            self._prune_at = 2 * len(self._of) + MOST_WITHOUT_OBJECT

    def led(self) -> None:
        """Go by what is written, with this process's own counts from now on: it has begun to lead, or does not lead any more."""
        for one in self._of.values():
            one.before = one.quiet_since = None

    def status(self, entry: Entry) -> dict[str, Any]:
        """Return what is known of an Application as its status says it: ``succeeded`` and ``failed`` pods, and the ``phase``, None while it is not over."""
        self._wanted()
        before, identity = entry.status.get("pods") or {}, f"{entry.namespace}/{entry.name}"
        written = before.get("succeeded") or 0, before.get("failed") or 0
        if not self._known():
            return {"succeeded": written[0] or None, "failed": written[1] or None, "phase": self._standing(entry)}
        found = self._of.setdefault(identity, _Counted())
        if found.uid and found.uid != entry.uid:  # another object of the name, to which pods that are still there belong now
            ended = list(found.told.values())
            found.succeeded, found.failed, found.before = sum(ended), len(ended) - sum(ended), None
        found.uid = entry.uid
        if found.before is None:
            found.before = max(0, written[0] - found.succeeded), max(0, written[1] - found.failed)
        counts = found.before[0] + found.succeeded, found.before[1] + found.failed
        told = {"succeeded": counts[0] or None, "failed": counts[1] or None}
        live = self._view().application(identity)
        if live is not None and (live.bound_pods or live.waiting_pods or live.obstacle is not None):
            found.quiet_since = None
            return {**told, "phase": None}
        now = self._clock()
        if found.quiet_since is None:
            found.quiet_since = now
        over = now >= found.quiet_since + SETTLED and (found.master or found.outcome)
        return {**told, "phase": over or self._standing(entry)}

    @staticmethod
    def _standing(entry: Entry) -> str | None:
        """The phase that is written, if it is that of an Application that is over."""
        phase = entry.status.get("phase")
        return phase if phase in OVER else None
