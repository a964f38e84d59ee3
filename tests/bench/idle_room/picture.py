"""The picture in docs/opportunistic.md of what idle room gains and what that harms, from what ``idle_room`` has measured.

``TREADLE_TRACE=FOLDER python tests/bench/run.py idle_room | tail -1 > docs/pictures/idle-room.json``, then
``python tests/bench/idle_room/picture.py`` writes ``docs/pictures/idle-room.svg``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Json = dict[str, Any]
FOLDER = Path(__file__).resolve().parents[3] / "docs" / "pictures"
GAIN, HARM, INK, FAINT = "#1f6feb", "#d1242f", "#24292f", "#d0d7de"
LEFT, ROW, BAR, TOP, PANEL = 110, 34, 18, 74, 250
PANELS = (
    ("useful_pod_hours", "pod-hours of use", GAIN),
    ("lost_pod_hours", "pod-hours lost by removals", HARM),
    ("overflown_percent", "% of samples out of memory", HARM),
)


def drawn(found: Json) -> str:
    """Return the picture."""
    plans: dict[str, Json] = found["plans"]
    width, height = LEFT + len(PANELS) * PANEL, TOP + ROW * len(plans) + 20
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="13" fill="{INK}">',
        "<title>What idle room gains, and what that harms, by how it is given</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="12" y="24" font-size="15" font-weight="bold">A day of {found["nodes"]} nodes: {found["opportunistic"]:,} opportunistic pods beside {found["guaranteed"]:,} others</text>',
    ]
    parts += [f'<text x="12" y="{TOP + ROW * number + 14}">{name}</text>' for number, name in enumerate(plans)]
    for number, (field, title, colour) in enumerate(PANELS):
        parts += panel(LEFT + number * PANEL, title, colour, [plan[field] for plan in plans.values()])
    return "\n".join([*parts, "</svg>", ""])


def panel(left: int, title: str, colour: str, values: list[float]) -> list[str]:
    """Return a bar for each plan, below each other."""
    most = max([*values, 1e-9])
    found = [
        f'<text x="{left}" y="{TOP - 16}" font-weight="bold">{title}</text>',
        f'<line x1="{left}" y1="{TOP - 6}" x2="{left}" y2="{TOP + ROW * len(values)}" stroke="{FAINT}"/>',
    ]
    for number, value in enumerate(values):
        y, length = TOP + ROW * number, round((PANEL - 90) * value / most, 1)
        found.append(f'<rect x="{left}" y="{y}" width="{length}" height="{BAR}" fill="{colour}"/>')
        found.append(f'<text x="{left + length + 6:g}" y="{y + 14}">{value:g}</text>')
    return found


def main() -> None:
    found = json.loads((FOLDER / "idle-room.json").read_text())
    (FOLDER / "idle-room.svg").write_text(drawn(found))


if __name__ == "__main__":
    main()
