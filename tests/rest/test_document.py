"""The OpenAPI document: what it names is served, and what is served stands in it."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
from aiohttp import web

from treadle.changes.yarn_update import from_json
from treadle.page.admitting import everybody
from treadle.page.board import Sources
from treadle.page.past import Past as PagePast
from treadle.page.rows import TOPICS
from treadle.page.stream import Stream
from treadle.rest import (
    configuration,
    departed,
    document_page,
    estimator,
    explaining,
    forms,
    history,
    manifest,
    plan,
    preemptions,
    queue_changes,
    reservations,
    state,
    timeline,
    what_if,
    yarn_cluster,
    yarn_history,
)
from treadle.rest.asking import Asker
from treadle.rest.document import Served, document
from treadle.rest.past import Past
from treadle.rest.serving import Door


def described(**options: bool) -> dict[str, Any]:
    return document(Served(**{"rest": True, "page": True, "changes": True, "forecasts": True, **options}), "1")


def test_every_route_of_the_rest_is_described_and_none_else() -> None:
    door = Door(Asker(None), lambda: "")  # type: ignore[arg-type]
    sources = state.Sources(None, None, None)  # type: ignore[arg-type]
    served = [
        *reservations.routes(door, None, {}),  # type: ignore[arg-type]
        *estimator.routes(door, None, lambda: ""),
        *state.routes(door, sources),
        *explaining.routes(door, sources),
        *what_if.routes(door, sources, None),  # type: ignore[arg-type]
        *manifest.routes(door, None),  # type: ignore[arg-type]
        *yarn_cluster.routes(door, sources, None),  # type: ignore[arg-type]
        *history.routes(door, sources, Past("")),
        *yarn_history.routes(door, sources, None, Past("")),  # type: ignore[arg-type]
        *timeline.routes(door, sources, None, Past("")),  # type: ignore[arg-type]
        *configuration.routes(door, None),  # type: ignore[arg-type]
        *queue_changes.routes(door, None),  # type: ignore[arg-type]
        *preemptions.routes(door, sources, None),  # type: ignore[arg-type]
        *departed.routes(door, sources, None),  # type: ignore[arg-type]
        *plan.routes(door, sources, {}),
        *of_the_page(door),
    ]
    routes = {(route.path.replace(":.+", ""), route.method.lower()) for route in served}
    told = {(path, method) for path, operations in described()["paths"].items() for method in operations}
    assert told == routes | {(path, "get") for path in ("/metrics", "/status", "/eta", "/openapi/v3")}


def of_the_page(door: Door) -> list[web.RouteDef]:
    stream = Stream(Sources(None), everybody)  # type: ignore[arg-type]
    return [*stream.routes(), *PagePast("", None).routes(door)]  # type: ignore[arg-type]


def test_what_is_not_served_is_not_described() -> None:
    nothing = described(rest=False, page=False, changes=False, forecasts=False)
    assert set(nothing["paths"]) == {"/metrics", "/status", "/openapi/v3"}
    assert nothing["components"]["schemas"] == {}


def test_with_the_page_alone_what_it_asks_for_is_described_and_no_more() -> None:
    found = described(rest=False, changes=False, forecasts=False)
    told = {route.path for route in of_the_page(Door(Asker(None), lambda: ""))}  # type: ignore[arg-type]
    shared = {state.PODS, preemptions.PREEMPTIONS, departed.ENDED, plan.PLAN, history.RUNS, history.EVENTS}
    assert set(found["paths"]) == told | shared | {"/metrics", "/status", "/openapi/v3"}
    assert {one.rpartition("/")[2] for one in references(found)} == set(found["components"]["schemas"])
    (topics, _) = found["paths"]["/api/v1/stream"]["get"]["parameters"]
    assert document_page.TOPICS == TOPICS
    assert re.fullmatch(topics["schema"]["pattern"], ",".join(TOPICS))


def references(node: Any) -> set[str]:
    if isinstance(node, dict):
        own = {node["$ref"]} if isinstance(node.get("$ref"), str) else set()
        return own.union(*(references(one) for one in node.values()))
    return set().union(*(references(one) for one in node)) if isinstance(node, list) else set()


def test_every_schema_that_is_named_is_there() -> None:
    found = described()
    named = {one.rpartition("/")[2] for one in references(found)}
    assert named == set(found["components"]["schemas"])


@pytest.mark.parametrize(("path", "form"), [("submit", forms.Submission), ("update", forms.Update), ("delete", forms.Deletion)])
def test_the_examples_are_read_by_what_reads_requests(path: str, form: type[forms.Submission]) -> None:
    operation = described()["paths"][f"{reservations.BASE}/{path}"]["post"]
    example = operation["requestBody"]["content"]["application/json"]["example"]
    assert forms.read(msgspec.json.encode(example), form).reservation_id == "reservation_1893970000000_0001"


def test_the_example_of_a_change_in_yarns_words_is_read_by_what_reads_requests() -> None:
    operations = described()["paths"]
    for path, method in ((configuration.BASE, "put"), (f"{configuration.BASE}/validate", "post")):
        example = operations[path][method]["requestBody"]["content"]["application/json"]["example"]
        assert from_json(example).update == (("root.default", {"maximum-capacity": "80"}),)
