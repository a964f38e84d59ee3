"""Every operation of the OpenAPI document on a real API server: nobody is answered without a token that counts, and who may see nothing is told of nothing."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from cluster.accounts import account, installed, minted, token
from cluster.control_plane import ControlPlane
from cluster.treadle_process import Cluster, Treadle, eventually, pod, queue
from treadle.history.runs import Run, Step
from treadle.history.said import Said
from treadle.history.store import Store
from treadle.rest.yarn_ids import id_of

HIDDEN = "hush"
"""Stands in the names of all that the guest may not see: a queue, an application and its pod, in a namespace that is not the guest's."""
APPLICATION, QUEUE = f"secret/{HIDDEN}", f"root.{HIDDEN}"
BEGAN = 1_900_000_000
OWN = id_of(APPLICATION)
ATTEMPT = f"{OWN.replace('application', 'appattempt')}_000001"
PARTS = {
    "id": OWN, "attempt": ATTEMPT, "entity": ATTEMPT, "type": "YARN_APPLICATION_ATTEMPT", "container": f"{ATTEMPT}_1", "user": "ann",
    "flow": APPLICATION.replace("/", "%2F"), "run": str(BEGAN * 1000), "cluster": "treadle", "pipeline": HIDDEN, "file": HIDDEN, "version": "1",
    "flow_uid": f"treadle!ann!{APPLICATION}".replace("/", "%2F"),
    "run_uid": f"treadle!ann!{APPLICATION}!{BEGAN}000".replace("/", "%2F"),
    "app_uid": f"treadle!ann!{APPLICATION}!{BEGAN}000!{OWN}".replace("/", "%2F"),
    "entity_uid": f"treadle!{OWN}!YARN_APPLICATION_ATTEMPT!0!{ATTEMPT}",
}  # fmt: skip
"""What the parts of paths name: the hidden application."""
QUERIES = {
    "/api/v1/explain": f"application={APPLICATION}",
    "/api/v1/queue-manifest": f"queue={QUEUE}",
    "/api/v1/plan": f"queue={QUEUE}",
    "/api/v1/queue-history": f"queue={QUEUE}",
}
ENDLESS = "/api/v1/stream"
TOLD_TO_ALL = (
    "/ws/v1/cluster",
    "/ws/v1/cluster/info",
    "/ws/v1/applicationhistory/about",
    "/ws/v2/timeline",
    "/ws/v2/timeline/health",
    "/openapi/v3",
)
"""What serves, and in which version: for anybody who is known."""


class Door:
    """A connection from an address of its own, since one address may ask so much and no more."""

    def __init__(self, port: int, number: int) -> None:
        self._connection = HTTPConnection("127.0.0.1", port, timeout=30, source_address=(f"127.0.1.{number}", 0))

    def close(self) -> None:
        self._connection.close()

    def ask(self, method: str, path: str, bearer: str, body: Any = None) -> tuple[int, str]:
        headers = {"Authorization": f"Bearer {bearer}"} if bearer else {}
        sent = None if body is None else json.dumps(body).encode()
        self._connection.request(method, path, sent, headers | ({} if sent is None else {"Content-Type": "application/json"}))
        answer = self._connection.getresponse()
        if path.startswith(ENDLESS) and answer.status == 200:
            said = answer.readline() + answer.readline()
            self._connection.close()
        else:
            said = answer.read()
        if answer.getheader("Connection") == "close":
            self._connection.close()
        return answer.status, said.decode()


class World:
    def __init__(self, plane: ControlPlane, treadle: Treadle) -> None:
        self.plane, self.port = plane, treadle.port
        self._addresses = iter(range(2, 250))
        self._door, self._asked = self._another(), 0

    def _another(self) -> Door:
        return Door(self.port, next(self._addresses))

    def close(self) -> None:
        self._door.close()

    def ask(self, method: str, path: str, bearer: str, body: Any = None) -> tuple[int, str]:
        """One request; forty come from one address."""
        self._asked += 1
        if self._asked % 40 == 0:
            self.close()
            self._door = self._another()
        return self._door.ask(method, path, bearer, body)

    def operations(self) -> Iterator[tuple[str, str, Any]]:
        """Each operation with the hidden application in it, and an example of a body."""
        paths = json.loads(self.ask("GET", "/openapi/v3", self.plane.token)[1])["paths"]
        for path, operations in paths.items():
            named = path
            for name, value in PARTS.items():
                named = named.replace(f"{{{name}}}", value)
            assert "{" not in named, f"{path}: name what this part is"
            query = f"?{QUERIES[path]}" if path in QUERIES else ""
            for method, said in operations.items():
                example = said.get("requestBody", {}).get("content", {}).get("application/json", {}).get("example")
                yield method.upper(), named + query, example


