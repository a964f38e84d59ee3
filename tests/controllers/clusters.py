"""A ledger that feeds a core, for tests of what statuses say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from controllers.bodies import Json, Server
from core.builders import a_node, a_pod
from treadle.api.identity import Source
from treadle.controllers.ledger import Ledger
from treadle.controllers.status import status_of
from treadle.core import Core
from treadle.core.effects import Bind
from treadle.core.events import BindDone, NodeSeen, PodSeen

NOW, LATER = "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z"


class Cluster:
    """A ledger that feeds a core, as the service wires them."""

    def __init__(self, users: Source = Source.NAMESPACE) -> None:
        self.core = Core(validate=True)
        self.server = Server()
        self.ledger = Ledger("treadle", lambda event: self.core.handle(event, 0.0), users)
        self.core.handle(NodeSeen(a_node("n", cpu=10, memory=100)), 0.0)
        self.bodies: dict[str, Json] = {}

    def create(self, kind: str, name: str, spec: Json | None = None, namespace: str = "") -> None:
        self.bodies[name] = self.server.create(kind, name, spec, namespace=namespace)
        self.ledger.seen(kind, self.bodies[name])

    def edit(self, name: str, spec: Json) -> None:
        body = self.bodies[name] = self.server.edit(self.bodies[name], spec)
        self.ledger.seen(body["kind"], body)

    def delete(self, kind: str, name: str, namespace: str = "") -> None:
        self.ledger.gone(kind, namespace, name)

    def pod(self, name: str, **fields: Any) -> None:
        self.core.handle(PodSeen(a_pod(name, **fields)), 0.0)

    def plan(self) -> None:
        for effect in self.core.plan(1.0):
            if not isinstance(effect, Bind):
                continue
            self.core.handle(BindDone(effect.uid), 1.0)
            spec = self.core.state.pods[effect.uid].spec
            self.core.handle(PodSeen(replace(spec, node=effect.node)), 1.0)

    def status(self, kind: str, name: str, namespace: str = "", now: str = NOW, failing: str = "") -> Json:
        self.core.refresh_shares()
        return status_of(self.ledger.entries[kind, namespace, name], self.core.view, "treadle", now, failing=failing)

    def ready(self, kind: str, name: str, namespace: str = "") -> tuple[str, str, str]:
        return condition(self.status(kind, name, namespace), "Ready")


def condition(status: Json, kind: str) -> tuple[str, str, str]:
    return next((one["status"], one["reason"], one["message"]) for one in status["conditions"] if one["type"] == kind)
