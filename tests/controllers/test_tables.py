"""Amounts, bars and trees as commands print them."""

from __future__ import annotations

from typing import Any

import pytest

from treadle.cli.queues import rows_of
from treadle.cli.tables import bar
from treadle.controllers.in_words import amounts, brief, part


@pytest.mark.parametrize(
    ("resource", "text", "said"),
    [
        ("cpu", "114060m", "114.1"),
        ("cpu", "5137500m", "5138"),
        ("cpu", "192", "192"),
        ("cpu", "250m", "0.25"),
        ("cpu", "0", "0"),
        ("memory", "19327152Mi", "18.43Ti"),
        ("memory", "247309585613", "230.3Gi"),
        ("memory", "1536Mi", "1.5Gi"),
        ("memory", "1023Mi", "1023Mi"),
        ("memory", str((1 << 30) - 1), "1Gi"),
        ("ephemeral-storage", "1000", "1000"),
        ("hugepages-2Mi", "4Mi", "4Mi"),
        ("nvidia.com/gpu", "3", "3"),
        ("example.com/licences", "1500000", "1.5M"),
        ("memory", "much", "much"),
        ("memory", "9e99", "9e99"),
    ],
)
def test_amounts_have_four_digits_at_the_most(resource: str, text: str, said: str) -> None:
    assert brief(resource, text) == said


def test_amounts_begin_with_what_most_queues_are_about_and_leave_out_pods() -> None:
    assert (
        amounts({"nvidia.com/gpu": "2", "pods": "7", "memory": "1Gi", "cpu": "500m"}) == "cpu 0.5, memory 1Gi, nvidia.com/gpu 2"
    )
    assert amounts({"pods": "7"}) == amounts(None) == "-"


def test_a_bar_is_of_the_largest_part_and_says_how_far_it_is_over() -> None:
    assert part({"cpu": "1", "memory": "3Gi", "pods": "9"}, {"cpu": "4", "memory": "4Gi", "pods": "9"}) == 0.75
    assert part({"cpu": "1"}, {}) is None
    assert part({"cpu": "1"}, {"cpu": "0"}) is None
    assert part({"cpu": "1", "memory": "1"}, {"cpu": "4", "memory": "9e99"}) == 0.25, "what is out of range is passed over"
    assert part({"memory": "9223372036854775807"}, {"memory": "1"}) is None
    assert (bar(None), bar(0.0), bar(0.75), bar(1.5)) == ("-", "░░░░░░░░░░ 0%", "████████░░ 75%", "██████████ 150%")


def queue(path: str, **status: Any) -> dict[str, Any]:
    ready = {"type": "Ready", "status": "True", "observedGeneration": 1}
    return {"metadata": {"name": path, "generation": 1}, "status": {"state": "Running", "conditions": [ready], **status}}


def test_the_tree_has_queues_above_others_and_those_that_rules_made() -> None:
    found = {
        "root.a.b": queue("root.a.b", used={"cpu": "1"}, fairShare={"cpu": "2"}, dynamicQueues=["root.a.b.ann"]),
        "root.c": queue("root.c", guaranteed={"cpu": "2"}),
    }
    rows = list(rows_of(found, "root"))
    assert [row[0] for row in rows] == ["root", "├─ a", "│  └─ b", "│     └─ ann", "└─ c"]
    assert [row[4] for row in rows] == ["-", "-", "█████░░░░░ 50%", "-", "░░░░░░░░░░ 0%"]
    assert rows[3][-1] == "made by rules"
    assert [row[0] for row in rows_of(found, "root.c")] == ["root.c"]


@pytest.mark.parametrize(
    ("ready", "said"),
    [
        ({"status": "True", "observedGeneration": 1}, "True"),
        ({"status": "False", "reason": "InvalidSpec", "observedGeneration": 1}, "InvalidSpec"),
        ({"status": "True", "observedGeneration": 0}, "not seen yet"),
    ],
)
def test_a_queue_that_is_not_in_force_says_why(ready: dict[str, Any], said: str) -> None:
    one = queue("root.a")
    one["status"]["conditions"] = [{"type": "Ready", **ready}]
    assert next(rows_of({"root.a": one}, "root.a"))[-1] == said
