from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from rest.reviewing import Rest, resting


@pytest.fixture
async def rest() -> AsyncIterator[Rest]:
    async with resting() as served:
        yield served
