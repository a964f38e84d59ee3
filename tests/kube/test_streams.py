"""Watches over connections of their own: what comes is read as it comes, unless the reader rests, and every end has a name."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from kube.access import task_of, until
from kube.loops import on_either_loop
from treadle.kube.auth import Access
from treadle.kube.connections import Address, ConnectionEnded
from treadle.kube.errors import Unreachable
from treadle.kube.streams import Silent, Stream, opened
from treadle.kube.transport import Client
from treadle.listening import stop_listening

CERTIFICATES = Path(__file__).parent / "certificates"
REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
HEADERS = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.fixture(params=["plain", "tls"])
def secure(request: pytest.FixtureRequest) -> bool:
    return request.param == "tls"


def chunk(body: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(body), body)


class Server:
    """Says what it is given, piece by piece, to whoever asks; ``say(None)`` ends the connection."""

    def __init__(self) -> None:
        self.pieces: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.begun = self.ended = 0
        self.address = Address("", 0, None, None)

    def say(self, *pieces: bytes | None) -> None:
        for piece in pieces:
            self.pieces.put_nowait(piece)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.begun += 1
        try:
            await reader.readuntil(b"\r\n\r\n")
            gone = asyncio.create_task(reader.read())
            while True:
                piece = asyncio.create_task(self.pieces.get())
                await asyncio.wait({gone, piece}, return_when=asyncio.FIRST_COMPLETED)
                if not piece.done() or piece.result() is None:
                    piece.cancel()
                    gone.cancel()
                    return
                writer.write(piece.result())
                await writer.drain()
                await asyncio.sleep(0)
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            self.ended += 1
            writer.close()


@asynccontextmanager
async def serving(*, secure: bool = False) -> AsyncIterator[Server]:
    server, theirs, ours = Server(), None, None
    if secure:
        theirs = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        theirs.load_cert_chain(CERTIFICATES / "server.pem", CERTIFICATES / "server-key.pem")
        ours = ssl.create_default_context(cafile=str(CERTIFICATES / "server.pem"))
    listening = await asyncio.start_server(server.serve, "127.0.0.1", ssl=theirs)
    port = listening.sockets[0].getsockname()[1]
    server.address = Address.of(f"http{'s' if secure else ''}://127.0.0.1:{port}", ours)
    try:
        yield server
    finally:
        await stop_listening(listening)
        await until(lambda: server.ended == server.begun)


@asynccontextmanager
async def streaming(server: Server, silence: float = 20.0) -> AsyncIterator[Stream]:
    async with opened(server.address, REQUEST, silence) as stream:
        yield stream


@on_either_loop
async def test_what_the_server_says_is_read_as_it_says_it(secure: bool) -> None:
    async with serving(secure=secure) as server:
        server.say(HEADERS)
        async with streaming(server) as stream:
            assert stream.status == 200
            chunks = stream.chunks()
            for body in (b"one", b"two", b"x" * 300_000):
                server.say(chunk(body))
                heard = b""
                while len(heard) < len(body):
                    heard += await anext(chunks)
                assert heard == body
            server.say(b"0\r\n\r\n")
            assert [piece async for piece in chunks] == []
        await until(lambda: server.ended == 1)


@on_either_loop
async def test_nothing_is_taken_while_the_reader_rests_and_all_of_it_afterwards(secure: bool) -> None:
    async with serving(secure=secure) as server:
        server.say(HEADERS, chunk(b"first"))
        async with streaming(server) as stream:
            chunks = stream.chunks()
            assert await anext(chunks) == b"first"
            async with task_of(stream.rest(60.0)):
                await asyncio.sleep(0)
                for number in range(40):
                    server.say(chunk(b"%02d" % number))
                await until(server.pieces.empty)
                with pytest.raises(TimeoutError):  # time enough for what is not kept back
                    await asyncio.wait_for(anext(chunks), 0.1)
            chunks = stream.chunks()
            heard = b""
            while len(heard) < 80:
                heard += await anext(chunks)
    assert heard == b"".join(b"%02d" % number for number in range(40))


@on_either_loop
async def test_a_rest_outlives_the_connection(secure: bool) -> None:
    async with serving(secure=secure) as server:
        server.say(HEADERS, chunk(b"last"), b"0\r\n\r\n", None)
        async with streaming(server) as stream:
            await until(lambda: server.ended == 1)
            await stream.rest(0.001)
            assert await stream.read() == b"last"
            stream.close()
            await stream.rest(0.001)


@pytest.mark.parametrize(
    "pieces",
    [
        [b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"],
        [bytes([byte]) for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"],
        [b"HTTP/1.1 100 Continue\r\n\r\n", HEADERS, chunk(b"o"), chunk(b"k"), b"0\r\n\r\n"],
        [b"HTTP/1.1 200 OK\r\n\r\nok", None],
    ],
    ids=["measured", "byte by byte", "after an interim answer", "until the end"],
)
@on_either_loop
async def test_an_answer_may_come_in_any_form(pieces: list[bytes | None], secure: bool) -> None:
    async with serving(secure=secure) as server:
        server.say(*pieces)
        async with streaming(server) as stream:
            assert (stream.status, await stream.read()) == (200, b"ok")


@on_either_loop
async def test_a_refusal_has_its_status_and_its_words() -> None:
    async with serving() as server:
        server.say(b"HTTP/1.1 410 Gone\r\nContent-Length: 7\r\n\r\nexpired")
        async with streaming(server) as stream:
            assert (stream.status, await stream.read()) == (410, b"expired")


@on_either_loop
async def test_what_came_before_the_connection_ended_is_read_first(secure: bool) -> None:
    async with serving(secure=secure) as server:
        server.say(HEADERS, chunk(b"half"), None)
        async with streaming(server) as stream:
            chunks = stream.chunks()
            assert await anext(chunks) == b"half"
            with pytest.raises(ConnectionEnded, match="the server ended the connection"):
                await anext(chunks)


@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 200 OK\r\nTransf"])
@on_either_loop
async def test_an_answer_without_a_status_is_none(said: bytes) -> None:
    async with serving() as server:
        server.say(said, None)
        with pytest.raises(ConnectionEnded):
            async with streaming(server):
                pass


@on_either_loop
async def test_what_is_not_http_is_no_answer() -> None:
    async with serving() as server:
        server.say(b"SSH-2.0-OpenSSH_9.9\r\n")
        with pytest.raises(ConnectionEnded, match="not HTTP"):
            async with streaming(server):
                pass


@on_either_loop
async def test_a_server_that_says_nothing_is_silent(secure: bool) -> None:
    async with serving(secure=secure) as server:
        with pytest.raises(Silent, match="nothing for 0 s"):
            async with streaming(server, silence=0.05):
                pass
        await until(lambda: server.ended == 1)
        server.say(HEADERS, chunk(b"one"))
        async with streaming(server, silence=0.05) as stream:
            chunks = stream.chunks()
            assert await anext(chunks) == b"one"
            with pytest.raises(Silent):
                await anext(chunks)


@on_either_loop
async def test_a_reader_that_goes_ends_the_connection(secure: bool) -> None:
    async with serving(secure=secure) as server:
        server.say(HEADERS)
        with pytest.raises(RuntimeError, match="away"):
            async with streaming(server):
                raise RuntimeError("away")
        await until(lambda: server.ended == 1)


@on_either_loop
async def test_a_certificate_for_another_name_is_refused() -> None:
    async with serving(secure=True) as server:
        with pytest.raises(ssl.SSLCertVerificationError):
            async with opened(server.address._replace(hostname="elsewhere"), REQUEST, 1.0):
                pass


@on_either_loop
async def test_a_watch_goes_with_the_credentials_and_the_parameters_of_its_client() -> None:
    heard: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1") as listening:
        url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/behind"
        async with (
            Client(Access(url, headers=lambda: {"Authorization": "Bearer t"})) as client,
            client.stream("/api/v1/pods", {"fieldSelector": "a!=b"}, 5.0) as stream,
        ):
            assert await stream.read() == b"ok"
    assert heard[0].startswith(b"GET /behind/api/v1/pods?fieldSelector=a%21%3Db HTTP/1.1\r\n")
    assert b"Authorization: Bearer t\r\n" in heard[0]


@on_either_loop
async def test_a_server_that_is_not_there_is_unreachable() -> None:
    async with serving() as server:
        port = server.address.port
    async with Client(Access(f"http://127.0.0.1:{port}")) as client:
        with pytest.raises(Unreachable, match="GET /api/v1/pods: "):
            async with client.stream("/api/v1/pods", {}, 5.0):
                pass


@on_either_loop
async def test_credentials_that_cannot_be_sent_are_unreachable_and_not_shown() -> None:
    async with serving() as server:
        access = Access(f"http://127.0.0.1:{server.address.port}", headers=lambda: {"Authorization": "Bearer a\nb"})
        async with Client(access) as client:
            with pytest.raises(Unreachable, match="a line break") as refused:
                async with client.stream("/api/v1/pods", {}, 5.0):
                    pass
    assert "a\nb" not in str(refused.value)
