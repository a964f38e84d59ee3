"""The OpenAPI document of the port: YARN's REST where it is served, and what the scheduler tells of itself.

Bodies are described by the structs that read them, so the document cannot say otherwise than the code. It is served by the scheduler itself and not kept in a
file: what is there depends on how the scheduler runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from treadle.api.common import DNS_LABEL, NAME_LIMIT
from treadle.rest import configuration, estimator, forms, queue_changes, reservations, state

Json = dict[str, Any]
PATH = "/openapi/v3"
_AT = "#/components/schemas/{name}"
_REFUSED = {"schema": {"$ref": _AT.format(name="Refusal")}}
_TEXT = {"schema": {"type": "string"}}
_COMMON = {
    400: "The request makes no sense, or what it asks for is refused; the message says why",
    401: "No token, or one that counts for nobody",
    403: "The token's user may not do this",
    404: "What is named is not there",
    406: "What is accepted is not JSON",
    408: "The body did not arrive in time",
    413: "The body is too large",
    415: "The body is not JSON",
    429: "Too many requests; Retry-After says when to come again",
    503: "It cannot be answered now; Retry-After says when to come again, where that is known",
}
_NAMESPACE: Json = {
    "name": "namespace",
    "in": "query",
    "description": "The namespace of what is asked about; that of the service account whose token it is, if absent",
    "schema": {"type": "string", "pattern": f"^{DNS_LABEL}$", "maxLength": NAME_LIMIT},
}
_NUMBER: Json = {"type": "integer"}
_AMOUNTS: Json = {"type": "object", "properties": {"memory": _NUMBER, "vcores": _NUMBER}, "required": ["memory", "vcores"]}
_OVER_TIME: Json = {
    "type": "object",
    "properties": {"resourceAllocation": {"type": "object", "additionalProperties": _AMOUNTS}},
    "required": ["resourceAllocation"],
}
_REFUSAL: Json = {
    "type": "object",
    "properties": {
        "RemoteException": {
            "type": "object",
            "properties": {name: {"type": "string"} for name in ("exception", "message", "javaClassName")},
            "required": ["exception", "message", "javaClassName"],
            "additionalProperties": False,
        }
    },
    "required": ["RemoteException"],
    "additionalProperties": False,
}
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
_EMPTY: Json = {"type": "object", "additionalProperties": False}
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
    _, schemas = msgspec.json.schema_components(kinds, ref_template=_AT)
    paths: Json = {
        "/metrics": {"get": _told("metrics", "The metrics, for Prometheus", {"text/plain": _TEXT})},
        "/status": {"get": _told("status", "Whether the scheduler can schedule, and why not", _json({"type": "object"}))},
        PATH: {"get": _told("document", "This document", _json({"type": "object"}))},
    }
    if forecasts:
        paths["/eta"] = {"get": _told("forecasts", "When applications start and end", _json({"type": "object"}))}
    if rest:
        paths |= _reservations() | _estimator() | _state()
    if changes:
        paths |= _configuration() | _queue_changes()
    return {
        "openapi": "3.1.0",
        "info": {"title": "Treadle", "version": version, "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"}},
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": {**schemas, "Refusal": _REFUSAL} if rest else {},
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A token of the API server, such as a service account's",
                }
            },
        },
    }


def _json(schema: Mapping[str, Any]) -> Json:
    return {"application/json": {"schema": schema}}


def _told(name: str, summary: str, content: Json) -> Json:
    why = {
        str(status): {"description": _COMMON[status], "content": {"text/plain": _TEXT}}
        for status in (401, 403, 408, 413, 429, 503)
    }
    return {
        "operationId": name,
        "summary": summary,
        "responses": {"200": {"description": "It is told", "content": content}, **why},
    }


def _asked(
    name: str,
    summary: str,
    answers: Mapping[int, Json | None],
    body: str = "",
    parameters: tuple[Json, ...] = (),
    *,
    namespaced: bool = True,
) -> Json:
    """Return an operation of YARN's. ``answers`` are schemas by status, None for one without a body."""
    refused = {
        str(status): {"description": why, "content": {"application/json": _REFUSED, "text/plain": _TEXT}}
        for status, why in _COMMON.items()
    }
    done = {
        str(status): {"description": "It is done"} | ({} if schema is None else {"content": _json(schema)})
        for status, schema in answers.items()
    }
    found: Json = {
        "operationId": name,
        "summary": summary,
        "parameters": [*parameters, *((_NAMESPACE,) if namespaced else ())],
        "responses": {**done, **refused},
    }
    if body:
        found["requestBody"] = {"required": True, "content": _json({"$ref": _AT.format(name=body)})}
        found["requestBody"]["content"]["application/json"]["example"] = _EXAMPLES[body]
    return found


def _query(name: str, schema: Json, description: str) -> Json:
    return {"name": name, "in": "query", "description": description, "schema": schema}


