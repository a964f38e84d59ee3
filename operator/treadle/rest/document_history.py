"""What the OpenAPI document says of what is told from the history, in our shape and in that of YARN's generic history."""

from __future__ import annotations

from typing import Final

from treadle.rest import history, timeline, yarn_history
from treadle.rest import timeline_shapes as shapes
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
_ARRAY: Json = {"type": "array"}
_COUNT: Json = {"type": "integer", "minimum": 0, "maximum": (1 << 53) - 1}
_OF_TIMELINE: Final[dict[str, Json]] = {
    **dict.fromkeys(("limit", "createdtimestart", "createdtimeend", "metricslimit"), _COUNT),
    "daterange": {"type": "string", "pattern": "^20[0-9]{2}0[1-9](0[1-9]|1[0-9])(-)?$"},
    "fields": {"type": "string", "enum": [shapes.ALL, shapes.METRICS]},
    "metricstoretrieve": {"type": "string", "pattern": "^[A-Z_,]*$"},
}
_EXAMPLES: Final = {
    "cluster": shapes.CLUSTER,
    "user": "ann",
    "flow": "etl%2Fnightly",
    "run": "1900000000000",
    "id": "application_1_0001",
    "type": shapes.ATTEMPT,
    "entity": "appattempt_1_0001_000001",
    "attempt": "appattempt_1_0001_000001",
    "flow_uid": "treadle!ann!etl",
    "run_uid": "treadle!ann!etl!1900000000000",
    "app_uid": "treadle!ann!etl!1900000000000!application_1_0001",
    "entity_uid": f"treadle!application_1_0001!{shapes.ATTEMPT}!0!appattempt_1_0001_000001",
}


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
    found = {
        **ours,
        **{f"{yarn_history.BASE}{path}": operation for path, operation in yarns.items()},
        **{f"{timeline.BASE}{path}": operation for path, operation in _timeline().items()},
    }
    return {path: {"get": operation} for path, operation in found.items()}


def _timeline() -> Json:
    named = {name: {**part(example), "name": name} for name, example in _EXAMPLES.items()}
    flow = "/users/{user}/flows/{flow}"
    rows: dict[str, tuple[str, str, Json, tuple[str, ...]]] = {
        "/flows": ("Flows", "What flows did on which day", _ARRAY, timeline.FLOWS),
        f"{flow}/runs": ("FlowRuns", "The runs of a flow", _ARRAY, timeline.RUNS),
        f"{flow}/runs/{{run}}": ("FlowRun", "A run of a flow", _OBJECT, ("metricstoretrieve",)),
        f"{flow}/runs/{{run}}/apps": ("FlowRunApps", "The applications of a run", _ARRAY, timeline.APPS),
        f"{flow}/apps": ("FlowApps", "The applications of a flow", _ARRAY, timeline.APPS),
        "/apps/{id}": ("App", "An application", _OBJECT, timeline.ONE),
        "/apps/{id}/entity-types": ("EntityTypes", "The types of entities that are kept of it", _ARRAY, ()),
        "/apps/{id}/entities/{type}": ("Entities", "Entities of a type", _ARRAY, timeline.APPS),
        "/apps/{id}/entities/{type}/{entity}": ("Entity", "An entity", _OBJECT, (*timeline.ONE, "entityidprefix")),
        "/apps/{id}/appattempts": ("Attempts", "The runs of an application", _ARRAY, timeline.APPS),
        "/apps/{id}/appattempts/{entity}": ("Attempt", "A run of an application", _OBJECT, (*timeline.ONE, "entityidprefix")),
        "/apps/{id}/appattempts/{attempt}/containers": ("Containers", "None: they are not kept", _ARRAY, timeline.APPS),
    }
    by_uid: dict[str, tuple[str, str, Json, tuple[str, ...]]] = {
        "/flow-uid/{flow_uid}/runs": ("FlowUidRuns", "The runs of a flow", _ARRAY, timeline.RUNS),
        "/run-uid/{run_uid}": ("RunUid", "A run of a flow", _OBJECT, ("metricstoretrieve",)),
        "/run-uid/{run_uid}/apps": ("RunUidApps", "The applications of a run", _ARRAY, timeline.APPS),
        "/app-uid/{app_uid}": ("AppUid", "An application", _OBJECT, timeline.ONE),
        "/app-uid/{app_uid}/entities/{type}": ("AppUidEntities", "Entities of a type", _ARRAY, timeline.APPS),
        "/entity-uid/{entity_uid}": ("EntityUid", "An entity", _OBJECT, (*timeline.ONE, "entityidprefix")),
    }
    found: Json = {
        "": _bare("timeline", "What serves", _OBJECT),
        "/health": _bare("timelineHealth", "Whether the history can be read", _OBJECT),
    }
    in_cluster = {f"/clusters/{{cluster}}{path}": (f"Cluster{row[0]}", *row[1:]) for path, row in rows.items()}
    for path, (name, summary, schema, queries) in (rows | by_uid | in_cluster).items():
        parts = tuple(one for key, one in named.items() if f"{{{key}}}" in path)
        of = tuple(query(one, _OF_TIMELINE.get(one, _TEXT), "As the timeline reader has it") for one in queries)
        found[path] = _bare(f"timeline{name}", summary, schema, (*parts, *of))
    return found


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
