"""What a request to ``/ws/v1/cluster`` asks for, read and refused as the ResourceManager does it (``RMWebServices``, Hadoop 3.4), with its words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from treadle.rest.answers import Refused
from treadle.rest.yarn_shapes import APP_STATES, FINAL_STATES, NODE_STATES

if TYPE_CHECKING:
    from aiohttp import web

Json = Mapping[str, Any]
ILLEGAL: Final = "java.lang.IllegalArgumentException"
NEVER: Final = (1 << 63) - 1
FIELDS: Final = ("resourceRequests", "timeouts", "appNodeLabelExpression", "amNodeLabelExpression", "resourceInfo")
"""What may be left out of an application."""
APPS: Final = (
    "state", "states", "finalStatus", "user", "queue", "limit", "startedTimeBegin", "startedTimeEnd", "finishedTimeBegin",
    "finishedTimeEnd", "applicationTypes", "applicationTags", "name", "deSelects",
)  # fmt: skip
"""The parameters of a list of applications."""


def bad(words: str) -> Refused:
    """Return YARN's answer to a request that makes no sense."""
    return Refused(400, f"java.lang.Exception: {words}")


def several(request: web.Request, name: str) -> list[str]:
    """Return the values of a parameter that may be there several times, or have several with commas between them."""
    found = [one.strip() for text in request.query.getall(name, ()) for one in text.split(",")]
    return [one for one in found if one]


def states_of(request: web.Request, *names: str) -> frozenset[str]:
    """Return the states of applications that are asked for, all that are named."""
    found = [one for name in names for one in several(request, name)]
    for one in found:
        if one.upper() not in APP_STATES:
            raise bad(f"Invalid application-state {one[:64]} specified. It should be one of [{', '.join(APP_STATES)}]")
    return frozenset(one.upper() for one in found)


def node_states_of(request: web.Request) -> frozenset[str]:
    """Return the states of nodes that are asked for."""
    found = frozenset(one.upper() for one in several(request, "states"))
    for one in sorted(found):
        if one not in NODE_STATES:
            raise Refused(400, f"No enum constant org.apache.hadoop.yarn.api.records.NodeState.{one[:64]}", ILLEGAL)
    return found


def number(request: web.Request, name: str, word: str, default: int, least: int) -> int:
    """Return a parameter that is a number of at least ``least``; ``word`` is what YARN calls it."""
    text = request.query.get(name, "")
    if not text:
        return default
    if re.fullmatch(r"[-+]?[0-9]{1,18}", text, re.ASCII) is None:
        raise bad(f"{word} value must be a number!")
    if int(text) < least:
        raise bad(f"{word}{' value' if name == 'limit' else ''} must be greater {'then' if name == 'limit' else 'than'} 0")
    return int(text)


@dataclass(frozen=True, slots=True)
class Filters:
    """Which applications are asked for; times are in ms since 1970, what is empty admits all."""

    states: frozenset[str]
    final: str
    user: str
    queue: str
    limit: int
    started: tuple[int, int]
    finished: tuple[int, int]
    types: frozenset[str]
    tags: frozenset[str]
    name: str
    without: frozenset[str]

    def admit(self, one: Json) -> bool:
        """Whether an application is asked for, but for its queue."""
        return (
            (not self.states or one["state"] in self.states)
            and self.final in {"", one["finalStatus"]}
            and self.user in {"", one["user"]}
            and self.name in {"", one["name"]}
            and self.started[0] <= one["startedTime"] <= self.started[1]
            and self.finished[0] <= one["finishedTime"] <= self.finished[1]
            and (not self.types or one["applicationType"].lower() in self.types)
            and (not self.tags or bool(self.tags & set(one["applicationTags"].lower().split(","))))
        )

    def shown(self, one: Json) -> dict[str, Any]:
        """Return an application without what is not asked for."""
        return {name: value for name, value in one.items() if name not in self.without}


def filters_of(request: web.Request) -> Filters:
    """Return what is asked for. Raises ``Refused``."""
    final = request.query.get("finalStatus", "")
    limit = number(request, "limit", "limit", NEVER, 1)
    started = _between(request, "started", "started", "start")
    finished = _between(request, "finished", "finish", "finish")
    if final and final not in FINAL_STATES:
        raise Refused(400, f"No enum constant org.apache.hadoop.yarn.api.records.FinalApplicationStatus.{final[:64]}", ILLEGAL)
    without = several(request, "deSelects")
    known = {name.lower(): name for name in FIELDS}
    for one in without:
        if one.lower() not in known:
            raise bad(f"Invalid deSelects string {one[:64]} specified. It should be one of [{', '.join(FIELDS)}]")
    return Filters(
        states_of(request, "state", "states"),
        final,
        request.query.get("user", ""),
        request.query.get("queue", ""),
        limit,
        started,
        finished,
        _lower(several(request, "applicationTypes")),
        _lower(several(request, "applicationTags")),
        request.query.get("name", ""),
        frozenset(known[one.lower()] for one in without),
    )


def _between(request: web.Request, name: str, word: str, other: str) -> tuple[int, int]:
    """Return from when on and until when; YARN has several words for the same."""
    begin = number(request, f"{name}TimeBegin", f"{word}TimeBegin", 0, 0)
    end = number(request, f"{name}TimeEnd", f"{word}TimeEnd", NEVER, 0)
    if begin > end:
        raise bad(f"{word}TimeEnd must be greater than {other}TimeBegin")
    return begin, end


def _lower(found: Iterable[str]) -> frozenset[str]:
    return frozenset(one.lower() for one in found)
