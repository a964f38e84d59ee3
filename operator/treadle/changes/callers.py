"""Clients of the API server that have nothing but the token of somebody who asks us: what they do is done with his rights, and stands under his name in the API server's audit log."""

from __future__ import annotations

from treadle.kube.auth import Access
from treadle.kube.transport import Client


def client_of(access: Access, token: str) -> Client:
    """Return a client for a token; none of our own credentials goes with it."""
    headers = {"Authorization": f"Bearer {token}"}
    return Client(
        Access(access.server, access.bare(), access.server_hostname, lambda: headers, namespace=access.namespace),
        user_agent="treadle/on-behalf",
    )
