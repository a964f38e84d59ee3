"""Cases of mapping rules: queues and rules from Hadoop's properties, and where each application lands."""

from __future__ import annotations

from typing import Any

from treadle.convert.errors import MappingError
from treadle.convert.mapping import overrides, read_rules
from treadle.core.model.mapping import Known
from treadle.core.rules.placement.mapping import InvalidMapping, Mapper, MappingRejected, QueueNames, Submission

PREFIX = "yarn.scheduler.capacity."


def built(case: dict[str, Any]) -> bool:
    return case.get("kind") == "mapping"


def queues_of(conf: dict[str, str]) -> QueueNames:
    """The queues that the properties declare."""
    names = QueueNames()

    def declare(path: str) -> None:
        def said(key: str) -> bool:
            return conf.get(f"{PREFIX}{path}.{key}", "false") == "true"

        children = [child.strip() for child in conf.get(f"{PREFIX}{path}.queues", "").split(",") if child.strip()]
        deep = said("auto-queue-creation-v2.enabled")
        makes = said("auto-create-child-queue.enabled") or deep
        names.add(Known(path, leaf=not children and not makes, makes=makes, deep=deep))
        for child in children:
            declare(f"{path}.{child}")

    declare("root")
    return names


def answer(case: dict[str, Any]) -> dict[str, Any]:
    """What our mapper answers to a case."""
    conf = case["conf"]
    try:
        rules = read_rules(conf)
        mapper = Mapper(rules, queues_of(conf), override=overrides(conf))
    except MappingError as error:
        return {"init_error": f"YarnException/{error.hadoop}"}
    except InvalidMapping:
        return {"init_error": "YarnException/IOException/YarnException"}
    return {"placements": [placed(mapper, case["groups"], app) for app in case["apps"]]}


def placed(mapper: Mapper, groups: dict[str, list[str]], app: dict[str, Any]) -> dict[str, Any]:
    known = groups.get(app["user"])
    submission = Submission(
        app["user"],
        None if known is None else tuple(known),
        app.get("name", "N/A"),
        app.get("queue", "default"),
        app.get("recovery", False),
    )
    try:
        path = mapper.place(submission)
    except MappingRejected:
        return {"error": "YarnException"}
    if path is None:
        return {"queue": None}
    parent, _, leaf = path.rpartition(".")
    return {"queue": path, "leaf": leaf, "parent": parent}
