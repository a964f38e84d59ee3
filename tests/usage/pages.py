"""A small HTTP server of a test's own: what it answers to a path is what the test says."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self
from urllib.parse import parse_qsl, urlsplit

Page = tuple[int, bytes]
Query = dict[str, str]


class Pages:
    """Serves ``answers[path]``, called with the query, on a free port of this machine."""

    def __init__(self, host: str = "127.0.0.1") -> None:
        self.answers: dict[str, Callable[[Query], Page]] = {}
        self.asked: list[tuple[str, Query]] = []
        self.authorizations: list[str | None] = []
        """What the requests said of who asks."""
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:  # the name is http.server's
                parts = urlsplit(self.path)
                query = dict(parse_qsl(parts.query))
                outer.asked.append((parts.path, query))
                outer.authorizations.append(self.headers["Authorization"])
                status, body = outer.answers.get(parts.path, lambda _: (404, b"no such page"))(query)
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer((host, 0), Handler)
        self.port = int(self.server.server_address[1])
        self.url = f"http://{host}:{self.port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()
