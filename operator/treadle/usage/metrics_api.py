"""What nodes and pods use, as ``metrics.k8s.io`` tells it: one list of all nodes and, where it is wanted, one of all pods, with the time and the window of each sample."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from treadle.core.errors import InvalidSpec
from treadle.core.units.resources import amount
from treadle.kube.errors import KubeError
from treadle.kube.wire import Wire
from treadle.usage.source import Look, NodeUse, PodUse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from treadle.core.views.opportunistic import Wanted
    from treadle.kube.transport import Client, Response
    from treadle.usage.source import Amounts

PATH = "/apis/metrics.k8s.io/v1beta1"
MEASURED = ("cpu", "memory")
_WORDS = 200
_PART = re.compile(r"([0-9]+(?:\.[0-9]*)?)(h|ms|m|us|µs|ns|s)", re.ASCII)
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
LONGEST_WINDOW = 3600.0
"""Seconds; who says more is not believed."""
TIMEOUT = 10.0


class _Metadata(Wire):
    name: str = ""
    namespace: str = ""


class _Container(Wire):
    usage: dict[str, str] = msgspec.field(default_factory=dict)


class _Metrics(Wire):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    timestamp: datetime | None = None
    window: str = ""
    usage: dict[str, str] = msgspec.field(default_factory=dict)
    containers: list[_Container] = msgspec.field(default_factory=list)


class _List(Wire):
    items: list[msgspec.Raw] = msgspec.field(default_factory=list)


class MetricsApi:
    """Lists samples of the API server that metrics-server, or whoever stands for it, is part of."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def look(self, wanted: Wanted) -> Look:
        """Ask once; pods are listed only if some are wanted."""
        nodes, trouble = await self._list("nodes")
        if trouble:
            return Look(trouble=trouble)
        pods, partly = await self._list("pods") if wanted.pods else (b"", "")
        try:
            found = list(read(nodes))
        except msgspec.DecodeError as error:
            return Look(trouble=f"what metrics.k8s.io answers is no list of nodes: {str(error)[:100]}")
        try:
            used = list(read_pods(pods, wanted.pods)) if pods else []
        except msgspec.DecodeError as error:
            used, partly = [], f"what metrics.k8s.io answers is no list of pods: {str(error)[:100]}"
        return Look(found, used, partly=partly)

    async def close(self) -> None:
        """There is nothing to give up: the client is not ours."""

    async def _list(self, what: str) -> tuple[bytes, str]:
        try:
            answer = await self._client.request("GET", f"{PATH}/{what}", timeout=TIMEOUT)
        except KubeError as error:
            return b"", f"there is no answer: {error}"
        why = trouble(answer, what)
        return (b"", why) if why else (answer.body, "")


def read(body: bytes) -> Iterator[NodeUse]:
    """Yield what is told of nodes; one of which something cannot be read is passed over. Raises ``msgspec.DecodeError`` where it is no list."""
    for one, at in _items(body):
        usage = _amounts(one.usage)
        if usage and one.metadata.name:
            yield NodeUse(one.metadata.name, usage, at, window_of(one.window))


def read_pods(body: bytes, wanted: Mapping[tuple[str, str], str]) -> Iterator[PodUse]:
    """Yield what is told of the pods that are wanted, the sum of their containers; others are passed over as nodes are. Raises ``msgspec.DecodeError``."""
    for one, at in _items(body):
        uid = wanted.get((one.metadata.namespace, one.metadata.name))
        parts = [_amounts(container.usage) for container in one.containers]
        if uid is None or None in parts or not parts:
            continue
        total: dict[str, int] = {}
        for name, value in (pair for part in parts if part for pair in part):
            total[name] = total.get(name, 0) + value
        yield PodUse(uid, tuple(total.items()), at, window_of(one.window))


def _items(body: bytes) -> Iterator[tuple[_Metrics, float]]:
    for raw in msgspec.json.decode(body, type=_List).items:
        try:
            one = msgspec.json.decode(raw, type=_Metrics)
        except msgspec.DecodeError:
            continue
        if one.timestamp is not None and one.timestamp.tzinfo is not None:
            yield one, one.timestamp.timestamp()


def _amounts(usage: dict[str, str]) -> Amounts | None:
    """Return what is measured; None where it cannot be read."""
    try:
        return tuple((name, max(0, amount(name, usage[name]))) for name in MEASURED if name in usage)
    except InvalidSpec:
        return None


def window_of(text: str) -> float:
    """Return a duration as Go writes it (``1m0.5s``) in seconds, 0 for what is none."""
    parts = _PART.findall(text)
    if "".join(number + unit for number, unit in parts) != text:
        return 0.0
    return min(sum(float(number) * _SECONDS[unit] for number, unit in parts), LONGEST_WINDOW)


def trouble(answer: Response, what: str = "nodes") -> str:
    """Return why an answer has no samples, empty if it has: what is missing, and what the server says."""
    if answer.status == 200:
        return ""
    said = f"{answer.status} {answer.error().message[:_WORDS]}".strip()
    if answer.status == 404:
        return f"the API server does not serve metrics.k8s.io/v1beta1 (metrics-server does): {said}"
    if answer.status in {401, 403}:
        return f"the right to list {what} of metrics.k8s.io is missing: {said}"
    return f"metrics.k8s.io does not answer: {said}"
