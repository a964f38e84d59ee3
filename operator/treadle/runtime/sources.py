"""What is watched, and how it becomes events: pods and nodes and namespaces by our own list and watch, our kinds by kopf and lists."""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from treadle.api.identity import Source
from treadle.api.labels import GROUP, VERSION, queue_of
from treadle.api.objects import PLURALS
from treadle.controllers.ledger import Ledger
from treadle.core.events import (
    DevicesGone,
    DevicesKnown,
    DevicesSeen,
    Event,
    NamespaceSeen,
    NodeGone,
    NodeSeen,
    PodGone,
    PodRefused,
    PodSeen,
    StorageGone,
    StorageKnown,
    StorageSeen,
)
from treadle.kube import device_wire, devices, storage, translate, wire
from treadle.kube.errors import KubeError
from treadle.kube.reflector import Change, Reflector
from treadle.kube.transport import Client
from treadle.runtime.group_statuses import GroupStatuses
from treadle.runtime.pod_groups import PodGroups

log = logging.getLogger(__name__)

T = TypeVar("T", bound=wire.Node | wire.Namespace | wire.Storage | device_wire.Object)

LIVE_PODS = {"fieldSelector": "status.phase!=Succeeded,status.phase!=Failed"}
"""A finished pod leaves this watch with a deletion: it holds nothing any more."""
FAILED_PODS = {"fieldSelector": "status.phase=Failed"}
"""That deletion carries the pod as it was before, so what it failed for is told by a watch of its own."""
LIST_EVERY = 30.0
TELL_EVERY = 0.1
"""Seconds between two looks at whether storage and devices have been listed, while they have not."""
LIST_LIMIT = 500
ASK_AGAIN = 1.0
"""Seconds after which a server that does not know a kind is asked once more."""


class Sources:
    """The reflectors of the built-in kinds; ``put`` takes the events."""

    def __init__(
        self,
        client: Client,
        put: Callable[[Event], None],
        group_statuses: GroupStatuses | None = None,
        users: Source = Source.NAMESPACE,
    ) -> None:
        self._put, self._users = put, users
        self._failed: set[str] = set()
        self._problems: dict[str, str] = {}
        self._uids: dict[tuple[type, str, str], str] = {}
        self._told: dict[type[StorageKnown | DevicesKnown], tuple[bool, str]] = {}
        self.pods: Reflector[wire.Pod] = Reflector(client, "/api/v1/pods", wire.Pod, self._pods, LIVE_PODS)
        self.failed: Reflector[wire.Pod] = Reflector(client, "/api/v1/pods", wire.Pod, self._failed_pods, FAILED_PODS)
        self.nodes: Reflector[wire.Node] = Reflector(client, "/api/v1/nodes", wire.Node, self._nodes)
        self.namespaces: Reflector[wire.Namespace] = Reflector(client, "/api/v1/namespaces", wire.Namespace, self._namespaces)
        self.storage: dict[str, Reflector[Any]] = {
            name: Reflector(client, path, kind, self._storage) for name, (path, kind) in storage.PATHS.items()
        }
        self.pod_groups = PodGroups(client, put, statuses=group_statuses)
        self.pod_groups.failed = self.failed.synced
        self.devices: dict[str, Reflector[Any]] = {
            name: Reflector(client, path, kind, self._devices) for name, (path, kind) in devices.PATHS.items()
        }

    @property
    def all(self) -> dict[str, Reflector[Any]]:
        """Every reflector, by resource."""
        return {**self.needed, "failed pods": self.failed, **self.storage, **self.devices}

    @property
    def needed(self) -> dict[str, Reflector[Any]]:
        """The reflectors without which nothing can be decided; without those of storage, or of devices, pods with claims wait."""
        return {"pods": self.pods, "nodes": self.nodes, "namespaces": self.namespaces}

    @property
    def synced(self) -> bool:
        """Whether every first list that is needed is complete, and those about devices are, or cannot be had: devices that pods hold count in queues from the first decision on."""
        devices = all(reflector.synced.is_set() or bool(reflector.problem) for reflector in self.devices.values())
        return devices and all(reflector.synced.is_set() for reflector in self.needed.values())

    def tell(self) -> bool:
        """Tell the core whether all objects of storage and about devices have been told, and what is in the way, if that has changed; returns whether all have."""
        return all([self._tell(StorageKnown, self.storage), self._tell(DevicesKnown, self.devices)])

    def _tell(self, kind: type[StorageKnown | DevicesKnown], reflectors: dict[str, Reflector[Any]]) -> bool:
        missing = [name for name, reflector in reflectors.items() if not reflector.synced.is_set()]
        why = next((f"{name}: {reflectors[name].problem}" for name in missing if reflectors[name].problem), "")
        told = (not missing, why)
        if told != self._told.get(kind, (False, "")):
            self._told[kind] = told
            self._put(kind(*told))
        return not missing

    async def keep_telling(self, every: float = TELL_EVERY) -> None:
        """Tell the core of storage and devices as soon as their first lists are complete, and now and then until then why they are not."""
        while True:
            if self.tell():
                return
            await asyncio.sleep(every)

    def _pods(self, changes: list[tuple[Change, wire.Pod]]) -> None:
        put, statuses = self._put, self.pod_groups.statuses
        for change, pod in changes:
            if change == "DELETED":
                put(PodGone(pod.metadata.uid))
                if statuses is not None:
                    statuses.left(pod.metadata.uid)
                continue
            spec = translate.pod(pod, self._users)
            put(PodSeen(spec))
            if spec.gang_source and statuses is not None:
                group = spec.gang_source, f"{spec.namespace}/{spec.gang}"
                statuses.pod(spec.uid, group, runs=pod.status is not None and pod.status.phase == "Running")

    def _failed_pods(self, changes: list[tuple[Change, wire.Pod]]) -> None:
        """Tell of pods that failed for their kubelet did not take them, each once; those that had failed before we looked are past."""
        self.pod_groups.take_ended(changes, succeeded=False)
        for change, pod in changes:
            uid = pod.metadata.uid
            if change == "DELETED":
                self._failed.discard(uid)
            elif uid not in self._failed:
                self._failed.add(uid)
                status = pod.status
                if self.failed.synced.is_set() and status is not None and translate.refused(status):
                    self._put(PodRefused(translate.pod(pod, self._users), status.reason, status.message))

    def _nodes(self, changes: list[tuple[Change, wire.Node]]) -> None:
        for change, node in self._current(changes):
            if change == "DELETED":
                self._problems.pop(node.metadata.name, None)
                self._put(NodeGone(node.metadata.name))
                continue
            spec = translate.node(node)
            if spec.problem and spec.problem != self._problems.get(spec.name):
                log.warning("node %s: %s", spec.name, spec.problem)
            self._problems[spec.name] = spec.problem
            self._put(NodeSeen(spec))

    def _namespaces(self, changes: list[tuple[Change, wire.Namespace]]) -> None:
        for change, namespace in self._current(changes):
            meta = namespace.metadata
            if change == "DELETED":
                self._put(NamespaceSeen(meta.name, ""))
            else:
                labels = tuple((meta.labels or {}).items())
                self._put(NamespaceSeen(meta.name, queue_of(meta.labels, meta.annotations) or "", labels))

    def _storage(self, changes: list[tuple[Change, Any]]) -> None:
        for change, found in self._current(changes):
            kind, translated = storage.TRANSLATED[type(found)]
            self._put(StorageGone(kind, translated(found).key) if change == "DELETED" else StorageSeen(translated(found)))

    def _devices(self, changes: list[tuple[Change, Any]]) -> None:
        for change, found in self._current(changes):
            kind, translated = devices.TRANSLATED[type(found)]
            self._put(DevicesGone(kind, translated(found).key) if change == "DELETED" else DevicesSeen(translated(found)))

    def _current(self, changes: list[tuple[Change, T]]) -> Iterator[tuple[Change, T]]:
        """Leave out the end of an object whose name another one has taken over: a relist tells of deletions last."""
        for change, found in changes:
            meta = found.metadata
            key = (type(found), meta.namespace, meta.name)
            if change != "DELETED":
                self._uids[key] = meta.uid
            elif self._uids.get(key) == meta.uid:
                del self._uids[key]
            else:
                continue
            yield change, found


