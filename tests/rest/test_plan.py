"""What is promised of a queue over time, told to whoever may see what it holds."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from core.builders import Scenario
from rest.reserved import BEGINS, HOUR, Json, reservation
from rest.reviewing import queue
from rest.telling import Told, listed, telling
from treadle.rest import plan
from treadle.rest.plan import PLAN


@pytest.fixture
async def told() -> AsyncIterator[Told]:
    s = Scenario().queue("root", submit=listed("*"), administer=listed("boss"))
    s.queue("root.plan", view=listed("ann")).queue("root.other", view=listed("bob"))
    s.queue("root.plan.below", view=listed("eve"))
    s.wait(1).plan()
    async with telling(s) as one:
        one.ledger.seen("Queue", queue("root.plan"))
        one.ledger.seen("Queue", {**queue("root.other"), "spec": {}})
        for made in (reservation("late", 3, 5), reservation("early", 1, 2), reservation("else", 1, 2, "root.other")):
            one.ledger.seen("Reservation", made)
        yield one


async def test_each_reservation_is_told_with_when_it_has_what_and_what_the_queue_has(told: Told) -> None:
    status, said = await told.ask("ann", PLAN, queue="root.plan")
    assert status == 200, said
    assert (said["queue"], said["start"], said["end"], said["more"]) == ("root.plan", BEGINS, BEGINS + 24 * HOUR, 0)
    assert said["has"] == {"": {"cpu": 10_000, "memory": 10 << 30}}
    assert [one["name"] for one in said["reservations"]] == ["early", "late"]
    assert said["reservations"][0] == {
        "namespace": "ns", "name": "early", "phase": "Accepted", "user": "ann",
        "occurrences": [{"start": BEGINS + HOUR, "end": BEGINS + 2 * HOUR, "amounts": {"": {"cpu": 4000}}}],
    }  # fmt: skip


async def test_what_comes_again_is_there_each_time_so_often_at_the_most(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    told.ledger.seen("Reservation", reservation("daily", 1, 2, period="24h"))
    _, said = await told.ask("ann", PLAN, queue="root.plan", hours="72")
    (daily,) = (one for one in said["reservations"] if one["name"] == "daily")
    assert [one["start"] - BEGINS for one in daily["occurrences"]] == [HOUR, 25 * HOUR, 49 * HOUR]
    assert (daily["period"], daily.get("cut")) == (24 * HOUR, None)
    monkeypatch.setattr(plan, "MOST_OCCURRENCES", 6)
    monkeypatch.setattr(plan, "LEAST_OCCURRENCES", 1)
    _, said = await told.ask("ann", PLAN, queue="root.plan", hours="72")
    (daily,) = (one for one in said["reservations"] if one["name"] == "daily")
    assert (len(daily["occurrences"]), daily["cut"]) == (2, True)


async def test_so_many_reservations_are_told_and_how_many_more_there_are(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "MOST_RESERVATIONS", 1)
    _, said = await told.ask("ann", PLAN, queue="root.plan")
    assert ([one["name"] for one in said["reservations"]], said["more"]) == (["early"], 1)


async def test_it_is_told_to_who_may_see_what_the_queue_holds_and_to_nobody_else(told: Told) -> None:
    assert (await told.ask("boss", PLAN, queue="root.plan"))[0] == 200
    assert (await told.ask("bob", PLAN, queue="root.plan"))[0] == 403
    assert await told.refusal("eve", PLAN, queue="root.plan") == (403, "User eve may not view queue root.plan")
    assert (await told.ask("nobody", PLAN, queue="root.plan"))[0] == 401
    told.leader = "treadle-7"
    assert (await told.ask("ann", PLAN, queue="root.plan"))[0] == 503


@pytest.mark.parametrize(
    ("query", "refused"),
    [
        ({}, (400, "queue: '' is not the path of a queue, such as root.nightly")),
        ({"queue": "root.plan", "hours": "2401"}, (400, "hours: '2401' is not a number from 1 to 2400")),
        ({"queue": "root.plan", "days": "1"}, (400, "days: unknown parameter; allowed are queue, hours")),
        ({"queue": "root.other"}, (404, "queue: root.other takes no reservations (spec.reservations)")),
    ],
)
async def test_what_makes_no_sense_is_refused_by_its_name(told: Told, query: Json, refused: tuple[int, str]) -> None:
    told.api.rights.add(("boss", "view", ""))
    assert await told.refusal("boss", PLAN, **query) == refused
