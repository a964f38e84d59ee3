"""Asking many at once, a bounded number at a time: one that fails is missing by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TypeVar

from treadle.kube.errors import KubeError

T = TypeVar("T")

AT_ONCE = 16
"""How many are asked at a time."""
NAMED = 3
"""How many that failed are named."""
WORDS = 120
"""Characters of what is said of one of them."""


class Failed(Exception):
    """One has no answer that can be used; the message says why."""


async def ask(names: Iterable[str], one: Callable[[str], Awaitable[T]]) -> tuple[dict[str, T], dict[str, str]]:
    """Return answers, and why there is none, by name."""
    found: dict[str, T] = {}
    failed: dict[str, str] = {}
    left = iter(names)

    async def work() -> None:
        for name in left:
            try:
                found[name] = await one(name)
            except (Failed, KubeError) as error:
                failed[name] = str(error)[:WORDS]

    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(work())
    return found, failed


def in_words(failed: Mapping[str, str], asked: int, what: str) -> str:
    """Say who failed, empty for nobody: ``what`` are they, in the plural, of whom ``asked`` were asked."""
    if not failed:
        return ""
    some = "; ".join(f"{name}: {failed[name]}" for name in sorted(failed)[:NAMED])
    more = f"; and {len(failed) - NAMED} more" if len(failed) > NAMED else ""
    return f"{len(failed)} of {asked} {what} do not tell what is used: {some}{more}"
