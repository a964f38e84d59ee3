"""The reader of the timeline service v2: shapes and refusals are those that Hadoop's classes and its reader gave; the values are those of a store."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import aiohttp
import pytest
from yarl import URL

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
from treadle.rest import timeline
from treadle.rest.asking import Asker
from treadle.rest.past import Past
from treadle.rest.serving import Door
from treadle.rest.state import Sources
from treadle.rest.timeline_shapes import parts_of, uid_of
from treadle.rest.yarn_cluster import About
from treadle.rest.yarn_ids import id_of
from treadle.web.server import serve

BASE = timeline.BASE
T = 1_900_000_000
DAY = 86_400
RECORDED = json.loads((Path(__file__).parent / "recorded/timeline.json").read_text())
ETL, WEB = id_of("ns/etl"), id_of("ns/web")
FLOW = f"/users/ann/flows/{quote('ns/etl', safe='')}"


def run(name: str, queue: str, began: float, outcome: str = SUCCEEDED) -> Run:
    steps = [
        Step(began, {"cpu": 2000, "memory": 1 << 30}, 2),
        Step(began + 30, {"cpu": 1000}, 1, (1, 0, 0)),
        Step(began + 60, {}, 0, (2, 0, 0)),
    ]
    return Run(f"ns/{name}", queue, "ann", began - 10, began, began, began + 60, 2, 2, 0, 0, outcome, steps)


class Asked:
    def __init__(self) -> None:
        self.url, self.leader = "", ""

    async def ask(self, path: str, who: str = "root") -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {who}"}
        url = URL(self.url + BASE + path, encoded=True)
        async with aiohttp.ClientSession() as session, session.get(url, headers=headers) as answer:
            return answer.status, await answer.json(content_type=None)

    async def told(self, path: str, who: str = "root") -> Any:
        status, said = await self.ask(path, who)
        assert status == 200, said
        return said

    async def refused(self, path: str, who: str = "root") -> tuple[int, str]:
        status, said = await self.ask(path, who)
        return status, said["message"]


@pytest.fixture
async def asked(tmp_path: Path) -> AsyncIterator[Asked]:
    url = f"sqlite:///{tmp_path}/history.db"
    store = Store(url)
    said = [
        Said(T + 20, "Preempted", "Pod", "ns", "etl-1", "ns/etl", "root.data", "for queue root.web"),
        Said(T - 99, "Old", "Pod", "ns", "etl-1", "ns/etl", "root.data", "before"),
    ]
    store.write(
        [run("etl", "root.data", T), run("web", "root.web", T + 5, FAILED), run("etl", "root.data", T + DAY)],
        [],
        [],
        T,
        told=said,
    )
    store.close()
    s = Scenario(Settings()).queue("root", submit=listed()).queue("root.data", view=listed("ann"), submit=listed("*"))
    s.queue("root.web", view=listed("bob")).wait(1.0).plan()
    api = ReviewingApi()
    await api.start()
    for name in ("root", "ann", "eve", "lead"):
        api.tokens[name] = {"username": name}
    api.rights |= {("root", "view", ""), ("lead", "list", "ns")}
    async with Client(Access(api.url)) as client:
        one = Asked()
        sources = Sources(lambda: s.core.view, lambda: one.leader, lambda _: None)
        about = About(0, "1.2", lambda: T + 2 * DAY, list)
        routes = timeline.routes(Door(Asker(Reviews(client)), lambda: ""), sources, about, Past(url))
        async with serve("127.0.0.1", 0, routes) as one.url:
            yield one
    await api.stop()


def compare(theirs: Any, ours: Any, at: str = "") -> None:
    """Names and types of what is told are theirs; what is known by names of its own (info, values) is compared by type."""
    assert type(ours) is type(theirs), (at, ours, theirs)
    if isinstance(theirs, dict) and at.rpartition(".")[2] not in {"info", "values"}:
        assert ours.keys() == theirs.keys(), at
        for name in theirs:
            compare(theirs[name], ours[name], f"{at}.{name}")
    if isinstance(theirs, list) and theirs:
        assert ours, at
        compare(theirs[0], ours[0], f"{at}[]")


async def test_shapes_are_those_of_hadoops_classes(asked: Asked) -> None:
    theirs = RECORDED["entities"]
    compare(theirs["activity"], (await asked.told("/flows"))[0])
    compare(theirs["run"], (await asked.told(f"{FLOW}/runs?fields=METRICS"))[0])
    compare(theirs["app"], await asked.told(f"/apps/{ETL}?fields=ALL"))
    compare(theirs["attempt"], (await asked.told(f"/apps/{ETL}/appattempts"))[0])
    for kind, info in (
        ("activity", (await asked.told("/flows"))[0]["info"]),
        ("run", (await asked.told(f"{FLOW}/runs"))[0]["info"]),
    ):
        assert info.keys() == theirs[kind]["info"].keys()


@pytest.mark.parametrize(
    "path",
    ["/apps/{id}?fields=odd", "/flows?limit=x", "/flows?daterange=odd", "/flows?daterange=20300401-20300101", "/apps/{id}/entities/ODD", "/apps/{id}/entities/YARN_CONTAINER/odd", "/apps/{id}/appattempts/{attempt}/containers"],
)  # fmt: skip
async def test_what_the_recorded_reader_said_is_said_here(asked: Asked, path: str) -> None:
    theirs = RECORDED["answers"][path.format(id="application_1900000000000_0001", attempt="appattempt_1900000000000_0001_000001")]
    status, said = await asked.ask(path.format(id=ETL, attempt=ETL.replace("application", "appattempt") + "_000001"))
    assert [status, said] == theirs


async def test_an_unknown_application_is_refused_as_the_reader_does(asked: Asked) -> None:
    status, theirs = RECORDED["answers"]["/apps/application_1900000000000_0001"]
    assert await asked.refused("/apps/application_1900000000000_0001") == (status, theirs["message"])


async def test_flows_are_told_by_day_and_user_with_their_runs(asked: Asked) -> None:
    ids = [one["id"].split("/", 2)[2] for one in await asked.told("/flows")]
    assert ids == ["ann@ns/etl", "ann@ns/web", "ann@ns/etl"]
    (first, *_) = await asked.told("/flows?daterange=20300318-")
    assert [one["info"]["SYSTEM_INFO_FLOW_RUN_ID"] for one in first["flowruns"]] == [(T + DAY) * 1000]
    assert len(await asked.told("/flows?daterange=20300316")) == 0
    assert len(await asked.told("/flows?daterange=-20300317")) == 2
    page = await asked.told("/flows?limit=2")
    rest = await asked.told(f"/flows?fromid={quote(page[-1]['info']['FROM_ID'], safe='')}")
    assert [one["id"] for one in rest] == [page[-1]["id"], (await asked.told("/flows"))[2]["id"]]


async def test_runs_of_a_flow_have_sums_of_what_they_used(asked: Asked) -> None:
    runs = await asked.told(f"{FLOW}/runs")
    assert [one["createdtime"] for one in runs] == [(T + DAY) * 1000, T * 1000]
    assert all(one["metrics"] == [] for one in runs)
    one = await asked.told(f"{FLOW}/runs/{T * 1000}")
    sums = {each["id"]: list(each["values"].values()) for each in one["metrics"] if each["id"].startswith("YARN")}
    assert sums == {"YARN_APPLICATION_CPU": [90], "YARN_APPLICATION_MEMORY": [30 * 1024]}
    assert await asked.refused(f"{FLOW}/runs/5") == (
        404,
        "java.lang.Exception: Flow run {flow name: ns/etl, run id: 5 } is not found",
    )
    assert [each["id"] for each in (await asked.told(f"{FLOW}/runs/{T * 1000}?metricstoretrieve=PO,CPU"))["metrics"]] == [
        "PODS",
        "CPU_MILLICORES",
    ]
    assert (await asked.refused(f"{FLOW}/runs?fields=INFO"))[0] == 400
    assert len(await asked.told(f"{FLOW}/runs?createdtimeend={T * 1000}")) == 1
    assert await asked.told("/users/bob/flows/ns%2Fetl/runs") == []


async def test_an_application_is_the_last_of_its_runs_or_the_one_that_is_named_with_what_was_said_in_it(asked: Asked) -> None:
    last = await asked.told(f"/apps/{ETL}?fields=ALL")
    assert last["createdtime"] == (T + DAY - 10) * 1000
    assert [one["id"] for one in last["events"]] == [
        "YARN_APPLICATION_FINISHED",
        "YARN_APPLICATION_LAUNCHED",
        "YARN_APPLICATION_CREATED",
    ]
    first = await asked.told(f"/apps/{ETL}?fields=EVENTS,METRICS&metricslimit=9&flowrunid={T * 1000}")
    assert [one["id"] for one in first["events"]][:2] == ["YARN_APPLICATION_FINISHED", "Preempted"]
    assert first["events"][1]["info"]["note"] == "for queue root.web"
    assert len(first["events"]) == 4, "what was said before its first pod was made is of no run of its"
    pods = next(one for one in first["metrics"] if one["id"] == "PODS")
    assert (pods["type"], list(pods["values"].values())) == ("TIME_SERIES", [0, 1, 2])
    assert list(first["info"]) == ["UID", "FROM_ID"]
    assert (await asked.refused(f"/apps/{ETL}?userid=bob"))[0] == 404


async def test_attempts_are_runs_and_uids_name_what_they_are_told_of(asked: Asked) -> None:
    assert await asked.told(f"/apps/{ETL}/entity-types") == ["YARN_APPLICATION", "YARN_APPLICATION_ATTEMPT"]
    newest, _ = await asked.told(f"/apps/{ETL}/entities/YARN_APPLICATION_ATTEMPT")
    by_uid = lambda kind, one: f"/{kind}-uid/{quote(one['info']['UID'], safe='')}"  # noqa: E731
    assert await asked.told(by_uid("entity", newest)) == newest
    assert await asked.told(f"/apps/{ETL}/appattempts/{newest['id']}") == newest
    flow = (await asked.told("/flows"))[0]
    runs = await asked.told(f"{by_uid('flow', flow)}/runs")
    assert runs == await asked.told(f"{FLOW}/runs")
    assert (await asked.told(by_uid("run", runs[1])))["id"] == runs[1]["id"]
    (app,) = await asked.told(f"{by_uid('run', runs[1])}/apps")
    assert await asked.told(by_uid("app", app)) == app
    assert app["createdtime"] == (T - 10) * 1000
    assert await asked.refused("/flow-uid/odd/runs") == (400, "java.lang.Exception: Incorrect UID odd")


async def test_each_sees_what_was_in_queues_that_they_may_view(asked: Asked) -> None:
    assert len(await asked.told("/flows", "ann")) == 2
    assert await asked.told("/flows", "eve") == []
    assert (await asked.refused(f"/apps/{WEB}", "ann"))[0] == 404
    assert (await asked.told(f"/apps/{WEB}", "lead"))["id"] == WEB
    asked.leader = "treadle-1"
    assert (await asked.refused("/flows"))[0] == 503


async def test_clusters_of_other_names_have_nothing_and_unknown_filters_are_refused(asked: Asked) -> None:
    assert await asked.told("/clusters/treadle/flows") == await asked.told("/flows")
    assert await asked.told("/clusters/other/flows") == []
    status, words = await asked.refused(f"{FLOW}/apps?infofilters=a%20eq%20b")
    assert (status, words.startswith("infofilters: unknown parameter; allowed are limit")) == (400, True)
    assert (await asked.told("/health"))["healthStatus"] == "RUNNING"


def test_what_is_in_a_uid_is_what_was_put_in() -> None:
    parts = ["a!b", "c*d", "", "e*!f"]
    assert parts_of(uid_of(*parts)) == parts
    assert uid_of("a", "b!c*") == "a!b*!c**"
