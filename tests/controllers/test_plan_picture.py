"""A queue's plan as a picture: bands of who is promised what, one upon the other, against what the queue has."""

from __future__ import annotations

import json
import re
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from bench.plan_picture import FOLDER, drawn
from treadle.controllers.plan_picture import COLUMNS, FLOOR, LEFT, MOST_BANDS, RIGHT, TOP, NotPromised, plan_picture
from treadle.controllers.reservations import rfc3339

SVG = "{http://www.w3.org/2000/svg}"
HOUR = 3_600_000
QUEUE: dict[str, Any] = {
    "metadata": {"name": "root.plan"},
    "status": {"steadyFairShare": {"cpu": "10", "memory": "16Gi", "pods": "110"}},
}


def reservation(name: str, *steps: tuple[float, float, dict[str, str]], period: str = "") -> dict[str, Any]:
    start, end = min(step[0] for step in steps), max(step[1] for step in steps)
    accepted = {
        "generation": 1,
        "time": rfc3339(0),
        "queue": "root.plan",
        "arrival": rfc3339(round(start * HOUR)),
        "deadline": rfc3339(round(end * HOUR)),
    }
    allocations = [
        {"start": rfc3339(round(begun * HOUR)), "end": rfc3339(round(ended * HOUR)), "demand": demand}
        for begun, ended, demand in steps
    ]
    status = {
        "plannedGeneration": 1,
        "accepted": {**accepted, **({"period": period} if period else {})},
        "allocations": allocations,
    }
    return {"metadata": {"name": name, "namespace": "ns"}, "status": status}


def picture(*reservations: dict[str, Any], hours: float = 10, resource: str = "") -> ET.Element:
    return ET.fromstring(plan_picture(QUEUE, reservations, 0, round(hours * HOUR), resource))


def bands(root: ET.Element) -> dict[str, list[tuple[float, float, float, float]]]:
    """The rectangles of each band in hours and parts of what the queue has: from, until, low, high."""
    found = {}
    for path in root.iter(f"{SVG}path"):
        title = path.find(f"{SVG}title")
        if title is not None:
            pieces = re.findall(r"M([\d.]+) ([\d.]+)H([\d.]+)V([\d.]+)H", path.get("d", ""))
            found[title.text or ""] = [
                (hours(float(x)), hours(float(end)), cores(float(low)), cores(float(high))) for x, high, end, low in pieces
            ]
    return found


def hours(x: float) -> float:
    return round((x - LEFT) / (RIGHT - LEFT) * 10, 2)


def cores(y: float) -> float:
    return round((FLOOR - y) / (FLOOR - TOP) * 10, 1)


def words(root: ET.Element) -> list[str]:
    return [one.text or "" for one in root.iter(f"{SVG}text")]


def test_who_has_something_first_lies_lowest_and_bands_lie_upon_each_other() -> None:
    found = bands(picture(reservation("b", (2, 4, {"cpu": "5"})), reservation("a", (1, 3, {"cpu": "4", "memory": "1Gi"}))))
    assert found == {"ns/a": [(1, 3, 0, 4)], "ns/b": [(2, 3, 4, 9), (3, 4, 0, 5)]}


def test_what_comes_again_is_drawn_each_time() -> None:
    assert bands(picture(reservation("a", (0, 1, {"cpu": "10"}), period="4h"))) == {
        "ns/a": [(0, 1, 0, 10), (4, 5, 0, 10), (8, 9, 0, 10)]
    }


def test_the_axes_say_amounts_and_times_and_the_line_what_the_queue_has() -> None:
    said = words(picture(reservation("a", (1, 3, {"cpu": "4"})), hours=10))
    assert said[:2] == ["What is promised of cpu of queue root.plan", "1970-01-01 00:00 until 1970-01-01 10:00 UTC"]
    assert said[2:9] == ["the queue has 10", "0", "2", "4", "6", "8", "10"]
    assert [one for one in said if re.fullmatch(r"\d\d:00", one)] == [f"{hour:02}:00" for hour in range(11)]
    assert said[-1] == "ns/a"
    assert "1 Jan" in said


@pytest.mark.parametrize(
    ("hours_ahead", "times"),
    [
        (0.5, ["00:00", "00:05", "00:10", "00:15", "00:20", "00:25", "00:30"]),
        (24, ["00:00", "03:00", "06:00", "09:00", "12:00", "15:00", "18:00", "21:00", "00:00"]),
        (24 * 9, []),
    ],
)
def test_times_are_at_most_ten_and_easy_to_say(hours_ahead: float, times: list[str]) -> None:
    said = words(picture(hours=hours_ahead))
    assert [one for one in said if re.fullmatch(r"\d\d:\d\d", one)] == times
    days = [one for one in said if re.fullmatch(r"\d+ Jan", one)]
    assert days == (["1 Jan"] if hours_ahead < 24 else ["1 Jan", "2 Jan"] if times else [f"{day} Jan" for day in range(1, 11)])


