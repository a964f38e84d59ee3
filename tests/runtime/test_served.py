"""What is served by the options, and that the document describes just that."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from treadle.controllers.ledger import Ledger
from treadle.core import Core
from treadle.kube.auth import Access
from treadle.kube.reviews import Reviews
from treadle.kube.transport import Client
from treadle.rest import plan, preemptions, state
from treadle.rest.asking import Asker
from treadle.rest.departed import Departed
from treadle.rest.preemptions import Preemptions
from treadle.rest.serving import Door
from treadle.runtime.queue_changes import QueueChanges
from treadle.runtime.rest import means_of
from treadle.runtime.served import Seen, Served
from treadle.runtime.service import Options

ALWAYS = {"/metrics", "/status", "/openapi/v3"}


async def served(*, rest: bool, page: bool, changes: bool) -> tuple[list[tuple[str, str]], dict[str, Any], list[str]]:
    """The methods and paths that are served, the document, and what a page is offered."""
    access, core = Access("http://127.0.0.1:1"), Core()
    async with Client(access) as client:
        options = Options(rest=rest, page=page)
        seen = Seen(
            state.Sources(lambda: core.view, str, lambda _: None),
            Preemptions(lambda: core.view),
            Departed(lambda: core.view),
            Ledger("treadle", print),
        )
        changing = QueueChanges(client, access, "treadle", "ns", "log") if changes else None
        one = Served(options, str, seen, changing)
        means = means_of(access, "treadle", seen.ledger, core, lambda: True)
        routes = one.routes(Door(Asker(Reviews(client)), str), client, means)
        return [(route.method.lower(), route.path.replace(":.+", "")) for route in routes], one.described(), sorted(one.offers)


@pytest.mark.parametrize(("rest", "page", "changes"), list(product((True, False), repeat=3)))
async def test_what_is_served_is_described_and_nothing_twice(*, rest: bool, page: bool, changes: bool) -> None:
    routes, document, _ = await served(rest=rest, page=page, changes=changes)
    told = sorted((method, path) for method, path in routes if path != "/" and not path.startswith("/static/"))
    described = ((method, path) for path, operations in document["paths"].items() for method in operations)
    assert told == sorted(one for one in described if one[1] not in ALWAYS)


async def test_the_page_has_what_it_asks_for_without_the_rest_and_is_told_what_else_there_is() -> None:
    routes, _, offers = await served(rest=False, page=True, changes=True)
    assert {state.PODS, preemptions.PREEMPTIONS, plan.PLAN, "/api/v1/history/runs", "/api/v1/stream"} <= {
        path for _, path in routes
    }
    assert (offers, ("post", "/api/v1/whatif") in routes) == ([], False)
    assert (await served(rest=True, page=True, changes=False))[2] == ["whatif"]
    assert (await served(rest=True, page=True, changes=True))[2] == ["changes", "whatif"]
