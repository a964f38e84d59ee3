"""A bounded part of the fuzzer, with the same seeds always; by hand it runs for longer (``python -m tests.fuzz --help``)."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from random import Random

import pytest

from fuzz import cluster, schema, world
from fuzz.patterns import text
from fuzz.runs import a_run
from fuzz.smaller import smaller
from treadle.api.objects import parse


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("seed", range(30))
def test_nothing_that_the_api_server_accepts_raises_or_breaks_an_invariant(seed: int) -> None:
    steps, failure, _ = a_run(seed, 100)
    assert failure is None, f"{failure}\nthe fewest steps: {smaller(steps, failure, most=60)}"


@pytest.mark.parametrize("kind", ["Scheduler", "Queue", "Application", "Reservation"])
def test_objects_are_valid_by_construction(kind: str) -> None:
    chance = Random(kind)
    for _ in range(100):
        style = schema.Style(chance)
        parse(kind, schema.made(kind, "root.a" if kind == "Queue" else "a", chance, style))


@pytest.mark.parametrize("pattern", [r"[0-9]{1,9}(\.[0-9]{1,6})?(%|w)", r"([^:, ][^:,]*)", "a|b(c|[d-f])*", r"[-A-Za-z0-9_./]+"])
def test_text_made_from_a_pattern_matches_it(pattern: str) -> None:
    chance = Random(pattern)
    for _ in range(200):
        assert re.fullmatch(pattern, text(pattern, chance))


def test_a_run_is_the_same_for_the_same_seed() -> None:
    assert a_run(3, 60) == a_run(3, 60)


def test_what_went_wrong_is_shown_with_few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    def raising(self: world.World, name: str) -> None:
        if "n1" in self.core.state.nodes.row:
            raise ZeroDivisionError(name)

    monkeypatch.setattr(world.World, "do_node_gone", raising)
    chance = Random(1)
    style = schema.Style(chance)
    steps: list[world.Step] = [("node", cluster.node(f"n{number % 4}", chance, style)) for number in range(40)]
    steps += [("plan", 1), ("node_gone", "n0"), ("look",)]
    failure = world.play(steps)
    assert failure is not None
    assert [step[0] for step in smaller(steps, failure)] == ["node", "node_gone"]


def test_amounts_of_others_beyond_64_bits_are_no_obstacle_to_keeping_nodes_for_a_gang() -> None:
    huge = {
        "metadata": {"name": "h", "uid": "h"},
        "spec": {"containers": [{"resources": {"requests": {"memory": "3E"}}}], "nodeName": "n2"},
    }
    labels = {"treadle.dev/application": "a", "treadle.dev/gang": "g", "treadle.dev/gang-min-member": "2"}
    gang = {"metadata": {"name": "g", "uid": "g", "labels": labels}, "spec": {"schedulerName": "treadle"}}
    node = {"kind": "Node", "metadata": {"name": "n3", "uid": "n3"}, "status": {"allocatable": {"memory": "1E2"}}}
    steps: list[world.Step] = [("node", node), ("pods", huge, 6), ("pods", gang, 6)]
    assert world.play([*steps, ("plan", 1000), ("time", 301.0), ("plan", 1)]) is None


def test_a_core_made_anew_gives_up_devices_of_a_class_that_serves_the_resource_no_longer() -> None:
    allocatable = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    node = {"kind": "Node", "metadata": {"name": "n1", "uid": "n1"}, "status": {"allocatable": allocatable}}
    serves = {"metadata": {"name": "odd", "uid": "odd"}, "spec": {"extendedResourceName": "acme.org/fpga"}}
    serves_not = {"metadata": {"name": "odd", "uid": "odd"}}
    containers = [{"name": "c", "resources": {"requests": {"acme.org/fpga": "1"}}}]
    asks = {"metadata": {"name": "p", "uid": "p"}, "spec": {"containers": containers, "schedulerName": "treadle"}}
    devices = {"metadata": {"name": "s", "uid": "s"}, "spec": {"allNodes": True, "devices": [{"name": "gpu-0"}]}}
    steps: list[world.Step] = [
        ("object", {"kind": "Queue", "metadata": {"name": "root.default"}}),
        ("node", node),
        ("devices", "deviceclasses", serves),
        ("pod", asks),
        ("devices", "resourceslices", devices),
        ("plan", 1000),
        ("devices", "deviceclasses", serves_not),
        ("anew", False),
        ("plan", 3),
    ]
    assert world.play(steps) is None
