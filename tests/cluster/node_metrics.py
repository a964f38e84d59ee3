"""An aggregated API server of a test's own that serves ``metrics.k8s.io``: what nodes use is what the test says."""

from __future__ import annotations

import json
import ssl
import threading
import time
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

from cluster.control_plane import ControlPlane

CERTIFICATES = Path(__file__).resolve().parents[1] / "kube" / "certificates"
GROUP, VERSION = "metrics.k8s.io", "v1beta1"
SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"


class NodeMetrics:
    """Serves samples that are always of this moment, with a window of a second, until they stand still."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._used: dict[str, dict[str, str]] = {}
        self._at: float | None = None
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:  # the name is http.server's
                body = json.dumps(outer.answer(self.path.partition("?")[0])).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(CERTIFICATES / "server.pem", CERTIFICATES / "server-key.pem")
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        service = {
            "metadata": {"name": "node-metrics", "namespace": "default"},
            "spec": {"type": "ExternalName", "externalName": "localhost"},
        }
        status, answer = self._plane.api("POST", "/api/v1/namespaces/default/services", service)
        assert status == 201, answer
        spec = {
            "group": GROUP,
            "version": VERSION,
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
            "insecureSkipTLSVerify": True,
            "service": {"namespace": "default", "name": "node-metrics", "port": self._server.server_address[1]},
        }
        body = {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": f"{VERSION}.{GROUP}"}}
        status, answer = self._plane.api("POST", SERVICES, {**body, "spec": spec})
        assert status == 201, answer
        return self

    def __exit__(self, *_: object) -> None:
        self._plane.api("DELETE", f"{SERVICES}/{VERSION}.{GROUP}")
        self._server.shutdown()
        self._server.server_close()

    def uses(self, node: str, cpu: float, memory: int) -> None:
        """Let a node use so many cores and bytes from now on."""
        self._used[node] = {"cpu": f"{int(cpu * 1e9)}n", "memory": f"{memory >> 10}Ki"}

    def stands_still(self) -> None:
        """Let the samples be those of this moment from now on."""
        self._at = time.time()

    def answer(self, path: str) -> dict[str, Any]:
        if path.endswith("/nodes"):
            stamp = datetime.fromtimestamp(self._at or time.time(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            items = [
                {"metadata": {"name": name}, "timestamp": stamp, "window": "1s", "usage": used}
                for name, used in self._used.items()
            ]
            return {"kind": "NodeMetricsList", "apiVersion": f"{GROUP}/{VERSION}", "metadata": {}, "items": items}
        resources = [{"name": "nodes", "singularName": "", "namespaced": False, "kind": "NodeMetrics", "verbs": ["get", "list"]}]
        return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": f"{GROUP}/{VERSION}", "resources": resources}
