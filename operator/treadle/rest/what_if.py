"""What would be if: ``POST /api/v1/whatif`` of a pod, or several like it, of a reservation, or of an edit of queues, to whoever may make it.

The API server judges it first, by a dry run with the token of whoever asks, so that nobody is told anything of what he may not do, and what is looked at is what would be there. Nothing is written.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Final, Protocol

import msgspec
from aiohttp import web

from treadle.api.common import DNS_LABEL
from treadle.api.identity import Source
from treadle.api.labels import API_VERSION
from treadle.api.objects import InvalidObject
from treadle.changes.events import events_of
from treadle.controllers.reservations import alternative, intervals
from treadle.core.errors import InvalidSpec
from treadle.forecast.what_if import Answer, Line, Question
from treadle.kube import translate, wire
from treadle.rest import forms
from treadle.rest.answers import Refused, answer
from treadle.rest.asking import namespace_named, only
from treadle.rest.lines import Quantities, quantities
from treadle.rest.queue_changes import NewChange, steps_of
from treadle.rest.sight import Sight
from treadle.web.guard import token_of

if TYPE_CHECKING:
    from treadle.core.model import PodSpec
    from treadle.core.model.reservations import Decision, ReservationSpec
    from treadle.kube.reviews import User
    from treadle.kube.transport import Response
    from treadle.rest.changing import Judging
    from treadle.rest.serving import Door
    from treadle.rest.sight import Sees
    from treadle.rest.state import Sources

WHAT_IF = "/api/v1/whatif"
MOST_PODS: Final = 500
LONGEST: Final = 3600
"""Seconds that may be looked ahead."""
NAME: Final = rf"{DNS_LABEL}(\.{DNS_LABEL})*"
"""The name of an object."""
MOST_TOLD: Final = 500
"""Pods of one kind that are named in an answer."""
_OWN: Final = frozenset({"name", "generateName", "namespace", "labels", "annotations", "ownerReferences"})
"""What of a pod's metadata is looked at; the rest is filled in by the API server, and is passed over."""


class Asked(msgspec.Struct, forbid_unknown_fields=True):
    """A pod, ``count`` of it, a Reservation, or an edit of queues as ``/api/v1/queue-changes`` takes it; and how many seconds are looked ahead."""

    pod: dict[str, Any] | None = None
    reservation: dict[str, Any] | None = None
    count: Annotated[int, msgspec.Meta(ge=1, le=MOST_PODS)] = 1
    apply: list[dict[str, Any]] = []
    delete: list[str] = []
    seconds: Annotated[int, msgspec.Meta(ge=0, le=LONGEST)] = 300


