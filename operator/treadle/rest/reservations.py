"""YARN's REST of reservations, below ``/ws/v1/cluster/reservation`` (``RMWebServices``).

A request is checked by YARN's rules, in its order and with its words, before anything is written; then the Reservation is written and the decision waited for, as YARN
decides while its client waits. Who may do what is the API server's to say, so that comes first: the words of the rules tell what queues have.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from aiohttp import web

from treadle.api import labels
from treadle.api.identity import notes_of
from treadle.core.model.reservations import LARGEST, Interpreter, Promise, ReservationDefinition, ReservationRequest
from treadle.core.rules.reservations import validation
from treadle.rest import forms, shapes, words
from treadle.rest.answers import Refused, answer
from treadle.rest.asking import namespace_of, only
from treadle.rest.ids import Ids, id_of, name_of
from treadle.rest.objects import PATIENCE, TRIES, Found, Objects, Outcome, found, outcome_of
from treadle.rest.planning import Plans

if TYPE_CHECKING:
    from treadle.controllers.ledger import Entry, Key
    from treadle.kube.reviews import User
    from treadle.rest.serving import Door

BASE = "/ws/v1/cluster/reservation"
DEFAULT_QUEUE = "default"
KIND = "reservations"


def routes(
    door: Door, objects: Objects, entries: Mapping[Key, Entry], now: Callable[[], float] = time.time
) -> list[web.RouteDef]:
    """Return the routes. ``entries`` are the objects that users have written, of which queues are looked at, ``now`` is the time in seconds since the epoch."""
    served = Reservations(door, objects, entries, now)
    return [
        web.post(f"{BASE}/new-reservation", door(served.new)),
        web.post(f"{BASE}/submit", door(served.submit)),
        web.post(f"{BASE}/update", door(served.update)),
        web.post(f"{BASE}/delete", door(served.delete)),
        web.get(f"{BASE}/list", door(served.list)),
    ]


class Reservations:
    """Answers the requests. Use ``routes``."""

    def __init__(self, door: Door, objects: Objects, entries: Mapping[Key, Entry], now: Callable[[], float]) -> None:
        """Begin to count ids."""
        self._asker, self._objects, self._entries, self._now = door.asker, objects, entries, now
        self._ids = Ids(self._time())

    def _time(self) -> int:
        return int(self._now() * 1000)

    async def _allowed(self, request: web.Request, user: User, verb: str) -> str:
        """Return the namespace of a request, in which its user may do that. Raises ``Refused``."""
        namespace = namespace_of(request, user)
        await self._asker.check(user, verb, KIND, namespace)
        return namespace

    async def new(self, request: web.Request, user: User) -> web.Response:
        """Return a fresh id; nothing is made yet."""
        only(request, "namespace")
        await self._allowed(request, user, "create")
        return answer({"reservation-id": self._ids.fresh()})

    async def submit(self, request: web.Request, user: User) -> web.Response:
        """Make a reservation, and say what was decided."""
        only(request, "namespace")
        namespace = await self._allowed(request, user, "create")
        said = forms.read(await request.read(), forms.Submission)
        name = None if said.reservation_id is None else name_of(said.reservation_id, plain=False)
        definition = said.reservation_definition
        queue = Plans(self._entries).path_of(said.queue)
        check = Check(self._entries, words.SUBMIT, said.reservation_id or "", said.queue or "", definition)
        check.run(lambda known, read: validation.submission(known, name, queue, read, self._time()))
        assert name is not None
        assert definition is not None
        assert queue is not None
        body = shapes.body(name, namespace, queue, definition)
        body["metadata"]["annotations"] |= notes_of(user.name, tuple(user.groups))
        made = await self._objects.create(body)
        if made is None:
            return await self._again(request, namespace, name, body)
        outcome = await self._objects.decided(made)
        if outcome.refused:  # as in YARN nothing is left of it, unless somebody has changed it meanwhile
            await self._objects.delete(outcome.raw, unchanged=True)
        return self._submitted(request, name, outcome)

    async def _again(self, request: web.Request, namespace: str, name: str, body: dict[str, Any]) -> web.Response:
        """Answer a request for a reservation that is there: well if it is the same one."""
        raw = await self._objects.get(namespace, name)
        there, asked = None if raw is None else found(raw), found(body)
        assert asked is not None
        if raw is None:
            raise Refused(503, f"reservation {id_of(name)} was there when it was to be made, and is not any more", wait=1)
        if there is None or _compared(there) != _compared(asked):
            raise Refused(
                400,
                f"Reservation allocation already exists with the reservation id {id_of(name)}, but a different reservation definition was "
                "provided. Please try again with a new reservation id, or consider updating the reservation instead.",
            )
        return self._submitted(request, name, await self._objects.decided(raw))

    def _submitted(self, request: web.Request, name: str, outcome: Outcome) -> web.Response:
        if outcome.refused:
            raise Refused(400, outcome.words)
        if not outcome.accepted:
            raise _undecided(name, outcome)
        where = request.url.with_path(f"{BASE}/list").with_query(
            {**request.query, "queue": str(outcome.raw["spec"]["queue"]), "reservation-id": id_of(name)}
        )
        return web.Response(status=202, headers={"Location": str(where)})

    async def update(self, request: web.Request, user: User) -> web.Response:
        """Change what is reserved, and say what was decided; where that is no, what was promised before stands."""
        only(request, "namespace")
        namespace = await self._allowed(request, user, "update")
        said = forms.read(await request.read(), forms.Update)
        for _ in range(TRIES):
            written = await self._replaced(namespace, said)
            if written is not None:
                break
        else:
            raise Refused(503, f"reservation {said.reservation_id} is being changed by somebody else", wait=1)
        outcome = await self._objects.decided(written)
        if outcome.refused:
            raise Refused(400, outcome.words)
        if not outcome.accepted:
            raise _undecided(written["metadata"]["name"], outcome)
        return answer({})

    async def _replaced(self, namespace: str, said: forms.Update) -> dict[str, Any] | None:
        """Write a definition into the object that it is for, and return that; None where the object was changed meanwhile."""
        there, known = await self._known(namespace, said.reservation_id)
        definition = said.reservation_definition
        check = Check(self._entries, "update", said.reservation_id or "", "", definition, known)
        name = None if said.reservation_id is None else name_of(said.reservation_id, plain=True)
        check.run(lambda plans, read: validation.update(plans, name, read, self._time()))
        assert there is not None
        assert name is not None
        assert definition is not None
        if field := shapes.unsaid(there.model):
            raise Refused(
                400,
                f"reservation {said.reservation_id} has {field}, which a definition cannot say: edit the Reservation {namespace}/{name}",
            )
        body = shapes.body(name, namespace, there.queue, definition)
        meta = there.raw["metadata"]
        notes = {key: value for key, value in (meta.get("annotations") or {}).items() if key != labels.RESERVATION_NAME}
        changed = {
            **there.raw,
            "spec": body["spec"],
            "metadata": {**meta, "annotations": {**notes, **body["metadata"]["annotations"]}},
        }
        return await self._objects.replace(changed)

    async def delete(self, request: web.Request, user: User) -> web.Response:
        """Delete a reservation."""
        only(request, "namespace")
        namespace = await self._allowed(request, user, "delete")
        said = forms.read(await request.read(), forms.Deletion)
        there, known = await self._known(namespace, said.reservation_id)
        check = Check(self._entries, "delete", said.reservation_id or "", "", None, known)
        name = None if said.reservation_id is None else name_of(said.reservation_id, plain=True)
        check.run(lambda plans, _: validation.deletion(plans, name))
        assert there is not None
        await self._objects.delete(there.raw)
        return answer({})

    async def _known(self, namespace: str, identity: str | None) -> tuple[Found | None, dict[str, str]]:
        """Return the object with an id, and its queue by its name; nothing where there is none."""
        if identity is None:
            return None, {}
        name = name_of(identity, plain=True)
        raw = await self._objects.get(namespace, name)
        if raw is None:
            return None, {}
        there = found(raw)
        if there is None:
            raise Refused(400, f"Reservation {namespace}/{name} makes no sense as it is written: its condition Ready says why")
        return there, {name: there.queue}

    async def list(self, request: web.Request, user: User) -> web.Response:
        """List what is promised of a queue."""
        only(request, "namespace", "queue", "reservation-id", "start-time", "end-time", "include-resource-allocations")
        namespace = await self._allowed(request, user, "list")
        asked, identity = request.query.get("queue", DEFAULT_QUEUE), request.query.get("reservation-id", "")
        start, end = _long(request, "start-time", 0), _long(request, "end-time", -1)
        allocations = _flag(request, "include-resource-allocations")
        queue = Plans(self._entries).path_of(asked)
        Check(self._entries, "list", "", asked, None).run(lambda known, _: validation.listing(known, queue, start, end))
        if identity:
            raw = await self._objects.get(namespace, name_of(identity, plain=True))
            raws = [] if raw is None else [raw]
        else:
            raws = await self._objects.list(namespace)
        first, last = max(start, 0), LARGEST if end < 0 else end
        items = []
        for raw in raws:
            one = found(raw)
            if one is None or one.promise is None or one.promise.queue != queue:
                continue
            if identity or meets(one.promise, first, last):
                items.append(shapes.item(one.model, one.promise, _ours(one), allocations=allocations))
        items.sort(key=lambda one: (one["acceptance-time"], one["reservation-id"]), reverse=True)
        return answer({"reservations": items})


class Check:
    """A request, as the rules look at it and as their words tell of it."""

    def __init__(
        self,
        entries: Mapping[Key, Entry],
        operation: str,
        identity: str,
        queue: str,
        said: forms.Definition | None,
        queues: dict[str, str] | None = None,
    ) -> None:
        """Keep what is asked. Raises ``Refused`` for a definition that cannot be read."""
        self._operation, self._identity, self._queue, self._said = operation, identity, queue, said
        requests = said.reservation_requests.each() if said is not None and said.reservation_requests is not None else []
        demands = [shapes.demand(one.capability, f"reservation-request[{at}].capability") for at, one in enumerate(requests)]
        self._plans = Plans(entries, {name for demand in demands for name in demand})
        self._known = validation.Known(self._plans, queues or {})
        self._read = None if said is None else read(said, [self._plans.vector(demand) for demand in demands])

    def run(self, rule: Callable[[validation.Known, ReservationDefinition | None], object]) -> None:
        """Raise ``Refused`` with YARN's words where a rule is broken."""
        try:
            rule(self._known, self._read)
        except validation.Invalid as error:
            told = "" if self._said is None else shapes.recurrence(self._said)
            about = {"reservation": self._identity, "queue": self._queue, "recurrence": told}
            raise Refused(400, words.sentence(error, self._operation, self._plans.names, **about)) from None