def _reservations() -> Json:
    base = reservations.BASE
    time = {"type": "integer", "minimum": -(1 << 53), "maximum": 1 << 53}
    parameters = (
        _query("queue", {"type": "string", "default": reservations.DEFAULT_QUEUE}, "The queue whose reservations are listed"),
        _query("reservation-id", {"type": "string"}, "The only one that is listed"),
        _query("start-time", {**time, "default": 0}, "From when on, in ms since 1970"),
        _query("end-time", {**time, "default": -1}, "Until when, in ms since 1970; without end below 0"),
        _query("include-resource-allocations", {"type": "boolean", "default": False}, "Whether what is promised when is told"),
    )
    fresh: Json = {
        "type": "object",
        "properties": {"reservation-id": {"type": "string"}},
        "required": ["reservation-id"],
        "additionalProperties": False,
    }
    return {
        f"{base}/new-reservation": {"post": _asked("newReservation", "A fresh id", {200: fresh})},
        f"{base}/submit": {"post": _asked("submitReservation", "Reserve, and wait for the decision", {202: None}, "Submission")},
        f"{base}/update": {"post": _asked("updateReservation", "Change what is reserved", {200: _EMPTY}, "Update")},
        f"{base}/delete": {"post": _asked("deleteReservation", "Give back what is reserved", {200: _EMPTY}, "Deletion")},
        f"{base}/list": {"get": _asked("listReservations", "What is promised", {200: _LISTED}, parameters=parameters)},
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
            "get": _asked(
                "estimate", "What the next run needs", {200: _OVER_TIME}, parameters=({**pipeline, "example": "nightly"},)
            )
        },
        f"{base}/skylinestore/estimation/{{pipeline}}": {
            "get": _asked("estimation", "The estimate that was made last", {200: null_or}, parameters=(pipeline,))
        },
        f"{base}/skylinestore/history/{{pipeline}}/{{run}}": {
            "get": _asked("history", "What runs used", {200: history}, parameters=(pipeline, run)),
            "delete": _asked("forget", "Delete one run from the history", {204: None}, parameters=(pipeline, run)),
        },
        f"{base}/translator/{{file}}": {
            "post": _asked("translate", "Refused: files are not read", {}, parameters=(named("file", "A name"),))
        },
    }


def _state() -> Json:
    def listed(name: str, item: Json) -> Json:
        return {
            "type": "object",
            "properties": {name: {"type": "array", "items": item}, "continue": {"type": "string"}},
            "required": [name, "continue"],
            "additionalProperties": False,
        }

    queue: Json = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name", "leaf", "dynamic"]}
    application: Json = {"type": "object", "required": ["namespace", "name", "phase"]}
    # In a query as it is sent a name has no blanks at its ends and nothing that cannot be printed.
    text: Json = {"type": "string", "maxLength": state.MOST_NAMED, "pattern": "^[!-~]*$"}
    below = _query("queue", text, "Only of this queue and those below it")
    limit = _query(
        "limit", {"type": "integer", "minimum": 1, "maximum": state.MOST, "default": state.MOST}, "How many at the most"
    )
    after = _query("continue", text, "What the page before said, to go on after it")
    within = {**_NAMESPACE, "description": "Only of this namespace; all of it for whoever may list its applications"}
    queues = _asked(
        "queues",
        "The queues that one may view",
        {200: listed("queues", queue)},
        parameters=(below, limit, after),
        namespaced=False,
    )
    applications = _asked(
        "applications",
        "The applications that one may view",
        {200: listed("applications", application)},
        parameters=(below, within, limit, after),
        namespaced=False,
    )
    return {state.QUEUES: {"get": queues}, state.APPLICATIONS: {"get": applications}}


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
    put["responses"]["200"]["content"] = {"text/plain": _TEXT}
    validate = _changing("validateConfiguration", "Say what a change would make of the properties", shown, (_IF_MATCH,))
    for one in (put, validate):
        one["requestBody"] = {"required": True, "content": {**_json(_UPDATE), "application/xml": {"schema": {"type": "string"}}}}
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
    dry = _query("dryRun", {"type": "string", "enum": ["All"]}, "Whether the change is judged only")
    thing: Json = {"type": "object"}
    make = _changing("changeQueues", "Change several queues, all or nothing", thing, (dry, _IF_MATCH))
    make["requestBody"] = {"required": True, "content": _json({"$ref": _AT.format(name="NewChange")})}
    make["requestBody"]["content"]["application/json"]["example"] = {"apply": [], "delete": [], "message": "nothing"}
    return {
        base: {"get": _changing("queueChanges", "The changes that are in the log", thing), "post": make},
        f"{base}/{{version}}": {"get": _changing("queueChange", "A change with its edits", thing, (version,))},
        f"{base}/{{version}}/undo": {
            "post": _changing(
                "undoQueueChange",
                "Take a change back, as far as nothing of it was changed since",
                thing,
                (version, dry, _IF_MATCH),
            )
        },
    }


def _changing(name: str, summary: str, schema: Json | None, parameters: tuple[Json, ...] = ()) -> Json:
    """Return an operation on the configuration."""
    found = _asked(name, summary, {200: schema}, parameters=parameters, namespaced=False)
    for status, why in _CONFLICTS.items():
        found["responses"][str(status)] = {"description": why, "content": {"application/json": _REFUSED}}
    return found
