"""The pictures in docs/reservations.md of how good the places are that agents find, from what ``optimum`` has measured.

``python tests/bench/run.py optimum | tail -1 > docs/pictures/optimum.json``, then ``python tests/bench/optimum_picture.py`` writes
``docs/pictures/optimum.svg`` and ``docs/pictures/optimum-load.svg``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Json = dict[str, Any]
FOLDER = Path(__file__).resolve().parents[2] / "docs" / "pictures"
GREEDY, ALIGNED, BOUND = "#71839a", "#1f6feb", "#d1242f"
COLOURS = {"aligned": ALIGNED, "greedy": GREEDY}
STYLE = """\
.paper{fill:#fff}.ink{fill:#24292f}.dim{fill:#57606a}.grid{stroke:#d8dee4}.edge{stroke:#24292f}
@media (prefers-color-scheme:dark){.paper{fill:#0d1117}.ink{fill:#e6edf3}.dim{fill:#9da7b3}.grid{stroke:#2b333d}.edge{stroke:#e6edf3}}"""
WIDTH = 900


def opened(height: int, title: str) -> list[str]:
    """Return how a picture begins: light or dark as what is around it."""
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" font-family="system-ui, sans-serif" font-size="12">',
        f"<title>{title}</title>",
        f"<style>{STYLE}</style>",
        f'<rect class="paper" fill="#fff" width="{WIDTH}" height="{height}"/>',
        text(20, 26, title, size=16, bold=True),
    ]


def text(x: float, y: float, said: str, *, dim: bool = False, size: int = 12, bold: bool = False, anchor: str = "start") -> str:
    kind, colour = ("dim", "#57606a") if dim else ("ink", "#24292f")
    weight = ' font-weight="bold"' if bold else ""
    return f'<text class="{kind}" fill="{colour}" x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}"{weight}>{said}</text>'


def rule(x: float, y: float, to: float, *, kind: str = "grid") -> str:
    colour = "#d8dee4" if kind == "grid" else "#24292f"
    return f'<path class="{kind}" stroke="{colour}" d="M{x:g} {y:g}H{to:g}"/>'


def ratios(found: Json) -> str:
    """Return the picture of added cost and accepted work beside the best, by load and agent."""
    parts = opened(352, "Places that agents find, beside the best")
    for number, (agent, colour) in enumerate(COLOURS.items()):
        parts.append(f'<rect x="{20 + number * 110}" y="42" width="12" height="12" fill="{colour}"/>')
        parts.append(text(38 + number * 110, 52, agent))
    parts.append(
        text(
            250,
            52,
            "bar: all reservations together; dot: the median; line: up to nine of ten.",
            dim=True,
        )
    )
    parts.append(
        text(
            20,
            338,
            "below: how much is asked for, of what there is. Best place: of this one reservation, beside what its agent has placed before",
            dim=True,
        )
    )
    parts += _costs(found, 50, 76, 440, 290)
    parts += _accepted(found, 560, 76, 320, 290)
    return "\n".join([*parts, "</svg>", ""])


def _costs(found: Json, left: int, top: int, width: int, floor: int) -> list[str]:
    most = max(one["agents"][agent]["added_cost"]["p90"] for one in found["loads"].values() for agent in COLOURS)
    most = max(2, int(most) + 1)

    def y(value: float) -> float:
        return round(floor - (floor - top - 24) * value / most, 1)

    parts = [text(left - 30, top + 8, "what a reservation adds to the cost of load, in times of its best place", bold=True)]
    for level in range(most + 1):
        parts += [rule(left, y(level), left + width), text(left - 6, y(level) + 4, f"{level}", dim=True, anchor="end")]
    parts.append(f'<path class="edge" stroke="#24292f" stroke-dasharray="5 4" d="M{left} {y(1)}H{left + width}"/>')
    for number, (load, one) in enumerate(found["loads"].items()):
        at = left + 16 + number * width / 3
        parts.append(text(at + 52, floor + 18, f"{load}, {one['offered']:.0%}", anchor="middle"))
        for side, (agent, colour) in enumerate(COLOURS.items()):
            value, x = one["agents"][agent]["added_cost"], at + side * 54
            parts.append(
                f'<rect x="{x:g}" y="{y(value["sum"]):g}" width="46" height="{floor - y(value["sum"]):g}" fill="{colour}"/>'
            )
            parts.append(f'<path class="edge" stroke="#24292f" d="M{x + 36:g} {y(value["median"]):g}V{y(value["p90"]):g}"/>')
            parts.append(f'<circle class="ink" fill="#24292f" cx="{x + 36:g}" cy="{y(value["median"]):g}" r="3"/>')
            parts.append(text(x + 14, y(value["sum"]) - 5, f"{value['sum']:.2f}", anchor="middle"))
    parts.append(rule(left, floor, left + width, kind="edge"))
    return parts


def _accepted(found: Json, left: int, top: int, width: int, floor: int) -> list[str]:
    def y(value: float) -> float:
        return round(floor - (floor - top - 24) * value, 1)

    parts = [text(left - 34, top + 8, "accepted work, beside the offline bound", bold=True)]
    for percent in range(0, 101, 25):
        parts += [
            rule(left, y(percent / 100), left + width),
            text(left - 6, y(percent / 100) + 4, f"{percent}%", dim=True, anchor="end"),
        ]
    for number, (load, one) in enumerate(found["loads"].items()):
        at = left + 8 + number * width / 3
        parts.append(text(at + 44, floor + 18, load, anchor="middle"))
        for side, (agent, colour) in enumerate(COLOURS.items()):
            value, x = one["agents"][agent]["work_beside_bound"], at + side * 46
            parts.append(f'<rect x="{x:g}" y="{y(value):g}" width="42" height="{floor - y(value):g}" fill="{colour}"/>')
            parts.append(f'<text fill="#fff" x="{x + 21:g}" y="{y(value) + 16:g}" text-anchor="middle">{value:.0%}</text>')
    parts.append(rule(left, floor, left + width, kind="edge"))
    return parts


def loads(found: Json) -> str:
    """Return the picture of the load over time of one workload by agent, and the best for whoever knows all of it."""
    profile, hours = found["profile"], found["slots"] // 2
    parts = opened(392, f"The load of one light workload (seed {profile['seed']}) over two days")
    parts.append(f'<path stroke="{BOUND}" stroke-width="2" d="M20 48h24"/>')
    parts.append(
        text(
            50, 52, "the same reservations at the best places for whoever knows all of them (a linear program's bound)", dim=True
        )
    )
    for number, agent in enumerate(("greedy", "aligned")):
        left, top, floor, width = 60, 76 + number * 158, 200 + number * 158, 820
        slots = profile["agents"][agent]
        across = width / len(slots)

        def y(value: float, floor: int = floor, top: int = top) -> float:
            return round(floor - (floor - top - 12) * value / found["capacity"], 1)

        parts.append(text(left, top + 1, agent, bold=True))
        for percent in (0, 50, 100):
            parts += [rule(left, y(percent), left + width), text(left - 6, y(percent) + 4, f"{percent}%", dim=True, anchor="end")]
        shape = "".join(f"V{y(value):g}H{left + across * (at + 1):g}" for at, value in enumerate(slots))
        parts.append(f'<path fill="{COLOURS[agent]}" d="M{left} {y(0):g}{shape}V{y(0):g}z"/>')
        bound = profile["agents"][f"{agent}, offline bound"]
        line = "".join(f"V{y(value):g}H{left + across * (at + 1):g}" for at, value in enumerate(bound))
        parts.append(f'<path fill="none" stroke="{BOUND}" stroke-width="2" d="M{left} {y(0):g}{line}V{y(0):g}"/>')
        for hour in range(0, hours + 1, 6):
            parts.append(text(left + across * 2 * hour, floor + 15, f"{hour} h", dim=True, anchor="middle"))
    return "\n".join([*parts, "</svg>", ""])


def drawn(found: Json) -> dict[str, str]:
    """Return the pictures by the names of their files."""
    return {"optimum.svg": ratios(found), "optimum-load.svg": loads(found)}


def main() -> None:
    for name, picture in drawn(json.loads((FOLDER / "optimum.json").read_text())).items():
        (FOLDER / name).write_text(picture)


if __name__ == "__main__":
    main()
