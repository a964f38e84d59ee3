"""What would be if, of a whole Treadle: answered by a process of its own, while the scheduler goes on."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator

import aiohttp
import pytest

from core.builders import Scenario, a_pod
from kube.access import until
from rest.reviewing import ReviewingApi, reviewing
from runtime.services import add_nodes, add_queue, controllers_watch, treadle
from treadle.core.model import Settings
from treadle.forecast.what_if import Question
from treadle.rest.what_if import WHAT_IF, Unanswered
from treadle.runtime.what_if import WhatIf


def of(s: Scenario, *, may: bool = True) -> WhatIf:
    return WhatIf(s.core.telling, lambda: s.core.view, Settings(), lambda: may)


def small() -> Scenario:
    return Scenario().queue("root.a").wait(10.0).node("n", cpu=2)


ONE = Question((a_pod("new", "root.a"),), seconds=0.0)


async def test_a_process_of_its_own_answers_and_only_one_at_a_time() -> None:
    asked = of(small())
    first = asyncio.create_task(asked.ask(ONE))
    await asyncio.sleep(0)
    with pytest.raises(Unanswered, match="one is at a time"):
        await asked.ask(ONE)
    assert [(line.name, line.node) for line in (await first).placed] == [("new", "n")]
    assert [line.name for line in (await asked.ask(ONE)).placed] == ["new"], "the next one may come"


async def test_while_nothing_is_decided_nothing_is_answered() -> None:
    with pytest.raises(Unanswered, match="nothing is decided at the moment"):
        await of(small(), may=False).ask(ONE)


async def test_a_process_that_fails_or_takes_too_long_is_told_of_and_ended() -> None:
    asked = of(small())
    asked.command = (sys.executable, "-c", "raise SystemExit('broken')")
    with pytest.raises(Unanswered, match="ended with 1: broken"):
        await asked.ask(ONE)
    asked.command, asked.patience = (sys.executable, "-c", "import time; time.sleep(60)"), 0.2
    with pytest.raises(Unanswered, match=r"did not answer within 0\.2 s"):
        await asked.ask(ONE)


@pytest.fixture
async def api() -> AsyncIterator[ReviewingApi]:
    async with reviewing() as server:
        yield server


async def test_the_scheduler_answers_by_rest_what_it_then_does(api: ReviewingApi) -> None:
    add_nodes(api, 1, cpu="2", memory="16Gi")
    add_queue(api, "root.a")
    resources = {"requests": {"cpu": "1"}}
    body = {
        "metadata": {"namespace": "etl", "name": "new", "labels": {"treadle.dev/queue": "root.a"}},
        "spec": {"schedulerName": "treadle", "containers": [{"name": "c", "image": "i", "resources": resources}]},
    }
    async with treadle(api, controllers=True, listen="127.0.0.1:0", rest=True) as service:
        await controllers_watch(api)
        await until(lambda: service.core.view.queue("root.a") is not None, "the queue is known")
        headers = {"Authorization": "Bearer alice"}
        async with aiohttp.ClientSession(headers=headers) as session:
            for _ in range(100):  # until it decides
                async with session.post(service.doors.url + WHAT_IF, json={"pod": body, "count": 3, "seconds": 0}) as answer:
                    status, said = answer.status, await answer.json(content_type=None)
                if status != 503:
                    break
                await asyncio.sleep(0.1)
        assert status == 200, said
        placed = {one["name"]: one["node"] for one in said["placed"]}
        assert (len(placed), [one["reason"] for one in said["waiting"]]) == (2, ["Unschedulable"])
        for number in range(3):
            api.create("pods", {**body, "metadata": {**body["metadata"], "name": f"new-{number}"}})

        def bound() -> dict[str, str]:
            found = {one["metadata"]["name"]: one["spec"].get("nodeName", "") for one in api.list("pods", "etl")}
            return {name: node for name, node in found.items() if node}

        await until(lambda: len(bound()) == 2, "two are bound")
        assert bound() == placed
