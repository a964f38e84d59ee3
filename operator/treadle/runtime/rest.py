"""The REST as a part of a running Treadle. Every copy serves what writes, whether it leads or not, since whoever leads decides it; what there is the leader tells alone."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from treadle import __version__
from treadle.changes.callers import client_of
from treadle.rest import explaining, manifest, reservations, state, timeline, what_if, yarn_cluster, yarn_history
from treadle.rest.changing import Judging
from treadle.rest.objects import Objects
from treadle.rest.past import Past
from treadle.runtime.solver import Highs
from treadle.runtime.what_if import WhatIf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from aiohttp import web

    from treadle.controllers.ledger import Ledger
    from treadle.core import Core
    from treadle.kube.auth import Access
    from treadle.kube.transport import Client
    from treadle.rest.serving import Door


def rest_routes(
    client: Client, door: Door, ledger: Ledger, kept: str, told: state.Sources, means: what_if.Means
) -> list[web.RouteDef]:
    """Return the routes. ``kept`` is the URL of the history, empty for none. ``client`` has connections of its own, so that nobody who decides waits for what is asked here."""
    about, past = about_of(ledger), Past(kept)
    return [
        *reservations.routes(door, Objects(client), ledger.entries),
        *_estimator(door, kept),
        *state.routes(door, told),
        *explaining.routes(door, told),
        *what_if.routes(door, told, means),
        *manifest.routes(door, means.judging.client_of),
        *yarn_cluster.routes(door, told, about),
        *yarn_history.routes(door, told, about, past),
        *timeline.routes(door, told, about, past),
    ]


def about_of(ledger: Ledger) -> yarn_cluster.About:
    """Return what YARN's clients are told of this copy, and of applications that are over."""

    def objects() -> Iterator[tuple[str, Mapping[str, Any], str]]:
        for (kind, namespace, name), entry in ledger.entries.items():
            if kind == "Application":
                yield f"{namespace}/{name}", entry.status, entry.created

    return yarn_cluster.About(round(time.time() * 1000), __version__, time.time, objects)


def means_of(access: Access, scheduler: str, ledger: Ledger, core: Core, may_ask: Callable[[], bool]) -> what_if.Means:
    """Return with what it is answered what would be if. ``scheduler`` is the name of the Scheduler, ``may_ask`` says whether the core decides anything at present."""
    would = WhatIf(core.telling, lambda: core.view, core.state.settings, may_ask)
    return what_if.Means(
        Judging(lambda token: client_of(access, token), scheduler), would.ask, ledger.users, ledger.reservation_of
    )


def _estimator(door: Door, history: str) -> list[web.RouteDef]:
    from treadle.history.estimates import Estimates  # with the library of the history
    from treadle.rest import estimator

    solver = Highs()
    estimates = Estimates(history, solver) if history else None
    return estimator.routes(door, estimates, lambda: solver.problem)
