"""A judge of a cluster by what the API server's watches say and nothing else: which pod was bound where and when, and what nodes had."""

from __future__ import annotations

import contextlib
import http.client
import json
import math
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from typing import Self
from urllib.parse import urlsplit

from cluster.client import Json, ssl_context
from cluster.control_plane import ControlPlane
from cluster.treadle_process import milli

GRACE = 30.0
"""Seconds for which a node counts as large as it was: a bind may be on its way while the node is made smaller or removed."""


Amount = tuple[int, int, int]
"""Milli-cpus, MiB of memory and pods."""
UNITS = {"Ki": 1 / 1024, "Mi": 1, "Gi": 1024, "Ti": 1024 * 1024}
NONE: Amount = (0, 0, 0)


class History:
    """Watches pods and nodes, across restarts of the server, and judges each bind as it is told of. Use as a context manager."""

    def __init__(self, plane: ControlPlane) -> None:
        self.plane = plane
        self.pods: dict[str, Json] = {}
        """Pods that there are, by uid."""
        self.binds = 0
        self.last_bind = 0.0
        self.longest_gap: float = 0.0
        """Seconds between two binds that followed each other, at the most."""
        self.gone: list[str] = []
        """Pods that were deleted."""
        self.lists: Counter[str] = Counter()
        """How often each kind was listed: after the first time what happened in between may have been missed."""
        self.wrong: list[str] = []
        """What must not have happened."""
        self._lock = threading.Lock()
        self._sizes: defaultdict[str, list[tuple[float, Amount]]] = defaultdict(list)
        self._held: defaultdict[str, dict[str, Amount]] = defaultdict(dict)
        self._nodes: set[str] = set()
        self._ended = threading.Event()
        self._take: dict[str, Callable[[str, Json], None]] = {"/api/v1/nodes": self._node, "/api/v1/pods": self._pod}
        """What is told of each change, by the path of the collection."""
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        self._threads = [threading.Thread(target=self._follow, args=(path,), daemon=True) for path in self._take]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join(40)

    def _follow(self, collection: str) -> None:
        version = ""
        while not self._ended.is_set():
            with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
                if not version:
                    version = self._list(collection)
                version = self._watch(collection, version)
                continue
            time.sleep(0.2)

    def _connection(self, timeout: float) -> http.client.HTTPSConnection:
        parts = urlsplit(self.plane.url)
        return http.client.HTTPSConnection(parts.hostname or "", parts.port, timeout=timeout, context=ssl_context(self.plane.ca))

    def _get(self, path: str, timeout: float) -> tuple[http.client.HTTPSConnection, http.client.HTTPResponse]:
        connection = self._connection(timeout)
        try:
            connection.request("GET", path, headers={"Authorization": f"Bearer {self.plane.token}"})
            return connection, connection.getresponse()
        except BaseException:
            connection.close()  # else it is complained of when it is collected
            raise

    def _list(self, collection: str) -> str:
        connection, response = self._get(collection, 30)
        with contextlib.closing(connection):
            if response.status != 200:
                raise OSError(response.status)
            found = json.loads(response.read())
        kind = collection.rpartition("/")[2]
        with self._lock:
            self.lists[kind] += 1
            present = set()
            for item in found["items"] or []:
                present.add(item["metadata"]["uid" if kind == "pods" else "name"])
                self.tell(collection, "MODIFIED", item)
            if kind == "pods":
                for uid in [uid for uid in self.pods if uid not in present]:
                    self._pod("DELETED", self.pods[uid])
            elif kind == "nodes":
                for name in self._nodes - present:
                    self._node("DELETED", {"metadata": {"name": name}})
        return str(found["metadata"]["resourceVersion"])

    def _watch(self, collection: str, version: str) -> str:
        """Follow a watch to its end and return the version to go on from, empty where a list is needed."""
        path = f"{collection}?watch=1&resourceVersion={version}&allowWatchBookmarks=true&timeoutSeconds=20"
        connection, response = self._get(path, 30)
        with contextlib.closing(connection):
            if response.status != 200:
                return "" if response.status == 410 else version
            while line := response.readline():
                event = json.loads(line)
                if event["type"] == "ERROR":
                    return ""
                version = event["object"]["metadata"]["resourceVersion"]
                if event["type"] != "BOOKMARK":
                    with self._lock:
                        self.tell(collection, event["type"], event["object"])
        return version

    def tell(self, collection: str, change: str, item: Json) -> None:
        """Judge one change, of the type that a watch gives it."""
        self._take[collection](change, item)

    def _node(self, change: str, node: Json) -> None:
        name = node["metadata"]["name"]
        size = NONE if change == "DELETED" else amount(node["status"]["allocatable"])
        (self._nodes.discard if change == "DELETED" else self._nodes.add)(name)
        sizes = self._sizes[name]
        if not sizes or sizes[-1][1] != size:
            sizes.append((time.monotonic(), size))

    def _largest(self, name: str) -> Amount:
        """Return how large a node was at the most within the last while."""
        since = time.monotonic() - GRACE
        sizes = self._sizes[name]
        found = [size for at, size in sizes if at >= since] + [size for at, size in sizes if at < since][-1:]
        return max(cpu for cpu, _, _ in found), max(memory for _, memory, _ in found), max(pods for _, _, pods in found)

    def _pod(self, change: str, pod: Json) -> None:
        meta, spec = pod["metadata"], pod["spec"]
        uid, node = meta["uid"], spec.get("nodeName", "")
        before = self.pods.get(uid)
        was = before["spec"].get("nodeName", "") if before else ""
        who = f"{meta['namespace']}/{meta['name']} ({uid})"
        if was and node != was and change != "DELETED":
            self.wrong.append(f"double: {who} was on {was} and is on {node}")
        done = change == "DELETED" or pod["status"].get("phase") in {"Succeeded", "Failed"}
        if change == "DELETED":
            self.pods.pop(uid, None)
            self.gone.append(who)
        else:
            self.pods[uid] = pod
        if done:
            self._held[was or node].pop(uid, None)
            return
        if node and uid not in self._held[node]:
            self._held[node][uid] = requests(pod)
            self._placed(pod)
            held, most = total(self._held[node].values()), self._largest(node)
            if any(have > there for have, there in zip(held, most, strict=True)):
                self.wrong.append(f"overfilled: {who} came to {node}, which has {most} and holds {held}")

    def _placed(self, pod: Json) -> None:  # noqa: ARG002 - for those that look closer
        """Is told of each bind, by the pod as it is after it."""
        now = time.monotonic()
        if self.binds:
            self.longest_gap = max(self.longest_gap, now - self.last_bind)
        self.binds, self.last_bind = self.binds + 1, now

    def waiting(self) -> list[Json]:
        """Return the pods that are not on a node."""
        with self._lock:
            return [pod for pod in self.pods.values() if not pod["spec"].get("nodeName")]

    def bound(self) -> list[Json]:
        """Return the pods that are on a node and not done."""
        with self._lock:
            held = [uid for on in self._held.values() for uid in on]
            return [self.pods[uid] for uid in held if uid in self.pods]


def requests(pod: Json) -> Amount:
    """Return what a pod asks for."""
    cpu, memory, _ = total(amount({**container["resources"]["requests"], "pods": "0"}) for container in pod["spec"]["containers"])
    return cpu, memory, 1


def amount(resources: dict[str, str]) -> Amount:
    """Read a list of resources whose memory is in binary units."""
    memory = resources.get("memory", "0Mi")
    return milli(resources["cpu"]), math.ceil(int(memory[:-2]) * UNITS[memory[-2:]]), int(resources["pods"])


def total(amounts: Iterable[Amount]) -> Amount:
    """Return the sum."""
    cpu, memory, pods = map(sum, zip(NONE, *amounts, strict=True))
    return cpu, memory, pods
