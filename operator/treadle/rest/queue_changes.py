"""Changes of several Queues at once, in Treadle's own words, below ``/api/v1/queue-changes``: made, listed and undone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from aiohttp import web

from treadle.api.labels import API_VERSION
from treadle.changes.change import Change, Step, deleted, steps_between
from treadle.changes.documents import document_of, is_as_made
from treadle.changes.edits import overtaken
from treadle.rest import forms
from treadle.rest.answers import Refused, answer
from treadle.rest.asking import only
from treadle.rest.changing import MOST_WORDS, Changing, check_unchanged, etag_of

if TYPE_CHECKING:
    from treadle.changes.execution import Objects, Read
    from treadle.changes.log import Logged
    from treadle.kube.reviews import User
    from treadle.rest.serving import Door

BASE = "/api/v1/queue-changes"
MOST_LISTED = 100
_FIELDS = frozenset({"apiVersion", "kind", "metadata", "spec", "status"})
_METADATA = frozenset({"name", "labels", "annotations"})
_FILLED_IN = frozenset({"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink"})
"""What the API server writes into ``metadata``; it is passed over, as in ``kubectl replace``, so that what was read can be sent."""
MOST_QUEUES = 1000
"""Queues that one change may name."""


class NewChange(msgspec.Struct, forbid_unknown_fields=True):
    """Queues to be as they are written, whole, and paths of queues to delete; and a word about it for the log."""

    apply: list[dict[str, Any]] = []
    delete: list[str] = []
    message: Annotated[str, msgspec.Meta(max_length=MOST_WORDS)] = ""


def routes(door: Door, changing: Changing) -> list[web.RouteDef]:
    """Return the routes."""
    served = QueueChanges(changing)
    return [
        web.get(BASE, door(served.list), allow_head=False),
        web.post(BASE, door(served.make)),
        web.get(f"{BASE}/{{version}}", door(served.get), allow_head=False),
        web.post(f"{BASE}/{{version}}/undo", door(served.undo)),
    ]


class QueueChanges:
    """Answers the requests. Use ``routes``."""

    def __init__(self, changing: Changing) -> None:
        """Keep who makes changes."""
        self._changing = changing

    async def list(self, request: web.Request, user: User) -> web.Response:  # noqa: ARG002 - his token says what he may see
        """Return the log, the newest change first."""
        only(request)
        async with self._changing.of(request) as (_, found):
            logged = await self._changing.logs.read()
            kept = [(number, logged.change(number)) for number in sorted(logged.kept, reverse=True)[:MOST_LISTED]]
            changes = [_summary(number, change) for number, change in kept if change is not None]
            return answer({"version": logged.version, "changes": changes}, headers={"ETag": etag_of(found)})

    async def get(self, request: web.Request, user: User) -> web.Response:  # noqa: ARG002
        """Return a change with all of its edits."""
        only(request)
        async with self._changing.of(request):
            number, change = _known(request, await self._changing.logs.read())
            steps = [step.written() for step in change.steps]
            return answer({**_summary(number, change), "steps": steps})

    async def make(self, request: web.Request, user: User) -> web.Response:
        """Make a change, all of it or nothing; with ``dryRun=All`` it is only judged."""
        dry = _dry(request)
        said = forms.read(await request.read(), NewChange)
        async with self._changing.beginning(request) as (client, found, logged):
            check_unchanged(request, found)
            return await self._made(client, found, logged, steps_of(said, found), user, said.message, dry=dry)

    async def undo(self, request: web.Request, user: User) -> web.Response:
        """Make a change that takes another one back, as far as nobody has changed the same fields since."""
        dry = _dry(request)
        async with self._changing.beginning(request) as (client, found, logged):
            check_unchanged(request, found)
            number, change = _known(request, logged)
            steps = [step.undone for step in reversed(change.steps)]
            since = [_since(step, found.objects) for step in change.steps]
            if any(since):
                raise Refused(409, f"change {number} cannot be undone: {'; '.join(filter(None, since))}")
            return await self._made(client, found, logged, steps, user, f"undoes change {number}", dry=dry)

    async def _made(
        self, client: Any, found: Read, logged: Logged, steps: Sequence[Step], user: User, message: str, *, dry: bool
    ) -> web.Response:
        executor = await self._changing.judge(client, found, steps)
        said: dict[str, Any] = {"steps": [step.written() for step in steps]}
        if not dry and steps:
            said = {"version": await self._changing.make(executor, user, steps, message, logged), **said}
        return answer(said)


def _known(request: web.Request, logged: Logged) -> tuple[int, Change]:
    text = request.match_info["version"]
    change = logged.change(int(text)) if re.fullmatch(r"[0-9]{1,9}", text) else None
    if change is None:
        raise Refused(404, f"change {text!r} is not in the log, which has the newest {len(logged.kept)} up to {logged.version}")
    return int(text), change


def _dry(request: web.Request) -> bool:
    only(request, "dryRun")
    said = request.query.get("dryRun", "")
    if said not in {"", "All"}:
        raise Refused(400, f"dryRun: {said!r} is not known; allowed is All")
    return bool(said)


def steps_of(said: NewChange, found: Read) -> list[Step]:
    """Return the steps from what is there to what is asked for. Raises ``Refused``."""
    named = len(said.apply) + len(said.delete)
    if named > MOST_QUEUES:
        raise Refused(400, f"{named} queues are named; {MOST_QUEUES} are allowed, make the change in parts")
    before = {path: document_of("Queue", raw) for path, raw in found.queues.items()}
    wanted: dict[str, dict[str, Any]] = {}
    for number, one in enumerate(said.apply):
        name = _name(one, f"apply[{number}]")
        if name in wanted:
            raise Refused(400, f"apply[{number}].metadata.name: {name!r} is there twice")
        wanted[name] = document_of("Queue", one)
    gone = {}
    for number, path in enumerate(said.delete):
        if path in wanted or path in gone:
            raise Refused(400, f"delete[{number}]: {path!r} is there twice")
        if path not in before:
            raise Refused(400, f"delete[{number}]: there is no queue {path!r}")
        gone[path] = before[path]
    made = list(steps_between("Queue", {path: before[path] for path in wanted if path in before}, wanted))
    return [*made, *(deleted("Queue", path, gone[path]) for path in sorted(gone, key=lambda path: (-path.count("."), path)))]


def _name(one: dict[str, Any], where: str) -> str:
    for field in one:
        if field not in _FIELDS:
            raise Refused(400, f"{where}.{field}: is not known; allowed are {', '.join(sorted(_FIELDS))}")
    if one.get("kind", "Queue") != "Queue":
        raise Refused(400, f"{where}.kind: {one['kind']!r} is not Queue")
    if one.get("apiVersion", API_VERSION) != API_VERSION:
        raise Refused(400, f"{where}.apiVersion: {one['apiVersion']!r} is not {API_VERSION}")
    metadata, spec = one.get("metadata"), one.get("spec")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str) or not metadata["name"]:
        raise Refused(400, f"{where}.metadata.name: is missing")
    for field in metadata:
        if field not in _METADATA | _FILLED_IN:
            raise Refused(400, f"{where}.metadata.{field}: is not changed here; allowed are {', '.join(sorted(_METADATA))}")
    for field in ("labels", "annotations"):
        if not isinstance(metadata.get(field) or {}, dict):
            raise Refused(400, f"{where}.metadata.{field}: is not an object")
    if not isinstance(spec or {}, dict):
        raise Refused(400, f"{where}.spec: is not an object")
    name: str = metadata["name"]
    return name


def _since(step: Step, objects: Objects) -> str:
    """Return why a step cannot be taken back, empty if it can."""
    there = objects.get((step.kind, step.name))
    if step.operation == "Delete":
        return f"there is a {step.words} again" if there is not None else ""
    if there is None:
        return f"{step.words} was deleted since"
    if step.operation == "Create":
        return "" if is_as_made(step.kind, there, step.edits[0].after) else f"{step.words} was changed since"
    fields = [edit.where for edit in overtaken(document_of(step.kind, there), step.edits)]
    return f"{step.words} was changed since in {', '.join(fields)}" if fields else ""


def _summary(number: int, change: Change) -> dict[str, Any]:
    return {
        "version": number,
        "user": change.user,
        "groups": list(change.groups),
        "time": datetime.fromtimestamp(change.at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "message": change.message,
        "objects": [{"kind": step.kind, "name": step.name, "operation": step.operation} for step in change.steps],
    }
