"""Our own REST of changes of several queues: made whole or not at all, listed, and undone."""

from __future__ import annotations

from typing import Any

import pytest

from rest.changes import CHANGES, CONF, Changes, queue, update
from treadle.changes import log as changes_log

FIRST = {"root.dev": {"capacity": {"guaranteed": "60%"}}, "root.prod": {"capacity": {"guaranteed": "40%"}}}
SWAP = {"apply": [queue("root.dev", "40%"), queue("root.prod", "60%")], "message": "prod needs more"}


async def test_queues_become_as_they_are_written(changes: Changes) -> None:
    body = {"apply": [queue("root.etl", "40%", submitAcl={"namespaces": ["etl"]})], "delete": ["root.prod"]}
    status, said, _ = await changes.ask("POST", CHANGES, body)
    assert (status, said["version"], [step["operation"] for step in said["steps"]]) == (200, 1, ["Create", "Delete"])
    assert changes.queues() == {
        "root.dev": FIRST["root.dev"],
        "root.etl": {"capacity": {"guaranteed": "40%"}, "submitAcl": {"namespaces": ["etl"]}},
    }


async def test_the_log_says_who_changed_what_when_and_why(changes: Changes) -> None:
    await changes.ask("POST", CHANGES, SWAP)
    await changes.ask("PUT", CONF, {"update-queue": update("root.dev", maximum__capacity="90")})
    status, said, _ = await changes.ask("GET", CHANGES)
    assert (status, said["version"], [one["version"] for one in said["changes"]]) == (200, 2, [2, 1])
    assert said["changes"][1] == {
        "version": 1,
        "user": "alice",
        "groups": ["data"],
        "time": "2030-03-17T17:46:40Z",
        "message": "prod needs more",
        "objects": [
            {"kind": "Queue", "name": "root.dev", "operation": "Update"},
            {"kind": "Queue", "name": "root.prod", "operation": "Update"},
        ],
    }
    assert (await changes.ask("GET", f"{CHANGES}/1"))[1]["steps"][0]["edits"] == [
        {"field": ["spec", "capacity", "guaranteed"], "before": "60%", "after": "40%"}
    ]


async def test_a_change_is_undone(changes: Changes) -> None:
    body = {"apply": [queue("root.dev", "30%"), queue("root.etl", "70%")], "delete": ["root.prod"]}
    assert (await changes.ask("POST", CHANGES, body))[0] == 200
    status, said, _ = await changes.ask("POST", f"{CHANGES}/1/undo")
    assert (status, said["version"]) == (200, 2)
    assert changes.queues() == FIRST
    assert (await changes.ask("GET", CHANGES))[1]["changes"][0]["message"] == "undoes change 1"
    assert (await changes.ask("POST", f"{CHANGES}/2/undo"))[0] == 200
    assert sorted(changes.queues()) == ["root.dev", "root.etl"]


async def test_an_undone_change_keeps_what_was_changed_besides(changes: Changes) -> None:
    await changes.ask("POST", CHANGES, SWAP)
    await changes.ask("PUT", CONF, {"update-queue": update("root.dev", maximum__capacity="90")})
    assert (await changes.ask("POST", f"{CHANGES}/1/undo"))[0] == 200
    assert changes.queues()["root.dev"] == {"capacity": {"guaranteed": "60%", "maximum": "90%"}}


async def test_a_change_is_not_undone_where_the_same_was_changed_since(changes: Changes) -> None:
    await changes.ask("POST", CHANGES, SWAP)
    again = {"apply": [queue("root.dev", "50%"), queue("root.prod", "50%")]}
    await changes.ask("POST", CHANGES, again)
    assert await changes.refusal("POST", f"{CHANGES}/1/undo") == (
        409,
        "change 1 cannot be undone: Queue root.dev was changed since in spec.capacity.guaranteed; Queue root.prod was changed since in spec.capacity.guaranteed",
    )


async def test_a_dry_run_says_what_would_be_done(changes: Changes) -> None:
    body = {"apply": [queue("root.dev", "30%"), queue("root.etl", "70%")], "delete": ["root.prod"]}
    status, said, _ = await changes.ask("POST", f"{CHANGES}?dryRun=All", body)
    assert (status, len(said["steps"]), "version" in said) == (200, 3, False)
    assert changes.queues() == FIRST


