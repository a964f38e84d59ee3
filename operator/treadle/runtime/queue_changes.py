"""Changes of several Queues at once as a part of a running Treadle: every copy takes them, and the leader takes back those whose process has died."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING

from treadle.changes.callers import client_of
from treadle.changes.execution import Healer
from treadle.changes.log import Log
from treadle.kube.errors import KubeError
from treadle.rest import configuration, queue_changes
from treadle.rest.changing import Changing

if TYPE_CHECKING:
    from collections.abc import Callable

    from aiohttp import web

    from treadle.kube.auth import Access
    from treadle.kube.transport import Client
    from treadle.rest.serving import Door

log = logging.getLogger(__name__)

EVERY = 10.0
"""Seconds between two looks at the log."""


class QueueChanges:
    """The log of changes, in a ConfigMap, and who looks after it. ``problem`` says what is wrong, empty if all is well."""

    def __init__(self, client: Client, access: Access, scheduler: str, namespace: str, name: str) -> None:
        self.problem = ""
        self._client, self._access, self._scheduler = client, access, scheduler
        self._log = Log(client, namespace, name, time.time)

    def routes(self, door: Door) -> list[web.RouteDef]:
        """Return the routes of both forms of changes."""
        changing = Changing(lambda token: client_of(self._access, token), self._log, self._scheduler)
        return [*configuration.routes(door, changing), *queue_changes.routes(door, changing)]

    async def run(self, may_write: Callable[[], bool]) -> None:
        """Take back what was not finished until cancelled, while ``may_write``. What could not be taken back is told until the process ends."""
        left, healer = "", Healer(self._client, self._log)
        while True:
            if not may_write():
                healer.forget()
            else:
                try:
                    found = await healer.heal()
                    problem = left = found or left
                except KubeError as error:
                    problem = f"whether changes of queues were not finished cannot be seen: {error}"
                if problem and problem != self.problem:
                    log.warning("%s", problem)
                self.problem = problem
            await asyncio.sleep(EVERY)
