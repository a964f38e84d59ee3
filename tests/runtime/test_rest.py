"""YARN's REST of a whole Treadle: what is submitted is decided by the scheduler and told, and nothing is served where nobody asked for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import aiohttp
import pytest

from kube.access import until
from rest.reviewing import HOUR, ID, NAME, Rest, ReviewingApi, definition, reviewing, submission
from runtime.services import add_nodes, add_queue, controllers_watch, get, treadle
from treadle.rest.yarn_ids import id_of


@pytest.fixture
async def api() -> AsyncIterator[ReviewingApi]:
    async with reviewing() as server:
        yield server


async def test_the_scheduler_decides_and_its_decision_is_the_answer(api: ReviewingApi) -> None:
    add_nodes(api, 2, cpu="4", memory="16Gi")
    add_queue(api, "root.plan", reservations={"policy": "NoOverCommit"})
    async with treadle(api, controllers=True, listen="127.0.0.1:0", rest=True) as service:
        await controllers_watch(api)
        rest = Rest(api)
        rest.url = service.doors.url
        await until(
            lambda: api.get("queues", "root.plan").get("status", {}).get("steadyFairShare", {}).get("cpu") == "8",
            "what the queue has",
        )
        status, said, _ = await rest.ask("POST", "/submit", submission())
        assert status == 202, said["RemoteException"]["message"]
        kept = api.get("reservations", NAME, "etl")
        assert kept["status"]["phase"] == "Accepted"
        request = {"capability": {"memory": 1024, "vCores": 8}, "num-containers": 1, "duration": 4 * HOUR}
        everything = definition(
            **{"reservation-requests": {"reservation-request": request, "reservation-request-interpreter": 1}}
        )
        other = submission(**{"reservation-id": "reservation_1_0001", "reservation-definition": everything})
        status, message = await rest.refusal("POST", "/submit", other)
        assert status == 400
        assert message.startswith("NoRoom: queue root.plan, which has ")
        assert [one["metadata"]["name"] for one in api.list("reservations")] == [NAME]
        _, said, _ = await rest.ask("GET", "/list?queue=plan&include-resource-allocations=true")
        (listed,) = said["reservations"]
        steps = listed["resource-allocations"]
        assert sum((step["endTime"] - step["startTime"]) * step["resource"]["vCores"] for step in steps) == 4 * HOUR
        changed = {"reservation-id": ID, "reservation-definition": definition(priority=1)}
        assert (await rest.ask("POST", "/update", changed))[:2] == (200, {})
        assert (await rest.ask("POST", "/delete", {"reservation-id": ID}))[:2] == (200, {})
        assert api.list("reservations") == []


async def test_nothing_of_it_is_served_unless_it_is_asked_for(api: ReviewingApi) -> None:
    async with treadle(api, listen="127.0.0.1:0") as service:
        assert (await get(service, "/ws/v1/cluster/reservation/list"))[0] == 404
    assert api.reviews == []


async def test_an_application_that_is_over_is_told_to_yarns_clients_by_its_object(api: ReviewingApi) -> None:
    made = {
        "apiVersion": "treadle.dev/v1alpha1",
        "kind": "Application",
        "metadata": {"name": "done", "namespace": "etl"},
        "spec": {},
    }
    stored = api.create("applications", made, "etl")
    api.update("applications", {**stored, "status": {"phase": "Finished", "queue": "root.default"}}, "status")
    async with treadle(api, listen="127.0.0.1:0", rest=True) as service:
        path = f"{service.doors.url}/ws/v1/cluster/apps/{id_of('etl/done')}/state"

        async def state() -> object:
            async with (
                aiohttp.ClientSession(headers={"Authorization": "Bearer alice"}) as session,
                session.get(path) as answer,
            ):
                return await answer.json() if answer.status == 200 else None

        found = None
        for _ in range(200):
            if (found := await state()) is not None:
                break
            await asyncio.sleep(0.05)
        assert found == {"state": "FINISHED"}
