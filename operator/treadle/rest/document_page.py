"""What the OpenAPI document says of what is served for the page alone: the stream, and what was before one looked. Amounts in them are numbers, of cpu in thousandths and of memory in bytes."""

from __future__ import annotations

from treadle.rest.operations import Json, asked, query

STREAM, QUEUE_HISTORY = (f"/api/v1/{name}" for name in ("stream", "queue-history"))
TOPICS = ("queues", "applications", "nodes")
MOST_NAMED, HOURS, MOST_HOURS = 512, 24, 168
_TEXT: Json = {"type": "string", "maxLength": MOST_NAMED, "pattern": "^[!-~]*$"}
_NUMBER: Json = {"type": "number"}
_AMOUNTS: Json = {"type": "object", "additionalProperties": {"type": "integer"}}


def paths() -> Json:
    """Return the operations by path and method."""
    one_of = "|".join(TOPICS)
    topics: Json = {"type": "string", "pattern": f"^({one_of})(,({one_of}))*$", "default": TOPICS[0]}
    stream = asked(
        "stream",
        "What one may see as server-sent events: first all of it (full), then what changed (change), and why the stream ends (bye)",
        {200: None},
        parameters=(
            query("topics", topics, "What is told of; queues always are"),
            query("queue", _TEXT, "Applications of this queue and those below it alone"),
        ),
        namespaced=False,
        ours=True,
    )
    stream["responses"]["200"] = {"description": "It is told", "content": {"text/event-stream": {"schema": {"type": "string"}}}}
    hours: Json = {"type": "integer", "minimum": 1, "maximum": MOST_HOURS, "default": HOURS}
    queue = {**query("queue", {**_TEXT, "minLength": 1}, "The path of the queue"), "required": True}
    return {
        STREAM: {"get": stream},
        QUEUE_HISTORY: {
            "get": asked(
                "queueHistory",
                "What a queue used, from the history",
                {200: _listed("queue", "samples", _sample())},
                parameters=(queue, query("hours", hours, "How far back")),
                namespaced=False,
                ours=True,
            )
        },
    }


def _sample() -> Json:
    return _object(at=_NUMBER, used=_AMOUNTS, pending=_AMOUNTS, guaranteed=_AMOUNTS)


def _listed(what: str, field: str, item: Json) -> Json:
    named: Json = {what: {"type": "string"}, field: {"type": "array", "items": item}}
    return _object(**named)


def _object(**fields: Json) -> Json:
    return {"type": "object", "properties": fields, "required": [*fields], "additionalProperties": False}
