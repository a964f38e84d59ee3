"""What nodes use, as a Prometheus tells it: an instant query for each resource, whose series have the name of a node in a label.

The time of an answer is that of its evaluation, and Prometheus takes a series for five minutes after its last value. So that a target that is gone is not taken for one that is
idle, it is asked to look back no further than for half of the age at which samples are old (``lookback_delta``), and what it says counts as old as that.
"""

from __future__ import annotations

import asyncio
import math
import ssl
from typing import TYPE_CHECKING, Any

import msgspec

from treadle.kube.auth import Access
from treadle.kube.errors import KubeError
from treadle.kube.transport import Client
from treadle.kube.wire import Wire
from treadle.usage.many import Failed
from treadle.usage.source import Look, NodeUse

if TYPE_CHECKING:
    from treadle.core.model.opportunistic import PrometheusSettings
    from treadle.core.views.opportunistic import Wanted
    from treadle.usage.credentials import Credentials

PATH = "/api/v1/query"
FIELDS = {"cpu": "cpuQuery", "memory": "memoryQuery"}
_UNITS = {"cpu": 1000, "memory": 1}
_FIELD = "spec.opportunistic.usage.prometheus"
_WORDS = 200
_MOST = 2.0**62
NAMED = 3


class _Series(Wire):
    metric: dict[str, str] = msgspec.field(default_factory=dict)
    value: tuple[float, str] | None = None


class _Data(Wire):
    result_type: str = msgspec.field(default="", name="resultType")
    result: msgspec.Raw = msgspec.field(default_factory=lambda: msgspec.Raw(b"null"))


class _Answer(Wire):
    status: str = ""
    error: str = ""
    data: _Data = msgspec.field(default_factory=_Data)


class Prometheus:
    """Asks a Prometheus; ``old_after`` is after how many seconds a sample is old. ``credentials`` are sent if they are for it."""

    def __init__(self, settings: PrometheusSettings, old_after: float, credentials: Credentials | None = None) -> None:
        self._settings = settings
        self._kept_back = credentials is not None and not credentials.are_for(settings.url)
        self._credentials = None if self._kept_back else credentials
        self._headers: dict[str, str] = {}
        self._back = max(1.0, old_after / 2)
        tls = ssl.create_default_context(cadata=settings.authorities or None) if settings.url.startswith("https") else None
        self._client = Client(Access(settings.url, tls, headers=lambda: self._headers), timeout=settings.timeout)

    async def look(self, wanted: Wanted) -> Look:
        """Ask once. What cannot be had of one resource is unknown of all nodes, and so nothing is told."""
        try:
            self._headers = {} if self._credentials is None else await asyncio.to_thread(self._credentials.headers)
        except Failed as error:
            return Look(trouble=f"{_FIELD}: the scheduler's credentials: {str(error)[:_WORDS]}")
        known = frozenset(wanted.nodes)
        by_node: dict[str, dict[str, tuple[int, float]]] = {}
        strange: dict[str, None] = {}
        for resource, query in self._settings.queries:
            try:
                series = await self._ask(query)
            except (Failed, KubeError) as error:
                return Look(trouble=f"{_FIELD}.{FIELDS[resource]}: {str(error)[:_WORDS]}")
            for one in series:
                name = one.metric.get(self._settings.node_label, "")
                if name not in known:
                    strange[name] = None
                elif (found := _amount(resource, one)) is not None:
                    before = by_node.setdefault(name, {}).get(resource)
                    if before is not None:
                        words = f"yields more than one value for node {name}: aggregate by {self._settings.node_label}"
                        return Look(trouble=f"{_FIELD}.{FIELDS[resource]}: {words}")
                    by_node[name][resource] = found
        nodes = []
        for name, values in by_node.items():
            if len(values) == len(self._settings.queries):  # of what is missing all may be used
                at = min(at for _, at in values.values()) - self._back
                usage = tuple((resource, value) for resource, (value, _) in values.items())
                nodes.append(NodeUse(name, usage, at, self._settings.window))
        return Look(nodes, partly=self._strange(strange, empty=not nodes))

    async def close(self) -> None:
        """Give up connections."""
        await self._client.close()

    async def _ask(self, query: str) -> list[_Series]:
        """Return what a query yields. Raises ``Failed`` and ``KubeError``."""
        params = {"query": query, "timeout": _duration(self._settings.timeout), "lookback_delta": _duration(self._back)}
        answer = await self._client.request("GET", PATH, params=params)
        if answer.status in {401, 403}:
            raise Failed(f"{answer.status}, {self._as_whom()}")
        try:
            found = msgspec.json.decode(answer.body, type=_Answer)
        except msgspec.DecodeError as error:
            raise Failed(f"{answer.status}, and the answer is not Prometheus': {str(error)[:_WORDS]}") from error
        if answer.status != 200 or found.status != "success":
            raise Failed(f"{answer.status} {found.error or 'without a word'}")
        if found.data.result_type != "vector":
            raise Failed(f"yields a {found.data.result_type[:20] or 'nothing'}; allowed is an instant vector")
        try:
            return msgspec.json.decode(found.data.result, type=list[_Series])
        except msgspec.DecodeError as error:
            raise Failed(f"the vector cannot be read: {str(error)[:_WORDS]}") from error

    def _as_whom(self) -> str:
        """Say as whom it was asked, for a server that does not let it in."""
        if self._kept_back:
            return "and nothing was sent to let it in: the scheduler's credentials are for another address"
        return "and nothing was sent to let it in" if self._credentials is None else "with the scheduler's credentials"

    def _strange(self, names: dict[str, None], *, empty: bool) -> str:
        if not names:
            return f"{_FIELD}: the queries yield nothing" if empty else ""
        some = ", ".join(repr(name[:63]) for name in sorted(names)[:NAMED])
        more = f", and {len(names) - NAMED} more" if len(names) > NAMED else ""
        return f"{_FIELD}.nodeLabel: {self._settings.node_label} has values that name no node: {some}{more}"


def _amount(resource: str, one: Any) -> tuple[int, float] | None:
    """Return (amount, time), None for what is no amount."""
    if one.value is None:
        return None
    at, text = one.value
    try:
        value = float(text) * _UNITS[resource]
    except ValueError:
        return None
    return (max(0, math.ceil(value)), at) if math.isfinite(value) and value < _MOST else None


def _duration(seconds: float) -> str:
    """Write a time as Prometheus reads it: it takes no fractions and no exponents beside a unit."""
    return f"{int(seconds)}s" if seconds == int(seconds) else f"{max(1, round(seconds * 1000))}ms"
