"""A judge of a cluster by what the API server's watches say and nothing else: which pod was bound where and when, and what nodes had."""

from __future__ import annotations

import contextlib
import http.client
import json
import threading
import time
from collections import defaultdict
from typing import Any, Self
from urllib.parse import urlsplit

from cluster.client import Json, ssl_context
from cluster.control_plane import ControlPlane
from cluster.treadle_process import milli

GRACE = 30.0
"""Seconds for which a node counts as large as it was: a bind may be on its way while the node is made smaller or removed."""


class History:
    """Watches pods and nodes, across restarts of the server, and judges each bind as it is told of. Use as a context manager."""

    def __init__(self, plane: ControlPlane) -> None:
        self.plane = plane
        self.pods: dict[str, Json] = {}
        """Pods that there are, by uid."""
        self.binds = 0
        self.wrong: list[str] = []
        """What must not have happened."""
        self._lock = threading.Lock()
        self._sizes: defaultdict[str, list[tuple[float, int]]] = defaultdict(list)
        self._held: defaultdict[str, dict[str, int]] = defaultdict(dict)
        self._nodes: set[str] = set()
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=self._follow, args=(kind,), daemon=True) for kind in ("nodes", "pods")]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join(40)

    def _follow(self, kind: str) -> None:
        version = ""
        while not self._ended.is_set():
            with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
                if not version:
                    version = self._list(kind)
                version = self._watch(kind, version)
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

    def _list(self, kind: str) -> str:
        connection, response = self._get(f"/api/v1/{kind}", 30)
        with contextlib.closing(connection):
            if response.status != 200:
                raise OSError(response.status)
            found = json.loads(response.read())
        with self._lock:
            take = self._pod if kind == "pods" else self._node
            present = set()
            for item in found["items"] or []:
                present.add(item["metadata"]["uid" if kind == "pods" else "name"])
                take("MODIFIED", item)
            if kind == "pods":
                for uid in [uid for uid in self.pods if uid not in present]:
                    self._pod("DELETED", self.pods[uid])
            else:
                for name in self._nodes - present:
                    self._node("DELETED", {"metadata": {"name": name}})
        return str(found["metadata"]["resourceVersion"])

    def _watch(self, kind: str, version: str) -> str:
        """Follow a watch to its end and return the version to go on from, empty where a list is needed."""
        path = f"/api/v1/{kind}?watch=1&resourceVersion={version}&allowWatchBookmarks=true&timeoutSeconds=20"
        connection, response = self._get(path, 30)
        with contextlib.closing(connection):
            if response.status != 200:
                return "" if response.status == 410 else version
            take = self._pod if kind == "pods" else self._node
            while line := response.readline():
                event = json.loads(line)
                if event["type"] == "ERROR":
                    return ""
                version = event["object"]["metadata"]["resourceVersion"]
                if event["type"] != "BOOKMARK":
                    with self._lock:
                        take(event["type"], event["object"])
        return version

    def _node(self, change: str, node: Json) -> None:
        name = node["metadata"]["name"]
        size = 0 if change == "DELETED" else milli(node["status"]["allocatable"]["cpu"])
        (self._nodes.discard if change == "DELETED" else self._nodes.add)(name)
        sizes = self._sizes[name]
        if not sizes or sizes[-1][1] != size:
            sizes.append((time.monotonic(), size))

    def _largest(self, name: str) -> int:
        """Return how large a node was at the most within the last while."""
        since = time.monotonic() - GRACE
        sizes = self._sizes[name]
        return max([size for at, size in sizes if at >= since] + [size for at, size in sizes if at < since][-1:], default=0)

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
        else:
            self.pods[uid] = pod
        if done:
            self._held[was or node].pop(uid, None)
            return
        if node and uid not in self._held[node]:
            self._held[node][uid] = requests(pod)
            self.binds += 1
            held, most = sum(self._held[node].values()), self._largest(node)
            if held > most:
                self.wrong.append(f"overfilled: {who} came to {node}, which has {most}m and holds {held}m")

    def waiting(self) -> list[Json]:
        """Return the pods that are not on a node."""
        with self._lock:
            return [pod for pod in self.pods.values() if not pod["spec"].get("nodeName")]

    def bound(self) -> list[Json]:
        """Return the pods that are on a node and not done."""
        with self._lock:
            held = [uid for on in self._held.values() for uid in on]
            return [self.pods[uid] for uid in held if uid in self.pods]


def requests(pod: dict[str, Any]) -> int:
    """Return the cpu that a pod asks for, in milli-units."""
    return sum(milli(container["resources"]["requests"]["cpu"]) for container in pod["spec"]["containers"])
