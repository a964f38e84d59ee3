"""The resource estimator's REST answers from the history as Hadoop's does from its logs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest

from rest.reviewing import ROBOT, Json, ReviewingApi
from treadle.core.model.programs import LinearProgram, LinearSolution
from treadle.history.estimates import Estimates
from treadle.history.runs import FAILED, SUCCEEDED, Run, Step
from treadle.history.store import Store
from treadle.kube.auth import Access
from treadle.kube.reviews import Reviews
from treadle.kube.transport import Client
from treadle.rest.asking import Asker
from treadle.rest.estimator import BASE, routes
from treadle.rest.serving import Door
from treadle.runtime.solver import Highs
from treadle.web.server import serve

DAY, GIB = 86_400.0, 1 << 30


class Counting(Highs):
    """HiGHS, which counts what it is asked."""

    solved = 0

    def solve_linear(self, program: LinearProgram, seconds: float) -> LinearSolution:
        self.solved += 1
        return super().solve_linear(program, seconds)


class World:
    """A history, its REST, and who asks."""

    def __init__(self, folder: Path) -> None:
        self.url = f"sqlite:///{folder / 'history.db'}"
        self.solver, self.api = Counting(), ReviewingApi()
        self.token, self.problem, self.address = "robot", "", ""

    def ran(self, name: str, begun: float, *pods: tuple[float, int], outcome: str = SUCCEEDED, over: bool = True) -> World:
        """A run whose pods of two cores and a GiB are so many from these seconds after its beginning on, the last for ten seconds; it waited for five."""
        steps = [
            Step(begun + at, {"cpu": 2000 * count, "memory": GIB * count, "pods": count}, count, (0, 0, 0)) for at, count in pods
        ]
        end = begun + pods[-1][0] + 10.0 if over else None
        run = Run(f"etl/{name}", "root.a", "ann", begun - 5.0, begun, begun, end, 9, 9, 0, 0, outcome if over else "", steps)
        with_store = Store(self.url)
        with_store.write([run] if over else [], [] if over else [run], [], begun + 1000.0)
        with_store.close()
        return self

    async def ask(self, method: str, path: str) -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        async with (
            aiohttp.ClientSession() as session,
            session.request(method, f"{self.address}{BASE}{path}", headers=headers) as answer,
        ):
            text = await answer.read()
            return answer.status, msgspec.json.decode(text) if text else None

    async def refusal(self, method: str, path: str) -> tuple[int, str, str]:
        status, said = await self.ask(method, path)
        return status, said["RemoteException"]["exception"], said["RemoteException"]["message"]


@asynccontextmanager
async def served(world: World, kept: bool = True) -> AsyncIterator[World]:
    await world.api.start()
    world.api.rights = {(ROBOT, verb, "etl") for verb in ("list", "delete")} | {("alice", "list", "etl")}
    try:
        async with Client(Access(world.api.url)) as client:
            door = Door(Asker(Reviews(client)), lambda: "")
            estimates = Estimates(world.url, world.solver) if kept else None
            asked = routes(door, estimates, lambda: world.problem or world.solver.problem)
            async with serve("127.0.0.1", 0, asked) as world.address:
                yield world
    finally:
        await world.api.stop()


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    """Three runs of one application that are alike, one that failed, one of another."""
    known = World(tmp_path)
    for day in range(3):
        known.ran("nightly", day * DAY + 100.0, (0, 2), (10, 4), (20, 1))
    known.ran("nightly", 3 * DAY + 100.0, (0, 9), outcome=FAILED)
    known.ran("other", 100.0, (0, 1))
    async with served(known):
        yield known


def amount(count: int) -> Json:
    return {"memory": 1024 * count, "vcores": 2 * count}


NEEDED = {"resourceAllocation": {"0": amount(2), "10": amount(4), "20": amount(1), "30": amount(0)}}


async def test_an_estimate_is_made_from_the_runs_that_succeeded_in_the_shape_of_hadoop(world: World) -> None:
    assert await world.ask("GET", "/estimator/nightly") == (200, NEEDED)


async def test_the_estimate_that_was_made_is_kept_and_there_is_none_before(world: World) -> None:
    assert await world.ask("GET", "/skylinestore/estimation/nightly") == (200, None)
    await world.ask("GET", "/estimator/nightly")
    assert await world.ask("GET", "/skylinestore/estimation/nightly") == (200, NEEDED)
    assert await world.ask("GET", "/estimator/nightly") == (200, NEEDED)
    assert world.solver.solved == 1


async def test_an_estimate_is_made_anew_when_a_run_has_come(world: World) -> None:
    await world.ask("GET", "/estimator/nightly")
    for day in range(4, 40):
        world.ran("nightly", day * DAY + 100.0, (0, 6))
    status, said = await world.ask("GET", "/estimator/nightly")
    assert (status, said["resourceAllocation"]["0"]) == (200, amount(6))
    assert world.solver.solved == 2


async def test_the_runs_of_a_pipeline_are_listed_the_newest_first_as_pairs_of_an_id_and_its_skylines(world: World) -> None:
    status, said = await world.ask("GET", "/skylinestore/history/nightly/*")
    assert status == 200
    assert [one[0] for one in said] == [
        {"pipelineId": "nightly", "runId": str(round((day * DAY + 100) * 1000))} for day in (3, 2, 1, 0)
    ]
    assert said[3][1] == [
        {
            "jobId": "100000",
            "jobInputDataSize": 0.0,
            "jobSubmissionTime": 95_000,
            "jobFinishTime": 130_000,
            "containerSpec": amount(1),
            "skylineList": NEEDED,
            "outcome": "Succeeded",
        }
    ]


async def test_all_of_a_namespace_one_run_and_a_pattern_can_be_listed(world: World) -> None:
    assert len((await world.ask("GET", "/skylinestore/history/*/*"))[1]) == 5
    assert [one[0]["pipelineId"] for one in (await world.ask("GET", "/skylinestore/history/*er/*"))[1]] == ["other"]
    (one,) = (await world.ask("GET", "/skylinestore/history/nightly/100000"))[1]
    assert one[0]["runId"] == "100000"
    assert await world.ask("GET", "/skylinestore/history/nightly/100001") == (200, [])
    assert await world.ask("GET", "/skylinestore/history/nowhere/*") == (200, [])


async def test_the_namespace_may_stand_before_the_name(world: World) -> None:
    assert (await world.ask("GET", "/estimator/etl%2Fnightly"))[0] == 200


async def test_a_run_that_is_over_can_be_deleted_and_no_more_than_one(world: World) -> None:
    assert await world.ask("DELETE", "/skylinestore/history/nightly/100000") == (204, None)
    assert len((await world.ask("GET", "/skylinestore/history/nightly/*"))[1]) == 3
    assert (await world.refusal("DELETE", "/skylinestore/history/nightly/100000"))[:2] == (404, "RecurrenceIdNotFoundException")
    assert (await world.refusal("DELETE", "/skylinestore/history/nightly/*"))[0] == 400
    assert (await world.refusal("DELETE", "/skylinestore/history/*/100000"))[0] == 400
    world.ran("going", 5 * DAY, (0, 1), over=False)
    assert (await world.refusal("DELETE", f"/skylinestore/history/going/{round(5 * DAY * 1000)}"))[0] == 404


async def test_where_nothing_can_be_estimated_it_is_said_why(world: World) -> None:
    refused = await world.refusal("GET", "/estimator/nowhere")
    assert refused == (
        400,
        "InvalidInputException",
        "etl/nowhere: the history has no runs that succeeded and requested something",
    )
    world.problem = "no solver"
    assert await world.refusal("GET", "/estimator/nightly") == (
        503,
        "YarnRuntimeException",
        "nothing can be estimated: no solver",
    )


async def test_who_may_not_is_refused_before_anything_is_looked_up(world: World) -> None:
    assert (await world.refusal("GET", "/estimator/nightly?namespace=other"))[0] == 403
    world.token = "alice"
    assert (await world.refusal("GET", "/estimator/nightly"))[:1] == (400,), "no service account, so the namespace is to be said"
    assert (await world.ask("GET", "/estimator/nightly?namespace=etl"))[0] == 200
    assert (await world.refusal("DELETE", "/skylinestore/history/nightly/100000?namespace=etl"))[0] == 403
    assert {
        one["spec"]["resourceAttributes"]["resource"] for one in world.api.reviews if "resourceAttributes" in one["spec"]
    } == {"applications"}
    world.token = ""
    assert (await world.refusal("GET", "/estimator/nightly"))[0] == 401


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/skylinestore/history/nightly/soon", 400),
        ("GET", "/skylinestore/history/nightly/-1", 400),
        ("GET", "/skylinestore/history/nightly/%D9%A1", 400),
        ("GET", f"/skylinestore/history/nightly/{'9' * 16}", 400),
        ("GET", f"/estimator/{'a' * 400}", 400),
        ("GET", "/estimator/a%00b", 400),
        ("GET", "/estimator/nightly?run=1", 400),
        ("POST", "/translator/etc/passwd", 403),
    ],
)
async def test_bad_requests_are_refused_with_a_reason(world: World, method: str, path: str, status: int) -> None:
    refused = await world.refusal(method, path)
    assert refused[0] == status
    assert refused[2]


async def test_percent_and_underscore_are_letters_of_a_name(world: World) -> None:
    world.ran("under_score", 700.0, (0, 1))
    assert len((await world.ask("GET", "/skylinestore/history/under_score/*"))[1]) == 1
    assert await world.ask("GET", "/skylinestore/history/underXscore/*") == (200, [])
    assert await world.ask("GET", "/skylinestore/history/%25/*") == (200, [])


async def test_without_a_history_all_is_refused_with_a_word(tmp_path: Path) -> None:
    async with served(World(tmp_path), kept=False) as world:
        assert await world.refusal("GET", "/estimator/nightly") == (
            503,
            "YarnRuntimeException",
            "no history is kept here (treadle run --history)",
        )


async def test_a_history_that_nobody_has_begun_is_not_made_by_reading(tmp_path: Path) -> None:
    async with served(World(tmp_path)) as world:
        assert (await world.refusal("GET", "/skylinestore/history/*/*"))[0] == 503
    assert not _files(tmp_path)


def _files(folder: Path) -> list[Path]:
    return list(folder.iterdir())
