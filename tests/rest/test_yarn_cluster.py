"""The ResourceManager's web services: fields, types and refusals are those of a recorded ResourceManager, but for what is listed here; the values are those of a core."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from xml.etree import ElementTree as ET

import aiohttp
import pytest

from core.builders import Scenario, limits, replaced
from core.clusters import Cluster
from rest.reviewing import ReviewingApi
from rest.telling import listed
from treadle.core.events import ApplicationSeen, NodeSeen, PodSeen
from treadle.core.model import RACK_LABEL, ApplicationSpec, Settings
from treadle.kube.auth import Access
from treadle.kube.reviews import Reviews
from treadle.kube.transport import Client
from treadle.rest import yarn_cluster
from treadle.rest.asking import Asker
from treadle.rest.serving import Door
from treadle.rest.state import Sources
from treadle.rest.yarn_ids import id_of
from treadle.rest.yarn_shapes import cores, mebibytes, resource
from treadle.web.server import serve

EPOCH = 1_900_000_000.0
BASE = yarn_cluster.BASE
RECORDED = {kind: json.loads((Path(__file__).parent / f"recorded/{kind}.json").read_text()) for kind in ("fair", "capacity")}


def filled(s: Scenario) -> Scenario:
    """Two nodes of four cores: etl has two pods on them and asks for two that are too large, web's waits for its turn."""
    s.nodes(2, cpu=4, memory=4).wait(50.0)
    s.tell(ApplicationSeen(ApplicationSpec("ns/etl", "root.data.etl", lifetime=3600.0, created=EPOCH + 20.0)))
    own = {"application_tags": ("nightly",), "user": "ann", "created": EPOCH + 40.0}
    s.pod("etl-0", "root.data.etl", "etl", role="master", **own).pod("etl-1", "root.data.etl", "etl", **own)
    for bind in s.wait(1.0).plan():
        spec = s.core.state.pods[bind.uid].spec
        s.tell(PodSeen(replaced(spec, node=bind.node, started=EPOCH + 51.0)))
    s.pods(2, "large", "root.data.etl", "etl", cpu=9, **own)
    s.pod("web-0", "root.web", "web", cpu=9, created=EPOCH + 45.0)
    s.wait(9.0).plan()
    s.core.refresh_shares(s.now)
    return s


def fair() -> Scenario:
    s = Scenario(Settings(epoch=EPOCH)).queue("root", submit=listed(), administer=listed("boss"))
    s.queue("root.data", view=listed("ann"), submit=listed("*"), maximum=limits(cpu=6, memory="6Gi"))
    s.queue("root.data.etl", minimum=limits(cpu=1, memory="1Gi"), max_running=5).queue("root.data.lab")
    return filled(s.queue("root.web", view=listed("eve"), submit=listed("*")))


def capacity() -> Scenario:
    s = Cluster(Settings(epoch=EPOCH)).capacity()
    s.share("root.data", "75%", "80%").share("root.data.etl", "60%", user_limit_factor=-1).share("root.data.lab", "40%")
    return filled(s.share("root.web", "25%"))


OVER = [
    ("ns/done", {"phase": "Finished", "user": "ann", "queue": "root.web", "conditions": [{"lastTransitionTime": "2030-03-17T17:47:10Z"}]}, "2030-03-17T17:46:50Z"),
    ("ns/broken", {"phase": "Failed", "user": "bob", "queue": "root.data.lab"}, "2030-03-17T17:46:45Z"),
    ("ns/etl", {"phase": "Running", "queue": "root.data.etl"}, "2030-03-17T17:46:45Z"),
]  # fmt: skip


class Asked:
    """The web services in front of a core."""

    def __init__(self, api: ReviewingApi, scenario: Scenario) -> None:
        self.api, self.scenario, self.url, self.leader = api, scenario, "", ""

    async def ask(self, path: str, who: str = "root", accept: str = "application/json") -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {who}", "Accept": accept}
        async with aiohttp.ClientSession() as session, session.get(self.url + path, headers=headers) as answer:
            assert answer.content_type == "application/json"
            return answer.status, await answer.json()

    async def told(self, path: str, who: str = "root") -> Any:
        status, said = await self.ask(BASE + path, who)
        assert status == 200, said
        return said

    async def apps(self, query: str = "", who: str = "root") -> list[str]:
        found = (await self.told(f"/apps{query}", who))["apps"]
        return [one["name"] for one in found.get("app", [])]


