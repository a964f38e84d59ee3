from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from rest.changes import Changes, changing
from rest.reviewing import Rest, resting


@pytest.fixture
async def rest() -> AsyncIterator[Rest]:
    async with resting() as served:
        yield served


@pytest.fixture
async def changes() -> AsyncIterator[Changes]:
    async with changing() as served:
        yield served
