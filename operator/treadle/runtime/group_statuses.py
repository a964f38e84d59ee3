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

from treadle.core.model.gangs import VOLCANO
from treadle.core.views.pod_groups import PodGroupFigures
from treadle.core.views.view import View
from treadle.kube import pod_group_status, wire
from treadle.kube.patcher import Patcher, Write
from treadle.kube.pod_groups import RESOURCE

log = logging.getLogger(__name__)

EVERY = 2.0
"""Seconds between two looks."""
APART = 10.0
"""Seconds between two writes to one object because only numbers or words have changed; who else writes the status of PodGroups is not fought more often."""
PER_LOOK = 50
"""Objects that are written with one look at the most, those first that were written longest ago."""
VOLCANO_NAME = "volcano"
"""The scheduler that Volcano's groups are meant for while they have no pods, which name one."""

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

    def gone(self, source: str, identity: str) -> None:
        """Forget an object."""
        self._seen.pop((source, identity), None)

    def forget(self, source: str) -> None:
        """Forget all objects of a system, whose kind has gone."""
        self._seen = {key: seen for key, seen in self._seen.items() if key[0] != source}

    def pod(self, uid: str, *, runs: bool) -> None:
        """Take note of whether a pod of a PodGroup runs."""
        if runs:
            self._running[uid] = None
        else:
            self._running.pop(uid, None)

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
            if seen is None or not (group.pods or (group.source == VOLCANO and VOLCANO_NAME in names)):
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

    def _wanted(self, group: PodGroupFigures, seen: Seen, now: str) -> dict[str, Any]:
        running = sum(uid in self._running for uid in group.on_nodes)
        of = pod_group_status.Group(group.minimum, group.pods, len(group.on_nodes), running, group.waits)
        return pod_group_status.wanted(group.source, seen.served, of, seen.status, seen.generation, now) or {}

    def _done(self, key: Key, code: int) -> None:
        """Write it again with the next look, at the version that is known then, where it was not taken."""
        seen = self._seen.get(key)
        if code >= HTTPStatus.MULTIPLE_CHOICES and seen is not None:
            seen.sent, seen.said = {}, ()


def _said(new: dict[str, Any]) -> tuple[Any, ...]:
    """Return what of a status is more than numbers and words."""
    return (new.get("phase"), *((one["type"], one["status"]) for one in new.get("conditions") or ()))
