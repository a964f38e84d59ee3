"""A queue's plan over time as text, from what the statuses of Reservations say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

from treadle.controllers.reservations import decision_of, rfc3339
from treadle.core.model.reservations import Promise, partition_of, within
from treadle.core.units.resources import amount, in_words

Amounts = dict[str, int]
MOST_NAMES = 6
"""Reservations that are named on a line."""


def plan_text(queue: Mapping[str, Any], reservations: Iterable[Mapping[str, Any]], now: int, until: int) -> str:
    """Return the plan of a Queue from ``now`` until a time, both in ms: a line for each step, with what is promised, what of the queue is left, and to whom.

    Objects are as the API has them.
    """
    path = str(queue["metadata"]["name"])
    whole = has(queue.get("status") or {})
    promised = promises(reservations, path)
    lines = [
        f"queue {path} has {_words(whole, whole)}",
        f"{'from':<20}  {'until':<20}  {'promised':<30}  {'left':<30}  reservations",
    ]
    for start, end, by in steps(promised, now, until):
        total: Amounts = {}
        for amounts in by.values():
            for name, value in amounts.items():
                total[name] = total.get(name, 0) + value
        left = {name: whole.get(name, 0) - value for name, value in total.items()}
        names = ", ".join(sorted(by)[:MOST_NAMES]) + (f" and {len(by) - MOST_NAMES} more" if len(by) > MOST_NAMES else "")
        lines.append(
            f"{rfc3339(start):<20}  {rfc3339(end):<20}  {_words(total, total):<30}  {_words(left, total):<30}  {names}".rstrip()
        )
    return "\n".join(lines) + "\n"


def has(status: Mapping[str, Any]) -> Amounts:
    """Return what can be promised of a queue, by name: its guarantee of each partition, or its steady share where there are shares."""
    by = {"": status.get("steadyFairShare") or status.get("guaranteed") or {}}
    by.update((partition, said.get("guaranteed") or {}) for partition, said in (status.get("partitions") or {}).items())
    return {
        within(partition, name): amount(name, text)
        for partition, said in by.items()
        for name, text in said.items()
        if name != "pods"
    }


def in_partitions(named: Iterable[tuple[str, int]]) -> str:
    """Return amounts by name in words, those of a partition after its name; ``nothing`` for none."""
    by: dict[str, list[str]] = {}
    for name, value in sorted(named):
        partition, kind = partition_of(name)
        by.setdefault(partition, []).append(f"{kind} {in_words(kind, value)}")
    said = (f"{partition}: {', '.join(words)}" if partition else ", ".join(words) for partition, words in sorted(by.items()))
    return "; ".join(said) or "nothing"


def promises(reservations: Iterable[Mapping[str, Any]], path: str) -> list[tuple[str, Promise]]:
    """Return what is promised of a queue, and to whom (``namespace/name``)."""
    return [
        (f"{one['metadata']['namespace']}/{one['metadata']['name']}", promise)
        for one in reservations
        if (promise := _promise(one, path))
    ]


def _promise(reservation: Mapping[str, Any], path: str) -> Promise | None:
    decided = decision_of(reservation.get("status") or {})
    promise = None if decided is None else decided.promise
    return promise if promise is not None and promise.queue == path else None


def occurrences(promise: Promise, now: int, until: int) -> Iterable[tuple[int, int, Amounts]]:
    """Yield from when until when a promise has what, between two times; of what has begun before the rest."""
    for start, end, named in promise.steps:
        late = max(0, (now - end) // promise.period + 1) * promise.period if promise.period else 0
        while start + late < until:
            if end + late > now:
                yield max(start + late, now), min(end + late, until), dict(named)
            if not promise.period:
                break
            late += promise.period
    yield from (
        (max(start, now), min(end, until), dict(named)) for start, end, named in promise.more if start < until and end > now
    )


def steps(promised: Iterable[tuple[str, Promise]], now: int, until: int) -> Iterable[tuple[int, int, dict[str, Amounts]]]:
    """Yield from when until when which reservations have how much; neighbours differ."""
    begin: dict[int, list[tuple[str, int, Amounts]]] = {}
    times = {now, until}
    for name, promise in promised:
        for start, end, amounts in occurrences(promise, now, until):
            begin.setdefault(start, []).append((name, end, amounts))
            times.update((start, end))
    running: list[tuple[str, int, Amounts]] = []
    ordered = sorted(times)
    last: tuple[int, int, dict[str, Amounts]] | None = None
    for start, end in pairwise(ordered):
        running = [one for one in running if one[1] > start] + begin.get(start, [])
        by: dict[str, Amounts] = {}
        for name, _, amounts in sorted(running, key=lambda one: one[0]):
            had = by.get(name, {})
            by[name] = {each: had.get(each, 0) + amounts.get(each, 0) for each in (*had, *amounts)}
        if last is not None and last[2] == by:
            last = (last[0], end, by)
            continue
        if last is not None:
            yield last
        last = (start, end, by)
    if last is not None:
        yield last


def _words(amounts: Amounts, like: Amounts) -> str:
    return in_partitions((name, amounts.get(name, 0)) for name in like)
