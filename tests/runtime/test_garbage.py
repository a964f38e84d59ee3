"""Garbage is collected, and what lives long is not looked at again and again."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import mmap
from collections.abc import Iterator
from pathlib import Path

import pytest

from kube.access import task_of, until
from treadle.runtime import garbage as module
from treadle.runtime.garbage import Garbage


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="another allocator than glibc's")
def test_a_full_collection_gives_memory_back_to_the_system(garbage: Garbage) -> None:
    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE

    lists = [[number] * 100 for number in range(100_000)]  # 80 MiB in pieces that only the heap of the allocator holds
    last = lists[-1]
    most = resident()
    lists.clear()
    garbage.tend(1e9)
    assert last
    assert resident() < most - (60 << 20)


class Circle:
    """Something that only the collector frees."""

    freed = 0

    def __init__(self) -> None:
        self.myself = self

    def __del__(self) -> None:
        Circle.freed += 1


@pytest.fixture
def garbage() -> Iterator[Garbage]:
    Circle.freed = 0
    found = Garbage()
    found.begin()
    yield found
    found.end()


def test_a_circle_that_has_lived_for_a_while_is_freed(garbage: Garbage) -> None:
    kept = [Circle() for _ in range(100)]
    garbage.tend(0.0)
    garbage.tend(0.0)
    kept.clear()
    garbage.tend(1e9)
    assert Circle.freed == 100


def test_circles_are_freed_where_as_many_objects_go_as_come(garbage: Garbage) -> None:
    kept: list[list[int]] = []
    for number in range(40):
        for _ in range(1_000):
            kept.append([number])
            if len(kept) > 1_000:
                kept.pop(0)
            if len(kept) % 100 == 0:
                Circle()
        garbage.tend(float(number))
    assert Circle.freed >= 40


def test_what_lives_long_is_put_aside_and_freed_when_nobody_refers_to_it(garbage: Garbage) -> None:
    before = gc.get_freeze_count()
    kept = [[number] for number in range(20_000)]
    garbage.tend(0.0)
    assert gc.get_freeze_count() >= before + 20_000
    assert len(gc.get_objects(2)) < module.MOST_AT_ONCE
    kept.clear()
    assert gc.get_freeze_count() < before + 5_000


def test_no_collection_looks_at_much_more_than_what_came_since_the_last_and_none_at_an_object_twice(garbage: Garbage) -> None:
    looked_at: list[int] = []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            looked_at.append(sum(len(gc.get_objects(young)) for young in range(info["generation"] + 1)))

    gc.callbacks.append(note)
    kept = []
    for number in range(200):
        kept.append([[each] for each in range(1_000)])
        garbage.tend(float(number) / 10)
    gc.callbacks.remove(note)
    assert max(looked_at) < 20_000
    assert 190_000 < sum(looked_at) < 220_000  # 200 lists of 1,000 lists


async def test_it_collects_until_it_is_told_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "OFTEN", 0.001)
    monkeypatch.setattr(module, "EVERY", 0.001)
    Circle.freed = 0
    found = Garbage()
    thresholds = gc.get_threshold()
    async with task_of(found.run()):
        await asyncio.sleep(0)
        Circle()
        await until(lambda: found.full and Circle.freed == 1)
        assert gc.get_threshold() == module.YOUNG
    assert gc.get_threshold() == thresholds
    assert gc.get_freeze_count() == 0
    assert 0.0 < found.longest < 60.0
