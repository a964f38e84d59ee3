"""The OpenAPI document of the port: YARN's REST where it is served, and what the scheduler tells of itself.

Bodies are described by the structs that read them, so the document cannot say otherwise than the code. It is served by the scheduler itself and not kept in a
file: what is there depends on how the scheduler runs.
"""

from __future__ import annotations

import msgspec

from treadle.rest import (
    configuration,
    document_cluster,
    document_history,
    document_state,
    estimator,
    forms,
    queue_changes,
    reservations,
)
from treadle.rest.operations import AT, COMMON, EMPTY, PROBLEM, REFUSAL, REFUSALS, TEXT, Json, as_json, asked, query

PATH = "/openapi/v3"
_NUMBER: Json = {"type": "integer"}
_AMOUNTS: Json = {"type": "object", "properties": {"memory": _NUMBER, "vcores": _NUMBER}, "required": ["memory", "vcores"]}
_OVER_TIME: Json = {
    "type": "object",
    "properties": {"resourceAllocation": {"type": "object", "additionalProperties": _AMOUNTS}},
    "required": ["resourceAllocation"],
}
_REFUSED: Json = {"Refusal": REFUSAL, "Problem": PROBLEM, document_history.EXCEPTION: document_history.REFUSAL}
_ID = "reservation_1893970000000_0001"
_DEFINITION: Json = {
    "arrival": 1893978000000,
    "deadline": 1893992400000,
    "reservation-name": "report",
    "recurrence-expression": "0",
    "reservation-requests": {
        "reservation-request-interpreter": 1,
        "reservation-request": [
            {"duration": 3600000, "num-containers": 2, "min-concurrency": 1, "capability": {"memory": 1024, "vCores": 1}}
        ],
    },
}
_EXAMPLES: Json = {
    "Submission": {"queue": reservations.DEFAULT_QUEUE, "reservation-id": _ID, "reservation-definition": _DEFINITION},
    "Update": {"reservation-id": _ID, "reservation-definition": {**_DEFINITION, "reservation-name": "later report"}},
    "Deletion": {"reservation-id": _ID},
}
_CONFLICTS = {409: "Somebody else has changed the same", 412: "If-Match names what is not there any more"}
_IF_MATCH: Json = {
    "name": "If-Match",
    "in": "header",
    "description": "The ETag of what the change was made out for; it is refused where that is not there any more",
    "schema": {"type": "string", "pattern": '^(\\*|"[0-9a-f]{24}")$'},
}
_PARAMS: Json = {
    "type": "object",
    "properties": {
        "entry": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"key": {"type": "string", "minLength": 1}, "value": {"type": "string"}},
                "required": ["key"],
                "additionalProperties": False,
            },
        }
    },
    "additionalProperties": False,
}
_QUEUES: Json = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"queue-name": {"type": "string"}, "params": _PARAMS},
        "required": ["queue-name"],
        "additionalProperties": False,
    },
}
_UPDATE: Json = {
    "type": "object",
    "properties": {
        "remove-queue": {"type": "array", "items": {"type": "string"}},
        "add-queue": _QUEUES,
        "update-queue": _QUEUES,
        "global-updates": _PARAMS,
    },
    "additionalProperties": False,
}
_UPDATED: Json = {
    "update-queue": [{"queue-name": "root.default", "params": {"entry": [{"key": "maximum-capacity", "value": "80"}]}}]
}
_LISTED: Json = {
    "type": "object",
    "properties": {
        "reservations": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "acceptance-time": _NUMBER,
                    "user": {"type": "string"},
                    "reservation-id": {"type": "string"},
                    "reservation-definition": {"type": "object"},
                    "resource-allocations": {"type": "array", "items": {"type": "object"}},
                    "treadle": {"type": "object"},
                },
                "required": ["acceptance-time", "user", "reservation-id", "reservation-definition", "treadle"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["reservations"],
    "additionalProperties": False,
}


def document(*, rest: bool, changes: bool, forecasts: bool, version: str) -> Json:
    """Return the document (OpenAPI 3.1) of a port that serves YARN's REST, changes of queues, and forecasts, or not."""
    kinds = (forms.Submission, forms.Update, forms.Deletion, *((queue_changes.NewChange,) if changes else ()))
    _, schemas = msgspec.json.schema_components((*kinds, *document_state.MODELS, *document_history.MODELS), ref_template=AT)
    paths: Json = {
        "/metrics": {"get": _told("metrics", "The metrics, for Prometheus", {"text/plain": TEXT})},
        "/status": {"get": _told("status", "Whether the scheduler can schedule, and why not", as_json({"type": "object"}))},
        PATH: {"get": _told("document", "This document", as_json({"type": "object"}))},
    }
    if forecasts:
        paths["/eta"] = {"get": _told("forecasts", "When applications start and end", as_json({"type": "object"}))}
    if rest:
        paths |= _reservations() | _estimator() | document_state.paths() | document_cluster.paths() | document_history.paths()
    if changes:
        paths |= _configuration() | _queue_changes()
    return {
        "openapi": "3.1.0",
        "info": {"title": "Treadle", "version": version, "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"}},
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": {**schemas, **_REFUSED} if rest else {},
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A token of the API server, such as a service account's",
                }
            },
        },
    }


