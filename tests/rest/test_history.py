"""What was, told below ``/api/v1/history`` to whoever may see it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from core.builders import Scenario
from rest.reviewing import ReviewingApi
from rest.telling import listed
from treadle.core.model import Settings
from treadle.history.runs import FAILED, SUCCEEDED, Run, Step
from treadle.history.said import Said
from treadle.history.store import Store
from treadle.kube.auth import Access
from treadle.kube.reviews import Reviews
from treadle.kube.transport import Client
from treadle.rest import history
from treadle.rest.asking import Asker
from treadle.rest.past import Past
from treadle.rest.serving import Door
from treadle.rest.state import Sources
from treadle.web.server import serve

NOW = 1_900_000_000.0
HOUR = 3600.0


def run(name: str, queue: str, hours_ago: float, outcome: str = SUCCEEDED, ended: bool = True) -> Run:
    began = NOW - hours_ago * HOUR
    steps = [Step(began, {"cpu": 2000, "memory": 1 << 30}, 2)]
    over = began + 600 if ended else None
    counts = (2, 2, 0, 0) if outcome == SUCCEEDED else (2, 0, 2, 0)
    return Run(f"ns/{name}", queue, "ann", began - 30, began, began, over, *counts, outcome if ended else "", steps)


def said(name: str, queue: str, hours_ago: float, reason: str = "Preempted") -> Said:
    return Said(NOW - hours_ago * HOUR, reason, "Pod", "ns", f"{name}-0", f"ns/{name}", queue, "queue root.b is owed it")


class Asked:
    def __init__(self) -> None:
        self.url, self.leader = "", ""

    async def ask(self, who: str, path: str, **query: str) -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {who}"}
        async with aiohttp.ClientSession() as session, session.get(self.url + path, params=query, headers=headers) as answer:
            return answer.status, await answer.json(content_type=None)

    async def names(self, who: str, path: str = history.RUNS, **query: str) -> list[str]:
        status, found = await self.ask(who, path, **query)
        assert status == 200, found
        return [one["application"].partition("/")[2] for one in found["runs" if path == history.RUNS else "events"]]


@pytest.fixture
async def asked(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Asked]:
    url = getattr(request, "param", f"sqlite:///{tmp_path}/history.db")
    if url.endswith("history.db"):
        store = Store(url)
        runs = [run("etl", "root.a", 5), run("web", "root.b", 3, FAILED), run("etl", "root.a.sub", 1, ended=False)]
        old = run("old", "root.gone", 2)
        events = [said("etl", "root.a", 4), said("web", "root.b", 3, "FailedScheduling"), said("old", "root.gone", 2)]
        store.write([runs[0], runs[1], old], [runs[2]], [], NOW, told=events)
        store.close()
    s = Scenario(Settings()).queue("root", submit=listed()).queue("root.a", view=listed("ann"), submit=listed("*"))
    s.queue("root.a.sub").queue("root.b", view=listed("bob"), submit=listed("*")).wait(1.0).plan()
    api = ReviewingApi()
    await api.start()
    for name in ("root", "ann", "bob", "eve", "lead"):
        api.tokens[name] = {"username": name}
    api.rights |= {("root", "view", ""), ("lead", "list", "ns")}
    async with Client(Access(api.url)) as client:
        one = Asked()
        sources = Sources(lambda: s.core.view, lambda: one.leader, lambda _: None)
        routes = history.routes(Door(Asker(Reviews(client)), lambda: ""), sources, Past(url), lambda: NOW)
        async with serve("127.0.0.1", 0, routes) as one.url:
            yield one
    await api.stop()


async def test_a_run_says_who_ran_when_how_it_ended_and_what_it_used(asked: Asked) -> None:
    _, found = await asked.ask("ann", history.RUNS, queue="root.a", days="1")
    under_way, over = found["runs"]
    assert over == {
        "application": "ns/etl", "queue": "root.a", "user": "ann", "submitted": NOW - 5 * HOUR - 30, "started": NOW - 5 * HOUR,
        "ended": NOW - 5 * HOUR + 600, "outcome": "Succeeded", "pods": 2, "succeeded": 2, "failed": 0, "deleted": 0,
        "used": {"cpu": 1_200_000.0, "memory": 600.0 * (1 << 30)},
    }  # fmt: skip
    assert (under_way["ended"], under_way["outcome"], under_way["used"]["cpu"]) == (None, "", 2000 * HOUR)
    assert found["more"] is False


async def test_each_sees_what_was_in_queues_that_they_may_view_and_all_of_an_application_of_their_namespace(asked: Asked) -> None:
    assert await asked.names("root") == ["etl", "old", "web", "etl"]
    assert await asked.names("ann") == ["etl", "etl"]
    assert await asked.names("bob") == ["web"]
    assert await asked.names("eve") == []
    assert await asked.names("lead", application="ns/old") == ["old"]
    assert await asked.names("ann", application="ns/old") == [], "of a queue that is gone nobody may view who may not view all"
    assert await asked.names("root", history.EVENTS) == ["old", "web", "etl"]
    assert await asked.names("ann", history.EVENTS) == ["etl"]
    assert await asked.names("lead", history.EVENTS, namespace="ns") == ["old", "web", "etl"]
    assert await asked.names("eve", history.EVENTS, namespace="ns") == []
    assert (await asked.ask("lead", history.EVENTS, namespace="ns", application="other/etl"))[0] == 400
    assert (await asked.ask("eve", history.RUNS, queue="root.a"))[0] == 403


async def test_events_are_found_by_application_object_reason_queue_and_days(asked: Asked) -> None:
    assert await asked.names("root", history.EVENTS, reason="Preempted") == ["old", "etl"]
    assert await asked.names("root", history.EVENTS, name="web-0") == ["web"]
    assert await asked.names("root", history.EVENTS, application="ns/etl") == ["etl"]
    assert await asked.names("root", history.EVENTS, queue="root.a") == ["etl"]
    assert await asked.names("root", history.EVENTS, days="0.13") == ["old", "web"]
    _, found = await asked.ask("root", history.EVENTS, limit="1")
    assert found["more"] is True
    assert found["events"] == [
        {"at": NOW - 2 * HOUR, "reason": "Preempted", "kind": "Pod", "namespace": "ns", "name": "old-0", "application": "ns/old", "queue": "root.gone", "note": "queue root.b is owed it"}
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"application": "etl"}, "application: 'etl' is not NAMESPACE/NAME"),
        ({"application": "ns/*"}, "application: 'ns/*' is not NAMESPACE/NAME"),
        ({"days": "-1"}, "days: '-1' is not a number more than 0 and at most 36500"),
        ({"days": "nan"}, "days: 'nan' is not a number more than 0 and at most 36500"),
        ({"limit": "501"}, "limit: '501' is not a number from 1 to 500"),
        ({"user": "ann"}, "user: unknown parameter; allowed are application, queue, days, limit"),
    ],
)
async def test_what_makes_no_sense_is_refused_by_name(asked: Asked, query: dict[str, str], words: str) -> None:
    status, found = await asked.ask("root", history.RUNS, **query)
    assert (status, found["detail"]) == (400, words)


async def test_a_copy_that_stands_by_names_the_leader(asked: Asked) -> None:
    asked.leader = "treadle-1"
    status, found = await asked.ask("root", history.EVENTS)
    assert (status, "treadle-1 leads" in found["detail"]) == (503, True)


@pytest.mark.parametrize(
    ("asked", "status", "words"),
    [
        ("", 404, "no history is kept"),
        ("sqlite:////nowhere/at/all.db", 404, "nothing has been kept in the history yet"),
        ("sqlite:////dev", 503, "cannot be read now"),
    ],
    indirect=["asked"],
)
async def test_where_there_is_no_history_or_none_that_can_be_read_that_is_said(asked: Asked, status: int, words: str) -> None:
    found, answer = await asked.ask("root", history.RUNS)
    assert (found, words in answer["detail"]) == (status, True)
