"""The REST as a part of a running Treadle. Every copy serves what writes, whether it leads or not, since whoever leads decides it; what there is the leader tells alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.rest import explaining, reservations, state
from treadle.rest.objects import Objects
from treadle.runtime.solver import Highs

if TYPE_CHECKING:
    from aiohttp import web

    from treadle.controllers.ledger import Ledger
    from treadle.kube.transport import Client
    from treadle.rest.serving import Door


def rest_routes(client: Client, door: Door, ledger: Ledger, history: str, told: state.Sources) -> list[web.RouteDef]:
    """Return the routes. ``history`` is the URL of the history, empty for none. ``client`` has connections of its own, so that nobody who decides waits for what is asked here."""
    return [
        *reservations.routes(door, Objects(client), ledger.entries),
        *_estimator(door, history),
        *state.routes(door, told),
        *explaining.routes(door, told),
    ]


def _estimator(door: Door, history: str) -> list[web.RouteDef]:
    from treadle.history.estimates import Estimates  # with the library of the history
    from treadle.rest import estimator

    solver = Highs()
    estimates = Estimates(history, solver) if history else None
    return estimator.routes(door, estimates, lambda: solver.problem)
