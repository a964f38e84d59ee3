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
