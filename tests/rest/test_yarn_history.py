"""YARN's generic history: fields, types, filters and refusals are those of a recorded ApplicationHistoryServer, but for what is listed here; the values are those of a store."""

from __future__ import annotations

import json
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
from treadle.history.store import Store
from treadle.kube.auth import Access
from treadle.kube.reviews import Reviews
from treadle.kube.transport import Client
from treadle.rest import yarn_history
from treadle.rest.asking import Asker
from treadle.rest.past import Past
from treadle.rest.serving import Door
from treadle.rest.state import Sources
from treadle.rest.yarn_cluster import About
from treadle.rest.yarn_ids import id_of
from treadle.web.server import serve

BASE = yarn_history.BASE
T = 1_900_000_000.0
RECORDED: dict[str, tuple[int, Any]] = json.loads((Path(__file__).parent / "recorded/history.json").read_text())
IDS = {number: f"application_1900000000000_000{number}" for number in (1, 2, 3)}
LACKING = {"applicationTags", "aggregatePreemptedResourceAllocation", "amContainerId"}
"""Fields of the recorded answers that ours do not have: a history of runs knows no tags, containers, or what preemption took."""
NOT_ASKED = {"odd", "appNameFilter"}
"""Parameters that the history server passes over, and that are refused here."""


def run(number: int, ended: bool = True, outcome: str = SUCCEEDED) -> Run:
    began = T + number
    steps = [Step(began + 0.5, {"cpu": 2000, "memory": 2 << 30}, 2)]
    if ended:
        steps.append(Step(began + 60, {}, 0, (2, 0, 0)))
    over = began + 60 if ended else None
    return Run(f"ns/etl{number}", "root.data", "ann", began, began + 0.5, began, over, 2, 2 if ended else 0, 0, 0, outcome, steps)


class Asked:
    def __init__(self, store: Store) -> None:
        self.url, self.leader, self.store = "", "", store

    async def ask(self, path: str, who: str = "root") -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {who}"}
        async with aiohttp.ClientSession() as session, session.get(self.url + BASE + path, headers=headers) as answer:
            return answer.status, await answer.json(content_type=None)

    async def names(self, path: str, who: str = "root") -> list[str]:
        status, said = await self.ask(path, who)
        assert status == 200, said
        return [one["name"] for one in said["app"]]


@pytest.fixture
async def asked(tmp_path: Path) -> AsyncIterator[Asked]:
    url = f"sqlite:///{tmp_path}/history.db"
    store = Store(url)
    store.write([run(1), run(2, outcome=FAILED)], [run(3, ended=False, outcome="")], [], T + 65)
    s = Scenario(Settings()).queue("root", submit=listed()).queue("root.data", view=listed("ann"), submit=listed())
    s.wait(1.0).plan()
    api = ReviewingApi()
    await api.start()
    for name in ("root", "ann", "eve", "lead"):
        api.tokens[name] = {"username": name}
    api.rights |= {("root", "view", ""), ("lead", "list", "ns")}
    async with Client(Access(api.url)) as client:
        one = Asked(store)
        sources = Sources(lambda: s.core.view, lambda: one.leader, lambda _: None)
        about = About(0, "1.2", lambda: T + 65, list)
        routes = yarn_history.routes(Door(Asker(Reviews(client)), lambda: ""), sources, about, Past(url))
        async with serve("127.0.0.1", 0, routes) as one.url:
            yield one
    store.close()
    await api.stop()


def ours(path: str) -> str:
    """A recorded path with our ids."""
    for number, id_ in IDS.items():
        own = id_of(f"ns/etl{number}")
        attempts = id_.replace("application", "appattempt")
        path = path.replace(f"{attempts}_000001", f"{own.replace('application', 'appattempt')}_{number:06}")
        path = path.replace(attempts, own.replace("application", "appattempt")).replace(id_, own)
    return path.replace("=etl1", "=ns/etl1").replace("spark", "kubernetes")


