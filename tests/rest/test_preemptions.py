"""Which pods were asked to go, told to whoever may see them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from core.builders import Scenario, limits
from rest.telling import Told, listed, telling
from treadle.core.effects import Evict
from treadle.core.model import FairSettings
from treadle.rest import preemptions
from treadle.rest.preemptions import PREEMPTIONS

WHY = "queue root.web is owed what queue root.etl holds beyond its fair share"


def contended() -> Scenario:
    """Four cores of etl on one node, of which web is owed two."""
    s = Scenario().node("n", cpu=4).scheduler(fair=FairSettings(preemption=True))
    s.queue("root", submit=listed("*"), administer=listed("boss"))
    s.queue("root.etl", view=listed("ann"), submit=listed("*"))
    s.queue("root.web", view=listed("bob"), submit=listed("*"), minimum=limits(cpu="2"), min_share_timeout=5.0)
    s.pods(4, "e", "root.etl", application="etl").wait(1)
    s.confirm(s.plan())
    return s.pods(2, "w", "root.web", application="web").wait(1)


def victims(s: Scenario) -> list[Evict]:
    found: list[Evict] = []
    for _ in range(20):
        s.wait(1).plan()
        found += [effect for effect in s.effects if isinstance(effect, Evict)]
    return found


@pytest.fixture
async def told() -> AsyncIterator[Told]:
    async with telling(contended()) as one:
        for victim in victims(one.scenario):
            one.preempted.note(victim)
            one.now += 60
        yield one


async def names(told: Told, who: str, **query: str) -> list[str]:
    status, said = await told.ask(who, PREEMPTIONS, **query)
    assert status == 200, said
    return [one["name"] for one in said["preemptions"]]


async def test_a_pod_that_was_asked_to_go_is_told_with_its_node_for_whom_and_why_the_newest_first(told: Told) -> None:
    _, said = await told.ask("ann", PREEMPTIONS)
    newest, oldest = said["preemptions"]
    assert oldest["at"] == "2030-03-17T17:46:40Z"
    assert newest == {
        "at": "2030-03-17T17:47:40Z", "namespace": "ns", "name": newest["name"], "application": "ns/etl", "queue": "root.etl", "node": "n",
        "message": WHY, "byApplication": "ns/web", "byQueue": "root.web",
    }  # fmt: skip
    assert newest["name"] != oldest["name"]


async def test_they_are_told_to_who_may_see_the_pods_by_queue_or_namespace_and_to_nobody_else(told: Told) -> None:
    assert len(await names(told, "boss")) == 2
    assert await names(told, "bob") == []
    assert await names(told, "eve") == []
    assert (await told.refusal("eve", PREEMPTIONS, queue="root.etl"))[0] == 403
    told.api.core_rights.add(("eve", "list", "pods", "ns"))
    assert len(await names(told, "eve", namespace="ns")) == 2
    assert (await told.ask("nobody", PREEMPTIONS))[0] == 401


async def test_they_are_told_of_one_application_queue_or_namespace_alone_and_so_many(told: Told) -> None:
    assert len(await names(told, "ann", application="ns/etl")) == 2
    assert await names(told, "ann", application="ns/web") == []
    assert len(await names(told, "boss", queue="root.etl")) == 2
    assert await names(told, "boss", queue="root.web") == []
    assert await names(told, "boss", namespace="other") == []
    assert await names(told, "boss", limit="1") == (await names(told, "boss"))[:1]


async def test_so_many_are_kept_and_no_more(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preemptions, "MOST_KEPT", 3)
    kept = preemptions.Preemptions(lambda: told.scenario.core.view, lambda: told.now)
    for number in range(5):
        kept.note(Evict(f"u{number}", "ns", f"p{number}", "root.etl", "why", 1.0, False, 0))
    assert [(one.name, one.application, one.by_queue) for one in kept] == [("p4", "", ""), ("p3", "", ""), ("p2", "", "")]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"application": "etl"}, "application: 'etl' is not NAMESPACE/NAME"),
        ({"limit": "0"}, "limit: '0' is not a number from 1 to 500"),
        ({"node": "n"}, "node: unknown parameter; allowed are queue, namespace, application, limit"),
    ],
)
async def test_what_makes_no_sense_is_refused_by_its_name(told: Told, query: dict[str, Any], words: str) -> None:
    assert await told.refusal("ann", PREEMPTIONS, **query) == (400, words)


async def test_a_copy_that_stands_by_knows_of_none_and_says_who_leads(told: Told) -> None:
    told.leader = "treadle-7"
    assert (await told.refusal("ann", PREEMPTIONS))[0] == 503
