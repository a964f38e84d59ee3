"""What nodes and pods use, as the node agents tell it: the pods of a namespace with certain labels, each asked at its own address.

Which node an agent tells of is where its pod is, whatever it says itself.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import msgspec

from treadle.kube.auth import Access
from treadle.kube.errors import KubeError
from treadle.kube.transport import Client
from treadle.kube.wire import Wire
from treadle.usage.many import Failed, ask, in_words, patience
from treadle.usage.source import Look, NodeUse, PodUse

if TYPE_CHECKING:
    from treadle.core.model.opportunistic import AgentSettings
    from treadle.core.views.opportunistic import Wanted
    from treadle.usage.source import Amounts

PATH = "/sample"
LISTED_EVERY = 30.0
"""Seconds between two lists of the agents' pods; sooner where one of them does not answer."""
AGAIN = 5.0
"""Seconds after which they are listed again at the earliest."""
LABELS = (("app.kubernetes.io/component", "agent"), ("app.kubernetes.io/name", "treadle-agent"))
WAITED_FOR = frozenset({"cpu", "memory"})
_MOST = 2**62
_WORDS = 100


class _Meta(Wire):
    name: str = ""
    deletion_timestamp: str | None = msgspec.field(default=None, name="deletionTimestamp")


class _Spec(Wire):
    node_name: str = msgspec.field(default="", name="nodeName")


class _Status(Wire):
    pod_ip: str = msgspec.field(default="", name="podIP")


class _Pod(Wire):
    metadata: _Meta = msgspec.field(default_factory=_Meta)
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)


class _Pods(Wire):
    items: list[_Pod] = msgspec.field(default_factory=list)


class Sample(Wire):
    """What an agent says; amounts are in milli-units and bytes, None where they are not known."""

    at: float
    seconds: float = 0.0
    cpu: int | None = None
    memory: int | None = None
    pressure: dict[str, tuple[float, float, int, int]] = msgspec.field(default_factory=dict)
    pods: dict[str, tuple[int | None, int | None]] = msgspec.field(default_factory=dict)


class _Problem(Wire):
    problem: str = ""


class Agents:
    """Asks the agents. ``namespace`` is where they are if the settings do not say; samples are old after ``old_after`` seconds."""

    def __init__(self, client: Client, settings: AgentSettings, namespace: str, old_after: float) -> None:
        self._client = client
        self._settings = settings
        self._patience = patience(old_after)
        self._namespace = settings.namespace or namespace
        self._clients: dict[str, tuple[str, Client]] = {}
        """Address and client of each node's agent."""
        self._listed = float("-inf")
        self._failed: frozenset[str] = frozenset()

    async def look(self, wanted: Wanted) -> Look:
        """Ask every agent once; one that fails is missing by itself."""
        now = time.monotonic()
        if now > self._listed + (AGAIN if self._failed or not self._clients else LISTED_EVERY):
            try:
                await self._list()
            except (Failed, KubeError) as error:
                return Look(trouble=f"the agents' pods cannot be listed: {error}")
            self._listed = now
        if not self._clients:
            return Look(trouble=self._nobody())
        found, failed = await ask(list(self._clients), self._of_node, self._patience, self._failed)
        self._failed = frozenset(failed)
        if not found:
            return Look(trouble=in_words(failed, len(self._clients), "node agents"))
        uids = frozenset(wanted.pods.values())
        nodes, pods = [], []
        for node, one in found.items():
            if usage := _amounts(one.cpu, one.memory):
                nodes.append(NodeUse(node, usage, one.at, max(0.0, one.seconds), _pressure(one)))
            used = {uid: _amounts(*one.pods[uid]) for uid in uids & one.pods.keys()}
            pods += [PodUse(uid, amounts, one.at, max(0.0, one.seconds)) for uid, amounts in used.items() if amounts]
        missing = len(set(wanted.nodes) - self._clients.keys())
        without = f"{missing} of {len(wanted.nodes)} nodes have no agent" if missing else ""
        return Look(nodes, pods, partly="; ".join(filter(None, (without, in_words(failed, len(self._clients), "node agents")))))

    async def close(self) -> None:
        """Give up connections."""
        for _, client in self._clients.values():
            await client.close()
        self._clients.clear()

    async def _list(self) -> None:
        """Find out who the agents are. Raises ``Failed`` and ``KubeError``."""
        selector = ",".join(f"{key}={value}" for key, value in self._settings.labels or LABELS)
        params = {"labelSelector": selector, "fieldSelector": "status.phase=Running"}
        answer = await self._client.request("GET", f"/api/v1/namespaces/{self._namespace}/pods", params=params)
        if answer.status != 200:
            raise Failed(f"{answer.status} {answer.error().message[:_WORDS]}".strip())
        try:
            listed = msgspec.json.decode(answer.body, type=_Pods).items
        except msgspec.DecodeError as error:
            raise Failed(f"what is answered is no list of pods: {str(error)[:_WORDS]}") from error
        found: dict[str, str] = {}
        for pod in listed:
            if pod.spec.node_name and pod.status.pod_ip and pod.metadata.deletion_timestamp is None:
                address = f"[{pod.status.pod_ip}]" if ":" in pod.status.pod_ip else pod.status.pod_ip
                found[pod.spec.node_name] = f"http://{address}:{self._settings.port}"
        for node, (address, client) in list(self._clients.items()):
            if found.get(node) != address:
                del self._clients[node]
                await client.close()
        for node, address in found.items():
            if node not in self._clients:
                self._clients[node] = address, Client(Access(address), timeout=self._settings.timeout)

    async def _of_node(self, node: str) -> Sample:
        """Return the sample of a node's agent. Raises ``Failed`` and ``KubeError``."""
        answer = await self._clients[node][1].request("GET", PATH)
        try:
            if answer.status != 200:
                raise Failed(msgspec.json.decode(answer.body, type=_Problem).problem[:_WORDS] or f"it answers {answer.status}")
            return msgspec.json.decode(answer.body, type=Sample)
        except msgspec.DecodeError as error:
            raise Failed(f"{answer.status}, and the answer is no sample: {str(error)[:_WORDS]}") from error

    def _nobody(self) -> str:
        labels = ", ".join(f"{key}={value}" for key, value in self._settings.labels or LABELS)
        return f"no pod with the labels {labels} runs in namespace {self._namespace}: the chart makes them with agent.enabled"


def _pressure(one: Sample) -> tuple[tuple[str, int, int], ...]:
    """Return the averages of ten seconds, which an agent tells in percent, in thousandths."""
    found = ((resource, _thousandths(some), _thousandths(full)) for resource, (some, full, *_) in sorted(one.pressure.items()))
    return tuple(one for one in found if one[0] in WAITED_FOR)


def _thousandths(percent: float) -> int:
    return round(min(max(percent, 0.0), 100.0) * 10)


def _amounts(cpu: int | None, memory: int | None) -> Amounts:
    return tuple((name, min(max(0, value), _MOST)) for name, value in (("cpu", cpu), ("memory", memory)) if value is not None)