async def wait_for_kinds(client: Client, note: Callable[[str], None]) -> None:
    """Return when the server knows all of our kinds; ``note`` is told what is missing meanwhile."""
    said = ""
    while True:
        try:
            answer = await client.request("GET", f"/apis/{GROUP}/{VERSION}")
            known = {entry["name"] for entry in answer.json().get("resources") or ()} if answer.status == 200 else set()
            missing = [plural for plural in PLURALS.values() if plural not in known]
            problem = ""
            if answer.status not in {200, 404}:
                problem = f"asking for {GROUP}/{VERSION}: {answer.error()}"
            elif missing:
                problem = f"the CustomResourceDefinitions of {GROUP}/{VERSION} are not installed ({', '.join(missing)}): run `kubectl apply -f crds/`; waiting"
        except KubeError as error:
            problem = f"the API server cannot be reached: {error}"
        if not problem:
            note("")
            return
        if problem != said:
            log.warning("%s", problem)
            said = problem
        note(problem)
        await asyncio.sleep(1.0)


async def list_kinds(client: Client, ledger: Ledger) -> None:
    """Give the ledger a complete list of each of our kinds. Raises ``KubeError``; a list that failed changes nothing.

    With the definition of a kind all of its objects are deleted, so the list of a kind that the server has not is empty.
    """
    for kind, plural in PLURALS.items():
        found: list[dict[str, Any]] = []
        token = version = ""
        while True:
            params = {"limit": str(LIST_LIMIT), **({"continue": token} if token else {})}
            answer = await client.request("GET", f"/apis/{GROUP}/{VERSION}/{plural}", params=params)
            if answer.status == 404 and await _no_such_kind(client, plural):
                found, version = [], ""
                break
            if answer.status != 200:
                raise answer.error()
            page = answer.json()
            found.extend(page.get("items") or [])
            metadata = page.get("metadata") or {}
            token = metadata.get("continue") or ""
            version = version or metadata.get("resourceVersion") or ""
            if not token:
                break
        ledger.listed(kind, found, version or None)


async def _no_such_kind(client: Client, plural: str) -> bool:
    """Whether the server has no such kind: it says so again after a while, and does not name the kind among those of the group.

    Much would go with the queues, so one answer is not enough: of several API servers one may not know yet of a definition that
    was just made.
    """
    await asyncio.sleep(ASK_AGAIN)
    answer = await client.request("GET", f"/apis/{GROUP}/{VERSION}")
    if answer.status not in {200, 404}:
        raise answer.error()
    known = {entry["name"] for entry in answer.json().get("resources") or ()} if answer.status == 200 else set()
    again = await client.request("GET", f"/apis/{GROUP}/{VERSION}/{plural}", params={"limit": "1"})
    return plural not in known and again.status == 404


async def keep_listing(client: Client, ledger: Ledger, now: asyncio.Event, every: float = LIST_EVERY) -> None:
    """List our kinds again and again, and at once when ``now`` is set: what kopf missed, deletions above all, is found here."""
    while True:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(every):
                await now.wait()
        now.clear()
        try:
            await list_kinds(client, ledger)
        except KubeError as error:
            log.info("listing our kinds: %s", error)