def _told(name: str, summary: str, content: Json) -> Json:
    why = {
        str(status): {"description": COMMON[status], "content": {"text/plain": TEXT}} for status in (401, 403, 408, 413, 429, 503)
    }
    return {
        "operationId": name,
        "summary": summary,
        "responses": {"200": {"description": "It is told", "content": content}, **why},
    }


def _reservations() -> Json:
    base = reservations.BASE
    time = {"type": "integer", "minimum": -(1 << 53), "maximum": 1 << 53}
    parameters = (
        query("queue", {"type": "string", "default": reservations.DEFAULT_QUEUE}, "The queue whose reservations are listed"),
        query("reservation-id", {"type": "string"}, "The only one that is listed"),
        query("start-time", {**time, "default": 0}, "From when on, in ms since 1970"),
        query("end-time", {**time, "default": -1}, "Until when, in ms since 1970; without end below 0"),
        query("include-resource-allocations", {"type": "boolean", "default": False}, "Whether what is promised when is told"),
    )
    fresh: Json = {
        "type": "object",
        "properties": {"reservation-id": {"type": "string"}},
        "required": ["reservation-id"],
        "additionalProperties": False,
    }
    return {
        f"{base}/new-reservation": {"post": asked("newReservation", "A fresh id", {200: fresh})},
        f"{base}/submit": {
            "post": asked(
                "submitReservation",
                "Reserve, and wait for the decision",
                {202: None},
                "Submission",
                example=_EXAMPLES["Submission"],
            )
        },
        f"{base}/update": {
            "post": asked("updateReservation", "Change what is reserved", {200: EMPTY}, "Update", example=_EXAMPLES["Update"])
        },
        f"{base}/delete": {
            "post": asked(
                "deleteReservation", "Give back what is reserved", {200: EMPTY}, "Deletion", example=_EXAMPLES["Deletion"]
            )
        },
        f"{base}/list": {"get": asked("listReservations", "What is promised", {200: _LISTED}, parameters=parameters)},
    }


