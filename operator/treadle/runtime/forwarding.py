"""How copies find and trust each other: whoever leads says in the Lease where it serves, and who stands by passes on to there what only the leader answers.

The Lease says where alone. Whom to trust there is known from what clients trust as well, so who can write the Lease and nothing else gets no tokens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from treadle.rest.forwarding import Forwarder, Trust

if TYPE_CHECKING:
    from treadle.kube.lease import Lease
    from treadle.runtime.tls import Files, SelfSigned


def forwarder_of(lease: Lease | None, certificate: Files | SelfSigned | None) -> Forwarder | None:
    """Return who passes requests on, None for a copy that is alone. ``certificate`` is what copies serve with, None in the clear."""
    if lease is None:
        return None
    trust = _in_the_clear if certificate is None else certificate.trust
    return Forwarder(lease.identity, lambda: lease.elsewhere, trust)


def served_at(address: str, url: str) -> str:
    """Return where other copies reach the port of a URL, as ``host:port``, by an IP address; empty if that is."""
    port = urlsplit(url).port
    return "" if not address or not port else f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


async def _in_the_clear(_again: bool) -> Trust:
    return Trust()
