"""What is served beside metrics and the state, by the options: the REST, changes of queues, the page, and the document that describes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from treadle import __version__
from treadle.rest import departed, history, plan, preemptions, state
from treadle.rest.document import Served as Described
from treadle.rest.document import document
from treadle.rest.past import Past
from treadle.rest.yarn_cluster import BASE
from treadle.runtime.page import page_routes
from treadle.runtime.rest import rest_routes

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from aiohttp import web

    from treadle.controllers.ledger import Ledger
    from treadle.kube.transport import Client
    from treadle.rest.forwarding import Forwarder
    from treadle.rest.serving import Door
    from treadle.rest.what_if import Means
    from treadle.runtime.queue_changes import QueueChanges


OWN = frozenset({"/", BASE, f"{BASE}/info"})
"""What each copy says of itself, beside the files of the page: as of a ResourceManager that stands by."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What the REST and the page both tell: what there is, which pods were asked to go and which ended, the objects that are known, and the history at a URL, empty for none."""

    told: state.Sources
    preempted: preemptions.Preemptions
    departed: departed.Departed
    ledger: Ledger
    history: str = ""

    def routes(self, door: Door) -> list[web.RouteDef]:
        """Return the routes of what is told by either and by nothing else."""
        return [
            *preemptions.routes(door, self.told, self.preempted),
            *departed.routes(door, self.told, self.departed),
            *plan.routes(door, self.told, self.ledger.entries),
            *history.routes(door, self.told, Past(self.history)),
        ]


class Wanted(Protocol):
    """Which of it is asked for, as the options of the service say."""

    @property
    def rest(self) -> bool:
        """Whether the REST is served."""
        ...

    @property
    def page(self) -> bool:
        """Whether the page is served."""
        ...

    @property
    def eta(self) -> bool:
        """Whether forecasts are made."""
        ...

    @property
    def history(self) -> str:
        """The URL of the history, empty for none."""
        ...


@dataclass(frozen=True, slots=True)
class Served:
    """What is served by the options. ``unready`` says why nobody can be told anything yet, ``changes`` makes changes of queues, None where nobody may, and ``forwarder`` passes on what the leader is to answer, None for a copy that is alone."""

    options: Wanted
    unready: Callable[[], str]
    seen: Seen
    changes: QueueChanges | None
    forwarder: Forwarder | None = None

    def routes(self, door: Door, client: Client, means: Means) -> list[web.RouteDef]:
        """Return the routes. ``client`` has connections of its own, ``means`` answer what would be if."""
        options, seen = self.options, self.seen
        routes: list[web.RouteDef] = []
        if options.rest:
            routes += rest_routes(client, door, seen.ledger, options.history, seen.told, means)
            if self.changes is not None:
                routes += self.changes.routes(door)
        if options.page:
            routes += page_routes(door, self.unready, seen.told, options.history, self.offers)
            if not options.rest:
                routes += state.pod_routes(door, seen.told)
        if options.page or options.rest:
            routes += seen.routes(door)
        return [self._led(route) for route in routes]

    def _led(self, route: web.RouteDef) -> web.RouteDef:
        """Return a route that the leader answers, unless each copy does by itself."""
        own = route.path in OWN or route.path.startswith("/static/")
        return route if own or self.forwarder is None else self.forwarder.passing(route)

    @property
    def offers(self) -> frozenset[str]:
        """What the page may offer beside showing."""
        return frozenset(name for name, there in (("whatif", self.options.rest), ("changes", self._changes)) if there)

    @property
    def _changes(self) -> bool:
        return self.options.rest and self.changes is not None

    def described(self) -> dict[str, Any]:
        """Return the document."""
        options = self.options
        parts = Described(rest=options.rest, page=options.page, changes=self._changes, forecasts=options.eta)
        return document(parts, __version__)
