"""Asks from time to time what nodes and pods use, while the Scheduler's settings want to know, and tells the core what is new."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from treadle.core.events import NodeSampled, PodSampled, UsageKnown
from treadle.core.model.opportunistic import AGENT, KUBELETS, METRICS, PROMETHEUS
from treadle.usage.agents import Agents
from treadle.usage.kubelets import Kubelets
from treadle.usage.metrics_api import MetricsApi
from treadle.usage.prometheus import Prometheus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from treadle.core.events import Event
    from treadle.core.model.opportunistic import AgentSettings, OpportunisticSettings, PrometheusSettings
    from treadle.core.views.view import View
    from treadle.kube.transport import Client
    from treadle.usage.credentials import Credentials
    from treadle.usage.source import NodeUse, PodUse, Source

log = logging.getLogger(__name__)

Use = TypeVar("Use", "NodeUse", "PodUse")
FEW = 1000
"""Times of samples that are kept of whoever is not told of any more."""
LEAST = 0.5
PARTS_OF_AGE = 4
"""How often it is asked at least before a sample is old."""
IDLE = 1.0
"""Seconds between two looks at whether anybody wants to know."""
SAYS = {METRICS: "metrics.k8s.io", KUBELETS: "kubelets", PROMETHEUS: "Prometheus", AGENT: "node agents"}


class _Chosen(NamedTuple):
    """What makes a source another one."""

    source: str
    prometheus: PrometheusSettings | None
    agent: AgentSettings
    old_after: float

    @classmethod
    def of(cls, settings: OpportunisticSettings) -> _Chosen:
        return cls(settings.source, settings.prometheus, settings.agent, settings.old_after)


class UsageSource:
    """Asks whom the settings name. A standby asks as well, so that it knows when it begins to lead.

    ``client`` is one of its own: kubelets that are slow keep nobody else's connections. ``namespace`` is that of the scheduler, ``credentials`` are for a Prometheus.
    """

    def __init__(
        self,
        client: Client,
        view: Callable[[], View],
        put: Callable[[Event], None],
        namespace: str = "",
        credentials: Credentials | None = None,
    ) -> None:
        self._credentials = credentials
        self.samples = 0
        """Samples of nodes that were new."""
        self._client, self._view, self._put, self._namespace = client, view, put, namespace
        self._told: tuple[bool, str] | None = None
        self._of_nodes: dict[str, float] = {}
        self._of_pods: dict[str, float] = {}
        """The time of the newest sample of each node and pod, as it was told."""
        self._chosen: _Chosen | None = None
        self._source: Source | None = None

    async def run(self) -> None:
        """Ask until cancelled, while the settings want to know."""
        try:
            while True:
                settings = self._view().usage_source
                await self._choose(settings)
                if self._source is None:
                    await asyncio.sleep(IDLE)
                    continue
                try:
                    await self.look(self._source)
                except Exception:
                    log.exception("samples of nodes could not be read")
                    who = SAYS[settings.source]
                    self._tell(known=False, trouble=f"the answer of {who} cannot be read; the log has the error")
                await self._rest(settings)
        finally:
            await self.close()

    @property
    def requests(self) -> Mapping[tuple[str, str, int], int]:
        """Answers of the API server by (pool, method, status)."""
        return self._client.requests

    async def close(self) -> None:
        """Give up connections."""
        if self._source is not None:
            await self._source.close()
        self._source = self._chosen = None

    async def look(self, source: Source) -> None:
        """Ask once, and tell what is new."""
        found = await source.look(self._view().usage_wanted())
        self._tell(known=not found.trouble, trouble=found.trouble or found.partly)
        ahead = time.time() - time.monotonic()
        for pod in _new(found.pods, self._of_pods, lambda one: one.uid):
            self._put(PodSampled(pod.uid, pod.usage, pod.at - ahead, pod.window))
        for one in _new(found.nodes, self._of_nodes, lambda one: one.node):
            self.samples += 1
            self._put(NodeSampled(one.node, one.usage, one.at - ahead, one.window, one.pressure))

    async def _choose(self, settings: OpportunisticSettings) -> None:
        """See to it that the source is the one that the settings name."""
        chosen = _Chosen.of(settings) if settings.by_usage else None
        if chosen == self._chosen:
            return
        await self.close()
        self._told = None
        self._of_nodes.clear()
        self._of_pods.clear()
        if chosen is not None:
            self._source = self._make(settings)
        self._chosen = chosen

    def _make(self, settings: OpportunisticSettings) -> Source:
        match settings.source:
            case "Kubelets":
                return Kubelets(self._client, settings.old_after)
            case "Prometheus":
                assert settings.prometheus is not None
                return Prometheus(settings.prometheus, settings.old_after, self._credentials)
            case "Agent":
                return Agents(self._client, settings.agent, self._namespace, settings.old_after)
            case _:
                return MetricsApi(self._client)

    async def _rest(self, settings: OpportunisticSettings) -> None:
        """Wait until it is time to ask again, or the settings are others."""
        left = max(LEAST, min(settings.every, settings.old_after / PARTS_OF_AGE))
        while True:
            await asyncio.sleep(min(left, IDLE))
            left -= IDLE
            if left <= 0 or self._view().usage_source != settings:
                return

    def _tell(self, *, known: bool, trouble: str = "") -> None:
        if self._told != (known, trouble):
            if trouble:
                log.warning("it cannot be had what %s: %s", "some nodes use" if known else "nodes use", trouble)
            self._told = known, trouble
            self._put(UsageKnown(known, trouble))


def _new(found: Iterable[Use], told: dict[str, float], whose: Callable[[Use], str]) -> list[Use]:
    """Return the samples that are newer than those that were ``told``, which is brought up to date: it knows those that were told of last.

    One told of that lies in the future is of a clock that was ahead: when that was set right, what it says is news.
    """
    now = time.time()
    new = [one for one in found if math.isfinite(one.at) and _is_news(one.at, told.get(whose(one), float("-inf")), now)]
    told.update((whose(one), one.at) for one in new)
    if len(told) > 2 * len(new) + FEW:
        here = {whose(one) for one in found}
        for gone in told.keys() - here:
            del told[gone]
    return new


def _is_news(at: float, told: float, now: float) -> bool:
    return at > told or (at < told and told > now)
