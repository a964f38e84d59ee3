"""What is watched becomes events, and our own kinds are listed besides."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from kube.access import connected, refuse, served, until
from treadle.controllers.ledger import Ledger
from treadle.core.events import Event, NamespaceSeen, NodeGone, NodeSeen, PodGone, PodRefused, PodSeen, QueueGone
from treadle.fakeapi import FakeApi
from treadle.kube import wire
from treadle.kube.errors import ApiError, Unreachable
from treadle.runtime import sources as module
from treadle.runtime.sources import Sources, list_kinds, wait_for_kinds


@pytest.fixture
async def api() -> AsyncIterator[FakeApi]:
    async with served() as server:
        yield server


class Told:
    """Sources that watch nothing: the test plays the reflectors."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.sources = Sources(None, self.events.append)  # type: ignore[arg-type]


def meta(name: str, uid: str = "", **fields: Any) -> wire.Metadata:
    return wire.Metadata(name=name, uid=uid or name, **fields)


def test_pods_are_seen_and_gone_by_uid() -> None:
    at = Told()
    at.sources._pods([("ADDED", wire.Pod(meta("a", "1"), wire.PodSpec())), ("DELETED", wire.Pod(meta("a", "1")))])

    seen, gone = at.events
    assert isinstance(seen, PodSeen)
    assert (seen.pod.uid, gone) == ("1", PodGone("1"))


def failed(uid: str, reason: str, message: str = "") -> wire.Pod:
    return wire.Pod(meta(uid), wire.PodSpec(node_name="n"), wire.PodStatus("Failed", reason=reason, message=message))


def test_a_pod_that_its_kubelet_did_not_take_is_told_once_and_what_failed_before_we_looked_is_past() -> None:
    at = Told()
    at.sources._failed_pods([("ADDED", failed("before", "OutOfcpu"))])
    at.sources.failed.synced.set()
    at.sources._failed_pods([("ADDED", failed("a", "OutOfcpu", "no room")), ("MODIFIED", failed("a", "OutOfcpu"))])
    at.sources._failed_pods([("ADDED", failed("before", "OutOfcpu")), ("ADDED", failed("a", "OutOfcpu"))])  # listed again

    (event,) = at.events
    assert isinstance(event, PodRefused)
    assert (event.pod.uid, event.pod.node, event.reason, event.message) == ("a", "n", "OutOfcpu", "no room")


def test_a_pod_that_failed_for_another_reason_was_not_refused() -> None:
    at = Told()
    at.sources.failed.synced.set()
    evicted = failed("evicted", "Evicted", "Pod was rejected: The node had condition: [MemoryPressure].")
    at.sources._failed_pods([("ADDED", failed("ended", "")), ("ADDED", evicted), ("ADDED", failed("late", "DeadlineExceeded"))])
    assert at.events == []
    for reason in ("OutOfmemory", "OutOfexample.com/gpu", "NodeAffinity", "NodePorts", "UnexpectedAdmissionError"):
        at.sources._failed_pods([("ADDED", failed(reason, reason))])
    at.sources._failed_pods([("ADDED", failed("other", "SysctlForbidden", "Pod was rejected: forbidden sysctl"))])
    assert len(at.events) == 6


def test_nodes_are_seen_and_gone_by_name() -> None:
    at = Told()
    at.sources._nodes([("ADDED", wire.Node(meta("n"))), ("MODIFIED", wire.Node(meta("n"))), ("DELETED", wire.Node(meta("n")))])

    assert [type(event) for event in at.events] == [NodeSeen, NodeSeen, NodeGone]


def test_the_end_of_a_node_is_not_taken_for_that_of_its_successor() -> None:
    at = Told()
    at.sources._nodes([("ADDED", wire.Node(meta("n", "1")))])
    at.sources._nodes([("ADDED", wire.Node(meta("n", "2"))), ("DELETED", wire.Node(meta("n", "1")))])

    assert not any(isinstance(event, NodeGone) for event in at.events)
    at.sources._nodes([("DELETED", wire.Node(meta("n", "2")))])
    assert at.events[-1] == NodeGone("n")


def test_a_node_that_is_deleted_twice_is_gone_once() -> None:
    at = Told()
    at.sources._nodes([("ADDED", wire.Node(meta("n"))), ("DELETED", wire.Node(meta("n"))), ("DELETED", wire.Node(meta("n")))])

    assert at.events.count(NodeGone("n")) == 1


def test_a_namespace_may_name_a_queue_for_its_pods_and_takes_it_along() -> None:
    at = Told()
    team = wire.Namespace(meta("team", labels={"treadle.dev/queue": "root.team"}))
    at.sources._namespaces([("ADDED", team), ("ADDED", wire.Namespace(meta("other"))), ("DELETED", team)])

    assert at.events == [
        NamespaceSeen("team", "root.team", (("treadle.dev/queue", "root.team"),)),
        NamespaceSeen("other", ""),
        NamespaceSeen("team", ""),
    ]


