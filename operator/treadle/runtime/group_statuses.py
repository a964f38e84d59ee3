"""Writing the status of other systems' PodGroups: all of them looked at every few seconds, only differences written, each seldom."""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from typing import Any

from treadle.core.model.gangs import PLUGINS, VOLCANO
from treadle.core.views.pod_groups import PodGroupFigures
from treadle.core.views.view import View
from treadle.kube import pod_group_status, wire
from treadle.kube.patcher import Patcher, Write
from treadle.kube.pod_groups import RESOURCE

log = logging.getLogger(__name__)

EVERY = 2.0
"""Seconds between two looks."""
SETTLED = 5.0
"""Seconds for which a group is left alone when a pod of it has left the watch of those that live: another watch tells what became of it."""
APART = 10.0
"""Seconds between two writes to one object because only numbers or words have changed; who else writes the status of PodGroups is not fought more often."""
PER_LOOK = 50
"""Objects that are written with one look at the most, those first that were written longest ago."""
VOLCANO_NAME = "volcano"
"""The scheduler that Volcano's groups are meant for while they have no pods, which name one."""

TELL_OF_ENDS = {VOLCANO, PLUGINS}
"""The systems whose status tells of pods that have ended."""

Key = tuple[str, str]


@dataclass(slots=True)
class Seen:
    """A PodGroup object as last seen: where its status is written, at which version, and what it says."""

    path: str
    version: str
    served: str
    generation: int
    status: dict[str, Any]
    written_at: float = float("-inf")
    sent: dict[str, Any] = field(default_factory=dict)
    """What was last written and has not been seen."""
    said: tuple[Any, ...] = ()
    """The phase, and the status of each condition, that were last written: another one is written at once."""


