"""PodGroups of other systems: found by discovery, watched while the API server has them."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from treadle.core.events import Event, PodGroupGone, PodGroupSeen, PodGroupsServed
from treadle.core.model.gangs import SOURCES
from treadle.kube import wire
from treadle.kube.pod_groups import RESOURCE, VERSIONS, group_of_ended, pod_group
from treadle.kube.reflector import Change, Reflector
from treadle.kube.transport import Client
from treadle.runtime.discovered import LOOK_EVERY, Discovered
from treadle.runtime.group_statuses import GroupStatuses

SUCCEEDED_PODS = {"fieldSelector": "status.phase=Succeeded"}


class PodGroups:
    """Tells ``put`` of the PodGroups of each system, and whether there are any such objects; ``every`` is how often that is asked."""

    def __init__(
        self, client: Client, put: Callable[[Event], None], every: float = LOOK_EVERY, statuses: GroupStatuses | None = None
    ) -> None:
        self._put = put
        self.statuses = statuses
        """Writes what becomes of them into their status; None: nobody does."""
        self.succeeded: Reflector[wire.EndedPod] = Reflector(
            client, "/api/v1/pods", wire.EndedPod, lambda changes: self.take_ended(changes, succeeded=True), SUCCEEDED_PODS
        )
        self.ended: Callable[[str, bool], None] | None = None
        """Who is told of each pod that ended by itself, by its uid, and whether it succeeded; None: nobody asks. A pod may be told more than once."""
        self.take: Callable[..., None] | None = None
        """Who is told of all pods that have ended by themselves, as ``take_ended`` is; None: nobody asks."""
        self.failed: asyncio.Event | None = None
        """Set when the pods that have failed have been told; None: nobody tells of them."""
        if statuses is not None:
            statuses.ends_known = lambda: self.succeeded.synced.is_set() and (self.failed is None or self.failed.is_set())
        self.kinds = {
            source: Discovered(
                client,
                f"PodGroups of {source}",
                VERSIONS[source],
                RESOURCE,
                wire.PodGroup,
                partial(self._take, source),
                partial(self._told, source),
                every,
            )
            for source in SOURCES
        }

    async def run(self) -> None:
        """Look for the kinds, and watch them, until cancelled."""
        async with asyncio.TaskGroup() as group:
            if self.statuses is not None or self.ended is not None:
                group.create_task(self._watch_ends(), name="succeeded-pods")
            for source, kind in self.kinds.items():
                group.create_task(kind.run(), name=f"pod-groups-{source}")

    async def _watch_ends(self) -> None:
        """Watch the pods that have succeeded, from when somebody asks for all of them, or there are groups whose status tells of them."""
        if self.ended is None and self.statuses is not None:
            await self.statuses.ends_matter.wait()
        await self.succeeded.run()

    def take_ended(self, changes: Sequence[tuple[Change, wire.Pod | wire.EndedPod]], *, succeeded: bool) -> None:
        """Tell of pods that have ended by themselves, and take note of those in a PodGroup."""
        if self.take is not None:
            self.take(changes, succeeded=succeeded)
        for change, pod in changes:
            if self.ended is not None and change != "DELETED" and pod.metadata.deletion_timestamp is None:
                self.ended(pod.metadata.uid, succeeded)
            group = group_of_ended(pod) if self.statuses is not None else None
            if group is None or self.statuses is None or pod.spec is None:
                continue
            if change == "DELETED":
                self.statuses.removed(pod.metadata.uid, group)
            else:
                self.statuses.ended(pod.metadata.uid, group, pod.spec.scheduler_name, succeeded=succeeded)

    def _take(self, source: str, change: Change, found: wire.PodGroup) -> None:
        identity = f"{found.metadata.namespace}/{found.metadata.name}"
        if change == "DELETED":
            self._put(PodGroupGone(source, identity))
            if self.statuses is not None:
                self.statuses.gone(source, identity)
            return
        self._put(PodGroupSeen(pod_group(source, found)))
        if self.statuses is not None:
            kind = self.kinds[source]
            self.statuses.see(source, kind.version, kind.status_apart, found)

    def _told(self, source: str, served: bool, trouble: str) -> None:
        if not served and not trouble and self.statuses is not None:
            self.statuses.forget(source)
        if not trouble:  # those that cannot be listed may be there
            self._put(PodGroupsServed(source, served=served))