async def asked_of(scenario: Scenario) -> AsyncIterator[Asked]:
    api = ReviewingApi()
    await api.start()
    for name in ("root", "ann", "eve", "boss", "seer", "nobody"):
        api.tokens[name] = {"username": name}
    api.rights.add(("root", "view", ""))
    api.core_rights.add(("seer", "list", "nodes", ""))
    try:
        async with Client(Access(api.url)) as client:
            one = Asked(api, scenario)
            sources = Sources(lambda: scenario.core.view, lambda: one.leader, lambda _: None)
            about = yarn_cluster.About(1_900_000_000_000, "1.2", lambda: EPOCH + 60.0, lambda: OVER)
            routes = yarn_cluster.routes(Door(Asker(Reviews(client)), lambda: ""), sources, about)
            async with serve("127.0.0.1", 0, routes) as one.url:
                yield one
    finally:
        await api.stop()


@pytest.fixture(params=["fair", "capacity"])
async def both(request: pytest.FixtureRequest) -> AsyncIterator[tuple[str, Asked]]:
    async for one in asked_of(fair() if request.param == "fair" else capacity()):
        yield request.param, one


@pytest.fixture
async def asked() -> AsyncIterator[Asked]:
    async for one in asked_of(fair()):
        yield one


# ---- fields

LACKING = {
    "app": {"trackingUrl", "amRPCAddress"},
    "node": {"resourceUtilization"},
    "metrics": set(),
    "info": set(),
    "fair": set(),
    "capacity": {
        "queueCapacityVectorInfo", "queueAcls", "autoCreateChildQueueEnabled", "leafQueueTemplate", "autoCreationEligibility",
        "autoQueueTemplateProperties", "autoQueueParentTemplateProperties", "autoQueueLeafTemplateProperties",
        "userAMResourceLimit", "userAmLimit", "userResourceLimit", "resources", "health",
    },
}  # fmt: skip
"""Fields of the recorded answers that ours do not have; docs/rest.md says why."""
MORE = {"node": {"nodeLabels"}, "capacity": {"isAutoCreatedLeafQueue", "capacities", "absoluteCapacity", "absoluteMaxCapacity", "absoluteUsedCapacity", "numApplications", "state", "resourcesUsed", "hideReservationQueues", "nodeLabels", "allocatedContainers", "reservedContainers", "pendingContainers", "minEffectiveCapacity", "maxEffectiveCapacity", "resources"}}  # fmt: skip
"""Fields that ours have besides: labels of nodes, which YARN tells where there are any, and of the root what YARN tells of the queues below it."""
COUNTED_BY_NAME = {"resourceSecondsMap", "preemptedResourceSecondsMap"}
"""Maps by the names of resources."""


def kind(value: Any) -> str:
    """The JSON type; whole and other numbers are told apart."""
    return type(value).__name__


def compare(theirs: Any, ours: Any, lacking: set[str], more: set[str], at: str = "") -> None:
    assert kind(ours) == kind(theirs), (at, ours, theirs)
    if isinstance(theirs, dict):
        missing, added = theirs.keys() - ours.keys() - lacking, ours.keys() - theirs.keys() - more
        assert (missing, added) == (set(), set()), at
        for name in theirs.keys() & ours.keys() - COUNTED_BY_NAME:
            compare(theirs[name], ours[name], lacking, more, f"{at}.{name}")
    if isinstance(theirs, list) and theirs and ours:
        compare(theirs[0], ours[0], lacking, more, f"{at}[]")


