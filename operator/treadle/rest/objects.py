"""Reservations as the API server has them: made, read, replaced and deleted for somebody who may, and watched until they are decided on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from treadle.api.conditions import NOT_DECIDED
from treadle.api.labels import API_VERSION
from treadle.api.objects import InvalidObject, parse
from treadle.api.reservation import Reservation
from treadle.controllers.reservations import READY, decision_of
from treadle.core.model.reservations import KEPT, Promise
from treadle.kube.transport import Client, Response
from treadle.rest.answers import Refused

PATIENCE = 10.0
"""Seconds for which a decision is waited for."""
SHORTEST, LONGEST = 0.05, 0.5
"""Seconds between two looks, which become longer."""
TRIES = 3
"""How often an object is read anew that somebody else is writing to."""


@dataclass(frozen=True, slots=True)
class Found:
    """An object, as it is and as it reads; ``promise`` is what it is promised."""

    raw: dict[str, Any]
    model: Reservation
    promise: Promise | None

    @property
    def queue(self) -> str:
        """The queue that has it: that of its promise, else the one that it asks for."""
        return self.model.spec.queue if self.promise is None else self.promise.queue


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was decided on the version that was written: accepted, or refused with ``words``; neither if it was not decided in time."""

    accepted: bool
    refused: bool
    words: str
    raw: dict[str, Any]


def found(raw: dict[str, Any]) -> Found | None:
    """Return an object as it reads, None where it makes no sense."""
    try:
        model = parse("Reservation", raw)
    except InvalidObject:
        return None
    decided = decision_of(raw.get("status") or {})
    return Found(raw, model, None if decided is None else decided.promise)


class Objects:
    """The Reservations of all namespaces. ``now`` and ``pause`` are a clock and its waiting, both in seconds."""

    def __init__(
        self,
        client: Client,
        pause: Callable[[float], Awaitable[object]] = asyncio.sleep,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Keep whom to ask."""
        self._client, self._pause, self._now = client, pause, now

    async def get(self, namespace: str, name: str) -> dict[str, Any] | None:
        """Return an object, None if there is none. Raises ``KubeError``."""
        answer = await self._client.request("GET", _path(namespace, name))
        return None if answer.status == 404 else _read(answer)

    async def list(self, namespace: str) -> list[dict[str, Any]]:
        """Return the objects of a namespace. Raises ``KubeError``."""
        items: list[dict[str, Any]] = _read(await self._client.request("GET", _path(namespace)))["items"]
        return items

    async def create(self, body: Mapping[str, Any]) -> dict[str, Any] | None:
        """Make an object and return it, None if there is one of its name. Raises ``Refused`` where the server's rules refuse it, and ``KubeError``."""
        answer = await self._client.request("POST", _path(body["metadata"]["namespace"]), body)
        return None if answer.status == 409 else _read(answer)

    async def replace(self, body: Mapping[str, Any]) -> dict[str, Any] | None:
        """Write an object in the place of the version that was read and return it, None if that is not the present one. Raises as ``create``."""
        meta = body["metadata"]
        answer = await self._client.request("PUT", _path(meta["namespace"], meta["name"]), body)
        return None if answer.status == 409 else _read(answer)

    async def delete(self, raw: Mapping[str, Any], *, unchanged: bool = False) -> bool:
        """Delete an object that was read, and return whether it is gone by that; ``unchanged``: only in that version. Raises ``KubeError``."""
        meta = raw["metadata"]
        conditions = {"uid": meta["uid"], **({"resourceVersion": meta["resourceVersion"]} if unchanged else {})}
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": conditions}
        answer = await self._client.request("DELETE", _path(meta["namespace"], meta["name"]), body)
        if answer.status in {404, 409}:
            return False
        _read(answer)
        return True

    async def decided(self, raw: dict[str, Any]) -> Outcome:
        """Return what became of a version that was written, or what is known of it when patience is at its end. Raises ``KubeError``."""
        meta, until, pause = raw["metadata"], self._now() + PATIENCE, SHORTEST
        while True:
            outcome = outcome_of(raw, meta["generation"])
            if outcome.accepted or outcome.refused or self._now() + pause >= until:
                return outcome
            await self._pause(pause)
            pause = min(pause * 1.5, LONGEST)
            read = await self.get(meta["namespace"], meta["name"])
            if read is None or read["metadata"]["uid"] != meta["uid"]:
                return Outcome(accepted=False, refused=True, words="it was deleted before anything was decided", raw=raw)
            raw = read


def outcome_of(raw: dict[str, Any], generation: int) -> Outcome:
    """Return what an object says of a version of it, or of a later one."""
    status = raw.get("status") or {}
    decided = decision_of(status)
    ready: dict[str, Any] = next((one for one in status.get("conditions") or () if one.get("type") == READY), {})
    words = f"{ready.get('reason', '')}: {ready.get('message', '')}".strip(": ").removesuffix(KEPT)
    if decided is not None and decided.generation >= generation:
        kept = KEPT if decided.promise is not None else ""
        return Outcome(decided.accepted, not decided.accepted, "" if decided.accepted else words + kept, raw)
    # What makes no sense, or asks for a queue that takes none, is not decided on, and waits for an edit.
    told = (
        ready.get("status") == "False" and ready.get("observedGeneration", 0) >= generation and ready.get("reason") != NOT_DECIDED
    )
    return Outcome(accepted=False, refused=told, words=words, raw=raw)


def _path(namespace: str, name: str = "") -> str:
    return f"/apis/{API_VERSION}/namespaces/{namespace}/reservations{f'/{name}' if name else ''}"


def _read(answer: Response) -> dict[str, Any]:
    if answer.status in {400, 404, 422}:
        raise Refused(404 if answer.status == 404 else 400, answer.error().message)
    if answer.status >= 400:
        raise answer.error()
    body: dict[str, Any] = answer.json()
    return body
