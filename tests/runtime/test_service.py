"""Treadle on an embedded API server: pods are bound, people are told, and it survives what servers do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from kube.access import refuse, served, until
from kube.manifests import node
from runtime.services import (
    add_nodes,
    add_pods,
    add_queue,
    bound,
    condition,
    controllers_watch,
    get,
    get_json,
    node_of,
    options,
    treadle,
    waits,
)
from treadle.api import crds
from treadle.api.objects import KINDS
from treadle.core.kernel.periodic import lifetimes
from treadle.fakeapi import FakeApi
from treadle.kube.auth import Access
from treadle.kube.devices import PATHS as DEVICE_PATHS
from treadle.kube.storage import PATHS
from treadle.runtime import service as service_module
from treadle.runtime.doors import listen_address
from treadle.runtime.service import Service, running


@pytest.fixture
async def api() -> AsyncIterator[FakeApi]:
    async with served(bookmark_seconds=0.05) as server:
        yield server


# -- pods


async def test_a_pod_needs_nothing_but_the_schedulers_name(api: FakeApi) -> None:
    add_nodes(api)
    async with treadle(api):
        add_pods(api, "a", application="")
        await bound(api, "a")

    assert node_of(api, "a") == "n0"
    notes = api.get("pods", "a")["metadata"]["annotations"]
    assert notes == {"treadle.dev/allocated-queue": "root.default", "treadle.dev/allocated-application": "default/pod/a"}


async def test_pods_of_other_schedulers_are_left_alone_and_counted_where_they_are(api: FakeApi) -> None:
    add_nodes(api, cpu="4")
    add_pods(api, "theirs", schedulerName="default-scheduler")
    add_pods(api, "placed", schedulerName="default-scheduler", nodeName="n0")
    async with treadle(api) as service:
        add_pods(api, "a", "b", "c")
        await bound(api, "a", "b", "c")
        add_pods(api, "d")
        await waits(api, "d", "Unschedulable")
        assert service.core.state.bound == 4

    assert not node_of(api, "theirs")


async def test_a_gated_pod_is_bound_when_its_last_gate_is_gone(api: FakeApi) -> None:
    add_nodes(api)
    add_pods(api, "gated", schedulingGates=[{"name": "hold"}])
    async with treadle(api):
        add_pods(api, "free")
        await bound(api, "free")
        assert not node_of(api, "gated")
        gated = api.get("pods", "gated")
        api.update("pods", {**gated, "spec": {key: value for key, value in gated["spec"].items() if key != "schedulingGates"}})
        await bound(api, "gated")


async def test_room_that_a_finished_pod_leaves_is_given_to_the_next(api: FakeApi) -> None:
    add_nodes(api, cpu="1")
    async with treadle(api):
        add_pods(api, "first")
        await bound(api, "first")
        add_pods(api, "second")
        await waits(api, "second", "Unschedulable")
        api.patch("pods", "first", {"status": {"phase": "Succeeded"}}, subresource="status")
        await bound(api, "second")


async def test_a_node_that_comes_later_is_used(api: FakeApi) -> None:
    async with treadle(api):
        add_pods(api, "a")
        assert await waits(api, "a", "Unschedulable") == "0/0 nodes are available."
        add_nodes(api)
        await bound(api, "a")


async def test_a_node_that_was_replaced_by_its_namesake_during_an_outage_is_used(api: FakeApi) -> None:
    add_nodes(api)
    port = int(api.url.rpartition(":")[2])
    async with treadle(api) as service:
        await until(lambda: service.core.state.nodes.known() == 1)
        await api.stop()
        await until(lambda: service.sources.nodes.problem)
        api.delete("nodes", "n0")
        add_nodes(api)
        for collection in ("nodes", "pods", "namespaces"):
            api.store.collections[collection].forget()
        await api.start(port=port)
        await until(lambda: service.sources.nodes.relists == 1 and not service.sources.nodes.problem)
        add_pods(api, "a")
        await bound(api, "a")


async def test_who_cannot_see_the_nodes_any_more_decides_nothing_until_they_are_seen_again(
    api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service_module, "BLIND_AFTER", 0.0)
    add_nodes(api)
    port = int(api.url.rpartition(":")[2])
    async with treadle(api) as service:
        await until(lambda: service.core.state.nodes.known() == 1)
        await api.stop()
        api.before = refuse(lambda _method, path: path.endswith("/nodes"), 403)
        await api.start(port=port)
        await until(lambda: service.sources.nodes.problem.startswith("403") and not service.sources.pods.problem)
        add_pods(api, "a")
        await until(lambda: service.core.state.waiting == 1)
        for _ in range(2):
            before = service.engine.passed_at
            await until(lambda before=before: service.engine.passed_at > before)  # type: ignore[misc]
        assert node_of(api, "a") == ""
        api.before = None
        await bound(api, "a")


# -- why pods wait


async def test_a_full_cluster_is_unschedulable_with_the_sentence_that_autoscalers_know(api: FakeApi) -> None:
    add_nodes(api, 2, cpu="1", memory="512Mi")
    async with treadle(api):
        add_pods(api, "a")
        assert await waits(api, "a", "Unschedulable") == "0/2 nodes are available: 2 Insufficient memory."


async def test_a_full_queue_is_no_reason_to_buy_nodes(api: FakeApi) -> None:
    add_nodes(api)
    add_queue(api, "root.small", fair={"maxResources": {"cpu": "1"}})
    async with treadle(api):
        add_pods(api, "a", "b", queue="root.small")
        await until(lambda: [name for name in "ab" if node_of(api, name)])
        (other,) = [name for name in "ab" if not node_of(api, name)]
        found = await until(lambda: condition(api.get("pods", other), "PodScheduled"))
        assert found["reason"] != "Unschedulable"
        assert "root.small" in found["message"]


async def test_a_rule_that_is_not_built_is_named_and_the_pod_is_not_bound_against_it(api: FakeApi) -> None:
    add_nodes(api)
    async with treadle(api):
        never = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "Never"}
        add_pods(api, "a", topologySpreadConstraints=[never])
        assert "spec.topologySpreadConstraints" in await waits(api, "a", "UnsupportedConstraint")


async def test_while_devices_cannot_be_listed_only_pods_with_claims_for_them_wait(api: FakeApi) -> None:
    add_nodes(api)
    async with treadle(api):
        add_pods(api, "a", resourceClaims=[{"name": "gpu", "resourceClaimName": "c"}])
        add_pods(api, "b")
        await bound(api, "b")
        assert "claims for devices have not been listed yet: resource" in await waits(api, "a", "DevicesNotReady")


async def test_an_absurd_pod_is_told_which_field_and_the_others_go_on(api: FakeApi) -> None:
    add_nodes(api)
    async with treadle(api):
        add_pods(api, "odd", containers=[{"name": "web", "image": "i", "resources": {"requests": {"cpu": "a lot"}}}])
        add_pods(api, "fine", application="other")
        await bound(api, "fine")
        assert "spec.containers[web].resources.requests[cpu]: 'a lot'" in await waits(api, "odd", "InvalidPod")


async def test_an_unreadable_pod_does_not_keep_the_others_waiting(api: FakeApi) -> None:
    add_nodes(api)
    add_pods(api, "odd", tolerations="all of them")
    async with treadle(api):
        add_pods(api, "fine")
        await bound(api, "fine")


# -- binds that fail


async def test_a_bind_that_was_refused_for_a_while_is_tried_again(api: FakeApi) -> None:
    add_nodes(api)
    api.before = refuse(lambda _method, path: path.endswith("/binding"), 503, times=3)
    async with treadle(api) as service:
        add_pods(api, "a")
        await bound(api, "a")
        assert service.binder.failed == 3
        await until(lambda: service.core.state.assumed == 0)


async def test_events_speak_of_pods_that_were_bound_and_of_no_other(api: FakeApi) -> None:
    add_nodes(api)
    api.before = refuse(lambda _method, path: path.endswith("/binding"), 503, times=5)
    async with treadle(api) as service:
        add_pods(api, "a", "b")
        await bound(api, "a", "b")
        await until(lambda: service.core.state.assumed == 0 and service.engine.backlog == 0)

    notes = [event["note"] for event in api.list("events")]
    assert notes == ["Bound 2 pods of application default/app in queue root.default to n0"]


async def test_the_end_of_a_lifetime_is_an_event_of_the_application(api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifetimes, "INTERVAL", 0.05)
    add_nodes(api)
    manifest = {
        "apiVersion": "treadle.dev/v1alpha1",
        "kind": "Application",
        "metadata": {"name": "app"},
        "spec": {},
    }
    made = api.create("applications", manifest)
    add_pods(api, "a", "b")
    async with treadle(api, controllers=True) as service:
        await controllers_watch(api)
        await bound(api, "a", "b")
        api.update("applications", {**api.get("applications", "app"), "spec": {"lifetime": "1s"}})
        await until(lambda: service.evictor.expired == 2)

    (event,) = [event for event in api.list("events") if event["reason"] == "LifetimeOver"]
    assert event["note"] == (
        "Deleted 2 pods of application default/app in queue root.default: it was to live 1 s (lifetime of the Application), which is over"
    )
    assert event["regarding"]["kind"] == "Application"
    assert event["regarding"]["uid"] == made["metadata"]["uid"]


async def test_a_pod_that_somebody_else_bound_is_counted_where_it_is(api: FakeApi) -> None:
    add_nodes(api, 2, cpu="1")

    async def interfere(method: str, path: str) -> None:
        if path.endswith("/binding") and method == "POST" and not node_of(api, "a"):
            api.bind("a", {"metadata": {"name": "a"}, "target": {"kind": "Node", "name": "n1"}})

    api.before = interfere
    async with treadle(api) as service:
        add_pods(api, "a")
        await bound(api, "a")
        await until(lambda: service.core.state.bound == 1 and service.core.state.assumed == 0)
        add_pods(api, "b")
        await bound(api, "b")

    assert (node_of(api, "a"), node_of(api, "b")) == ("n1", "n0")


# -- what a start finds


async def test_a_second_start_adopts_what_the_first_bound(api: FakeApi) -> None:
    add_nodes(api, cpu="4")
    add_queue(api, "root.a")
    async with treadle(api):
        add_pods(api, "x", "y", "z", queue="root.a")
        await bound(api, "x", "y", "z")
    async with treadle(api) as service:
        await until(lambda: service.core.state.bound == 3)
        queue = await until(lambda: service.core.state.tree.queues.get("root.a"))
        assert service.core.state.types.named(queue.usage) == {"cpu": 3000, "memory": 3 << 30, "pods": 3}
        add_pods(api, "p", "q", queue="root.a")
        await until(lambda: [name for name in "pq" if node_of(api, name)])
        (other,) = [name for name in "pq" if not node_of(api, name)]
        await waits(api, other, "Unschedulable")


async def test_without_the_kinds_it_says_so_and_begins_when_they_come() -> None:
    async with served(crds=[], bookmark_seconds=0.05) as api:
        add_nodes(api)
        add_pods(api, "a")
        async with running(Access(api.url), options(listen="127.0.0.1:0")) as service:
            await until(lambda: "kubectl apply -f crds/" in service.waiting_for)
            assert not service.synced
            assert (await get(service, "/readyz"))[0] == 503
            _, details = await get_json(service, "/status")
            assert details["ready"] is False
            assert "CustomResourceDefinitions" in details["waitingFor"]
            for kind in KINDS:
                api.create("customresourcedefinitions", crds.crd(kind))
            await bound(api, "a")


async def test_nothing_is_decided_before_every_first_list_is_complete(api: FakeApi) -> None:
    add_nodes(api)
    add_pods(api, "a")
    gate = asyncio.Event()

    async def hold(method: str, path: str) -> None:
        if method == "GET" and path == "/api/v1/namespaces":
            await gate.wait()

    api.before = hold
    async with running(Access(api.url), options()) as service:
        await until(lambda: service.core.state.waiting == 1)
        assert service.core.state.decisions == 0
        gate.set()
        await bound(api, "a")


# -- our own kinds


async def test_what_users_write_is_in_force_and_their_status_says_so(api: FakeApi) -> None:
    add_nodes(api)
    async with treadle(api, controllers=True):
        add_queue(api, "root.a", fair={"weight": "2"})
        await until(lambda: condition(api.get("queues", "root.a"), "Ready").get("reason") == "InForce")
        add_pods(api, "p", queue="root.a")
        await bound(api, "p")
        await until(lambda: api.get("queues", "root.a")["status"].get("used"))
        assert api.get("queues", "root.a")["status"]["used"] == {"cpu": "1", "memory": "1Gi", "pods": "1"}
        api.patch("queues", "root.a", {"spec": {"fair": {"weight": "3"}}})
        await until(lambda: api.get("queues", "root.a")["status"]["observedGeneration"] == 2)


async def test_an_alias_is_served_from_the_moment_it_is_written(api: FakeApi) -> None:
    add_nodes(api)
    async with treadle(api, controllers=True):
        add_pods(api, "spark", schedulerName="yunikorn")
        api.create("schedulers", {"metadata": {"name": "treadle"}, "spec": {"aliases": ["yunikorn"]}})
        await bound(api, "spark")


async def test_a_status_that_is_as_it_should_be_is_not_written_again(api: FakeApi) -> None:
    add_queue(api, "root.a")
    async with treadle(api) as service:
        await until(lambda: condition(api.get("queues", "root.a"), "Ready"))
        await until(lambda: service.patcher.waiting == 0)
        version = api.get("queues", "root.a")["metadata"]["resourceVersion"]
        assert service.statuses.write() == 0
        assert api.get("queues", "root.a")["metadata"]["resourceVersion"] == version


# -- the HTTP port


async def test_a_synced_service_is_healthy_ready_and_has_metrics(api: FakeApi) -> None:
    add_nodes(api)
    async with treadle(api, listen="127.0.0.1:0") as service:
        add_pods(api, "a")
        await bound(api, "a")
        assert await get(service, "/healthz") == (200, "ok\n")
        assert await get(service, "/readyz") == (200, '{"ready":true}')
        status, details = await get_json(service, "/status")
        assert (status, details["synced"], details["leader"], details["waitingFor"]) == (200, True, "leader", "")
        assert set(details["watches"]) == {"pods", "failed pods", "nodes", "namespaces", *PATHS, *DEVICE_PATHS}
        await until(lambda: service.core.state.bound == 1)
        text = (await get(service, "/metrics"))[1]
        assert 'treadle_pods{state="bound"} 1.0' in text
        assert 'treadle_queue_resource{kind="used",queue="root.default",resource="cpu"} 1.0' in text


async def test_while_the_server_is_away_it_is_not_ready_and_still_healthy(api: FakeApi) -> None:
    port = int(api.url.rpartition(":")[2])
    async with treadle(api, listen="127.0.0.1:0") as service:
        await api.stop()
        await until(lambda: service.sources.pods.problem)
        status, details = await get_json(service, "/readyz")
        assert (status, details["ready"], bool(details["watches"]["pods"])) == (503, False, True)
        _, details = await get_json(service, "/status")
        assert (details["synced"], details["watchesAlive"]) == (True, False)
        assert details["watches"]["pods"]["problem"]
        assert (await get(service, "/healthz"))[0] == 200
        await api.start(port=port)
        await until(lambda: not service.unready())


async def test_a_task_that_ended_makes_it_unhealthy(api: FakeApi) -> None:
    async def defect() -> None:
        raise RuntimeError("a defect")

    async with treadle(api, listen="127.0.0.1:0") as service:
        service._spawn(defect(), "defect")
        await until(service.healthy)
        assert await get(service, "/healthz") == (503, "a task ended: RuntimeError('a defect')\n")


async def test_passes_that_keep_failing_make_it_unhealthy(api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    def defect(*_: object) -> None:
        raise RuntimeError("a defect")

    async with treadle(api, listen="127.0.0.1:0") as service:
        await until(lambda: service.engine.passes)
        monkeypatch.setattr("treadle.core.core.Core.plan", defect)
        monkeypatch.setattr("treadle.runtime.care.ILL_AFTER", 0.0)
        await until(service.engine.trouble)
        status, text = await get(service, "/healthz")
        assert (status, text.startswith("no pass has gone well for "), "RuntimeError: a defect" in text) == (503, True, True)
        assert 'treadle_core_errors_total{during="pass"}' in (await get(service, "/metrics"))[1]


async def test_a_watch_that_says_nothing_while_the_server_answers_makes_it_unhealthy_at_last(
    api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with treadle(api) as service:
        await until(lambda: not service.unready())
        assert service.healthy() == ""
        monkeypatch.setattr("treadle.runtime.service.STUCK_AFTER", -1.0)
        assert service.healthy().startswith("the watch of pods has said nothing for ")
        service.client.answered_at = float("-inf")
        assert service.healthy() == "", "without a server a restart would not help"


async def test_controllers_that_ended_make_it_unhealthy(api: FakeApi) -> None:
    async with treadle(api, controllers=True) as service:
        operator = await until(lambda: service.operator)
        await controllers_watch(api)
        assert service.healthy() == ""
        await asyncio.to_thread(operator.stop)
        assert service.healthy() == "the controllers ended"


@pytest.mark.parametrize(
    ("text", "address"),
    [("0.0.0.0:8080", ("0.0.0.0", 8080)), (":80", ("0.0.0.0", 80)), ("[::]:8080", ("::", 8080)), ("[fd00::1]:0", ("fd00::1", 0)), ("localhost:1", ("localhost", 1))],
)  # fmt: skip
def test_where_to_listen_is_host_and_port(text: str, address: tuple[str, int]) -> None:
    assert listen_address(text) == address


@pytest.mark.parametrize("text", ["8080", "host", "host:", "host:http", "host:70000", "::1:80", "host:-1", "host:²"])
def test_anything_else_is_refused_with_what_is_allowed(text: str) -> None:
    with pytest.raises(ValueError, match="is not host:port, such as"):
        listen_address(text)


async def test_an_ipv6_address_stands_in_brackets_in_the_url(api: FakeApi) -> None:
    try:
        server = await asyncio.start_server(lambda *_: None, "::1", 0)
    except OSError:
        pytest.skip("this machine has no IPv6")
    server.close()
    await server.wait_closed()
    async with treadle(api, listen="[::1]:0") as service:
        assert service.doors.url.startswith("http://[::1]:")
        assert (await get(service, "/metrics"))[0] == 200


# -- what becomes of pods


async def test_a_pod_that_is_deleted_is_remembered_with_its_node_though_nobody_looks(api: FakeApi) -> None:
    add_nodes(api)
    add_pods(api, "a")
    async with treadle(api) as service:
        await bound(api, "a")
        api.delete("pods", "a", "default", {"gracePeriodSeconds": 0})
        await until(lambda: list(service.departed))
        (one,) = service.departed
        assert (one.name, one.application, one.node, bool(one.placed)) == ("a", "default/app", "n0", True)


# -- several of them


async def test_of_two_replicas_one_schedules_and_the_other_takes_over(api: FakeApi) -> None:
    add_nodes(api)
    elected = {"leader_elect": True}
    async with treadle(api, identity="two", **elected) as two:
        await until(lambda: two.lease is not None and two.lease.held)
        async with running(Access(api.url), options(identity="one", **elected)) as one:
            await until(lambda: one.synced)
            add_pods(api, "a")
            await bound(api, "a")
            assert (two.core.state.decisions, one.core.state.decisions) == (1, 0)
            assert one.state()["leader"] == "standby, two leads"
            await until(lambda: one.core.state.bound == 1)
    assert api.get("leases.coordination.k8s.io", "treadle-treadle")["spec"]["holderIdentity"] == ""


async def test_when_the_lead_is_lost_what_was_not_sent_is_taken_back_and_what_was_is_cut_and_settled(api: FakeApi) -> None:
    add_nodes(api, 8)
    gate, sent = asyncio.Event(), []

    async def hold(_method: str, path: str) -> None:
        if path.endswith("/binding"):
            sent.append(path)
            await gate.wait()

    api.before = hold
    names = [f"p{number}" for number in range(32)]
    async with treadle(api) as service:
        add_pods(api, *names)
        await until(lambda: service.core.state.assumed == 32 and len(sent) == 16)
        service.engine.stopping = True
        service._led(leading=False)
        await until(lambda: service.core.state.assumed == 0)
        assert service.binder.doubts.fenced == 16
        gate.set()
        await until(lambda: service.binder.settled)
    assert not any(api.get("pods", name)["spec"].get("nodeName") for name in names), "they came too late"


async def test_a_service_that_was_never_started_can_be_stopped(api: FakeApi) -> None:
    await Service(Access(api.url), options()).stop()


async def test_a_cordoned_node_takes_nothing_until_it_is_open_again(api: FakeApi) -> None:
    api.create("nodes", node("n0", spec={"unschedulable": True}))
    async with treadle(api):
        add_pods(api, "a")
        await waits(api, "a", "Unschedulable")
        api.patch("nodes", "n0", {"spec": {"unschedulable": None}})
        await bound(api, "a")
