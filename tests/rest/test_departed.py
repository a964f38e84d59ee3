"""Which pods ended lately, told to whoever may see the pods, and remembered without anybody who looks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from core.builders import Scenario
from rest.reviewing import NOW
from rest.telling import Told, listed, telling
from treadle.core.model import Settings
from treadle.rest import departed
from treadle.rest.departed import ENDED


@pytest.fixture
async def told() -> AsyncIterator[Told]:
    """Of etl's three pods one had a node and ended, another one waited and was deleted."""
    s = Scenario(Settings(epoch=NOW - 3600.0)).node("n", cpu=2)
    s.queue("root", submit=listed(), administer=listed("boss")).queue("root.etl", view=listed("ann"), submit=listed("*"))
    s.wait(600).pods(3, "e", "root.etl", application="etl", created=NOW - 3100.0).wait(1)
    s.confirm(s.plan())
    async with telling(s) as one:
        for name in ("e-0", "e-2"):
            one.departed.note(name)
            s.gone(name)
            one.now += 60
        yield one


async def names(told: Told, who: str, **query: str) -> list[str]:
    status, said = await told.ask(who, ENDED, **query)
    assert status == 200, said
    return [one["name"] for one in said["endedPods"]]


async def test_each_says_when_it_was_made_got_its_node_and_ended_the_newest_first(told: Told) -> None:
    _, said = await told.ask("ann", ENDED, application="ns/etl")
    own = {"namespace": "ns", "application": "ns/etl", "queue": "root.etl", "created": "2030-03-17T16:55:00Z"}
    assert said["endedPods"] == [
        {**own, "name": "e-2", "uid": "e-2", "ended": "2030-03-17T17:47:40Z"},
        {**own, "name": "e-0", "uid": "e-0", "node": "n", "placed": "2030-03-17T16:56:41Z", "ended": "2030-03-17T17:46:40Z"},
    ]


async def test_they_are_told_to_who_may_see_the_pods_and_to_nobody_else(told: Told) -> None:
    assert await names(told, "boss") == ["e-2", "e-0"]
    assert await names(told, "eve") == []
    assert (await told.refusal("eve", ENDED, queue="root.etl"))[0] == 403
    told.api.core_rights.add(("eve", "list", "pods", "ns"))
    assert await names(told, "eve", namespace="ns") == ["e-2", "e-0"]
    assert (await told.ask("nobody", ENDED))[0] == 401


async def test_they_are_told_of_one_application_queue_or_namespace_alone_and_so_many(told: Told) -> None:
    assert await names(told, "ann", application="ns/web") == []
    assert await names(told, "boss", queue="root.etl") == ["e-2", "e-0"]
    assert await names(told, "boss", namespace="other") == []
    assert await names(told, "boss", limit="1") == ["e-2"]


async def test_so_many_are_kept_and_each_once(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(departed, "MOST_KEPT", 2)
    told.departed.note("e-1")
    ended = next(iter(told.departed)).ended
    told.now += 60
    told.departed.note("e-1")
    assert next(iter(told.departed)).ended == ended
    told.departed.note("nobody")
    assert [one.name for one in told.departed] == ["e-1", "e-2"]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"application": "etl"}, "application: 'etl' is not NAMESPACE/NAME"),
        ({"limit": "0"}, "limit: '0' is not a number from 1 to 500"),
        ({"node": "n"}, "node: unknown parameter; allowed are queue, namespace, application, limit"),
    ],
)
async def test_what_makes_no_sense_is_refused_by_its_name(told: Told, query: dict[str, Any], words: str) -> None:
    assert await told.refusal("ann", ENDED, **query) == (400, words)


async def test_a_copy_that_stands_by_says_who_leads(told: Told) -> None:
    told.leader = "treadle-7"
    assert (await told.refusal("ann", ENDED))[0] == 503
