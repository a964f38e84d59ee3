"""The agent's port. GET of a path that is known is answered, and nothing else. Of what else is said only who asks is heard.

The standard library's HTTP server imports TLS, mail and more, which is more memory than the agent has.
"""

import socket
import socketserver
import threading
from collections.abc import Callable

MOST_AT_ONCE = 16
"""Connections that are served at once; more are closed."""
SLOWEST = 5.0
"""Seconds that a client has to ask, and to take the answer."""
MOST_REQUEST = 8192
LOOKED_EVERY = 60.0
"""Seconds between two looks at whether to end: the thread ends with the process."""

Answer = tuple[int, str, str]
"""Status, content type and body."""
WORDS = {200: "OK", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed", 503: "Service Unavailable"}


class Port(socketserver.ThreadingTCPServer):
    """Serves ``answer(path, by)``, ``by`` being the program that asks as it names itself, in threads of its own; port 0 takes a free one, which ``port`` names. Raises ``OSError`` where it cannot listen."""

    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(self, host: str, port: int, answer: Callable[[str, str], Answer]) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.answer = answer
        self._room = threading.BoundedSemaphore(MOST_AT_ONCE)
        super().__init__((host, port), _Handler)
        self.port = int(self.server_address[1])

    def begin(self, looked_every: float = LOOKED_EVERY) -> None:
        """Serve from now on, in the background; whether to end is looked at every so many seconds."""
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": looked_every}, name="port", daemon=True).start()

    def process_request(self, request: socket.socket | tuple[bytes, socket.socket], client_address: object) -> None:
        """Hand a connection to a thread, or close it where too many are served."""
        if self._room.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: socket.socket | tuple[bytes, socket.socket], client_address: object) -> None:
        """Serve a connection, in its thread."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of clients that went away or were too slow."""


class _Handler(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        connection: socket.socket = self.request
        connection.settimeout(SLOWEST)
        asked = b""
        while b"\r\n\r\n" not in asked and len(asked) < MOST_REQUEST:
            more = connection.recv(4096)
            if not more:
                return
            asked += more
        assert isinstance(self.server, Port)
        status, kind, body = _answered(asked, self.server.answer)
        content = body.encode()
        head = f"HTTP/1.1 {status} {WORDS[status]}\r\nContent-Type: {kind}\r\nContent-Length: {len(content)}\r\nConnection: close\r\n\r\n"
        connection.sendall(head.encode() + (b"" if asked.startswith(b"HEAD ") else content))


def _answered(asked: bytes, answer: Callable[[str, str], Answer]) -> Answer:
    words = asked.partition(b"\r\n")[0].split(b" ")
    if len(words) != 3 or not words[2].startswith(b"HTTP/1."):
        return 400, "text/plain", "not a request of HTTP/1\n"
    if words[0] not in (b"GET", b"HEAD"):
        return 405, "text/plain", "only GET is answered\n"
    return answer(words[1].partition(b"?")[0].decode("latin-1"), _asks(asked))


def _asks(asked: bytes) -> str:
    for line in asked.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"user-agent":
            return value.strip().decode("latin-1")
    return ""
