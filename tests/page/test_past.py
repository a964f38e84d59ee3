"""What a queue used before one looked, from the history, for whoever may see it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from core.builders import Scenario
from rest.reviewing import ReviewingApi
from treadle.core.model import AccessList
from treadle.history.store import QueueSample, Store
from treadle.kube.auth import Access
from treadle.kube.reviews import Reviews
from treadle.kube.transport import Client
from treadle.page.past import HOUR, PATH, Past
from treadle.rest.asking import Asker
from treadle.rest.serving import Door
from treadle.rest.sight import Sight
from treadle.web.server import serve

NOW = 1_900_000_000.0


class Told:
    """Who asks for what was."""

    def __init__(self, url: str) -> None:
        self.url = url

    async def ask(self, query: str, token: str = "ann") -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {token}"}
        async with aiohttp.ClientSession() as session, session.get(f"{self.url}{PATH}?{query}", headers=headers) as answer:
            said = await answer.json()
            return answer.status, said["detail"] if answer.status >= 400 else said


def sample(path: str, hours: float, cpu: int) -> QueueSample:
    return QueueSample(path, NOW - hours * HOUR, {"cpu": cpu}, {}, {"cpu": 4000}, 1, 0, 0)


async def served(url: str) -> AsyncIterator[Told]:
    api = ReviewingApi()
    api.tokens = {"ann": {"username": "ann"}}
    nobody, ann = (AccessList(frozenset(users), frozenset(), frozenset()) for users in ((), ("ann",)))
    scenario = Scenario().queue("root", submit=nobody, administer=nobody)
    scenario.queue("root.data", view=ann).queue("root.web", view=nobody)
    scenario.wait(1).plan()
    await api.start()
    try:
        async with Client(Access(api.url)) as client:
            asker = Asker(Reviews(client))
            past = Past(url, Sight(asker, lambda: scenario.core.view), lambda: NOW)
            async with serve("127.0.0.1", 0, past.routes(Door(asker, str))) as at:
                yield Told(at)
    finally:
        await api.stop()


@pytest.fixture
def history(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path}/history"
    store = Store(url)
    kept = [sample("root.data", hours, cpu) for hours, cpu in ((30, 1000), (3, 2000), (1, 3000))]
    store.write([], [], [*kept, sample("root.web", 1, 9)], NOW)
    store.close()
    return url


@pytest.fixture
async def told(history: str) -> AsyncIterator[Told]:
    async for one in served(history):
        yield one


async def test_a_day_is_told_or_as_many_hours_as_one_asks_for(told: Told) -> None:
    code, said = await told.ask("queue=root.data")
    assert (code, [one["used"]["cpu"] for one in said["samples"]]) == (200, [2000, 3000])
    assert said["samples"][0] == {"at": NOW - 3 * HOUR, "used": {"cpu": 2000}, "pending": {}, "guaranteed": {"cpu": 4000}}
    assert len((await told.ask("queue=root.data&hours=48"))[1]["samples"]) == 3
    assert len((await told.ask("queue=root.data&hours=2"))[1]["samples"]) == 1


async def test_a_queue_that_one_may_not_see_has_no_past_either(told: Told) -> None:
    assert (await told.ask("queue=root.web"))[0] == 403
    assert (await told.ask("queue=root"))[0] == 403
    assert (await told.ask("queue=root.data", "nobody"))[0] == 401


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("", "queue: '' names no queue; allowed are 512 letters"),
        ("queue=root.data&hours=169", "hours: '169' is not a number from 1 to 168"),
        ("queue=root.data&hours=%D9%A3", "hours: '٣' is not a number from 1 to 168"),
        ("queue=root.data&days=1", "days: unknown parameter; allowed are queue, hours"),
    ],
)
async def test_what_makes_no_sense_is_refused_by_its_name(told: Told, query: str, words: str) -> None:
    assert await told.ask(query) == (400, words)


async def test_where_no_history_is_kept_or_read_that_is_said(tmp_path: Path) -> None:
    async for one in served(""):
        assert await one.ask("queue=root.data") == (404, "no history is kept (treadle run --history)")
    async for one in served(f"sqlite:///{tmp_path}/nothing"):
        assert await one.ask("queue=root.data") == (404, "nothing has been kept in the history yet")
    async for one in served(f"sqlite:///{tmp_path}"):
        assert await one.ask("queue=root.data") == (503, "the history cannot be read now")
