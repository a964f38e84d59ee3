"""How much of a port anybody may have: connections in all and for each address, and requests a second.

Whoever asks for more is turned away before it costs anything: a connection before its TLS handshake, a request before its body is read.
"""

from __future__ import annotations

import math
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from ipaddress import IPv6Address, IPv6Network

MOST_KNOWN = 4096
"""Whoever asked last stays known, so many of them; who is forgotten begins anew with a full burst."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a port bears. Times are in seconds, sizes in bytes, rates in a second; a burst is how much may come at once."""

    connections: int = 192
    connections_of_one: int = 64
    """Of one address."""
    connecting: float = 20.0
    """New connections of one address."""
    connecting_burst: int = 100
    requests: float = 50.0
    """Of one address."""
    requests_burst: int = 150
    user_requests: float = 20.0
    """Of one user, whatever the addresses."""
    user_requests_burst: int = 100
    body: int = 1 << 20
    """Of a request."""
    headers: int = 8190
    """Of one line of a request's head."""
    header_lines: int = 64
    arriving: float = 20.0
    """For the head of a request to arrive, since the connection or the answer before it, and again for its body."""
    leaving: float = 30.0
    """For an answer to be taken."""
    handshake: float = 5.0


def peer_of(address: str) -> str:
    """Return whom an address stands for: itself, or for IPv6 its network of 64 bits, of which whoever has one address has all."""
    if ":" not in address:
        return address
    found = IPv6Address(address.partition("%")[0])
    return str(found.ipv4_mapped or IPv6Network((found, 64), strict=False))


class Buckets:
    """Token buckets, one for each of whoever asks. ``rate`` is in a second, ``burst`` what a full one holds."""

    def __init__(self, rate: float, burst: int, now: Callable[[], float] = time.monotonic) -> None:
        """Know nobody yet."""
        self._rate, self._burst, self._now = rate, float(burst), now
        self._known: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()

    def take(self, who: Hashable) -> int:
        """Take one, and return 0; where there is none return after how many whole seconds there will be."""
        if math.isinf(self._rate):
            return 0
        now = self._now()
        left, at = self._known.pop(who, (self._burst, now))
        left = min(self._burst, left + (now - at) * self._rate)
        taken = left >= 1.0
        self._known[who] = (left - taken, now)
        if len(self._known) > MOST_KNOWN:
            self._known.popitem(last=False)
        return 0 if taken else max(1, math.ceil((1.0 - left) / self._rate))


class Gate:
    """Counts who is inside of one port. ``turned_away`` counts connections and requests that were refused, by cause."""

    def __init__(self, limits: Limits, now: Callable[[], float] = time.monotonic) -> None:
        """Begin with nobody inside."""
        self.limits = limits
        self.turned_away: Counter[str] = Counter()
        self._inside: Counter[str] = Counter()
        self._connecting = Buckets(limits.connecting, limits.connecting_burst, now)
        self._requests = Buckets(limits.requests, limits.requests_burst, now)
        self._users = Buckets(limits.user_requests, limits.user_requests_burst, now)

    @property
    def inside(self) -> int:
        """How many connections there are."""
        return self._inside.total()

    @property
    def full(self) -> bool:
        """Whether nobody is let in at all."""
        return self.inside >= self.limits.connections

    def enter(self, peer: str) -> bool:
        """Let a connection of an address in, if it may come; each that was is to ``leave``."""
        if self._connecting.take(peer):
            self.turned_away["connecting"] += 1
            return False
        if self._inside[peer] >= self.limits.connections_of_one or self.full:
            self.turned_away["connections"] += 1
            return False
        self._inside[peer] += 1
        return True

    def leave(self, peer: str) -> None:
        """Count a connection off."""
        self._inside[peer] -= 1
        if self._inside[peer] <= 0:
            del self._inside[peer]

    def asks(self, peer: str) -> int:
        """Return 0 where an address may ask, else after how many seconds."""
        return self._counted(self._requests.take(peer))

    def user_asks(self, name: str) -> int:
        """Return 0 where a user may ask, else after how many seconds."""
        return self._counted(self._users.take(name))

    def _counted(self, wait: int) -> int:
        self.turned_away["requests"] += wait > 0
        return wait
