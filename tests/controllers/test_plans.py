"""A queue's plan over time as text, from the statuses of Reservations."""

from __future__ import annotations

from typing import Any

from controllers.bodies import Json
from treadle.controllers.plans import plan_text
from treadle.controllers.reservations import rfc3339

HOUR = 3_600_000
QUEUE: Json = {"metadata": {"name": "root.plan"}, "status": {"steadyFairShare": {"cpu": "10", "memory": "16Gi", "pods": "110"}}}


def reservation(name: str, *steps: tuple[float, float, dict[str, str]], period: str = "", queue: str = "root.plan") -> Json:
    start, end = min(step[0] for step in steps), max(step[1] for step in steps)
    accepted: dict[str, Any] = {
        "generation": 1,
        "time": rfc3339(0),
        "queue": queue,
        "arrival": rfc3339(round(start * HOUR)),
        "deadline": rfc3339(round(end * HOUR)),
        **({"period": period} if period else {}),
    }
    allocations = [
        {"start": rfc3339(round(begun * HOUR)), "end": rfc3339(round(ended * HOUR)), "demand": demand}
        for begun, ended, demand in steps
    ]
    status = {"plannedGeneration": 1, "accepted": accepted, "allocations": allocations, "phase": "Accepted"}
    return {"metadata": {"name": name, "namespace": "ns"}, "status": status}


def rows(text: str) -> list[list[str]]:
    return [[cell for cell in line.split("  ") if cell.strip()] for line in text.splitlines()]


def test_a_line_for_each_step_says_what_is_promised_what_is_left_and_to_whom() -> None:
    text = plan_text(
        QUEUE,
        [
            reservation("a", (1, 3, {"cpu": "4"})),
            reservation("b", (2, 4, {"cpu": "5", "memory": "8Gi"})),
            reservation("c", (2, 4, {"cpu": "1"}), queue="root.other"),
            {"metadata": {"name": "d", "namespace": "ns"}},
        ],
        0,
        5 * HOUR,
    )
    assert text.splitlines()[0] == "queue root.plan has cpu 10, memory 16Gi"
    found = [[cell.strip() for cell in row] for row in rows(text)[2:]]
    assert found == [
        ["1970-01-01T00:00:00Z", "1970-01-01T01:00:00Z", "nothing", "nothing"],
        ["1970-01-01T01:00:00Z", "1970-01-01T02:00:00Z", "cpu 4", "cpu 6", "ns/a"],
        ["1970-01-01T02:00:00Z", "1970-01-01T03:00:00Z", "cpu 9, memory 8Gi", "cpu 1, memory 8Gi", "ns/a, ns/b"],
        ["1970-01-01T03:00:00Z", "1970-01-01T04:00:00Z", "cpu 5, memory 8Gi", "cpu 5, memory 8Gi", "ns/b"],
        ["1970-01-01T04:00:00Z", "1970-01-01T05:00:00Z", "nothing", "nothing"],
    ]


def test_what_comes_again_is_there_each_time_and_what_has_begun_from_now_on() -> None:
    text = plan_text(QUEUE, [reservation("p", (1, 2, {"cpu": "4"}), period="2h")], round(3.5 * HOUR), 8 * HOUR)
    found = [(row[0].strip(), row[1].strip(), row[2].strip()) for row in rows(text)[2:]]
    assert found == [
        ("1970-01-01T03:30:00Z", "1970-01-01T04:00:00Z", "cpu 4"),
        ("1970-01-01T04:00:00Z", "1970-01-01T05:00:00Z", "nothing"),
        ("1970-01-01T05:00:00Z", "1970-01-01T06:00:00Z", "cpu 4"),
        ("1970-01-01T06:00:00Z", "1970-01-01T07:00:00Z", "nothing"),
        ("1970-01-01T07:00:00Z", "1970-01-01T08:00:00Z", "cpu 4"),
    ]


def test_what_the_run_under_way_is_promised_besides_is_added_to_what_it_has() -> None:
    one = reservation("p", (1, 2, {"cpu": "4"}), (2, 3, {"cpu": "1"}), period="24h")
    more = {"start": rfc3339(2 * HOUR), "end": rfc3339(4 * HOUR), "demand": {"cpu": "3", "memory": "1Gi"}}
    one["status"]["reprovisioned"] = {"behind": "1h", "allocations": [more]}
    found = [(row[0].strip(), row[2].strip()) for row in rows(plan_text(QUEUE, [one], HOUR, 5 * HOUR))[2:]]
    assert found == [
        ("1970-01-01T01:00:00Z", "cpu 4"),
        ("1970-01-01T02:00:00Z", "cpu 4, memory 1Gi"),
        ("1970-01-01T03:00:00Z", "cpu 3, memory 1Gi"),
        ("1970-01-01T04:00:00Z", "nothing"),
    ]
    assert plan_text(QUEUE, [one], 25 * HOUR, 26 * HOUR).splitlines()[2].split("  ")[2].strip() == "cpu 4"


def test_many_are_named_in_part() -> None:
    text = plan_text(QUEUE, [reservation(f"r{number}", (0, 1, {"cpu": "1"})) for number in range(8)], 0, HOUR)
    assert text.splitlines()[2].endswith("ns/r0, ns/r1, ns/r2, ns/r3, ns/r4, ns/r5 and 2 more")


def test_partitions_are_told_apart() -> None:
    one = reservation("a", (1, 2, {"cpu": "4"}))
    gpus = {"start": rfc3339(HOUR), "end": rfc3339(2 * HOUR), "partition": "gpu", "demand": {"cpu": "2", "nvidia.com/gpu": "1"}}
    one["status"]["allocations"].append(gpus)
    parts = {"gpu": {"guaranteed": {"cpu": "8", "nvidia.com/gpu": "4", "pods": "110"}}, "idle": {}}
    queue = {"metadata": {"name": "root.plan"}, "status": {"guaranteed": {"cpu": "10"}, "partitions": parts}}
    text = plan_text(queue, [one], HOUR, 2 * HOUR).splitlines()
    assert text[0] == "queue root.plan has cpu 10; gpu: cpu 8, nvidia.com/gpu 4"
    assert "cpu 4; gpu: cpu 2, nvidia.com/gpu 1  cpu 6; gpu: cpu 6, nvidia.com/gpu 3  ns/a" in " ".join(text[2].split("   "))
