"""What is asked on behalf of somebody else goes without our own client certificate, which the API server would believe before a token."""

from __future__ import annotations

import asyncio
import json
import ssl
from pathlib import Path

import pytest

from treadle.changes.callers import client_of
from treadle.kube.auth import from_kubeconfig
from treadle.kube.transport import Client

CERTIFICATES = Path(__file__).parent / "certificates"


@pytest.mark.parametrize("bare", [True, False])
async def test_only_our_own_client_presents_our_certificate(tmp_path: Path, bare: bool) -> None:
    authority, certificate, key = (str(CERTIFICATES / name) for name in ("server.pem", "server.pem", "server-key.pem"))
    theirs = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    theirs.load_cert_chain(certificate, key)
    theirs.load_verify_locations(authority)
    theirs.verify_mode = ssl.CERT_OPTIONAL
    seen: list[tuple[bool, str]] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        token = next((line.partition(": ")[2] for line in head.splitlines() if line.startswith("Authorization")), "")
        seen.append((writer.get_extra_info("peercert") not in (None, {}), token))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        await writer.drain()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=theirs)
    port = server.sockets[0].getsockname()[1]
    user = {"client-certificate": certificate, "client-key": key}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "us",
        "clusters": [{"name": "c", "cluster": {"server": f"https://localhost:{port}", "insecure-skip-tls-verify": True}}],
        "users": [{"name": "us", "user": user}],
        "contexts": [{"name": "us", "context": {"cluster": "c", "user": "us"}}],
    }
    path = tmp_path / "kubeconfig"
    path.write_text(json.dumps(config))
    access = from_kubeconfig(str(path))
    async with client_of(access, "theirs") if bare else Client(access) as client:
        await client.request("GET", "/api")
    server.close()
    assert seen == [(not bare, "Bearer theirs" if bare else "")]
