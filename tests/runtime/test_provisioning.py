"""ProvisioningRequests follow what gangs lack: made, followed, replaced and deleted, whoever made them and whatever was missed."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from treadle.core.events import Event, GangRequested, ProvisionerKnown
from treadle.core.model.gangs import Provisioning
from treadle.core.views.provisioning import Alike, Lack
from treadle.kube import wire
from treadle.kube.transport import Response
from treadle.runtime import provisioning as module
from treadle.runtime.provisioning import Provisioner

Json = dict[str, Any]
VERSION = "autoscaling.x-k8s.io/v1"
CHECK = Provisioning("check-capacity.autoscaling.x-k8s.io")
LACK = Lack("ns/train", "w", "", CHECK, (Alike(3, "w-0", "u-0", (("cpu", 1000),)),), (), short=True, since=0.0)


class Server:
    """An API server with pods and ProvisioningRequests, as far as the provisioner asks for them."""

    def __init__(self) -> None:
        self.objects: dict[str, Json] = {
            "/api/v1/namespaces/ns/pods/w-0": self.pod("w-0", "u-0"),
            "/api/v1/namespaces/ns/pods/m-0": self.pod("m-0", "u-1"),
        }
        self.refuses: dict[str, int] = {}
        self.made = 0

    @staticmethod
    def pod(name: str, uid: str) -> Json:
        return {"metadata": {"name": name, "namespace": "ns", "uid": uid}, "spec": {"containers": []}}

    async def request(self, method: str, path: str, body: Any = None, **_: Any) -> Response:
        kind = path.rpartition("/")[2] if method == "POST" else path.rpartition("/")[0].rpartition("/")[2]
        if (status := self.refuses.get(f"{method} {kind}")) is not None:
            return self.answer(status, {"message": "no", "reason": "No"})
        match method:
            case "POST":
                key = f"{path}/{body['metadata']['name']}"
                if key in self.objects:
                    return self.answer(409, {"message": "it is there"})
                self.made += 1
                self.objects[key] = {**body, "metadata": {**body["metadata"], "uid": f"made-{self.made}"}}
                return self.answer(201, self.objects[key])
            case "GET":
                found = self.objects.get(path)
                return self.answer(404, {}) if found is None else self.answer(200, found)
            case "DELETE":
                found = self.objects.get(path)
                if found is None:
                    return self.answer(404, {})
                assert body["preconditions"]["uid"] == found["metadata"]["uid"]
                del self.objects[path]
                return self.answer(200, {})
        raise NotImplementedError(method)

    @staticmethod
    def answer(status: int, body: Json) -> Response:
        return Response(status, msgspec.json.encode(body))

    def of(self, kind: str) -> list[Json]:
        return [one for path, one in self.objects.items() if path.rpartition("/")[0].endswith(f"/{kind}")]


class View:
    def __init__(self) -> None:
        self.now = 100.0
        self.lacks: list[Lack] = []
        self.asked: set[tuple[str, str]] = set()

    def gangs_lacking(self, asked_for: Any = ()) -> list[Lack]:
        self.asked = set(asked_for)
        return self.lacks


class At:
    """A provisioner whose watch and time a test plays."""

    def __init__(self) -> None:
        self.server, self.view = Server(), View()
        self.events: list[Event] = []
        self.provisioner = self.anew()

    def anew(self) -> Provisioner:
        made = Provisioner(self.server, "treadle", lambda: self.view, self.events.append)  # type: ignore[arg-type, return-value]
        made._kind.version = VERSION
        self.provisioner = made
        return made

    async def look(self, *lacks: Lack) -> None:
        self.view.lacks = list(lacks)
        await self.provisioner.look()

    def requests(self) -> list[Json]:
        return self.server.of("provisioningrequests")

    def templates(self) -> list[Json]:
        return self.server.of("podtemplates")

    def say(self, *conditions: tuple[str, str], ago: float = 0.0) -> None:
        """The autoscaler says something of the only request, and the watch tells it."""
        (request,) = self.requests()
        when = (datetime.now(UTC) - timedelta(seconds=ago)).isoformat()
        request["status"] = {
            "conditions": [
                {"type": kind, "status": status, "reason": "R", "message": "words", "lastTransitionTime": when}
                for kind, status in conditions
            ]
        }
        self.watched(request)

    def watched(self, body: Json, change: Any = "MODIFIED") -> None:
        self.provisioner._take(change, msgspec.json.decode(msgspec.json.encode(body), type=wire.ProvisioningRequest))

    def told(self) -> list[tuple[str, str]]:
        found = [(one.phase, one.words) for one in self.events if isinstance(one, GangRequested)]
        self.events.clear()
        return found


@pytest.fixture
def at() -> At:
    return At()


async def test_a_request_is_made_with_its_templates_and_told(at: At) -> None:
    await at.look(replace(LACK, pods=(*LACK.pods, Alike(1, "m-0", "u-1", (("cpu", 2000),)))))
    (request,) = at.requests()
    names = [one["podTemplateRef"]["name"] for one in request["spec"]["podSets"]]
    assert sorted(one["metadata"]["name"] for one in at.templates()) == sorted(names)
    assert {one["metadata"]["ownerReferences"][0]["uid"] for one in at.templates()} == {request["metadata"]["uid"]}
    ((phase, words),) = at.told()
    assert phase == "pending"
    assert request["metadata"]["name"] in words


async def test_nothing_is_made_twice_or_told_twice(at: At) -> None:
    for _ in range(3):
        await at.look(LACK)
    assert len(at.requests()) == 1
    assert len(at.told()) == 1


async def test_a_gang_that_has_just_come_to_wait_is_left_alone_for_a_while(at: At) -> None:
    await at.look(replace(LACK, since=99.0))
    assert at.requests() == []


async def test_a_gang_that_something_else_holds_is_not_asked_for(at: At) -> None:
    await at.look(replace(LACK, short=False))
    assert at.requests() == []


async def test_what_is_provisioned_is_told_and_kept_until_the_gang_has_started(at: At) -> None:
    await at.look(LACK)
    at.say(("Accepted", "True"), ("Provisioned", "True"))
    await at.look(LACK)
    assert [phase for phase, _ in at.told()] == ["pending", "provisioned"]
    name = at.requests()[0]["metadata"]["name"]
    assert at.provisioner.asks
    assert dict(at.provisioner.notes("ns/train", "w")) == {
        "autoscaling.x-k8s.io/consume-provisioning-request": name,
        "autoscaling.x-k8s.io/provisioning-class-name": CHECK.class_name,
    }
    assert at.provisioner.notes("ns/other", "w") == ()
    await at.look()
    assert at.requests() == []
    assert at.told() == [("", "")]
    assert not at.provisioner.asks


@pytest.mark.parametrize("condition", ["Failed", "CapacityRevoked", "BookingExpired"])
async def test_what_was_in_vain_is_told_and_asked_for_again_after_a_while(at: At, condition: str) -> None:
    await at.look(LACK)
    first = at.requests()[0]["metadata"]["name"]
    at.say((condition, "True"), ago=10)
    await at.look(LACK)
    assert [one["metadata"]["name"] for one in at.requests()] == [first]
    assert [phase for phase, _ in at.told()] == ["pending", "failed"]
    at.say((condition, "True"), ago=61)
    await at.look(LACK)
    (second,) = at.requests()
    assert second["metadata"]["annotations"]["treadle.dev/attempt"] == "2"
    assert [phase for phase, _ in at.told()] == ["pending"]
    at.say((condition, "True"), ago=61)
    await at.look(LACK)
    assert at.requests() == [second], "the second pause is twice as long"


async def test_what_was_in_vain_is_not_asked_for_again_while_the_gang_does_not_wait_for_nodes(at: At) -> None:
    await at.look(LACK)
    at.say(("Failed", "True"), ago=1000)
    await at.look(replace(LACK, short=False))
    assert at.requests()[0]["metadata"]["annotations"]["treadle.dev/attempt"] == "1"


async def test_a_gang_that_lacks_something_else_is_asked_for_anew(at: At) -> None:
    await at.look(LACK)
    await at.look(replace(LACK, pods=(Alike(2, "w-0", "u-0", (("cpu", 1000),)),)))
    (request,) = at.requests()
    assert [one["count"] for one in request["spec"]["podSets"]] == [2]


async def test_what_is_provisioned_is_not_replaced(at: At) -> None:
    await at.look(LACK)
    at.say(("Provisioned", "True"))
    await at.look(replace(LACK, pods=(Alike(2, "w-0", "u-0", (("cpu", 1000),)),)))
    assert [one["count"] for one in at.requests()[0]["spec"]["podSets"]] == [3]


async def test_a_gang_that_lacks_pods_for_a_moment_keeps_its_request(at: At, monkeypatch: pytest.MonkeyPatch) -> None:
    await at.look(LACK)
    await at.look(replace(LACK, pods=(), short=False))
    assert len(at.requests()) == 1
    monkeypatch.setattr(module, "MISSED_FOR", -1.0)
    await at.look(replace(LACK, pods=(), short=False))
    assert at.requests() == []


async def test_another_instance_goes_on_with_what_is_there(at: At) -> None:
    await at.look(LACK)
    (request,) = at.requests()
    at.anew()
    at.watched(request, "ADDED")
    at.events.clear()
    await at.look(LACK)
    assert at.view.asked == {("ns/train", "w")}, "the core is asked for gangs that have not had their turn yet"
    assert at.requests() == [request]
    assert [phase for phase, _ in at.told()] == ["pending"]


async def test_templates_that_a_predecessor_did_not_come_to_make_are_made(at: At) -> None:
    await at.look(LACK)
    (request,) = at.requests()
    for path in [path for path in at.server.objects if "podtemplates" in path]:
        del at.server.objects[path]
    at.anew()
    at.watched(request, "ADDED")
    await at.look(LACK)
    assert len(at.templates()) == 1


async def test_the_answer_that_got_lost_makes_no_second_request(at: At) -> None:
    await at.look(LACK)
    at.anew()
    at.events.clear()
    await at.look(LACK)
    assert len(at.requests()) == 1
    assert [phase for phase, _ in at.told()] == ["pending"]


async def test_the_requests_of_others_are_left_alone(at: At) -> None:
    await at.look(LACK)
    (request,) = at.requests()
    request["metadata"]["annotations"]["treadle.dev/scheduler"] = "other"
    at.anew()
    at.watched(request, "ADDED")
    await at.look()
    assert at.requests() == [request]


async def test_a_request_that_is_refused_is_told_and_tried_again_later(at: At) -> None:
    at.server.refuses["POST provisioningrequests"] = 403
    await at.look(LACK)
    await at.look(LACK)
    ((phase, words),) = at.told()
    assert phase == "refused"
    assert words.startswith("No nodes are asked for: the API server refuses the ProvisioningRequest: 403")
    at.server.refuses.clear()
    await at.look(LACK)
    assert at.requests() == []
    at.provisioner._again.clear()
    await at.look(LACK)
    assert [phase for phase, _ in at.told()] == ["pending"]


async def test_a_request_whose_template_is_refused_is_not_left_behind(at: At) -> None:
    at.server.refuses["POST podtemplates"] = 422
    await at.look(LACK)
    assert at.requests() == []
    assert [phase for phase, _ in at.told()] == ["refused"]


async def test_a_gang_of_too_many_kinds_is_refused(at: At) -> None:
    await at.look(replace(LACK, pods=tuple(Alike(1, f"p-{n}", f"u-{n}", ()) for n in range(33))))
    ((phase, words),) = at.told()
    assert phase == "refused"
    assert "of 33 kinds" in words


async def test_no_more_than_so_many_are_made_at_a_time(at: At, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 2)
    await at.look(*(replace(LACK, application=f"ns/a{n}") for n in range(5)))
    assert len(at.requests()) == 2


async def test_a_deleted_request_that_the_watch_still_tells_of_is_not_known_again(at: At) -> None:
    await at.look(LACK)
    (request,) = at.requests()
    await at.look()
    at.watched(request)
    assert not at.provisioner._known
    at.watched(request, "DELETED")
    assert not at.provisioner._deleted


async def test_whether_nodes_can_be_asked_for_is_told(at: At) -> None:
    at.provisioner._served(False, "")
    at.provisioner._served(False, "403 Forbidden")
    at.provisioner._served(True, "")
    assert at.events == [
        ProvisionerKnown(False, ""),
        ProvisionerKnown(False, "ProvisioningRequests cannot be watched: 403 Forbidden"),
        ProvisionerKnown(True, ""),
    ]


async def test_requests_and_what_became_of_them_are_counted_once_each(at: At) -> None:
    await at.look(LACK)
    for _ in range(2):
        at.say(("Accepted", "True"), ("Provisioned", "True"))
    at.say(("Provisioned", "True"), ("BookingExpired", "True"))
    assert at.provisioner.counts == {"requested": 1, "refused": 0, "provisioned": 1, "failed": 1}
    at.server.refuses["POST provisioningrequests"] = 403
    await at.look(replace(LACK, gang="other"))
    assert at.provisioner.counts["refused"] == 1


async def test_what_an_autoscaler_had_answered_before_we_looked_is_not_counted(at: At) -> None:
    await at.look(LACK)
    at.say(("Provisioned", "True"))
    (request,) = at.requests()
    again = At()
    again.watched(request, "ADDED")
    assert sum(again.provisioner.counts.values()) == 0
