"""What the OpenAPI document says of the ResourceManager's web services."""

from __future__ import annotations

from typing import Final

from treadle.rest import yarn_filters, yarn_shapes
from treadle.rest.answers import JSON, XML
from treadle.rest.operations import Json, asked, query
from treadle.rest.yarn_cluster import BASE

_OBJECT: Json = {"type": "object"}
_NAMED: Json = {"type": "string", "maxLength": 253, "pattern": "^[!-~]*$"}
_NUMBER: Json = {"type": "integer", "minimum": 0, "maximum": (1 << 53) - 1}
_SOME: Json = {"type": "string", "enum": list(yarn_shapes.APP_STATES)}
SCHEMAS: Final[dict[str, Json]] = {
    "state": _SOME,
    "states": _SOME,
    "finalStatus": {"type": "string", "enum": list(yarn_shapes.FINAL_STATES)},
    "limit": {**_NUMBER, "minimum": 1},
    "deSelects": {"type": "string", "enum": list(yarn_filters.FIELDS)},
    **dict.fromkeys(("startedTimeBegin", "startedTimeEnd", "finishedTimeBegin", "finishedTimeEnd"), _NUMBER),
}
"""What parameters of a list of applications may be, where they are no names."""


def paths() -> Json:
    """Return the operations by path and method."""
    of_apps = tuple(query(name, SCHEMAS.get(name, _NAMED), "As the ResourceManager has it") for name in yarn_filters.APPS)
    states = query("states", _SOME, "Only these")
    fields = query("deSelects", SCHEMAS["deSelects"], "What is left out")
    types = query("applicationTypes", {"type": "string", "pattern": "^[!-+--~]*$", "maxLength": 64}, "Only this one")
    of_nodes = query("states", {"type": "string", "enum": list(yarn_shapes.NODE_STATES)}, "Only these")
    app, node = part("application_1_0001"), part(f"worker-1:{yarn_shapes.PORT}")
    told = {
        "": _told("cluster", "What serves", "clusterInfo"),
        "/info": _told("clusterInfo", "What serves", "clusterInfo"),
        "/metrics": _told("clusterMetrics", "Sums over the cluster", "clusterMetrics"),
        "/scheduler": _told("clusterScheduler", "The queue tree", "scheduler"),
        "/apps": _told("clusterApps", "The applications", "apps", of_apps),
        "/apps/{id}": _told("clusterApp", "An application", "app", (app, fields)),
        "/apps/{id}/state": _told("clusterAppState", "The state of an application", "state", (app,), {"type": "string"}),
        "/nodes": _told("clusterNodes", "The nodes", "nodes", (of_nodes,)),
        "/nodes/{id}": _told("clusterNode", "A node", "node", (node,)),
        "/appstatistics": _told("appStatistics", "How many applications are in which state", "appStatInfo", (states, types)),
    }
    return {f"{BASE}{path}": {"get": operation} for path, operation in told.items()}


def part(example: str) -> Json:
    """Return the parameter of a path that is an id."""
    schema = {"type": "string", "minLength": 1, "pattern": "^[^/]+$"}
    return {"name": "id", "in": "path", "required": True, "description": "An id", "schema": schema, "example": example}


def _told(name: str, summary: str, field: str, parameters: tuple[Json, ...] = (), item: Json = _OBJECT) -> Json:
    schema: Json = {"type": "object", "properties": {field: item}, "required": [field], "additionalProperties": False}
    found = asked(name, summary, {200: schema}, parameters=parameters, namespaced=False)
    for one in found["responses"].values():
        if JSON in one.get("content", {}):
            one["content"] = {**one["content"], XML: {"schema": {"type": "string"}}}
    return found
