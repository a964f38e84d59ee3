"""The doors of a running Treadle: a port for probes, which anybody may ask and which says little, and one for all else, which asks who comes.

The second has ``/metrics``, ``/status``, ``/eta`` where forecasts are made, and YARN's REST where that is asked for.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from treadle.listening import is_loopback
from treadle.metrics.exporter import Samples, render
from treadle.web.gate import Gate, Limits
from treadle.web.guard import guarded
from treadle.web.server import answering, metrics_route, probe_routes, serve

if TYPE_CHECKING:
    import ssl

    from aiohttp import web

    from treadle.kube.reviews import Reviews

log = logging.getLogger(__name__)

P = TypeVar("P")
PROBES = Limits(connections=64, connections_of_one=32, body=0, arriving=5.0, leaving=5.0)


class CannotListen(Exception):
    """A port cannot be opened; the message says which and why."""


@dataclass(frozen=True, slots=True)
class Told:
    """What is told: why we should be restarted, why we cannot schedule (both empty if all is well), our state, our metrics, and our forecasts where any are made."""

    healthy: Callable[[], str]
    unready: Callable[[], Mapping[str, Any]]
    state: Callable[[], Mapping[str, Any]]
    metrics: Callable[[], Samples]
    forecasts: Callable[[], Mapping[str, Any]] | None = None


def listen_address(text: str) -> tuple[str, int]:
    """Return the host and the port of ``host:port``; an IPv6 address stands in brackets. Raises ``ValueError``."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535 or (":" in host and not host.startswith("[")):
        raise ValueError(f"{text!r} is not host:port, such as 0.0.0.0:8080, [::]:8080 or :8080")
    return host.removeprefix("[").removesuffix("]") or "0.0.0.0", int(port)  # noqa: S104 - what an absent host means


def open_routes(told: Told) -> list[web.RouteDef]:
    """Return the routes of metrics and the state, without a guard."""

    async def metrics() -> bytes:
        samples = told.metrics()
        return await asyncio.to_thread(render, samples)

    return [metrics_route(metrics), answering("/status", told.state)]


def routes_of(told: Told, reviews: Reviews, *, anonymous: bool) -> list[web.RouteDef]:
    """Return the routes of what is told to who may know it; with ``anonymous`` metrics and the state are told to anybody."""
    routes = open_routes(told)
    if not anonymous:
        routes = [guarded(route, reviews) for route in routes]
    if told.forecasts is not None:
        routes.append(guarded(answering("/eta", told.forecasts), reviews))
    return routes


class Doors:
    """The ports, until ``close``. ``url`` and ``probes_url`` say where they are, empty where there is none; ``gates`` count who comes, by the name of the door."""

    def __init__(self) -> None:
        self.url = self.probes_url = ""
        self.gates: dict[str, Gate] = {}
        self._ports = contextlib.AsyncExitStack()

    async def open_probes(self, listen: str, told: Told) -> None:
        """Serve the probes. Raises ``CannotListen``."""
        self.probes_url = await self._open(listen, probe_routes(told.healthy, told.unready), None, "probes", PROBES)

    async def open(self, listen: str, routes: list[web.RouteDef], tls: ssl.SSLContext | None) -> None:
        """Serve all else. Raises ``CannotListen``."""
        if tls is None and not is_loopback(listen_address(listen)[0]):
            log.warning("%s is served without TLS: whoever listens on the way can take the tokens that are sent there", listen)
        self.url = await self._open(listen, routes, tls, "service", Limits())

    async def _open(self, listen: str, routes: list[web.RouteDef], tls: ssl.SSLContext | None, door: str, limits: Limits) -> str:
        host, port = listen_address(listen)
        gate = self.gates[door] = Gate(limits)
        return await self.enter(serve(host, port, routes, tls, gate), f"on {listen}")

    async def enter(self, port: contextlib.AbstractAsyncContextManager[P], where: str) -> P:
        """Keep a port open until the end. Raises ``CannotListen``."""
        try:
            return await self._ports.enter_async_context(port)
        except OSError as error:
            raise CannotListen(f"cannot serve {where}: {error.strerror or error}") from error

    async def close(self) -> None:
        """Close all ports."""
        await self._ports.aclose()
