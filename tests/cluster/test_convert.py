"""What ``treadle convert`` prints is accepted by a real API server, with our CRDs and their CEL rules."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from convert.peers import FILES
from treadle.api.objects import PLURALS
from treadle.convert.allocations import read
from treadle.convert.capacity_objects import Sources
from treadle.convert.capacity_objects import convert as convert_capacity
from treadle.convert.objects import convert as convert_fair
from treadle.convert.objects import properties
from treadle.convert.peer_files import convert as convert_peers
from treadle.convert.to_capacity import to_capacity

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
GROUP = "/apis/treadle.dev/v1alpha1"
STRICT = {"dryRun": "All", "fieldValidation": "Strict"}


def of_examples() -> Iterator[Any]:
    fair = convert_fair(read((EXAMPLES / "fair-scheduler.xml").read_bytes())).objects
    capacity = Sources(properties((EXAMPLES / "capacity-scheduler.xml").read_bytes()), labels="<gpu:exclusivity=false>")
    yield pytest.param(convert_capacity(capacity).objects, id="capacity-scheduler.xml")
    yield pytest.param(to_capacity(fair).objects, id="fair-scheduler.xml with weights")
    yield pytest.param(to_capacity(fair, by_percentage=True).objects, id="fair-scheduler.xml with percentages")


def of_cases() -> Iterator[Any]:
    """Yield one case of each kind: mixed vectors, partitions, templates, managed parents, both forms of mapping rules."""
    for name, wanted in (
        ("capacity_shares", ("Mixed vectors on four partitions", "A gpu type with a mixed vector")),
        ("auto_queues", ("Managed parent, template of 10 percent, leaves one after the other",)),
        ("mapping", ("Every user to 'man.%user' (percent)", "JSON policy primaryGroup below dept (weights)")),
    ):
        cases = {case["name"]: case for case in json.loads((ROOT / "tests/conformance/cases" / f"{name}.json").read_text())}
        for one in wanted:
            yield pytest.param(convert_capacity(Sources(cases[one]["conf"])).objects, id=one)


def of_peers() -> Iterator[Any]:
    for name, (text, _) in FILES.items():
        yield pytest.param(convert_peers(textwrap.dedent(text).encode()).objects, id=name)


@pytest.mark.parametrize("objects", [*of_examples(), *of_cases(), *of_peers()])
def test_converted_objects_are_accepted(plane, objects):
    for one in objects:
        status, answer = plane.api("POST", f"{GROUP}/{PLURALS[one['kind']]}", one, STRICT)
        assert status == 201, answer["message"]
