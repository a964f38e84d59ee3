"""What nodes and pods use, as each kubelet tells it at ``/metrics/resource``, through the API server.

The kubelet says what it read and when: processor time as a counter, from which two readings make a rate, and the working set of memory. Its samples are up to a quarter of a
minute old, and the time that counts is theirs.
"""

from __future__ import annotations

import math
import re
import time
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from prometheus_client.parser import text_string_to_metric_families

from treadle.usage.many import Failed, ask, in_words, patience
from treadle.usage.rates import MOST, Rates
from treadle.usage.source import Look, NodeUse, PodUse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from treadle.core.views.opportunistic import Wanted
    from treadle.kube.transport import Client, Response
    from treadle.usage.source import Amounts

TIMEOUT = 5.0
_NODE = {"node_cpu_usage_seconds_total": "cpu", "node_memory_working_set_bytes": "memory"}
_POD = {"pod_cpu_usage_seconds_total": "cpu", "pod_memory_working_set_bytes": "memory"}
_OF_NODES = re.compile(rf"^(?:{'|'.join(_NODE)})[ {{].*$", re.MULTILINE)
_OF_BOTH = re.compile(rf"^(?:{'|'.join({**_NODE, **_POD})})[ {{].*$", re.MULTILINE)
"""The lines that matter: of a kubelet's thousands these are few, and reading one takes microseconds."""
_WORDS = 100


class Line(NamedTuple):
    """A value of a resource, of the node if ``pod`` is None, else of a pod by namespace and name; ``at`` is None where no time is told."""

    pod: tuple[str, str] | None
    resource: str
    value: float
    at: float | None


class Kubelets:
    """Reads ``/metrics/resource`` of each node. ``longest`` is the longest time between two readings that makes a rate, in seconds."""

    def __init__(self, client: Client, longest: float) -> None:
        self._client = client
        self._rates = Rates(longest)
        self._failed: frozenset[str] = frozenset()

    async def look(self, wanted: Wanted) -> Look:
        """Ask every kubelet once; one that fails is missing by itself."""
        found, failed = await ask(
            wanted.nodes, lambda node: self._of_node(node, pods=bool(wanted.pods)), patience(self._rates.longest), self._failed
        )
        self._failed = frozenset(failed)
        if failed and not found:
            return Look(trouble=in_words(failed, len(failed), "kubelets"))
        nodes, pods = [], []
        keys: list[str] = []
        for node, lines in found.items():
            used = self._used(node, [one for one in lines if one.pod is None])
            keys.append(node)
            if used is not None:
                nodes.append(NodeUse(node, *used))
            by_pod: dict[str, list[Line]] = {}
            for one in lines:
                uid = None if one.pod is None else wanted.pods.get(one.pod)
                if uid is not None:
                    by_pod.setdefault(uid, []).append(one)
            for uid, own in by_pod.items():
                used = self._used(f"{node} {uid}", own)
                keys.append(f"{node} {uid}")
                if used is not None:
                    pods.append(PodUse(uid, *used))
        self._rates.keep([*keys, *failed])
        return Look(nodes, pods, partly=in_words(failed, len(wanted.nodes), "kubelets"))

    async def close(self) -> None:
        """There is nothing to give up: the client is not ours."""

    async def _of_node(self, node: str, *, pods: bool) -> list[Line]:
        path = f"/api/v1/nodes/{quote(node, safe='')}/proxy/metrics/resource"
        return list(read(_text(await self._client.request("GET", path, timeout=TIMEOUT)), pods=pods))

    def _used(self, key: str, lines: list[Line]) -> tuple[Amounts, float, float] | None:
        """Return what is used, when and over how long; None until a rate is known. The older of the two times counts."""
        now = time.time()
        values = {one.resource: one for one in lines}
        cpu, memory = values.get("cpu"), values.get("memory")
        if cpu is None:
            return None
        at = now if cpu.at is None else cpu.at
        rate = self._rates.take(key, cpu.value, at, now)
        if rate is None:
            return None
        usage: Amounts = (("cpu", rate[0]),)
        if memory is not None:
            usage += (("memory", int(memory.value)),)
            at = min(at, now if memory.at is None else memory.at)
        return usage, at, rate[1]


def read(text: str, *, pods: bool) -> Iterator[Line]:
    """Yield what a kubelet tells of its node and, if they are wanted, its pods. Raises ``Failed`` for what is no exposition."""
    lines = "\n".join((_OF_BOTH if pods else _OF_NODES).findall(text)) + "\n"
    try:
        samples = [sample for family in text_string_to_metric_families(lines) for sample in family.samples]
    except ValueError as error:
        raise Failed(f"what it answers cannot be read: {str(error)[:_WORDS]}") from error
    for one in samples:
        if not math.isfinite(one.value) or not 0 <= one.value < MOST:
            continue
        at = None if one.timestamp is None else float(one.timestamp)
        if at is not None and not math.isfinite(at):
            continue
        if one.name in _NODE:
            yield Line(None, _NODE[one.name], one.value, at)
        elif one.name in _POD:
            yield Line((one.labels.get("namespace", ""), one.labels.get("pod", "")), _POD[one.name], one.value, at)


def _text(answer: Response) -> str:
    if answer.status == 200:
        return answer.body.decode(errors="replace")
    said = f"{answer.status} {answer.error().message[:_WORDS]}".strip()
    if answer.status in {401, 403}:
        raise Failed(f"the right to get nodes/proxy is missing: {said}")
    raise Failed(said)