def test_the_end_of_a_namespace_does_not_take_its_successors_queue() -> None:
    at = Told()
    new = wire.Namespace(meta("team", "2", labels={"treadle.dev/queue": "root.team"}))
    at.sources._namespaces(
        [("ADDED", wire.Namespace(meta("team", "1"))), ("ADDED", new), ("DELETED", wire.Namespace(meta("team", "1")))]
    )

    assert at.events[-1] == NamespaceSeen("team", "root.team", (("treadle.dev/queue", "root.team"),))


# -- our own kinds


async def test_every_kind_is_listed_in_pages(api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LIST_LIMIT", 2)
    for number in range(5):
        api.create("queues", {"metadata": {"name": f"root.q{number}"}, "spec": {}})
    api.create("applications", {"metadata": {"name": "a", "namespace": "default"}, "spec": {}})
    ledger = Ledger("treadle", lambda _: None)
    async with connected(api) as client:
        await list_kinds(client, ledger)

    assert sorted(name for _, _, name in ledger.entries) == ["a", *(f"root.q{number}" for number in range(5))]


async def test_a_list_that_fails_changes_nothing(api: FakeApi) -> None:
    api.create("queues", {"metadata": {"name": "root.a"}, "spec": {}})
    ledger = Ledger("treadle", lambda _: None)
    async with connected(api) as client:
        await list_kinds(client, ledger)
        api.delete("queues", "root.a")
        api.before = refuse(lambda _method, path: path.endswith("/queues"), 503, message="not now")
        with pytest.raises(ApiError, match="not now"):
            await list_kinds(client, ledger)
        assert len(ledger.entries) == 1
        await api.stop()
        with pytest.raises(Unreachable):
            await list_kinds(client, ledger)

    assert len(ledger.entries) == 1


def unknown(*plurals: str) -> Callable[[str, str], Awaitable[None]]:
    """A hook that has the server say that it has no such kinds, but for their names among those of the group."""
    return refuse(lambda _, path: path.endswith(plurals), 404, "NotFound", "the server could not find the requested resource")


async def test_with_the_definition_of_a_kind_all_of_its_objects_are_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ASK_AGAIN", 0.0)
    events: list[Event] = []
    ledger = Ledger("treadle", events.append)
    async with served() as api, connected(api) as client:
        api.create("queues", {"metadata": {"name": "root.a"}, "spec": {}})
        api.create("applications", {"metadata": {"name": "a", "namespace": "default"}, "spec": {}})
        await list_kinds(client, ledger)
        api.before = unknown("/queues", "/v1alpha1")
        await list_kinds(client, ledger)
        assert [name for _, _, name in ledger.entries] == ["a"]
        assert events[-1] == QueueGone("root.a")
        api.before = None
        await list_kinds(client, ledger)

    assert sorted(name for _, _, name in ledger.entries) == ["a", "root.a"]


async def test_a_kind_that_the_server_still_names_is_not_taken_for_deleted(api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ASK_AGAIN", 0.0)
    api.create("queues", {"metadata": {"name": "root.a"}, "spec": {}})
    ledger = Ledger("treadle", lambda _: None)
    async with connected(api) as client:
        await list_kinds(client, ledger)
        api.before = unknown("/queues")
        with pytest.raises(ApiError, match="could not find"):
            await list_kinds(client, ledger)

    assert len(ledger.entries) == 1


async def test_waiting_for_the_kinds_says_what_is_missing_and_what_to_do(caplog: pytest.LogCaptureFixture) -> None:
    notes: list[str] = []
    async with served(crds=[]) as api, connected(api) as client:
        waiting = module.asyncio.create_task(wait_for_kinds(client, notes.append))
        await until(lambda: notes)
        waiting.cancel()

    assert "schedulers, queues, applications, reservations" in notes[0]
    assert "kubectl apply -f crds/" in notes[0]
    assert notes[0] in caplog.text


async def test_a_server_that_refuses_to_say_is_quoted(api: FakeApi) -> None:
    notes: list[str] = []
    api.before = refuse(lambda *_: True, 403, "Forbidden", "who are you?")
    async with connected(api) as client:
        waiting = module.asyncio.create_task(wait_for_kinds(client, notes.append))
        await until(lambda: notes)
        waiting.cancel()

    assert notes[0] == "asking for treadle.dev/v1alpha1: 403 Forbidden: who are you?"


def test_nothing_is_decided_before_devices_are_listed_or_cannot_be() -> None:
    at = Told()
    for reflector in at.sources.needed.values():
        reflector.synced.set()
    assert not at.sources.synced
    first, *others = at.sources.devices.values()
    for reflector in others:
        reflector.synced.set()
    assert not at.sources.synced
    first.problem = "404: the server has no such kind"
    assert at.sources.synced
