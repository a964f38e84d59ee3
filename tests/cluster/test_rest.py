"""YARN's REST on a real API server: tokens and rights are judged by it, with the rights of the chart, and the scheduler decides."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from cluster.accounts import RBAC, account, installed, token
from cluster.client import ApiClient
from cluster.control_plane import ControlPlane
from cluster.treadle_process import Cluster, Treadle, eventually
from treadle.history.runs import SUCCEEDED, Run, Step
from treadle.history.store import Store

REST = "/ws/v1/cluster/reservation"
HOUR = 3_600_000
Ask = Callable[..., tuple[int, Any]]


def edits(plane: ControlPlane, namespace: str, name: str) -> None:
    """Give a service account the chart's role of those who edit, in its namespace."""
    body = {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "treadle-edit"},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
    }
    view = {**body, "metadata": {"name": f"{name}-view"}, "roleRef": {**body["roleRef"], "name": "treadle-view"}}  # type: ignore[dict-item]
    for one in (body, view):
        assert plane.api("POST", f"{RBAC}/namespaces/{namespace}/rolebindings", one)[0] == 201


@pytest.fixture
def plane(fresh_cluster: Callable[..., Cluster]) -> ControlPlane:
    cluster = fresh_cluster(2, "4", "16Gi")
    cluster.queues(
        {
            "apiVersion": "treadle.dev/v1alpha1",
            "kind": "Queue",
            "metadata": {"name": "root.plan"},
            "spec": {"reservations": {"policy": "NoOverCommit"}},
        }
    )
    for namespace, names in (("treadle-system", ("treadle",)), ("etl", ("robot", "guest"))):
        cluster.plane.create_namespace(namespace)
        for name in names:
            account(cluster.plane, namespace, name)
    return cluster.plane


@pytest.fixture
def ask(plane: ControlPlane, tmp_path: Path) -> Iterator[Ask]:
    """Asks a leader and a copy that stands by, in turn."""
    kubeconfig = installed(plane, tmp_path)
    edits(plane, "etl", "robot")
    history = f"sqlite:///{tmp_path / 'history.db'}"
    options = ("--rest", "--user-source=claims", "--leader-elect", "--namespace", "treadle-system", "--history", history)
    store = Store(history)
    for day in range(3):
        begun = 1_900_000_000.0 + 86_400 * day
        steps = [Step(begun + at, {"cpu": 2000 * pods, "memory": pods << 30}, pods, (0, 0, 0)) for at, pods in ((0, 2), (10, 4))]
        store.write(
            [Run("etl/nightly", "root.plan", "ann", begun, begun, begun, begun + 20, 4, 4, 0, 0, SUCCEEDED, steps)], [], [], begun
        )
    store.close()
    with Treadle(kubeconfig, tmp_path, *options) as one, Treadle(kubeconfig, tmp_path, *options) as other:
        clients = [ApiClient(f"http://127.0.0.1:{each.wait_ready().port}") for each in (one, other)]
        turns = cycle(clients)

        def asked(path: str, body: Any = None, whose: str = "") -> tuple[int, Any]:
            method = "GET" if path.startswith(("/list", "/resourceestimator")) else "POST"
            where = path if path.startswith("/resourceestimator") else f"{REST}{path}"
            return next(turns).request(method, where, body, token=whose or None)

        robot = token(plane, "etl", "robot")

        def known() -> bool:
            return all(one.request("GET", f"{REST}/list?queue=root.plan", token=robot)[0] == 200 for one in clients)

        eventually(known, 20, "what the queue has is known to both")
        yield asked
        for client in clients:
            client.close()


def definition(cores: int = 4, hours: int = 2) -> dict[str, Any]:
    now = int(time.time() * 1000)
    request = {
        "duration": hours * HOUR,
        "num-containers": 1,
        "min-concurrency": 1,
        "capability": {"memory": 1024, "vCores": cores},
    }
    return {
        "arrival": now + HOUR,
        "deadline": now + 4 * HOUR,
        "reservation-name": "report",
        "recurrence-expression": "0",
        "reservation-requests": {"reservation-request-interpreter": 1, "reservation-request": [request]},
    }


def message(answer: Any) -> str:
    said: str = answer["RemoteException"]["message"]
    return said