def read(said: forms.Definition, demands: list[list[int]]) -> ReservationDefinition:
    """Return a definition as the rules look at it; a deadline below zero is none, as in YARN's records. Raises ``Refused``."""
    requests = said.reservation_requests or forms.Requests()
    return ReservationDefinition(
        said.arrival,
        max(said.deadline, 0),
        [
            ReservationRequest(demand, each.num_containers, each.min_concurrency, each.duration)
            for each, demand in zip(requests.each(), demands, strict=True)
        ],
        Interpreter.ALL if said.reservation_requests is None else shapes.interpreter(requests),
        shapes.recurrence(said),
    )


def meets(promise: Promise, first: int, last: int) -> bool:
    """Whether a window of a reservation, or of what comes again, has a time in common with the one from ``first`` to ``last``, both included."""
    begun = promise.occurrences.last(last)
    return begun is not None and begun + promise.deadline - promise.arrival > first


def _compared(one: Found) -> tuple[str, dict[str, Any]]:
    return one.model.spec.queue, {**shapes.definition(one.model), "ours": (shapes.unsaid(one.model), one.model.spec.time_zone)}


def _ours(one: Found) -> dict[str, Any]:
    """Return what is ours to tell of a reservation, and has no place in YARN's shape."""
    status, generation = one.raw.get("status") or {}, one.raw["metadata"]["generation"]
    outcome = outcome_of(one.raw, generation)
    said = {
        "namespace": one.model.metadata.namespace,
        "name": one.model.metadata.name,
        "phase": status.get("phase"),
        "queue": status.get("queue"),
        "next-start": status.get("nextStart"),
        "time-zone": one.model.spec.time_zone,
        "in-force": outcome.accepted,
        "why-not": outcome.words if not outcome.accepted else None,
    }
    return {name: value for name, value in said.items() if value is not None}


def _undecided(name: str, outcome: Outcome) -> Refused:
    told = f" ({outcome.words})" if outcome.words else ""
    return Refused(
        503,
        f"reservation {id_of(name)} is written and was not decided on within {PATIENCE:g} s{told}: it may be accepted yet; the same request again tells what became of it",
        wait=5,
    )


def _long(request: web.Request, name: str, default: int) -> int:
    text = request.query.get(name)
    if text is None:
        return default
    if re.fullmatch(r"[+-]?[0-9]{1,19}", text, re.ASCII) is None or not -LARGEST <= int(text) <= LARGEST:
        raise Refused(400, f"{name}: {text[:64]!r} is not a whole number of ms since the epoch")
    return int(text)


def _flag(request: web.Request, name: str) -> bool:
    text = request.query.get(name, "false").lower()
    if text not in {"true", "false"}:
        raise Refused(400, f"{name}: {text[:64]!r} is neither true nor false")
    return text == "true"
