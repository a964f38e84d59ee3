"""The ResourceManager's web services as XML: the fields of the recorded JSON by the rules of Hadoop's documentation, and nothing that is no XML."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from aiohttp import test_utils, web

from treadle.rest import yarn_xml
from treadle.rest.answers import JSON, XML
from treadle.rest.yarn_xml import HEAD, XSI, wanted, written

RECORDED = {kind: json.loads((Path(__file__).parent / f"recorded/{kind}.json").read_text()) for kind in ("fair", "capacity")}
TYPE = f"{{{XSI}}}type"
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("application/json", JSON),
        ("application/xml", XML),
        ("*/*", JSON),
        ("application/*", JSON),
        ("application/xml, application/json", JSON),
        ("application/json;q=0.5, application/xml", XML),
        ("Application/XML; charset=utf-8", XML),
        ("application/xml;q=0", ""),
        ("application/json;q=0, */*", XML),
        ("application/xml;q=0.1, */*;q=0.9", JSON),
        (BROWSER, XML),
        ("text/xml", ""),
        ("application/xml;q=much", ""),
    ],
)
def test_whoever_asks_has_the_form_that_he_likes_more(accept: str, form: str) -> None:
    assert wanted(accept) == form


def test_an_object_is_an_element_with_its_fields_as_in_the_documentation() -> None:
    said = {"clusterInfo": {"id": 1324053971963, "state": "STARTED", "resourceManagerVersion": "0.23.1 <&>"}}
    assert written(json.dumps(said).encode()) == (
        HEAD + b"<clusterInfo><id>1324053971963</id><state>STARTED</state>"
        b"<resourceManagerVersion>0.23.1 &lt;&amp;&gt;</resourceManagerVersion></clusterInfo>"
    )


def test_a_list_is_its_element_again_and_again_and_nothing_is_an_empty_one() -> None:
    said = {
        "apps": {
            "app": [{"id": "a", "progress": 100.0, "unmanagedApplication": True}, {"id": "b", "diagnostics": "", "host": None}]
        }
    }
    assert written(json.dumps(said).encode()) == (
        HEAD + b"<apps><app><id>a</id><progress>100.0</progress><unmanagedApplication>true</unmanagedApplication></app>"
        b"<app><id>b</id><diagnostics /></app></apps>"
    )
    assert written(b'{"apps":{}}') == HEAD + b"<apps />"


def test_an_answer_without_a_name_of_its_own_has_one() -> None:
    assert written(b'{"state":"ACCEPTED"}', "appstate") == HEAD + b"<appstate><state>ACCEPTED</state></appstate>"


def test_the_class_of_a_scheduler_and_of_a_leaf_is_an_attribute_and_other_types_are_not() -> None:
    leaf = {"type": "capacitySchedulerLeafQueueInfo", "queueName": "a"}
    said = {"scheduler": {"schedulerInfo": {"type": "capacityScheduler", "queues": {"queue": [leaf]}}}}
    info = ET.fromstring(written(json.dumps(said).encode())).find("schedulerInfo")
    assert info is not None
    assert (info.get(TYPE), info.find("type")) == ("capacityScheduler", None)
    queue = info.find("queues/queue")
    assert queue is not None
    assert (queue.get(TYPE), queue.findtext("queueName")) == ("capacitySchedulerLeafQueueInfo", "a")
    item = ET.fromstring(written(b'{"appStatInfo":{"statItem":[{"state":"NEW","type":"*","count":1}]}}')).find("statItem")
    assert item is not None
    assert (item.findtext("type"), item.attrib) == ("*", {})


@pytest.mark.parametrize("hostile", ["<!DOCTYPE x>", "]]>", "&lolz;", "a\x00b\x0b", "\ud800", "<b>", "\r\n\t", '"' + "'"])
def test_whatever_a_name_is_it_is_read_as_text(hostile: str) -> None:
    body = json.dumps({"app": {"name": hostile}}).encode() if hostile != "\ud800" else b'{"app":{"name":"?"}}'
    made = written(body)
    name = ET.fromstring(made).findtext("name")
    assert b"<!" not in made.removeprefix(HEAD)
    assert name is not None
    assert name.replace("\ufffd", "") == json.loads(body)["app"]["name"].translate({0: None, 11: None}).replace("\r\n", "\n")


def flat(value: Any, path: str = "") -> dict[str, list[str]]:
    """The texts of JSON by their paths, as its XML has them."""
    found: dict[str, list[str]] = {}
    pairs = value.items() if isinstance(value, dict) else ()
    for name, one in pairs:
        for item in one if isinstance(one, list) else (one,):
            if isinstance(item, dict):
                for below, texts in flat(item, f"{path}/{name}").items():
                    found.setdefault(below, []).extend(texts)
            elif item is not None:
                text = str(item).lower() if isinstance(item, bool) else str(item)
                found.setdefault(f"{path}/{name}", []).append(text)
    return found


def of_xml(element: ET.Element, path: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    if TYPE in element.attrib:
        found.setdefault(f"{path}/type", []).append(element.attrib[TYPE])
    for child in element:
        where = f"{path}/{child.tag}"
        if not len(child) and not child.attrib:
            found.setdefault(where, []).append(child.text or "")
        for below, texts in of_xml(child, where).items():
            found.setdefault(below, []).extend(texts)
    return found


@pytest.mark.parametrize("kind", ["fair", "capacity"])
def test_all_that_a_recorded_resource_manager_told_is_in_its_xml(kind: str) -> None:
    told = 0
    for case in RECORDED[kind].values():
        body = case["body"]
        if (
            case["status"] != 200
            or not isinstance(body, dict)
            or len(body) != 1
            or not isinstance(next(iter(body.values())), dict)
        ):
            continue
        name = next(iter(body))
        made = ET.fromstring(written(json.dumps(body).encode()))
        assert made.tag == name
        read = {path: texts for path, texts in of_xml(made, f"/{name}").items() if texts != [""] * len(texts)}
        assert read == {path: texts for path, texts in flat(body).items() if texts != [""] * len(texts)}
        told += 1
    assert told > 10


async def test_large_answers_are_written_one_after_the_other_and_not_any_number(monkeypatch: pytest.MonkeyPatch) -> None:
    now, most, lock = 0, 0, threading.Lock()
    may, plain = threading.Event(), yarn_xml.written

    def watched(body: bytes, root: str = "") -> bytes:
        nonlocal now, most
        if len(body) <= yarn_xml.SMALL:
            return plain(body, root)
        with lock:
            now += 1
            most = max(most, now)
        may.wait(10)
        with lock:
            now -= 1
        return plain(body, root)

    async def told(_: web.Request) -> web.Response:
        return web.json_response({"apps": {"app": [{"id": "a" * yarn_xml.SMALL}]}})

    monkeypatch.setattr(yarn_xml, "written", watched)
    handler = yarn_xml.either(told, yarn_xml.Writer())
    requests = [test_utils.make_mocked_request("GET", "/ws/v1/cluster/apps", headers={"Accept": XML}) for _ in range(12)]
    asking = [asyncio.ensure_future(handler(request)) for request in requests]
    refused, _ = await asyncio.wait(asking, return_when=asyncio.FIRST_COMPLETED)
    may.set()
    answers = await asyncio.gather(*asking)
    assert [answer.status for answer in answers] == [200] * 8 + [503] * 4
    assert (most, now) == (1, 0)
    for one in refused:
        answer = one.result()
        assert (answer.status, answer.content_type, answer.headers["Vary"]) == (503, XML, "Accept")
        assert ET.fromstring(answer.body).tag == "RemoteException"
    assert (await handler(requests[0])).status == 200
