"""A small synchronous client for tests of any API server, the shape of a pretended node, and waiting with a deadline."""

from __future__ import annotations

import http.client
import json
import os
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlencode, urlsplit

Json = dict[str, Any]
T = TypeVar("T")
PATIENCE = float(os.environ.get("TREADLE_TEST_PATIENCE", "1"))
"""How many times as long as usual tests wait for what has to come true: a machine may be slower than any that people use."""


class RefusedError(Exception):
    """The server refused what a helper takes for granted; carries its words."""


class ApiClient:
    """Synchronous JSON over HTTP(S) with one kept connection a thread, for tests of any API server (ours too)."""

    def __init__(self, url: str, *, ca: str | Path | None = None, token: str | None = None, timeout: float = 60.0) -> None:
        parts = urlsplit(url)
        if parts.hostname is None or parts.port is None:
            raise ValueError(f"url: {url!r} names no host and port")
        self.url, self.ca, self.token, self.timeout = url, ca, token, timeout
        self._host, self._port = parts.hostname, parts.port
        self._tls = ssl_context(ca) if parts.scheme == "https" else None
        self._local = threading.local()
        self._opened: list[http.client.HTTPConnection] = []

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        params: Mapping[str, Any] | None = None,
        content_type: str = "application/json",
        token: str | None = None,
    ) -> tuple[int, Json]:
        """Send one request and return (status, decoded body). A connection that the server had closed is opened anew, once."""
        target = f"{path}?{urlencode(params)}" if params else path
        data = None if body is None else json.dumps(body, separators=(",", ":")).encode()
        headers = {"Accept": "application/json", "Content-Type": content_type}
        if token or self.token:
            headers["Authorization"] = f"Bearer {token or self.token}"
        kept: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
        try:
            return self._send(kept or self._connect(), method, target, data, headers)
        except (http.client.HTTPException, OSError) as error:
            self._local.connection.close()
            self._local.connection = None
            if kept is None or isinstance(error, TimeoutError):
                raise
            return self._send(self._connect(), method, target, data, headers)

    def close(self) -> None:
        """Close the connections of all threads; a later request opens a new one."""
        for connection in self._opened:
            connection.close()
        self._opened.clear()
        self._local = threading.local()

    def create_many(self, path: str, objects: Iterable[Json], workers: int = 8) -> list[Json]:
        """POST every object to `path` over `workers` connections and return what the server stored, in the order given.

        A 429 is waited out, as the server asks; any other refusal raises RefusedError with the server's message.
        """

        client = ApiClient(self.url, ca=self.ca, token=self.token, timeout=self.timeout)

        def create(obj: Json) -> Json:
            while True:
                status, answer = client.request("POST", path, obj)
                if status == http.HTTPStatus.CREATED:
                    return answer
                if status != http.HTTPStatus.TOO_MANY_REQUESTS:
                    raise RefusedError(
                        f"create {obj.get('metadata', {}).get('name')} in {path}: {status} {answer.get('message')}"
                    )
                time.sleep(0.5)

        try:
            with ThreadPoolExecutor(workers) as threads:
                return list(threads.map(create, objects))
        finally:
            client.close()

    def _connect(self) -> http.client.HTTPConnection:
        if self._tls is not None:
            connection: http.client.HTTPConnection = http.client.HTTPSConnection(
                self._host, self._port, timeout=self.timeout, context=self._tls
            )
        else:
            connection = http.client.HTTPConnection(self._host, self._port, timeout=self.timeout)
        self._local.connection = connection
        self._opened.append(connection)
        connection.connect()
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else head and body of a POST wait for each other
        return connection

    @staticmethod
    def _send(
        connection: http.client.HTTPConnection, method: str, target: str, data: bytes | None, headers: Json
    ) -> tuple[int, Json]:
        connection.request(method, target, data, headers)
        response = connection.getresponse()
        raw = response.read()
        if not raw:
            return response.status, {}
        try:
            return response.status, json.loads(raw)
        except ValueError:
            return response.status, {"message": raw.decode(errors="replace")}


def ssl_context(ca: str | Path | None) -> ssl.SSLContext:
    """Trust `ca`. The server's self-signed authority lacks an extension that Python 3.13 insists on in strict mode."""
    context = ssl.create_default_context(cafile=str(ca) if ca else None)
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


def eventually(probe: Callable[[], T], timeout: float = 30.0, what: str = "the condition", interval: float = 0.05) -> T:
    """Return the first truthy answer of `probe`; AssertionError naming `what` and the last answer after `timeout` seconds, times `PATIENCE`."""
    deadline = time.monotonic() + timeout * PATIENCE
    while True:
        answer = probe()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not come true in {timeout:g} s; last answer: {answer!r}")
        time.sleep(interval)


def fake_node(
    name: str,
    cpu: str = "32",
    memory: str = "256Gi",
    pods: int = 110,
    labels: Mapping[str, str] | None = None,
    resources: Mapping[str, str] | None = None,
) -> Json:
    """A ready node of this size (`resources` adds extended ones), marked for kwok."""
    size = {"cpu": cpu, "memory": memory, "pods": str(pods), "ephemeral-storage": "1Ti", **(resources or {})}
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "KubeletReady",
        "message": "pretended",
        "lastHeartbeatTime": stamp,
        "lastTransitionTime": stamp,
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "annotations": {"kwok.x-k8s.io/node": "fake", "node.alpha.kubernetes.io/ttl": "0"},
            "labels": {
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
                **(labels or {}),
            },
        },
        "status": {
            "capacity": size,
            "allocatable": size,
            "conditions": [ready],
            "addresses": [{"type": "Hostname", "address": name}],
        },
    }
