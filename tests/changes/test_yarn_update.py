"""Changes as YARN's clients write them, and what they make of properties."""

from __future__ import annotations

import time
from typing import Any

import pytest

from treadle.changes.yarn_update import (
    MOST_QUEUES,
    Inapplicable,
    Malformed,
    Update,
    applied,
    from_json,
    from_xml,
    new_queues,
    states,
)

XML = b"""<?xml version="1.0" encoding="UTF-8"?>
<sched-conf>
  <add-queue><queue-name>root.a.a1</queue-name><params><entry><key>capacity</key><value>60</value></entry>
    <entry><key>maximum-capacity</key><value>80</value></entry></params></add-queue>
  <add-queue><queue-name>root.a.a2</queue-name><params><entry><key>capacity</key><value>40</value></entry></params></add-queue>
  <update-queue><queue-name>root.b</queue-name><params><entry><key>state</key><value/></entry></params></update-queue>
  <remove-queue>root.c</remove-queue>
  <global-updates><entry><key>yarn.scheduler.capacity.maximum-applications</key><value>50</value></entry></global-updates>
</sched-conf>"""
MEANT = Update(
    remove=("root.c",),
    add=(("root.a.a1", {"capacity": "60", "maximum-capacity": "80"}), ("root.a.a2", {"capacity": "40"})),
    update=(("root.b", {"state": ""}),),
    everywhere=(("yarn.scheduler.capacity.maximum-applications", "50"),),
)
QUEUES = {"yarn.scheduler.capacity.root.queues": "a,b,c", "yarn.scheduler.capacity.root.c.capacity": "20"}
RUNNING = {**QUEUES, "yarn.scheduler.capacity.root.b.queues": "b1"}


def entry(key: str, value: str) -> dict[str, str]:
    return {"key": key, "value": value}


def test_xml_is_read_as_hadoop_documents_it() -> None:
    assert from_xml(XML) == MEANT


@pytest.mark.parametrize(
    "body",
    [
        {
            "remove-queue": "root.c",
            "add-queue": [
                {"queue-name": "root.a.a1", "params": {"entry": [entry("capacity", "60"), entry("maximum-capacity", "80")]}},
                {"queue-name": "root.a.a2", "params": {"entry": entry("capacity", "40")}},
            ],
            "update-queue": {"queue-name": "root.b", "params": {"entry": {"key": "state", "value": ""}}},
            "global-updates": {"entry": {"key": "yarn.scheduler.capacity.maximum-applications", "value": 50}},
        },
        {
            "sched-conf": {
                "remove-queue": ["root.c"],
                "add-queue": [
                    {"queue-name": "root.a.a1", "params": {"capacity": 60, "maximum-capacity": "80"}},
                    {"queue-name": "root.a.a2", "params": {"capacity": "40"}},
                ],
                "update-queue": [{"queue-name": "root.b", "params": {"state": ""}}],
                "global-updates": [{"entry": [entry("yarn.scheduler.capacity.maximum-applications", "50")]}],
            }
        },
    ],
)
def test_json_is_read_as_hadoops_clients_write_it_and_with_plain_objects(body: Any) -> None:
    assert from_json(body) == MEANT


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ([], "the body is not an object with any of add-queue, global-updates, remove-queue, update-queue"),
        (
            {"add-queues": []},
            "the body: 'add-queues' is not known; allowed are add-queue, global-updates, remove-queue, update-queue",
        ),
        ({"add-queue": {"params": {}}}, "add-queue: queue-name is missing"),
        ({"add-queue": {"queue-name": "root.a", "param": {}}}, "add-queue: 'param' is not known; allowed are params, queue-name"),
        (
            {"update-queue": {"queue-name": "root.a", "params": {"entry": [{"value": "1"}]}}},
            "update-queue.params.entry: key is missing",
        ),
        ({"update-queue": {"queue-name": "root.a", "params": "x"}}, "update-queue.params: 'x' is not an object"),
        ({"remove-queue": [{}]}, "remove-queue: {} is not a text"),
        ({"global-updates": {"a": {"b": 1}}}, "global-updates.a: {'b': 1} is not a text"),
    ],
)
def test_what_is_no_change_is_refused_with_the_field_and_what_is_allowed(body: Any, words: str) -> None:
    with pytest.raises(Malformed) as error:
        from_json(body)
    assert str(error.value) == words


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<sched-conf>",
        b"<conf/>",
        b'<!DOCTYPE a [<!ENTITY b "c">]><sched-conf>&b;</sched-conf>',
        b'<!DOCTYPE a SYSTEM "b"><sched-conf><remove-queue>root.&none;c</remove-queue></sched-conf>',
        b"\xff\xfe<",
        b'<?xml version="1.0" encoding="none"?><sched-conf/>',
        b'<?xml version="1.0" encoding="zlib"?><sched-conf/>',
        b'<?xml version="1.0" encoding="gb2312"?><sched-conf/>',
        b"<sched-conf>" + b"<a>" * 100_000 + b"</a>" * 100_000 + b"</sched-conf>",
        b'<sched-conf xmlns="b"/>',
        b'<sched-conf><remove-queue why="old">root.c</remove-queue></sched-conf>',
        b"<sched-conf>root.c<remove-queue>root.b</remove-queue></sched-conf>",
    ],
)
def test_xml_that_cannot_be_read_is_refused(body: bytes) -> None:
    with pytest.raises(Malformed):
        from_xml(body)


