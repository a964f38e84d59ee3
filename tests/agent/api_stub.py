"""What an agent that acts alone asks of an API server, answered over TLS in a thread of the test's own."""

from __future__ import annotations

import datetime as dt
import ipaddress
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

Json = dict[str, Any]


def credentials(folder: Path) -> ssl.SSLContext:
    """Write what a kubelet gives a pod (``token``, ``ca.crt``), and return what a server of that authority speaks TLS with."""
    folder.mkdir(parents=True)
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "stub")])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    (folder / "token").write_text("secret")
    (folder / "ca.crt").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (folder / "key").write_bytes(key.private_bytes(*form))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "ca.crt", folder / "key")
    return context


class Stub:
    """A node with so much allocatable and the pods that a list of them has. ``evicted`` are the names of those that were asked to go, ``events`` what was told."""

    def __init__(self, allocatable: dict[str, str], pods: list[Json]) -> None:
        self.allocatable, self.pods = allocatable, pods
        self.evicted: list[str] = []
        self.events: list[Json] = []

    def answer(self, path: str, body: Any) -> Json:
        if path.startswith("/api/v1/nodes/"):
            return {"status": {"allocatable": self.allocatable}}
        if path.startswith("/api/v1/pods?"):
            asked = parse_qs(path.partition("?")[2])
            first, most = int(asked.get("continue", ["at 0"])[0].removeprefix("at ")), int(asked["limit"][0])
            more = {"continue": f"at {first + most}"} if first + most < len(self.pods) else {}
            return {"items": self.pods[first : first + most], "metadata": more}
        if path.endswith("/eviction"):
            self.evicted.append(body["metadata"]["name"])
            self.pods = [one for one in self.pods if one["metadata"]["name"] != self.evicted[-1]]
        else:
            self.events.append(body)
        return {}

    @contextmanager
    def serving(self, context: ssl.SSLContext) -> Iterator[str]:
        """Serve in the background; yields ``host:port``."""
        stub = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                length = int(self.headers.get("Content-Length", "0"))
                body = json.loads(self.rfile.read(length)) if length else None
                content = json.dumps(stub.answer(self.path, body)).encode()
                self.send_response(200)
                self.end_headers()
                self.wfile.write(content)

            def do_POST(self) -> None:
                self.do_GET()

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            server.socket = context.wrap_socket(server.socket, server_side=True)
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
            yield f"127.0.0.1:{server.server_address[1]}"
            server.shutdown()