def _estimator() -> Json:
    base = estimator.BASE

    def named(name: str, description: str) -> Json:
        return {
            "name": name,
            "in": "path",
            "required": True,
            "description": description,
            "schema": {"type": "string", "minLength": 1, "pattern": "^[^/]+$"},
        }

    pipeline, run = (
        named("pipeline", "The name of an application; * stands for any letters"),
        named("run", "The start of a run in ms since 1970"),
    )
    history: Json = {"type": "array", "items": {"type": "array"}}
    null_or = {"anyOf": [{"type": "null"}, _OVER_TIME]}
    return {
        f"{base}/estimator/{{pipeline}}": {
            "get": asked(
                "estimate", "What the next run needs", {200: _OVER_TIME}, parameters=({**pipeline, "example": "nightly"},)
            )
        },
        f"{base}/skylinestore/estimation/{{pipeline}}": {
            "get": asked("estimation", "The estimate that was made last", {200: null_or}, parameters=(pipeline,))
        },
        f"{base}/skylinestore/history/{{pipeline}}/{{run}}": {
            "get": asked("history", "What runs used", {200: history}, parameters=(pipeline, run)),
            "delete": asked("forget", "Delete one run from the history", {204: None}, parameters=(pipeline, run)),
        },
        f"{base}/translator/{{file}}": {
            "post": asked("translate", "Refused: files are not read", {}, parameters=(named("file", "A name"),))
        },
    }


def _configuration() -> Json:
    base = configuration.BASE
    entry: Json = {"type": "object", "properties": {name: {"type": "string"} for name in ("name", "value")}}
    shown: Json = {
        "type": "object",
        "properties": {"property": {"type": "array", "items": entry}},
        "required": ["property"],
        "additionalProperties": False,
    }
    version: Json = {
        "type": "object",
        "properties": {"versionID": _NUMBER},
        "required": ["versionID"],
        "additionalProperties": False,
    }
    put = _changing("changeConfiguration", "Change the configuration in YARN's words, all or nothing", None, (_IF_MATCH,))
    put["responses"]["200"]["content"] = {"text/plain": TEXT}
    validate = _changing("validateConfiguration", "Say what a change would make of the properties", shown, (_IF_MATCH,))
    for one in (put, validate):
        one["requestBody"] = {
            "required": True,
            "content": {**as_json(_UPDATE), "application/xml": {"schema": {"type": "string"}}},
        }
        one["requestBody"]["content"]["application/json"]["example"] = _UPDATED
    return {
        base: {
            "get": _changing("configuration", "What the queues say as properties of the CapacityScheduler", shown),
            "put": put,
        },
        f"{base}/validate": {"post": validate},
        f"{base}/version": {"get": _changing("configurationVersion", "The number of the last change", version)},
    }


def _queue_changes() -> Json:
    base = queue_changes.BASE
    version: Json = {
        "name": "version",
        "in": "path",
        "required": True,
        "description": "The number of a change",
        "schema": {"type": "string", "pattern": "^[0-9]{1,9}$"},
    }
    dry = query("dryRun", {"type": "string", "enum": ["All"]}, "Whether the change is judged only")
    thing: Json = {"type": "object"}
    make = _changing("changeQueues", "Change several queues, all or nothing", thing, (dry, _IF_MATCH), ours=True)
    make["requestBody"] = {"required": True, "content": as_json({"$ref": AT.format(name="NewChange")})}
    make["requestBody"]["content"]["application/json"]["example"] = {"apply": [], "delete": [], "message": "nothing"}
    return {
        base: {"get": _changing("queueChanges", "The changes that are in the log", thing, ours=True), "post": make},
        f"{base}/{{version}}": {"get": _changing("queueChange", "A change with its edits", thing, (version,), ours=True)},
        f"{base}/{{version}}/undo": {
            "post": _changing(
                "undoQueueChange",
                "Take a change back, as far as nothing of it was changed since",
                thing,
                (version, dry, _IF_MATCH),
                ours=True,
            )
        },
    }


def _changing(name: str, summary: str, schema: Json | None, parameters: tuple[Json, ...] = (), *, ours: bool = False) -> Json:
    """Return an operation on the configuration."""
    found = asked(name, summary, {200: schema}, parameters=parameters, namespaced=False, ours=ours)
    for status, why in _CONFLICTS.items():
        found["responses"][str(status)] = {"description": why, "content": dict(REFUSALS[ours])}
    return found
