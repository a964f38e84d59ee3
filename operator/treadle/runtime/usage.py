"""Asks from time to time what nodes use, while the Scheduler's settings want to know, and tells the core what is new."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING

import msgspec

from treadle.core.events import NodeSampled, UsageKnown
from treadle.core.model.opportunistic import METRICS
from treadle.kube import node_metrics
from treadle.kube.errors import KubeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.core.events import Event
    from treadle.core.views.view import View
    from treadle.kube.transport import Client

log = logging.getLogger(__name__)

EVERY = 10.0
"""Seconds between two lists: metrics-server has a new sample of each node every 15 seconds."""
LEAST = 0.5
PARTS_OF_AGE = 4
"""How often it is asked at least before a sample is old."""
IDLE = 1.0
"""Seconds between two looks at whether anybody wants to know."""
TIMEOUT = 10.0


class UsageSource:
    """Lists the samples of nodes. A standby asks as well, so that it knows when it begins to lead."""

    def __init__(self, client: Client, view: Callable[[], View], put: Callable[[Event], None]) -> None:
        self.samples = 0
        """Samples that were new."""
        self._client, self._view, self._put = client, view, put
        self._told: tuple[bool, str] | None = None
        self._at: dict[str, float] = {}
        """The time of the newest sample of each node, as it was told."""

    async def run(self) -> None:
        """Ask until cancelled, while the settings want to know."""
        while True:
            settings = self._view().usage_source
            if settings.source != METRICS:
                self._told = None
                self._at.clear()
                await asyncio.sleep(IDLE)
                continue
            try:
                await self.look()
            except Exception:
                log.exception("samples of nodes could not be read")
                self._tell(known=False, trouble="what metrics.k8s.io answers cannot be read; the log has the error")
            await asyncio.sleep(max(LEAST, min(EVERY, settings.old_after / PARTS_OF_AGE)))

    async def look(self) -> None:
        """Ask once, and tell what is new."""
        try:
            answer = await self._client.request("GET", node_metrics.PATH, timeout=TIMEOUT)
        except KubeError as error:
            self._tell(known=False, trouble=f"there is no answer: {error}")
            return
        trouble = node_metrics.trouble(answer)
        if trouble:
            self._tell(known=False, trouble=trouble)
            return
        try:
            found = list(node_metrics.read(answer.body))
        except msgspec.DecodeError as error:
            self._tell(known=False, trouble=f"what metrics.k8s.io answers is no list of nodes: {str(error)[:100]}")
            return
        self._tell(known=True)
        ahead = time.time() - time.monotonic()
        for one in found:
            if one.at > self._at.get(one.node, float("-inf")):
                self.samples += 1
                self._put(NodeSampled(one.node, one.usage, one.at - ahead, one.window))
        self._at = {one.node: max(one.at, self._at.get(one.node, float("-inf"))) for one in found}

    def _tell(self, *, known: bool, trouble: str = "") -> None:
        if self._told != (known, trouble):
            if trouble:
                log.warning("it cannot be had what nodes use: %s", trouble)
            self._told = known, trouble
            self._put(UsageKnown(known, trouble))
