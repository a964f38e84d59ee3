"""PodGroups of other systems: found by discovery, watched while the API server has them."""

import asyncio
import logging
from collections.abc import Callable

from treadle.core.events import Event, PodGroupGone, PodGroupSeen, PodGroupsServed
from treadle.core.model.gangs import SOURCES
from treadle.kube import wire
from treadle.kube.errors import KubeError
from treadle.kube.pod_groups import RESOURCE, VERSIONS, pod_group
from treadle.kube.reflector import Change, Reflector
from treadle.kube.transport import Client

log = logging.getLogger(__name__)

LOOK_EVERY = 30.0
"""Seconds between two looks for kinds that the server does not have."""
ASK_AGAIN = 2.0
"""Seconds after which a question is asked again that got no answer, and between two looks at a watch."""


class PodGroups:
    """Tells ``put`` of the PodGroups of each system, and whether there are any such objects; ``every`` is how often that is asked."""

    def __init__(self, client: Client, put: Callable[[Event], None], every: float = LOOK_EVERY) -> None:
        self.watches: dict[str, Reflector[wire.PodGroup]] = {}
        """The watch of each system whose kind is served."""
        self._client, self._put, self._every = client, put, every

    async def run(self) -> None:
        """Look for the kinds, and watch them, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for source in SOURCES:
                group.create_task(self._follow(source), name=f"pod-groups-{source}")

    async def _follow(self, source: str) -> None:
        while True:
            try:
                served = await self._served(source)
            except KubeError as error:
                log.info("asking for PodGroups of %s: %s", source, error)
                await asyncio.sleep(ASK_AGAIN)
                continue
            if served:
                log.info("PodGroups of %s are watched: %s", source, served)
                await self._watch(source, served)
            self._put(PodGroupsServed(source, served=False))
            await asyncio.sleep(self._every)

    async def _served(self, source: str) -> str:
        """Return the group and version at which a system's PodGroups are served, empty if they are not. Raises ``KubeError`` without an answer."""
        for version in VERSIONS[source]:
            answer = await self._client.request("GET", f"/apis/{version}")
            if answer.status == 200:
                if any(one.get("name") == RESOURCE for one in answer.json().get("resources") or ()):
                    return version
            elif answer.status != 404:
                raise answer.error()
        return ""

    async def _watch(self, source: str, version: str) -> None:
        """Watch a kind until the server does not know it any more."""
        known: dict[str, str] = {}

        def take(changes: list[tuple[Change, wire.PodGroup]]) -> None:
            for change, found in changes:
                meta = found.metadata
                name = f"{meta.namespace}/{meta.name}"
                if change != "DELETED":
                    known[name] = meta.uid
                    self._put(PodGroupSeen(pod_group(source, found)))
                elif known.get(name) == meta.uid:  # else a namesake is there by now
                    del known[name]
                    self._put(PodGroupGone(source, name))

        watch = self.watches[source] = Reflector(self._client, f"/apis/{version}/{RESOURCE}", wire.PodGroup, take)
        running = asyncio.ensure_future(watch.run())
        told = False
        try:
            while not running.done() and not await self._is_gone(source, version, watch):
                if watch.synced.is_set() and not told:
                    told = True
                    self._put(PodGroupsServed(source, served=True))
                synced = asyncio.ensure_future(watch.synced.wait())
                await asyncio.wait(
                    [running] if told else [running, synced], timeout=ASK_AGAIN, return_when=asyncio.FIRST_COMPLETED
                )
                synced.cancel()
        finally:
            running.cancel()
            self.watches.pop(source, None)

    async def _is_gone(self, source: str, version: str, watch: Reflector[wire.PodGroup]) -> bool:
        """Whether the server does not know a kind any more; where it does not answer it may."""
        try:
            return watch.missing and await self._served(source) != version
        except KubeError:
            return False