class Then(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """A pod, and what would become of it: ``after`` so many seconds, absent for one that waits; ``asked``: it is one that was asked about."""

    namespace: str
    name: str
    application: str
    queue: str = ""
    node: str = ""
    after: float | msgspec.UnsetType = msgspec.UNSET
    reason: str = ""
    message: str = ""
    asked: bool = False


class Others(msgspec.Struct, forbid_unknown_fields=True):
    """How many pods are not named, since they may not be seen or are too many."""

    placed: int
    waiting: int
    preempted: int


class Has(msgspec.Struct, forbid_unknown_fields=True):
    """The fair share of a queue, or what it is guaranteed, and what it uses."""

    share: Quantities
    used: Quantities


class Changed(msgspec.Struct, forbid_unknown_fields=True):
    """A queue that would have another share, or use something else, at the end of the seconds that were looked ahead."""

    queue: str
    before: Has
    after: Has


class NotInForce(msgspec.Struct, forbid_unknown_fields=True):
    """A queue that would not be in force as it is written, and why."""

    queue: str
    message: str


class Decided(msgspec.Struct, forbid_unknown_fields=True):
    """What would be decided on a reservation: the intervals and alternatives are as in its status, ``reason`` and ``message`` are of one that would be refused. ``kept`` is what was promised before to one that is there, and would stand."""

    accepted: bool
    queue: str
    allocations: list[dict[str, Any]]
    alternatives: list[dict[str, Any]]
    reason: str
    message: str
    kept: list[dict[str, Any]] | msgspec.UnsetType = msgspec.UNSET


class Would(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """What would be different; ``stopped`` is what bound was met before all was known, empty if all is. ``decided`` is there where a reservation is asked about, and it would be decided on."""

    placed: list[Then]
    waiting: list[Then]
    preempted: list[Then]
    others: Others
    queues: list[Changed]
    not_in_force: list[NotInForce]
    stopped: str
    decided: Decided | msgspec.UnsetType = msgspec.UNSET


class Unanswered(Exception):
    """A question that is not answered, with why, and after how many seconds it may be asked again."""

    def __init__(self, message: str, wait: int) -> None:
        """Keep what is told."""
        super().__init__(message)
        self.wait = wait


class Asks(Protocol):
    """Who answers questions; raises ``Unanswered``."""

    def __call__(self, question: Question, /) -> Awaitable[Answer]:
        """Return what would be."""
        ...


@dataclass(frozen=True, slots=True)
class Means:
    """With what questions are answered: who judges edits, who looks ahead, what says whose a pod is, and what a Reservation means (raises ``InvalidObject`` and ``InvalidSpec``)."""

    judging: Judging
    asks: Asks
    users: Source
    reservation_of: Callable[[Mapping[str, Any]], ReservationSpec]


def routes(door: Door, sources: Sources, means: Means) -> list[web.RouteDef]:
    """Return the routes."""
    return [web.post(WHAT_IF, door(WhatIf(Sight(door.asker, sources.view), sources, means).ask))]


class WhatIf:
    """Answers the requests. Use ``routes``."""

    def __init__(self, sight: Sight, sources: Sources, means: Means) -> None:
        """Keep what is told to whom, and by what."""
        self._sight, self._sources, self._means = sight, sources, means

    async def ask(self, request: web.Request, user: User) -> web.Response:
        """Return what would be different."""
        only(request)
        asked = forms.read(await request.read(), Asked)
        edits = bool(asked.apply or asked.delete)
        if edits + (asked.pod is not None) + (asked.reservation is not None) != 1:
            raise Refused(400, "the body is to have either a pod, a reservation, or queues to apply or delete")
        if asked.pod is None and asked.count != 1:
            raise Refused(400, f"count: {asked.count} is of pods, and the body has none")
        self._sources.check_leads()
        if asked.pod is not None:
            question = await self._pods(request, user, asked, asked.pod)
        elif asked.reservation is not None:
            question = await self._reservation(request, user, asked.reservation)
        else:
            question = await self._edits(request, asked)
        sees = await self._sight.of_queues(user)
        try:
            found = await self._means.asks(question)
        except Unanswered as error:
            raise Refused(503, str(error), wait=error.wait) from None
        return answer(_told(found, sees))

    async def _edits(self, request: web.Request, asked: Asked) -> Question:
        judging = self._means.judging
        async with judging.of(request) as (client, found):
            steps = steps_of(NewChange(asked.apply, asked.delete), found)
            await judging.judge(client, found, steps)
        events = events_of(found.queues, found.scheduler, judging.scheduler, steps)
        paths = tuple(dict.fromkeys(step.name for step in steps if step.operation != "Delete"))
        return Question((), events, paths, float(asked.seconds))

    async def _pods(self, request: web.Request, user: User, asked: Asked, pod: dict[str, Any]) -> Question:
        name, made = await self._tried(
            request, user, "pod", {"apiVersion": "v1", "kind": "Pod", **pod}, "/api/v1/namespaces/{}/pods"
        )
        names = self._sources.view().names
        scheduler = (made.get("spec") or {}).get("schedulerName", "")
        if scheduler not in names:
            raise Refused(400, f"pod.spec.schedulerName: {scheduler!r} is not of this scheduler; allowed are {', '.join(names)}")
        return Question(tuple(self._copies(made, name, asked.count)), seconds=float(asked.seconds))

    async def _reservation(self, request: web.Request, user: User, body: dict[str, Any]) -> Question:
        sent = {"apiVersion": API_VERSION, "kind": "Reservation", **body}
        path = f"/apis/{API_VERSION}/namespaces/{{}}/reservations"
        made = await self._edited(request, user, sent, path)
        if made is None:
            name, made = await self._tried(request, user, "reservation", sent, path)
            made["metadata"]["name"] = name
        try:
            return Question(seconds=0.0, reservation=self._means.reservation_of(made))
        except (InvalidObject, InvalidSpec) as error:
            raise Refused(400, f"reservation: {error}") from None

    async def _tried(
        self, request: web.Request, user: User, what: str, body: dict[str, Any], path: str
    ) -> tuple[str, dict[str, Any]]:
        """Return the name of a pod or a reservation, and what the API server would make of it, by a dry run with the token of whoever asks; ``path`` has a place for the namespace. Raises ``Refused`` and ``KubeError``."""
        metadata, namespace = _named(what, user, body)
        name = str(metadata.get("name") or metadata.get("generateName") or what).rstrip("-")
        # A name that is taken already would be refused, and says nothing here.
        own = {key: value for key, value in metadata.items() if key in _OWN - {"name"}} | {"generateName": f"{name[:200]}-"}
        async with self._means.judging.client_of(token_of(request)) as client:
            tried = await client.request("POST", f"{path.format(namespace)}?dryRun=All", {**body, "metadata": own})
        return name, _judged(what, tried)

    async def _edited(self, request: web.Request, user: User, body: dict[str, Any], path: str) -> dict[str, Any] | None:
        """Return what the API server would make of a reservation that is there, by a dry run likewise; None for one that is not there, or that whoever asks may not get. Raises ``Refused`` and ``KubeError``."""
        metadata, namespace = _named("reservation", user, body)
        name = metadata.get("name")
        if not isinstance(name, str) or re.fullmatch(NAME, name) is None:
            return None
        where = f"{path.format(namespace)}/{name}"
        async with self._means.judging.client_of(token_of(request)) as client:
            found = await client.request("GET", where)
            if found.status in {403, 404}:
                return None
            there = _judged("reservation", found)
            own = {key: metadata[key] for key in ("labels", "annotations") if key in metadata}
            edited = {**there, "metadata": {**there["metadata"], **own}, "spec": body.get("spec")}
            return _judged("reservation", await client.request("PUT", f"{where}?dryRun=All", edited))

    def _copies(self, made: dict[str, Any], name: str, count: int) -> Iterator[PodSpec]:
        for number in range(count):
            own = name if count == 1 else f"{name}-{number}"
            raw = {**made, "metadata": {**made["metadata"], "name": own, "uid": f"what-if-{number}"}}
            yield translate.pod(msgspec.json.decode(msgspec.json.encode(raw), type=wire.Pod), self._means.users)


def _named(what: str, user: User, body: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Return the metadata of an object that is asked about, and its namespace. Raises ``Refused``."""
    metadata = body.get("metadata") or {}
    if not isinstance(metadata, dict) or not isinstance(metadata.get("namespace") or "", str):
        raise Refused(400, f"{what}.metadata: is no object, or its namespace no text")
    namespace = metadata.get("namespace") or user.namespace
    if not namespace:
        raise Refused(400, f"{what}.metadata.namespace: is missing, and {user.name} is no service account")
    return metadata, namespace_named(namespace)


def _judged(what: str, answered: Response) -> dict[str, Any]:
    """Return the object that the API server answers with. Raises ``Refused`` in its words, and ``KubeError``."""
    if answered.status >= 500 or answered.status == 429:
        raise answered.error()
    if answered.status == 401:
        raise Refused(
            403,
            f"{what}: the API server does not take this token, with which it is asked: it has to be for the API server itself",
        )
    if answered.status >= 400:
        raise Refused(answered.status if answered.status in {403, 404} else 400, f"{what}: {answered.error().message}")
    made: dict[str, Any] = answered.json()
    return made


def _told(found: Answer, sees: Sees) -> Would:
    def shown(lines: list[Line]) -> list[Then]:
        seen = (line for line in lines if line.asked or (line.queue and sees(line.queue)))
        return [_pod(line) for line in islice(seen, MOST_TOLD)]

    placed, waiting, preempted = shown(found.placed), shown(found.waiting), shown(found.preempted)
    others = Others(len(found.placed) - len(placed), len(found.waiting) - len(waiting), len(found.preempted) - len(preempted))
    queues = [
        Changed(path, *(Has(quantities(one.share), quantities(one.used)) for one in both))
        for path, *both in found.queues
        if sees(path)
    ]
    not_in_force = [NotInForce(*one) for one in found.not_in_force]
    decided = msgspec.UNSET if found.decided is None else _decided(found.decided)
    return Would(placed, waiting, preempted, others, queues[:MOST_TOLD], not_in_force, found.stopped, decided)


def _decided(found: Decision) -> Decided:
    promise = found.promise if found.accepted else None
    return Decided(
        promise is not None,
        "" if promise is None else promise.queue,
        [] if promise is None else intervals(promise.steps),
        [alternative(one) for one in found.alternatives],
        "" if promise is not None else found.reason,
        "" if promise is not None else found.words,
        msgspec.UNSET if promise is not None or found.promise is None else intervals(found.promise.steps),
    )


def _pod(line: Line) -> Then:
    reason, message = line.words
    after = round(line.after, 3) if line.node else msgspec.UNSET
    return Then(line.namespace, line.name, line.application, line.queue, line.node, after, reason, message, line.asked)