def compare(theirs: Any, ours: Any, at: str = "") -> None:
    assert type(ours) is type(theirs), at
    if isinstance(theirs, dict):
        assert (theirs.keys() - ours.keys() - LACKING, ours.keys() - theirs.keys()) == (set(), set()), at
        for name in theirs.keys() & ours.keys():
            compare(theirs[name], ours[name], f"{at}.{name}")
    if isinstance(theirs, list):
        for one, other in zip(theirs, ours, strict=True):
            compare(one, other, f"{at}[]")


@pytest.mark.parametrize("path", sorted(path for path in RECORDED if not any(f"{name}=" in path for name in NOT_ASKED)))
async def test_each_recorded_request_is_answered_alike(asked: Asked, path: str) -> None:
    status, theirs = RECORDED[path]
    if path == "/":  # one path is served with one name
        return
    found, said = await asked.ask(ours(path))
    assert found == status, said
    if status != 200:
        assert said["exception"] == theirs["exception"]
        assert said["javaClassName"] == theirs["javaClassName"]
        assert said["message"].startswith(ours(theirs["message"]))
        return
    if "app" in theirs:
        assert [one["name"].removeprefix("ns/") for one in said["app"]] == [one["name"] for one in theirs["app"]]
    if path.endswith("/about") or "0003/" in path:  # of an attempt that runs the history server says less
        return
    compare(theirs, said)


async def test_an_application_is_told_with_its_last_run_and_each_run_is_an_attempt(asked: Asked) -> None:
    again = run(1)
    again.submitted, again.started, again.ended = T + 100, T + 101, T + 200
    again.steps = [Step(T + 101, {"cpu": 1500, "memory": 1 << 30}, 1), Step(T + 201, {}, 0)]
    again.ended = T + 201
    asked.store.write([again], [], [], T + 210)
    own = id_of("ns/etl1")
    assert await asked.names("/apps") == ["ns/etl1", "ns/etl3", "ns/etl2"]
    _, one = await asked.ask(f"/apps/{own}")
    assert (one["submittedTime"], one["finishedTime"]) == ((T + 100) * 1000, (T + 201) * 1000)
    assert one["aggregateResourceAllocation"] == "102400 MB-seconds, 150 vcore-seconds"
    _, attempts = await asked.ask(f"/apps/{own}/appattempts")
    assert [each["appAttemptId"].rpartition("_")[2] for each in attempts["appAttempt"]] == ["000001", "000004"]
    assert one["currentAppAttemptId"] == attempts["appAttempt"][1]["appAttemptId"]


async def test_an_application_that_runs_says_what_it_has_now(asked: Asked) -> None:
    _, one = await asked.ask(f"/apps/{id_of('ns/etl3')}")
    assert (one["appState"], one["runningContainers"], one["allocatedCpuVcores"], one["allocatedMemoryMB"]) == (
        "RUNNING",
        2,
        2,
        2048,
    )
    assert one["elapsedTime"] == 62_000


async def test_who_may_not_view_the_queue_is_told_of_no_application(asked: Asked) -> None:
    assert await asked.names("/apps", "ann") == ["ns/etl3", "ns/etl2", "ns/etl1"]
    assert await asked.names("/apps", "eve") == []
    status, said = await asked.ask(f"/apps/{id_of('ns/etl1')}", "eve")
    assert (status, said["exception"]) == (404, "NotFoundException")
    assert (await asked.ask(f"/apps/{id_of('ns/etl1')}", "lead"))[0] == 200, "who may list applications in the namespace"


async def test_a_copy_that_stands_by_says_so(asked: Asked) -> None:
    asked.leader = "treadle-1"
    status, said = await asked.ask("/apps")
    assert (status, "treadle-1 leads" in said["message"]) == (503, True)


async def test_a_parameter_that_is_not_known_is_refused(asked: Asked) -> None:
    status, said = await asked.ask("/apps?odd=1")
    assert (status, said["message"][:22]) == (400, "odd: unknown parameter")
