"""What the OpenAPI document says of the state that is told below ``/api/v1``; answers are described by the models that make them."""

from __future__ import annotations

from typing import Final

from treadle.api.common import NAME_LIMIT
from treadle.core.views.nodes import NODE_STATES
from treadle.rest import departed, explaining, lines, manifest, pages, plan, preemptions, state, what_if
from treadle.rest.operations import AT, NAMESPACE, Json, asked, query

MODELS: Final = (lines.Node, lines.Held, what_if.Asked, what_if.Would)
SHARED: Final = (lines.Pod, preemptions.Preemption, departed.EndedPod, plan.Plan)
"""What the page is told as well."""
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
    of_nodes = (
        query("partition", TEXT, "Only of this partition, whose name is empty for the default one"),
        query("state", {"type": "string", "enum": list(NODE_STATES)}, "Only those in this state"),
    )
    operations = {
        state.QUEUES: told("queues", "The queues that one may view", _list("queues", _QUEUE), (BELOW, LIMIT, _AFTER)),
        state.APPLICATIONS: told(
            "applications",
            "The applications that one may view",
            _list("applications", {**_APPLICATION, "properties": {"name": {"type": "string"}}}),
            (BELOW, WITHIN, LIMIT, _AFTER),
        ),
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
    named: Json = {"type": "string", "maxLength": NAME_LIMIT, "pattern": f"^{manifest.PATTERN}$"}
    whole: Json = {"type": "object", "required": ["apiVersion", "kind", "metadata", "spec"]}
    written = asked(
        "queueManifest",
        "A Queue as it is written, to be edited",
        {200: whole},
        parameters=({**query("queue", named, "The path of the queue"), "required": True},),
        namespaced=False,
        ours=True,
    )
    gets = {path: {"get": operation} for path, operation in operations.items()}
    return {**gets, what_if.WHAT_IF: {"post": would}, manifest.MANIFEST: {"get": written}}


def shared_paths() -> Json:
    """Return the operations of what the page is told as well."""
    placed = query("state", {"type": "string", "enum": list(state.STATES)}, "Only those that wait, or that have a node")
    of_pods = (
        BELOW,
        WITHIN,
        application("Only of this one, NAMESPACE/NAME"),
        query("node", TEXT, "Only on this node"),
        placed,
    )
    of_preemptions = (BELOW, WITHIN, application("Only pods of this one, NAMESPACE/NAME"), LIMIT)
    gone: Json = {
        "type": "object",
        "properties": {"preemptions": {"type": "array", "items": _model("Preemption")}},
        "required": ["preemptions"],
        "additionalProperties": False,
    }
    ended: Json = {
        "type": "object",
        "properties": {"endedPods": {"type": "array", "items": _model("EndedPod")}},
        "required": ["endedPods"],
        "additionalProperties": False,
    }
    ahead: Json = {"type": "integer", "minimum": 1, "maximum": plan.MOST_HOURS, "default": plan.HOURS}
    of_plan = ({**query("queue", TEXT, "The path of the queue"), "required": True}, query("hours", ahead, "How far ahead"))
    operations = {
        state.PODS: told("pods", "The pods that one may see", _list("pods", _model("Pod")), (*of_pods, LIMIT, _AFTER)),
        preemptions.PREEMPTIONS: told(
            "preemptions", "The pods that were asked to go lately, the newest first", gone, of_preemptions
        ),
        departed.ENDED: told("endedPods", "The pods that ended lately, the newest first", ended, of_preemptions),
        plan.PLAN: told("plan", "What is promised of a queue, and when", _model("Plan"), of_plan),
    }
    return {path: {"get": operation} for path, operation in operations.items()}


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
