"""What the operations of the OpenAPI document are made of: parameters, answers, and what is refused in either shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from treadle.api.common import DNS_LABEL, NAME_LIMIT
from treadle.rest.answers import JSON
from treadle.rest.answers import PROBLEM as PROBLEM_JSON

Json = dict[str, Any]
AT = "#/components/schemas/{name}"
TEXT: Json = {"schema": {"type": "string"}}
REFUSALS: dict[bool, Json] = {
    False: {JSON: {"schema": {"$ref": AT.format(name="Refusal")}}, "text/plain": TEXT},
    True: {PROBLEM_JSON: {"schema": {"$ref": AT.format(name="Problem")}}, "text/plain": TEXT},
}
"""What a refused request is answered with: in our shape, or in YARN's; in plain text while nobody is known yet."""
COMMON = {
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
NAMESPACE: Json = {
    "name": "namespace",
    "in": "query",
    "description": "The namespace of what is asked about; that of the service account whose token it is, if absent",
    "schema": {"type": "string", "pattern": f"^{DNS_LABEL}$", "maxLength": NAME_LIMIT},
}
REFUSAL: Json = {
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
EMPTY: Json = {"type": "object", "additionalProperties": False}
PROBLEM: Json = {
    "type": "object",
    "properties": {
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "instance": {"type": "string"},
    },
    "required": ["title", "status", "detail", "instance"],
    "additionalProperties": False,
}


def as_json(schema: Mapping[str, Any]) -> Json:
    """Return the content of a body in JSON."""
    return {"application/json": {"schema": schema}}


def asked(
    name: str,
    summary: str,
    answers: Mapping[int, Json | None],
    body: str = "",
    parameters: tuple[Json, ...] = (),
    *,
    example: Json | None = None,
    namespaced: bool = True,
    ours: bool = False,
) -> Json:
    """Return an operation. ``answers`` are schemas by status, None for one without a body; ``body`` is the name of the request's, with an ``example``. ``ours``: it is refused in our shape, else in YARN's."""
    refused = {str(status): {"description": why, "content": dict(REFUSALS[ours])} for status, why in COMMON.items()}
    done = {
        str(status): {"description": "It is done"} | ({} if schema is None else {"content": as_json(schema)})
        for status, schema in answers.items()
    }
    found: Json = {
        "operationId": name,
        "summary": summary,
        "parameters": [*parameters, *((NAMESPACE,) if namespaced else ())],
        "responses": {**done, **refused},
    }
    if body:
        found["requestBody"] = {"required": True, "content": as_json({"$ref": AT.format(name=body)})}
        found["requestBody"]["content"]["application/json"]["example"] = example
    return found


def query(name: str, schema: Json, description: str) -> Json:
    """Return a parameter of the query."""
    return {"name": name, "in": "query", "description": description, "schema": schema}
