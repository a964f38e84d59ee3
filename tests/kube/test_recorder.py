"""Events about bound pods: one for an application and a while."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from kube.access import connected, served, task_of
from kube.manifests import pod
from treadle.core.effects import ABOUT_RESERVATIONS, Evict, Expire, RecordEvent, ReservationDecided
from treadle.fakeapi import FakeApi
from treadle.kube.patcher import Patcher, Write
from treadle.kube.recorder import MOST_APPLICATIONS, Recorder, Told


class Recording:
    """A recorder whose clock is moved by hand and whose writes are kept."""

    def __init__(self, interval: float = 5.0) -> None:
        self.now = 100.0
        self.writes: list[Write] = []
        self.recorder = Recorder(self, "host-1", interval, clock=lambda: self.now)  # type: ignore[arg-type]

    def submit(self, _key: str, write: Write) -> None:
        self.writes.append(write)

    def scheduled(self, name: str, application: str = "etl/nightly", node: str = "n1") -> None:
        self.recorder.scheduled("etl", application, "root.prod", name, f"uid-{name}", node)

    def taken(self) -> int:
        """Let the server take everything; returns how much counts as written."""
        for write in self.writes:
            assert write.done is not None
            write.done(201)
        return self.recorder.written

    def notes(self) -> list[str]:
        return [write.body["note"] for write in self.writes]


def victim(name: str) -> Evict:
    return Evict(f"uid-{name}", "etl", name, "root.a", "queue root.b is owed it", 0.0, delete=False, cause=0)


def test_nothing_is_written_before_the_interval_has_passed() -> None:
    at = Recording()
    at.scheduled("a")
    at.now += 4.9
    at.recorder.flush()
    assert at.notes() == []
    at.now += 0.1
    at.recorder.flush()
    assert at.notes() == ["Bound 1 pod of application etl/nightly in queue root.prod to n1"]


@pytest.mark.parametrize("reason", ABOUT_RESERVATIONS)
def test_whatever_is_decided_on_a_reservation_is_told_of_it(reason: str) -> None:
    at = Recording()
    at.recorder.reservation(ReservationDecided("etl/nightly", "uid", 0, reason, "its words"))
    (write,) = at.writes
    assert write.path == "/apis/events.k8s.io/v1/namespaces/etl/events"
    assert write.body["regarding"]["kind"] == "Reservation"
    assert (write.body["reason"], write.body["note"], write.body["action"]) == (reason, "its words", "Planning")


def test_pods_of_one_application_are_one_event() -> None:
    at = Recording()
    for number in range(50):
        at.scheduled(f"p{number}", node=f"n{number % 3}")
    at.scheduled("other", application="etl/other")
    at.recorder.flush(now=True)

    assert at.notes() == [
        "Bound 50 pods of application etl/nightly in queue root.prod to 3 nodes",
        "Bound 1 pod of application etl/other in queue root.prod to n1",
    ]
    assert at.taken() == 2


def test_of_very_many_applications_the_rest_is_told_together_by_queue() -> None:
    at = Recording()
    for number in range(MOST_APPLICATIONS + 300):
        at.scheduled(f"p{number}", application=f"etl/pod-{number}", node=f"n{number % 7}")
    at.scheduled("p400", application="etl/pod-399", node="n0")
    at.recorder.flush(now=True)
    assert len(at.notes()) == MOST_APPLICATIONS + 1
    assert at.notes()[0] == "Bound 1 pod of application etl/pod-0 in queue root.prod to n0"
    assert at.notes()[-1] == "Bound 301 pods of 300 applications in queue root.prod to 7 nodes"
    assert at.writes[-1].body["regarding"]["name"] == "p100"
    at.scheduled("q")
    at.recorder.flush(now=True)
    assert at.notes()[-1] == "Bound 1 pod of application etl/nightly in queue root.prod to n1"


def test_the_interval_begins_with_the_first_pod_after_the_last_event() -> None:
    at = Recording()
    at.scheduled("a")
    at.now += 5
    at.recorder.flush()
    at.now += 100
    at.scheduled("b")
    at.recorder.flush()
    assert len(at.writes) == 1
    at.now += 5
    at.recorder.flush()
    assert len(at.writes) == 2


def test_what_is_deleted_at_the_end_of_a_lifetime_is_one_event_for_an_application() -> None:
    at = Recording()
    for name in ("a", "b"):
        at.recorder.expired(
            Expire(name, "etl", name, "root.prod", 1, "etl/nightly", "uid-of-it", "was to live 60 s (lifetime of x)")
        )
    at.recorder.expired(Expire("c", "etl", "c", "root.prod", 1, "etl/pods", "", "was to live 5 s (lifetime of y)"))
    at.now += 4.9
    at.recorder.flush()
    assert at.writes == []
    at.now += 0.1
    at.recorder.flush()
    assert at.notes() == [
        "Deleted 2 pods of application etl/nightly in queue root.prod: it was to live 60 s (lifetime of x), which is over",
        "Deleted 1 pod of application etl/pods in queue root.prod: it was to live 5 s (lifetime of y), which is over",
    ]
    first, second = (write.body for write in at.writes)
    assert (first["reason"], first["type"], first["action"]) == ("LifetimeOver", "Warning", "Deleting")
    assert (first["regarding"]["kind"], first["regarding"]["name"], first["regarding"]["uid"]) == (
        "Application",
        "nightly",
        "uid-of-it",
    )
    assert (second["regarding"]["kind"], second["regarding"]["name"]) == ("Pod", "c")


def test_flushing_with_nothing_counted_writes_nothing() -> None:
    at = Recording()
    at.recorder.flush(now=True)

    assert at.writes == []


def test_a_note_is_cut_to_what_the_api_takes() -> None:
    at = Recording()
    at.scheduled("a", application="etl/" + "x" * 2000)
    at.recorder.flush(now=True)

    assert len(at.notes()[0]) == 1024


@pytest.mark.parametrize("name", ["a", "x" * 253, "y" * 199 + "." + "z" * 53, "y" * 199 + "-" + "z" * 53])
def test_the_name_of_an_event_is_valid_whatever_the_name_of_its_pod(name: str) -> None:
    at = Recording()
    at.scheduled(name)
    at.recorder.flush(now=True)
    prefix: str = at.writes[0].body["metadata"]["generateName"]

    assert prefix.endswith("-")
    assert not prefix.endswith((".-", "--"))
    assert len(prefix) <= 201


@pytest.fixture
async def api() -> AsyncIterator[FakeApi]:
    async with served() as server:
        yield server


async def test_the_server_keeps_an_event_about_the_first_pod(api: FakeApi) -> None:
    uid = api.create("pods", pod("a"))["metadata"]["uid"]
    async with connected(api) as client:
        patcher = Patcher(client)
        recorder = Recorder(patcher, "host-1")
        recorder.scheduled("default", "default/etl", "root.prod", "a", uid, "n1")
        recorder.flush(now=True)
        async with task_of(patcher.run()):
            assert await patcher.drain(20)

    (event,) = api.list("events.events.k8s.io")
    kept: dict[str, Any] = {key: event[key] for key in ("reason", "type", "action", "reportingController", "reportingInstance")}
    assert kept == {
        "reason": "Scheduled",
        "type": "Normal",
        "action": "Binding",
        "reportingController": "treadle.dev/treadle",
        "reportingInstance": "host-1",
    }
    assert (event["regarding"]["name"], event["regarding"]["uid"]) == ("a", uid)
    assert len(event["eventTime"].rpartition(".")[2]) == len("123456Z")


def a_warning(note: str = "why", reason: str = "FailedScheduling") -> RecordEvent:
    return RecordEvent("uid-a", "etl", "a", "etl/nightly", reason, note, 1)


@pytest.mark.parametrize(("reason", "action"), [("FailedScheduling", "Scheduling"), ("QueueNotFound", "Placing")])
def test_what_waits_is_warned_of_at_once(reason: str, action: str) -> None:
    at = Recording()
    at.recorder.warned(a_warning(reason=reason))
    (body,) = [write.body for write in at.writes]
    assert (body["type"], body["reason"], body["action"], body["note"]) == ("Warning", reason, action, "why")
    assert (body["regarding"]["name"], body["regarding"]["uid"]) == ("a", "uid-a")


async def test_the_server_keeps_a_warning_about_a_waiting_pod(api: FakeApi) -> None:
    async with connected(api) as client:
        patcher = Patcher(client)
        async with task_of(patcher.run()):
            Recorder(patcher, "host-1").warned(a_warning()._replace(namespace="default"))
            assert await patcher.drain(10)
    (event,) = api.list("events.events.k8s.io", "default")
    assert (event["type"], event["reason"]) == ("Warning", "FailedScheduling")


def test_what_was_counted_is_not_told_by_an_instance_that_stood_down() -> None:
    at = Recording()
    at.scheduled("a")
    at.recorder.discard()
    at.recorder.flush(now=True)
    assert at.notes() == []


def test_an_event_counts_as_written_when_the_server_took_it() -> None:
    at = Recording()
    at.recorder.preempted(victim("a"))
    at.recorder.preempted(victim("b"))
    first, second = at.writes
    assert first.done is not None
    assert second.done is not None
    assert at.recorder.written == 0
    first.done(403)
    second.done(201)
    assert at.recorder.written == 1


def test_who_keeps_a_history_hears_what_each_event_says_and_of_what() -> None:
    at, heard = Recording(), []
    at.recorder.heard = heard.append
    at.recorder.preempted(victim("a"))
    at.recorder.warned(RecordEvent("uid-b", "etl", "b", "etl/nightly", "FailedScheduling", "it waits", 0))
    at.recorder.reservation(ReservationDecided("etl/plan", "uid-r", 0, ABOUT_RESERVATIONS[0], "its words"))
    at.recorder.expired(Expire("uid-c", "etl", "c", "root.prod", 0, "etl/nightly", "uid-n", "ran for an hour"))
    at.recorder.flush(now=True)
    assert heard == [
        Told("Preempted", "Pod", "etl", "a", "uid-a", "", "root.a", "Preempted: queue root.b is owed it"),
        Told("FailedScheduling", "Pod", "etl", "b", "uid-b", "etl/nightly", "", "it waits"),
        Told(ABOUT_RESERVATIONS[0], "Reservation", "etl", "plan", "uid-r", "", "", "its words"),
        Told("LifetimeOver", "Application", "etl", "nightly", "uid-n", "etl/nightly", "root.prod", at.notes()[-1]),
    ]
