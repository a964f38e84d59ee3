"""What the OpenAPI document says of what is told from the history, in our shape and in that of YARN's generic history."""

from __future__ import annotations

from typing import Final

from treadle.rest import history, yarn_history
from treadle.rest.document_cluster import SCHEMAS, part
from treadle.rest.document_state import BELOW, LIMIT, TEXT, WITHIN, application, told
from treadle.rest.operations import AT, Json, asked, query
from treadle.rest.operations import TEXT as PLAIN

MODELS: Final = (history.PastRun, history.PastEvent)
EXCEPTION: Final = "Exception"
REFUSAL: Final[Json] = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in ("exception", "message", "javaClassName")},
    "required": ["exception", "message", "javaClassName"],
    "additionalProperties": False,
}
"""A refusal of YARN's history, which has nothing around it."""
_DAYS: Json = {"type": "number", "exclusiveMinimum": 0, "maximum": 36_500, "default": history.DAYS}
_TEXT: Json = {"type": "string", "maxLength": 253, "pattern": "^[!-~]*$"}
_OBJECT: Json = {"type": "object"}


def paths() -> Json:
    """Return the operations by path and method."""
    back = query("days", _DAYS, "How many days to look back")
    of = application("Only of this one, NAMESPACE/NAME; all of it for whoever may list applications there")
    said = (query("name", TEXT, "Only of objects of this name"), query("reason", TEXT, "Only with this reason"))
    ours = {
        history.RUNS: told("pastRuns", "What applications used", _list("runs", "PastRun"), (of, BELOW, back, LIMIT)),
        history.EVENTS: told(
            "pastEvents", "What was said", _list("events", "PastEvent"), (of, BELOW, WITHIN, *said, back, LIMIT)
        ),
    }
    apps = tuple(query(name, SCHEMAS.get(name, _TEXT), "As the history server has it") for name in yarn_history.APPS)
    one, run = part("application_1_0001"), {**part("appattempt_1_0001_000001"), "name": "attempt"}
    box = {**part("container_1_0001_01_000001"), "name": "container"}
    yarns = {
        "": _bare("pastApps", "The applications of which a run is kept", _OBJECT, apps),
        "/about": _bare("history", "What serves", _OBJECT),
        "/apps": _bare("pastAppList", "The applications of which a run is kept", _OBJECT, apps),
        "/apps/{id}": _bare("pastApp", "An application, with its last run", _OBJECT, (one,)),
        "/apps/{id}/appattempts": _bare("pastAttempts", "The runs of an application", _OBJECT, (one,)),
        "/apps/{id}/appattempts/{attempt}": _bare("pastAttempt", "A run", _OBJECT, (one, run)),
        "/apps/{id}/appattempts/{attempt}/containers": _bare("pastContainers", "None: they are not kept", _OBJECT, (one, run)),
        "/apps/{id}/appattempts/{attempt}/containers/{container}": _bare("pastContainer", "None", _OBJECT, (one, run, box)),
    }
    found = {**ours, **{f"{yarn_history.BASE}{path}": operation for path, operation in yarns.items()}}
    return {path: {"get": operation} for path, operation in found.items()}


def _list(name: str, item: str) -> Json:
    return {
        "type": "object",
        "properties": {name: {"type": "array", "items": {"$ref": AT.format(name=item)}}, "more": {"type": "boolean"}},
        "required": [name, "more"],
        "additionalProperties": False,
    }


def _bare(name: str, summary: str, schema: Json, parameters: tuple[Json, ...] = ()) -> Json:
    """Return an operation that is refused in the shape of YARN's history."""
    found = asked(name, summary, {200: schema}, parameters=parameters, namespaced=False)
    refused = {"application/json": {"schema": {"$ref": AT.format(name=EXCEPTION)}}, "text/plain": PLAIN}
    for status, response in found["responses"].items():
        if status != "200":
            response["content"] = dict(refused)
    return found
