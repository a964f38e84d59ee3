"""Kinds that an API server may have or not: found by discovery, watched while they are there."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from treadle.kube.errors import KubeError
from treadle.kube.reflector import Change, Reflector
from treadle.kube.transport import Client
from treadle.kube.wire import PodGroup, ProvisioningRequest

log = logging.getLogger(__name__)

LOOK_EVERY = 30.0
"""Seconds between two looks for kinds that the server does not have."""
ASK_AGAIN = 2.0
"""Seconds after which a question is asked again that got no answer, and between two looks at a watch."""

T = TypeVar("T", bound=PodGroup | ProvisioningRequest)


class Discovered(Generic[T]):
    """Watches one kind, at the first of ``versions`` (group and version) that is served.

    ``take`` gets what changes, without the end of an object whose name another one has taken over. ``told`` gets whether the server has the kind, all objects of
    which have been taken then, and why they cannot be had, empty where it has no such kind; ``every`` is how often that is asked.
    """

    def __init__(
        self,
        client: Client,
        what: str,
        versions: Sequence[str],
        resource: str,
        kind: type[T],
        take: Callable[[Change, T], None],
        told: Callable[[bool, str], None],
        every: float = LOOK_EVERY,
    ) -> None:
        self.watch: Reflector[T] | None = None
        """The watch while the kind is served."""
        self.version = ""
        """The group and version at which it is served, empty while it is not."""
        self.status_apart = False
        """Whether the status of its objects is written apart from them."""
        self._client, self._what, self._versions, self._resource, self._kind = client, what, versions, resource, kind
        self._take, self._told, self._every = take, told, every

    async def run(self) -> None:
        """Look for the kind, and watch it, until cancelled."""
        while True:
            try:
                served = await self._served()
            except KubeError as error:
                log.info("asking for %s: %s", self._what, error)
                await asyncio.sleep(ASK_AGAIN)
                continue
            if served:
                log.info("%s are watched: %s", self._what, served)
                await self._follow(served)
            self._told(False, "")
            await asyncio.sleep(self._every)

    async def _served(self) -> str:
        """Return the group and version at which the kind is served, empty if it is not. Raises ``KubeError`` without an answer."""
        for version in self._versions:
            answer = await self._client.request("GET", f"/apis/{version}")
            if answer.status == 200:
                names = {one.get("name") for one in answer.json().get("resources") or ()}
                if self._resource in names:
                    self.status_apart = f"{self._resource}/status" in names
                    return version
            elif answer.status != 404:
                raise answer.error()
        return ""

    async def _follow(self, version: str) -> None:
        """Watch the kind until the server does not know it any more."""
        known: dict[str, str] = {}

        def take(changes: list[tuple[Change, Any]]) -> None:
            for change, found in changes:
                meta = found.metadata
                name = f"{meta.namespace}/{meta.name}"
                if change != "DELETED":
                    known[name] = meta.uid
                elif known.get(name) != meta.uid:  # a namesake is there by now
                    continue
                else:
                    del known[name]
                self._take(change, found)

        self.version = version
        watch = self.watch = Reflector(self._client, f"/apis/{version}/{self._resource}", self._kind, take)
        running = asyncio.ensure_future(watch.run())
        said: tuple[bool, str] = (False, "")
        try:
            while not running.done() and not await self._is_gone(version, watch):
                now = (True, "") if watch.synced.is_set() else (False, watch.problem)
                if now not in ((False, ""), said):
                    said = now
                    self._told(*now)
                synced = asyncio.ensure_future(watch.synced.wait())
                await asyncio.wait(
                    [running] if said[0] else [running, synced], timeout=ASK_AGAIN, return_when=asyncio.FIRST_COMPLETED
                )
                synced.cancel()
        finally:
            running.cancel()
            self.watch, self.version = None, ""

    async def _is_gone(self, version: str, watch: Reflector[T]) -> bool:
        """Whether the server does not know the kind any more; where it does not answer it may."""
        try:
            return watch.missing and await self._served() != version
        except KubeError:
            return False