@pytest.fixture
def world(fresh_cluster: Callable[..., Cluster], tmp_path: Path) -> Iterator[World]:
    cluster = fresh_cluster(1, "4", "16Gi")
    plane = cluster.plane
    for namespace in ("treadle-system", "etl", "secret"):
        plane.create_namespace(namespace)
    account(plane, "treadle-system", "treadle")
    account(plane, "etl", "guest")
    store = Store(url := f"sqlite:///{tmp_path}/history.db")
    steps = [Step(BEGAN, {"cpu": 1000}, 1), Step(BEGAN + 60, {}, 0, (1, 0, 0))]
    run = Run(APPLICATION, QUEUE, "ann", BEGAN, BEGAN, BEGAN, BEGAN + 60, 1, 1, 0, 0, "Succeeded", steps)
    said = Said(time.time(), "Preempted", "Pod", "secret", f"{HIDDEN}-0", APPLICATION, QUEUE, f"for {HIDDEN}")
    store.write([run], [], [], BEGAN, told=[said])
    store.close()
    cluster.queues(
        queue("root.etl"), {**queue(QUEUE), "spec": {"viewAcl": {}, "administerAcl": {}, "submitAcl": {"namespaces": ["secret"]}}}
    )
    options = (
        "--namespace=treadle-system", "--publish-administrators=treadle-administrators", "--default-access=namespace", "--rest", "--eta", "--page",
        "--queue-changes=treadle-queue-changes", "--history", url,
    )  # fmt: skip
    with Treadle(
        installed(plane, tmp_path, "rest.queueChanges=true", "page.enabled=true"), tmp_path, *options, anonymous_metrics=False
    ) as treadle:
        eventually(lambda: treadle.get("/readyz")[0] == 200, 60, "ready")
        body = pod(f"{HIDDEN}-0", QUEUE, HIDDEN)
        body["metadata"]["namespace"] = "secret"
        assert plane.api("POST", "/api/v1/namespaces/secret/pods", body)[0] == 201
        found = World(plane, treadle)
        yield found
        found.close()


def test_no_operation_is_done_for_whoever_has_no_token_that_counts(world: World) -> None:
    valid = token(world.plane, "etl", "guest")
    foreign, ended = token(world.plane, "etl", "guest", "somebody-else"), minted(world.plane, valid, -3600)
    asked = list(world.operations())
    assert len(asked) > 60
    for bearer in ("", "not.a.token", foreign, ended):
        for method, path, body in asked:
            assert world.ask(method, path, bearer, body)[0] == 401, (method, path, bearer)


def test_who_may_see_and_change_nothing_is_told_of_nothing_and_changes_nothing(world: World) -> None:
    admin, guest = world.plane.token, token(world.plane, "etl", "guest")
    eventually(lambda: HIDDEN in world.ask("GET", "/api/v1/pods", admin)[1], 30, "there is something to hide", 1.0)
    told_to_admin = 0
    for method, path, body in world.operations():
        status, said = _asked(world, method, path, guest, body)
        if method != "GET":
            assert 400 <= status < 500, (method, path, said)
            continue
        assert status < 500, (path, said)
        if status != 200 or path in TOLD_TO_ALL:
            continue
        assert HIDDEN not in said, (path, said)
        assert OWN not in said, (path, said)
        shown = _asked(world, method, path, admin, body)[1]
        told_to_admin += HIDDEN in shown or OWN in shown
    assert told_to_admin > 5, "what is hidden stands in answers to who may see it"


def _asked(world: World, method: str, path: str, bearer: str, body: Any) -> tuple[int, str]:
    """Ask, and again where that was too often."""
    found = (429, "")

    def answered() -> bool:
        nonlocal found
        found = world.ask(method, path, bearer, body)
        return found[0] != 429

    eventually(answered, 30, "an answer", 1.0)
    return found
