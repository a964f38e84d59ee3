"""Reservations are made by themselves for what comes again in queues that allow it, and follow the history; what somebody has edited is left alone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from kube.access import served, until
from runtime.services import condition, treadle
from treadle.controllers.ledger import Ledger
from treadle.fakeapi import FakeApi
from treadle.history.runs import FAILED, SUCCEEDED, Run, Step
from treadle.history.store import Store
from treadle.kube.auth import Access
from treadle.kube.transport import Client
from treadle.rest.answers import Refused
from treadle.rest.objects import Objects
from treadle.runtime.from_history import FromHistory
from treadle.runtime.solver import Highs

Json = dict[str, Any]
DAY, HOUR, GIB = 86_400.0, 3_600.0, 1 << 30
MIDNIGHT = 1_704_067_200.0
CLAIMS = "treadle.dev/made-from-history"


class World:
    """A history, the API server, and who makes reservations; today is day 10."""

    def __init__(self, folder: Path, api: FakeApi, client: Client) -> None:
        self.api, self.now = api, MIDNIGHT + 10 * DAY + 12 * HOUR
        self.store = Store(f"sqlite:///{folder / 'history.db'}")
        self.ledger = Ledger("treadle", lambda _: None)
        self.maker = FromHistory(
            f"sqlite:///{folder / 'history.db'}", self.ledger.entries, Objects(client), Highs(), lambda: self.now
        )
        self.queue()

    def queue(self, version: int = 1, **said: Any) -> World:
        metadata = {"name": "root.plan", "uid": "q", "generation": version, "resourceVersion": str(version)}
        spec = {"reservations": said if "fromHistory" in said or not version else {"fromHistory": said}}
        self.ledger.seen("Queue", {"apiVersion": "treadle.dev/v1alpha1", "kind": "Queue", "metadata": metadata, "spec": spec})
        return self

    def ran(self, name: str, day: float, hours: float = 1.0, pods: int = 2, queue: str = "root.plan", **fields: Any) -> World:
        """A run that began at two o'clock of a day."""
        begun = MIDNIGHT + day * DAY + 2 * HOUR
        steps = [Step(begun, {"cpu": 1000 * pods, "memory": GIB * pods, "pods": pods}, pods, (0, 0, 0))]
        end, outcome = begun + hours * HOUR, fields.get("outcome", SUCCEEDED)
        self.store.write(
            [Run(f"etl/{name}", queue, "ann", begun, begun, begun, end, pods, pods, 0, 0, outcome, steps)], [], [], end
        )
        return self

    def nightly(self, days: int = 8, name: str = "nightly-2024{}", **fields: Any) -> World:
        for day in range(days):
            self.ran(name.format(f"{day:02}"), day, **fields)
        return self

    async def look(self) -> list[Json]:
        await self.maker.look()
        return self.api.list("reservations")


@pytest.fixture
async def api() -> AsyncIterator[FakeApi]:
    async with served() as there:
        yield there


@pytest.fixture
async def world(tmp_path: Path, api: FakeApi) -> AsyncIterator[World]:
    if not any(one["metadata"]["name"] == "etl" for one in api.list("namespaces")):
        api.create("namespaces", {"metadata": {"name": "etl"}})
    async with Client(Access(api.url)) as client:
        yield World(tmp_path, api, client)


async def test_what_comes_again_is_reserved_for_all_of_its_runs_by_their_names(world: World) -> None:
    (made,) = await world.nightly().look()
    meta, spec = made["metadata"], made["spec"]
    assert (meta["namespace"], meta["name"]) == ("etl", "nightly")
    assert (spec["queue"], spec["applications"], spec["recurrence"]) == ("root.plan", ["nightly-*"], "24h")
    assert spec["arrival"] == "2024-01-12T02:00:00Z"
    assert [one["count"] for one in spec["expression"]["requests"]] == [2]
    notes = meta["annotations"]
    assert notes["treadle.dev/user"] == "ann"
    assert notes["treadle.dev/made-from"].startswith("It is made from 8 runs that succeeded")
    assert world.maker.made == {"made": 1, "changed": 0, "deleted": 0}


