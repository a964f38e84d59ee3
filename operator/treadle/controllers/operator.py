"""kopf, in a thread and a loop of its own, watching our four kinds and handing on what it sees.

In a thread, since kopf takes over signals and, at its end, cancels every task of the loop it runs in. Only ``on.event`` handlers and
storages that store nothing: no finalizer, no annotation, no patch of kopf's own. After a reconnect kopf reports no deletions,
so the runtime lists the kinds itself from time to time.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any

import aiohttp
import kopf

from treadle.api.labels import GROUP, VERSION
from treadle.api.objects import PLURALS
from treadle.kube.auth import Access
from treadle.kube.errors import CredentialsError

log = logging.getLogger(__name__)

Deliver = Callable[[str, str | None, Mapping[str, Any]], None]
"""``(kind, event type or None, object)``; called in kopf's thread."""
RELOGIN_PAUSE = 1.0
"""Seconds before credentials that were refused are replaced: a server that refuses all of them is not asked in a tight loop."""


class _NoDiffBase(kopf.DiffBaseStorage):
    def fetch(self, **_: Any) -> None:
        return None

    def build(self, **_: Any) -> Any:
        return {}

    def store(self, **_: Any) -> None:
        return None


class _NoProgress(kopf.ProgressStorage):
    def fetch(self, **_: Any) -> None:
        return None

    def store(self, **_: Any) -> None:
        return None

    def purge(self, **_: Any) -> None:
        return None

    def touch(self, **_: Any) -> None:
        return None

    def clear(self, *, essence: Any, **_: Any) -> Any:
        return essence


class Operator:
    """The kopf part; ``start`` returns at once and ``stop`` waits for the thread."""

    def __init__(self, access: Access, deliver: Deliver) -> None:
        self._access = access
        self._deliver = deliver
        self._stop = threading.Event()
        self._logins = 0
        self._thread = threading.Thread(target=self._run, name="controllers", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

    def stop(self, timeout: float = 10.0) -> None:
        """End the thread."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout)

    def _run(self) -> None:
        try:
            asyncio.run(
                kopf.operator(
                    registry=self._registry(),
                    settings=_settings(),
                    standalone=True,
                    clusterwide=True,
                    stop_flag=self._stop,
                )
            )
        except Exception:
            log.exception("the controllers ended")

    def _registry(self) -> kopf.OperatorRegistry:
        registry = kopf.OperatorRegistry()
        kopf.on.login(registry=registry)(self._login)
        for kind, plural in PLURALS.items():
            handler: Any = self._handler(kind)
            kopf.on.event(GROUP, VERSION, plural, registry=registry, id=f"see-{kind.lower()}")(handler)
        return registry

    def _handler(self, kind: str) -> Callable[..., None]:
        def see(type: str | None, body: kopf.Body, **_: Any) -> None:  # noqa: A002 - kopf names its arguments
            self._deliver(kind, type, dict(body))

        return see

    async def _login(self, **_: Any) -> kopf.AiohttpSession:
        """Give kopf a session of our own making: the TLS settings are ours, and after a 401 the credentials are fresh ones."""
        access = self._access
        if self._logins:
            await asyncio.sleep(RELOGIN_PAUSE)
            try:
                await asyncio.to_thread(access.renew)
            except CredentialsError as error:
                log.warning("credentials of the controllers cannot be renewed: %s", error)
        self._logins += 1
        connector = aiohttp.TCPConnector(limit=0, ssl=access.tls or True)
        return kopf.AiohttpSession(
            server=access.server,
            aiohttp_session=aiohttp.ClientSession(connector=connector, headers=access.headers()),
            default_namespace=access.namespace,
        )


def _settings() -> kopf.OperatorSettings:
    settings = kopf.OperatorSettings()
    settings.posting.enabled = False
    settings.scanning.disabled = True
    settings.networking.error_backoffs = [0.2, 0.5, 1, 2, 3]
    settings.networking.connect_timeout = 10
    settings.queueing.idle_timeout = 1.0
    settings.persistence.diffbase_storage = _NoDiffBase()
    settings.persistence.progress_storage = _NoProgress()
    return settings
