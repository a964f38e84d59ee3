"""Asking many at once, a bounded number at a time: one that fails is missing by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Container, Iterable, Mapping
from typing import TypeVar

from treadle.kube.errors import KubeError

T = TypeVar("T")

AT_ONCE = 16
"""How many are asked at a time."""
NAMED = 3
"""How many that failed are named."""
LEAST = 2.0
"""Seconds for which answers are waited for at least; else for a quarter of the age at which samples are old."""
WORDS = 120
"""Characters of what is said of one of them."""


class Failed(Exception):
    """One has no answer that can be used; the message says why."""


async def ask(
    names: Iterable[str], one: Callable[[str], Awaitable[T]], within: float, last: Container[str] = ()
) -> tuple[dict[str, T], dict[str, str]]:
    """Return answers, and why there is none, by name; all that came ``within`` so many seconds.

    Those of ``last``, who did not answer before, are asked after the others, so that who is slow or gone keeps no others from being heard in time.
    """
    found: dict[str, T] = {}
    failed: dict[str, str] = {}
    everybody = sorted(names, key=lambda name: name in last)
    left = iter(everybody)

    async def work() -> None:
        for name in left:
            try:
                found[name] = await one(name)
            except (Failed, KubeError) as error:
                failed[name] = str(error)[:WORDS]

    try:
        async with asyncio.timeout(within), asyncio.TaskGroup() as group:
            for _ in range(AT_ONCE):
                group.create_task(work())
    except TimeoutError:
        late = (name for name in everybody if name not in found and name not in failed)
        failed.update((name, f"no answer within {within:g} s") for name in late)
    return found, failed


def in_words(failed: Mapping[str, str], asked: int, what: str) -> str:
    """Say who failed, empty for nobody: ``what`` are they, in the plural, of whom ``asked`` were asked."""
    if not failed:
        return ""
    some = "; ".join(f"{name}: {failed[name]}" for name in sorted(failed)[:NAMED])
    more = f"; and {len(failed) - NAMED} more" if len(failed) > NAMED else ""
    return f"{len(failed)} of {asked} {what} do not tell what is used: {some}{more}"


def patience(old_after: float) -> float:
    """Return for how many seconds answers of all are waited for, where samples are old after so many."""
    return max(LEAST, old_after / 4)
