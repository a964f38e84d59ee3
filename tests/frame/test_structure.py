"""The rooms of the house: no circle among modules, imports for types counted."""

from __future__ import annotations

from collections.abc import Iterator

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
