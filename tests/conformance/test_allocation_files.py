"""Allocation files are read and refused as Hadoop reads and refuses them: every file inside the conformance cases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from treadle.convert.allocations import AllocationFile, QueueElement, read
from treadle.convert.errors import AllocationError

CASES = [
    case
    for name in ("fair_shares", "fair_trace", "fair_amounts")
    for case in json.loads((Path(__file__).parent / "cases" / f"{name}.json").read_text())
]
REFUSED = [
    case
    for case in CASES
    if "init_error" in case["expect"] and "AllocationConfigurationException" in case["expect"]["init_error"]
]
READ = [case for case in CASES if "init_error" not in case["expect"] and case.get("allocations")]
MOST = (1 << 63) - 1


def types(case: dict[str, Any]) -> list[str]:
    return ["memory-mb", "vcores", *case.get("resource_types", [])]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case["name"])
def test_a_file_that_hadoop_refuses_is_refused_with_hadoops_error_and_the_line(case: dict[str, Any]) -> None:
    with pytest.raises(AllocationError) as error:
        read(case["allocations"], types(case))
    assert case["expect"]["init_error"] == f"IOException/{error.value.hadoop}"
    assert error.value.line >= 1


@pytest.mark.parametrize("case", READ, ids=lambda case: case["name"])
def test_a_file_that_hadoop_takes_is_read(case: dict[str, Any]) -> None:
    assert isinstance(read(case["allocations"], types(case)), AllocationFile)


def walk(queues: list[QueueElement]) -> list[QueueElement]:
    return [found for queue in queues for found in (queue, *walk(queue.children))]


DUMPS = [case for case in READ if case["kind"] == "shares" and "end" in case["expect"]]


@pytest.mark.parametrize("case", DUMPS, ids=lambda case: case["name"])
def test_weights_minima_and_maxima_are_those_of_hadoop(case: dict[str, Any]) -> None:
    found = read(case["allocations"], types(case))
    end = case["expect"]["end"]
    cluster = dict(zip(types(case), end["cluster"], strict=True))
    for queue in walk(found.queues):
        expected = end["queues"].get(queue.path)
        if expected is None or expected["dynamic"]:
            continue  # refused when the tree was built, or made anew by an application
        minimum = (
            queue.minimum.resolve(cluster)
            if queue.minimum is not None and queue.minimum.absolute is not None
            else dict.fromkeys(cluster, 0)
        )
        limit = queue.maximum or found.queue_max_resources
        maximum = limit.resolve(cluster) if limit is not None else dict.fromkeys(cluster, MOST)
        assert expected["weight"] == pytest.approx(queue.weight, rel=1e-6), queue.path
        assert expected["min"] == list(minimum.values()), queue.path
        assert expected["max"] == [max(maximum[name], minimum[name]) for name in cluster], queue.path
        assert expected["leaf"] is not queue.parent, queue.path


def test_entities_are_not_read() -> None:
    with pytest.raises(AllocationError, match="entity declarations"):
        read('<!DOCTYPE a [<!ENTITY lol "lol">]><allocations>&lol;</allocations>')


def test_what_is_not_xml_is_refused_with_the_line() -> None:
    with pytest.raises(AllocationError) as error:
        read("<allocations>\n<queue name='a'>\n</allocations>")
    assert error.value.line == 3
