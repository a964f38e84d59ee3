"""When statuses are looked at: every few seconds, and less often where a look takes long."""

from __future__ import annotations

import asyncio
from itertools import count
from typing import Any

import pytest

from treadle.controllers.ledger import Ledger
from treadle.core import Core
from treadle.runtime import statuses
from treadle.runtime.statuses import LONGEST_REST, PART, Statuses


class Over(Exception):
    """The test has seen enough."""


@pytest.mark.parametrize(("took", "rests"), [(0.001, 2.0), (0.1, 0.1 / PART), (9.0, LONGEST_REST)])
async def test_the_rest_is_so_long_that_looks_take_a_small_part_of_a_core(
    monkeypatch: pytest.MonkeyPatch, took: float, rests: float
) -> None:
    slept: list[float] = []
    clock = count(step=took)

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 3:
            raise Over

    monkeypatch.setattr(asyncio, "sleep", sleep)
    monkeypatch.setattr(statuses.time, "thread_time", lambda: next(clock))
    looks: list[Any] = []
    written = Statuses(Core(), Ledger("treadle", lambda _: None), None, refresh=lambda: looks.append(1))  # type: ignore[arg-type]
    with pytest.raises(Over):
        await written.run(lambda: True)
    assert slept == [2.0, pytest.approx(rests), pytest.approx(rests)]
    assert len(looks) == 2