class GroupStatuses:
    """Compares what the status of each PodGroup should be with what it is."""

    def __init__(
        self, view: Callable[[], View], patcher: Patcher, every: float = EVERY, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._view, self._patcher, self._every, self._clock = view, patcher, every, clock
        self._seen: dict[Key, Seen] = {}
        self._running: dict[str, None] = {}
        """The pods of PodGroups that run, by uid."""
        self._live: dict[str, Key] = {}
        """The groups of pods that have not ended, by the uid of the pod."""
        self._ended: dict[Key, dict[str, tuple[bool, str]]] = {}
        """Of each group the pods that have ended, by uid: whether they succeeded, and whose they were."""
        self._unsettled: dict[Key, float] = {}
        """Groups a pod of which has left, and until when it is open what became of it."""
        self.ends_known: Callable[[], bool] = lambda: True
        """Whether all pods that have ended have been told."""
        self.ends_matter = asyncio.Event()
        """Set when there are groups whose status tells of pods that have ended."""

    def see(self, source: str, version: str, subresource: bool, found: wire.PodGroup) -> None:
        """Take note of an object; ``subresource``: its status is written apart from it."""
        meta = found.metadata
        path = f"/apis/{version}/namespaces/{meta.namespace}/{RESOURCE}/{meta.name}"
        before = self._seen.get((source, f"{meta.namespace}/{meta.name}"))
        made = Seen(
            f"{path}/status" if subresource else path, meta.resource_version, version, meta.generation, dict(found.status or {})
        )
        if before is not None:
            made.written_at, made.said = before.written_at, before.said
        self._seen[source, f"{meta.namespace}/{meta.name}"] = made
        if source in TELL_OF_ENDS:
            self.ends_matter.set()

    def gone(self, source: str, identity: str) -> None:
        """Forget an object."""
        self._seen.pop((source, identity), None)

    def forget(self, source: str) -> None:
        """Forget all objects of a system, whose kind has gone."""
        self._seen = {key: seen for key, seen in self._seen.items() if key[0] != source}

    def pod(self, uid: str, group: Key, *, runs: bool) -> None:
        """Take note of a pod of a PodGroup (system, and namespace and name) that has not ended, and whether it runs."""
        self._live[uid] = group
        if runs:
            self._running[uid] = None
        else:
            self._running.pop(uid, None)

    def left(self, uid: str) -> None:
        """Take note that a pod has ended, or is no more."""
        self._running.pop(uid, None)
        group = self._live.pop(uid, None)
        if group is not None and group[0] in TELL_OF_ENDS:
            self._unsettled[group] = self._clock() + SETTLED

    def ended(self, uid: str, group: Key, scheduler: str, *, succeeded: bool) -> None:
        """Take note of what became of a pod of a PodGroup."""
        if group[0] in TELL_OF_ENDS:
            self._ended.setdefault(group, {})[uid] = succeeded, scheduler

    def removed(self, uid: str, group: Key) -> None:
        """Take note that a pod that had ended is no more."""
        of_group = self._ended.get(group, {})
        of_group.pop(uid, None)
        if not of_group:
            self._ended.pop(group, None)

    async def run(self, may_write: Callable[[], bool]) -> None:
        """Write until cancelled, while ``may_write``."""
        while True:
            await asyncio.sleep(self._every)
            if self._seen and may_write():
                try:
                    self.write()
                except Exception:
                    log.exception("the status of PodGroups could not be computed")

    def write(self) -> int:
        """Queue a patch for each object whose status is out of date and return how many there were."""
        view, clock = self._view(), self._clock()
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        due: list[tuple[float, Key, Seen, dict[str, Any], tuple[Any, ...]]] = []
        names = view.names
        for group in view.pod_groups():
            key = (group.source, group.id)
            seen = self._seen.get(key)
            ended = any(scheduler in names for _, scheduler in self._ended.get(key, {}).values())
            if seen is None or not (group.pods or ended or (group.source == VOLCANO and VOLCANO_NAME in names)):
                continue
            if group.source in TELL_OF_ENDS and not self._is_settled(key, clock):
                continue
            new = self._wanted(group, seen, now)
            patch, said = pod_group_status.changes(seen.status, new), _said(new)
            if patch and patch != seen.sent and (said != seen.said or clock >= seen.written_at + APART):
                due.append((seen.written_at, key, seen, patch, said))
        due.sort(key=lambda one: one[:2])
        for _, key, seen, patch, said in due[:PER_LOOK]:
            seen.written_at, seen.sent, seen.said = clock, patch, said
            body = {"metadata": {"resourceVersion": seen.version}, "status": patch}
            self._patcher.submit(f"group/{key[0]}/{key[1]}", Write(seen.path, body, done=partial(self._done, key)))
        return len(due[:PER_LOOK])

    def _is_settled(self, key: Key, clock: float) -> bool:
        """Whether it is known what became of all pods of a group that have left."""
        if not self.ends_known() or clock < self._unsettled.get(key, clock):
            return False
        self._unsettled.pop(key, None)
        return True

    def _wanted(self, group: PodGroupFigures, seen: Seen, now: str) -> dict[str, Any]:
        running = sum(uid in self._running for uid in group.on_nodes)
        names = self._view().names
        ends = [good for good, scheduler in self._ended.get((group.source, group.id), {}).values() if scheduler in names]
        of = pod_group_status.Group(
            group.minimum, group.pods, len(group.on_nodes), running, group.waits, sum(ends), len(ends) - sum(ends)
        )
        return pod_group_status.wanted(group.source, seen.served, of, seen.status, seen.generation, now) or {}

    def _done(self, key: Key, code: int) -> None:
        """Write it again with the next look, at the version that is known then, where it was not taken."""
        seen = self._seen.get(key)
        if code >= HTTPStatus.MULTIPLE_CHOICES and seen is not None:
            seen.sent, seen.said = {}, ()


def _said(new: dict[str, Any]) -> tuple[Any, ...]:
    """Return what of a status is more than numbers and words."""
    return (new.get("phase"), *((one["type"], one["status"]) for one in new.get("conditions") or ()))
