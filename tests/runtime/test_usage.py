"""Who asks what nodes use: only while the settings want to know, each sample once, and what fails is said once."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from treadle.core import Core
from treadle.core.events import Event, NodeSampled, PodSampled, SchedulerSeen, UsageKnown
from treadle.core.model import SchedulerSpec
from treadle.core.model.opportunistic import METRICS, OpportunisticSettings
from treadle.core.views.opportunistic import Wanted
from treadle.kube.errors import Unreachable
from treadle.kube.transport import Response
from treadle.runtime import usage as module
from treadle.runtime.usage import UsageSource
from treadle.usage.metrics_api import MetricsApi
from treadle.usage.source import Look, NodeUse, PodUse


class Server:
    """Answers with what it was given last."""

    def __init__(self) -> None:
        self.asked = 0
        self.answer: Response | Exception = Response(200, b'{"items": []}')

    async def request(self, method: str, path: str, **_: Any) -> Response:
        assert (method, path) == ("GET", "/apis/metrics.k8s.io/v1beta1/nodes")
        self.asked += 1
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def tells(self, *times: str) -> None:
        items = [
            {"metadata": {"name": f"n{at}"}, "timestamp": when, "window": "10s", "usage": {"cpu": "1", "memory": "1Gi"}}
            for at, when in enumerate(times)
        ]
        self.answer = Response(200, json.dumps({"items": items}).encode())


def source(wanted: bool = True, **fields: Any) -> tuple[Server, UsageSource, list[Event]]:
    core, server, told = Core(), Server(), []
    settings = OpportunisticSettings(source=METRICS, **fields) if wanted else OpportunisticSettings()
    core.handle(SchedulerSeen(SchedulerSpec(opportunistic=settings)), 0.0)
    return server, UsageSource(server, lambda: core.view, told.append), told  # type: ignore[arg-type]


def metrics(server: Server) -> MetricsApi:
    return MetricsApi(server)  # type: ignore[arg-type]


async def test_each_sample_is_told_once_by_the_clock_of_the_core() -> None:
    server, asks, told = source()
    server.tells("2026-01-01T00:00:00Z", "2026-01-01T00:00:07Z")
    await asks.look(metrics(server))
    await asks.look(metrics(server))
    server.tells("2026-01-01T00:00:15Z", "2026-01-01T00:00:07Z")
    await asks.look(metrics(server))
    assert told[0] == UsageKnown(known=True)
    samples = [one for one in told if isinstance(one, NodeSampled)]
    assert [one.node for one in samples] == ["n0", "n1", "n0"]
    assert samples[2].at - samples[0].at == pytest.approx(15.0, abs=0.1)
    assert (samples[0].usage, samples[0].window) == ((("cpu", 1000), ("memory", 1 << 30)), 10.0)
    assert samples[0].at + (time.time() - time.monotonic()) == pytest.approx(1767225600.0, abs=1.0)


class Tells:
    """A source that has what it was given."""

    def __init__(self, *looks: Look) -> None:
        self.looks = list(looks)

    async def look(self, _: Wanted) -> Look:
        return self.looks.pop(0)

    async def close(self) -> None:
        pass


async def test_pods_are_told_before_their_nodes_and_each_sample_once() -> None:
    _, asks, told = source()
    node, pod = NodeUse("n", (("cpu", 1),), time.time(), 1.0), PodUse("u", (("cpu", 1),), time.time(), 1.0)
    for _ in range(2):
        await asks.look(Tells(Look([node], [pod], partly="one is missing")))
    assert told[0] == UsageKnown(known=True, trouble="one is missing")
    assert [type(one) for one in told[1:]] == [PodSampled, NodeSampled]


async def test_after_a_clock_that_was_ahead_is_set_right_its_samples_are_told_again() -> None:
    _, asks, told = source()
    for at in (time.time() + 3600.0, time.time() - 10.0, time.time() - 20.0, float("inf"), time.time() - 5.0):
        await asks.look(Tells(Look([NodeUse("n", (("cpu", 1),), at, 1.0)], [])))
    assert [round(one.at - time.monotonic()) for one in told if isinstance(one, NodeSampled)] == [3600, -10, -5]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Unreachable("no route"), "there is no answer: no route"),
        (Response(404, b"{}"), "does not serve metrics.k8s.io/v1beta1"),
        (Response(200, b"<html>"), "is no list of nodes"),
    ],
)
async def test_what_fails_is_told_once_and_so_is_its_end(answer: Any, words: str) -> None:
    server, asks, told = source()
    server.answer = answer
    await asks.look(metrics(server))
    await asks.look(metrics(server))
    (event,) = told
    assert isinstance(event, UsageKnown)
    assert not event.known
    assert words in event.trouble
    server.tells("2026-01-01T00:00:00Z")
    await asks.look(metrics(server))
    assert told[1] == UsageKnown(known=True)


async def _for_a_while(asks: UsageSource, enough: Callable[[], bool], turns: int = 50) -> None:
    task = asyncio.create_task(asks.run())
    for _ in range(turns):
        if enough():
            break
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_nobody_is_asked_while_room_goes_by_requests() -> None:
    server, asks, told = source(wanted=False)
    await _for_a_while(asks, lambda: server.asked > 0)
    assert (server.asked, told) == (0, [])


async def test_an_error_in_an_answer_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    server, asks, told = source(every=0.0)
    monkeypatch.setattr(module, "LEAST", 0.0)
    server.answer = RuntimeError("odd")
    await _for_a_while(asks, lambda: server.asked > 2)
    assert server.asked > 2
    (event,) = told
    assert isinstance(event, UsageKnown)
    assert event.trouble == "the answer of metrics.k8s.io cannot be read; the log has the error"
