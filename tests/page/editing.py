"""The page with what it needs to change queues: an API server that has them, what would be if, and changes of queues."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from core.builders import Scenario, limits
from page.serving import Shown
from rest.changes import GuardedApi
from rest.telling import listed
from treadle.api.identity import Source
from treadle.changes.log import Log
from treadle.controllers.ledger import Ledger
from treadle.core.model import Settings
from treadle.core.model.reservations import PlanSpec
from treadle.forecast.forward import Bounds
from treadle.forecast.what_if import Answer, Question, answer
from treadle.kube.auth import Access
from treadle.kube.transport import Client
from treadle.rest import manifest, queue_changes, what_if
from treadle.rest.changing import Changing
from treadle.rest.what_if import Means

QUEUES = {"root.data": {"fair": {"weight": 3}}, "root.data.etl": {"fair": {"maxResources": {"cpu": "40"}}}, "root.web": {}}


def limited() -> Scenario:
    """A department of which one queue is at its maximum, and a node with room."""
    s = Scenario().nodes(12, cpu=8, memory=32)
    s.queue("root").queue("root.data", weight=3.0).queue("root.web")
    s.queue("root.data.etl", maximum=limits(cpu="40"))
    s.wait(10.0).pods(60, "n", "root.data.etl", application="nightly", user="ann")
    s.confirm(s.plan())
    s.wait(1).plan()
    s.core.refresh_shares(s.now)
    return s


def by_capacity() -> tuple[Scenario, dict[str, dict[str, Any]]]:
    """A node under the capacity discipline of which one queue has its part and wants more; and what is written of the queues."""
    s, written = Scenario().nodes(2, cpu=8, memory=32), {}
    ledger = Ledger("treadle", s.tell)
    meta = {"uid": "u", "generation": 1, "resourceVersion": "1"}
    spec = {"discipline": "Capacity"}
    ledger.seen("Scheduler", {"kind": "Scheduler", "metadata": {"name": "treadle", **meta}, "spec": spec})
    for path, guaranteed, maximum in (("root.dev", "60%", "100%"), ("root.prod", "40%", "50%")):
        written[path] = {"capacity": {"guaranteed": guaranteed, "maximum": maximum}}
        ledger.seen("Queue", {"kind": "Queue", "metadata": {"name": path, **meta}, "spec": written[path]})
    s.wait(10.0).pods(14, "p", "root.prod", application="app", memory=0)
    s.confirm(s.plan())
    s.wait(1).plan()
    return s, written


EPOCH = 1_900_000_000
"""The beginning of the scenario in which reservations are asked for, in seconds since 1970: 17 March 2030, 17:46:40."""


def reservable() -> Scenario:
    """A queue that takes reservations, with eight cores."""
    s = Scenario(Settings(epoch=EPOCH)).nodes(2, cpu=8, memory=32)
    s.queue("root").queue("root.plan", plan=PlanSpec(), reserve=listed("*"), minimum=limits(cpu="8", memory="32Gi"))
    s.queue("root.web").wait(10.0).plan()
    s.core.refresh_shares(s.now)
    return s


@asynccontextmanager
async def editing(
    scenario: Scenario | None = None, queues: Mapping[str, Any] = QUEUES, discipline: str = "Fair"
) -> AsyncIterator[tuple[Shown, GuardedApi]]:
    """The page, served, and the API server behind it; whoever asks may do anything that that does not refuse."""
    api, shown = GuardedApi(), Shown(scenario or limited())
    await api.start()
    try:
        meta = {"apiVersion": "treadle.dev/v1alpha1"}
        api.create("namespaces", {"metadata": {"name": "treadle-system"}})
        api.create(
            "schedulers", {**meta, "kind": "Scheduler", "metadata": {"name": "treadle"}, "spec": {"discipline": discipline}}
        )
        for path, spec in queues.items():
            api.create("queues", {**meta, "kind": "Queue", "metadata": {"name": path}, "spec": spec})
        async with Client(Access(api.url)) as client:

            def client_of(token: str) -> Client:
                return Client(Access(api.url, headers=lambda: {"Authorization": f"Bearer {token}"}))

            async def asks(question: Question) -> Answer:
                s = shown.scenario
                return answer(s.core.facts(), s.core.state.settings, s.now, question, Bounds(max(question.seconds, 0.001)))

            changing = Changing(client_of, Log(client, "treadle-system", "changes", time.time), "treadle")
            shown.offers |= {"whatif", "changes"}
            shown.more += [
                *what_if.routes(
                    shown.door, shown.told, Means(changing, asks, Source.NAMESPACE, Ledger("treadle", print).reservation_of)
                ),
                *manifest.routes(shown.door, client_of),
                *queue_changes.routes(shown.door, changing),
            ]
            async with shown.served():
                yield shown, api
    finally:
        await api.stop()
