"""The picture in docs/constraints.md of what the solver gains, from what ``together`` has measured.

``python tests/bench/run.py together | tail -1 > docs/pictures/together.json``, then ``python tests/bench/together_picture.py`` writes ``docs/pictures/together.svg``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Json = dict[str, Any]
FOLDER = Path(__file__).resolve().parents[2] / "docs" / "pictures"
WALK, SOLVER, INK, FAINT = "#8a9bb0", "#1f6feb", "#24292f", "#d0d7de"
WIDTH, HEIGHT, TOP, FLOOR = 900, 330, 70, 250
PANEL, BAR = 290, 34


def drawn(found: Json) -> str:
    """Return the picture."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="13" fill="{INK}">',
        "<title>What the solver gains for sets that are placed together, and what it costs</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        f'<rect x="20" y="14" width="12" height="12" fill="{WALK}"/><text x="38" y="25">the walk alone</text>',
        f'<rect x="150" y="14" width="12" height="12" fill="{SOLVER}"/><text x="168" y="25">with the solver</text>',
    ]
    alone, roomy = found["alone"], found["roomy"]
    whole = {nodes: (one["walk"]["whole"], one["solver"]["whole"]) for nodes, one in alone.items()}
    kept = {nodes: (one["walk"]["kept"], one["solver"]["kept"]) for nodes, one in roomy.items()}
    cost = {
        nodes: (one["walk"]["milliseconds"]["median"], one["solver"]["milliseconds"]["median"]) for nodes, one in alone.items()
    }
    parts += panel(20, f"sets placed whole, of {found['sets']}", "one set in a nearly full cluster", whole)
    parts += panel(20 + PANEL, "nodes with room for a large pod", f"after {found['sets']} sets in a roomy cluster", kept)
    parts += panel(20 + 2 * PANEL, "milliseconds of the processor a set", "the median; one set in a nearly full cluster", cost)
    return "\n".join([*parts, "</svg>", ""])


def panel(left: int, title: str, about: str, values: dict[str, tuple[float, float]]) -> list[str]:
    """Return bars for each number of nodes, two beside each other."""
    most = max(max(pair) for pair in values.values())
    found = [
        f'<text x="{left}" y="48" font-weight="bold">{title}</text>',
        f'<text x="{left}" y="{TOP - 6}" font-size="11">{about}</text>',
        f'<line x1="{left}" y1="{FLOOR}" x2="{left + PANEL - 40}" y2="{FLOOR}" stroke="{FAINT}"/>',
    ]
    for number, (nodes, pair) in enumerate(values.items()):
        at = left + 6 + number * 84
        for side, (value, colour) in enumerate(zip(pair, (WALK, SOLVER), strict=True)):
            height = round((FLOOR - TOP - 22) * value / most, 1)
            x, y = at + side * (BAR + 2), round(FLOOR - height, 1)
            found.append(f'<rect x="{x}" y="{y}" width="{BAR}" height="{height}" fill="{colour}"/>')
            found.append(f'<text x="{x + BAR / 2:g}" y="{y - 4:g}" text-anchor="middle" font-size="12">{value:g}</text>')
        found.append(f'<text x="{at + BAR + 1}" y="{FLOOR + 18}" text-anchor="middle" font-size="12">{int(nodes):,} nodes</text>')
    return found


def main() -> None:
    found = json.loads((FOLDER / "together.json").read_text())
    (FOLDER / "together.svg").write_text(drawn(found))


if __name__ == "__main__":
    main()