async def test_looking_again_changes_nothing(world: World) -> None:
    (before,) = await world.nightly().look()
    world.now += DAY
    world.ran("nightly-202408", 8)
    (after,) = await world.look()
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]


async def test_it_is_written_anew_when_runs_need_more(world: World) -> None:
    await world.nightly().look()
    for day in range(8, 30):
        world.ran(f"nightly-2024{day}", day, pods=6)
    world.now += 21 * DAY
    (after,) = await world.look()
    assert [one["count"] for one in after["spec"]["expression"]["requests"]] == [6]
    assert world.maker.made == {"made": 1, "changed": 1, "deleted": 0}
    again = (await world.look())[0]
    assert again["metadata"]["resourceVersion"] == after["metadata"]["resourceVersion"]


async def test_its_runs_are_promised_more_where_they_lag_if_the_queue_says_so(world: World) -> None:
    (made,) = await world.nightly().look()
    assert "reprovision" not in made["spec"]
    world.queue(2, fromHistory={"reprovision": True})
    (after,) = await world.look()
    assert after["spec"]["reprovision"] is True
    assert world.maker.made["changed"] == 1


async def test_one_that_was_refused_asks_again_for_its_next_beginning(world: World) -> None:
    (made,) = await world.nightly().look()
    made["status"] = {"phase": "Rejected"}
    world.api.update("reservations", made, "status")
    (same,) = await world.look()
    assert same["spec"] == made["spec"]
    world.now += DAY
    world.ran("nightly-202408", 8)
    (after,) = await world.look()
    assert after["spec"]["arrival"] > made["spec"]["arrival"]
    assert after["metadata"]["generation"] == made["metadata"]["generation"] + 1


async def test_it_is_deleted_when_nothing_of_it_comes_again(world: World) -> None:
    await world.nightly().look()
    world.ran("nightly-202439", 39, hours=1)
    world.now += 35 * DAY
    assert await world.look() == []
    assert world.maker.made == {"made": 1, "changed": 0, "deleted": 1}


async def test_what_somebody_has_edited_is_left_alone(world: World) -> None:
    (made,) = await world.nightly().look()
    made["spec"]["deadline"] = "2024-01-12T06:00:00Z"
    world.api.update("reservations", made)
    for day in range(8, 30):
        world.ran(f"nightly-2024{day}", day, pods=6)
    world.now += 21 * DAY
    (after,) = await world.look()
    assert after["spec"]["deadline"] == "2024-01-12T06:00:00Z"
    assert world.maker.made["changed"] == 0


async def test_none_is_made_for_names_that_a_reservation_of_somebody_claims(world: World) -> None:
    spec = {
        "queue": "root.plan",
        "applications": ["night*"],
        "arrival": "2024-01-12T02:00:00Z",
        "deadline": "2024-01-12T03:00:00Z",
        "expression": {"requests": [{"demand": {"cpu": "1"}, "count": 1, "duration": "1h"}]},
    }
    body = {"apiVersion": "treadle.dev/v1alpha1", "kind": "Reservation", "metadata": {"name": "mine", "namespace": "etl"}}
    world.api.create("reservations", {**body, "spec": spec})
    assert [one["metadata"]["name"] for one in await world.nightly().look()] == ["mine"]


async def test_a_name_that_is_taken_gets_a_mark(world: World) -> None:
    spec = {
        "queue": "root.plan",
        "arrival": "2024-01-12T02:00:00Z",
        "deadline": "2024-01-12T03:00:00Z",
        "expression": {"requests": [{"demand": {"cpu": "1"}, "count": 1, "duration": "1h"}]},
    }
    body = {"apiVersion": "treadle.dev/v1alpha1", "kind": "Reservation", "metadata": {"name": "nightly", "namespace": "etl"}}
    world.api.create("reservations", {**body, "spec": spec})
    names = sorted(one["metadata"]["name"] for one in await world.nightly().look())
    assert len(names) == 2
    assert names[1].startswith("nightly-")