def test_who_may_reserves_with_a_service_accounts_token_and_who_may_not_is_refused(plane: ControlPlane, ask: Ask) -> None:
    robot, guest = token(plane, "etl", "robot"), token(plane, "etl", "guest")
    assert ask("/new-reservation")[0] == 401
    assert ask("/new-reservation", whose="not.a.token")[0] == 401
    assert ask("/new-reservation", whose=token(plane, "etl", "robot", "somebody-else"))[0] == 401
    code, answer = ask("/new-reservation", whose=guest)
    assert (code, message(answer)[:79]) == (
        403,
        "User system:serviceaccount:etl:guest may not create reservations.treadle.dev in",
    )
    code, answer = ask("/new-reservation?namespace=default", whose=robot)
    assert code == 403

    code, answer = ask("/new-reservation", whose=robot)
    assert code == 200
    first, second = answer["reservation-id"], "reservation_1_0002"
    asked = {"queue": "root.plan", "reservation-id": first, "reservation-definition": definition(6)}
    assert ask("/submit", asked, guest)[0] == 403
    code, answer = ask("/submit", asked, robot)
    assert code == 202, message(answer)
    assert ask("/submit", asked, robot)[0] == 202
    made = plane.api("GET", f"/apis/treadle.dev/v1alpha1/namespaces/etl/reservations/{first.replace('_', '-')}")[1]
    assert made["status"]["phase"] == "Accepted"
    assert made["status"]["accepted"]["user"] == "system:serviceaccount:etl:robot"
    assert made["metadata"]["annotations"]["treadle.dev/groups"].split(",")[:2] == [
        "system:serviceaccounts",
        "system:serviceaccounts:etl",
    ]

    code, answer = ask("/submit", {**asked, "reservation-id": second}, robot)
    assert code == 400
    assert message(answer).startswith("NoRoom: queue root.plan, which has ")
    _, answer = ask("/list?queue=root.plan&include-resource-allocations=true", whose=robot)
    (listed,) = answer["reservations"]
    assert listed["reservation-id"] == first
    assert [one["resource"]["vCores"] for one in listed["resource-allocations"]] == [6]

    smaller = {"reservation-id": first, "reservation-definition": definition(2)}
    assert ask("/update", smaller, guest)[0] == 403
    assert ask("/update", smaller, robot) == (200, {})
    assert ask("/submit", {**asked, "reservation-id": second}, robot)[0] == 202
    code, answer = ask("/update", {**smaller, "reservation-definition": definition(5)}, robot)
    assert code == 400
    assert message(answer).endswith("what was promised before stands")
    assert ask("/delete", {"reservation-id": second}, guest)[0] == 403
    assert ask("/delete", {"reservation-id": second}, robot) == (200, {})
    code, answer = ask("/delete", {"reservation-id": second}, robot)
    assert (
        message(answer) == f"The specified reservation with ID: {second} is unknown. Please try again with a valid reservation."
    )

    assert plane.api("DELETE", f"{RBAC}/namespaces/etl/rolebindings/robot")[0] == 200
    eventually(lambda: ask("/delete", {"reservation-id": first}, robot)[0] == 403, 30, "the right that was withdrawn gone")


def test_whom_the_queue_does_not_take_is_refused_by_it(plane: ControlPlane, ask: Ask) -> None:
    robot = token(plane, "etl", "robot")
    for queue in ("root", "root.plan"):
        closed = {"submitAcl": {"users": ["alice"]}, "administerAcl": {"users": []}}
        if queue == "root":
            root = {"apiVersion": "treadle.dev/v1alpha1", "kind": "Queue", "metadata": {"name": "root"}, "spec": closed}
            write = lambda: plane.api("POST", "/apis/treadle.dev/v1alpha1/queues", root)[0] == 201  # noqa: E731, B023
        else:
            path, merge = f"/apis/treadle.dev/v1alpha1/queues/{queue}", "application/merge-patch+json"
            write = lambda: plane.api("PATCH", path, {"spec": closed}, content_type=merge)[0] == 200  # noqa: E731, B023
        eventually(write, 60, "the queue written under the chart's policy")

    def refused() -> bool:
        number = int(time.monotonic() * 1000)
        asked = {"queue": "root.plan", "reservation-id": f"reservation_2_{number}", "reservation-definition": definition(1)}
        code, answer = ask("/submit", asked, robot)
        return code == 400 and message(answer).startswith(
            "AccessDenied: user system:serviceaccount:etl:robot may not reserve in queue root.plan"
        )

    eventually(refused, 20, "the queue closed to the robot")


def test_what_the_next_run_of_an_application_needs_is_estimated_for_who_may_read_it(plane: ControlPlane, ask: Ask) -> None:
    robot, guest = token(plane, "etl", "robot"), token(plane, "etl", "guest")
    code, answer = ask("/resourceestimator/estimator/nightly", whose=guest)
    assert (code, message(answer)[:77]) == (
        403,
        "User system:serviceaccount:etl:guest may not list applications.treadle.dev in",
    )
    needed = {"0": {"memory": 2048, "vcores": 4}, "10": {"memory": 4096, "vcores": 8}, "20": {"memory": 0, "vcores": 0}}
    for _ in range(2):
        assert ask("/resourceestimator/estimator/nightly", whose=robot) == (200, {"resourceAllocation": needed})
    code, answer = ask("/resourceestimator/skylinestore/history/nightly/*", whose=robot)
    assert code == 200
    assert [one[0]["runId"] for one in answer] == ["1900172800000", "1900086400000", "1900000000000"]
