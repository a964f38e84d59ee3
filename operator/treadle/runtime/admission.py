"""The webhook for opportunistic pods as a part of a running Treadle: its port, its certificate, and the caBundle that the API server trusts it by.

Every copy serves it, whether it leads or not: what it answers depends on the pod alone.
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
from treadle.web.gate import Limits
from treadle.web.server import serve

log = logging.getLogger(__name__)

LOOKED_AFTER_EVERY = 60.0
"""Seconds between two looks at the caBundle: whoever applies the configuration anew may empty it."""
TRIED_AGAIN_AFTER = 5.0
LIMITS = Limits(connections=512, connections_of_one=512, connecting=inf, requests=inf, body=MOST_BODY)
"""The API server is one client that asks as often as pods are made."""


@dataclass(frozen=True, slots=True)
class WebhookOptions:
    """Where the webhook is served (``host`` and ``port``), under which ``hosts`` the API server calls it, and the ``configuration`` that names it."""

    host: str
    port: int
    hosts: tuple[str, ...]
    configuration: str


class Webhook:
    """A webhook that is served. ``url`` says where; ``problem`` why the API server cannot trust it, empty if it can."""

    def __init__(self, client: Client, options: WebhookOptions, now: Callable[[], dt.datetime]) -> None:
        self.url = ""
        self.problem = "the caBundle has not been written yet"
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._client, self._options, self._now = client, options, now
        self._certificate = self._renewed()

    def _renewed(self) -> Certificate:
        certificate = make(self._options.hosts, self._now())
        load(self.tls, certificate)
        return certificate

    async def keep_trusted(self) -> None:
        """Keep our certificate valid, and in the caBundle, for ever."""
        while True:
            well = await self.look()
            await asyncio.sleep(LOOKED_AFTER_EVERY if well else TRIED_AGAIN_AFTER)

    async def look(self) -> bool:
        """Do what is due, and return whether all is well. A certificate that is due is replaced; what went wrong is said once."""
        now = self._now()
        fresh = make(self._options.hosts, now) if now >= self._certificate.renew_at else self._certificate
        try:
            written = await publish(self._client, self._options.configuration, fresh, now)
        except KubeError as error:
            problem = f"MutatingWebhookConfiguration {self._options.configuration}: {error}"
            if problem != self.problem:
                log.warning("opportunistic pods are not rewritten by the webhook: %s", problem)
            self.problem = problem
            return False
        if fresh is not self._certificate:  # served only when it is trusted
            self._certificate = fresh
            load(self.tls, fresh)
        if written:
            log.info("the caBundle of MutatingWebhookConfiguration %s has our certificate", self._options.configuration)
        self.problem = ""
        return True


def _utc() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


@asynccontextmanager
async def webhook(
    client: Client,
    options: WebhookOptions,
    scheduler_names: Callable[[], frozenset[str]],
    now: Callable[[], dt.datetime] = _utc,
) -> AsyncIterator[Webhook]:
    """Serve the webhook for the time of a ``with`` block. Raises ``OSError`` where it cannot listen."""
    hook = Webhook(client, options, now)
    async with serve(options.host, options.port, routes(scheduler_names), hook.tls, LIMITS) as url:
        hook.url = url
        yield hook