async def test_excluded_applications_other_queues_and_what_does_not_come_again_get_none(world: World) -> None:
    world.queue(2, exclude=["etl/adhoc-*"])
    world.nightly(name="adhoc-2024{}").nightly(name="else-2024{}", queue="root.other").nightly(3, name="few-2024{}")
    for day in (0, 1, 2.3, 4.9, 5.2, 7.7):
        world.ran("odd", day)
    world.nightly(name="broken-2024{}", outcome=FAILED)
    assert await world.look() == []
    assert world.maker.trouble == ""


async def test_runs_in_queues_below_count(world: World) -> None:
    assert len(await world.nightly(queue="root.plan.plan-default").look()) == 1


async def test_nothing_is_read_where_no_queue_allows_it(world: World) -> None:
    world.nightly()
    world.ledger.gone("Queue", "", "root.plan")
    assert await world.look() == []


async def test_what_is_in_the_way_is_said_and_forgotten_when_it_is_not(world: World) -> None:
    world.nightly()
    solver, world.maker._solver = world.maker._solver, type("None", (), {"problem": "no solver"})()
    await world.look()
    assert world.maker.trouble == "queues ask for reservations from the history: no solver"
    world.maker._solver = solver
    await world.look()
    assert world.maker.trouble == ""


async def test_a_namespace_that_is_gone_or_a_refusal_keeps_no_other_from_its_reservation(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.nightly().nightly(name="all-2024{}").nightly(name="zoo-2024{}")
    create, seen = world.maker._objects.create, []

    async def refusing(body: Json) -> Json | None:
        name = body["metadata"]["name"]
        seen.append(name)
        if name in {"all", "nightly"}:
            raise Refused(404 if name == "all" else 400, f"no {name}")
        return await create(body)

    monkeypatch.setattr(world.maker._objects, "create", refusing)
    assert [one["metadata"]["name"] for one in await world.look()] == ["zoo"]
    assert seen == ["all", "nightly", "zoo"]
    assert world.maker.trouble == "a reservation for nightly in namespace etl cannot be made from the history: no nightly"
    monkeypatch.undo()
    assert len(await world.look()) == 3
    assert world.maker.trouble == ""


async def test_what_was_found_is_not_solved_again_while_nothing_has_run(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    solved: list[str] = []
    solve = Highs.solve_linear

    def counting(self: Highs, *given: Any) -> Any:
        solved.append("once")
        return solve(self, *given)

    monkeypatch.setattr(Highs, "solve_linear", counting)
    await world.nightly().look()
    await world.look()
    assert len(solved) == 1
    world.ran("nightly-202408", 8)
    await world.look()
    assert len(solved) == 2


async def test_whatever_goes_wrong_is_said_and_ends_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: Any) -> Any:
        raise ValueError("odd")

    monkeypatch.setattr(world.maker, "_wanted", broken)
    await world.nightly().look()
    assert world.maker.trouble == "reservations cannot be made from the history: ValueError: odd"


async def test_before_anything_has_run_there_is_nothing_to_say(world: World) -> None:
    assert await world.look() == []
    assert world.maker.trouble == ""


async def test_who_wants_reservations_from_a_history_that_nobody_keeps_is_told_so(api: FakeApi) -> None:
    api.create("schedulers", {"metadata": {"name": "treadle"}, "spec": {}})
    api.create("queues", {"metadata": {"name": "root.plan"}, "spec": {"reservations": {"fromHistory": {}}}})
    async with treadle(api, controllers=True):
        said = "spec.reservations.fromHistory of queues: no reservations are made from the history, since none is kept"
        await until(lambda: said in condition(api.get("schedulers", "treadle"), "Ready").get("message", ""), said)
