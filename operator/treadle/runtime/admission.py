"""The webhooks as a part of a running Treadle: their port, its certificate, and the caBundles that the API server trusts it by.

Every copy serves them, whether it leads or not: what it answers depends on what is asked alone.
"""

import asyncio
import datetime as dt
import logging
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from math import inf

from treadle.admission.bundle import publish
from treadle.admission.certificates import Certificate, load, make
from treadle.admission.review import MOST_BODY, routes
from treadle.kube.errors import KubeError
from treadle.kube.transport import Client
from treadle.web.gate import Gate, Limits
from treadle.web.server import serve

log = logging.getLogger(__name__)

LOOKED_AFTER_EVERY = 60.0
"""Seconds between two looks at the caBundle: whoever applies the configuration anew may empty it."""
TRIED_AGAIN_AFTER = 5.0
KNOWN_BEFORE = dt.timedelta(minutes=10)
"""How long a fresh certificate stands in a caBundle before it is served: each API server sees the change by a watch, and refuses what it cannot have stamped."""
LIMITS = Limits(connections=512, connections_of_one=512, connecting=inf, requests=inf, body=MOST_BODY)
"""The API server is one client that asks as often as pods are made."""


@dataclass(frozen=True, slots=True)
class WebhookOptions:
    """Where the webhooks are served (``host`` and ``port``), and under which ``hosts`` the API server calls them.

    ``configuration`` is the MutatingWebhookConfiguration for opportunistic pods, ``stamps`` that for stamps of who made an object; empty where there is none.
    """

    host: str
    port: int
    hosts: tuple[str, ...]
    configuration: str
    stamps: str = ""


class Webhook:
    """The webhooks as they are served. ``url`` says where; ``problem`` why the API server cannot trust them, empty if it can.

    ``trusted`` says whether what has to be stamped may come to this copy: its certificate has been published for it, or nothing has to be stamped.
    """

    def __init__(self, client: Client, options: WebhookOptions, now: Callable[[], dt.datetime]) -> None:
        self.url = ""
        self.gate = Gate(LIMITS)
        self.problem = "the caBundle has not been written yet"
        self.trusted = not options.stamps
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._client, self._options, self._now = client, options, now
        self._next: tuple[Certificate, dt.datetime] | None = None
        """A fresh certificate, and from when on it may be served: never, until it has been published."""
        self._serve(make(options.hosts, now()))

    def _serve(self, certificate: Certificate) -> None:
        load(self.tls, certificate)
        self._certificate, self._next = certificate, None

    @property
    def ends_at(self) -> dt.datetime:
        """When the certificate that is served ends."""
        return self._certificate.ends_at

    async def keep_trusted(self) -> None:
        """Keep our certificate valid, and in the caBundles, for ever."""
        while True:
            well = await self.look()
            await asyncio.sleep(LOOKED_AFTER_EVERY if well else TRIED_AGAIN_AFTER)

    async def look(self) -> bool:
        """Do what is due, and return whether all is well. A certificate that is due is replaced by one that is known; what went wrong is said once."""
        now = self._now()
        if self._next is None and now >= self._certificate.renew_at:
            self._next = make(self._options.hosts, now), dt.datetime.max.replace(tzinfo=dt.UTC)
        if self._next is not None and now >= self._next[1]:
            self._serve(self._next[0])
        ours = (self._certificate, *([self._next[0]] if self._next is not None else []))
        problems = [
            await self._published(name, ours, now) for name in (self._options.configuration, self._options.stamps) if name
        ]
        problem = "; ".join(filter(None, problems))
        if problem and problem != self.problem:
            log.warning("the API server does not trust our webhooks: %s", problem)
        self.problem = problem
        self.trusted = self.trusted or not problems[-1]  # the last is that for stamps
        if self._next is not None and not problem:
            fresh, served_from = self._next
            self._next = fresh, min(served_from, now + KNOWN_BEFORE)
        return not problem

    async def _published(self, name: str, ours: tuple[Certificate, ...], now: dt.datetime) -> str:
        """Put certificates into a configuration, and return why that cannot be."""
        try:
            written = [await publish(self._client, name, one, now) for one in ours]
        except KubeError as error:
            return f"MutatingWebhookConfiguration {name}: {error}"
        if any(written):
            log.info("the caBundle of MutatingWebhookConfiguration %s has our certificate", name)
        return ""


def _utc() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


@asynccontextmanager
async def webhook(
    client: Client,
    options: WebhookOptions,
    scheduler_names: Callable[[], frozenset[str]],
    now: Callable[[], dt.datetime] = _utc,
) -> AsyncIterator[Webhook]:
    """Serve the webhooks for the time of a ``with`` block. Raises ``OSError`` where it cannot listen."""
    hook = Webhook(client, options, now)
    async with serve(options.host, options.port, routes(scheduler_names), hook.tls, hook.gate) as url:
        hook.url = url
        yield hook