def queues_of(node: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The queues of a tree by their paths, without those below them."""
    below = (node.get("childQueues") or node.get("queues") or {}).get("queue", [])
    own = {name: value for name, value in node.items() if name not in {"childQueues", "queues"}}
    found = {node.get("queuePath") or node["queueName"]: own}
    for one in below:
        found |= queues_of(one)
    return found


async def test_fields_and_types_are_those_of_a_resource_manager(both: tuple[str, Asked]) -> None:
    discipline, asked = both
    recorded = RECORDED[discipline]

    def theirs(case: str) -> Any:
        return recorded[case]["body"]

    compare(theirs("info"), await asked.told("/info"), LACKING["info"], set())
    assert await asked.told("") == await asked.told("/info")
    compare(theirs("metrics"), await asked.told("/metrics"), LACKING["metrics"], set())
    nodes = await asked.told("/nodes")
    compare(theirs("nodes"), nodes, LACKING["node"], MORE["node"])
    compare(theirs("node"), await asked.told("/nodes/node-0:10250"), LACKING["node"], MORE["node"])
    for case, name in (("app-running", "ns/etl"), ("app-waiting", "ns/web"), ("app-done", "ns/done")):
        ours = await asked.told(f"/apps/{id_of(name)}")
        compare(theirs(case), ours, LACKING["app"] | {"resourceInfo", "resourceRequests"}, {"resourceInfo", "resourceRequests"})
    compare(theirs("app-running"), await asked.told(f"/apps/{id_of('ns/etl')}"), LACKING["app"], set())
    compare(theirs("app-state"), await asked.told(f"/apps/{id_of('ns/etl')}/state"), set(), set())
    statistics = theirs("statistics")["appStatInfo"]["statItem"]
    ours = (await asked.told("/appstatistics"))["appStatInfo"]["statItem"]
    assert {one["state"] for one in ours} == {one["state"] for one in statistics}
    compare(statistics, ours, set(), set())


async def test_the_tree_has_the_fields_of_a_resource_manager_queue_by_queue(both: tuple[str, Asked]) -> None:
    discipline, asked = both
    theirs = RECORDED[discipline]["scheduler"]["body"]["scheduler"]["schedulerInfo"]
    ours = (await asked.told("/scheduler"))["scheduler"]["schedulerInfo"]
    assert ours["type"] == theirs["type"]
    theirs, ours = (queues_of(one.get("rootQueue", one)) for one in (theirs, ours))
    assert set(theirs) == set(ours)
    for path, one in theirs.items():
        more = MORE["capacity"] if discipline == "capacity" and path == "root" else set()
        compare(one, ours[path], LACKING[discipline], more, path)


async def test_each_deviation_is_one(both: tuple[str, Asked]) -> None:
    discipline, asked = both
    theirs, ours = json.dumps(RECORDED[discipline]), ""
    for path in ("/scheduler", "/apps", "/nodes", "/metrics", "/info"):
        ours += json.dumps(await asked.told(path))
    of_all = LACKING["app"] | LACKING["node"] | LACKING[discipline]
    assert {name for name in of_all if f'"{name}"' not in theirs} == set()
    assert {name for name in of_all - {"resources"} if f'"{name}"' in ours} - {"userAmLimit"} == set()


REFUSED = sorted(name for name in RECORDED["fair"] if name.startswith("error-"))


@pytest.mark.parametrize("case", REFUSED)
async def test_what_is_refused_is_refused_in_the_same_words(asked: Asked, case: str) -> None:
    one = RECORDED["fair"][case]
    assert await asked.ask(one["request"]) == (one["status"], one["body"])


async def test_an_unknown_queue_is_nobodys_under_fair_and_refused_under_capacity(both: tuple[str, Asked]) -> None:
    discipline, asked = both
    one = RECORDED[discipline]["apps-queue-unknown"]
    assert await asked.ask(one["request"]) == (one["status"], one["body"])


def test_the_recorded_answers_are_all_there() -> None:
    assert len(REFUSED) >= 20
    assert all(urlsplit(one["request"]).path.startswith(BASE) for one in RECORDED["capacity"].values())


# ---- values


async def test_an_application_says_what_it_has_and_asks_for(asked: Asked) -> None:
    one = (await asked.told(f"/apps/{id_of('ns/etl')}"))["app"]
    assert (one["name"], one["user"], one["queue"], one["state"], one["finalStatus"]) == ("ns/etl", "ann", "root.data.etl", "RUNNING", "UNDEFINED")  # fmt: skip
    assert (one["allocatedMB"], one["allocatedVCores"], one["runningContainers"]) == (2048, 2, 2)
    assert (one["startedTime"], one["launchTime"], one["elapsedTime"]) == (1_900_000_020_000, 1_900_000_051_000, 40_000)
    assert (one["applicationTags"], one["masterNodeId"].endswith(":10250"), one["clusterUsagePercentage"]) == (
        "nightly",
        True,
        25.0,
    )
    (request,) = one["resourceRequests"]
    assert (request["numContainers"], request["capability"]["memory"], request["capability"]["vCores"]) == (2, 1024, 9)
    assert one["timeouts"]["timeout"] == [
        {"type": "LIFETIME", "expiryTime": "2030-03-17T18:47:00.000+0000", "remainingTimeInSeconds": 3560}
    ]
    waits = (await asked.told(f"/apps/{id_of('ns/web')}"))["app"]
    assert (waits["state"], waits["trackingUI"], "Insufficient cpu" in waits["diagnostics"]) == ("ACCEPTED", "UNASSIGNED", True)


async def test_applications_that_are_over_are_told_by_their_objects(asked: Asked) -> None:
    done = (await asked.told(f"/apps/{id_of('ns/done')}"))["app"]
    assert (done["state"], done["finalStatus"], done["allocatedMB"], done["progress"]) == ("FINISHED", "SUCCEEDED", -1, 100.0)
    assert (done["startedTime"], done["finishedTime"], done["elapsedTime"]) == (1_900_000_010_000, 1_900_000_030_000, 20_000)
    assert await asked.told(f"/apps/{id_of('ns/broken')}/state") == {"state": "FAILED"}
    assert await asked.told(f"/apps/{id_of('ns/etl')}/state") == {"state": "RUNNING"}, "its pods know better than its object"


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", ["ns/web", "ns/etl", "ns/done", "ns/broken"]),
        ("?limit=2", ["ns/web", "ns/etl"]),
        ("?states=RUNNING,finished", ["ns/etl", "ns/done"]),
        ("?states=running&states=failed", ["ns/etl", "ns/broken"]),
        ("?state=accepted", ["ns/web"]),
        ("?finalStatus=SUCCEEDED", ["ns/done"]),
        ("?user=ann", ["ns/etl", "ns/done"]),
        ("?user=ANN", []),
        ("?queue=root.data", ["ns/etl", "ns/broken"]),
        ("?queue=etl", []),
        ("?name=ns/etl", ["ns/etl"]),
        ("?startedTimeBegin=1900000020000&startedTimeEnd=1900000030000", ["ns/etl"]),
        ("?finishedTimeBegin=1", ["ns/done"]),
        ("?applicationTypes=kubernetes,x&applicationTags=Nightly", ["ns/etl"]),
        ("?applicationTypes=SPARK", []),
    ],
)
async def test_applications_are_chosen_as_a_resource_manager_chooses_them(asked: Asked, query: str, names: list[str]) -> None:
    assert await asked.apps(query) == names


async def test_under_capacity_the_last_part_of_a_path_names_a_queue_too() -> None:
    async for asked in asked_of(capacity()):
        assert await asked.apps("?queue=etl") == ["ns/etl"]
        assert await asked.apps("?queue=data") == ["ns/etl", "ns/broken"]


async def test_fields_can_be_left_out(asked: Asked) -> None:
    one = (await asked.told(f"/apps/{id_of('ns/etl')}?deSelects=timeouts,resourcerequests"))["app"]
    assert not {"timeouts", "resourceRequests"} & set(one)


async def test_metrics_nodes_and_statistics_count_what_is_there(asked: Asked) -> None:
    said = (await asked.told("/metrics"))["clusterMetrics"]
    assert (said["appsSubmitted"], said["appsCompleted"], said["appsPending"], said["appsRunning"], said["appsFailed"]) == (4, 1, 1, 1, 1)  # fmt: skip
    assert (said["totalMB"], said["availableMB"], said["allocatedMB"], said["pendingMB"]) == (8192, 6144, 2048, 3072)
    assert (said["totalVirtualCores"], said["availableVirtualCores"], said["allocatedVirtualCores"]) == (8, 6, 2)
    assert (said["containersAllocated"], said["containersPending"], said["totalNodes"], said["activeNodes"]) == (2, 3, 2, 2)
    node = asked.scenario.core.state.nodes.specs[0]
    assert node is not None
    asked.scenario.tell(NodeSeen(replaced(node, unschedulable=True, labels={RACK_LABEL: "r1"})))
    said = (await asked.told("/metrics"))["clusterMetrics"]
    assert (said["activeNodes"], said["decommissioningNodes"], said["availableMB"]) == (1, 1, 4096)
    nodes = (await asked.told("/nodes?states=decommissioning"))["nodes"]["node"]
    assert [(one["id"], one["state"], one["usedMemoryMB"], one["numContainers"]) for one in nodes] == [("node-0:10250", "DECOMMISSIONING", 2048, 2)]  # fmt: skip
    assert [one["rack"] for one in (await asked.told("/nodes"))["nodes"]["node"]] == ["/r1", "/default-rack"]
    assert await asked.told("/nodes?states=lost") == {"nodes": {}}
    items = (await asked.told("/appstatistics?states=running,failed&applicationTypes=KUBERNETES"))["appStatInfo"]["statItem"]
    assert items == [
        {"state": "RUNNING", "type": "kubernetes", "count": 1},
        {"state": "FAILED", "type": "kubernetes", "count": 1},
    ]


async def test_queues_say_what_they_have_under_either_discipline() -> None:
    async for asked in asked_of(fair()):
        root = (await asked.told("/scheduler"))["scheduler"]["schedulerInfo"]["rootQueue"]
        etl = queues_of(root)["root.data.etl"]
        assert (etl["maxApps"], etl["minResources"]["memory"], etl["usedResources"]["vCores"]) == (5, 1024, 2)
        assert (etl["numActiveApps"], etl["numPendingApps"], etl["pendingContainers"], etl["amUsedResources"]["memory"]) == (1, 0, 2, 1024)  # fmt: skip
        assert queues_of(root)["root.data"]["maxResources"]["memory"] == 6144
    async for asked in asked_of(capacity()):
        found = queues_of((await asked.told("/scheduler"))["scheduler"]["schedulerInfo"])
        etl, theirs = found["root.data.etl"], RECORDED["capacity"]["scheduler"]["body"]["scheduler"]["schedulerInfo"]
        recorded = queues_of(theirs)["root.data.etl"]
        for field in ("absoluteCapacity", "absoluteMaxCapacity", "maxCapacity"):
            assert etl[field] == pytest.approx(recorded[field], abs=1e-3), field
        assert (etl["numApplications"], etl["users"]["user"][0]["username"], etl["mode"]) == (1, "ann", "percentage")
        (user,), (waits,) = etl["users"]["user"], found["root.web"]["users"]["user"]
        assert (user["resourcesUsed"]["vCores"], user["numActiveApplications"], user["numPendingApplications"]) == (2, 1, 0)
        assert (waits["numActiveApplications"], waits["numPendingApplications"], waits["isActive"]) == (0, 1, True)


# ---- who sees what


async def test_who_may_view_a_queue_sees_it_and_the_names_on_the_way(asked: Asked) -> None:
    root = (await asked.told("/scheduler", "ann"))["scheduler"]["schedulerInfo"]["rootQueue"]
    assert set(root) == {"queueName", "childQueues"}
    assert list(queues_of(root)) == ["root", "root.data", "root.data.etl", "root.data.lab"]
    assert await asked.apps("", "ann") == ["ns/etl", "ns/broken"]
    assert await asked.apps("", "eve") == ["ns/web", "ns/done"]
    assert await asked.apps("", "nobody") == []
    items = (await asked.told("/appstatistics", "eve"))["appStatInfo"]["statItem"]
    assert {one["state"]: one["count"] for one in items if one["count"]} == {"ACCEPTED": 1, "FINISHED": 1}


async def test_an_application_that_may_not_be_seen_is_not_there(asked: Asked) -> None:
    named = id_of("ns/web")
    hidden, unknown = await asked.ask(f"{BASE}/apps/{named}", "ann"), await asked.ask(f"{BASE}/apps/application_1_0001", "ann")
    assert hidden[0] == unknown[0] == 404
    assert hidden[1]["RemoteException"]["message"].replace(named, "X") == unknown[1]["RemoteException"]["message"].replace("application_1_0001", "X")  # fmt: skip
    asked.api.rights.add(("nobody", "list", "ns"))
    assert (await asked.told(f"/apps/{named}", "nobody"))["app"]["name"] == "ns/web"


async def test_nodes_and_sums_are_for_who_may_see_nodes(asked: Asked) -> None:
    for path in ("/nodes", "/nodes/node-0:10250", "/metrics"):
        status, said = await asked.ask(BASE + path, "ann")
        assert (status, said["RemoteException"]["exception"]) == (403, "ForbiddenException"), path
        assert (await asked.ask(BASE + path, "seer"))[0] == 200
    assert (await asked.ask(f"{BASE}/nodes/node-0:8042"))[0] == 404


async def test_a_copy_that_stands_by_says_so_and_tells_nothing_else(asked: Asked) -> None:
    asked.leader = "treadle-7"
    assert (await asked.told("/info"))["clusterInfo"]["haState"] == "STANDBY"
    for path in ("/metrics", "/scheduler", "/apps", f"/apps/{id_of('ns/etl')}", "/nodes", "/appstatistics"):
        status, said = await asked.ask(BASE + path)
        assert (status, "treadle-7 leads" in said["RemoteException"]["message"]) == (503, True), path


async def xml(asked: Asked, path: str, who: str = "root") -> tuple[int, ET.Element]:
    headers = {"Authorization": f"Bearer {who}", "Accept": "application/xml"}
    async with aiohttp.ClientSession() as session, session.get(asked.url + BASE + path, headers=headers) as answer:
        assert (answer.content_type, answer.headers["Vary"]) == ("application/xml", "Accept")
        return answer.status, ET.fromstring(await answer.text())


async def test_whoever_asks_for_xml_has_the_same_in_xml(asked: Asked) -> None:
    own = id_of("ns/etl")
    for path, root in {
        "": "clusterInfo", "/info": "clusterInfo", "/metrics": "clusterMetrics", "/scheduler": "scheduler", "/apps": "apps",
        f"/apps/{own}": "app", f"/apps/{own}/state": "appstate", "/nodes": "nodes", "/appstatistics": "appStatInfo",
        f"/nodes/{(await asked.told('/nodes'))['nodes']['node'][0]['id']}": "node",
    }.items():  # fmt: skip
        status, found = await xml(asked, path)
        assert (status, found.tag) == (200, root), path
        if path:
            (said,) = (await asked.told(path)).values()
            if isinstance(said, dict):
                assert {child.tag for child in found} >= {key for key, value in said.items() if value not in ([], None)}, path
    _, found = await xml(asked, "/apps")
    assert [one.findtext("name") for one in found] == [one["name"] for one in (await asked.told("/apps"))["apps"]["app"]]


async def test_what_is_refused_is_refused_in_xml_too_and_what_is_neither_is_refused(asked: Asked) -> None:
    status, found = await xml(asked, "/apps/application_1_9999")
    assert (status, found.tag, found.findtext("exception")) == (404, "RemoteException", "NotFoundException")
    assert (await xml(asked, "/apps", "unheard-of"))[0] == 401
    status, said = await asked.ask(f"{BASE}/info", accept="text/html")
    assert (status, said["RemoteException"]["message"]) == (406, "Accept: 'text/html' cannot be answered; what is said here is application/json or application/xml")  # fmt: skip


async def test_parameters_that_nobody_acts_on_are_refused(asked: Asked) -> None:
    status, said = await asked.ask(f"{BASE}/apps?foo=bar")
    assert (status, said["RemoteException"]["message"].startswith("foo: unknown parameter")) == (400, True)


def test_what_is_taken_is_rounded_up_and_what_is_there_down() -> None:
    amounts = {"memory": (3 << 20) + 1, "cpu": 1500, "pods": 7, "nvidia.com/gpu": 2}
    assert (mebibytes(amounts), cores(amounts), mebibytes(amounts, down=True), cores(amounts, down=True)) == (4, 2, 3, 1)
    found = resource(amounts)["resourceInformations"]["resourceInformation"]
    assert [(one["name"], one["value"], one["units"]) for one in found] == [
        ("memory-mb", 4, "Mi"),
        ("vcores", 2, ""),
        ("nvidia.com/gpu", 2, ""),
    ]


def test_ids_are_the_same_everywhere_and_of_one_application_alone() -> None:
    assert id_of("ns/etl") == id_of("ns/etl")
    assert len({id_of(f"ns/{number}") for number in range(10_000)}) == 10_000
    assert all(len(id_of(f"ns/{number}").split("_")[2]) >= 4 for number in range(1000))
