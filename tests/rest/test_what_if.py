"""What would be if, asked by REST: who may ask what, what is told to whom, and what is refused."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import msgspec
import pytest

from core.builders import Scenario, limits
from rest.changes import GuardedApi
from rest.telling import listed
from treadle.api.identity import Source
from treadle.controllers.ledger import Ledger
from treadle.core.events import QueueGone, ReservationSeen
from treadle.core.model import Settings
from treadle.core.model.reservations import PlanSpec
from treadle.forecast.forward import Bounds
from treadle.forecast.what_if import Answer, Question, answer
from treadle.kube.auth import Access
from treadle.kube.reviews import Reviews
from treadle.kube.transport import Client
from treadle.rest import manifest, state, what_if
from treadle.rest.asking import Asker
from treadle.rest.changing import Judging
from treadle.rest.serving import Door
from treadle.rest.what_if import WHAT_IF, Means, Unanswered
from treadle.web.server import serve

Json = dict[str, Any]
QUEUES: dict[str, Json] = {
    "root.data": {"viewAcl": {"users": ["ann"]}, "fair": {"maxResources": {"cpu": "2"}}},
    "root.web": {"viewAcl": {"users": ["eve"]}},
}


def cluster() -> Scenario:
    """A node of six cores: data may have two of them and has them, and has one pod more."""
    s = Scenario().node("n", cpu=6).queue("root", submit=listed("*"))
    s.queue("root.data", view=listed("ann"), submit=listed("*"), maximum=limits(cpu=2))
    s.queue("root.web", view=listed("eve"), submit=listed("*"))
    s.queue("root.plan", plan=PlanSpec(), reserve=listed("*"), minimum=limits(cpu=2, memory="8Gi"))
    s.wait(10.0).pods(3, "d", "root.data", application="data")
    s.confirm(s.plan())
    return s


def a_pod(queue: str = "root.data", cpu: str = "1", **metadata: Any) -> Json:
    return {
        "metadata": {"namespace": "ns", "name": "new", "labels": {"treadle.dev/queue": queue}, **metadata},
        "spec": {
            "schedulerName": "treadle",
            "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}],
        },
    }


class Asking:
    """The REST in front of a core, and the questions that it asked."""

    def __init__(self, api: GuardedApi, scenario: Scenario) -> None:
        self.api, self.scenario, self.url, self.leader = api, scenario, "", ""
        self.questions: list[Question] = []
        self.busy = ""

    async def answers(self, question: Question) -> Answer:
        self.questions.append(question)
        if self.busy:
            raise Unanswered(self.busy, 5)
        s = self.scenario
        return answer(s.core.facts(), Settings(), s.now, question, Bounds(max(question.seconds, 0.001)))

    async def ask(self, who: str, body: Any) -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {who}", "Content-Type": "application/json"}
        async with (
            aiohttp.ClientSession() as session,
            session.post(self.url + WHAT_IF, data=msgspec.json.encode(body), headers=headers) as found,
        ):
            return found.status, msgspec.json.decode(await found.read())

    async def manifest(self, who: str, queue: str) -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {who}"}
        async with (
            aiohttp.ClientSession() as session,
            session.get(self.url + manifest.MANIFEST, params={"queue": queue}, headers=headers) as found,
        ):
            said = msgspec.json.decode(await found.read())
            return found.status, said["detail"] if found.status >= 400 else said

    async def would(self, who: str, **body: Any) -> Any:
        status, said = await self.ask(who, {"seconds": 0, **body})
        assert status == 200, said
        return said

    async def refusal(self, who: str, **body: Any) -> tuple[int, str]:
        status, said = await self.ask(who, body)
        return status, said["detail"]


@pytest.fixture
async def asking() -> AsyncIterator[Asking]:
    api, s = GuardedApi(), cluster()
    await api.start()
    try:
        api.create("namespaces", {"metadata": {"name": "ns"}})
        meta = {"apiVersion": "treadle.dev/v1alpha1"}
        api.create("schedulers", {**meta, "kind": "Scheduler", "metadata": {"name": "treadle"}, "spec": {}})
        for path, spec in QUEUES.items():
            api.create("queues", {**meta, "kind": "Queue", "metadata": {"name": path}, "spec": spec})
        for name in ("ann", "eve"):
            api.tokens[name] = {"username": name}
        async with Client(Access(api.url)) as client:
            one = Asking(api, s)
            sources = state.Sources(lambda: s.core.view, lambda: one.leader, lambda _: None)

            def client_of(token: str) -> Client:
                return Client(Access(api.url, headers=lambda: {"Authorization": f"Bearer {token}"}))

            door = Door(Asker(Reviews(client)), lambda: "")
            routes = [
                *what_if.routes(
                    door,
                    sources,
                    Means(Judging(client_of, "treadle"), one.answers, Source.NAMESPACE, Ledger("treadle", print).reservation_of),
                ),
                *manifest.routes(door, client_of),
            ]
            async with serve("127.0.0.1", 0, routes) as one.url:
                yield one
    finally:
        await api.stop()


async def test_a_pod_would_be_placed_or_wait_for_what_the_scheduler_says(asking: Asking) -> None:
    said = await asking.would("ann", pod=a_pod("root.web"))
    own = {"namespace": "ns", "name": "new", "application": "ns/pod/new", "queue": "root.web"}
    assert said["placed"] == [{**own, "node": "n", "after": 0.0, "asked": True}]
    said = await asking.would("ann", pod=a_pod("root.data"))
    ((waits,), placed) = said["waiting"], said["placed"]
    assert (waits["name"], waits["reason"], "after" in waits, placed) == ("new", "QueueMaximum", False, [])
    assert (said["notInForce"], said["stopped"]) == ([], "")


async def test_several_pods_of_one_kind_are_placed_as_far_as_there_is_room(asking: Asking) -> None:
    said = await asking.would("ann", pod=a_pod("root.web", cpu="1500m"), count=4)
    assert [one["name"] for one in said["placed"]] == ["new-0", "new-1"]
    assert [(one["name"], one["reason"]) for one in said["waiting"]] == [("new-2", "Unschedulable"), ("new-3", "Unschedulable")]


async def test_nothing_is_written_and_the_core_is_not_touched(asking: Asking) -> None:
    before = asking.scenario.core.facts()
    await asking.would("ann", pod=a_pod("root.web"))
    assert asking.api.list("pods", "ns") == []
    assert asking.scenario.core.facts() == before


def edit(path: str, **fair: Any) -> Json:
    return {"metadata": {"name": path}, "spec": {**QUEUES[path], "fair": fair}}


async def test_an_edit_would_place_what_it_lets_in(asking: Asking) -> None:
    said = await asking.would("ann", apply=[edit("root.data", maxResources={"cpu": "3"})])
    assert [(one["name"], one["node"], "asked" in one) for one in said["placed"]] == [("d-2", "n", False)]
    assert asking.api.get("queues", "root.data")["spec"]["fair"]["maxResources"] == {"cpu": "2"}
    assert asking.questions[0].queues == ("root.data",)


async def test_queues_that_would_have_another_share_or_use_more_are_told_before_and_after_to_who_may_see_them(
    asking: Asking,
) -> None:
    found = {
        one["queue"]: one for one in (await asking.would("ann", apply=[edit("root.data", maxResources={"cpu": "3"})]))["queues"]
    }
    data = found["root.data"]
    assert list(found) == ["root", "root.data"]
    assert (data["before"]["used"]["cpu"], data["after"]["used"]["cpu"]) == ("2", "3")
    assert (data["before"]["share"]["cpu"], data["after"]["share"]["cpu"]) == ("2", "3")
    seen = (await asking.would("eve", apply=[edit("root.data", maxResources={"cpu": "3"})]))["queues"]
    assert [one["queue"] for one in seen] == ["root"]
    same = {"metadata": {"name": "root.data"}, "spec": QUEUES["root.data"]}
    assert (await asking.would("ann", apply=[same]))["queues"] == []
    assert (await asking.would("ann", pod=a_pod("root.web")))["queues"] == []


async def test_a_queue_that_would_be_deleted_is_gone_for_the_core_that_is_asked(asking: Asking) -> None:
    said = await asking.would("ann", delete=["root.web"])
    assert asking.questions[0].edits == (QueueGone("root.web"),)
    assert said["notInForce"] == []
    assert sorted(one["metadata"]["name"] for one in asking.api.list("queues")) == ["root.data", "root.web"]


async def test_an_edit_that_changes_nothing_makes_no_difference(asking: Asking) -> None:
    said = await asking.would("ann", apply=[{"metadata": {"name": "root.data"}, "spec": QUEUES["root.data"]}])
    assert (said["placed"], said["waiting"], said["preempted"]) == ([], [], [])


async def test_who_may_not_view_a_queue_is_told_how_many_of_its_pods_it_makes_a_difference_for(asking: Asking) -> None:
    said = await asking.would("eve", apply=[edit("root.data", maxResources={"cpu": "3"})])
    assert (said["placed"], said["others"]) == ([], {"placed": 1, "waiting": 0, "preempted": 0})


async def test_the_api_server_says_who_may_ask(asking: Asking) -> None:
    asking.api.refusals["POST", "pods", True] = (403, "ann may not make pods")
    assert await asking.refusal("ann", pod=a_pod()) == (403, "pod: ann may not make pods")
    asking.api.refusals["POST", "pods", True] = (401, "Unauthorized")
    status, words = await asking.refusal("ann", pod=a_pod())
    assert (status, "it has to be for the API server itself" in words) == (403, True)
    asking.api.refusals["POST", "pods", True] = (422, "spec.containers: Required value")
    assert await asking.refusal("ann", pod=a_pod()) == (400, "pod: spec.containers: Required value")
    asking.api.refusals["PUT", "root.data", True] = (403, "ann may not write root.data")
    status, words = await asking.refusal("ann", apply=[edit("root.data", weight=2)])
    assert (status, "ann may not write root.data" in words) == (403, True)
    assert asking.questions == []


async def test_what_would_not_be_in_force_is_refused_as_the_change_itself(asking: Asking) -> None:
    status, words = await asking.refusal(
        "ann", delete=["root.web"], apply=[edit("root.data", schedulingPolicy="drf")], seconds=-1
    )
    assert (status, "seconds" in words) == (400, True)
    named = {"metadata": {"name": "root.none.x"}, "spec": {}}
    assert (await asking.refusal("ann", apply=[named]))[0] == 400


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({}, "the body is to have either a pod, a reservation, or queues to apply or delete"),
        (
            {"pod": a_pod(), "delete": ["root.web"]},
            "the body is to have either a pod, a reservation, or queues to apply or delete",
        ),
        ({"delete": ["root.web"], "count": 2}, "count: 2 is of pods, and the body has none"),
        ({"delete": ["root.none"]}, "delete[0]: there is no queue 'root.none'"),
        ({"pod": a_pod(namespace="")}, "pod.metadata.namespace: is missing, and ann is no service account"),
        ({"pod": a_pod(namespace="n_s")}, "namespace: 'n_s' is not the name of a namespace"),
        ({"pod": {**a_pod(), "metadata": 3}}, "pod.metadata: is no object, or its namespace no text"),
        ({"pod": a_pod(), "count": 501}, "the body is not what is read here: Expected `int` <= 500 - at `$.count`"),
        (
            {"pod": {**a_pod(), "spec": {**a_pod()["spec"], "schedulerName": "other"}}},
            "pod.spec.schedulerName: 'other' is not of this scheduler; allowed are treadle",
        ),
    ],
)
async def test_what_makes_no_sense_is_refused_by_its_name(asking: Asking, body: Json, words: str) -> None:
    assert await asking.refusal("ann", **body) == (400, words)


async def test_who_does_not_lead_or_is_busy_says_so(asking: Asking) -> None:
    asking.busy = "another question is being answered"
    assert await asking.refusal("ann", pod=a_pod()) == (503, "another question is being answered")
    asking.leader, asking.busy = "treadle-7", ""
    status, words = await asking.refusal("ann", pod=a_pod())
    assert (status, "treadle-7 leads" in words) == (503, True)


async def test_a_queue_is_told_as_it_is_written_to_whom_the_api_server_lets_read_it(asking: Asking) -> None:
    asking.api.tokens_seen.clear()
    status, said = await asking.manifest("ann", "root.data")
    assert (status, said["kind"], said["metadata"], said["spec"]) == (200, "Queue", {"name": "root.data"}, QUEUES["root.data"])
    assert asking.api.tokens_seen == {"Bearer ann"}
    assert (await asking.would("ann", apply=[said]))["queues"] == []
    asking.api.refusals["GET", "root.data", False] = (403, "ann may not get queues")
    assert await asking.manifest("ann", "root.data") == (403, "ann may not get queues")
    asking.api.refusals["GET", "root.data", False] = (401, "Unauthorized")
    assert (await asking.manifest("ann", "root.data"))[0] == 403
    assert (await asking.manifest("nobody", "root.web"))[0] == 401


async def test_no_other_path_is_read_with_a_token_than_that_of_a_queue(asking: Asking) -> None:
    missing = "queue: there is no Queue root.none; one that was made by a rule has no object"
    assert await asking.manifest("ann", "root.none") == (404, missing)
    for path in ("", "../nodes/n", "root.data/status", "root.data?x"):
        words = f"queue: {path!r} is not the path of a queue, such as root.etl"
        assert await asking.manifest("ann", path) == (400, words)


def a_reservation(cpu: str = "1", hours: int = 4, **spec: Any) -> Json:
    """Two pods at once for an hour, within some hours."""
    request = {"demand": {"cpu": cpu}, "count": 2, "concurrency": 2, "duration": "1h"}
    said = {"queue": "root.plan", "arrival": "1970-01-01T01:00:00Z", "deadline": f"1970-01-01T{1 + hours:02}:00:00Z"}
    return {"metadata": {"namespace": "ns", "name": "nightly"}, "spec": {**said, "expression": {"requests": [request]}, **spec}}


async def test_a_reservation_would_be_promised_something_or_be_refused_with_what_would_do_instead(asking: Asking) -> None:
    said = await asking.would("ann", reservation=a_reservation())
    assert said["decided"] == {
        "accepted": True, "queue": "root.plan", "alternatives": [], "reason": "", "message": "",
        "allocations": [{"start": "1970-01-01T01:00:00Z", "end": "1970-01-01T02:00:00Z", "demand": {"cpu": "2"}}],
    }  # fmt: skip
    assert asking.api.list("reservations", "ns") == []
    refused = (await asking.would("ann", reservation=a_reservation(cpu="2")))["decided"]
    assert (refused["accepted"], refused["allocations"]) == (False, [])
    assert (refused["reason"], "root.plan" in refused["message"]) == ("GangTooLarge", True)
    assert refused["alternatives"] == [{"concurrency": 1}]
    assert "decided" not in await asking.would("ann", pod=a_pod("root.web"))


async def test_a_reservation_that_may_not_be_made_or_makes_no_sense_is_refused_in_the_words_of_who_says_so(
    asking: Asking,
) -> None:
    asking.api.refusals["POST", "reservations", True] = (403, "ann may not make reservations")
    assert await asking.refusal("ann", reservation=a_reservation()) == (403, "reservation: ann may not make reservations")
    del asking.api.refusals["POST", "reservations", True]
    status, words = await asking.refusal("ann", reservation=a_reservation(recurrence="often"))
    assert (status, "recurrence" in words) == (400, True)
    assert asking.questions == []


def promised(asking: Asking, **spec: Any) -> None:
    """A reservation that is there, and was promised what it asks for."""
    body = {"apiVersion": "treadle.dev/v1alpha1", "kind": "Reservation", **a_reservation(**spec)}
    stored = asking.api.create("reservations", body, "ns")
    s = asking.scenario
    s.tell(ReservationSeen(Ledger("treadle", print).reservation_of(stored)))
    s.wait(1).plan()
    found = s.core.view.reservation("ns/nightly")
    assert found is not None
    assert found.decided is not None
    assert found.decided.accepted


async def test_an_edit_of_a_reservation_that_is_there_is_decided_as_its_next_version(asking: Asking) -> None:
    promised(asking)
    writes = len(asking.api.writes)
    later = (await asking.would("ann", reservation=a_reservation(arrival="1970-01-01T02:00:00Z")))["decided"]
    assert later["accepted"], "its own room is free for it"
    assert later["allocations"] == [{"start": "1970-01-01T02:00:00Z", "end": "1970-01-01T03:00:00Z", "demand": {"cpu": "2"}}]
    assert "kept" not in later
    refused = (await asking.would("ann", reservation=a_reservation(cpu="2")))["decided"]
    assert (refused["accepted"], refused["reason"], refused["allocations"]) == (False, "GangTooLarge", [])
    assert refused["kept"] == [{"start": "1970-01-01T01:00:00Z", "end": "1970-01-01T02:00:00Z", "demand": {"cpu": "2"}}]
    assert asking.api.writes[writes:] == [("PUT", "namespaces", "nightly", True)] * 2
    assert asking.api.get("reservations", "nightly", "ns")["spec"]["arrival"] == "1970-01-01T01:00:00Z"
    same = (await asking.would("ann", reservation=a_reservation()))["decided"]
    assert (same["accepted"], same["allocations"]) == (True, refused["kept"]), "what says the same stays as it is"


async def test_an_edit_is_asked_of_who_may_make_it_and_who_may_not_get_it_is_told_of_a_new_one(asking: Asking) -> None:
    promised(asking)
    asking.api.refusals["PUT", "nightly", True] = (403, "ann may not update reservations")
    assert await asking.refusal("ann", reservation=a_reservation()) == (403, "reservation: ann may not update reservations")
    asking.api.refusals["GET", "nightly", False] = (403, "ann may not get reservations")
    refused = (await asking.would("ann", reservation=a_reservation(cpu="2")))["decided"]
    assert (refused["reason"], "kept" in refused) == ("GangTooLarge", False)
    other = a_reservation()
    other["metadata"]["name"] = "../../namespaces/ns"
    assert (await asking.refusal("ann", reservation=other))[0] == 400
