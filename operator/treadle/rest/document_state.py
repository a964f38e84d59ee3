"""What the OpenAPI document says of the state that is told below ``/api/v1``; answers are described by the models that make them."""

from __future__ import annotations

from typing import Final

from treadle.core.views.nodes import NODE_STATES
from treadle.rest import explaining, lines, pages, state, what_if
from treadle.rest.operations import AT, NAMESPACE, Json, asked, query

MODELS: Final = (lines.Pod, lines.Node, lines.Held, what_if.Asked, what_if.Would)
# In a query as it is sent a name has no blanks at its ends and nothing that cannot be printed.
TEXT: Json = {"type": "string", "maxLength": pages.MOST_NAMED, "pattern": "^[!-~]*$"}
_NAMED: Json = {"type": "string", "maxLength": pages.MOST_NAMED, "pattern": "^[a-z0-9]{1,63}/[!-.0-~]+$"}
BELOW = query("queue", TEXT, "Only of this queue and those below it")
LIMIT = query("limit", {"type": "integer", "minimum": 1, "maximum": pages.MOST, "default": pages.MOST}, "How many at the most")
_AFTER = query("continue", TEXT, "What the page before said, to go on after it")
WITHIN: Json = {**NAMESPACE, "description": "Only of this namespace; all of it for whoever may list there what is asked for"}
_KNOWN: Json = {
    "name": "If-None-Match",
    "in": "header",
    "description": "The ETag of the answer that the client has; 304 where it is still the same",
    "schema": {"type": "string", "pattern": '^(W/)?"[0-9a-f]{24}"$'},
}
_QUEUE: Json = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
_APPLICATION: Json = {"type": "object", "required": ["namespace", "name", "phase"]}


def paths() -> Json:
    """Return the operations by path and method."""
    placed = query("state", {"type": "string", "enum": list(state.STATES)}, "Only those that wait, or that have a node")
    of_nodes = (
        query("partition", TEXT, "Only of this partition, whose name is empty for the default one"),
        query("state", {"type": "string", "enum": list(NODE_STATES)}, "Only those in this state"),
    )
    of_pods = (
        BELOW,
        WITHIN,
        application("Only of this one, NAMESPACE/NAME"),
        query("node", TEXT, "Only on this node"),
        placed,
    )
    operations = {
        state.QUEUES: told("queues", "The queues that one may view", _list("queues", _QUEUE), (BELOW, LIMIT, _AFTER)),
        state.APPLICATIONS: told(
            "applications",
            "The applications that one may view",
            _list("applications", {**_APPLICATION, "properties": {"name": {"type": "string"}}}),
            (BELOW, WITHIN, LIMIT, _AFTER),
        ),
        state.PODS: told("pods", "The pods that one may see", _list("pods", _model("Pod")), (*of_pods, LIMIT, _AFTER)),
        state.NODES: told("nodes", "The nodes", _list("nodes", _model("Node")), (*of_nodes, LIMIT, _AFTER)),
        explaining.EXPLAIN: told(
            "explain",
            "Why a pod, an application or a queue waits; one of the three is named",
            _EXPLAINED,
            (
                query("pod", _NAMED, "NAMESPACE/NAME"),
                query("application", _NAMED, "NAMESPACE/NAME"),
                query("queue", TEXT, "The path of a queue"),
            ),
        ),
    }
    would = asked(
        "whatIf",
        "What would be if these pods came, or queues were edited so",
        {200: _model("Would")},
        "Asked",
        example={"apply": [{"metadata": {"name": "root.default"}, "spec": {"weight": 2}}], "seconds": 0},
        namespaced=False,
        ours=True,
    )
    return {**{path: {"get": operation} for path, operation in operations.items()}, what_if.WHAT_IF: {"post": would}}


def application(description: str) -> Json:
    """Return the parameter that names an application."""
    return query("application", _NAMED, description)


def _model(name: str) -> Json:
    return {"$ref": AT.format(name=name)}


def _list(name: str, item: Json) -> Json:
    return {
        "type": "object",
        "properties": {name: {"type": "array", "items": item}, "continue": {"type": "string"}},
        "required": [name, "continue"],
        "additionalProperties": False,
    }


_EXPLAINED: Json = {
    "type": "object",
    "properties": {
        "pod": _model("Pod"),
        "application": _APPLICATION,
        "queue": {"type": "object", "required": ["name", "inForce"]},
        "held": {"type": "array", "items": _model("Held")},
        "queues": {"type": "array", "items": _QUEUE},
        "eta": {"type": "object"},
    },
    "required": ["held", "queues"],
    "additionalProperties": False,
}


def told(name: str, summary: str, schema: Json, parameters: tuple[Json, ...]) -> Json:
    """Return an operation that tells something, with its version."""
    found = asked(name, summary, {200: schema, 304: None}, parameters=(*parameters, _KNOWN), namespaced=False, ours=True)
    found["responses"]["304"]["description"] = "It is what the client has"
    return found
