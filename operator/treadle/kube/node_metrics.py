"""What nodes use, as ``metrics.k8s.io`` tells it: one list of all nodes, with the time and the window of each sample."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from treadle.core.errors import InvalidSpec
from treadle.core.units.resources import amount
from treadle.kube.wire import Wire

if TYPE_CHECKING:
    from treadle.kube.transport import Response

PATH = "/apis/metrics.k8s.io/v1beta1/nodes"
MEASURED = ("cpu", "memory")
_WORDS = 200
_PART = re.compile(r"([0-9]+(?:\.[0-9]*)?)(h|ms|m|us|µs|ns|s)", re.ASCII)
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
LONGEST_WINDOW = 3600.0
"""Seconds; who says more is not believed."""


class _Metadata(Wire):
    name: str = ""


class _Node(Wire):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    timestamp: datetime | None = None
    window: str = ""
    usage: dict[str, str] = msgspec.field(default_factory=dict)


class _List(Wire):
    items: list[msgspec.Raw] = msgspec.field(default_factory=list)


class NodeUse(NamedTuple):
    """What a node used in the ``window`` of seconds before ``at`` (seconds since 1970)."""

    node: str
    usage: tuple[tuple[str, int], ...]
    at: float
    window: float


def read(body: bytes) -> Iterator[NodeUse]:
    """Yield what is told of nodes; one of which something cannot be read is passed over. Raises ``msgspec.DecodeError`` where it is no list."""
    for raw in msgspec.json.decode(body, type=_List).items:
        try:
            one = msgspec.json.decode(raw, type=_Node)
            usage = tuple((name, max(0, amount(name, one.usage[name]))) for name in MEASURED if name in one.usage)
        except (msgspec.DecodeError, InvalidSpec):
            continue
        if one.timestamp is not None and one.timestamp.tzinfo is not None and one.metadata.name and usage:
            yield NodeUse(one.metadata.name, usage, one.timestamp.timestamp(), window_of(one.window))


def window_of(text: str) -> float:
    """Return a duration as Go writes it (``1m0.5s``) in seconds, 0 for what is none."""
    parts = _PART.findall(text)
    if "".join(number + unit for number, unit in parts) != text:
        return 0.0
    return min(sum(float(number) * _SECONDS[unit] for number, unit in parts), LONGEST_WINDOW)


def trouble(answer: Response) -> str:
    """Return why an answer has no samples, empty if it has: what is missing, and what the server says."""
    if answer.status == 200:
        return ""
    said = f"{answer.status} {answer.error().message[:_WORDS]}".strip()
    if answer.status == 404:
        return f"the API server does not serve metrics.k8s.io/v1beta1 (metrics-server does): {said}"
    if answer.status in {401, 403}:
        return f"the right to list nodes of metrics.k8s.io is missing: {said}"
    return f"metrics.k8s.io does not answer: {said}"