async def test_a_change_of_nothing_is_no_change(changes: Changes) -> None:
    body = {"apply": [queue("root.dev", "60%", state="Running", fair={"weight": "1"})]}
    assert (await changes.ask("POST", CHANGES, body))[:2] == (200, {"steps": []})
    assert (await changes.ask("GET", CHANGES))[1] == {"version": 0, "changes": []}


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"apply": [queue("root.dev", "70%")]}, "root.dev: "),
    ({"apply": [queue("root.dev", "60%"), queue("root.dev", "50%")]}, "apply[1].metadata.name: 'root.dev' is there twice"),
    ({"apply": [queue("root.dev", "60%")], "delete": ["root.dev"]}, "delete[0]: 'root.dev' is there twice"),
    ({"delete": ["root.x"]}, "delete[0]: there is no queue 'root.x'"),
    ({"apply": [{"kind": "Application", "metadata": {"name": "root.a"}}]}, "apply[0].kind: 'Application' is not Queue"),
    ({"apply": [{"metadata": {}}]}, "apply[0].metadata.name: is missing"),
    ({"apply": [{**queue("root.a"), "apiVersion": "v1"}]}, "apply[0].apiVersion: 'v1' is not treadle.dev/v1alpha1"),
    (
        {"apply": [{"metadata": {"name": "root.a", "finalizers": ["a/b"]}}]},
        "apply[0].metadata.finalizers: is not changed here; allowed are annotations, labels, name",
    ),
    ({"delete": [f"root.q{number}" for number in range(1001)]}, "1001 queues are named; 1000 are allowed"),
    ({"apply": [{"metadata": {"name": "root.a"}, "spek": {}}]}, "apply[0].spek: is not known"),
    ({"apply": [{"metadata": {"name": "root.a"}, "spec": []}]}, ""),
    ({"apply": [{"metadata": {"name": "root.a", "labels": "x"}}]}, "apply[0].metadata.labels: is not an object"),
    ({"apply": [queue("root.a.b", "10%")]}, "root.a.b: "),
    ({"change": []}, "change"),
    ({"message": "x" * 2000}, "message"),
]


@pytest.mark.parametrize(("body", "words"), REFUSED)
async def test_what_makes_no_sense_is_refused_and_nothing_is_left_of_it(
    changes: Changes, body: dict[str, Any], words: str
) -> None:
    status, said = await changes.refusal("POST", CHANGES, body)
    assert status == 400
    assert words in said
    assert changes.queues() == FIRST


async def test_what_was_read_can_be_sent(changes: Changes) -> None:
    raw = changes.api.get("queues", "root.dev")
    assert {"uid", "resourceVersion", "creationTimestamp", "generation"} <= raw["metadata"].keys()
    assert (await changes.ask("POST", CHANGES, {"apply": [raw]}))[:2] == (200, {"steps": []})


async def test_a_parent_is_not_deleted_without_its_children(changes: Changes) -> None:
    changes.api.create("queues", queue("root.dev.a", "100%"))
    parent = {"delete": ["root.dev"], "apply": [queue("root.prod", "100%")]}
    status, said = await changes.refusal("POST", CHANGES, parent)
    assert (status, "the parent queue root.dev does not exist" in said) == (400, True)
    both = {**parent, "delete": ["root.dev", "root.dev.a"]}
    assert (await changes.ask("POST", CHANGES, both))[0] == 200


@pytest.mark.parametrize("by", [{"labels": {"by": "a-webhook"}}, {"annotations": {"by": "a webhook"}}])
async def test_a_new_queue_on_which_somebody_has_written_a_word_is_still_undone(changes: Changes, by: Any) -> None:
    assert (await changes.ask("POST", CHANGES, {"apply": [queue("root.etl", "0%")]}))[0] == 200
    raw = changes.api.get("queues", "root.etl")
    changes.api.update("queues", {**raw, "metadata": {**raw["metadata"], **by}})
    assert (await changes.ask("POST", f"{CHANGES}/1/undo"))[0] == 200
    assert changes.queues() == FIRST


async def test_a_new_queue_that_was_changed_since_is_not_undone(changes: Changes) -> None:
    assert (await changes.ask("POST", CHANGES, {"apply": [queue("root.etl", "0%")]}))[0] == 200
    changes.api.update(
        "queues", {**changes.api.get("queues", "root.etl"), "spec": {"capacity": {"guaranteed": "0%", "priority": 1}}}
    )
    assert (await changes.refusal("POST", f"{CHANGES}/1/undo"))[0] == 409


async def test_what_was_wrong_before_keeps_nobody_from_mending_something_else(changes: Changes) -> None:
    changes.api.create("queues", queue("root.lost.child", "10%"))
    assert (await changes.ask("POST", CHANGES, SWAP))[0] == 200


@pytest.mark.parametrize("version", ["0", "7", "-1", "x", "1234567890"])
async def test_a_change_that_is_not_in_the_log_is_not_found(changes: Changes, version: str) -> None:
    for method, path in (("GET", version), ("POST", f"{version}/undo")):
        status, _ = await changes.refusal(method, f"{CHANGES}/{path}")
        assert status == 404


async def test_the_log_keeps_the_newest_changes(changes: Changes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes_log, "MOST_KEPT", 3)
    for share in range(10, 15):
        body = {"apply": [queue("root.dev", f"{share}%"), queue("root.prod", f"{100 - share}%")]}
        assert (await changes.ask("POST", CHANGES, body))[0] == 200
    said = (await changes.ask("GET", CHANGES))[1]
    assert (said["version"], [one["version"] for one in said["changes"]]) == (5, [5, 4, 3])


async def test_a_change_for_which_the_log_has_no_room_is_refused(changes: Changes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes_log, "MOST_BYTES", 100)
    status, said = await changes.refusal("POST", CHANGES, SWAP)
    assert (status, "make it in parts" in said) == (400, True)
    assert changes.queues() == FIRST
