"""The picture in docs/opportunistic.md of one node over a day: what it uses, what is requested and given there, and who has to go.

``TREADLE_TRACE=FOLDER python tests/bench/idle_room/one_node.py`` plays the day of ``idle_room`` under one plan with the core that serves, takes the node from which the most
pods had to go, and writes ``docs/pictures/one-node.json`` and ``one-node.svg``; without a trace it draws what the file has.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

if not __package__:  # run as a program: the modules beside this file are found by their package
    sys.path[:] = [str(Path(__file__).resolve().parents[2]), *sys.path[1:]]

from bench.idle_room.simulation import TICK, WHOLE, Moment, Plan, Simulation
from bench.idle_room.trace import DAY, load

Json = dict[str, Any]
PICTURES = Path(__file__).resolve().parents[3] / "docs" / "pictures"
PLAN = Plan("65/85", allocation=650, preemption=850)
EVERY = 10
"""Moments that are one point of the picture: the most of what they use, and the last of what is held."""
USED, REQUESTED, GIVEN, GONE, INK, FAINT = "#1f6feb", "#8c959f", "#2da44e", "#d1242f", "#24292f", "#d0d7de"
LEFT, TOP, WIDE, HIGH, GAP, RIGHT = 60, 92, 760, 190, 64, 96
KINDS = ("memory", "cpu")


def played(folder: Path) -> Json:
    """Play the day and return the node with the most removals, its points in percent of what it has."""
    trace = load(folder)
    simulation = Simulation(trace, PLAN, noted=True)
    simulation.run()
    name, moments = max(simulation.moments.items(), key=lambda one: (sum(moment.removed for moment in one[1]), one[0]))
    size = simulation.sizes[name]
    return {
        "plan": PLAN.name,
        "allocation_percent": PLAN.allocation * 100 / WHOLE,
        "preemption_percent": PLAN.preemption * 100 / WHOLE,
        "seconds": TICK * EVERY,
        "cores": size[1] / 1000,
        "gib": round(size[0] / (1 << 30)),
        "removed": sum(moment.removed for moment in moments),
        "points": [point(moments[at : at + EVERY], size) for at in range(0, len(moments), EVERY)],
    }


def point(moments: list[Moment], size: tuple[int, int]) -> Json:
    """Return some moments as one."""

    def percent(amounts: tuple[int, int]) -> list[float]:
        return [round(100 * amount / whole, 1) for amount, whole in zip(amounts, size, strict=True)]

    last = moments[-1]
    most = (max(one.used[0] for one in moments), max(one.used[1] for one in moments))
    return {
        "used": percent(most),
        "requested": percent(last.requested),
        "given": percent(last.given),
        "removed": sum(one.removed for one in moments),
    }


def drawn(found: Json) -> str:
    """Return the picture: a panel for each resource over the hours of the day."""
    height = TOP + 2 * HIGH + GAP + 56
    title = (
        f"A node of {found['cores']:g} cores and {found['gib']} GiB over a day: {found['removed']} opportunistic pods had to go"
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDE + RIGHT} {height}" font-family="sans-serif" font-size="13" fill="{INK}">',
        "<title>One node over a day</title>",
        f'<rect width="{LEFT + WIDE + RIGHT}" height="{height}" fill="#ffffff"/>',
        f'<text x="12" y="24" font-size="15" font-weight="bold">{title}</text>',
    ]
    at = LEFT
    for colour, words, opacity in (
        (REQUESTED, "guaranteed pods request", 0.35),
        (GIVEN, "given to opportunistic pods", 0.35),
        (USED, "used", 1),
        (GONE, "pods had to go", 1),
    ):
        parts.append(f'<rect x="{at}" y="40" width="12" height="12" fill="{colour}" fill-opacity="{opacity}"/>')
        parts.append(f'<text x="{at + 18}" y="51">{words}</text>')
        at += 40 + 7 * len(words)
    for number, kind in enumerate(reversed(KINDS)):
        parts += panel(found, KINDS.index(kind), kind, TOP + number * (HIGH + GAP))
    return "\n".join([*parts, "</svg>", ""])


def panel(found: Json, kind: int, name: str, top: int) -> list[str]:
    """Return one panel; the top is at what is held at the most, at least the whole node."""
    points: list[Json] = found["points"]
    held = [(one["requested"][kind], one["requested"][kind] + one["given"][kind]) for one in points]
    most = max(100.0, *(both for _, both in held))
    step = WIDE / len(points)

    def y(percent: float) -> float:
        return round(top + HIGH - HIGH * percent / most, 1)

    def x(number: int) -> float:
        return round(LEFT + number * step, 1)

    def area(lower: list[float], upper: list[float], colour: str) -> str:
        there = " ".join(f"{x(number)},{y(value)}" for number, value in enumerate(upper))
        back = " ".join(f"{x(number)},{y(lower[number])}" for number in reversed(range(len(lower))))
        return f'<polygon points="{there} {back}" fill="{colour}" fill-opacity="0.35"/>'

    requested, both = [low for low, _ in held], [high for _, high in held]
    parts = [
        f'<text x="{LEFT}" y="{top - 10}" font-weight="bold">{name}, % of the node</text>',
        area([0.0] * len(points), requested, REQUESTED),
        area(requested, both, GIVEN),
    ]
    for percent, words in (
        (0, ""),
        (100, ""),
        (found["allocation_percent"], "none placed"),
        (found["preemption_percent"], "some go"),
    ):
        dash = ' stroke-dasharray="5 4"' if words else ""
        colour = GONE if words == "some go" else INK if words else FAINT
        parts.append(f'<line x1="{LEFT}" y1="{y(percent)}" x2="{LEFT + WIDE}" y2="{y(percent)}" stroke="{colour}"{dash}/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y(percent) + 4}" text-anchor="end" font-size="11">{percent:g}</text>')
        if words:
            parts.append(f'<text x="{LEFT + WIDE + 6}" y="{y(percent) + 4}" font-size="11">{words}</text>')
    line = " ".join(f"{x(number)},{y(one['used'][kind])}" for number, one in enumerate(points))
    parts.append(f'<polyline points="{line}" fill="none" stroke="{USED}" stroke-width="1.5"/>')
    for number, one in enumerate(points):
        if one["removed"]:
            parts.append(
                f'<line x1="{x(number)}" y1="{top + HIGH}" x2="{x(number)}" y2="{top + HIGH - 14}" stroke="{GONE}" stroke-width="2"/>'
            )
    for hour in range(0, 25, 4):
        at = round(LEFT + WIDE * hour * 3600 / DAY, 1)
        parts.append(f'<text x="{at}" y="{top + HIGH + 18}" text-anchor="middle" font-size="11">{hour}:00</text>')
    return parts


def main() -> None:
    folder = os.environ.get("TREADLE_TRACE", "")
    kept = PICTURES / "one-node.json"
    if folder:
        kept.write_text(json.dumps(played(Path(folder)), separators=(",", ":")) + "\n")
    (PICTURES / "one-node.svg").write_text(drawn(json.loads(kept.read_text())))


if __name__ == "__main__":
    main()