def test_a_text_of_many_lines_takes_no_more_than_its_length() -> None:
    began = time.process_time()
    assert from_xml(b"<sched-conf><remove-queue>" + b"a\n" * 500_000 + b"</remove-queue></sched-conf>").remove[0].startswith("a")
    assert time.process_time() - began < 5, "each line added to those before takes the square of it"


def test_so_many_queues_are_changed_at_once_and_no_more() -> None:
    several = tuple((f"root.q{number}", {}) for number in range(MOST_QUEUES))
    began = time.process_time()
    found = applied(QUEUES, Update(add=several))
    assert len(new_queues(QUEUES, found)) == MOST_QUEUES
    assert time.process_time() - began < 10, "to look at all queues for each takes the square of it"
    with pytest.raises(Inapplicable, match="1001 queues are named; 1000 are allowed"):
        applied(QUEUES, Update(add=several, remove=("root.c",)))
    names = ",".join(f"q{number}" for number in range(MOST_QUEUES + 1))
    with pytest.raises(Inapplicable, match="more than 1000 queues are new"):
        new_queues(QUEUES, applied(QUEUES, Update(update=(("root.b", {"queues": names}),))))


def test_queues_that_are_nested_deeply_are_found() -> None:
    path, deep = "root", dict[str, str]()
    for _ in range(2000):
        deep[f"yarn.scheduler.capacity.{path}.queues"] = "a"
        path += ".a"
    with pytest.raises(Inapplicable, match="more than 1000 queues are new"):
        new_queues({}, deep)
    states(deep, deep)


def test_queues_are_removed_added_and_changed_in_this_order() -> None:
    again = Update(remove=("root.c",), add=(("root.c", {"capacity": "30"}),), update=(("root.c", {"state": "STOPPED"}),))
    found = applied(QUEUES, again)
    assert found == {
        "yarn.scheduler.capacity.root.queues": "a,b,c",
        "yarn.scheduler.capacity.root.c.capacity": "30",
        "yarn.scheduler.capacity.root.c.state": "STOPPED",
    }


def test_an_order_goes_when_a_leaf_becomes_a_parent_and_when_a_parent_becomes_a_leaf() -> None:
    ordered = {**QUEUES, "yarn.scheduler.capacity.root.a.ordering-policy": "fair"}
    parent = applied(ordered, Update(add=(("root.a.x", {}),)))
    assert "yarn.scheduler.capacity.root.a.ordering-policy" not in parent
    parent["yarn.scheduler.capacity.root.a.ordering-policy"] = "utilization"
    leaf = applied(parent, Update(remove=("root.a.x",)))
    assert leaf == QUEUES


@pytest.mark.parametrize(
    ("update", "words"),
    [
        (Update(remove=("root",)), "Can't remove queue root"),
        (Update(remove=("root.x",)), "Queue root.x not found"),
        (Update(add=(("other", {}),)), "Can't add invalid queue other"),
        (Update(add=(("root.a", {}),)), "Can't add existing queue root.a"),
        (Update(update=(("root.x", {}),)), "Queue root.x not found"),
    ],
)
def test_what_cannot_be_done_to_the_queues_is_refused(update: Update, words: str) -> None:
    with pytest.raises(Inapplicable) as error:
        applied(QUEUES, update)
    assert str(error.value) == words


def test_no_running_queue_is_removed_or_becomes_a_parent() -> None:
    stopped = {"yarn.scheduler.capacity.root.c.state": "STOPPED"}
    gone = {"yarn.scheduler.capacity.root.queues": "a,b"}
    with pytest.raises(Inapplicable, match=r"root\.c cannot be deleted .* not yet in stopped state"):
        states(QUEUES, gone)
    states(QUEUES | stopped, gone)
    states(QUEUES, gone | stopped)
    with pytest.raises(Inapplicable, match=r"leaf queue: root\.b to parent queue"):
        states(QUEUES, RUNNING)
    states(QUEUES, RUNNING | {"yarn.scheduler.capacity.root.b.state": "STOPPED"})
    states(RUNNING, QUEUES | {"yarn.scheduler.capacity.root.b.b1.state": "STOPPED"})
