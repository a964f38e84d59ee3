"""The rooms of the house: no circle among modules, imports for types counted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import grimp
import pytest


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph("treadle")


def circles(graph: grimp.ImportGraph, package: str) -> Iterator[list[str]]:
    """The strongly connected components of more than one module (Tarjan)."""
    inside = {module for module in graph.modules if module == package or module.startswith(f"{package}.")}
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    held: set[str] = set()

    def visit(module: str) -> Iterator[list[str]]:
        number[module] = low[module] = len(number)
        stack.append(module)
        held.add(module)
        for other in sorted(graph.find_modules_directly_imported_by(module) & inside):
            if other not in number:
                yield from visit(other)
                low[module] = min(low[module], low[other])
            elif other in held:
                low[module] = min(low[module], number[other])
        if low[module] == number[module]:
            found = []
            while not found or found[-1] != module:
                found.append(stack.pop())
                held.discard(found[-1])
            if len(found) > 1:
                yield sorted(found)

    for module in sorted(inside):
        if module not in number:
            yield from visit(module)


def test_no_modules_form_a_circle(graph: grimp.ImportGraph) -> None:
    assert list(circles(graph, "treadle")) == []


ROOT = Path(__file__).resolve().parents[2]
RULES = ROOT / "operator/treadle/core/rules"
SHOWN_BY_HADOOP = {
    "capacity/preemption/ideal",
    "capacity/preemption/intra",
    "capacity/preemption/policy",
    "capacity/preemption/priorities",
    "capacity/preemption/reserved",
    "capacity/preemption/selection",
    "capacity/preemption/snapshot",
}
"""Rules that look at whole clusters, which real Hadoop's answers test (tests/conformance/cases, preemption) and nothing beside them. May only shrink."""


def test_the_test_of_a_rule_is_found_by_its_path() -> None:
    rules = {str(path.relative_to(RULES).with_suffix("")) for path in RULES.rglob("*.py") if path.name != "__init__.py"}
    tests = ROOT / "tests/core/rules"
    without = {rule for rule in rules if not (tests / rule).with_name(f"test_{Path(rule).name}.py").exists()}
    assert without == SHOWN_BY_HADOOP


def test_test_modules_do_not_import_each_other() -> None:
    for path in (ROOT / "tests").rglob("*.py"):
        assert not re.search(r"^\s*(from|import) [\w.]*\btest_", path.read_text(), re.MULTILINE), path
