"""What ``treadle convert`` prints for a CapacityScheduler is in force in the core, without a problem of any queue or rule."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.builders import Scenario
from treadle.api.objects import parse
from treadle.controllers import translate
from treadle.convert.allocations import read
from treadle.convert.capacity_objects import Sources
from treadle.convert.capacity_objects import convert as convert_capacity
from treadle.convert.objects import convert as convert_fair
from treadle.convert.objects import properties
from treadle.convert.to_capacity import to_capacity
from treadle.core.disciplines.capacity.auto_queues import mapping_problem
from treadle.core.events import QueueSeen, SchedulerSeen
from treadle.core.kernel.state import State

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
CASES = ROOT / "tests" / "conformance" / "cases"


def live(objects: list[dict[str, Any]]) -> State:
    """Tell a core with a few nodes of the objects, in their order, and let it plan."""
    scenario = Scenario().nodes(3)
    for one in objects:
        model = parse(one["kind"], one)
        if model.kind == "Scheduler":
            scenario.tell(SchedulerSeen(translate.scheduler(model, ())))
        elif model.kind == "Queue":
            scenario.tell(QueueSeen(translate.queue(model)))
    scenario.plan()
    return scenario.core.state


def examples() -> Iterator[Any]:
    fair = convert_fair(read((EXAMPLES / "fair-scheduler.xml").read_bytes())).objects
    capacity = Sources(properties((EXAMPLES / "capacity-scheduler.xml").read_bytes()), labels="<gpu:exclusivity=false>")
    yield pytest.param(convert_capacity(capacity).objects, id="capacity-scheduler.xml")
    yield pytest.param(to_capacity(fair).objects, id="fair-scheduler.xml with weights")
    yield pytest.param(to_capacity(fair, by_percentage=True).objects, id="fair-scheduler.xml with percentages")


def cases() -> Iterator[Any]:
    """Yield what every conformance case configures, but for what is refused: by Hadoop, or by us since no queue may have a variable's sign in its name."""
    for name in ("capacity_shares", "auto_queues", "capacity_trace", "mapping", "mapping_corners", "mapping_reading"):
        for case in json.loads((CASES / f"{name}.json").read_text()):
            if "init_error" not in case["expect"] and "%nosuch" not in json.dumps(case["conf"]):
                yield pytest.param(case, id=f"{name}: {case['name']}")


def in_force(objects: list[dict[str, Any]]) -> None:
    state = live(objects)
    found = (state.discipline.name, state.discipline_problem, state.tree.problems, mapping_problem(state))
    assert found == ("Capacity", "", {}, "")


@pytest.mark.parametrize("objects", list(examples()))
def test_converted_examples_are_in_force_without_problems(objects: list[dict[str, Any]]) -> None:
    in_force(objects)


@pytest.mark.parametrize("case", list(cases()))
def test_what_a_conformance_case_configures_is_in_force_without_problems(case: dict[str, Any]) -> None:
    listed = ",".join(f"{one['name']}(exclusive={str(one.get('exclusive', True)).lower()})" for one in case.get("labels", []))
    in_force(convert_capacity(Sources(case["conf"], labels=listed)).objects)
