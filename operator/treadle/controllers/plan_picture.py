"""A queue's plan over time as a picture: what is promised of one resource type to whom, one upon the other, against what the queue has.

It is an SVG without scripts, readable on light and dark paper: colours follow ``prefers-color-scheme`` where it is shown. Times are UTC.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from typing import Any

from treadle.controllers.plans import has, promises, steps
from treadle.controllers.reservations import duration
from treadle.core.model.reservations import partition_of, within
from treadle.core.units.resources import format_amount

WIDTH, LEFT, RIGHT, TOP, FLOOR = 900, 74, 870, 66, 326
COLUMNS = 1600
"""Moments that are drawn at the most, two a pixel."""
MOST_BANDS = 12
"""Reservations with a colour and a name of their own; all others are one band."""
COLOURS = (
    "#3b78c2", "#e0982e", "#2f9e77", "#c2679f", "#7a68c4", "#cf5b45", "#5aa9c9", "#9a9a34", "#8c5a3c", "#4d8f3d", "#b04a6e", "#5f7590",
)  # fmt: skip
OTHERS = "#9aa3ad"
_STYLE = """\
.paper{fill:#fff}.ink{fill:#24292f}.dim{fill:#57606a}.grid{stroke:#d8dee4}.edge{stroke:#24292f}.band{stroke:#fff}
@media (prefers-color-scheme:dark){.paper{fill:#0d1117}.ink{fill:#e6edf3}.dim{fill:#9da7b3}.grid{stroke:#2b333d}.edge{stroke:#e6edf3}.band{stroke:#0d1117}}"""
_MINUTE, _HOUR, _DAY = 60_000, 3_600_000, 86_400_000
_APART = tuple(minutes * _MINUTE for minutes in (1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720)) + tuple(
    days * _DAY for days in (1, 2, 4, 7, 14, 28)
)
_BYTES = {"memory", "ephemeral-storage", "storage"}

Step = tuple[int, int, dict[str, int]]
"""From when until when whom is promised how much."""


class NotPromised(Exception):
    """A resource type that the queue has nothing of and that nobody is promised; the message says which there are."""


def plan_picture(
    queue: Mapping[str, Any],
    reservations: Iterable[Mapping[str, Any]],
    now: int,
    until: int,
    resource: str = "",
    partition: str = "",
) -> str:
    """Return the picture of a Queue's plan from ``now`` until a time, both in ms; objects are as the API has them.

    Without a ``resource`` it is the type of which the largest part is promised, of the partition, or of all where that is not said either. Raises ``NotPromised``.
    """
    path = str(queue["metadata"]["name"])
    whole = has(queue.get("status") or {})
    found = list(steps(promises(reservations, path), now, until))
    peaks = _peaks(found)
    types = sorted(name for name in whole.keys() | peaks.keys() if not partition or partition_of(name)[0] == partition)
    drawn_as = within(partition, resource) if resource else _fullest(whole, peaks, types, partition)
    if drawn_as not in types:
        of = f" of partition {partition}" if partition else ""
        has_them = ", ".join(partition_of(name)[1] if partition else name for name in types)
        raise NotPromised(f"queue {path} has no {partition_of(drawn_as)[1]}{of}; it has {has_them or 'nothing'}{of}")
    drawn = [
        (start, end, {name: amounts[drawn_as] for name, amounts in by.items() if amounts.get(drawn_as)})
        for start, end, by in found
    ]
    thinned = _thinned(drawn, now, until)
    note = "" if thinned is drawn else f", in each {duration((until - now) // COLUMNS // 1000 * 1000)} the moment with the most"
    return _drawn(path, drawn_as, whole.get(drawn_as, 0), thinned, now, until, note)


def _peaks(found: Iterable[tuple[int, int, dict[str, dict[str, int]]]]) -> dict[str, int]:
    peaks: dict[str, int] = {}
    for _, _, by in found:
        total: dict[str, int] = {}
        for amounts in by.values():
            for name, value in amounts.items():
                total[name] = total.get(name, 0) + value
        for name, value in total.items():
            peaks[name] = max(peaks.get(name, 0), value)
    return peaks


def _fullest(whole: Mapping[str, int], peaks: Mapping[str, int], types: Iterable[str], partition: str) -> str:
    parts = {name: peaks[name] / whole[name] if whole.get(name) else float("inf") for name in types if peaks.get(name)}
    return max(sorted(parts), key=lambda name: parts[name]) if parts else within(partition, "cpu")


def _thinned(found: Sequence[Step], now: int, until: int) -> Sequence[Step]:
    """Return no more steps than there are columns: of those within one the one with the most."""
    if len(found) <= COLUMNS:
        return found
    best: dict[int, Step] = {}
    for step in found:
        first, last = ((at - now) * COLUMNS // (until - now) for at in (step[0], step[1] - 1))
        for column in range(first, last + 1):
            if column not in best or sum(step[2].values()) > sum(best[column][2].values()):
                best[column] = step
    return [
        (now + (until - now) * column // COLUMNS, now + (until - now) * (column + 1) // COLUMNS, step[2])
        for column, step in sorted(best.items())
    ]


def _drawn(path: str, name_of: str, capacity: int, found: Sequence[Step], now: int, until: int, note: str) -> str:
    partition, resource = partition_of(name_of)
    highest = max([capacity, *(sum(by.values()) for _, _, by in found)])
    apart = _nice(resource, highest)
    ceiling = max(-(-highest // apart) * apart, apart)

    def x(time: int) -> float:
        return round(LEFT + (RIGHT - LEFT) * (time - now) / (until - now), 1)

    def y(value: float) -> float:
        return round(FLOOR - (FLOOR - TOP) * value / ceiling, 1)

    names = _named(found)
    bands = _bands(found, names)
    rows = -(-len(bands) // 3)
    height = FLOOR + 62 + 20 * max(rows, 1)
    title = f"What is promised of {resource} of queue {path}" + (f" in partition {partition}" if partition else "")
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" font-family="system-ui, sans-serif" font-size="12">',
        f"<title>{escape(title)}</title>",
        f"<style>{_STYLE}</style>",
        f'<rect class="paper" fill="#fff" width="{WIDTH}" height="{height}"/>',
        _text(LEFT, 26, title, "ink", size=16, weight="bold"),
        _text(LEFT, 46, f"{_moment(now)} until {_moment(until)} UTC{note}", "dim"),
        f'<path class="edge" stroke="#24292f" stroke-width="1.5" stroke-dasharray="6 4" d="M{RIGHT - 190} 42h30"/>',
        _text(RIGHT - 152, 46, f"the queue has {format_amount(resource, capacity)}", "ink"),
    ]
    for level in range(0, ceiling + 1, apart):
        parts.append(f'<path class="grid" stroke="#d8dee4" d="M{LEFT} {y(level)}H{RIGHT}"/>')
        parts.append(_text(LEFT - 8, y(level) + 4, format_amount(resource, level), "dim", anchor="end"))
    for colour, name, pieces in bands:
        shape = "".join(f"M{x(start)} {y(low + value)}H{x(end)}V{y(low)}H{x(start)}z" for start, end, low, value in pieces)
        parts.append(f'<path fill="{colour}" shape-rendering="crispEdges" d="{shape}"><title>{escape(name)}</title></path>')
        lines = "".join(f"M{x(start)} {y(low + value)}H{x(end)}" for start, end, low, value in pieces)
        parts.append(f'<path class="band" stroke="#fff" fill="none" d="{lines}"/>')
    parts += _times(x, now, until)
    parts.append(
        f'<path class="edge" stroke="#24292f" stroke-width="1.5" stroke-dasharray="6 4" d="M{LEFT} {y(capacity)}H{RIGHT}"/>'
    )
    if not bands:
        parts.append(
            _text((LEFT + RIGHT) / 2, (TOP + FLOOR) / 2 - 10, "nothing is promised in this time", "dim", anchor="middle", size=14)
        )
    for number, (colour, name, _) in enumerate(bands):
        at, down = LEFT + number % 3 * 270, FLOOR + 60 + number // 3 * 20
        parts.append(f'<rect x="{at}" y="{down - 10}" width="12" height="12" fill="{colour}"/>')
        parts.append(_text(at + 18, down, name if len(name) <= 36 else f"{name[:35]}…", "ink"))
    return "\n".join([*parts, "</svg>", ""])


def _named(found: Sequence[Step]) -> list[str]:
    """Return who has a band, in the order in which they have something first; where they are many, those with the most over time."""
    area: dict[str, int] = {}
    for start, end, by in found:
        for name, value in by.items():
            area[name] = area.get(name, 0) + value * (end - start)
    if len(area) <= MOST_BANDS:
        return list(area)
    kept = set(sorted(area, key=lambda name: (-area[name], name))[: MOST_BANDS - 1])
    return [name for name in area if name in kept]


def _bands(found: Sequence[Step], names: Sequence[str]) -> list[tuple[str, str, list[tuple[int, int, int, int]]]]:
    """Return for each band its colour, its name, and from when until when it lies how high and is how thick; the first lies lowest."""
    others = {name for _, _, by in found for name in by} - {*names}
    pieces: dict[str, list[tuple[int, int, int, int]]] = {name: [] for name in [*names, *([""] if others else [])]}
    for start, end, by in found:
        low = 0
        for name, mine in pieces.items():
            value = by.get(name, 0) if name else sum(by.get(other, 0) for other in others)
            if not value:
                continue
            if mine and mine[-1][1:] == (start, low, value):
                mine[-1] = (mine[-1][0], end, low, value)
            else:
                mine.append((start, end, low, value))
            low += value
    return [
        (COLOURS[number] if name else OTHERS, name or f"{len(others)} more", mine)
        for number, (name, mine) in enumerate(pieces.items())
    ]


def _nice(resource: str, highest: int) -> int:
    """Return how far apart lines are, so that there are about five, at amounts that are short to say."""
    apart, scale = max(-(-highest // 5), 1), 1
    if resource in _BYTES and highest:
        scale = 1 << (highest.bit_length() - 1) // 10 * 10
        if apart < scale:
            return 1 << (apart - 1).bit_length()
    while scale * 10 <= apart:
        scale *= 10
    return next(scale * by for by in (1, 2, 5, 10) if scale * by >= apart)


def _times(x: Any, now: int, until: int) -> list[str]:
    """Return the axis of time: at most ten times that are easy to say, with the day where it is another than before."""
    apart = next((each for each in _APART if (until - now) / each <= 10), (until - now) // 10)
    parts = [f'<path class="edge" stroke="#24292f" d="M{LEFT} {FLOOR}H{RIGHT}"/>']
    times = list(range(-(-now // apart) * apart, until + 1, apart))
    days = [datetime.fromtimestamp(time / 1000, UTC) for time in times]
    for number, (time, day) in enumerate(zip(times, days, strict=True)):
        parts.append(f'<path class="edge" stroke="#24292f" d="M{x(time)} {FLOOR}v5"/>')
        date = f"{day.day} {day:%b}"
        if apart < _DAY:
            parts.append(_text(x(time), FLOOR + 18, f"{day:%H:%M}", "dim", anchor="middle"))
        if number == 0 or days[number - 1].date() != day.date():
            parts.append(_text(x(time), FLOOR + (33 if apart < _DAY else 18), date, "ink", anchor="middle"))
    return parts


def _moment(time: int) -> str:
    return datetime.fromtimestamp(time / 1000, UTC).strftime("%Y-%m-%d %H:%M")


def _text(x: float, y: float, said: str, kind: str, *, anchor: str = "", size: int = 0, weight: str = "") -> str:
    colour = "#24292f" if kind == "ink" else "#57606a"
    more = "".join(
        f' {key}="{value}"' for key, value in (("text-anchor", anchor), ("font-size", size), ("font-weight", weight)) if value
    )
    return f'<text class="{kind}" fill="{colour}" x="{x:g}" y="{y:g}"{more}>{escape(said)}</text>'