@pytest.mark.parametrize(
    ("has", "lines"),
    [
        ({"memory": "320Gi"}, ["0", "100Gi", "200Gi", "300Gi", "400Gi"]),
        ({"memory": "1536Mi"}, ["0", "512Mi", "1Gi", "1536Mi"]),
        ({"cpu": "500m"}, ["0", "100m", "200m", "300m", "400m", "500m"]),
        ({"cpu": "7500"}, ["0", "2000", "4000", "6000", "8000"]),
        ({"example.com/gpu": "3"}, ["0", "1", "2", "3"]),
    ],
)
def test_lines_are_at_amounts_that_are_short(has: dict[str, str], lines: list[str]) -> None:
    (resource,) = has
    root = ET.fromstring(plan_picture({**QUEUE, "status": {"guaranteed": has}}, [], 0, HOUR, resource))
    assert words(root)[3 : 3 + len(lines)] == lines


def test_without_a_resource_it_is_the_one_of_which_the_largest_part_is_promised() -> None:
    both = reservation("a", (1, 3, {"cpu": "4", "memory": "12Gi"}))
    assert words(picture(both))[0].startswith("What is promised of memory")
    assert words(picture(both, resource="cpu"))[0].startswith("What is promised of cpu")
    assert words(picture())[0].startswith("What is promised of cpu")
    with pytest.raises(NotPromised, match=r"queue root\.plan has no gpu; it has cpu, memory"):
        picture(both, resource="gpu")


def test_more_than_what_the_queue_has_stays_within_the_picture() -> None:
    ((_, _, low, high),) = bands(picture(reservation("a", (0, 10, {"cpu": "14"}))))["ns/a"]
    assert (low, high <= 10) == (0, True)


def test_of_many_those_with_the_most_have_names_and_the_rest_is_one() -> None:
    many = [reservation(f"r{number:02}", (number / 4, number / 4 + 1, {"cpu": str(number + 1)})) for number in range(20)]
    found = list(bands(picture(*many, resource="cpu")))
    assert found == [f"ns/r{number:02}" for number in range(20 - MOST_BANDS + 1, 20)] + ["9 more"]


def test_a_plan_of_very_many_steps_is_bounded_and_says_so() -> None:
    text = plan_picture(QUEUE, [reservation("a", (0, 0.05, {"cpu": "3"}), period="10m")], 0, 2400 * HOUR)
    assert text.count("H") < 4 * COLUMNS
    assert "1970-04-11 00:00 UTC, in each 1h30m the moment with the most" in text
    assert bands(ET.fromstring(text))["ns/a"][0][2:] == (0, 3)


def test_nothing_promised_is_said_and_names_are_escaped() -> None:
    assert "nothing is promised in this time" in words(picture())
    root = ET.fromstring(plan_picture({**QUEUE, "metadata": {"name": 'root.<&">'}}, [], 0, HOUR))
    assert words(root)[0] == 'What is promised of cpu of queue root.<&">'


def test_it_follows_light_and_dark_and_runs_nothing() -> None:
    text = plan_picture(QUEUE, [], 0, HOUR)
    assert "prefers-color-scheme:dark" in text
    assert "<script" not in text


def test_the_picture_in_the_documentation_is_what_the_command_draws() -> None:
    assert (FOLDER / "plan.svg").read_text() == drawn(json.loads((FOLDER / "plan.json").read_text()))


def test_a_resource_of_a_partition_is_drawn_against_what_the_queue_has_of_that() -> None:
    one = reservation("a", (1, 3, {"cpu": "4"}))
    one["status"]["allocations"].append({**one["status"]["allocations"][0], "partition": "gpu", "demand": {"cpu": "3"}})
    queue = {**QUEUE, "status": {"guaranteed": {"cpu": "10"}, "partitions": {"gpu": {"guaranteed": {"cpu": "4"}}}}}

    def said(**fields: str) -> list[str]:
        return words(ET.fromstring(plan_picture(queue, [one], 0, 10 * HOUR, **fields)))

    drawn = said(partition="gpu", resource="cpu")
    assert drawn[0] == "What is promised of cpu of queue root.plan in partition gpu"
    assert "the queue has 4" in drawn
    assert said(resource="cpu")[0] == "What is promised of cpu of queue root.plan"
    assert said()[0] == drawn[0], "the largest part of all"
    assert said(partition="gpu")[0] == drawn[0]
    with pytest.raises(NotPromised, match=r"queue root\.plan has no memory of partition gpu; it has cpu of partition gpu"):
        said(partition="gpu", resource="memory")
    with pytest.raises(NotPromised, match=r"queue root\.plan has no cpu of partition fpga; it has nothing of partition fpga"):
        said(partition="fpga")
